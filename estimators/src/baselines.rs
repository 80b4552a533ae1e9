//! Estimators by importance sampling, alone or in turns with chains.

use crate::{ChainScore, Controllable, DynInfo, Guard, single};
use mcsa_core::{
    Ensemble, Error, Estimator, Family, LogDensity, Metric, Record, Stream, batch, batch_mut, borrow,
};
use mcsa_kernels::{Hmc, log_weight};
use serde::{Deserialize, Serialize};

use crate::bound::check_draws;
use crate::chain_score::{Proposals, check_mirror};
use crate::family_parameters::family_parameters;

/// Weight of a draw's score, as a function of `log w = log p - log q`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Weighting {
    /// `w_i / sum_j w_j`: self-normalised importance sampling of `E_p[score]`. Biased at finite `N`.
    SelfNormalised,
    /// `w_i / (N Z)` with a known normalising constant Z: importance sampling of `E_p[score]`, unbiased and seldom of
    /// finite variance.
    Known {
        /// `log Z` of the target.
        log_normaliser: f64,
    },
    /// `w_i^2 / sum_j w_j^2`: biased gradient descent on the chi-square bound `log E_q[w^2] / 2`.
    ChiSquare,
    /// `(w_i / max_j w_j)^2 / N`: another biased form used for the chi-square bound.
    ChiSquareByMax,
    /// `(log w_i - mean of the others') / N`: gradient ascent on the evidence lower bound, which is `-KL(q || p)`, by the
    /// score function estimator with the leave-one-out baseline. Unbiased; needs at least two draws.
    Evidence,
}

/// Score estimators without a chain: weighted scores of `samples` fresh draws of `q_lambda`.
///
/// ```text
/// z_i ~ q_lambda,    g = sum_i weight_i  d/dlambda log q_lambda(z_i)
/// ```
///
/// [`snis`] is the baseline the papers compare with (pMCSA). With a guard the draws come from the guarded proposal, whose
/// density is then the denominator of `w`; the scores are those of `q_lambda`.
///
/// Numerics: weights are normalised in log space. A draw at which a density is NaN, or p infinite, has weight zero and is
/// counted. If all weights vanish the direction is zero, and the step is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreWeights<G = ()> {
    /// Number of draws per step.
    pub samples: usize,
    /// Weighting of the draws.
    pub weighting: Weighting,
    /// If true, the second half of the draws is the mirror image of the first; needs an even number of draws and a symmetric family. Not
    /// with [`Weighting::Evidence`], whose baseline needs independent draws, and not with a guard.
    #[serde(default)]
    pub mirrored: bool,
    /// Guard of the proposal `q_lambda`, such as a defensive mixture.
    pub guard: G,
}

impl ScoreWeights {
    /// An estimator with draws from `q_lambda` itself.
    pub const fn new(samples: usize, weighting: Weighting) -> Self {
        Self { samples, weighting, mirrored: false, guard: () }
    }

    /// This estimator with draws from a guarded proposal.
    pub fn guarded<G: Guard>(self, guard: G) -> ScoreWeights<G> {
        let Self { samples, weighting, mirrored, guard: () } = self;
        ScoreWeights { samples, weighting, mirrored, guard }
    }
}

/// Self-normalised importance sampling with `samples` draws.
pub const fn snis(samples: usize) -> ScoreWeights {
    ScoreWeights::new(samples, Weighting::SelfNormalised)
}

/// Metrics of one step of [`ScoreWeights`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScoreWeightsInfo {
    /// The largest self-normalised weight `w_i / sum_j w_j`.
    pub max_weight: f64,
    /// The effective sample size `(sum w)^2 / sum w^2`; 0 if all weights vanish.
    pub ess: f64,
    /// Mean of `log w`: an estimate of the evidence lower bound, up to the target's constant.
    pub evidence: f64,
    /// Number of draws at which a density was NaN or p infinite.
    pub non_finite: u64,
    /// Number of draws at which log p is finite and log q is not NaN.
    pub finite: u64,
    /// 1 if all weights vanished, else 0.
    pub vanished: u64,
}

impl Record for ScoreWeightsInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::MAX_WEIGHT, self.max_weight);
        sink(Metric::ESS, self.ess);
        sink(Metric::mean("evidence"), self.evidence);
        sink(Metric::NON_FINITE, self.non_finite as f64);
        sink(Metric::FINITE, self.finite as f64);
        sink(Metric::VANISHED, self.vanished as f64);
    }
}

