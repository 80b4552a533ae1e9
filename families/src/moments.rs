//! Running moments of the Gaussian and Student t families, and the update of a packed factor by weighted points.

use faer::MatRef;
use mcsa_core::{Columns, Family, Parametric, borrow, numeric};
use mcsa_numeric::linear::packed::{self, PANEL, start};
use mcsa_numeric::vectorised;

use crate::full_rank::{Scales, invert};
use crate::student::Student;
use crate::{Dof, FullRank, MeanField, MultivariateT, StudentT};

/// Family that is determined by the moments `E_q[T]` of a statistic T, such as mean and covariance of a Gaussian, with the
/// natural-gradient step of the inclusive divergence.
///
/// ```text
/// E_q'[T] = (1 - gain) E_q[T] + gain sum_i w_i T(z_i)
/// ```
/// In an exponential family the natural gradient of `-KL(p || q)` in lambda moves `E_q[T]` along `E_p[T] - E_q[T]`. So the step above
/// is a natural-gradient step of length `gain`, with the weighted points in the place of p, and a running mean of moments.
///
/// Other families take T to be the expected statistic of an exponential family with latent variables, given the point and lambda:
/// the step is one of online EM (Cappe & Moulines 2009). In both cases the lambdas that the expected step leaves where they are, as
/// `gain` goes to zero, are the stationary points of `KL(p || q)`.
pub trait MomentMatched: Family {
    /// Writes lambda after a step of length `gain` in `(0, 1]` from `params` to `matched`. The weights of the columns of `points` are
    /// not negative and sum to one; `work` is as for a batch of as many columns.
    ///
    /// Returns false if no member of the family has these moments, or none that [`check`](mcsa_core::Parametric::check) admits; the
    /// contents of `matched` are then undefined.
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool;
}

/// Running mean and marginal variances.
///
/// ```text
/// delta = sum_i w_i z_i - m,   m' = m + gain delta
/// sigma'^2 = (1 - gain) sigma^2 + gain sum_i w_i (z_i - m - delta)^2 + gain (1 - gain) delta^2
/// ```
/// The last term makes the second moments, not the variances, those of the mixture of q and the points. No term is negative, so for a
/// gain below one the variances stay positive.
impl MomentMatched for MeanField {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        mut work: &mut [f64],
    ) -> bool {
        assert_eq!((params.len(), matched.len()), (2 * self.dim, 2 * self.dim), "mean and rho");
        let (mean, variances) = (borrow(&mut work, self.dim), borrow(&mut work, self.dim));
        numeric::weighted_sum(points, weights, mean);
        variances.fill(0.0);
        for (j, &weight) in weights.iter().enumerate() {
            for ((variance, z), mean) in variances.iter_mut().zip(points.column(j)).zip(&*mean) {
                *variance += weight * (z - mean) * (z - mean);
            }
        }
        for i in 0..self.dim {
            let (delta, scale) = (mean[i] - params[i], self.link.scale(params[self.dim + i]));
            let variance = (1.0 - gain) * (scale * scale + gain * (delta * delta)) + gain * variances[i];
            matched[i] = params[i] + gain * delta;
            let Ok(rho) = self.link.inverse(variance.sqrt()) else { return false };
            matched[self.dim + i] = rho;
        }
        matched.iter().all(|number| number.is_finite())
    }
}

/// Running mean and covariance.
///
/// ```text
/// delta = sum_i w_i z_i - m,   m' = m + gain delta
/// S' = (1 - gain) S + gain sum_i w_i (z_i - m - delta)(z_i - m - delta)^T + gain (1 - gain) delta delta^T
/// ```
/// S' is a positive multiple of S plus a positive semidefinite matrix, so it is positive definite for a gain below one, however few the
/// points. The factor of S is updated by reflections of all terms into it, one per column, so no covariance is formed: `2 d^2`
/// multiplications per point.
impl MomentMatched for FullRank {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        self.match_stretched(params, gain, points, weights, 1.0, matched, work)
    }
}

