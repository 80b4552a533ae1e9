//! Diagnostics of a fit: importance weights of q at one lambda, and what the kernel told of the last steps.

use std::fmt;

use mcsa::{Error, Estimator, Family, LogDensity, Metric, Optimizer, Record, batch, batch_mut, bits};
use mcsa_theory::bounds;
use mcsa_theory::diagnostics::{LogEvidence, importance_sample_size};
use serde::{Deserialize, Serialize};

use crate::tail_weight::TailShape;
use crate::{Ascent, Fit, Judged, TailWeight};

/// Diagnostics of a fit at one lambda, [`judged`](Self::judged): measured, not proved.
///
/// Numbers from [`Watch`](crate::Watch) cover the last steps; those of weights come from fresh draws of `q_lambda`, at stream
/// addresses no step uses, so that looking moves nothing. A number that the estimator does not tell is NaN and is left
/// out of the [`Record`].
///
/// # k-hat
///
/// Whether q is wide enough for p is read off the largest weights: k-hat, its standard error, the number of weights in the tail. The
/// error covers other draws of the same number. More draws reach farther out and may find a heavier tail, so k-hat of a quarter of
/// the draws is compared with that of all:
///
/// ```text
/// heavy      k-hat - 1.645 error              > threshold
/// light      k-hat + 1.645 error + 2 growth   < threshold,    growth = max(0, k-hat - k-hat of a quarter)
/// not known  otherwise
/// ```
/// The threshold is 0.7. First 4000 draws are made. They decide if the tail is heavy, or light with 1/2 in the place of the threshold:
/// weights with a variance. Otherwise 16 000 draws are. Tried on 200 sets of weights of a Gaussian q; light were called
///
/// | target | k | by k-hat of 1000 draws | by this rule |
/// |---|---|---|---|
/// | Gaussian, 2 dimensions | 0.1 | 200 | 200 |
/// | Gaussian, 2 dimensions | 0.3 | 199 | 196 |
/// | Gaussian, 2 dimensions | 0.5 | 175 | 122 |
/// | Gaussian, 2 dimensions | 0.7 | 95 | 15 |
/// | Gaussian, 2 dimensions | 0.9 | 34 | 0 |
/// | t of 5 degrees of freedom and the variance of q, 3 dimensions | above 1 | 200 | 30 |
/// | t of 10 degrees of freedom and the variance of q, 3 dimensions | above 1 | 184 | 0 |
///
/// A k-hat from 0.55 to 0.85 stays not known: 16 000 draws tell it to 0.09.
///
/// Draws are of q itself. Under a guarded guide the kernel proposes from something else, whose weights
/// are lighter; what the kernel saw is then in [`log_weight_bound`](Self::log_weight_bound) and
/// [`max_weight`](Self::max_weight) only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Steps made.
    pub step: u64,
    /// The lambda that was judged.
    pub judged: Judged,
    /// Fresh draws.
    pub draws: usize,
    /// The running mean of the acceptance.
    #[serde(with = "bits::scalar")]
    pub acceptance: f64,
    /// The running mean of the largest normalised weight among a step's candidates: near 1, one candidate decides.
    #[serde(with = "bits::scalar")]
    pub max_weight: f64,
    /// k-hat of q as a guide for p.
    #[serde(with = "bits::scalar")]
    pub shape: f64,
    /// The standard error of k-hat.
    #[serde(with = "bits::scalar")]
    pub shape_error: f64,
    /// k-hat less that of the first quarter of the draws.
    #[serde(with = "bits::scalar")]
    pub shape_growth: f64,
    /// The number of largest weights that k-hat rests on.
    pub tail: usize,
    /// The k-hat up to which so many draws suffice.
    #[serde(with = "bits::scalar")]
    pub shape_threshold: f64,
    /// The effective number of the fresh draws, as weighted draws of p.
    #[serde(with = "bits::scalar")]
    pub sample_size: f64,
    /// A lower bound of `log w* = sup log(p / q)`, p normalised: the largest log weight seen minus the larger of two
    /// estimates of `log Z`, from fresh draws and from the last steps. Weights of the last steps belong to their own lambda and count
    /// only where the last iterate is judged. Both estimates err to the low side, and so the bound to the high
    /// side, where k-hat is above its threshold. A maximum that was seen is never an upper bound.
    #[serde(with = "bits::scalar")]
    pub log_weight_bound: f64,
    /// Transitions of independent Metropolis-Hastings after which half of the bias from the worst start is left, if w* is no
    /// larger than seen: `ln 2 / -ln(1 - 1/w*)`, by the exact [rate](bounds::rate). Where w* is larger it takes longer.
    #[serde(with = "bits::scalar")]
    pub half_life: f64,
    /// `E_q[log w]`, the evidence lower bound, of p as it is, not normalised.
    #[serde(with = "bits::scalar")]
    pub evidence_lower: f64,
    /// The estimate of `log Z` used above.
    #[serde(with = "bits::scalar")]
    pub log_evidence: f64,
    /// The mean of `log w` over the chains: an evidence upper bound, as far as they are draws of p.
    #[serde(with = "bits::scalar")]
    pub evidence_upper: f64,
    /// The chain that has stayed longest, and for how many steps, if there are chains.
    pub oldest: Option<(usize, u64)>,
    /// The norm of the mean direction.
    #[serde(with = "bits::scalar")]
    pub signal: f64,
    /// The noise of a direction.
    #[serde(with = "bits::scalar")]
    pub noise: f64,
    /// Evaluations that were not finite since the fit began, and among the fresh draws.
    #[serde(with = "bits::scalar")]
    pub non_finite: f64,
    /// Metrics that are missing in all this: see [`Watch::untold`](crate::Watch::untold).
    #[serde(with = "bits::scalar")]
    pub untold: f64,
}

