//! Diagnostics of a fit: importance weights of q at one lambda, and metrics of the last steps.

use std::fmt;

use faer::MatMut;
use mcsa_core::{
    Error, Estimator, Family, LogDensity, Metric, Optimizer, Parametric, Record, StepSizes, at_least_one,
    batch, batch_mut, bits,
};
use mcsa_diagnostics::{LogEvidence, Pareto, importance_sample_size};
use serde::{Deserialize, Serialize};

use crate::draws::{add_log_weights, drawn};
use crate::{Ascent, AscentState};

/// Diagnostics of a fit at one lambda, [`judged`](Self::judged). They are estimates, not guarantees.
///
/// Numbers from [`RunStatistics`](crate::RunStatistics) cover the last steps. Those of weights come from fresh draws of `q_lambda`, at
/// stream addresses no step uses, so a report does not change the fit. A number that the estimator does not record is NaN
/// and is left out of the [`Record`].
///
/// # k-hat
///
/// The largest importance weights show whether q is wide enough for p. The standard error of k-hat covers other sets of the same
/// number of draws. More draws reach farther out and may find a heavier tail, so the verdict, a [`TailWeight`], also depends on the
/// growth from k-hat of a quarter of the draws.
///
/// 4000 draws suffice if the tail is heavy, or if it is light with 1/2 in place of the threshold, which means weights of finite
/// variance. Otherwise 16 000 are made. The book's page on stopping has the verdicts on known tails. A k-hat from 0.55 to 0.85 stays not
/// known: the error of k-hat from 16 000 draws is 0.09.
///
/// Draws are of q itself. Under a guard the kernel proposes from another distribution, whose weights are lighter; these
/// weights enter [`log_weight_bound`](Self::log_weight_bound) and [`max_weight`](Self::max_weight) only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Number of steps made.
    pub step: u64,
    /// Origin of the lambda that was judged.
    pub judged: ParamsOrigin,
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
    /// Number of metrics missing from this report: see [`RunStatistics::dropped_metrics`](crate::RunStatistics::dropped_metrics).
    #[serde(with = "bits::scalar")]
    #[serde(rename = "untold")]
    pub dropped_metrics: f64,
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
    pub fn health(&self, fit: &AscentState<E::State, O::State>) -> Result<Health, Error> {
        let health = self.health_in_pieces(fit, None, Vec::new(), |_| usize::MAX)?;
        Ok(health.expect("a report in one piece is not stopped"))
    }

    /// As [`health`](Self::health), in pieces, for targets whose draws take minutes to evaluate. `draws` is the number of draws
    /// of the report; with `None` it is that of [`health`](Self::health). With fewer than 1000 draws the error of k-hat is seldom
    /// small enough for a verdict.
    ///
    /// Before each piece, `next` receives the log densities of the draws so far and returns the number of draws in the piece. If
    /// that is 0, the result is `None`, and a later call with these log densities as `done` continues. The report is the same to
    /// the bit, whatever the pieces.
    ///
    /// # Errors
    /// As [`health`](Self::health); if `draws` is 0, or `done` has more log densities than the report has draws.
    pub fn health_in_pieces(
        &self,
        fit: &AscentState<E::State, O::State>,
        draws: Option<usize>,
        done: Vec<f64>,
        mut next: impl FnMut(&[f64]) -> usize,
    ) -> Result<Option<Health>, Error> {
        let within = |error: Error| error.within("health_in_pieces");
        let enough = draws.as_ref().map_or(&DRAWS[..], std::slice::from_ref);
        let most = enough[enough.len() - 1];
        at_least_one("draws", most).map_err(within)?;
        if done.len() > most {
            let count = done.len() as f64;
            return Err(within(Error::parameter("length of done", count, "at most that of all draws")));
        }
        let (judged, params) = self.judged(fit)?;
        let mut at_chains = Vec::new();
        if let Some(chains) = self.estimator.chains(fit.estimator()) {
            let mut work = vec![0.0; self.family.work_len(chains.len())];
            let mut log_q = vec![0.0; chains.len()];
            self.family.log_probs(params, chains.positions.as_ref(), &mut log_q, &mut work);
            add_log_weights(&chains.log_p, &log_q, &mut at_chains);
        }
        let draw = drawn(self.family, params, self.seed.named("health").stream(0, fit.step()));
        Ok(self.judge_by(fit, judged, enough, &at_chains, (done, &mut next), draw))
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
        fit: &AscentState<E::State, O::State>,
        judged: ParamsOrigin,
        enough: &[usize],
        at_chains: &[f64],
        pieces: Pieces<'_>,
        draw: impl FnMut(MatMut<'_, f64>, &mut [f64], &mut [f64]),
    ) -> Option<Health> {
        let lent = self.family.work_len(BATCH).max(self.target.work_len(BATCH));
        let (log_w, broken, tail) =
            fresh_weights(self.target, self.family.dim(), lent, enough, pieces, draw)?;
        let draws = log_w.len();
        let evidence = LogEvidence::of(&log_w, draws, at_chains);
        let watch = fit.statistics();
        let of_steps = watch.log_weight_top().filter(|_| judged == ParamsOrigin::LastIterate);
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
            shape: tail.pareto.shape,
            shape_error: tail.pareto.standard_error,
            shape_growth: tail.growth,
            tail: tail.pareto.tail,
            shape_threshold: tail.pareto.threshold,
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
            dropped_metrics: watch.dropped_metrics(),
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
    /// Verdict on the tail of the weights: if it is light, averages over weighted draws of q are reliable.
    pub fn tail_weight(&self) -> TailWeight {
        TailWeight::of(self.shape, self.shape_error, self.shape_growth, self.shape_threshold)
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
            (Metric::UNTOLD, self.dropped_metrics),
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
        if self.dropped_metrics > 0.0 {
            write!(
                f,
                "; {} metrics were dropped (table full, or conflicting reductions)",
                self.dropped_metrics
            )?;
        }
        self.step_sizes.map_or(Ok(()), |sizes| write!(f, "; {sizes}"))
    }
}

/// Number of draws at first, and in all if the first leave the verdict on k-hat open.
pub(crate) const DRAWS: [usize; 2] = [4_000, 16_000];
/// Number of draws held in memory.
pub(crate) const BATCH: usize = 1_000;

/// Log densities of the first draws, from an earlier call, and the size of the next piece, given the log densities so far; 0 stops.
pub(crate) type Pieces<'n> = (Vec<f64>, &'n mut dyn FnMut(&[f64]) -> usize);

