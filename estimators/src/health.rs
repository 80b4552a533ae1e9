//! Whether a fit is to be believed.

use std::fmt;

use mcsa::{Error, Estimator, Family, LogDensity, Metric, Optimizer, Record, batch, batch_mut, bits};
use mcsa_theory::bounds;
use mcsa_theory::diagnostics::{LogEvidence, Pareto, importance_sample_size};
use serde::{Deserialize, Serialize};

use crate::{Ascent, Fit};

/// What a fit's kernel and guide look like at one moment: measured, not proved.
///
/// Numbers from [`Watch`](crate::Watch) cover the last steps; those of weights come from fresh draws of `q_lambda`, at stream
/// addresses no step uses, so that looking moves nothing. A number that the estimator does not tell is NaN and is left
/// out of the [`Record`].
///
/// Draws are of q itself. Under a guarded guide the kernel proposes from something else, whose weights
/// are lighter; what the kernel saw is then in [`log_weight_bound`](Self::log_weight_bound) and
/// [`max_weight`](Self::max_weight) only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Steps made.
    pub step: u64,
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
    /// The k-hat up to which so many draws suffice.
    #[serde(with = "bits::scalar")]
    pub shape_threshold: f64,
    /// The effective number of the fresh draws, as weighted draws of p.
    #[serde(with = "bits::scalar")]
    pub sample_size: f64,
    /// A lower bound of `log w* = sup log(p / q)`, p normalised: the largest log weight seen minus the larger of two
    /// estimates of `log Z`, from fresh draws and from the last steps. Both err to the low side, and so the bound to the high
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

/// Fresh draws behind a report: enough for a threshold of 0.67.
const DRAWS: usize = 1_000;

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Looks at a fit, at the cost of 1000 evaluations of the target. The fit is only read, and the same fit gives the same
    /// report.
    ///
    /// # Errors
    /// If the fit belongs to another seed, target, family or estimator.
    pub fn health(&self, fit: &Fit<E::State, O::State>) -> Result<Health, Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (dim, params) = (self.family.dim(), &fit.params()[..self.family.num_params()]);
        let chains = self.estimator.chains(fit.estimator());
        let columns = DRAWS.max(chains.map_or(0, |chains| chains.len()));
        let mut work = vec![0.0; self.family.work_len(columns).max(self.target.work_len(columns))];
        let (mut points, mut log_q, mut log_p) = (vec![0.0; dim * DRAWS], vec![0.0; DRAWS], vec![0.0; DRAWS]);
        let mut lane = [self.seed.named("health").stream(0, fit.step())];
        let z = batch_mut(&mut points, dim, DRAWS);
        self.family.sample_into(params, &mut lane, z, &mut log_q, &mut work);
        self.target.log_densities(batch(&points, dim, DRAWS), &mut log_p, &mut work);
        let (log_w, broken) = log_weights(&log_p, &log_q);
        let at_chains = chains.map_or_else(Vec::new, |chains| {
            let mut log_q = vec![0.0; chains.len()];
            self.family.log_probs(params, chains.positions.as_ref(), &mut log_q, &mut work);
            log_weights(&chains.log_p, &log_q).0
        });

        let evidence = LogEvidence::of(&log_w, DRAWS, &at_chains);
        let pareto = Pareto::of(&log_w);
        let watch = fit.watch();
        let seen = log_w.iter().chain(&at_chains).copied().chain(watch.log_weight_top());
        let top = seen.filter(|w| w.is_finite()).fold(f64::NAN, f64::max);
        let log_evidence = evidence.closer.max(watch.log_evidence().unwrap_or(f64::NAN));
        let (signal, noise) = watch.signal_and_noise();
        // sup p / q is at least 1, since both integrate to 1.
        let log_weight_bound = if top.is_nan() { f64::NAN } else { (top - log_evidence).max(0.0) };
        Ok(Health {
            step: fit.step(),
            draws: DRAWS,
            acceptance: watch.acceptance().unwrap_or(f64::NAN),
            max_weight: watch.max_weight().unwrap_or(f64::NAN),
            shape: pareto.shape,
            shape_threshold: pareto.threshold,
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
        })
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

/// `log p - log q`, zero weight where p is not a density; and how often it was not.
fn log_weights(log_p: &[f64], log_q: &[f64]) -> (Vec<f64>, usize) {
    let mut broken = 0;
    let weigh = |(&log_p, &log_q): (&f64, &f64)| {
        if log_p.is_nan() || log_p == f64::INFINITY || log_q.is_nan() {
            broken += 1;
            return f64::NEG_INFINITY;
        }
        if log_p == f64::NEG_INFINITY { log_p } else { log_p - log_q }
    };
    let log_w = log_p.iter().zip(log_q).map(weigh).collect();
    (log_w, broken)
}

impl Health {
    /// Whether averages over draws of q, weighted, are to be trusted: k-hat below its threshold.
    pub fn has_light_tails(&self) -> bool {
        self.shape < self.shape_threshold
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
            if value.is_finite() {
                sink(metric, value);
            }
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.has_light_tails() {
            true => "light enough",
            false if self.shape.is_nan() => "unknown",
            false => "too heavy: q misses mass of p",
        };
        writeln!(
            f,
            "step {}: k-hat {:.2} (limit {:.2}, {verdict}); {:.0} of {} draws count",
            self.step, self.shape, self.shape_threshold, self.sample_size, self.draws
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
