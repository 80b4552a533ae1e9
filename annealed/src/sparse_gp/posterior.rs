//! Densities of the inducing values of a sparse process at one theta, and of minibatches with theta as a part of the point.

use faer::{Mat, MatRef};
use mcsa_core::{
    Columns, Curvature, Error, Gradient, LogDensity, Named, Part, Separable, Subsampled, borrow, numeric,
};

use super::average::{Average, BLOCK};
use super::process::{InducingCoordinates, LEAST, Memory, SparseGaussianProcess};
use crate::minibatched::checked_rows;
use mcsa_models::support::{HALF_LOG_TAU, decided};
use mcsa_numeric::design::RowsRef;

/// Data `at(0), .., at(count - 1)`, each with a factor.
pub(super) struct Batch<A, F> {
    pub(super) count: usize,
    pub(super) at: A,
    pub(super) factor: F,
}

/// The data in `rows`, each with the factor `scale`.
fn chosen(Part { rows, scale }: Part<'_>) -> Batch<impl Fn(usize) -> usize, impl Fn(usize) -> f64> {
    Batch { count: rows.len(), at: |b: usize| rows[b], factor: move |_| scale }
}

/// Posterior of the inducing values of a [`SparseGaussianProcess`] at one theta, given chosen rows of its data:
///
/// ```text
/// log p(u) = log N(u; 0, K_ZZ) + sum_n log p(y_n | u)
/// d/du = -K_ZZ^-1 u + sum_n r_n A_n,   d^2/du^2 x = -K_ZZ^-1 x + sum_n kappa_n (A_n' x) A_n
/// ```
/// Its data are the chosen rows, counted from 0. In [whitened coordinates](InducingCoordinates) `K_ZZ` is the identity and `A_n`
/// becomes `L^-1 k_Zn`. The curvature `kappa_n` of a logistic datum is negative, that of a Student t datum may be positive.
///
/// Where a square overflows, the density is `-inf` and the gradient 0.
#[derive(Debug, Clone, Copy)]
pub struct SparsePosterior<'a> {
    pub(super) process: &'a SparseGaussianProcess,
    pub(super) theta: &'a [f64],
    pub(super) rows: &'a [usize],
    pub(super) memory: Memory<&'a [f64], RowsRef<'a>>,
}

impl SparseGaussianProcess {
    /// The posterior of `u` at `theta` given the data in `rows`, from memory that [`prepare_into`](Self::prepare_into) has written
    /// with the same arguments.
    pub fn posterior<'a>(
        &'a self,
        theta: &'a [f64],
        rows: &'a [usize],
        memory: &'a [f64],
    ) -> SparsePosterior<'a> {
        assert!(theta.len() == self.num_thetas(), "theta of the process");
        SparsePosterior { process: self, theta, rows, memory: self.layout(rows.len()).read(memory) }
    }
}