/// Log weights of draws that `draw` makes, with `log q`, the number of evaluations that were not finite, and the tail: from the first
/// number of `enough` that gives a clear tail, or the last. `None` if a piece is empty. `lent` is the length of memory that batches need.
fn fresh_weights<P: LogDensity + ?Sized>(
    target: &P,
    dim: usize,
    lent: usize,
    enough: &[usize],
    (mut done, next): Pieces<'_>,
    mut draw: impl FnMut(MatMut<'_, f64>, &mut [f64], &mut [f64]),
) -> Option<(Vec<f64>, usize, TailShape)> {
    let (mut work, mut points, mut log_q) = (vec![0.0; lent], vec![0.0; dim * BATCH], vec![0.0; BATCH]);
    let (mut log_w, mut broken, mut tail) = (Vec::new(), 0, TailShape::of(&[]));
    for &draws in enough {
        while log_w.len() < draws {
            let begin = log_w.len();
            let end = draws.min(begin + BATCH);
            let (points, log_q) = (&mut points[..dim * (end - begin)], &mut log_q[..end - begin]);
            // The draws of earlier calls are made again: evaluating them is what costs.
            draw(batch_mut(points, dim, end - begin), log_q, &mut work);
            while done.len() < end {
                let at = done.len();
                let piece = next(&done).min(end - at);
                if piece == 0 {
                    return None;
                }
                done.resize(at + piece, 0.0);
                let columns = &points[dim * (at - begin)..dim * (at + piece - begin)];
                target.log_densities(batch(columns, dim, piece), &mut done[at..], &mut work);
            }
            broken += add_log_weights(&done[begin..end], log_q, &mut log_w);
        }
        tail = TailShape::of(&log_w);
        if tail.is_clear() {
            break;
        }
    }
    Some((log_w, broken, tail))
}

/// Origin of a lambda that was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ParamsOrigin {
    /// The average that a [`Stationary`](crate::Stationary) rule reported at the last step, as in its
    /// [`Accuracy`](crate::Accuracy).
    RuleAverage {
        /// Number of trailing steps averaged.
        window: u64,
    },
    /// The average kept by the optimiser.
    OptimizerAverage,
    /// The last iterate: no average is kept.
    LastIterate,
    /// A lambda given by the caller.
    Given,
}