impl Weighting {
    /// Replaces log weights, `-inf` for draws that do not count, by weights.
    fn apply(self, log_w: &mut [f64], info: &mut ScoreWeightsInfo) {
        let n = log_w.len() as f64;
        let top = log_w.iter().fold(f64::NEG_INFINITY, |top, &w| top.max(w));
        if top == f64::NEG_INFINITY {
            info.vanished = 1;
            log_w.fill(0.0);
            return;
        }
        // An infinite weight, where q vanishes, outweighs all finite ones.
        let relative = |w: f64| if w == top { 1.0 } else { (w - top).exp() };
        let (mut sum, mut squares, mut total, mut counted) = (0.0, 0.0, 0.0, 0.0);
        for &w in log_w.iter() {
            let relative = relative(w);
            sum += relative;
            squares += relative * relative;
            if w.is_finite() {
                total += w;
                counted += 1.0;
            }
        }
        info.max_weight = 1.0 / sum;
        info.ess = sum * sum / squares;
        info.evidence = if counted == n { total / n } else { f64::NEG_INFINITY };
        for w in log_w {
            *w = match self {
                Self::SelfNormalised => relative(*w) / sum,
                Self::Known { log_normaliser } => (*w - log_normaliser).exp() / n,
                Self::ChiSquare => relative(*w).powi(2) / squares,
                Self::ChiSquareByMax => relative(*w).powi(2) / n,
                Self::Evidence if w.is_finite() && counted > 1.0 => {
                    (*w - (total - *w) / (counted - 1.0)) / counted
                }
                Self::Evidence => 0.0,
            };
        }
    }
}

impl<P, F, G> Estimator<P, F> for ScoreWeights<G>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    G: Guard,
{
    type State = ();
    type Info = ScoreWeightsInfo;

    fn config(&self) -> String {
        let Self { samples, weighting, mirrored, guard } = self;
        let guard = guard.config();
        format!(
            "ScoreWeights {{ samples: {samples}, weighting: {weighting:?}, mirrored: {mirrored}, guard: {guard} }}"
        )
    }

    family_parameters!(P, F);

    fn lanes(&self) -> usize {
        if self.mirrored { 2 } else { 1 }
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let n = self.samples;
        let proposals = Proposals::work_len(family, n) + self.guard.work_len(n);
        proposals + (family.dim() + 2) * n + target.work_len(n)
    }

    fn init(&self, target: &P, family: &F, params: &[f64], _: &mut [Stream]) -> Result<(), Error> {
        let refuse = |error: Error| error.within("ScoreWeights");
        let evidence = self.weighting == Weighting::Evidence;
        if evidence && self.samples < 2 {
            let samples = self.samples as f64;
            return Err(refuse(Error::parameter("samples", samples, "at least 2, for the baseline")));
        }
        check_draws(self.samples, target.dim(), family.dim(), false).map_err(refuse)?;
        family.check(params)?;
        if self.mirrored && evidence {
            return Err(refuse(Error::invalid("a leave-one-out baseline is biased by mirrored draws")));
        }
        if self.mirrored {
            check_mirror(family, params, &self.guard, self.samples, "samples").map_err(refuse)?;
        }
        Ok(())
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        (): &mut (),
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<ScoreWeightsInfo, Error> {
        self.direction_and_control(target, family, params, &mut (), lanes, (direction, None), work)
    }
}

impl<P, F, G> Controllable<P, F> for ScoreWeights<G>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    G: Guard,
{
    fn direction_and_control(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        (): &mut (),
        lanes: &mut [Stream],
        (direction, control): (&mut [f64], Option<&mut [f64]>),
        mut work: &mut [f64],
    ) -> Result<ScoreWeightsInfo, Error> {
        let (n, dim) = (self.samples, family.dim());
        let memory = borrow(&mut work, Proposals::work_len(family, n));
        let mut proposal = Proposals::new(family, params, n, self.mirrored, control, memory)?;
        let guard_work = borrow(&mut work, self.guard.work_len(n));
        let points = borrow(&mut work, dim * n);
        let log_w = borrow(&mut work, n);
        let log_p = borrow(&mut work, n);
        self.guard.guarded(&mut proposal, n, guard_work, &mut |proposal| {
            proposal.sample_into(lanes, batch_mut(points, dim, n), log_w);
        })?;
        let points = batch(points, dim, n);
        target.log_densities(points, log_p, work);

        let mut info = ScoreWeightsInfo::default();
        for (log_w, &log_p) in log_w.iter_mut().zip(log_p.iter()) {
            let weight = log_weight(log_p, *log_w);
            info.non_finite += u64::from(weight.is_none());
            info.finite += u64::from(weight.is_some() && log_p > f64::NEG_INFINITY);
            *log_w = weight.unwrap_or(f64::NEG_INFINITY);
        }
        self.weighting.apply(log_w, &mut info);
        direction.fill(0.0);
        proposal.finish(points, log_w, direction);
        Ok(info)
    }
}

/// Alternating estimator: the direction is that of one estimator in most steps, and that of another in one step per round,
/// with one lambda and one optimiser.
///
/// ```text
/// often seldom often .. often | often seldom often .. often | ..     `period` of the first to one of the second
/// ```
///
/// Used for the wake steps of [`rws`]: `period` iterations in the papers' count are `period + 1` steps here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interleaved<A, B> {
    /// The estimator of all steps but one in each round.
    pub often: A,
    /// The estimator of the second step of each round.
    pub seldom: B,
    /// Number of steps of `often` per round, at least one.
    pub period: u64,
}

