//! Families with one alteration, for negative controls of the laws.

use faer::{MatMut, MatRef};
use mcsa_core::{Error, Family, Parametric, Pushforward, Reparameterised, Stream};

/// Counter of allocations, for the laws of memory.
pub(crate) fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

/// Changes of the results of a family `F`, each applied after the family's own method; by default none.
pub(crate) trait Alteration<F>: Send + Sync {
    /// Length of work that is claimed where `len` is needed.
    fn claimed(&self, len: usize) -> usize {
        len
    }
    /// Changes `log_q` of `log_probs`.
    fn densities(&self, _: &F, _params: &[f64], _z: MatRef<'_, f64>, _log_q: &mut [f64]) {}
    /// Changes draws and transported points; true if the log densities of draws are to be evaluated again.
    fn draws(&self, _params: &[f64], _z: MatMut<'_, f64>) -> bool {
        false
    }
    /// Changes the noise that is transported.
    fn noise(&self, _noise: MatMut<'_, f64>) {}
    /// Changes a sum of scores at `z`.
    fn scores(&self, _z: MatRef<'_, f64>, _weights: &[f64], _gradient: &mut [f64]) {}
    /// Changes the gradient of `push`.
    fn push_gradients(&self, _params: &[f64], _gradient: &mut [f64]) {}
    /// Changes `log_q` of `push`.
    fn pushed(&self, _: &F, _params: &[f64], _noise: MatRef<'_, f64>, _log_q: &mut [f64]) {}
}

/// A family and its alteration.
#[derive(Debug, Clone)]
pub(crate) struct Altered<F, A> {
    pub(crate) family: F,
    pub(crate) by: A,
}

impl<F: Parametric, A: Alteration<F>> Parametric for Altered<F, A> {
    fn dim(&self) -> usize {
        self.family.dim()
    }
    fn num_params(&self) -> usize {
        self.family.num_params()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.by.claimed(self.family.work_len(columns))
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        self.family.check(params)
    }
}

impl<F: Family, A: Alteration<F>> Family for Altered<F, A> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        self.family.log_probs(params, z, log_q, work);
        self.by.densities(&self.family, params, z, log_q);
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.family.sample_into(params, lanes, z.as_mut(), log_q, work);
        if self.by.draws(params, z.as_mut()) {
            self.log_probs(params, z.as_ref(), log_q, work);
        }
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.family.add_scores(params, z, weights, gradient, work);
        self.by.scores(z, weights, gradient);
    }
}

impl<F: Reparameterised, A: Alteration<F>> Reparameterised for Altered<F, A> {
    fn noise_dim(&self) -> usize {
        self.family.noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        self.family.sample_noise_into(lanes, noise.as_mut());
        self.by.noise(noise);
    }
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, mut z: MatMut<'_, f64>, work: &mut [f64]) {
        self.family.transport(params, noise, z.as_mut(), work);
        self.by.draws(params, z);
    }
    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.family.add_pullbacks(params, noise, cotangents, gradient, work);
    }
    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        self.family.add_slopes(params, z, weight, slopes, work);
    }
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        self.family.entropy(params, work)
    }
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        self.family.add_entropy_gradient(params, weight, gradient, work);
    }
}

impl<F: Pushforward, A: Alteration<F>> Pushforward for Altered<F, A> {
    fn noise_dim(&self) -> usize {
        self.family.noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        self.family.sample_noise_into(lanes, noise);
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.family.push(params, noise, z, log_q, work);
        self.by.pushed(&self.family, params, noise, log_q);
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
        self.family.add_push_gradients(params, noise, cotangents, weights, gradient, work);
        self.by.push_gradients(params, gradient);
    }
}