impl fmt::Display for ParamsOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RuleAverage { window } => write!(f, "average of the last {window} steps"),
            Self::OptimizerAverage => f.write_str("the optimiser's average"),
            Self::LastIterate => f.write_str("last iterate"),
            Self::Given => f.write_str("given lambda"),
        }
    }
}

/// Verdict on the tail of importance weights, from k-hat, its standard error and its growth with the number of draws.
///
/// ```text
/// Heavy    k-hat - 1.645 error              > threshold
/// Light    k-hat + 1.645 error + 2 growth   < threshold,    growth = max(0, k-hat - k-hat of a quarter)
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TailWeight {
    /// Averages over weighted draws of q are reliable.
    Light,
    /// Averages over weighted draws of q are not reliable: q misses mass of p.
    Heavy,
    /// k-hat is too near its threshold, grows with the number of draws, or is NaN.
    NotKnown,
}

impl TailWeight {
    /// `growth` is that of the last quadrupling of the draws; two further quadruplings with the same growth are allowed for.
    fn of(shape: f64, error: f64, growth: f64, threshold: f64) -> Self {
        let reach = 1.645 * error;
        // Equal weights: their tail ends where it begins.
        if shape == f64::NEG_INFINITY {
            return Self::Light;
        }
        // Written so that NaN gives `NotKnown`.
        let growth = if growth > 0.0 { growth } else { growth * 0.0 };
        if shape - reach > threshold {
            Self::Heavy
        } else if shape + reach + 2.0 * growth < threshold {
            Self::Light
        } else {
            Self::NotKnown
        }
    }
}

impl fmt::Display for TailWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Light => "light enough",
            Self::Heavy => "too heavy, q misses mass of p",
            Self::NotKnown => "inconclusive",
        })
    }
}

/// k-hat of log weights, and its growth from the first quarter of them.
#[derive(Debug)]
pub(crate) struct TailShape {
    pub(crate) pareto: Pareto,
    pub(crate) growth: f64,
}

impl TailShape {
    pub(crate) fn of(log_weights: &[f64]) -> Self {
        let pareto = Pareto::of(log_weights);
        let quarter = Pareto::of(&log_weights[..log_weights.len() / 4]).shape;
        // Equal weights do not grow.
        let growth = if pareto.shape == f64::NEG_INFINITY { 0.0 } else { pareto.shape - quarter };
        Self { pareto, growth }
    }

    /// The verdict on these weights.
    pub(crate) fn verdict(&self) -> TailWeight {
        self.verdict_at(self.pareto.threshold)
    }

    fn verdict_at(&self, threshold: f64) -> TailWeight {
        TailWeight::of(self.pareto.shape, self.pareto.standard_error, self.growth, threshold)
    }

