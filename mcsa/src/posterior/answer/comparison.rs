//! Use of results: predictions, and comparison of models by evidence and by prediction.

use mcsa_core::{Error, Seed, Stream, numeric};

use super::loo::sum_and_error;
use crate::posterior::{Evidence, FitResult, Loo};

/// A model that is to be compared with others.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Name of the model.
    pub name: &'a str,
    /// Log evidence of its fit.
    pub evidence: Evidence,
    /// True if the verdict on its fit is yes.
    pub is_reliable: bool,
    /// Its LOO, if the log likelihood of each datum is known.
    pub loo: Option<&'a Loo>,
}

impl<'a> Candidate<'a> {
    /// A model with its fit.
    pub fn new(name: &'a str, fitted: &FitResult) -> Self {
        let (evidence, is_reliable) = (fitted.evidence, fitted.verdict.is_yes());
        Self { name, evidence, is_reliable, loo: None }
    }

    /// The model with its LOO.
    pub const fn with_loo(self, loo: &'a Loo) -> Self {
        Self { loo: Some(loo), ..self }
    }
}

/// A model among others.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Name of the model.
    pub name: String,
    /// Log evidence.
    pub log_evidence: f64,
    /// Its standard error.
    pub error: f64,
    /// Log evidence less that of the most probable model.
    pub difference: f64,
    /// Its standard error, with independent errors of the log evidences; 0 for the most probable model.
    pub difference_error: f64,
    /// Posterior probability of the model if all had the same before.
    pub probability: f64,
    /// Standard error of the probability: `p` times that of the log probability, with independent errors of the log evidences.
    pub probability_error: f64,
    /// LOO, if that of every model is given.
    pub loo: Option<ComparedLoo>,
}

/// LOO of a model among others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparedLoo {
    /// Expected log predictive density.
    pub elpd: f64,
    /// Its standard error.
    pub error: f64,
    /// `elpd` less that of the model with the largest.
    pub difference: f64,
    /// Its standard error, from the spread of the differences over the data; 0 for the model with the largest.
    pub difference_error: f64,
    /// Number of data whose k-hat is above the limit.
    pub unreliable: usize,
}

impl FitResult {
    /// One simulated value for each of `count` points with equal weights, such as data that the model predicts. A point has the parameters on
    /// their constrained scale, in the order of `parameters`.
    ///
    /// ```
    /// use mcsa::Options;
    /// use mcsa::prelude::*;
    /// /// One datum x = 2 of a normal distribution with mean 0 and standard deviation sigma ~ Gamma(3, 1).
    /// struct Scale;
    /// impl GenericDensity for Scale {
    ///     fn log_density<R: Real>(&self, theta: &[R]) -> R {
    ///         R::from(2.0).log_normal(0.0, theta[0]) + theta[0].ln() * 2.0 - theta[0]
    ///     }
    /// }
    /// let target = Bounded::new(Parameters::new().positive("sigma"), Scale)?;
    /// let fitted = mcsa::fit(&target, &Options::seeded(1))?;
    /// let data = fitted.predict(4_000, 1, |theta, stream| theta[0] * stream.normal())?;
    /// let square = data.iter().map(|x| x * x).sum::<f64>() / 4_000.0;
    /// let sigma = &fitted.parameters[0];
    /// assert!((square / (sigma.mean.powi(2) + sigma.sd.powi(2)) - 1.0).abs() < 0.15);
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
        let copies = self.draws.copies(count, &mut seed.stream(0, 0))?;
        let simulated = |(j, &copy): (usize, &usize)| {
            simulate(self.constrained.col_as_slice(copy), &mut seed.stream(1 + j as u64, 0))
        };
        Ok(copies.iter().enumerate().map(simulated).collect())
    }
}

