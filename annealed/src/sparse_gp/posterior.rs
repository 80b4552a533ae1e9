use faer::{Mat, MatRef};
use mcsa_core::{Columns, Curvature, Gradient, LogDensity, Named, Separable, Subsampled, borrow, numeric};

use super::average::BLOCK;
use super::process::LEAST;
use super::{Average, InducingCoordinates, Memory, SparseGaussianProcess};
use mcsa_models::support::{HALF_LOG_TAU, decided};
use mcsa_numeric::design::RowsRef;

/// Posterior of the inducing values of a [`SparseGaussianProcess`] at one theta, given chosen rows of its data:
///
/// ```text
/// log p(u) = log N(u; 0, K_ZZ) + sum_n log p(y_n | u)
/// d/du = -K_ZZ^-1 u + sum_n r_n A_n,   d^2/du^2 x = -K_ZZ^-1 x + sum_n kappa_n (A_n' x) A_n
/// ```
/// Its data are the chosen rows, counted from 0. In [whitened coordinates](InducingCoordinates) `K_ZZ` is the identity and `A_n`
/// becomes `L^-1 k_Zn`. The curvature `kappa_n` of a logistic datum is negative, that of a Student t datum may be positive.
///
/// `-inf`, with gradient 0, where a square overflows.
#[derive(Debug, Clone, Copy)]
pub struct SparsePosterior<'a> {
    pub(super) process: &'a SparseGaussianProcess,
    pub(super) theta: &'a [f64],
    pub(super) rows: &'a [usize],
    pub(super) memory: Memory<'a>,
}

impl SparseGaussianProcess {
    /// The posterior of `u` at `theta` given the data in `rows`, from memory that [`prepare_into`](Self::prepare_into) has written
    /// with the same arguments.
    ///
    /// # Panics
    /// If theta or the memory has another length than there.
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

    /// Writes the inducing values `u` of a point: the point itself, or `L e` in whitened coordinates.
    pub fn inducing_values_into(&self, z: &[f64], u: &mut [f64]) {
        match self.is_whitened() {
            true => self.memory.factor.multiply_at(|i| i, z, u),
            false => u.copy_from_slice(z),
        }
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
        self.whiten(z, work);
        out.fill(0.0);
        self.memory.inverse.add_pull_back_at(|i| i, work, out);
    }

    pub(super) fn prior(&self, white: &[f64]) -> f64 {
        let log_det = if self.is_whitened() { 0.0 } else { self.memory.log_det };
        -0.5 * numeric::dot(white, white) - log_det - white.len() as f64 * HALF_LOG_TAU
    }

    /// Calls `accept` with at most [`BLOCK`] data `at(0), .., at(count - 1)` at a time: the index of the first, and their averages;
    /// returns the log likelihood.
    pub(super) fn each_block(
        &self,
        count: usize,
        at: impl Fn(usize) -> usize,
        derivatives: bool,
        z: &[f64],
        mut accept: impl FnMut(usize, &[Average]),
    ) -> f64 {
        let Some(likelihood) = self.process.likelihood_at(self.theta) else {
            return f64::NEG_INFINITY;
        };
        let (mut means, mut averages) = ([0.0; BLOCK], [Average::default(); BLOCK]);
        let mut total = 0.0;
        for first in (0..count).step_by(BLOCK) {
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

    /// Adds the gradients of the data `at(0), .., at(count - 1)`, each times its factor; returns the sum of the data's log likelihoods.
    pub(super) fn add_gradient(
        &self,
        count: usize,
        at: impl Fn(usize) -> usize,
        factor: impl Fn(usize) -> f64,
        z: &[f64],
        gradient: &mut [f64],
    ) -> f64 {
        let mut slopes = [0.0; BLOCK];
        self.each_block(count, &at, true, z, |first, averages| {
            let slopes = &mut slopes[..averages.len()];
            for (b, (slope, average)) in slopes.iter_mut().zip(averages).enumerate() {
                *slope = factor(first + b) * average.slope;
            }
            self.basis().add_pull_back_at(|b| at(first + b), slopes, gradient);
        })
    }

    fn add_hessian_vector(
        &self,
        count: usize,
        at: impl Fn(usize) -> usize,
        scale: f64,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
    ) {
        let mut along = [0.0; BLOCK];
        self.each_block(count, &at, true, z, |first, averages| {
            let along = &mut along[..averages.len()];
            self.basis().multiply_at(|b| at(first + b), v, along);
            along.iter_mut().zip(averages).for_each(|(along, average)| *along *= scale * average.bend);
            self.basis().add_pull_back_at(|b| at(first + b), along, out);
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
            self.each_block(
                self.rows.len(),
                |n| n,
                false,
                draws.column(s),
                |first, averages| {
                    for (out, average) in out[first..].iter_mut().zip(averages) {
                        *out = numeric::log_sum_exp(&[*out, average.value]);
                    }
                },
            );
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
        self.each_block(
            self.rows.len(),
            |n| n,
            false,
            z,
            |first, averages| {
                self.basis().multiply_at(|b| first + b, z, &mut means[..averages.len()]);
                for (b, average) in averages.iter().enumerate() {
                    let (y, variance) = (self.process.datum(self.rows[first + b]), self.variance(first + b));
                    let width = ((1.0 - share) * variance).sqrt();
                    for (logs, places) in logs.chunks_mut(BLOCK).zip(places.chunks(BLOCK)) {
                        let (mut at, mut found) = ([0.0; BLOCK], [Average::default(); BLOCK]);
                        at.iter_mut().zip(places).for_each(|(at, x)| *at = means[b] + width * x);
                        likelihood.averages(
                            false,
                            |_| y,
                            &at[..places.len()],
                            |_| share * variance,
                            &mut found,
                        );
                        for ((log, x), average) in logs.iter_mut().zip(places).zip(found) {
                            *log = log_weight(*x) + average.value;
                        }
                    }
                    error += average.value - numeric::log_sum_exp(&logs);
                }
            },
        );
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
        let likelihood = self.each_block(self.rows.len(), |n| n, false, z, |_, _| ());
        decided(self.log_prior(z, work) + likelihood, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let name = if self.is_whitened() { "e" } else { "u" };
        out.vector(name, z.iter().copied());
    }
}

impl Gradient for SparsePosterior<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let prior = self.prior_gradient_into(z, gradient, work);
        let log_p = decided(prior + self.add_gradient(self.rows.len(), |n| n, |_| 1.0, z, gradient), z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
        }
        log_p
    }
}

impl Curvature for SparsePosterior<'_> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.prior_hessian_vector_into(z, v, out, work);
        self.add_hessian_vector(self.rows.len(), |n| n, 1.0, z, v, out);
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
        self.each_block(rows.len(), |b| rows[b], false, z, |_, _| ())
    }
}

impl Subsampled for SparsePosterior<'_> {
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let white = borrow(&mut work, z.len());
        self.whiten(z, white);
        let log_p = self.prior(white);
        self.precision(z, gradient, white);
        gradient.iter_mut().for_each(|g| *g = -*g);
        log_p
    }

    fn add_gradient_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) -> f64 {
        self.add_gradient(rows.len(), |b| rows[b], |_| scale, z, gradient)
    }

    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        self.precision(v, out, borrow(&mut work, v.len()));
        out.iter_mut().for_each(|out| *out = -*out);
    }

    fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        _: &mut [f64],
    ) {
        self.add_hessian_vector(rows.len(), |b| rows[b], scale, z, v, out);
    }
}