    /// True if more draws are unnecessary: the tail is heavy, or so light that the weights have a variance.
    pub(crate) fn is_clear(&self) -> bool {
        let finite_variance = self.pareto.threshold.min(0.5);
        self.verdict() == TailWeight::Heavy || self.verdict_at(finite_variance) == TailWeight::Light
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;

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

    #[test]
    fn verdicts_by_hand() {
        use TailWeight::{Heavy, Light, NotKnown};
        for (shape, error, growth, verdict) in [
            (0.4, 0.1, 0.05, Light),
            (0.4, 0.1, -0.5, Light),
            // Too near the threshold, growing, NaN.
            (0.6, 0.1, 0.0, NotKnown),
            (0.4, 0.1, 0.2, NotKnown),
            (f64::NAN, f64::NAN, f64::NAN, NotKnown),
            (0.4, 0.1, f64::NAN, NotKnown),
            (0.9, 0.1, 0.0, Heavy),
        ] {
            assert_eq!(TailWeight::of(shape, error, growth, 0.7), verdict, "{shape} {error} {growth}");
        }
        // A shape between both thresholds leaves it open whether more draws would change the verdict.
        for (shape, standard_error, is_clear) in [
            (0.9, 0.1, true),
            (0.2, 0.1, true),
            (0.7, 0.1, false),
            (0.45, 0.1, false),
            (0.6, 0.01, false),
            (f64::NAN, 0.1, false),
        ] {
            let pareto = Pareto { shape, standard_error, tail: 100, threshold: 0.7, log_weights: vec![] };
            assert_eq!(TailShape { pareto, growth: 0.0 }.is_clear(), is_clear, "{shape}");
        }
    }

    /// Weights of a q that is p, and the counterexample: weights that are equal in the first quarter alone.
    #[test]
    fn equal_weights_are_light() {
        let equal = TailShape::of(&[2.0; 1_000]);
        assert!(equal.verdict() == TailWeight::Light && equal.is_clear() && equal.growth == 0.0);
        let later: Vec<f64> = (0..1_000).map(|i| if i < 250 { 2.0 } else { 2.0 + 1e-3 * i as f64 }).collect();
        assert_eq!(TailShape::of(&later).verdict(), TailWeight::NotKnown);
    }

    /// Log weights of a Gaussian q: against a Gaussian of `1 / (1 - k)` times its variance, whose tail index is k; or
    /// against a t of its variance, whose tail index is 1 or more but is visible only far out.
    fn log_weights(seed: u64, draws: usize, k: Option<f64>) -> Vec<f64> {
        let mut stream = Seed::new(seed).stream(0, 0);
        let log_w = |square: f64| match k {
            Some(k) => 0.5 * k * square,
            None => 0.5 * square - 4.0 * (square / 3.0).ln_1p(),
        };
        let dim = if k.is_some() { 2 } else { 3 };
        (0..draws).map(|_| log_w((0..dim).map(|_| stream.normal().powi(2)).sum())).collect()
    }

    /// The verdict from the draws of a report.
    fn verdict(seed: u64, k: Option<f64>) -> TailWeight {
        let log_w = log_weights(seed, 16_000, k);
        let tail = Some(TailShape::of(&log_w[..4_000])).filter(TailShape::is_clear);
        tail.unwrap_or_else(|| TailShape::of(&log_w)).verdict()
    }

    /// No set of 20 with k = 0.9 is called light, all with k = 0.1 are. The twin: k-hat of 1000 draws against a
    /// t is always below its threshold, though it is 1 or more farther out; this rule calls about three of them light.
    #[test]
    fn known_tails_get_their_verdict() {
        let light = |k| (0..20).filter(|seed| verdict(*seed, k) == TailWeight::Light).count();
        assert_eq!((light(Some(0.9)), light(Some(0.1))), (0, 20));
        let alone = |seed: &u64| Pareto::of(&log_weights(*seed, 1_000, None)).is_reliable();
        assert_eq!((0..20).filter(alone).count(), 20);
        assert!(light(None) <= 8, "{}", light(None));
    }
}
