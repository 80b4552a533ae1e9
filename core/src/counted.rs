//! Counters of evaluations of a target or a family.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use faer::{MatMut, MatRef};

use crate::{
    Curvature, Error, Family, Gradient, LogDensity, Parametric, Pull, Pushforward, Reparameterised,
    Separable, StepSizes, Stream, Subsampled,
};

/// Wrapper of a target or a family that counts its evaluations, one per point.
///
/// Costs of estimators are compared in evaluations, never in seconds alone. Counting changes no computed value.
///
/// ```
/// use mcsa_core::{Counted, LogDensity};
/// struct Flat;
/// impl LogDensity for Flat {
///     fn dim(&self) -> usize { 1 }
///     fn log_density(&self, _: &[f64], _: &mut [f64]) -> f64 { 0.0 }
/// }
/// let target = Counted::new(Flat);
/// target.log_densities(mcsa_core::batch(&[0.0; 5], 1, 5), &mut [0.0; 5], &mut []);
/// assert_eq!(target.counts().log_density, 5);
/// ```
#[derive(Debug, Default)]
pub struct Counted<T> {
    inner: T,
    log_density: AtomicU64,
    gradient: AtomicU64,
    hessian_vector: AtomicU64,
    terms: AtomicU64,
    log_prob: AtomicU64,
    sample: AtomicU64,
    score: AtomicU64,
    slope: AtomicU64,
}

/// Numbers of evaluations, by kind; a batch of `n` points counts `n`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Evaluations of the target's log density alone.
    pub log_density: u64,
    /// Evaluations of the target's gradient, each of which includes the log density.
    pub gradient: u64,
    /// Products of the target's Hessian with a vector.
    pub hessian_vector: u64,
    /// Likelihood terms of single data: values, gradients and products with Hessians, outside of the evaluations above.
    pub terms: u64,
    /// Evaluations of the family's log density.
    pub log_prob: u64,
    /// Draws from the family or, for reparameterised families, of its noise.
    pub sample: u64,
    /// Scores of the family, and pullbacks of gradients through its reparameterisation.
    pub score: u64,
    /// Gradients `d/dz log q` of the family's log density in z.
    pub slope: u64,
}

impl<T> Counted<T> {
    /// Wraps `inner`, with all counts zero.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            log_density: AtomicU64::new(0),
            gradient: AtomicU64::new(0),
            hessian_vector: AtomicU64::new(0),
            terms: AtomicU64::new(0),
            log_prob: AtomicU64::new(0),
            sample: AtomicU64::new(0),
            score: AtomicU64::new(0),
            slope: AtomicU64::new(0),
        }
    }

    /// The counts since construction or the last [`reset`](Self::reset).
    pub fn counts(&self) -> Counts {
        Counts {
            log_density: self.log_density.load(Relaxed),
            gradient: self.gradient.load(Relaxed),
            hessian_vector: self.hessian_vector.load(Relaxed),
            terms: self.terms.load(Relaxed),
            log_prob: self.log_prob.load(Relaxed),
            sample: self.sample.load(Relaxed),
            score: self.score.load(Relaxed),
            slope: self.slope.load(Relaxed),
        }
    }

    /// Sets all counts to zero.
    pub fn reset(&mut self) {
        for count in [
            &mut self.log_density,
            &mut self.gradient,
            &mut self.hessian_vector,
            &mut self.terms,
            &mut self.log_prob,
            &mut self.sample,
            &mut self.score,
            &mut self.slope,
        ] {
            *count.get_mut() = 0;
        }
    }

    /// Runs `look` and restores the counts from before it.
    ///
    /// For checks and measurements whose cost should not be attributed to a method. Evaluations by other threads during the call
    /// are not counted either.
    ///
    /// ```
    /// use mcsa_core::{Counted, LogDensity};
    /// # struct Flat;
    /// # impl LogDensity for Flat {
    /// #     fn dim(&self) -> usize { 1 }
    /// #     fn log_density(&self, _: &[f64], _: &mut [f64]) -> f64 { 0.0 }
    /// # }
    /// let target = Counted::new(Flat);
    /// target.log_density(&[0.0], &mut []);
    /// target.uncounted(|| target.log_density(&[1.0], &mut []));
    /// assert_eq!(target.counts().log_density, 1);
    /// ```
    pub fn uncounted<L>(&self, look: impl FnOnce() -> L) -> L {
        let before = self.counts();
        let seen = look();
        self.log_density.store(before.log_density, Relaxed);
        self.gradient.store(before.gradient, Relaxed);
        self.hessian_vector.store(before.hessian_vector, Relaxed);
        self.terms.store(before.terms, Relaxed);
        self.log_prob.store(before.log_prob, Relaxed);
        self.sample.store(before.sample, Relaxed);
        self.score.store(before.score, Relaxed);
        self.slope.store(before.slope, Relaxed);
        seen
    }

    /// The wrapped target or family.
    pub fn inner(&self) -> &T {
        &self.inner
    }
}

