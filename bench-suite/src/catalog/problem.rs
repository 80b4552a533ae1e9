//! Built targets, with the evaluators of their fits.

use std::sync::Arc;

use mcsa_core::Separable;

use super::{Evaluator, Posterior};

/// A target with the evaluator of its fits.
pub struct Problem {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Evaluator of fits.
    pub evaluator: Box<dyn Evaluator>,
    /// The same target with a likelihood term for each datum, if it has such terms.
    pub likelihood: Option<Likelihood>,
}

/// A target with a likelihood term for each datum, and the data.
pub struct Likelihood {
    /// The target.
    pub target: Arc<dyn Separable>,
    /// The data.
    pub observed: Vec<f64>,
}

impl Problem {
    /// A target with its evaluator, without likelihood terms.
    pub(super) fn new(posterior: Arc<dyn Posterior>, evaluator: impl Evaluator + 'static) -> Self {
        Self { posterior, evaluator: Box::new(evaluator), likelihood: None }
    }

    /// Adds the likelihood terms of the target.
    #[must_use]
    pub(super) fn of_data(self, target: Arc<dyn Separable>, observed: Vec<f64>) -> Self {
        Self { likelihood: Some(Likelihood { target, observed }), ..self }
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;
    use mcsa_data::Catalogue;

    use super::super::Target;

    #[derive(serde::Deserialize)]
    struct One {
        target: Target,
    }

    fn target(text: &str) -> Target {
        toml::from_str::<One>(&format!("target = {{ kind = {text} }}")).unwrap().target
    }

    /// Prior and terms add up to the log density of the target that is fitted.
    #[test]
    fn terms_are_those_of_the_target() {
        let (catalogue, seed) = (Catalogue::found(None), Seed::new(3));
        let rows =
            "rows = 30, held_out = 5, dim = 3, rate = 0.3, correlation = 0.2, prior_scale = 1.0, seed = 1";
        for text in [
            "\"eight-schools\"",
            "\"radon\"",
            "\"stock-volatility\", data = \"sp500_close_2007_2017\"",
            "\"hierarchical-logistic\", data = \"pima\", standardised = false",
            "\"logistic\", data = \"pima\", standardised = true, prior_scale = 1.0",
            &format!("\"synthetic-logistic\", name = \"synthetic\", {rows}"),
            "\"subset-logistic\", data = \"covtype\", rows = 50, held_out = 5, prior_scale = 1.0, seed = 1",
            "\"probit\", data = \"ionosphere\"",
            "\"probit\", data = \"ionosphere\", complete = true",
            "\"neural-regression\", data = \"yacht\", hidden = 5",
        ] {
            let problem = target(text).build(&catalogue, seed).unwrap();
            let found = problem.likelihood.unwrap();
            assert_eq!(found.observed.len(), found.target.num_data());
            let dim = problem.posterior.dim();
            let z: Vec<f64> = (0..dim).map(|i| 0.3 - 0.1 * (i % 9) as f64).collect();
            let mut work = vec![0.0; problem.posterior.work_len(1).max(found.target.work_len(1))];
            let rows: Vec<usize> = (0..found.observed.len()).collect();
            let sum =
                found.target.log_prior(&z, &mut work) + found.target.log_likelihood_at(&rows, &z, &mut work);
            let whole = problem.posterior.log_density(&z, &mut work);
            assert!((sum - whole).abs() < 1e-9 * whole.abs().max(1.0), "{text}: {sum} {whole}");
        }
        let without = target("\"skew-normal\"").build(&catalogue, seed).unwrap();
        assert!(without.likelihood.is_none());
    }
}