/// Models by their evidence, the most probable first; and by LOO, if all have it. The evidence is comparable if the log densities are
/// normalised priors times likelihoods of the same data. LOO needs the same data alone.
///
/// Without LOO, an evidence that was not estimated is an error. With LOO, the probabilities are NaN if an evidence is not known,
/// and the model with the largest `elpd` is first.
///
/// # Errors
/// If there is no model, a verdict is no, an evidence was not estimated and a model has no LOO, or the numbers of data differ.
pub fn compare(models: &[Candidate<'_>]) -> Result<Vec<Compared>, Error> {
    let refuse =
        |name: &str, reason: &str| Err(Error::invalid(format!("{name}: {reason}")).within("compare"));
    let Some(first) = models.first() else { return refuse("no model", "there is nothing to compare") };
    let loos: Option<Vec<&Loo>> = models.iter().map(|model| model.loo).collect();
    for model in models {
        if !model.is_reliable {
            return refuse(model.name, "its verdict is no");
        }
        if loos.is_none() && !model.evidence.log.is_finite() {
            return refuse(model.name, "its evidence was not estimated");
        }
        let [here, there] = [model, first].map(|model| model.loo.map_or(0, |loo| loo.pointwise.len()));
        if loos.is_some() && here != there {
            let reason = format!("it has {here} data, and {} has {there}", first.name);
            return refuse(model.name, &reason);
        }
    }
    let mut found = by_evidence(models);
    if let Some(loos) = loos {
        found.iter_mut().zip(by_loo(&loos)).for_each(|(found, loo)| found.loo = Some(loo));
    }
    let is_known = found.iter().all(|model| model.probability.is_finite());
    let rank = |model: &Compared| {
        let elpd = model.loo.map_or(f64::NAN, |loo| loo.elpd);
        if is_known { model.probability } else { elpd }
    };
    found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    Ok(found)
}

/// The models in their order, without LOO. NaN where an evidence is.
fn by_evidence(models: &[Candidate<'_>]) -> Vec<Compared> {
    let logs: Vec<f64> = models.iter().map(|model| model.evidence.log).collect();
    let total = numeric::log_sum_exp(&logs);
    let probabilities: Vec<f64> = logs.iter().map(|log| (log - total).exp()).collect();
    let best = (0..logs.len()).max_by(|&a, &b| logs[a].total_cmp(&logs[b])).unwrap_or(0);
    let error_of = |i: usize| {
        let slope = |j: usize| if i == j { 1.0 - probabilities[i] } else { -probabilities[j] };
        let squares = models.iter().enumerate().map(|(j, model)| (slope(j) * model.evidence.error).powi(2));
        probabilities[i] * squares.sum::<f64>().sqrt()
    };
    let one = |(i, model): (usize, &Candidate<'_>)| {
        let Evidence { log, error, .. } = model.evidence;
        Compared {
            name: model.name.to_owned(),
            log_evidence: log,
            error,
            difference: log - logs[best],
            difference_error: if i == best { 0.0 } else { error.hypot(models[best].evidence.error) },
            probability: probabilities[i],
            probability_error: error_of(i),
            loo: None,
        }
    };
    models.iter().enumerate().map(one).collect()
}

/// LOO of the models in their order, for the same data.
fn by_loo(loos: &[&Loo]) -> Vec<ComparedLoo> {
    let best = loos.iter().max_by(|a, b| a.elpd.total_cmp(&b.elpd));
    let one = |loo: &&Loo| {
        let of_best = best.map_or(&[][..], |best| &best.pointwise[..]);
        let differences: Vec<f64> =
            loo.pointwise.iter().zip(of_best).map(|(here, best)| here - best).collect();
        let (difference, spread) = sum_and_error(&differences);
        let difference_error = if difference == 0.0 { 0.0 } else { spread };
        ComparedLoo {
            elpd: loo.elpd,
            error: loo.error,
            difference,
            difference_error,
            unreliable: loo.unreliable(),
        }
    };
    loos.iter().map(one).collect()
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
        let found = compare(&[Candidate::new("one", &one), Candidate::new("two", &two)]).expect("two yes");
        assert_eq!(found[0].name, "two");
        assert!(
            (found[0].probability - 2.0 / 3.0).abs() < 5.0 * found[0].probability_error + 1e-3,
            "{found:?}"
        );
        assert!(found[0].probability_error < 0.01);
        assert_eq!((found[0].difference, found[0].difference_error), (0.0, 0.0));
        let off = found[1].difference + 2.0_f64.ln();
        assert!(off.abs() < 5.0 * found[1].difference_error + 1e-3, "{found:?}");
        // Errors: a no, and nothing.
        let cut = fitted(1.0, Some(200));
        let said = compare(&[Candidate::new("one", &one), Candidate::new("cut", &cut)]);
        let said = said.expect_err("a no").to_string();
        assert!(said.contains("cut: its verdict is no"), "{said}");
        assert!(compare(&[]).is_err());
    }

    fn loo(pointwise: &[f64]) -> Loo {
        let (elpd, error) = sum_and_error(pointwise);
        let shapes = vec![0.1, 0.9, f64::NAN];
        Loo { pointwise: pointwise.to_vec(), shapes, limit: 0.7, elpd, error, effective_parameters: 1.0 }
    }

    /// Differences 1, 2 and 6 have the sum 9, the mean 3 and the variance 7.
    #[test]
    fn errors_of_differences_are_of_pairs() {
        let evidence = |log: f64| Evidence { log, error: 0.1, lower: log, upper: log };
        let (low, high) = (loo(&[-5.0, -8.0, -13.0]), loo(&[-4.0, -6.0, -7.0]));
        let model = |name, loo, log| Candidate { name, evidence: evidence(log), is_reliable: true, loo };
        // The evidence is for the other model, by three to one.
        let models = [model("low", Some(&low), 3.0_f64.ln()), model("high", Some(&high), 0.0)];
        let found = compare(&models).expect("two yes");
        assert_eq!(found[0].name, "low");
        assert!((found[0].probability - 0.75).abs() < 1e-12);
        assert!((found[1].difference_error - 0.02_f64.sqrt()).abs() < 1e-12, "{found:?}");
        let [first, second] = [found[0].loo, found[1].loo].map(|loo| loo.expect("LOO"));
        assert_eq!((first.difference, second.difference, second.difference_error), (-9.0, 0.0, 0.0));
        assert!((first.difference_error - 21.0_f64.sqrt()).abs() < 1e-12, "{first:?}");
        // Twin: independent errors would be larger.
        assert!(first.error.hypot(second.error) > 1.1 * first.difference_error);
        assert_eq!(first.unreliable, 2);
        // Without an evidence the models are ordered by LOO.
        let unknown = [model("low", Some(&low), f64::NAN), models[1]];
        let found = compare(&unknown).expect("LOO");
        assert!(found[0].name == "high" && found[0].probability.is_nan(), "{found:?}");
        let said = compare(&[model("low", None, f64::NAN), models[1]]).expect_err("nothing").to_string();
        assert!(said.contains("low: its evidence was not estimated"), "{said}");
        let shorter = loo(&[-1.0, -2.0]);
        let said = compare(&[models[0], model("few", Some(&shorter), 0.0)]).expect_err("data").to_string();
        assert!(said.contains("few: it has 2 data, and low has 3"), "{said}");
    }
}