impl FullRank {
    /// [`match_moments`](MomentMatched::match_moments), with the factor of the covariance multiplied by `stretch`.
    #[expect(clippy::too_many_arguments, reason = "those of match_moments")]
    fn match_stretched(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        stretch: f64,
        matched: &mut [f64],
        mut work: &mut [f64],
    ) -> bool {
        let dim = self.dim;
        assert_eq!(
            (params.len(), matched.len()),
            (self.num_params(), self.num_params()),
            "mean and triangle"
        );
        let width = width(weights.len() + 1);
        let (mean, rows) = (borrow(&mut work, dim), borrow(&mut work, dim * width));
        numeric::weighted_sum(points, weights, mean);
        matched.copy_from_slice(params);
        let (location, triangle) = matched.split_at_mut(dim);
        // The rows are not filled yet: they lend their memory.
        if dim > 0 {
            let (rho, scales) = rows[..2 * dim].split_at_mut(dim);
            packed::take_diagonal(triangle, rho);
            self.link.scales_into(rho, scales);
            packed::put_diagonal(triangle, scales);
        }
        let kept = stretch * (1.0 - gain).sqrt();
        triangle.iter_mut().for_each(|entry| *entry *= kept);
        // The points about their mean, and the shift of the mean as a column of its own.
        let scale = |weight: f64| stretch * (gain * weight).sqrt();
        vectorised(
            #[inline(always)]
            || centre(points, weights, scale, mean, rows),
        );
        let root = gain.sqrt() * kept;
        for ((row, location), mean) in rows.chunks_exact_mut(width).zip(location).zip(&*mean) {
            let delta = mean - *location;
            *location += gain * delta;
            row[weights.len()] = root * delta;
        }
        vectorised(
            #[inline(always)]
            || add_square(dim, triangle, rows),
        );
        if dim > 0 {
            let (rho, scales) = rows[..2 * dim].split_at_mut(dim);
            packed::take_diagonal(triangle, scales);
            if self.link.inverses_into(scales, rho).is_err() {
                return false;
            }
            packed::put_diagonal(triangle, rho);
        }
        numeric::all_below(matched, f64::INFINITY)
    }
}

/// Step of the degrees of freedom in `n` dimensions, from the means over the points of `u` and of `ln(1 + r^2 / nu)`. Returns the
/// new degrees of freedom, and the factor by which all scales change with them.
///
/// ```text
/// 1/nu' = 1/nu - gain (nu + n)/(nu + n + 2) s / (I nu^2)       s the efficient score, I its variance; at most by a factor of two
/// stretch = (nu' (nu + n) / (nu (nu' + n)))^(1/n)              L (1 + n/nu)^(1/n) is orthogonal to nu in the Fisher metric
/// ```
fn move_dof<D: Dof>(dof: &D, student: Student, n: usize, gain: f64, pull: f64, fall: f64) -> (f64, f64) {
    if D::NUM_PARAMS == 0 {
        return (student.dof, 1.0);
    }
    let (nu, n_) = (student.dof, n as f64);
    let length = gain * (nu + n_) / (nu + n_ + 2.0);
    let step = length * student.efficient_score(n, pull, fall) / student.efficient_information(n);
    let moved = dof.confined(1.0 / (1.0 / nu - step / (nu * nu)).clamp(0.5 / nu, 2.0 / nu));
    (moved, (moved * (nu + n_) / (nu * (moved + n_))).powf(1.0 / n_))
}

