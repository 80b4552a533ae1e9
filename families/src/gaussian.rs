//! Gaussian distributions and the closed forms of the Gaussian families: divergence, moment matching, running moments, assembly of
//! parameters.

use faer::linalg::solvers::LltError;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, MatRef, Par, Side};
use mcsa_core::{Error, Parametric, Reparameterised, all_finite, numeric, same_length};
use mcsa_numeric::linear::packed;

use crate::{FullRank, Link, LowRank, MeanField};

/// Gaussian distribution as mean and Cholesky factor, independent of the parametrisation of any family.
///
/// ```
/// use mcsa_families::{MeanField, Normal, kl_gaussian, GaussianFamily};
/// let target = Normal::new(vec![0.0, 0.0], faer::mat![[1.0, 0.6], [0.6, 1.0]].as_ref())?;
/// let q = MeanField::new(2);
/// let best = q.moments(&q.moment_match(&target)?)?;
/// assert!((kl_gaussian(&target, &best)? + 0.8_f64.ln()).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    mean: Vec<f64>,
    factor: Mat<f64>,
}

impl Normal {
    /// Gaussian with this mean and this covariance, of which only the lower triangle is read.
    ///
    /// # Errors
    /// If a shape differs, a number is not finite, or the covariance is not positive definite.
    pub fn new(mean: Vec<f64>, covariance: MatRef<'_, f64>) -> Result<Self, Error> {
        same_length("rows of the covariance", mean.len(), covariance.nrows())?;
        same_length("columns of the covariance", mean.len(), covariance.ncols())?;
        for j in 0..mean.len() {
            for i in j..mean.len() {
                all_finite("covariance", &[covariance[(i, j)]])?;
            }
        }
        let factor = match covariance.llt(Side::Lower) {
            Ok(llt) => llt.L().to_owned(),
            Err(LltError::NonPositivePivot { index }) => {
                return Err(Error::NotPositiveDefinite { what: "covariance", pivot: index });
            }
        };
        Self::from_factor(mean, factor)
    }

    /// Gaussian with this mean and this lower Cholesky factor, whose entries above the diagonal are set to zero.
    ///
    /// # Errors
    /// If a shape differs, a number is not finite, or the diagonal is not positive.
    pub fn from_factor(mean: Vec<f64>, mut factor: Mat<f64>) -> Result<Self, Error> {
        same_length("rows of the factor", mean.len(), factor.nrows())?;
        same_length("columns of the factor", mean.len(), factor.ncols())?;
        all_finite("mean", &mean)?;
        for k in 0..mean.len() {
            let (above, below) = factor.col_as_slice_mut(k).split_at_mut(k);
            above.fill(0.0);
            all_finite("factor", below)?;
            if below[0] <= 0.0 {
                return Err(Error::parameter("diagonal of the factor", below[0], "positive"));
            }
        }
        Ok(Self { mean, factor })
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The lower Cholesky factor of the covariance.
    pub fn factor(&self) -> MatRef<'_, f64> {
        self.factor.as_ref()
    }

    /// The covariance.
    pub fn covariance(&self) -> Mat<f64> {
        &self.factor * self.factor.transpose()
    }

    /// The marginal variances.
    pub fn variances(&self) -> Vec<f64> {
        (0..self.dim()).map(|i| (0..=i).map(|k| self.factor[(i, k)].powi(2)).sum()).collect()
    }
}

/// KL divergence `KL(p || q)` between two Gaussians.
///
/// ```text
/// M = L_q^-1 L_p,  delta = L_q^-1 (m_q - m_p)
/// KL = ( |delta|^2 + sum_{i>k} M_ik^2 + sum_k (M_kk^2 - 1 - 2 ln M_kk) ) / 2
/// ```
/// Each term is nonnegative, and the last is computed from `M_kk - 1`, so that the divergence of close Gaussians keeps its digits.
///
/// # Errors
/// If the dimensions differ.
pub fn kl_gaussian(p: &Normal, q: &Normal) -> Result<f64, Error> {
    same_length("q", p.dim(), q.dim())?;
    let dim = p.dim();
    // The last column is the difference of means.
    let mut ratio =
        Mat::from_fn(dim, dim + 1, |i, k| if k < dim { p.factor[(i, k)] } else { q.mean[i] - p.mean[i] });
    solve_lower_triangular_in_place(q.factor(), ratio.as_mut(), Par::Seq);
    let mut twice = 0.0;
    for k in 0..dim {
        let excess = (p.factor[(k, k)] - q.factor[(k, k)]) / q.factor[(k, k)];
        let below = &ratio.col_as_slice(k)[k + 1..];
        twice += excess * (2.0 + excess) - 2.0 * excess.ln_1p() + numeric::dot(below, below);
    }
    let delta = ratio.col_as_slice(dim);
    Ok(0.5 * (twice + numeric::dot(delta, delta)))
}

/// A family of Gaussians, with moments in closed form.
pub trait GaussianFamily: Reparameterised {
    /// The mean, which is the first `d` parameters.
    fn mean<'p>(&self, params: &'p [f64]) -> &'p [f64] {
        &params[..self.dim()]
    }

    /// The marginal variances.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    fn variances(&self, params: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.moments(params)?.variances())
    }

    /// Mean and full covariance, as `d (d + 1) / 2` numbers of a Cholesky factor, whatever the family.
    ///
    /// # Errors
    /// If `check` fails for `params`, or the covariance is singular in double precision.
    fn moments(&self, params: &[f64]) -> Result<Normal, Error>;

    /// Parameters of an uncorrelated Gaussian with this mean and this `rho`, one number per coordinate, which the link turns into a
    /// scale. If the family has a factor for which zero is a saddle point (a low-rank B), each of its entries is a value of
    /// `factor()`.
    ///
    /// # Errors
    /// If a length differs, or `check` fails for the result.
    fn assemble(
        &self,
        mean: &[f64],
        rho: &[f64],
        factor: &mut dyn FnMut() -> f64,
    ) -> Result<Vec<f64>, Error> {
        same_length("mean", self.dim(), mean.len())?;
        same_length("rho", self.dim(), rho.len())?;
        let mut params = [mean, rho].concat();
        params.extend((params.len()..self.num_params()).map(|_| factor()));
        self.check(&params)?;
        Ok(params)
    }

    /// The map from `rho` to the scale.
    fn link(&self) -> crate::Link;
}

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

    fn link(&self) -> Link {
        self.link
    }
}

impl GaussianFamily for FullRank {
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

    fn link(&self) -> Link {
        self.link
    }
}
