//! Target densities and their gradients: unnormalised log densities on unconstrained space, separable ones and minibatches.

use faer::{MatMut, MatRef};

use crate::{Columns, ColumnsMut, Error, Named, Stream};

/// Target density: an unnormalised log density on `R^d`.
///
/// A model with constrained parameters maps `R^d` to its own space and adds the log-Jacobian of the map.
/// `-inf` means outside the support; NaN is a fault of the model, which kernels reject and count. Methods for batches panic if the
/// shapes differ.
///
/// ```
/// use mcsa_core::LogDensity;
/// struct Standard(usize);
/// impl LogDensity for Standard {
///     fn dim(&self) -> usize { self.0 }
///     fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
///         -0.5 * z.iter().map(|x| x * x).sum::<f64>()
///     }
/// }
/// assert_eq!(Standard(2).log_density(&[1.0, 1.0], &mut []), -1.0);
/// ```
pub trait LogDensity: Send + Sync {
    /// The dimension `d`.
    fn dim(&self) -> usize;

    /// Length of the slice `work` that any method needs for a batch of `columns` columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// `log p(z)` up to a constant.
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64;

    /// `log p` of each column of `z`, written to `out`. Override it if a matrix product makes a batch faster.
    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.log_density(z.column(j), work);
        }
    }

    /// True if the target itself divides the rows of its data among the current threads. [`AllCores`](crate::AllCores) then does
    /// not divide its batches.
    fn shares_rows(&self) -> bool {
        false
    }

    /// Appends the name and the value of each parameter, on its constrained scale, for reports: `("sigma", exp(z[0]))`. By default
    /// the coordinates `z[i]`.
    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.vector("z", z.iter().copied());
    }

    /// The prior as a density of the same coordinates, if it is known separately. `log p` minus the log density of the prior is
    /// the log likelihood.
    fn prior(&self) -> Option<&dyn ExactDraws> {
        None
    }
}

/// Target with a gradient.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no gradient",
    label = "this target has no gradient",
    note = "`mcsa::fit_density` fits by the log density alone; `from_fn(..).with_gradient(..)` or `Bounded` adds a gradient"
)]
pub trait Gradient: LogDensity {
    /// Writes `d/dz log p(z)` and returns `log p(z)`.
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64;

    /// Gradient and `log p` of each column of `z`, written to `gradients` and `out`. Override it if a matrix product makes a batch
    /// faster.
    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        assert_eq!(z.ncols(), gradients.ncols(), "a gradient per column");
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.gradient_into(z.column(j), gradients.column_mut(j), work);
        }
    }
}

/// Target with Hessian-vector products; the Hessian itself is never formed.
pub trait Curvature: Gradient {
    /// Writes `(d^2/dz^2 log p(z)) v`.
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]);
}

/// Target with independent exact draws, for ground truth.
pub trait ExactDraws: LogDensity {
    /// Draws a point from the target, to `z`.
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]);
}

/// Target density from a closure: `log p(z) = f(z)`, up to a constant.
///
/// [`with_gradient`](Self::with_gradient) adds a gradient, which kernels such as HMC need. A type of one's own that implements
/// [`LogDensity`] can also evaluate batches faster and use lent memory.
///
/// ```
/// use mcsa_core::{Gradient, LogDensity, from_fn};
/// let target = from_fn(2, |z| -0.5 * (z[0] * z[0] + z[1] * z[1]));
/// assert_eq!(target.log_density(&[1.0, 2.0], &mut []), -2.5);
///
/// let target = target.with_gradient(|z, gradient| {
///     gradient[0] = -z[0];
///     gradient[1] = -z[1];
/// });
/// let mut gradient = [0.0; 2];
/// assert_eq!(target.gradient_into(&[1.0, 2.0], &mut gradient, &mut []), -2.5);
/// assert_eq!(gradient, [-1.0, -2.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromFn<F, G = ()> {
    dim: usize,
    log_density: F,
    gradient: G,
}

/// Target density on `R^dim` from a closure that returns `log p(z)` up to a constant: `-inf` outside the support, never NaN.
/// [`with_gradient`](FromFn::with_gradient) adds a gradient.
///
/// ```
/// use mcsa_core::{LogDensity, from_fn};
/// let target = from_fn(1, |z| -0.5 * z[0] * z[0]);
/// assert_eq!(target.log_density(&[2.0], &mut []), -2.0);
/// ```
pub fn from_fn<F: Fn(&[f64]) -> f64 + Send + Sync>(dim: usize, log_density: F) -> FromFn<F> {
    FromFn { dim, log_density, gradient: () }
}

