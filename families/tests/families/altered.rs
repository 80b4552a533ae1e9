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
    /// The parameters that `check` examines; `None` if it admits all.
    fn examined<'p>(&self, params: &'p [f64], _num_params: usize) -> Option<&'p [f64]> {
        Some(params)
    }
    /// Added to log densities, from a number that the lent memory held before the call.
    fn stale(&self, _before: f64) -> f64 {
        0.0
    }
    /// Changes `log_q` of `log_probs`.
    fn densities(&self, _: &F, _params: &[f64], _z: MatRef<'_, f64>, _log_q: &mut [f64]) {}
    /// Changes draws and transported points; true if the log densities of draws are to be evaluated again.
    fn draws(&self, _params: &[f64], _z: MatMut<'_, f64>) -> bool {
        false
    }
    /// Changes the log densities of draws.
    fn drawn(&self, _log_q: &mut [f64]) {}
    /// Changes the lanes of draws.
    fn lanes(&self, _: &mut [Stream]) {}
    /// Changes the image of a point.
    fn mirrored(&self, _: &mut [f64]) {}
    /// Changes the entropy.
    fn entropy(&self, entropy: f64) -> f64 {
        entropy
    }
    /// Factors of what is added to a gradient, and to slopes (the first of them); `None` if nothing changes.
    fn factors(&self, _params: &[f64]) -> Option<Vec<f64>> {
        None
    }
    /// True if sums replace the numbers to which they should be added.
    fn replaces(&self) -> bool {
        false
    }
    /// Factor of the weights of `log q` in the gradient of `push`.
    fn of_log_q(&self) -> f64 {
        1.0
    }
    /// Changes the noise that is transported.
    fn noise(&self, _noise: MatMut<'_, f64>) {}
    /// Changes a sum of scores at `z`.
    fn scores(&self, _z: MatRef<'_, f64>, _weights: &[f64], _gradient: &mut [f64]) {}
    /// Changes `log_q` of `push`.
    fn pushed(&self, _: &F, _params: &[f64], _noise: MatRef<'_, f64>, _log_q: &mut [f64]) {}
}

/// A family and its alteration.
#[derive(Debug, Clone)]
pub(crate) struct Altered<F, A> {
    pub(crate) family: F,
    pub(crate) by: A,
}

impl<F: Parametric, A: Alteration<F>> Altered<F, A> {
    /// Adds to a gradient, with the changes of sums.
    fn sum(&self, params: &[f64], gradient: &mut [f64], add: impl FnOnce(&mut [f64])) {
        if self.by.replaces() {
            gradient.fill(0.0);
        }
        let Some(factors) = self.by.factors(params) else { return add(gradient) };
        let before = gradient.to_vec();
        add(gradient);
        for ((gradient, before), factor) in gradient.iter_mut().zip(before).zip(factors) {
            *gradient = before + (*gradient - before) * factor;
        }
    }

    fn add_stale(&self, before: Option<f64>, log_q: &mut [f64]) {
        let stale = before.map_or(0.0, |before| self.by.stale(before));
        if stale != 0.0 {
            log_q.iter_mut().for_each(|log_q| *log_q += stale);
        }
    }
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
        self.by.examined(params, self.num_params()).map_or(Ok(()), |params| self.family.check(params))
    }
}

impl<F: Family, A: Alteration<F>> Family for Altered<F, A> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        let before = work.first().copied();
        self.family.log_probs(params, z, log_q, work);
        self.add_stale(before, log_q);
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
        self.by.lanes(lanes);
        self.family.sample_into(params, lanes, z.as_mut(), log_q, work);
        if self.by.draws(params, z.as_mut()) {
            self.log_probs(params, z.as_ref(), log_q, work);
        }
        self.by.drawn(log_q);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.sum(params, gradient, |sum| self.family.add_scores(params, z, weights, sum, work));
        self.by.scores(z, weights, gradient);
    }
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        let is_reflected = self.family.reflect(params, z);
        self.by.mirrored(z);
        is_reflected
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
        self.sum(params, gradient, |sum| self.family.add_pullbacks(params, noise, cotangents, sum, work));
    }
    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        if self.by.replaces() {
            slopes.fill(0.0);
        }
        let factor = self.by.factors(params).map_or(1.0, |factors| factors[0]);
        self.family.add_slopes(params, z, factor * weight, slopes, work);
    }
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        self.by.entropy(self.family.entropy(params, work))
    }
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        self.sum(params, gradient, |sum| self.family.add_entropy_gradient(params, weight, sum, work));
    }
}

impl<F: Pushforward, A: Alteration<F>> Pushforward for Altered<F, A> {
    fn noise_dim(&self) -> usize {
        self.family.noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        self.by.lanes(lanes);
        self.family.sample_noise_into(lanes, noise.as_mut());
        self.by.noise(noise);
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        let before = work.first().copied();
        self.family.push(params, noise, z, log_q, work);
        self.add_stale(before, log_q);
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
        let scaled: Vec<f64>;
        let weights = match self.by.of_log_q() {
            1.0 => weights,
            factor => {
                scaled = weights.iter().map(|weight| factor * weight).collect();
                &scaled
            }
        };
        self.sum(params, gradient, |sum| {
            self.family.add_push_gradients(params, noise, cotangents, weights, sum, work);
        });
    }
}