/// Online EM as for [`MultivariateT`](crate::MultivariateT) on the line, coordinate by coordinate; the degrees of freedom are common.
impl<D: Dof> MomentMatched for StudentT<D> {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        _: &mut [f64],
    ) -> bool {
        let dim = self.dim;
        assert_eq!((points.nrows(), points.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "location, rho and degrees of freedom");
        if dim == 0 {
            matched.copy_from_slice(params);
            return true;
        }
        let ((location, rho, _), student) = (self.parts(params), self.confined(params));
        let (mut all_pulls, mut all_falls) = (0.0, 0.0);
        for i in 0..dim {
            let scale = self.link.scale(rho[i]);
            let mut moments = [0.0; 3];
            // The weight of a point is computed twice, so that no memory per point is needed.
            let pull = |j: usize| {
                let radius = (points[(i, j)] - location[i]) / scale;
                (weights[j] * student.weight(1, radius), radius)
            };
            for (j, weight) in weights.iter().enumerate() {
                let (pull, radius) = pull(j);
                moments[0] += pull;
                moments[1] += pull * (points[(i, j)] - location[i]);
                all_falls += weight * student.log_fall(radius);
            }
            let delta = moments[1] / moments[0];
            for j in 0..weights.len() {
                moments[2] += pull(j).0 * (points[(i, j)] - location[i] - delta).powi(2);
            }
            let arrived = gain * moments[0] / (1.0 - gain + gain * moments[0]);
            let spread = (1.0 - arrived) * (scale * scale + arrived * (delta * delta));
            matched[i] = location[i] + arrived * delta;
            matched[dim + i] = (spread + arrived * (moments[2] / moments[0])).sqrt();
            all_pulls += moments[0];
        }
        let (pull, fall) = (all_pulls / dim as f64, all_falls / dim as f64);
        let (dof, stretch) = move_dof(&self.law, student, 1, gain, pull, fall);
        for scale in &mut matched[dim..2 * dim] {
            let Ok(rho) = self.link.inverse(stretch * *scale) else { return false };
            *scale = rho;
        }
        self.law.write(dof, &mut matched[2 * dim..]) && matched.iter().all(|number| number.is_finite())
    }
}

/// Online EM for location, scale matrix and degrees of freedom.
///
/// ```text
/// u_i = (nu + d)/(nu + |L^-1 (z_i - m)|^2),     E_q[u] = 1,   E_q[u (z - m)] = 0,   E_q[u (z - m)(z - m)^T] = L L^T
/// S_0 = (1 - gain) + gain sum_i w_i u_i,        S_1, S_2 alike with u z and u z z^T
/// m' = S_1 / S_0,   L' L'^T = (S_2 - S_1 S_1^T / S_0) / S_0
/// ```
/// This is the step of a Gaussian to points with weights `w_i u_i` ([`FullRank`](crate::FullRank)). The division by `S_0` in
/// place of one is that of PX-EM (Liu, Rubin & Wu 1998); it makes the step `(nu + d)/(nu + d + 2)` times the natural gradient, in all
/// directions, for small gains. At gain one it is PX-EM, which never decreases `E_p[log q]` for fixed degrees of freedom.
///
/// Learned degrees of freedom take a Fisher-scoring step of the same length along the rest of the natural gradient: their score is
/// half of `log u - u` less its mean under q, which is known since `u nu/(nu + d)` is Beta(nu/2, d/2). They stay in
/// [`Learned::range`](crate::Learned::range), and change by at most a factor of two in a step.
impl<D: Dof> MomentMatched for MultivariateT<D> {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        let dim = self.dim;
        assert_eq!((points.nrows(), points.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "location, triangle and degrees of freedom");
        if dim == 0 {
            matched.copy_from_slice(params);
            return true;
        }
        let ((at, _), student) = (self.placed(params), self.confined(params));
        let (pulls, work) = work.split_at_mut(weights.len());
        let (mut pull, mut fall) = (0.0, 0.0);
        {
            let mut work = &mut *work;
            let Scales { scales: inverse, .. } = at.diagonal(&mut work);
            invert(inverse);
            at.squares(inverse, points, pulls, work);
            let falls = &mut work[..weights.len()];
            falls.copy_from_slice(pulls);
            student.log_falls(falls);
            for ((&weight, weighted), log_fall) in weights.iter().zip(&mut *pulls).zip(falls) {
                *weighted = weight * student.weight(dim, weighted.sqrt());
                pull += *weighted;
                fall += weight * *log_fall;
            }
        }
        pulls.iter_mut().for_each(|weighted| *weighted /= pull);
        let arrived = gain * pull / (1.0 - gain + gain * pull);
        let (dof, stretch) = move_dof(&self.law, student, dim, gain, pull, fall);
        let frame = self.frame();
        let (matched, matched_dof) = matched.split_at_mut(frame.num_params());
        let params = &params[..matched.len()];
        frame.match_stretched(params, arrived, points, pulls, stretch, matched, work)
            && self.law.write(dof, matched_dof)
    }
}

