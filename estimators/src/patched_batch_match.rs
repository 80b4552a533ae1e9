//! Patched batch and match: score-based variational inference with a low-rank plus diagonal covariance.

use mcsa_core::{
    Error, Estimator, FactorMatched, FewColumns, Gradient, Stream, batch, batch_mut, borrow, numeric,
};
use serde::{Deserialize, Serialize};

use crate::batch_match::{BatchMatch, BatchMatchInfo, BatchMatchState, gather_finite};
use crate::family_parameters::family_parameters;
use crate::score_match::{average, orthogonalise};

/// Patched batch and match (Modi, Cai & Saul 2025): each step of [`BatchMatch`] is projected on a low-rank plus diagonal covariance by factor
/// analysis, so that the cost is linear in the dimension.
///
/// ```text
/// S U S + S = V,   V = D + B B^T + (columns of the batch),   U = W W^T
/// S = V - V W (I/2 + (W^T V W + I/4)^(1/2))^-2 W^T V
/// D', B' = EM steps of factor analysis from D, B towards S
/// ```
/// V is a diagonal plus few columns and W has a column per draw, so S has a diagonal and few columns too, and is never formed. A step with n
/// draws costs `d (r + n) n` products per sweep of the rotations that diagonalise `W^T V W`, and `d r (r + n)` per step of EM.
///
/// A Gaussian target with a covariance `D + B B^T` of the family's rank is a fixed point, whatever the draws. Another Gaussian is not: there the
/// batch and the rank decide. EM is slow where factors explain little or nearly all of a coordinate.
///
/// The direction is the whole step: use it with `Sgd` with rate 1. Draws that are not finite are left out, and a step is refused, as in
/// [`BatchMatch`].
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_estimators::{Ascent, BatchMatch, PatchedBatchMatch, Run};
/// let target = mcsa_models::Gaussian::new(vec![3.0, -1.0], faer::mat![[2.0, 1.0], [1.0, 2.0]].as_ref())?;
/// let family = mcsa_families::LowRank::new(2, 1);
/// let estimator = PatchedBatchMatch { matching: BatchMatch { decay: 0.0, ..BatchMatch::new(5) }, iterations: 5 };
/// let start = family.at(&[0.0, 0.0], &[1.0, 1.0], faer::mat![[0.5], [0.2]].as_ref())?;
/// let optimizer = mcsa_optim::Sgd::new(1.0)?;
/// let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
/// let mut fit = ascent.start(start)?;
/// ascent.run(&mut fit, Run::of(50))?;
/// assert!((fit.params()[0] - 3.0).abs() < 1e-6 && (fit.params()[1] + 1.0).abs() < 1e-6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchedBatchMatch {
    /// Draws and weights of a step.
    pub matching: BatchMatch,
    /// Steps of EM per step.
    pub iterations: usize,
}

impl PatchedBatchMatch {
    /// Patched batch and match with the weights of [`BatchMatch::new`] and ten steps of EM per step.
    pub const fn new(draws: usize) -> Self {
        Self { matching: BatchMatch::new(draws), iterations: 10 }
    }

    /// Columns whose products V has beside its diagonal, and length of a column of `V W` with its image below.
    const fn sizes(&self, dim: usize, rank: usize) -> (usize, usize) {
        let columns = rank + self.matching.draws + 1;
        (columns, 2 * dim + columns)
    }
}

