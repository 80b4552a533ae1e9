//! Batch and match: score-based variational inference in closed form.

use mcsa_core::{
    Error, Estimator, Gradient, Metric, Record, Reparameterised, Stream, batch, batch_mut, borrow, numeric,
    positive,
};
use mcsa_families::MomentMatched;
use serde::{Deserialize, Serialize};

use crate::bound::check_draws;
use crate::family_parameters::family_parameters;

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

    fn work_len(&self, target: &P, family: &F) -> usize {
        let (dim, noise, n) = (family.dim(), family.noise_dim(), self.draws);
        let (widest, most) = (n.max(noise + 1), columns(dim, noise, n));
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
        let settings = || {
            check_draws(self.draws, target.dim(), family.dim(), false)?;
            positive("rate", self.rate)?;
            if !(0.0..=1.0).contains(&self.decay) {
                return Err(Error::parameter("decay", self.decay, "between 0 and 1"));
            }
            Ok(())
        };
        settings().map_err(|error| error.within("BatchMatch"))?;
        family.check(params)?;
        Ok(BatchMatchState { steps: 0 })
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
        let (widest, most) = (draws.max(noise_dim + 1), columns(dim, noise_dim, draws));
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
        let weight = self.rate * (draws * dim) as f64 / (state.steps as f64).powf(self.decay);
        let (non_finite, columns) = ((draws - finite) as u64, most - (draws - finite));
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
fn gather_finite(dim: usize, log_p: &[f64], points: &mut [f64], scores: &mut [f64]) -> usize {
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

/// Batch of draws of q, with the gradients of log p, and the Gaussian q that they are drawn from.
///
/// The Gaussian sought minimises, over mean m and covariance S,
///
/// ```text
/// 1/B sum_b |S^-1 (z_b - m) + g_b|_S^2  +  (2 / weight) KL(q || N(m, S))
/// ```
/// The first term is the squared distance of the two scores at the draws, in the units of S; the second keeps the step short. In m
/// both terms are quadratic; with `a = zbar + S gbar` the minimum is
///
/// ```text
/// m = (weight a + m_q) / (1 + weight)
/// ```
/// and what is left of S is `tr(V S^-1) + tr(U S) + log det S` up to factors, with the covariances C of the draws and G of the gradients:
///
/// ```text
/// V = S_q + weight C + weight / (1 + weight) (m_q - zbar)(m_q - zbar)^T,   U = weight G + weight / (1 + weight) gbar gbar^T
/// S U S + S = V
/// ```
/// Write `V = R R^T` and `U = W W^T` with a column per term, and rotate the columns of R until those of `W^T R` are orthogonal (Hestenes
/// 1958). With their squared lengths k the columns of `R diag(x)^(1/2)`, `x (1 + k x) = 1`, are a factor of S: positive definite
/// whatever the batch, and without a difference taken.
struct ScoreMatch<'a> {
    dim: usize,
    /// The weight of the scores against the divergence from q.
    weight: f64,
    /// The mean of q, and a factor of its covariance, column by column.
    mean: &'a [f64],
    factor: &'a [f64],
    /// Draws and gradients, column by column.
    points: &'a [f64],
    scores: &'a [f64],
}

/// Largest number of sweeps over all pairs of columns; some eight suffice.
const MOST_SWEEPS: usize = 40;

impl ScoreMatch<'_> {
    /// Number of columns of the factor that is found.
    fn columns(&self) -> usize {
        columns(self.dim, self.factor.len() / self.dim.max(1), self.draws())
    }

    fn draws(&self) -> usize {
        self.points.len() / self.dim.max(1)
    }

    /// Writes the mean, and [`columns`](Self::columns) columns of a factor of the covariance, the first `dim` numbers of each
    /// [`stride`]; false if a number on the way is not finite. `room` has the length [`room_len`].
    fn solve(&self, mean: &mut [f64], stacked: &mut [f64], room: &mut [f64]) -> bool {
        let (dim, draws, weight) = (self.dim, self.draws(), self.weight);
        let (zbar, room) = room.split_at_mut(dim);
        let (gbar, terms) = room.split_at_mut(dim);
        average(self.points, zbar);
        average(self.scores, gbar);
        let (each, joint) = ((weight / draws as f64).sqrt(), (weight / (1.0 + weight)).sqrt());
        // Columns of W.
        for (term, score) in terms.chunks_exact_mut(dim).zip(self.scores.chunks_exact(dim)) {
            for i in 0..dim {
                term[i] = each * (score[i] - gbar[i]);
            }
        }
        for (term, gbar) in terms[dim * draws..].iter_mut().zip(&*gbar) {
            *term = joint * gbar;
        }
        // Columns of R, and below each its image under W^T.
        let stride = stride(dim, draws);
        let given = self.factor.len() / dim;
        for (k, column) in stacked[..self.columns() * stride].chunks_exact_mut(stride).enumerate() {
            let (top, below) = column.split_at_mut(dim);
            for i in 0..dim {
                top[i] = if k < given {
                    self.factor[k * dim + i]
                } else if k < given + draws {
                    each * (self.points[(k - given) * dim + i] - zbar[i])
                } else {
                    joint * (self.mean[i] - zbar[i])
                };
            }
            for (below, term) in below.iter_mut().zip(terms.chunks_exact(dim)) {
                *below = numeric::dot(term, top);
            }
        }
        let stacked = &mut stacked[..self.columns() * stride];
        orthogonalise(stacked, stride, dim);
        mean.fill(0.0);
        let mut is_finite = true;
        for column in stacked.chunks_exact_mut(stride) {
            let (top, below) = column.split_at_mut(dim);
            let square = numeric::dot(below, below);
            is_finite &= square.is_finite();
            let x = 2.0 / (1.0 + (1.0 + 4.0 * square).sqrt());
            top.iter_mut().for_each(|entry| *entry *= x.sqrt());
            numeric::axpy(numeric::dot(top, gbar), top, mean);
        }
        for i in 0..dim {
            mean[i] = (weight * (zbar[i] + mean[i]) + self.mean[i]) / (1.0 + weight);
        }
        is_finite && mean.iter().chain(&*stacked).all(|number| number.is_finite())
    }
}