/// Length of the rows of [`add_square`] for so many columns: unused entries are zero.
const fn width(columns: usize) -> usize {
    columns.next_multiple_of(PANEL)
}

/// Points about a centre, times a number each: entry `(i, j)` of `rows` becomes `scale(w_j) (z_ij - m_i)`, and the entries after the last
/// point zero. The rows have [`width`] numbers of at least one more than the points.
#[inline(always)]
fn centre(
    points: MatRef<'_, f64>,
    weights: &[f64],
    scale: impl Fn(f64) -> f64,
    mean: &[f64],
    rows: &mut [f64],
) {
    let (dim, count) = (mean.len(), weights.len());
    let width = width(count + 1);
    for first in (0..width).step_by(PANEL) {
        let scales: [f64; PANEL] =
            std::array::from_fn(|l| weights.get(first + l).map_or(0.0, |weight| scale(*weight)));
        let [a, b, c, d] = [0, 1, 2, 3].map(|l| &points.column((first + l).min(count - 1))[..dim]);
        let of_points = a.iter().zip(b).zip(c).zip(d).zip(mean);
        for (row, ((((a, b), c), d), mean)) in rows.chunks_exact_mut(width).zip(of_points) {
            let row = &mut row[first..first + PANEL];
            let centred = [a - mean, b - mean, c - mean, d - mean];
            for ((entry, centred), scale) in row.iter_mut().zip(centred).zip(scales) {
                *entry = centred * scale;
            }
        }
    }
}

/// Factor of `L L^T + X X^T` in the place of L, by one Householder reflection per column (Golub & Van Loan 2013). X has `dim` rows
/// of [`width`] numbers and is overwritten. A zero on the diagonal is no harm, and the diagonal stays non-negative.
///
/// ```text
/// v = (L_kk, X_k),   u = v + |v| e_0,   row i of (L_ik, X_i):  r - u (u.r) / (|v| u_0),   and column k of L changes its sign
/// ```
#[inline(always)]
fn add_square(dim: usize, triangle: &mut [f64], rows: &mut [f64]) {
    // Constant widths make loops of known length: ten chains have 12 columns.
    match rows.len() / dim.max(1) {
        4 => reflect(dim, triangle, rows, 4),
        8 => reflect(dim, triangle, rows, 8),
        12 => reflect(dim, triangle, rows, 12),
        16 => reflect(dim, triangle, rows, 16),
        width => reflect(dim, triangle, rows, width),
    }
}

#[inline(always)]
fn reflect(dim: usize, triangle: &mut [f64], mut rows: &mut [f64], width: usize) {
    for k in 0..dim {
        let (pivot, tail) = rows.split_at_mut(width);
        rows = tail;
        let column = &mut triangle[start(dim, k)..start(dim, k + 1)];
        let (diagonal, below) = column.split_first_mut().expect("a column has a diagonal");
        let mut length = (*diagonal * *diagonal + dot_panels(pivot, pivot)).sqrt();
        if !(1e-140..1e140).contains(&length) {
            length = pivot.iter().fold(diagonal.abs(), |length, x| length.hypot(*x));
        }
        if length == 0.0 {
            continue;
        }
        let top = *diagonal + length;
        let (inverse, twice) = (1.0 / top, top / length);
        *diagonal = length;
        pivot.iter_mut().for_each(|x| *x *= inverse);
        let pivot = &*pivot;
        for (entry, row) in below.iter_mut().zip(rows.chunks_exact_mut(width)) {
            let sum = twice * (*entry + dot_panels(row, pivot));
            *entry = sum - *entry;
            let (row, _) = row.as_chunks_mut::<PANEL>();
            for (x, u) in row.iter_mut().zip(pivot.as_chunks::<PANEL>().0) {
                for l in 0..PANEL {
                    x[l] -= sum * u[l];
                }
            }
        }
    }
}

