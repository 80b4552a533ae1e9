//! Use of results: predictions, and comparison of models by their evidence.

use mcsa_core::{Error, Seed, Stream, numeric};

use super::FitResult;

/// A model among others, by its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Name of the model.
    pub name: String,
    /// Log evidence.
    pub log_evidence: f64,
    /// Its standard error.
    pub error: f64,
    /// Posterior probability of the model if all had the same before.
    pub probability: f64,
    /// Standard error of the probability: `p` times that of the log probability, with independent errors of the log evidences.
    pub probability_error: f64,
}

impl FitResult {
    /// One simulated value for each of `count` points with equal weights, such as data that the model predicts.
    ///
    /// ```
    /// use mcsa::Options;
    /// use mcsa::prelude::*;
    /// let fitted = mcsa::fit(&mcsa::models::Gaussian::standard(1), &Options::seeded(1))?;
    /// let data = fitted.predict(4_000, 1, |z, stream| z[0] + stream.normal())?;
    /// let square = data.iter().map(|x| x * x).sum::<f64>() / 4_000.0;
    /// assert!((square - 2.0).abs() < 0.2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If the draws have no weights.
    pub fn predict<T>(
        &self,
        count: usize,
        seed: u64,
        mut simulate: impl FnMut(&[f64], &mut Stream) -> T,
    ) -> Result<Vec<T>, Error> {
        let seed = Seed::new(seed).named("predict");
        let points = self.draws.resampled(count, &mut seed.stream(0, 0))?;
        Ok((0..count).map(|j| simulate(points.col_as_slice(j), &mut seed.stream(1 + j as u64, 0))).collect())
    }
}

/// Models by their evidence, the most probable first. Their log densities have to be normalised priors times likelihoods of the same data.
///
/// # Errors
/// If there is no model, a verdict is no, or an evidence was not estimated.
pub fn compare(models: &[(&str, &FitResult)]) -> Result<Vec<Compared>, Error> {
    let refuse =
        |name: &str, reason: &str| Err(Error::invalid(format!("{name}: {reason}")).within("compare"));
    for (name, fitted) in models {
        if !fitted.verdict.is_yes() {
            return refuse(name, "its verdict is no");
        }
        if !fitted.evidence.log.is_finite() {
            return refuse(name, "its evidence was not estimated");
        }
    }
    let logs: Vec<f64> = models.iter().map(|(_, fitted)| fitted.evidence.log).collect();
    if logs.is_empty() {
        return refuse("no model", "there is nothing to compare");
    }
    let total = numeric::log_sum_exp(&logs);
    let probabilities: Vec<f64> = logs.iter().map(|log| (log - total).exp()).collect();
    let error_of = |i: usize| {
        let slope = |j: usize| if i == j { 1.0 - probabilities[i] } else { -probabilities[j] };
        let square: f64 = models
            .iter()
            .enumerate()
            .map(|(j, (_, fitted))| (slope(j) * fitted.evidence.error).powi(2))
            .sum();
        probabilities[i] * square.sqrt()
    };
    let one = |(i, (name, fitted)): (usize, &(&str, &FitResult))| Compared {
        name: (*name).to_owned(),
        log_evidence: fitted.evidence.log,
        error: fitted.evidence.error,
        probability: probabilities[i],
        probability_error: error_of(i),
    };
    let mut found: Vec<Compared> = models.iter().enumerate().map(one).collect();
    found.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, fit_density};
    use mcsa_core::from_fn;

    /// Unnormalised normals with evidences 2 pi and 4 pi.
    #[test]
    fn models_are_compared_by_their_evidence() {
        let options = Options { starts: 5, ..Options::seeded(1) };
        let fitted = |square: f64, evaluations| {
            let density = from_fn(2, move |z| -0.5 * (z[0] * z[0] / square + z[1] * z[1] / square));
            fit_density(&density, &Options { evaluations, ..options.clone() }).expect("a fit")
        };
        let (one, two) = (fitted(1.0, None), fitted(2.0, None));
        let found = compare(&[("one", &one), ("two", &two)]).expect("two yes");
        assert_eq!(found[0].name, "two");
        assert!(
            (found[0].probability - 2.0 / 3.0).abs() < 5.0 * found[0].probability_error + 1e-3,
            "{found:?}"
        );
        assert!(found[0].probability_error < 0.01);
        // Errors: a no, and nothing.
        let cut = fitted(1.0, Some(200));
        let said = compare(&[("one", &one), ("cut", &cut)]).expect_err("a no").to_string();
        assert!(said.contains("cut: its verdict is no"), "{said}");
        assert!(compare(&[]).is_err());
    }
}