/// Number of columns of a factor of V: those of a factor of q with `given` columns, of the draws, and of the mean.
const fn columns(dim: usize, given: usize, draws: usize) -> usize {
    if dim == 0 { 0 } else { given + draws + 1 }
}

/// Length of a column of R with its image under `W^T`.
const fn stride(dim: usize, draws: usize) -> usize {
    dim + draws + 1
}

/// Length of the slice `room` of [`ScoreMatch::solve`].
const fn room_len(dim: usize, draws: usize) -> usize {
    dim * (draws + 3)
}

fn average(columns: &[f64], mean: &mut [f64]) {
    mean.fill(0.0);
    let count = columns.len() / mean.len();
    columns.chunks_exact(mean.len()).for_each(|column| numeric::axpy(1.0 / count as f64, column, mean));
}

/// One-sided Jacobi rotations of columns, until those parts of them that begin at `from` are orthogonal. Products of parts far below one
/// do not change the result, whose entries depend on one plus four times the squares.
fn orthogonalise(stacked: &mut [f64], stride: usize, from: usize) {
    let count = stacked.len() / stride;
    for _ in 0..MOST_SWEEPS {
        let mut is_done = true;
        for q in 1..count {
            let (head, tail) = stacked.split_at_mut(q * stride);
            let right = &mut tail[..stride];
            for left in head.chunks_exact_mut(stride) {
                let (a, b) = (&left[from..], &right[from..]);
                let (aa, bb, ab) = (numeric::dot(a, a), numeric::dot(b, b), numeric::dot(a, b));
                // Written so that NaN ends the sweeps.
                if !(ab.abs() > f64::EPSILON * ((1.0 + aa) * (1.0 + bb)).sqrt()) {
                    continue;
                }
                is_done = false;
                let zeta = (bb - aa) / (2.0 * ab);
                let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
                let cosine = tangent.hypot(1.0).recip();
                let sine = cosine * tangent;
                for (l, r) in left.iter_mut().zip(&mut *right) {
                    (*l, *r) = (cosine * *l - sine * *r, sine * *l + cosine * *r);
                }
            }
        }
        if is_done {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use mcsa_core::Seed;

    use super::*;

    struct Matched {
        mean: Vec<f64>,
        covariance: Mat<f64>,
    }

    fn matrix(columns: &[f64], dim: usize) -> Mat<f64> {
        Mat::from_fn(dim, columns.len() / dim, |i, j| columns[j * dim + i])
    }

    fn solve(
        dim: usize,
        weight: f64,
        mean: &[f64],
        factor: &[f64],
        points: &[f64],
        scores: &[f64],
    ) -> Matched {
        let problem = ScoreMatch { dim, weight, mean, factor, points, scores };
        let draws = points.len() / dim;
        let stride = stride(dim, draws);
        let (mut matched, mut stacked) = (vec![0.0; dim], vec![0.0; problem.columns() * stride]);
        assert!(problem.solve(&mut matched, &mut stacked, &mut vec![0.0; room_len(dim, draws)]));
        let found = Mat::from_fn(dim, problem.columns(), |i, k| stacked[k * stride + i]);
        Matched { mean: matched, covariance: &found * found.transpose() }
    }

    /// `U`, `V`, and the means of points and scores, from the definitions.
    fn terms(
        weight: f64,
        mean: &[f64],
        factor: &Mat<f64>,
        points: &Mat<f64>,
        scores: &Mat<f64>,
    ) -> (Mat<f64>, Mat<f64>, Mat<f64>, Mat<f64>) {
        let average =
            |m: &Mat<f64>| Mat::from_fn(m.nrows(), 1, |i, _| m.row(i).iter().sum::<f64>() / m.ncols() as f64);
        let spread = |m: &Mat<f64>, centre: &Mat<f64>| {
            let moved = Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] - centre[(i, 0)]);
            let outer = &moved * moved.transpose();
            Mat::from_fn(m.nrows(), m.nrows(), |i, j| weight * outer[(i, j)] / m.ncols() as f64)
        };
        let (zbar, gbar) = (average(points), average(scores));
        let joint = weight / (1.0 + weight);
        let shift = Mat::from_fn(mean.len(), 1, |i, _| mean[i] - zbar[(i, 0)]);
        let v = factor * factor.transpose() + spread(points, &zbar) + joint * &shift * shift.transpose();
        let u = spread(scores, &gbar) + joint * &gbar * gbar.transpose();
        (u, v, zbar, gbar)
    }

    /// Columns whose product is far below one are left as they are, however small they are themselves.
    #[test]
    fn small_columns_are_orthogonal_enough() {
        let mut columns = [1.0, 0.0, 1e-17, 1e-9];
        orthogonalise(&mut columns, 2, 0);
        assert_eq!(columns, [1.0, 0.0, 1e-17, 1e-9]);
        // The twin: a product that counts.
        columns[2] = 1e-12;
        orthogonalise(&mut columns, 2, 0);
        assert!(columns[2].abs() < 1e-17, "{columns:?}");
    }

    fn normals(seed: u64, count: usize) -> Vec<f64> {
        let mut numbers = vec![0.0; count];
        Seed::new(seed).stream(0, 0).normals_into(&mut numbers);
        numbers
    }

    /// `S U S + S = V` and the equation of the mean, with few and many draws, long and short steps, and scores of no Gaussian.
    #[test]
    fn the_stationary_equations_hold() {
        for (dim, draws, weight) in [(1, 1, 3.0), (4, 2, 0.1), (4, 40, 100.0), (7, 3, 30.0), (12, 30, 1e4)] {
            let (mean, factor) = (normals(1, dim), normals(2, dim * dim));
            let (points, scores) = (normals(3, dim * draws), normals(4, dim * draws));
            let found = solve(dim, weight, &mean, &factor, &points, &scores);
            let (u, v, zbar, gbar) =
                terms(weight, &mean, &matrix(&factor, dim), &matrix(&points, dim), &matrix(&scores, dim));
            let s = &found.covariance;
            let residual = s * &u * s + s - &v;
            assert!(residual.norm_max() < 1e-12 * v.norm_max(), "{dim} {draws}: {}", residual.norm_max());
            // The twin: with the sign of U turned the equation does not hold.
            assert!((s - s * &u * s - &v).norm_max() > 1e-3 * v.norm_max());
            let pull = s * &gbar;
            for i in 0..dim {
                let expected = (weight * (zbar[(i, 0)] + pull[(i, 0)]) + mean[i]) / (1.0 + weight);
                assert!((found.mean[i] - expected).abs() < 1e-12 * (1.0 + expected.abs()) * (1.0 + weight));
            }
        }
    }
}