/// The state of [`Interleaved`]: both estimators' states and the number of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterleavedState<A, B> {
    /// The state of `often`.
    pub often: A,
    /// The state of `seldom`.
    pub seldom: B,
    step: u64,
}

/// Reweighted wake-sleep as the papers reinterpret it: self-normalised importance sampling in every iteration, and in every
/// fifth iteration a further step along the score at the state of a Hamiltonian chain (CW).
pub fn rws(samples: usize, hmc: Hmc) -> Interleaved<ScoreWeights, ChainScore<Hmc>> {
    Interleaved { often: snis(samples), seldom: single(hmc), period: 5 }
}

impl<P, F, A, B> Estimator<P, F> for Interleaved<A, B>
where
    P: ?Sized,
    F: ?Sized,
    A: Estimator<P, F>,
    B: Estimator<P, F>,
{
    type State = InterleavedState<A::State, B::State>;
    /// Metrics of the estimator that made the step.
    type Info = DynInfo;

    fn config(&self) -> String {
        let (often, seldom) = (self.often.config(), self.seldom.config());
        format!("Interleaved {{ often: {often}, seldom: {seldom}, period: {} }}", self.period)
    }

    fn family_config(&self, family: &F) -> String {
        self.often.family_config(family)
    }

    fn verify(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        self.often.verify(target, family, &state.often)?;
        self.seldom.verify(target, family, &state.seldom)
    }

    fn num_params(&self, target: &P, family: &F) -> usize {
        self.often.num_params(target, family)
    }

    fn check_params(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error> {
        self.often.check_params(target, family, params)?;
        self.seldom.check_params(target, family, params)
    }

    fn lanes(&self) -> usize {
        self.often.lanes() + self.seldom.lanes()
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        self.often.work_len(target, family).max(self.seldom.work_len(target, family))
    }

    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        if self.period == 0 {
            return Err(Error::parameter("period", 0.0, "at least 1").within("Interleaved"));
        }
        let (first, second) = lanes.split_at_mut(self.often.lanes());
        let often = self.often.init(target, family, params, first)?;
        let seldom = self.seldom.init(target, family, params, second)?;
        Ok(InterleavedState { often, seldom, step: 0 })
    }

    fn check(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        self.often.check(target, family, &state.often)?;
        self.seldom.check(target, family, &state.seldom)
    }

    fn chains<'s>(&self, state: &'s Self::State) -> Option<&'s Ensemble> {
        self.often.chains(&state.often).or_else(|| self.seldom.chains(&state.seldom))
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<Self::Info, Error> {
        let (first, second) = lanes.split_at_mut(self.often.lanes());
        let turn = state.step % (self.period + 1);
        state.step += 1;
        if turn == 1 {
            let state = &mut state.seldom;
            let info =
                self.seldom.ascent_direction(target, family, params, state, second, direction, work)?;
            return Ok(DynInfo::of(info));
        }
        let state = &mut state.often;
        let info = self.often.ascent_direction(target, family, params, state, first, direction, work)?;
        Ok(DynInfo::of(info))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each draw is weighed against the mean of the others that count; a draw alone, or outside the support, has weight zero.
    #[test]
    fn a_baseline_needs_another_draw() {
        let weights = |mut log_w: [f64; 3]| {
            Weighting::Evidence.apply(&mut log_w, &mut ScoreWeightsInfo::default());
            log_w
        };
        let outside = f64::NEG_INFINITY;
        assert_eq!(weights([0.5, outside, outside]), [0.0; 3]);
        assert_eq!(weights([0.5, 1.0, outside]), [-0.25, 0.25, 0.0]);
    }
}