/// Draws made at first, and where these leave k-hat open.
const DRAWS: [usize; 2] = [4_000, 16_000];
/// Draws held in memory at once.
const BATCH: usize = 1_000;

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Diagnostics at the lambda that a fit [recommends](Self::recommended): an average where there is one, or else the last iterate.
    /// At the cost of 4000 evaluations of the target, or 16 000 where these leave k-hat open. The fit is only read, and the same fit
    /// gives the same report.
    ///
    /// # Errors
    /// If the fit belongs to another seed, target, family or estimator.
    pub fn health(&self, fit: &Fit<E::State, O::State>) -> Result<Health, Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (judged, params) = self.recommended(fit);
        Ok(self.judge(fit, judged, params, &DRAWS))
    }

    /// As [`health`](Self::health), from a number of draws of the caller's where the target is expensive. With fewer than 1000 the
    /// error of k-hat is seldom small enough for a verdict.
    ///
    /// # Errors
    /// As [`health`](Self::health), and if there is to be no draw.
    pub fn health_from(&self, fit: &Fit<E::State, O::State>, draws: usize) -> Result<Health, Error> {
        if draws == 0 {
            return Err(Error::parameter("draws", 0.0, "at least 1").within("health_from"));
        }
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (judged, params) = self.recommended(fit);
        Ok(self.judge(fit, judged, params, &[draws]))
    }

    /// The same at any lambda, `params` being as long as the params of the fit. Numbers of the kernel and of directions are those of
    /// the last steps all the same.
    ///
    /// # Errors
    /// As [`health`](Self::health), and if the family or the estimator refuses `params`.
    pub fn health_at(&self, fit: &Fit<E::State, O::State>, params: &[f64]) -> Result<Health, Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let refuse = |error: Error| error.within("health_at");
        self.estimator.check_params(self.target, self.family, params).map_err(refuse)?;
        Ok(self.judge(fit, Judged::Given, params, &DRAWS))
    }

    fn judge(
        &self,
        fit: &Fit<E::State, O::State>,
        judged: Judged,
        params: &[f64],
        enough: &[usize],
    ) -> Health {
        let (dim, params) = (self.family.dim(), &params[..self.family.num_params()]);
        let chains = self.estimator.chains(fit.estimator());
        let columns = BATCH.max(chains.map_or(0, |chains| chains.len()));
        let mut work = vec![0.0; self.family.work_len(columns).max(self.target.work_len(columns))];
        let (mut points, mut log_q, mut log_p) = (vec![0.0; dim * BATCH], vec![0.0; BATCH], vec![0.0; BATCH]);
        let mut lane = [self.seed.named("health").stream(0, fit.step())];
        let (mut log_w, mut broken) = (Vec::new(), 0);
        let mut tail = TailShape::NONE;
        for &draws in enough {
            while log_w.len() < draws {
                let count = BATCH.min(draws - log_w.len());
                let (points, log_q, log_p) =
                    (&mut points[..dim * count], &mut log_q[..count], &mut log_p[..count]);
                let z = batch_mut(points, dim, count);
                self.family.sample_into(params, &mut lane, z, log_q, &mut work);
                self.target.log_densities(batch(points, dim, count), log_p, &mut work);
                broken += add_log_weights(log_p, log_q, &mut log_w);
            }
            tail = TailShape::of(&log_w);
            if tail.is_clear() {
                break;
            }
        }
        let draws = log_w.len();
        let mut at_chains = Vec::new();
        if let Some(chains) = chains {
            let mut log_q = vec![0.0; chains.len()];
            self.family.log_probs(params, chains.positions.as_ref(), &mut log_q, &mut work);
            add_log_weights(&chains.log_p, &log_q, &mut at_chains);
        }

        let evidence = LogEvidence::of(&log_w, draws, &at_chains);
        let watch = fit.watch();
        let of_steps = watch.log_weight_top().filter(|_| judged == Judged::LastIterate);
        let seen = log_w.iter().chain(&at_chains).copied().chain(of_steps);
        let top = seen.filter(|w| w.is_finite()).fold(f64::NAN, f64::max);
        let log_evidence = evidence.closer.max(watch.log_evidence().unwrap_or(f64::NAN));
        let (signal, noise) = watch.signal_and_noise();
        // sup p / q is at least 1, since both integrate to 1.
        let log_weight_bound = if top.is_nan() { f64::NAN } else { (top - log_evidence).max(0.0) };
        Health {
            step: fit.step(),
            judged,
            draws,
            acceptance: watch.acceptance().unwrap_or(f64::NAN),
            max_weight: watch.max_weight().unwrap_or(f64::NAN),
            shape: tail.shape,
            shape_error: tail.error,
            shape_growth: tail.growth,
            tail: tail.weights,
            shape_threshold: tail.threshold,
            sample_size: importance_sample_size(&log_w),
            log_weight_bound,
            half_life: half_life(log_weight_bound.exp()),
            evidence_lower: evidence.lower,
            log_evidence,
            evidence_upper: evidence.upper,
            oldest: watch.oldest(),
            signal,
            noise,
            non_finite: watch.non_finite() + broken as f64,
            untold: watch.untold(),
        }
    }
}

