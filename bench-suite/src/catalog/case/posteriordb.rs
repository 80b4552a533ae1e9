//! Regressions of `posteriordb`, from a folder that the user has.

use std::sync::Arc;

use mcsa_core::Error;
use mcsa_data::{Catalogue, ReferenceRegression};
use mcsa_models::{NoisePrior, UnknownNoiseRegression, WeightPrior};

use super::built::Built;
use super::margin::{LEVELS, Margin, Margins, level};
use super::truth::Truth;

/// Prefix of the name of a regression of `posteriordb`.
const PREFIX: &str = "posteriordb/";

/// Target with its exact posterior: the moments of the reference draws have Monte Carlo errors.
pub(super) fn built(catalogue: &Catalogue, data: &str) -> Result<Built, Error> {
    let Some(name) = data.strip_prefix(PREFIX) else {
        return Err(Error::invalid(format!("data is {data:?}, expected {PREFIX}NAME")));
    };
    let named = |error: Error| Error::invalid(format!("{data}: {error}"));
    let model = model(&catalogue.posteriordb()?.load(name)?).map_err(named)?;
    let exact = model.exact().map_err(named)?;
    let levels: [f64; LEVELS] = std::array::from_fn(level);
    let stored = |i: usize| <[f64; LEVELS]>::try_from(exact.quantiles(i, &levels)).ok().map(Margin::Stored);
    let margins = (0..exact.means.len()).map(stored).collect::<Option<Vec<_>>>().map(Margins::each);
    let truth = Truth::Moments { sds: exact.sds(), means: exact.means };
    let covariance = Some(exact.covariance);
    Ok(Built { truth, covariance, margins, ..Built::unknown(Arc::new(model)) })
}

fn model(known: &ReferenceRegression) -> Result<UnknownNoiseRegression, Error> {
    let weight = |prior: &Option<(f64, f64)>| match *prior {
        Some((mean, sd)) => WeightPrior::Normal { mean, sd },
        None => WeightPrior::Flat,
    };
    let noise = match known.half_cauchy {
        Some(scale) => NoisePrior::HalfCauchy { scale },
        None => NoisePrior::Flat,
    };
    let weights: Vec<WeightPrior> = known.weights.iter().map(weight).collect();
    UnknownNoiseRegression::new(known.x.as_ref(), &known.y, &weights, noise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Case;
    use mcsa_data::Posteriordb;

    const LEVELS: [f64; 3] = [0.05, 0.5, 0.95];

    fn carried() -> std::path::PathBuf {
        std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/tests")
    }

    /// Largest differences between the exact posterior and the reference draws: of means in their Monte Carlo errors, and of
    /// sds, relative, and quantiles, in sds.
    fn differences(known: &ReferenceRegression) -> [f64; 3] {
        let exact = model(known).unwrap().exact().unwrap();
        let last = known.means.len() - 1;
        let (mut means, mut sds) = (exact.means.clone(), exact.sds());
        (means[last], sds[last]) = exact.scale();
        let mut found = [0.0_f64; 3];
        for i in 0..=last {
            found[0] = found[0].max((means[i] - known.means[i]).abs() / known.mean_errors[i]);
            found[1] = found[1].max((sds[i] / known.sds[i] - 1.0).abs());
            for (value, of_level) in exact.quantiles(i, &LEVELS).into_iter().zip(&known.quantiles) {
                let value = if i == last { value.exp() } else { value };
                found[2] = found[2].max((value - of_level[i]).abs() / sds[i]);
            }
        }
        found
    }

    /// The carried folder has moments by direct sums over a grid of `log sigma`, printed with six digits.
    #[test]
    fn the_exact_posterior_is_that_of_the_grid() {
        let folder = Posteriordb::open(carried().join("posteriordb")).unwrap();
        for name in folder.names() {
            let mut known = folder.load(name).unwrap();
            let [mean, sd, quantile] = differences(&known);
            assert!(mean < 0.2 && sd < 1e-4 && quantile < 5e-4, "{name}: {mean} {sd} {quantile}");
            // The twin with another prior is caught.
            known.half_cauchy = known.half_cauchy.map_or(Some(0.5), |_| None);
            assert!(differences(&known)[0] > 100.0, "{name}");
        }
    }

    /// In the folder that `MCSA_POSTERIORDB` names, if there is one: 10,000 reference draws agree with the exact posterior. Means:
    /// 5 standard errors; sds and quantiles: 5 % and 0.1 sd, some 7 and 5 standard errors.
    #[test]
    fn references_agree_with_the_exact_posteriors() {
        let Ok(folder) = Catalogue::found(None).posteriordb() else { return };
        for name in folder.names() {
            let [mean, sd, quantile] = differences(&folder.load(name).unwrap());
            assert!(mean < 5.0 && sd < 0.05 && quantile < 0.1, "{name}: {mean} {sd} {quantile}");
        }
    }

    #[test]
    fn a_case_is_built_or_says_what_is_missing() {
        let case = |name: &str| Case::Posteriordb { data: format!("posteriordb/{name}") };
        let built = case("made_up-normal").build(&Catalogue::new(Some(carried()))).unwrap();
        assert_eq!(built.posterior.dim(), 3);
        let refused = |case: Case, folder: Option<std::path::PathBuf>| {
            case.build(&Catalogue::new(folder)).err().unwrap().to_string()
        };
        assert!(refused(case("other"), Some(carried())).contains("no posterior \"other\""));
        assert!(refused(Case::Posteriordb { data: "x".into() }, None).contains("expected posteriordb/NAME"));
    }
}
