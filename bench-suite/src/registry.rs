//! Every experiment, with what is made of it. To add one: its file in `experiments/`, its figures in `figures/`, its claims in
//! `claims/`, and an entry here.

use mcsa::Error;

use crate::claims::{self, Claim};
use crate::evidence::Evidence;
use crate::experiment::Experiment;
use crate::figures::{self, Plate};
use crate::tables::{self, Sheet};

/// An experiment and what is made of its results.
pub struct Entry {
    /// The name of its file.
    pub file: &'static str,
    /// What the file says.
    pub text: &'static str,
    /// Its figures, from results alone.
    pub figures: fn(&Evidence) -> Vec<Plate>,
    /// Its tables, beside that of published cells.
    pub tables: fn(&Evidence) -> Vec<Sheet>,
    /// What it is said to show.
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

/// In the order of the report.
pub const REGISTRY: [Entry; 27] = [
    entry!("gaussian", gaussian),
    entry!("mcmcse-tab2", logistic),
    entry!("cw-fig2", logistic_speed),
    entry!("cw-fig6", convergence),
    entry!("cw-fig7", conditional_variance),
    entry!("cw-fig4b", stock),
    entry!("cw-tab2", taxonomy, figures::none, tables::taxonomy),
    entry!("mcmcse-fig2", bias_bound),
    entry!("mcmcse-fig3", variance_divergence),
    entry!("mcmcse-fig6", radon),
    entry!("mcmcse-tab3", processes),
    entry!("pmcsa-tab1", bounds, figures::none, tables::bounds),
    entry!("pmcsa-tab2", cost, figures::none, tables::cost),
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
    /// The experiment, read.
    ///
    /// # Errors
    /// If its file is malformed, which the tests exclude.
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
}
