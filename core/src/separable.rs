//! Separable targets: a prior and one likelihood term per datum, and minibatches of them.

use crate::{Curvature, Error, Gradient, LogDensity};

/// Target with a prior and one likelihood term per datum, `log p(z) = log_prior(z) + sum_i log_likelihood_at([i], z)`.
pub trait Separable: LogDensity {
    /// The number of data.
    fn num_data(&self) -> usize;

    /// The log prior: the term that depends on no datum.
    fn log_prior(&self, z: &[f64], work: &mut [f64]) -> f64;

    /// Log likelihood of the data in `rows`; a row listed twice counts twice.
    ///
    /// # Panics
    /// If a row is not less than [`num_data`](Self::num_data).
    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], work: &mut [f64]) -> f64;
}

/// Separable target with first and second derivatives of the prior and of the likelihood of any rows.
///
/// Methods that subsample data need it: minibatches of a bound, subsampled Hamiltonian Monte Carlo.
pub trait Subsampled: Separable {
    /// Length of the slice `work` that any method of this trait and of [`Separable`] needs for `rows` rows.
    fn rows_work_len(&self, rows: usize) -> usize {
        let _ = rows;
        LogDensity::work_len(self, 1)
    }

    /// Writes `d/dz log_prior(z)` and returns `log_prior(z)`.
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64;

    /// `gradient += scale * d/dz sum_{i in rows} l_i(z)`; returns the sum `sum_{i in rows} l_i(z)`, not scaled. A row listed twice
    /// counts twice.
    ///
    /// # Panics
    /// If a row is not less than [`num_data`](Separable::num_data).
    fn add_gradient_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) -> f64;

    /// Writes `(d^2/dz^2 log_prior(z)) v`.
    fn prior_hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]);

    /// `out += scale * (d^2/dz^2 sum_{i in rows} l_i(z)) v`. A row listed twice counts twice.
    ///
    /// # Panics
    /// If a row is not less than [`num_data`](Separable::num_data).
    fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        work: &mut [f64],
    );
}

/// Minibatch of a separable target, `log_prior(z) + N/B sum_{i in rows} l_i(z)` with B rows of N data.
///
/// For rows drawn uniformly its value and its derivatives are unbiased estimates of those of the target.
#[derive(Debug)]
pub struct Minibatch<'a, P: ?Sized> {
    target: &'a P,
    rows: &'a [usize],
    scale: f64,
}

impl<P: ?Sized> Clone for Minibatch<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for Minibatch<'_, P> {}

impl<'a, P: Separable + ?Sized> Minibatch<'a, P> {
    /// The minibatch of these rows.
    ///
    /// # Errors
    /// If there is no row, or a row is not less than the number of data.
    pub fn new(target: &'a P, rows: &'a [usize]) -> Result<Self, Error> {
        let data = target.num_data();
        if rows.is_empty() {
            return Err(Error::invalid("a minibatch has at least one row"));
        }
        if let Some(&row) = rows.iter().find(|&&row| row >= data) {
            return Err(Error::invalid(format!("row {row} of a minibatch: the target has {data} data")));
        }
        Ok(Self { target, rows, scale: data as f64 / rows.len() as f64 })
    }

    /// The rows.
    pub fn rows(&self) -> &'a [usize] {
        self.rows
    }
}

impl<P: Subsampled + ?Sized> LogDensity for Minibatch<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.target.rows_work_len(self.rows.len())
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.target.log_prior(z, work) + self.scale * self.target.log_likelihood_at(self.rows, z, work)
    }
}

impl<P: Subsampled + ?Sized> Gradient for Minibatch<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let prior = self.target.prior_gradient_into(z, gradient, work);
        prior + self.scale * self.target.add_gradient_at(self.rows, self.scale, z, gradient, work)
    }
}

impl<P: Subsampled + ?Sized> Curvature for Minibatch<'_, P> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.target.prior_hessian_vector_into(z, v, out, work);
        self.target.add_hessian_vector_at(self.rows, self.scale, z, v, out, work);
    }
}
