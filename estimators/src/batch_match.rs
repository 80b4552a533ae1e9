//! Batch and match: score-based variational inference in closed form.

use mcsa_core::{
    Error, Estimator, Gradient, Metric, MomentMatched, Record, Reparameterised, Stream, batch, batch_mut,
    borrow,
};
use serde::{Deserialize, Serialize};

use crate::dimension::same_dimension;
use crate::family_parameters::family_parameters;
use crate::noise::check_draws;
use crate::score_match::{ScoreMatch, columns, room_len, stride};

/// Batch and match (Cai, Modi, Pillaud-Vivien, Margossian, Gower, Blei & Saul 2024): the Gaussian whose scores fit the gradients of
/// log p best at a batch of draws of q, without a learning rate.
///
/// ```text
/// z_b ~ q_t,   g_b = d/dz log p(z_b),   b = 1 .. draws
/// q_{t+1} = argmin_q  1/draws sum_b |d/dz log q(z_b) - g_b|^2_{Cov q}  +  2 / weight_t  KL(q_t || q)
/// weight_t = rate draws d / t^decay
/// ```
/// The minimum has a closed form: mean and covariance solve `S U S + S = V` with the moments of the batch, where S is the covariance,
/// U holds the covariance of the gradients, and V that of q and of the draws. S is positive definite whatever the batch. A Gaussian
/// target is a fixed point: there the step does not depend on which points were drawn.
///
/// The direction is the whole step `lambda' - lambda`: use it with an optimiser that adds it unchanged, `Sgd` with rate 1. The Gaussian
/// is handed to the family by its moments: a full-rank family takes it as it is, one with fewer moments takes those that it has.
/// A sweep of the solution costs `(d + draws)^2` products of length draws.
///
/// Draws at which the density or a gradient is not finite are left out and counted. A step whose result is not finite, or outside the
/// family, moves nothing and is counted as `refused_matches`.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_estimators::{Ascent, BatchMatch};
/// let target = mcsa_models::Gaussian::new(vec![3.0, -1.0], faer::mat![[4.0, 1.0], [1.0, 1.0]].as_ref())?;
/// let family = mcsa_families::FullRank::new(2);
/// let (estimator, optimizer) = (BatchMatch::new(5), mcsa_optim::Sgd::new(1.0)?);
/// let start = family.at(&[0.0, 0.0], faer::mat![[1.0, 0.0], [0.0, 1.0]].as_ref())?;
/// let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
/// let mut fit = ascent.start(start)?;
/// ascent.run(&mut fit, 50)?;
/// assert!((fit.params()[0] - 3.0).abs() < 1e-6 && (fit.params()[1] + 1.0).abs() < 1e-6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchMatch {
    /// Number of draws of q per step, each with a gradient.
    pub draws: usize,
    /// Weight of the scores in the first step, divided by the number of draws and the dimension.
    #[serde(default = "one")]
    pub rate: f64,
    /// Exponent with which the weight falls: 1 for targets that are not Gaussian, 0 for those that are.
    #[serde(default = "one")]
    pub decay: f64,
}

const fn one() -> f64 {
    1.0
}

/// The state of [`BatchMatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchMatchState {
    /// Number of steps.
    pub steps: u64,
}

/// Metrics of a step of [`BatchMatch`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BatchMatchInfo {
    /// The weight of the step.
    pub weight: f64,
    /// Number of draws at which the density and its gradient were finite.
    pub finite: u64,
    /// Number of the other draws.
    pub non_finite: u64,
    /// 1 if the step was refused, else 0.
    pub refused: u64,
}

impl BatchMatch {
    /// Batch and match with the weights of the paper for targets that are not Gaussian, `draws d / t`.
    pub const fn new(draws: usize) -> Self {
        Self { draws, rate: 1.0, decay: 1.0 }
    }

    /// Weight of the scores in step `step`, from 1.
    pub(crate) fn weight(&self, dim: usize, step: u64) -> f64 {
        self.rate * (self.draws * dim) as f64 / (step as f64).powf(self.decay)
    }

    /// Checks the settings, and that target and family have one dimension.
    pub(crate) fn check_for(&self, target: usize, family: usize) -> Result<(), Error> {
        check_draws(self.draws, family, false)?;
        same_dimension(target, family)?;
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(Error::parameter("rate", self.rate, "positive and finite"));
        }
        if !(0.0..=1.0).contains(&self.decay) {
            return Err(Error::parameter("decay", self.decay, "between 0 and 1"));
        }
        Ok(())
    }

    /// Number of columns of a factor of the covariance that is matched, from draws of a family with `noise` dimensions of noise.
    const fn columns(&self, dim: usize, noise: usize) -> usize {
        columns(dim, noise, self.draws)
    }
}

impl Record for BatchMatchInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::mean("score_weight"), self.weight);
        sink(Metric::FINITE, self.finite as f64);
        sink(Metric::NON_FINITE, self.non_finite as f64);
        sink(Metric::sum("refused_matches"), self.refused as f64);
    }
}

