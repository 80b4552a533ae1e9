//! Figures: pure functions from results to drawings.

mod ancestor_weight;
mod bias_bound;
mod conditional_variance;
mod convergence;
mod curves;
mod directions;
mod exchange_rates;
mod gaussian;
mod gradient_variance;
mod logistic;
mod marginal_likelihood;
mod papers;
mod probit;
mod responses;
mod robustness;
mod shapes;
mod skew_normal;
mod step_size;
mod subset_average;
mod variance_divergence;

pub use ancestor_weight::ancestor_weight;
pub use bias_bound::bias_bound;
pub use conditional_variance::conditional_variance;
pub use convergence::convergence;
pub use directions::directions;
pub use exchange_rates::exchange_rates;
pub use gaussian::gaussian;
pub use gradient_variance::gradient_variance;
pub use logistic::{logistic, logistic_speed, processes};
pub use marginal_likelihood::{radon, stock};
pub use papers::papers;
pub use probit::probit;
pub use responses::{neural_regression, robust_process};
pub use robustness::robustness;
pub use shapes::shapes;
pub use skew_normal::{chi_square, skew_normal};
pub use step_size::step_size;
pub use subset_average::subset_average;
pub use variance_divergence::variance_divergence;

use crate::evidence::Evidence;
use mcsa_plot::Figure;

/// A figure with its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct Plate {
    /// Name, unique within the experiment.
    pub name: String,
    /// The figure.
    pub figure: Figure,
}

/// For experiments without figures.
pub fn none(_: &Evidence) -> Vec<Plate> {
    Vec::new()
}

impl Plate {
    /// A figure with a name.
    pub fn new(name: impl Into<String>, figure: Figure) -> Self {
        Self { name: name.into(), figure }
    }
}

#[cfg(test)]
mod tests {
    use crate::evidence::Evidence;
    use crate::experiment::PresetName;
    use crate::metric::Vector;
    use crate::registry::REGISTRY;

    /// Figures can be drawn from any results: complete, absent, or infinite.
    #[test]
    fn every_figure_can_be_drawn_at_any_time() {
        let names = [
            "kl",
            "kl_floor",
            "mean",
            "scale",
            "accuracy",
            "lpd",
            "log_z",
            "k_hat",
            "lpd_as_published",
            "rmse",
            "seconds",
            "variance",
            "pooled_variance",
            "weights_below_0.1",
            "acceptance",
            "log_weight_bound",
            "p_evaluations",
            "p_gradients",
            "share",
            "error",
            "log_z_as_published",
        ];
        use Vector::{DrawsX, DrawsY, LogScales, Means, Weight, WeightDensity};
        let vectors = [DrawsX, DrawsY, LogScales, Means, Weight, WeightDensity];
        for entry in &REGISTRY {
            for value in [1.0, f64::INFINITY, f64::NAN] {
                let rows = |_: &_, _, _| {
                    let vectors = vectors.map(|vector| (vector, vec![value; 3]));
                    (names.map(|name| (name, value)).into(), vectors.into())
                };
                let mut evidence =
                    Evidence::with_vectors(entry.experiment().unwrap(), PresetName::Quick, rows);
                for plate in (entry.figures)(&evidence) {
                    assert!(plate.figure.draw().is_ok(), "{} {}", entry.file, plate.name);
                }
                evidence.outcomes.clear();
                for plate in (entry.figures)(&evidence) {
                    assert!(plate.figure.draw().is_ok(), "{} {}, empty", entry.file, plate.name);
                }
            }
        }
    }
}