/// With how many transitions half is forgotten at the rate of `w_star`.
fn half_life(w_star: f64) -> f64 {
    let rate = bounds::rate(w_star);
    // Near rate 1 its logarithm loses digits, and is -1 / w*.
    if rate < 0.9 {
        -std::f64::consts::LN_2 / rate.ln()
    } else {
        std::f64::consts::LN_2 / -(-1.0 / w_star).ln_1p()
    }
}

/// Adds `log p - log q`, zero weight where p is not a density; and says how often it was not.
fn add_log_weights(log_p: &[f64], log_q: &[f64], log_w: &mut Vec<f64>) -> usize {
    let mut broken = 0;
    log_w.extend(log_p.iter().zip(log_q).map(|(&log_p, &log_q)| {
        if log_p.is_nan() || log_p == f64::INFINITY || log_q.is_nan() {
            broken += 1;
            return f64::NEG_INFINITY;
        }
        if log_p == f64::NEG_INFINITY { log_p } else { log_p - log_q }
    }));
    broken
}

impl Health {
    /// The verdict on the tail of the weights.
    pub fn tail_weight(&self) -> TailWeight {
        TailWeight::of(self.shape, self.shape_error, self.shape_growth, self.shape_threshold)
    }

    /// Whether averages over draws of q, weighted, are to be trusted: k-hat is below its threshold for all that is known.
    pub fn has_light_tails(&self) -> bool {
        self.tail_weight() == TailWeight::Light
    }
}

