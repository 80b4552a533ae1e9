//! Robust regression with a local latent precision per datum, on rows of a data set or of its synthetic stand-in.

use mcsa_core::{Error, Seed};
use mcsa_data::Catalogue;
use mcsa_families::dais::{SemiAnnealed, Slope};
use mcsa_models::LocalRobustRegression;
use serde::{Deserialize, Serialize};

use super::Target;
use super::sparse_process::subset;
use super::subset_logistic::whole;

/// Settings of a robust regression with local latent precisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalConfig {
    /// Label of the target; by default the name of the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The data set.
    pub data: String,
    /// Number of rows.
    pub rows: usize,
    /// Degrees of freedom of the errors.
    pub freedom: f64,
    /// Standard deviation of the prior of a weight.
    pub prior_scale: f64,
    /// Seed of the stand-in.
    pub seed: u64,
}

/// Annealed paths for local latent points, with a mean-field Gaussian for global ones (see [`SemiAnnealed`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SemiConfig {
    /// Number K of steps; without steps local points are mean-field Gaussian too.
    pub steps: usize,
    /// True if all data share step sizes, persistence, mass and temperatures.
    pub shared: bool,
    /// Largest step size.
    pub longest: f64,
    /// Step size at the start of the fit.
    pub step_size: f64,
    /// True if kappa is a share of the largest step size; else kappa itself is a parameter, as published.
    #[serde(default)]
    pub scaled: bool,
}

impl SemiConfig {
    /// The family for a model.
    pub(crate) fn family<M>(&self, model: M) -> SemiAnnealed<M>
    where
        M: mcsa_core::LocalLatents,
    {
        let slope = if self.scaled { Slope::Scaled } else { Slope::Plain };
        SemiAnnealed {
            shared: self.shared,
            longest: self.longest,
            slope,
            ..SemiAnnealed::new(model, self.steps)
        }
    }
}

impl Target {
    /// The regression on rows that are drawn by `seed` and standardised, with an intercept. One further row is held out and not used.
    ///
    /// # Errors
    /// If the target is another, a setting is invalid, or data cannot be loaded.
    pub(crate) fn local_rows(
        &self,
        catalogue: &Catalogue,
        seed: Seed,
    ) -> Result<LocalRobustRegression, Error> {
        let Self::LocalRegression(config) = self else {
            return Err(Error::invalid(format!("{} has no local latents", self.kind())));
        };
        let LocalConfig { data, rows, freedom, prior_scale, seed: stand_in, .. } = config;
        let set = whole(catalogue, data, *rows, Seed::new(*stand_in))?;
        let train = match rows.cmp(&set.rows()) {
            std::cmp::Ordering::Less => subset(&set, *rows, 1, seed)?.train,
            // All rows of the set: the one that is held out is a copy.
            _ => {
                let order: Vec<usize> = (0..set.rows()).collect();
                let split = mcsa_data::Split { train: set.clone(), test: set.select(&[0]), order };
                mcsa_data::Standardised::new(&split)?.train
            }
        };
        let train = train.with_ones_last();
        LocalRobustRegression::new(train.x.as_ref(), &train.y, *freedom, *prior_scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_replicate_or_all() {
        let catalogue = Catalogue::new(None);
        let target = |rows| {
            let data = "pol".to_owned();
            Target::LocalRegression(LocalConfig {
                name: None,
                data,
                rows,
                freedom: 4.0,
                prior_scale: 1.0,
                seed: 1,
            })
        };
        let some = |seed| target(30).local_rows(&catalogue, Seed::new(seed)).unwrap();
        assert_eq!((some(1).num_data(), some(1).num_globals()), (30, 28));
        let theta = [0.1; 28];
        assert_eq!(some(1).term(3, &theta), some(1).term(3, &theta));
        assert_ne!(some(1).term(3, &theta), some(2).term(3, &theta));
        assert!(Target::Radon.local_rows(&catalogue, Seed::new(1)).is_err());
    }
}