impl<P, F> Estimator<P, F> for PatchedBatchMatch
where
    P: Gradient + ?Sized,
    F: FactorMatched + ?Sized,
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
        let (dim, rank, draws) = (family.dim(), family.rank(), self.matching.draws);
        let (columns, stride) = self.sizes(dim, rank);
        let of_batch = (family.noise_dim() + 2 * dim + 1) * draws + 5 * dim;
        let of_match = dim * columns + (draws + 1) * (2 * dim + stride);
        of_batch + of_match + family.work_len(columns).max(target.work_len(draws))
    }

    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        _: &mut [Stream],
    ) -> Result<BatchMatchState, Error> {
        let refuse = |error: Error| error.within("PatchedBatchMatch");
        self.matching.check_for(target.dim(), family.dim()).map_err(refuse)?;
        if self.iterations == 0 {
            return Err(refuse(Error::parameter("iterations", 0.0, "at least 1")));
        }
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
        let (dim, rank, draws) = (family.dim(), family.rank(), self.matching.draws);
        state.steps += 1;
        direction.fill(0.0);
        if dim == 0 {
            return Ok(BatchMatchInfo::default());
        }
        let (columns, stride) = self.sizes(dim, rank);
        let noise = borrow(&mut work, family.noise_dim() * draws);
        let [points, scores] = [(); 2].map(|()| borrow(&mut work, dim * draws));
        let log_p = borrow(&mut work, draws);
        let [mean, variances, zbar, gbar, image] = [(); 5].map(|()| borrow(&mut work, dim));
        let plus = borrow(&mut work, dim * columns);
        let [given, minus] = [(); 2].map(|()| borrow(&mut work, dim * (draws + 1)));
        let stacked = borrow(&mut work, stride * (draws + 1));

        family.sample_noise_into(lanes, batch_mut(noise, family.noise_dim(), draws));
        let noise = batch(noise, family.noise_dim(), draws);
        family.transport(params, noise, batch_mut(points, dim, draws), work);
        target.gradients_into(batch(points, dim, draws), log_p, batch_mut(scores, dim, draws), work);
        let finite = gather_finite(dim, log_p, points, scores);
        let weight = self.matching.weight(dim, state.steps);
        let mut info =
            BatchMatchInfo { weight, finite: finite as u64, non_finite: (draws - finite) as u64, refused: 1 };
        if finite == 0 {
            return Ok(info);
        }
        let (points, scores) = (&points[..dim * finite], &scores[..dim * finite]);
        average(points, zbar);
        average(scores, gbar);

        // V = diag(variances) + plus plus^T, U = given given^T.
        let (columns, stride) = (rank + finite + 1, 2 * dim + rank + finite + 1);
        let (plus, given) = (&mut plus[..dim * columns], &mut given[..dim * (finite + 1)]);
        let (factor, of_batch) = plus.split_at_mut(dim * rank);
        family.split_into(params, mean, variances, factor);
        let (each, joint) = ((weight / finite as f64).sqrt(), (weight / (1.0 + weight)).sqrt());
        for (columns, values, centre) in [(&mut *of_batch, points, &*zbar), (&mut *given, scores, &*gbar)] {
            for (column, value) in columns.chunks_exact_mut(dim).zip(values.chunks_exact(dim)) {
                (0..dim).for_each(|i| column[i] = each * (value[i] - centre[i]));
            }
        }
        for i in 0..dim {
            of_batch[dim * finite + i] = joint * (mean[i] - zbar[i]);
            given[dim * finite + i] = joint * gbar[i];
        }

        // Columns of V W, and below each its image under the transpose of a factor of V.
        let stacked = &mut stacked[..stride * (finite + 1)];
        for (column, given) in stacked.chunks_exact_mut(stride).zip(given.chunks_exact(dim)) {
            let (top, below) = column.split_at_mut(dim);
            let (diagonal, products) = below.split_at_mut(dim);
            for i in 0..dim {
                (top[i], diagonal[i]) = (variances[i] * given[i], variances[i].sqrt() * given[i]);
            }
            for (product, column) in products.iter_mut().zip(plus.chunks_exact(dim)) {
                *product = numeric::dot(column, given);
                numeric::axpy(*product, column, top);
            }
        }
        orthogonalise(stacked, stride, dim);
        let mut is_finite = true;
        for (column, minus) in stacked.chunks_exact(stride).zip(minus.chunks_exact_mut(dim)) {
            let (top, below) = column.split_at(dim);
            let square = numeric::dot(below, below);
            is_finite &= square.is_finite();
            let root = 2.0 / (1.0 + (1.0 + 4.0 * square).sqrt());
            minus.iter_mut().zip(top).for_each(|(minus, top)| *minus = root * top);
        }
        let covariance = FewColumns { variances, plus, minus: &minus[..dim * (finite + 1)] };
        covariance.apply(gbar, image);
        for i in 0..dim {
            image[i] = (weight * (zbar[i] + image[i]) + mean[i]) / (1.0 + weight);
        }
        if is_finite
            && image.iter().all(|mean| mean.is_finite())
            && family.match_factors(params, image, covariance, self.iterations, direction, work)
        {
            direction.iter_mut().zip(params).for_each(|(matched, param)| *matched -= param);
            info.refused = 0;
        } else {
            direction.fill(0.0);
        }
        Ok(info)
    }
}