impl<'a> SparsePosterior<'a> {
    /// `A_n = K_ZZ^-1 k(Z, x_n)`: the mean of the field at datum `n` is `A_n' u`.
    pub fn weights(&self, n: usize) -> &'a [f64] {
        self.memory.weights.row(n)
    }

    /// `v_n = c - k(x_n, Z) A_n`, the variance of the field at datum `n` given `u`; at least 1e-10.
    pub fn variance(&self, n: usize) -> f64 {
        self.memory.variances[n].max(LEAST)
    }

    /// `K_ZZ`, jitter included.
    pub fn covariance(&self) -> Mat<f64> {
        let row = |i| self.memory.factor.row(i);
        Mat::from_fn(self.dim(), self.dim(), |i, j| numeric::dot(row(i), row(j)))
    }

    pub(super) fn is_whitened(&self) -> bool {
        self.process.coordinates() == InducingCoordinates::Whitened
    }

    /// The rows whose products with a point are the means.
    pub(super) fn basis(&self) -> RowsRef<'a> {
        if self.is_whitened() { self.memory.white } else { self.memory.weights }
    }

    /// `out <- L^-1 z`, or `z` in whitened coordinates.
    pub(super) fn whiten(&self, z: &[f64], out: &mut [f64]) {
        match self.is_whitened() {
            true => out.copy_from_slice(z),
            false => self.memory.inverse.multiply_at(|i| i, z, out),
        }
    }

    /// `out <- K_ZZ^-1 z`, or `z` in whitened coordinates; `work` has the length of `z`.
    pub(super) fn precision(&self, z: &[f64], out: &mut [f64], work: &mut [f64]) {
        if self.is_whitened() {
            return out.copy_from_slice(z);
        }
        self.prior_direction(z, out, work);
    }

    /// `out <- K^-1 z`, or `L^-T z` in whitened coordinates.
    pub(super) fn prior_direction(&self, z: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.whiten(z, work);
        out.fill(0.0);
        self.memory.inverse.add_pull_back_at(|i| i, work, out);
    }

    /// All data in their order, each with its factor.
    pub(super) fn all<F: Fn(usize) -> f64>(&self, factor: F) -> Batch<impl Fn(usize) -> usize, F> {
        Batch { count: self.rows.len(), at: |n| n, factor }
    }

    fn prior(&self, white: &[f64]) -> f64 {
        let log_det = if self.is_whitened() { 0.0 } else { self.memory.log_det[0] };
        -0.5 * numeric::dot(white, white) - log_det - white.len() as f64 * HALF_LOG_TAU
    }

    /// Calls `accept` with at most [`BLOCK`] data of the batch at a time: the index of the first, and their averages; returns the log
    /// likelihood.
    pub(super) fn each_block<F>(
        &self,
        Batch { count, at, .. }: &Batch<impl Fn(usize) -> usize, F>,
        derivatives: bool,
        z: &[f64],
        mut accept: impl FnMut(usize, &[Average]),
    ) -> f64 {
        let Some(likelihood) = self.process.likelihood_at(self.theta) else {
            return f64::NEG_INFINITY;
        };
        let (mut means, mut averages) = ([0.0; BLOCK], [Average::default(); BLOCK]);
        let mut total = 0.0;
        for first in (0..*count).step_by(BLOCK) {
            let means = &mut means[..(count - first).min(BLOCK)];
            self.basis().multiply_at(|b| at(first + b), z, means);
            let y = |b: usize| self.process.datum(self.rows[at(first + b)]);
            likelihood.averages(derivatives, y, means, |b| self.variance(at(first + b)), &mut averages);
            let averages = &averages[..means.len()];
            total += averages.iter().map(|average| average.value).sum::<f64>();
            accept(first, averages);
        }
        total
    }

    /// Log likelihood of the batch, without factors.
    fn log_likelihood<F>(&self, batch: &Batch<impl Fn(usize) -> usize, F>, z: &[f64]) -> f64 {
        self.each_block(batch, false, z, |_, _| ())
    }

    /// Adds the gradients of the batch, each times its factor; returns the sum of the data's log likelihoods.
    pub(super) fn add_gradient(
        &self,
        batch: &Batch<impl Fn(usize) -> usize, impl Fn(usize) -> f64>,
        z: &[f64],
        gradient: &mut [f64],
    ) -> f64 {
        let mut slopes = [0.0; BLOCK];
        self.each_block(batch, true, z, |first, averages| {
            let slopes = &mut slopes[..averages.len()];
            for (b, (slope, average)) in slopes.iter_mut().zip(averages).enumerate() {
                *slope = (batch.factor)(first + b) * average.slope;
            }
            self.basis().add_pull_back_at(|b| (batch.at)(first + b), slopes, gradient);
        })
    }

    /// Adds the product of the batch's second derivatives with `v`, each times its factor; `accept` has the index of each datum and
    /// the product of `v` with its gradient, times the factor.
    pub(super) fn add_hessian_vector(
        &self,
        batch: &Batch<impl Fn(usize) -> usize, impl Fn(usize) -> f64>,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        mut accept: impl FnMut(usize, f64),
    ) {
        let mut along = [0.0; BLOCK];
        self.each_block(batch, true, z, |first, averages| {
            let along = &mut along[..averages.len()];
            self.basis().multiply_at(|b| (batch.at)(first + b), v, along);
            for (b, (along, average)) in along.iter_mut().zip(averages).enumerate() {
                let factor = (batch.factor)(first + b);
                accept(first + b, factor * average.slope * *along);
                *along *= factor * average.bend;
            }
            self.basis().add_pull_back_at(|b| (batch.at)(first + b), along, out);
        });
    }

    /// Log predictive density of each of the data, `log 1/S sum_s p(y_n | u_s)`, from `S` equally weighted draws, one per column.
    ///
    /// For held-out data this is the posterior of a process made of them, prepared at the theta of the fit. A label is predicted well
    /// if its log predictive density is above `log 1/2`.
    ///
    /// # Panics
    /// If the shapes differ, or there is no draw.
    pub fn log_predictive_into(&self, draws: MatRef<'_, f64>, out: &mut [f64]) {
        assert!(draws.ncols() > 0, "an average needs a draw");
        assert!(out.len() == self.rows.len(), "a number per datum");
        out.fill(f64::NEG_INFINITY);
        for s in 0..draws.ncols() {
            self.each_block(&self.all(|_| 1.0), false, draws.column(s), |first, averages| {
                for (out, average) in out[first..].iter_mut().zip(averages) {
                    *out = numeric::log_sum_exp(&[*out, average.value]);
                }
            });
        }
        let log_count = (draws.ncols() as f64).ln();
        out.iter_mut().for_each(|out| *out -= log_count);
    }

    /// Error of the log likelihood by the quadrature of [`SparseGaussianProcess`], `sum_n log p(y_n | u) - log pbar(y_n | u)`, against a
    /// rule that is eight times as fine:
    ///
    /// ```text
    /// pbar(y_n | u) = 1/8 sum_j phi(x_j) sum_q w_q p(y_n | A_n' u + sqrt(63/64 v_n) x_j + 1/8 sqrt(2 v_n) x_q),   x_j = j/8, |j| <= 68
    /// ```
    /// since `N(m, v)` is `N(m', v/64)` averaged over `m' ~ N(m, 63/64 v)`. It is large where the errors are narrower than the field
    /// between inducing points, `sqrt(v_n)`.
    pub fn quadrature_error(&self, z: &[f64]) -> f64 {
        const FINE: f64 = 8.0;
        let Some(likelihood) = self.process.likelihood_at(self.theta) else {
            return f64::NAN;
        };
        let share = 1.0 / (FINE * FINE);
        let places: Vec<f64> = (-68..=68).map(|j| f64::from(j) / FINE).collect();
        let log_weight = |x: f64| -0.5 * x * x - HALF_LOG_TAU - FINE.ln();
        let (mut logs, mut means) = (vec![0.0; places.len()], [0.0; BLOCK]);
        let mut error = 0.0;
        self.each_block(&self.all(|_| 1.0), false, z, |first, averages| {
            self.basis().multiply_at(|b| first + b, z, &mut means[..averages.len()]);
            for (b, average) in averages.iter().enumerate() {
                let (y, variance) = (self.process.datum(self.rows[first + b]), self.variance(first + b));
                let width = ((1.0 - share) * variance).sqrt();
                for (logs, places) in logs.chunks_mut(BLOCK).zip(places.chunks(BLOCK)) {
                    let (mut at, mut found) = ([0.0; BLOCK], [Average::default(); BLOCK]);
                    at.iter_mut().zip(places).for_each(|(at, x)| *at = means[b] + width * x);
                    let at = &at[..places.len()];
                    likelihood.averages(false, |_| y, at, |_| share * variance, &mut found);
                    for ((log, x), average) in logs.iter_mut().zip(places).zip(found) {
                        *log = log_weight(*x) + average.value;
                    }
                }
                error += average.value - numeric::log_sum_exp(&logs);
            }
        });
        error
    }
}