impl<P, F> Estimator<P, F> for BatchMatch
where
    P: Gradient + ?Sized,
    F: MomentMatched + Reparameterised + ?Sized,
{
    type State = BatchMatchState;
    type Info = BatchMatchInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    family_parameters!(P, F);

    fn lanes(&self) -> usize {
        1
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let (dim, noise, n) = (family.dim(), family.noise_dim(), self.draws);
        let (widest, most) = (n.max(noise + 1), self.columns(dim, noise));
        let of_match = most * (stride(dim, n) + 2 * dim + 2) + room_len(dim, n);
        let of_batch = (noise + dim) * widest + (dim + 1) * n + 2 * dim;
        of_batch + of_match + family.work_len(widest.max(2 * most)).max(target.work_len(n))
    }

    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        _: &mut [Stream],
    ) -> Result<BatchMatchState, Error> {
        self.check_for(target.dim(), family.dim()).map_err(|error| error.within("BatchMatch"))?;
        family.check(params)?;
        Ok(BatchMatchState { steps: 0 })
    }

    fn check(&self, _: &P, _: &F, _: &BatchMatchState) -> Result<(), Error> {
        Ok(())
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut BatchMatchState,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<BatchMatchInfo, Error> {
        let (dim, noise_dim, draws) = (family.dim(), family.noise_dim(), self.draws);
        state.steps += 1;
        direction.fill(0.0);
        if dim == 0 {
            return Ok(BatchMatchInfo::default());
        }
        let (widest, most) = (draws.max(noise_dim + 1), self.columns(dim, noise_dim));
        let noise = borrow(&mut work, noise_dim * widest);
        let points = borrow(&mut work, dim * widest);
        let scores = borrow(&mut work, dim * draws);
        let log_p = borrow(&mut work, draws);
        let (mean, matched) = (borrow(&mut work, dim), borrow(&mut work, dim));
        let stacked = borrow(&mut work, most * stride(dim, draws));
        let room = borrow(&mut work, room_len(dim, draws));
        let (images, weights) = (borrow(&mut work, 2 * dim * most), borrow(&mut work, 2 * most));
        let place = |noise: &[f64], points: &mut [f64], columns: usize, work: &mut [f64]| {
            let noise = batch(noise, noise_dim, columns);
            family.transport(params, noise, batch_mut(points, dim, columns), work);
        };

        // The factor of q: the images of the unit vectors of the noise, less that of zero, which is the mean.
        let units = noise_dim + 1;
        noise.fill(0.0);
        (0..noise_dim).for_each(|k| noise[noise_dim * k + k] = 1.0);
        place(&noise[..noise_dim * units], &mut points[..dim * units], units, work);
        mean.copy_from_slice(&points[dim * noise_dim..dim * units]);
        let factor = &mut images[..dim * noise_dim];
        for (factor, image) in factor.chunks_exact_mut(dim).zip(points.chunks_exact(dim)) {
            (0..dim).for_each(|i| factor[i] = image[i] - mean[i]);
        }

        let (noise, points) = (&mut noise[..noise_dim * draws], &mut points[..dim * draws]);
        family.sample_noise_into(lanes, batch_mut(noise, noise_dim, draws));
        place(noise, points, draws, work);
        target.gradients_into(batch(points, dim, draws), log_p, batch_mut(scores, dim, draws), work);
        let finite = gather_finite(dim, log_p, points, scores);
        let weight = self.weight(dim, state.steps);
        let (non_finite, columns) =
            ((draws - finite) as u64, self.columns(dim, noise_dim) - (draws - finite));
        let mut info = BatchMatchInfo { weight, finite: finite as u64, non_finite, refused: 1 };
        let (points, scores) = (&points[..dim * finite], &scores[..dim * finite]);
        let problem = ScoreMatch { dim, weight, mean, factor, points, scores };
        if finite == 0 || !problem.solve(matched, stacked, room) {
            return Ok(info);
        }

        // Points with the mean and the covariance that were found.
        let length = (columns as f64).sqrt();
        for (pair, column) in
            images.chunks_exact_mut(2 * dim).zip(stacked.chunks_exact(stride(dim, finite))).take(columns)
        {
            for i in 0..dim {
                let step = length * column[i];
                (pair[i], pair[dim + i]) = (matched[i] + step, matched[i] - step);
            }
        }
        let weights = &mut weights[..2 * columns];
        weights.fill(0.5 / columns as f64);
        let images = batch(&images[..2 * dim * columns], dim, 2 * columns);
        if family.match_moments(params, 1.0, images, weights, direction, work)
            && family.check(direction).is_ok()
        {
            direction.iter_mut().zip(params).for_each(|(matched, param)| *matched -= param);
            info.refused = 0;
        } else {
            direction.fill(0.0);
        }
        Ok(info)
    }
}

/// Moves the columns at which the density and its gradient are finite to the front, and returns their number.
pub(crate) fn gather_finite(dim: usize, log_p: &[f64], points: &mut [f64], scores: &mut [f64]) -> usize {
    let mut finite = 0;
    for (j, log_p) in log_p.iter().enumerate() {
        let column = dim * j..dim * (j + 1);
        if log_p.is_finite() && scores[column.clone()].iter().all(|score| score.is_finite()) {
            points.copy_within(column.clone(), dim * finite);
            scores.copy_within(column, dim * finite);
            finite += 1;
        }
    }
    finite
}