fn add(count: &AtomicU64, points: usize) {
    count.fetch_add(points as u64, Relaxed);
}

impl<P: LogDensity> LogDensity for Counted<P> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.inner.work_len(columns)
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        add(&self.log_density, 1);
        self.inner.log_density(z, work)
    }
    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        add(&self.log_density, z.ncols());
        self.inner.log_densities(z, out, work);
    }

    fn constrain(&self, z: &[f64], out: &mut Vec<(Cow<'static, str>, f64)>) {
        self.inner.constrain(z, out);
    }
}

impl<P: Gradient> Gradient for Counted<P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        add(&self.gradient, 1);
        self.inner.gradient_into(z, gradient, work)
    }
    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        add(&self.gradient, z.ncols());
        self.inner.gradients_into(z, out, gradients, work);
    }
}

impl<P: Curvature> Curvature for Counted<P> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        add(&self.hessian_vector, 1);
        self.inner.hessian_vector_into(z, v, out, work);
    }
}

impl<P: Separable> Separable for Counted<P> {
    fn num_data(&self) -> usize {
        self.inner.num_data()
    }
    fn log_prior(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.inner.log_prior(z, work)
    }
    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], work: &mut [f64]) -> f64 {
        add(&self.terms, rows.len());
        self.inner.log_likelihood_at(rows, z, work)
    }
}

impl<P: Subsampled> Subsampled for Counted<P> {
    fn rows_work_len(&self, rows: usize) -> usize {
        self.inner.rows_work_len(rows)
    }
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.inner.prior_gradient_into(z, gradient, work)
    }
    fn add_gradient_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) -> f64 {
        add(&self.terms, rows.len());
        self.inner.add_gradient_at(rows, scale, z, gradient, work)
    }
    fn prior_hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.inner.prior_hessian_vector_into(z, v, out, work);
    }
    fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        work: &mut [f64],
    ) {
        add(&self.terms, rows.len());
        self.inner.add_hessian_vector_at(rows, scale, z, v, out, work);
    }
}

impl<F: Parametric> Parametric for Counted<F> {
    fn config(&self) -> String {
        self.inner.config()
    }
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn num_params(&self) -> usize {
        self.inner.num_params()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.inner.work_len(columns)
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        self.inner.check(params)
    }
}

impl<F: Family> Family for Counted<F> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        add(&self.log_prob, z.ncols());
        self.inner.log_probs(params, z, log_q, work);
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        add(&self.sample, z.ncols());
        self.inner.sample_into(params, lanes, z, log_q, work);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        add(&self.score, z.ncols());
        self.inner.add_scores(params, z, weights, gradient, work);
    }
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        self.inner.reflect(params, z)
    }
}

impl<F: Reparameterised> Reparameterised for Counted<F> {
    fn noise_dim(&self) -> usize {
        self.inner.noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        add(&self.sample, noise.ncols());
        self.inner.sample_noise_into(lanes, noise);
    }
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]) {
        self.inner.transport(params, noise, z, work);
    }
    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        add(&self.score, noise.ncols());
        self.inner.add_pullbacks(params, noise, cotangents, gradient, work);
    }
    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        add(&self.slope, z.ncols());
        self.inner.add_slopes(params, z, weight, slopes, work);
    }
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        self.inner.entropy(params, work)
    }
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        self.inner.add_entropy_gradient(params, weight, gradient, work);
    }
}

/// A draw is counted when its noise is drawn. Its log density is not counted, as in [`Family::sample_into`].
impl<F: Pushforward> Pushforward for Counted<F> {
    fn noise_dim(&self) -> usize {
        self.inner.noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        add(&self.sample, noise.ncols());
        self.inner.sample_noise_into(lanes, noise);
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.inner.push(params, noise, z, log_q, work);
    }
    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        add(&self.score, noise.ncols());
        self.inner.add_push_gradients(params, noise, cotangents, weights, gradient, work);
    }
    fn retrace_into(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        lanes: &mut [Stream],
        noise: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        let is_drawn = self.inner.retrace_into(params, z, lanes, noise, log_q, work);
        add(&self.sample, if is_drawn { z.ncols() } else { 0 });
        is_drawn
    }
    fn push_and_add_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        cotangents: MatMut<'_, f64>,
        pull: &mut Pull<'_>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let mut pulled = false;
        let mut noting = |z: MatRef<'_, f64>, log_q: &mut [f64], cotangents: MatMut<'_, f64>| {
            pulled = pull(z, log_q, cotangents);
            pulled
        };
        self.inner.push_and_add_gradients(params, noise, z, log_q, cotangents, &mut noting, gradient, work);
        add(&self.score, if pulled { noise.ncols() } else { 0 });
    }
    fn step_sizes(&self, params: &[f64], work: &mut [f64]) -> StepSizes {
        self.inner.step_sizes(params, work)
    }
}
