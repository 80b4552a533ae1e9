//! Expectation propagation for probit regression, as a method to compare with.

use faer::MatRef;
use mcsa_core::Error;
use mcsa_models::{Link, Probit};
use mcsa_optim::deterministic::{ExpectationPropagation, Propagated};

use super::{Done, Running, average, now};
use crate::catalog::of_labels;
use crate::store::{Ended, Row};
use crate::task::{Fit, Job};
use mcsa_data::Dataset;

/// Runs sweeps over the rows of a probit regression. The result is one row of metrics with the number of sweeps as its step.
/// Predictions use the full covariance, not its diagonal; the reported last lambda is the member of the family with the means
/// and scales of the approximation.
///
/// There is no checkpoint: sweeps converge after some tens, and a sweep costs `d^2` operations per row.
pub(super) fn propagate(fit: &Fit, sweeps: usize, job: &Job, running: &Running<'_>) -> Result<Done, Error> {
    let (train, test) = fit.target.probit_rows(running.catalogue, job.seed)?;
    let since = now();
    let propagation = ExpectationPropagation { sweeps: sweeps as u64, ..ExpectationPropagation::default() };
    let Propagated { gaussian, log_evidence, sweeps, .. } =
        propagation.probit(train.x.as_ref(), &train.y, 1.0)?;
    let seconds = since.elapsed().as_secs_f64();
    let mut row = Row::new(sweeps, [("log_z", log_evidence)]);
    if let Some(test) = test {
        let odds = |data: &Dataset| log_odds(data, &gaussian.mean, gaussian.covariance.as_ref());
        row.values.extend(of_labels(&odds(&test), &test, &odds(&train), &train));
    }
    let scales = gaussian.scales();
    let family =
        fit.family.gaussian(scales.len()).ok_or_else(|| Error::invalid("ep fits a Gaussian family"))?;
    (running.last)(&average::params(&*family, &gaussian.mean, &scales)?);
    let variances: Vec<f64> = scales.iter().map(|scale| scale * scale).collect();
    row.vectors.extend(average::vectors(&gaussian.mean, &variances));
    let terms = sweeps * train.rows() as u64;
    let counts = [("terms_matched".to_owned(), terms)].into();
    Ok((vec![row], Ended { counts, seconds, ..Ended::default() }))
}

/// `Phi(x' m / sqrt(1 + x' S x))` as log odds, for each row.
fn log_odds(data: &Dataset, mean: &[f64], covariance: MatRef<'_, f64>) -> Vec<f64> {
    let odds = |i: usize| {
        let row = data.x.row(i);
        let (mut f, mut spread) = (0.0, 0.0);
        for (j, x) in row.iter().enumerate() {
            f += x * mean[j];
            spread += x * row.iter().enumerate().map(|(k, y)| covariance[(j, k)] * y).sum::<f64>();
        }
        Probit::log_odds_of_normal(f, spread)
    };
    (0..data.rows()).map(odds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Target;
    use mcsa_core::Seed;
    use mcsa_data::Catalogue;
    use mcsa_models::log_odds_from_moments;

    /// With a diagonal covariance the prediction equals that of the library for independent weights.
    #[test]
    fn without_correlation_it_is_the_mean_field_prediction() {
        let target = Target::Probit { data: "pima".into(), complete: false };
        let (_, test) = target.probit_rows(&Catalogue::new(None), Seed::new(1)).unwrap();
        let test = test.unwrap();
        let (mean, variance) = ([0.01; 9], [1e-4; 9]);
        let covariance = faer::Mat::from_fn(9, 9, |i, k| if i == k { variance[i] } else { 0.0 });
        let mut expected = vec![0.0; test.rows()];
        log_odds_from_moments::<Probit>(test.x.as_ref(), &mean, &variance, &mut expected);
        let found = log_odds(&test, &mean, covariance.as_ref());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12 * b.abs().max(1.0)));
    }
}
