//! Counted families.

use faer::{MatMut, MatRef};

use super::counter::{Counted, Evaluation};
use crate::{Error, Family, Parametric, Pull, Pushforward, Reparameterised, StepSizes, Stream};

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
        self.add(Evaluation::LogProb, z.ncols());
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
        self.add(Evaluation::Sample, z.ncols());
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
        self.add(Evaluation::Score, z.ncols());
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
        self.add(Evaluation::Sample, noise.ncols());
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
        self.add(Evaluation::Score, noise.ncols());
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
        self.add(Evaluation::Slope, z.ncols());
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
        self.add(Evaluation::Sample, noise.ncols());
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
        self.add(Evaluation::Score, noise.ncols());
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
        self.add(Evaluation::Sample, if is_drawn { z.ncols() } else { 0 });
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
        self.add(Evaluation::Score, if pulled { noise.ncols() } else { 0 });
    }
    fn step_sizes(&self, params: &[f64], work: &mut [f64]) -> StepSizes {
        self.inner.step_sizes(params, work)
    }
}