impl LogDensity for SparsePosterior<'_> {
    fn dim(&self) -> usize {
        self.process.num_inducing()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let likelihood = self.log_likelihood(&self.all(|_| 1.0), z);
        decided(self.log_prior(z, work) + likelihood, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.vector(self.process.coordinates().letter(), z.iter().copied());
    }
}

impl Gradient for SparsePosterior<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let prior = self.prior_gradient_into(z, gradient, work);
        let log_p = decided(prior + self.add_gradient(&self.all(|_| 1.0), z, gradient), z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
        }
        log_p
    }
}

impl Curvature for SparsePosterior<'_> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.prior_hessian_vector_into(z, v, out, work);
        self.add_hessian_vector(&self.all(|_| 1.0), z, v, out, |_, _| ());
    }
}

impl Separable for SparsePosterior<'_> {
    fn num_data(&self) -> usize {
        self.rows.len()
    }

    fn log_prior(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let white = borrow(&mut work, z.len());
        self.whiten(z, white);
        self.prior(white)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        self.log_likelihood(&chosen(Part { rows, scale: 1.0 }), z)
    }
}

impl Subsampled for SparsePosterior<'_> {
    /// The gradient of a quadratic function around 0 is its Hessian times the point.
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.prior_hessian_vector_into(z, z, gradient, work);
        self.log_prior(z, work)
    }

    fn add_gradient_at(&self, part: Part<'_>, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.add_gradient(&chosen(part), z, gradient)
    }

    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        self.precision(v, out, borrow(&mut work, v.len()));
        out.iter_mut().for_each(|out| *out = -*out);
    }

    fn add_hessian_vector_at(&self, part: Part<'_>, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.add_hessian_vector(&chosen(part), z, v, out, |_, _| ());
    }
}