/// Dot product of two rows whose length is a multiple of the panel, as four interleaved partial sums.
#[inline(always)]
fn dot_panels(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; PANEL];
    for (a, b) in a.as_chunks::<PANEL>().0.iter().zip(b.as_chunks::<PANEL>().0) {
        for l in 0..PANEL {
            sums[l] += a[l] * b[l];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use mcsa_numeric::linear::packed::len;

    /// A factor and the rows of some points, row i times the i-th scale.
    fn factor(dim: usize, columns: usize, scales: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut stream = Seed::new(1).stream(0, dim as u64);
        let (mut triangle, mut rows) = (vec![0.0; len(dim)], vec![0.0; dim * width(columns)]);
        for k in 0..dim {
            for i in k..dim {
                triangle[start(dim, k) + i - k] = scales[i] * if i == k { 1.5 } else { stream.normal() };
            }
        }
        for (row, scale) in rows.chunks_exact_mut(width(columns)).zip(scales) {
            row[..columns].iter_mut().for_each(|x| *x = scale * stream.normal());
        }
        (triangle, rows)
    }

    /// The factor with the square of the points, row i divided by the i-th scale.
    fn updated(dim: usize, columns: usize, scales: &[f64]) -> Vec<f64> {
        let (mut triangle, mut rows) = factor(dim, columns, scales);
        add_square(dim, &mut triangle, &mut rows);
        for k in 0..dim {
            (k..dim).for_each(|i| triangle[start(dim, k) + i - k] /= scales[i]);
        }
        triangle
    }

    /// `(L L^T)_ij` of a packed factor.
    fn entry(triangle: &[f64], dim: usize, i: usize, j: usize) -> f64 {
        (0..=i.min(j)).map(|k| triangle[start(dim, k) + i - k] * triangle[start(dim, k) + j - k]).sum()
    }

    #[test]
    fn the_square_is_added() {
        for (dim, columns) in [(1, 3), (2, 1), (5, 11), (11, 11), (12, 20)] {
            let (found, (before, x)) =
                (updated(dim, columns, &vec![1.0; dim]), factor(dim, columns, &vec![1.0; dim]));
            let x: Vec<&[f64]> = x.chunks_exact(width(columns)).collect();
            for i in 0..dim {
                for j in 0..=i {
                    let square: f64 = x[i].iter().zip(x[j]).map(|(a, b)| a * b).sum();
                    let expected = entry(&before, dim, i, j) + square;
                    let error = (entry(&found, dim, i, j) - expected).abs();
                    assert!(error < 1e-13 * (columns + dim) as f64, "{dim} {columns} {i} {j}: {error}");
                    // Twin: without the points the factor is another.
                    assert!(i != j || entry(&before, dim, i, j) < expected);
                }
            }
        }
    }

    /// Products of rows with such scales overflow and underflow; their quotients do not.
    #[test]
    fn rows_may_have_any_scales() {
        for scales in
            [[1e-130, 1e250, 1.0, 1e-250], [1e250, 1e-250, 1e139, 1e-139], [1e139, 1e200, 1e-200, 1.0]]
        {
            let (found, known) = (updated(4, 7, &scales), updated(4, 7, &[1.0; 4]));
            let apart = found.iter().zip(&known).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-13, "{scales:?}: {found:?} {known:?}");
        }
    }
}
