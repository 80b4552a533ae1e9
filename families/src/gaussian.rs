//! Closed forms of the Gaussian families: moment matching, variances, moments, assembly of parameters.

use faer::Mat;
use mcsa_core::{Error, Parametric, same_length};

use crate::packed;
use crate::{FullRank, GaussianFamily, Link, LowRank, MeanField, Normal};

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