/// Density of a minibatch of a [`SparseGaussianProcess`] as a function of its parameters and of the inducing values:
///
/// ```text
/// log N(u; 0, K_ZZ) + N/B sum_{n in rows} log p(y_n | u)   at the point (theta, u)
/// ```
/// There is no prior on theta. For a family whose theta is a point mass, the bound is a lower bound of `log p(y; theta)`, and its
/// maximum is a type II maximum likelihood estimate (SL-DAIS, Sec. 7.4). In whitened coordinates the point is `(theta, e)`.
///
/// The density is `-inf` and the gradient 0 where a logarithm in theta is beyond +-300, `K_ZZ` has no Cholesky factor, or a
/// square overflows.
#[derive(Debug, Clone, Copy)]
pub struct SparseMinibatch<'a> {
    process: &'a SparseGaussianProcess,
    rows: &'a [usize],
}

impl SparseMinibatch<'_> {
    fn scale(&self) -> f64 {
        self.process.num_data() as f64 / self.rows.len() as f64
    }

    /// Prepares the posterior in lent memory; `None` if theta is out of range.
    fn at<'b>(&'b self, theta: &'b [f64], memory: &'b mut [f64]) -> Option<SparsePosterior<'b>> {
        self.process.prepare_into(theta, self.rows, memory).ok()?;
        Some(self.process.posterior(theta, self.rows, memory))
    }
}

impl SparseGaussianProcess {
    /// The density of a minibatch, whose points are theta followed by inducing values.
    ///
    /// # Errors
    /// If there is no row, or a row is not less than the number of data.
    pub fn on<'a>(&'a self, rows: &'a [usize]) -> Result<SparseMinibatch<'a>, Error> {
        Ok(SparseMinibatch { process: self, rows: checked_rows("process", self.num_data(), rows)? })
    }
}

impl LogDensity for SparseMinibatch<'_> {
    fn dim(&self) -> usize {
        self.process.num_thetas() + self.process.num_inducing()
    }

    fn work_len(&self, _: usize) -> usize {
        let rows = self.rows.len();
        self.process.memory_len(rows) + self.process.theta_work_len(rows).max(self.process.num_inducing())
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let memory = borrow(&mut work, self.process.memory_len(self.rows.len()));
        let (theta, u) = z.split_at(self.process.num_thetas());
        let Some(posterior) = self.at(theta, memory) else { return decided(f64::NAN, z) };
        let likelihood = posterior.log_likelihood(&posterior.all(|_| 1.0), u);
        decided(posterior.log_prior(u, work) + self.scale() * likelihood, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.process.name_theta(z, out);
        let inducing = &z[self.process.num_thetas()..];
        out.vector(self.process.coordinates().letter(), inducing.iter().copied());
    }
}

impl Gradient for SparseMinibatch<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let memory = borrow(&mut work, self.process.memory_len(self.rows.len()));
        let (theta, u) = z.split_at(self.process.num_thetas());
        gradient.fill(0.0);
        let Some(posterior) = self.at(theta, memory) else { return decided(f64::NAN, z) };
        let (of_theta, of_u) = gradient.split_at_mut(theta.len());
        let (scale, all) = (self.scale(), posterior.all(|_| self.scale()));
        let prior = posterior.prior_gradient_into(u, of_u, work);
        let likelihood = posterior.add_gradient(&all, u, of_u);
        posterior.add_theta(None, &all, u, 1.0, of_theta, work);
        let log_p = decided(prior + scale * likelihood, z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
        }
        log_p
    }
}
