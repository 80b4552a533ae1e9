//! Registry of all experiments with their figures, tables and claims. To add one: its file in `experiments/`, its figures in
//! `figures/`, its claims in `claims/`, and an entry here.

use mcsa_core::Error;

use crate::claims::{self, Claim};
use crate::evidence::Evidence;
use crate::experiment::Experiment;
use crate::figures::{self, Plate};
use crate::tables::{self, Sheet};

/// An experiment with its figures, tables and claims.
pub struct Entry {
    /// Name of the file.
    pub file: &'static str,
    /// Text of the file.
    pub text: &'static str,
    /// Figures, from results alone.
    pub figures: fn(&Evidence) -> Vec<Plate>,
    /// Tables, in addition to the one of published cells.
    pub tables: fn(&Evidence) -> Vec<Sheet>,
    /// Claims that its results are checked against.
    pub claims: fn() -> Vec<Claim>,
}

macro_rules! entry {
    ($file:literal, $module:ident) => {
        entry!($file, $module, figures::$module, tables::none)
    };
    ($file:literal, $module:ident, $figures:path, $tables:path) => {
        Entry {
            file: concat!("experiments/", $file, ".toml"),
            text: include_str!(concat!("../experiments/", $file, ".toml")),
            figures: $figures,
            tables: $tables,
            claims: claims::$module,
        }
    };
}

/// All experiments, in the order of the report.
pub const REGISTRY: [Entry; 27] = [
    entry!("gaussian", gaussian),
    entry!("k000-tab2-logistic", logistic),
    entry!("k003-fig2-logistic", logistic_speed),
    entry!("k003-fig6-isotropic-gaussian", convergence),
    entry!("k003-fig7-conditional-variance", conditional_variance),
    entry!("k003-fig4b-stock", stock),
    entry!("k003-tab2-kernels", taxonomy, figures::none, tables::taxonomy),
    entry!("k000-fig2-bias-bound", bias_bound),
    entry!("k000-fig3-var-vs-kl", variance_divergence),
    entry!("k000-fig6-radon", radon),
    entry!("k000-tab3-gpc", processes),
    entry!("mcsa-tab-rates", bounds, figures::none, tables::bounds),
    entry!("mcsa-tab-cost", cost, figures::none, tables::cost),
    entry!("theory", papers),
    entry!("mcsa-fig-gradvar", gradient_variance),
    entry!("mcsa-fig-stepsize", step_size),
    entry!("mcsa-tab-bnn", neural_regression),
    entry!("mcsa-tab-rgp", robust_process),
    entry!("msc-tab1-probit", probit, figures::probit, tables::probit),
    entry!("msc-fig1-skewnormal", skew_normal),
    entry!("msc-fig2-robust-S", robustness),
    entry!("msc-fig3-fx", exchange_rates, figures::exchange_rates, tables::exchange_rates),
    entry!("msc-fig5-subset", subset_average),
    entry!("msc-fig6-chivi", chi_square),
    entry!("msc-alg4-ancestors", ancestor_weight, figures::ancestor_weight, tables::ancestor_weight),
    entry!("flow-families", shapes, figures::shapes, tables::shapes),
    entry!("flow-directions", directions, figures::directions, tables::shapes),
];

impl Entry {
    /// Parses the experiment.
    ///
    /// # Errors
    /// If its file is malformed; tests exclude this.
    pub fn experiment(&self) -> Result<Experiment, Error> {
        Experiment::parse(self.file, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_is_called_as_its_file() {
        for entry in &REGISTRY {
            assert_eq!(format!("experiments/{}.toml", entry.experiment().unwrap().id), entry.file);
        }
    }

    #[test]
    fn no_two_experiments_answer_to_one_name() {
        let mut names = std::collections::HashSet::new();
        for entry in &REGISTRY {
            let experiment = entry.experiment().unwrap();
            let all = std::iter::once(experiment.id).chain(experiment.also);
            all.for_each(|name| assert!(names.insert(name.clone()), "{name}"));
        }
    }
}
