//! Diagnostics of a fit: importance weights of q at one lambda, and metrics of the last steps.

use std::fmt;

use faer::MatMut;
use mcsa_core::{
    Error, Estimator, Family, LogDensity, Metric, Optimizer, Parametric, Record, StepSizes, bits,
};
use mcsa_diagnostics::{LogEvidence, importance_sample_size};
use serde::{Deserialize, Serialize};

use crate::fresh_weights::{BATCH, DRAWS, FreshWeights, Pieces};
use crate::log_weights::add_log_weights;
use crate::{Ascent, Fit, Judged, TailWeight};

/// Diagnostics of a fit at one lambda, [`judged`](Self::judged). They are estimates, not guarantees.
///
/// Numbers from [`Watch`](crate::Watch) cover the last steps. Those of weights come from fresh draws of `q_lambda`, at
/// stream addresses no step uses, so a report does not change the fit. A number that the estimator does not record is NaN
/// and is left out of the [`Record`].
///
/// # k-hat
///
/// The largest importance weights show whether q is wide enough for p. The report holds k-hat (Pareto shape of the
/// weights), its standard error and the number of weights in the tail. The standard error covers other sets of the same
/// number of draws. More draws reach farther out and may find a heavier tail, so k-hat of a quarter of the draws is
/// compared with that of all:
///
/// ```text
/// heavy      k-hat - 1.645 error              > threshold
/// light      k-hat + 1.645 error + 2 growth   < threshold,    growth = max(0, k-hat - k-hat of a quarter)
/// not known  otherwise
/// ```
/// The threshold is 0.7. First 4000 draws are made. They suffice if the tail is heavy, or if it is light with 1/2 in place
/// of the threshold, which means weights of finite variance. Otherwise 16 000 draws are made. Of 200 sets of weights of a
/// Gaussian q, the numbers called light were:
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
/// A k-hat from 0.55 to 0.85 stays not known: the error of k-hat from 16 000 draws is 0.09.
///
/// Draws are of q itself. Under a guard the kernel proposes from another distribution, whose weights are lighter; these
/// weights enter [`log_weight_bound`](Self::log_weight_bound) and [`max_weight`](Self::max_weight) only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Number of steps made.
    pub step: u64,
    /// Origin of the lambda that was judged.
    pub judged: Judged,
    /// Number of fresh draws.
    pub draws: usize,
    /// Running mean of the acceptance probability.
    #[serde(with = "bits::scalar")]
    pub acceptance: f64,
    /// Running mean of the largest normalised weight of a step's candidates; near 1 a single candidate dominates.
    #[serde(with = "bits::scalar")]
    pub max_weight: f64,
    /// k-hat of q as a proposal distribution for p.
    #[serde(with = "bits::scalar")]
    pub shape: f64,
    /// Standard error of k-hat.
    #[serde(with = "bits::scalar")]
    pub shape_error: f64,
    /// k-hat minus k-hat of the first quarter of the draws.
    #[serde(with = "bits::scalar")]
    pub shape_growth: f64,
    /// Number of largest weights from which k-hat is estimated.
    pub tail: usize,
    /// Threshold of k-hat for this number of draws.
    #[serde(with = "bits::scalar")]
    pub shape_threshold: f64,
    /// Effective sample size of the fresh draws, as weighted draws of p.
    #[serde(with = "bits::scalar")]
    pub sample_size: f64,
    /// Lower bound of `log w* = sup log(p / q)`, p normalised: the largest log weight seen minus the larger of two
    /// estimates of `log Z`, from fresh draws and from the last steps. Weights of the last steps belong to other lambdas
    /// and count only where the last iterate is judged. Where k-hat is above its threshold both estimates are too low, and
    /// so the bound is too high. A maximum over draws is never an upper bound.
    #[serde(with = "bits::scalar")]
    pub log_weight_bound: f64,
    /// Number of transitions of independent Metropolis-Hastings that halve the bias from the worst start, if w* is no
    /// larger than seen: `ln 2 / -ln(1 - 1/w*)`, because the distance falls by `1 - 1/w*` per step. A larger w* takes longer.
    #[serde(with = "bits::scalar")]
    pub half_life: f64,
    /// Evidence lower bound `E_q[log w]`, with p not normalised.
    #[serde(with = "bits::scalar")]
    pub evidence_lower: f64,
    /// Estimate of `log Z` used in `log_weight_bound`.
    #[serde(with = "bits::scalar")]
    pub log_evidence: f64,
    /// Mean of `log w` over the chains: an evidence upper bound if the chains are draws of p.
    #[serde(with = "bits::scalar")]
    pub evidence_upper: f64,
    /// The chain that has stayed longest and the number of steps, if there are chains.
    pub oldest: Option<(usize, u64)>,
    /// Norm of the mean direction.
    #[serde(with = "bits::scalar")]
    pub signal: f64,
    /// Noise of a direction about its mean.
    #[serde(with = "bits::scalar")]
    pub noise: f64,
    /// Number of evaluations that were not finite, since the start of the fit and among the fresh draws.
    #[serde(with = "bits::scalar")]
    pub non_finite: f64,
    /// Number of metrics missing from this report: see [`Watch::untold`](crate::Watch::untold).
    #[serde(with = "bits::scalar")]
    pub untold: f64,
    /// Numbers of clipped step sizes, for an annealed path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_sizes: Option<StepSizes>,
}

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Diagnostics at the [recommended](Self::recommended) lambda of a fit: an average if there is one, else the last
    /// iterate. Costs 4000 evaluations of the target, or 16 000 if these leave the verdict on k-hat open. The fit is not
    /// changed, and equal fits give equal reports.
    ///
    /// # Errors
    /// If the fit belongs to another seed, target, family or estimator.
    pub fn health(&self, fit: &Fit<E::State, O::State>) -> Result<Health, Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (judged, params) = self.recommended(fit);
        Ok(self.judge(fit, judged, params, &DRAWS))
    }

    /// As [`health`](Self::health), from a given number of draws, for expensive targets. With fewer than 1000 draws the
    /// error of k-hat is seldom small enough for a verdict.
    ///
    /// # Errors
    /// As [`health`](Self::health), and if `draws` is 0.
    pub fn health_from(&self, fit: &Fit<E::State, O::State>, draws: usize) -> Result<Health, Error> {
        if draws == 0 {
            return Err(Error::parameter("draws", 0.0, "at least 1").within("health_from"));
        }
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (judged, params) = self.recommended(fit);
        Ok(self.judge(fit, judged, params, &[draws]))
    }

    /// As [`health_from`](Self::health_from), or, without a number of draws, as [`health`](Self::health), but in pieces, for targets
    /// whose draws take minutes to evaluate.
    ///
    /// Before each piece, `next` receives the log densities of the draws so far and returns the number of draws in the piece. If
    /// that is 0, the result is `None`, and a later call with these log densities as `done` continues. The report is the same to
    /// the bit, whatever the pieces.
    ///
    /// # Errors
    /// As [`health_from`](Self::health_from), and if `done` has more log densities than the report has draws.
    pub fn health_in_pieces(
        &self,
        fit: &Fit<E::State, O::State>,
        draws: Option<usize>,
        done: Vec<f64>,
        mut next: impl FnMut(&[f64]) -> usize,
    ) -> Result<Option<Health>, Error> {
        let refuse = |error: Error| Err(error.within("health_in_pieces"));
        let enough = draws.as_ref().map_or(&DRAWS[..], std::slice::from_ref);
        let most = enough[enough.len() - 1];
        if most == 0 {
            return refuse(Error::parameter("draws", 0.0, "at least 1"));
        }
        if done.len() > most {
            return refuse(Error::parameter(
                "length of done",
                done.len() as f64,
                "at most that of all draws",
            ));
        }
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (judged, params) = self.recommended(fit);
        Ok(self.judge_in(fit, judged, params, enough, Pieces { done, next: Some(&mut next) }))
    }

    /// As [`health`](Self::health), at the given `params`, which must be as long as the params of the fit. Numbers of the
    /// kernel and of directions are still those of the last steps.
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
        let health = self.judge_in(fit, judged, params, enough, Pieces::default());
        health.expect("a report in one piece is not stopped")
    }

    fn judge_in(
        &self,
        fit: &Fit<E::State, O::State>,
        judged: Judged,
        params: &[f64],
        enough: &[usize],
        pieces: Pieces<'_>,
    ) -> Option<Health> {
        let params = &params[..self.family.num_params()];
        let mut at_chains = Vec::new();
        if let Some(chains) = self.estimator.chains(fit.estimator()) {
            let mut work = vec![0.0; self.family.work_len(chains.len())];
            let mut log_q = vec![0.0; chains.len()];
            self.family.log_probs(params, chains.positions.as_ref(), &mut log_q, &mut work);
            add_log_weights(&chains.log_p, &log_q, &mut at_chains);
        }
        let mut lane = [self.seed.named("health").stream(0, fit.step())];
        self.judge_by(fit, judged, enough, &at_chains, pieces, |z, log_q, work| {
            self.family.sample_into(params, &mut lane, z, log_q, work);
        })
    }
}

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: LogDensity + ?Sized,
    F: Parametric + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Diagnostics from draws that `draw` makes, with `log q`, and from log weights at the chains; `None` if a piece is empty.
    pub(crate) fn judge_by(
        &self,
        fit: &Fit<E::State, O::State>,
        judged: Judged,
        enough: &[usize],
        at_chains: &[f64],
        pieces: Pieces<'_>,
        draw: impl FnMut(MatMut<'_, f64>, &mut [f64], &mut [f64]),
    ) -> Option<Health> {
        let lent = self.family.work_len(BATCH).max(self.target.work_len(BATCH));
        let FreshWeights { log_w, broken, tail } =
            FreshWeights::of(self.target, self.family.dim(), lent, enough, pieces, draw)?;
        let draws = log_w.len();
        let evidence = LogEvidence::of(&log_w, draws, at_chains);
        let watch = fit.watch();
        let of_steps = watch.log_weight_top().filter(|_| judged == Judged::LastIterate);
        let seen = log_w.iter().chain(at_chains).copied().chain(of_steps);
        let top = seen.filter(|w| w.is_finite()).fold(f64::NAN, f64::max);
        let log_evidence = evidence.closer.max(watch.log_evidence().unwrap_or(f64::NAN));
        let (signal, noise) = watch.signal_and_noise();
        // sup p / q is at least 1, since both integrate to 1.
        let log_weight_bound = if top.is_nan() { f64::NAN } else { (top - log_evidence).max(0.0) };
        Some(Health {
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
            step_sizes: None,
        })
    }
}