impl<F> FromFn<F> {
    /// The same density with a closure that writes its gradient `d/dz log p(z)`.
    pub fn with_gradient<G: Fn(&[f64], &mut [f64]) + Send + Sync>(
        self,
        gradient: G,
    ) -> FromFn<F, WithGradient<G>> {
        FromFn { dim: self.dim, log_density: self.log_density, gradient: WithGradient(gradient) }
    }
}

impl<F: Fn(&[f64]) -> f64 + Send + Sync, G: Send + Sync> LogDensity for FromFn<F, G> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        (self.log_density)(z)
    }
}

/// Closure that writes a gradient: a type of its own, so that a target without one is no [`Gradient`] for any bound on closures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithGradient<G>(G);

impl<F, G> Gradient for FromFn<F, WithGradient<G>>
where
    F: Fn(&[f64]) -> f64 + Send + Sync,
    G: Fn(&[f64], &mut [f64]) + Send + Sync,
{
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        (self.gradient.0)(z, gradient);
        (self.log_density)(z)
    }
}

/// Target with a prior and one likelihood term per datum, `log p(z) = log_prior(z) + sum_i log_likelihood_at([i], z)`. Methods panic if
/// a row is not less than [`num_data`](Self::num_data).
pub trait Separable: LogDensity {
    /// The number of data.
    fn num_data(&self) -> usize;

    /// The log prior: the term that depends on no datum.
    fn log_prior(&self, z: &[f64], work: &mut [f64]) -> f64;

    /// Log likelihood of the data in `rows`; a row listed twice counts twice.
    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], work: &mut [f64]) -> f64;
}

/// Rows of the data, and a factor of the sum of their terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part<'a> {
    /// The rows; one that is listed twice counts twice.
    pub rows: &'a [usize],
    /// The factor.
    pub scale: f64,
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

    /// `gradient += scale * d/dz sum_{i in rows} l_i(z)`; returns the sum `sum_{i in rows} l_i(z)`, not scaled.
    fn add_gradient_at(&self, part: Part<'_>, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64;

    /// Writes `(d^2/dz^2 log_prior(z)) v`.
    fn prior_hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]);

    /// `out += scale * (d^2/dz^2 sum_{i in rows} l_i(z)) v`.
    fn add_hessian_vector_at(&self, part: Part<'_>, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]);

    /// Writes the gradients `d/dz l_i(z)` of the data in `rows`, one after another. `work` has the length for one row.
    ///
    /// Override this method, and [`add_weighted_hessian_vector_at`](Self::add_weighted_hessian_vector_at), if one pass over all
    /// rows is faster.
    fn gradients_at(&self, rows: &[usize], z: &[f64], gradients: &mut [f64], work: &mut [f64]) {
        gradients.fill(0.0);
        for (rows, gradient) in rows.chunks_exact(1).zip(gradients.chunks_exact_mut(z.len())) {
            self.add_gradient_at(Part { rows, scale: 1.0 }, z, gradient, work);
        }
    }

    /// `out += sum_{i in rows} weights_i (d^2/dz^2 l_i(z)) v`; `work` serves one row.
    fn add_weighted_hessian_vector_at(
        &self,
        rows: &[usize],
        weights: &[f64],
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        work: &mut [f64],
    ) {
        for (rows, &scale) in rows.chunks_exact(1).zip(weights) {
            self.add_hessian_vector_at(Part { rows, scale }, z, v, out, work);
        }
    }
}

/// Minibatch of a separable target, `log_prior(z) + N/B sum_{i in rows} l_i(z)` with B rows of N data.
///
/// For rows drawn uniformly its value and its derivatives are unbiased estimates of those of the target.
#[derive(Debug, Clone, Copy)]
pub struct Minibatch<'a, P: ?Sized> {
    target: &'a P,
    part: Part<'a>,
}

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
        Ok(Self { target, part: Part { rows, scale: data as f64 / rows.len() as f64 } })
    }

    /// The rows.
    pub fn rows(&self) -> &'a [usize] {
        self.part.rows
    }
}

impl<P: Subsampled + ?Sized> LogDensity for Minibatch<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.target.rows_work_len(self.part.rows.len())
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let Part { rows, scale } = self.part;
        self.target.log_prior(z, work) + scale * self.target.log_likelihood_at(rows, z, work)
    }
}

impl<P: Subsampled + ?Sized> Gradient for Minibatch<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let prior = self.target.prior_gradient_into(z, gradient, work);
        prior + self.part.scale * self.target.add_gradient_at(self.part, z, gradient, work)
    }
}

impl<P: Subsampled + ?Sized> Curvature for Minibatch<'_, P> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.target.prior_hessian_vector_into(z, v, out, work);
        self.target.add_hessian_vector_at(self.part, z, v, out, work);
    }
}