impl Record for Health {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        let (_, age) = self.oldest.unwrap_or_default();
        let age = if self.oldest.is_some() { age as f64 } else { f64::NAN };
        for (metric, value) in [
            (Metric::ACCEPTANCE, self.acceptance),
            (Metric::MAX_WEIGHT, self.max_weight),
            (Metric::mean("pareto_shape"), self.shape),
            (Metric::mean("pareto_error"), self.shape_error),
            (Metric::mean("pareto_growth"), self.shape_growth),
            (Metric::mean("pareto_threshold"), self.shape_threshold),
            (Metric::mean("sample_size"), self.sample_size),
            (Metric::max("log_weight_bound"), self.log_weight_bound),
            (Metric::mean("half_life"), self.half_life),
            (Metric::mean("evidence_lower"), self.evidence_lower),
            (Metric::mean("log_evidence"), self.log_evidence),
            (Metric::mean("evidence_upper"), self.evidence_upper),
            (Metric::max("oldest_chain"), age),
            (Metric::mean("signal"), self.signal),
            (Metric::mean("noise"), self.noise),
            (Metric::NON_FINITE, self.non_finite),
            (Metric::UNTOLD, self.untold),
        ] {
            if !value.is_nan() {
                sink(metric, value);
            }
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "step {}, {}: k-hat {:.2} +- {:.2} from the {} largest of {} weights, {:+.2} against a quarter of them (limit {:.2}): {}; {:.0} draws count",
            self.step,
            self.judged,
            self.shape,
            self.shape_error,
            self.tail,
            self.draws,
            self.shape_growth,
            self.shape_threshold,
            self.tail_weight(),
            self.sample_size
        )?;
        writeln!(
            f,
            "log w* at least {:.2}, so half a bias may last {:.3e} transitions or more; log Z about {:.3}, from below {:.3}, from above, by the chains, {:.3}",
            self.log_weight_bound,
            self.half_life,
            self.log_evidence,
            self.evidence_lower,
            self.evidence_upper
        )?;
        write!(f, "acceptance {:.3}, largest weight of a step {:.3}; ", self.acceptance, self.max_weight)?;
        match self.oldest {
            Some((chain, age)) => writeln!(f, "chain {chain} has stayed for {age} steps")?,
            None => writeln!(f, "no chains")?,
        }
        write!(
            f,
            "direction {:.2e}, noise {:.2e}; {} evaluations not finite",
            self.signal, self.noise, self.non_finite
        )?;
        match self.untold > 0.0 {
            true => write!(f, "; {} metrics were told and not taken up: see Watch::untold", self.untold),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At w* = 2 the rate is one half; at w* = 1 nothing is left after one transition; and both branches meet.
    #[test]
    fn half_lives() {
        assert!((half_life(2.0) - 1.0).abs() < 1e-15);
        assert_eq!(half_life(1.0), 0.0);
        assert!((half_life(10.0 - 1e-9) / half_life(10.0 + 1e-9) - 1.0).abs() < 1e-9);
        assert!((half_life(1e12) / (1e12 * std::f64::consts::LN_2) - 1.0).abs() < 1e-11);
        assert!(half_life(f64::NAN).is_nan());
    }
}
