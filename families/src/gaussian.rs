//! Closed forms of the Gaussian families: moment matching, running moments, variances, moments, assembly of parameters.

use crate::{FullRank, GaussianFamily, Link, LowRank, MeanField, MomentMatched, Normal};
use faer::{Mat, MatRef};
use mcsa_core::{Columns, Error, Parametric, borrow, numeric, same_length};

use crate::factor_update::{AddSquare, Centre, width};
use mcsa_numeric::linear::packed;

impl MeanField {
    /// Parameters that minimise KL(target || q): the target's mean and marginal standard deviations.
    ///
    /// This holds for any target with these moments, Gaussian or not. For a Gaussian target the divergence that remains is
    /// [`kl_gaussian`](crate::kl_gaussian) to the [`moments`](GaussianFamily::moments) of the result.
    /// # Errors
    /// If the dimensions differ, or a scale is outside the range of the link.
    pub fn moment_match(&self, target: &Normal) -> Result<Vec<f64>, Error> {
        let scales: Vec<f64> = target.variances().iter().map(|variance| variance.sqrt()).collect();
        self.at(target.mean(), &scales)
    }
}

impl FullRank {
    /// Parameters that minimise KL(target || q): the target's mean and covariance.
    ///
    /// This holds for any target with these moments, Gaussian or not.
    ///
    /// # Errors
    /// If the dimensions differ, or the diagonal of the factor is outside the range of the link.
    pub fn moment_match(&self, target: &Normal) -> Result<Vec<f64>, Error> {
        self.at(target.mean(), target.factor())
    }
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
    pub(crate) fn match_stretched(
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
        Centre { points, weights, scale, mean, rows }.run();
        let root = gain.sqrt() * kept;
        for ((row, location), mean) in rows.chunks_exact_mut(width).zip(location).zip(&*mean) {
            let delta = mean - *location;
            *location += gain * delta;
            row[weights.len()] = root * delta;
        }
        AddSquare { dim, triangle, rows }.run();
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

impl GaussianFamily for MeanField {
    fn variances(&self, params: &[f64]) -> Result<Vec<f64>, Error> {
        self.check(params)?;
        Ok(params[self.dim..].iter().map(|&rho| self.link.scale(rho).powi(2)).collect())
    }

    fn moments(&self, params: &[f64]) -> Result<Normal, Error> {
        self.check(params)?;
        let (mean, rho) = params.split_at(self.dim);
        let scale = |i: usize| self.link.scale(rho[i]);
        let factor = Mat::from_fn(self.dim, self.dim, |i, k| if i == k { scale(i) } else { 0.0 });
        Normal::from_factor(mean.to_vec(), factor)
    }

    fn assemble(&self, mean: &[f64], rho: &[f64], _: &mut dyn FnMut() -> f64) -> Result<Vec<f64>, Error> {
        same_length("mean", self.dim, mean.len())?;
        let params = [mean, rho].concat();
        self.check(&params)?;
        Ok(params)
    }

    fn link(&self) -> Link {
        self.link
    }
}

impl GaussianFamily for FullRank {
    fn variances(&self, params: &[f64]) -> Result<Vec<f64>, Error> {
        self.check(params)?;
        let triangle = &params[self.dim..];
        let mut variances = vec![0.0; self.dim];
        for k in 0..self.dim {
            let column = &triangle[packed::start(self.dim, k)..packed::start(self.dim, k + 1)];
            variances[k] += self.link.scale(column[0]).powi(2);
            for (variance, entry) in variances[k + 1..].iter_mut().zip(&column[1..]) {
                *variance += entry * entry;
            }
        }
        Ok(variances)
    }

    fn moments(&self, params: &[f64]) -> Result<Normal, Error> {
        self.check(params)?;
        let (mean, triangle) = params.split_at(self.dim);
        let factor = Mat::from_fn(self.dim, self.dim, |i, k| {
            let entry = |i: usize| triangle[packed::start(self.dim, k) + i - k];
            match i.cmp(&k) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => self.link.scale(entry(k)),
                std::cmp::Ordering::Greater => entry(i),
            }
        });
        Normal::from_factor(mean.to_vec(), factor)
    }

    fn assemble(&self, mean: &[f64], rho: &[f64], _: &mut dyn FnMut() -> f64) -> Result<Vec<f64>, Error> {
        same_length("mean", self.dim, mean.len())?;
        same_length("rho", self.dim, rho.len())?;
        let mut params = mean.to_vec();
        params.resize(self.num_params(), 0.0);
        for (k, &rho) in rho.iter().enumerate() {
            params[self.dim + packed::start(self.dim, k)] = rho;
        }
        self.check(&params)?;
        Ok(params)
    }

    fn link(&self) -> Link {
        self.link
    }
}

impl GaussianFamily for LowRank {
    fn variances(&self, params: &[f64]) -> Result<Vec<f64>, Error> {
        self.check(params)?;
        let rho = &params[self.dim..2 * self.dim];
        let factor = &params[2 * self.dim..];
        let variance = |i: usize| -> f64 {
            let directions = (0..self.rank).map(|k| factor[i + k * self.dim].powi(2)).sum::<f64>();
            self.link.scale(rho[i]).powi(2) + directions
        };
        Ok((0..self.dim).map(variance).collect())
    }

    fn moments(&self, params: &[f64]) -> Result<Normal, Error> {
        self.check(params)?;
        let rho = &params[self.dim..2 * self.dim];
        let factor = mcsa_core::batch(&params[2 * self.dim..], self.dim, self.rank);
        let mut covariance = factor * factor.transpose();
        for (i, &rho) in rho.iter().enumerate() {
            covariance[(i, i)] += self.link.scale(rho).powi(2);
        }
        Normal::new(self.mean(params).to_vec(), covariance.as_ref())
    }

    fn assemble(
        &self,
        mean: &[f64],
        rho: &[f64],
        factor: &mut dyn FnMut() -> f64,
    ) -> Result<Vec<f64>, Error> {
        same_length("mean", self.dim, mean.len())?;
        let mut params = [mean, rho].concat();
        params.extend((0..self.dim * self.rank).map(|_| factor()));
        self.check(&params)?;
        Ok(params)
    }

    fn link(&self) -> Link {
        self.link
    }
}