/// Number of transitions after which half of the bias is left, at the rate of `w_star`.
fn half_life(w_star: f64) -> f64 {
    let rate = 1.0 - 1.0 / w_star;
    // Near rate 1 the logarithm of the rate loses digits; ln_1p(-1/w*) does not.
    if rate < 0.9 {
        -std::f64::consts::LN_2 / rate.ln()
    } else {
        std::f64::consts::LN_2 / -(-1.0 / w_star).ln_1p()
    }
}

impl Health {
    /// Verdict on the tail of the weights.
    pub fn tail_weight(&self) -> TailWeight {
        TailWeight::of(self.shape, self.shape_error, self.shape_growth, self.shape_threshold)
    }

    /// True if averages over weighted draws of q are reliable: k-hat is below its threshold with error and growth taken
    /// into account.
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
            "step {}, {}: k-hat {:.2} +- {:.2} from the {} largest of {} weights, {:+.2} more than from a quarter of them (limit {:.2}): {}; effective sample size {:.0}",
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
            "largest log weight at least {:.2}: the bias of IMH halves in {:.3e} transitions or more; log Z about {:.3}, from below {:.3}, from above, by the chains, {:.3}",
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
        if self.untold > 0.0 {
            write!(f, "; {} metrics were dropped (table full, or conflicting reductions)", self.untold)?;
        }
        self.step_sizes.map_or(Ok(()), |sizes| write!(f, "; {sizes}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At w* = 2 the rate is one half; at w* = 1 no bias is left after one transition; the two branches agree where they meet.
    #[test]
    fn half_lives() {
        assert!((half_life(2.0) - 1.0).abs() < 1e-15);
        assert_eq!(half_life(1.0), 0.0);
        assert!((half_life(10.0 - 1e-9) / half_life(10.0 + 1e-9) - 1.0).abs() < 1e-9);
        assert!((half_life(1e12) / (1e12 * std::f64::consts::LN_2) - 1.0).abs() < 1e-11);
        assert!(half_life(f64::NAN).is_nan());
    }
}
