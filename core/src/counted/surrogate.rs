//! Counted surrogates.

use super::counter::{Counted, Kind};
use crate::Surrogate;

/// Gradients and products with second derivatives are counted as those of a target.
impl<S: Surrogate> Surrogate for Counted<S> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn num_params(&self) -> usize {
        self.inner.num_params()
    }
    fn noise_dim(&self) -> usize {
        self.inner.noise_dim()
    }
    fn memory_len(&self) -> usize {
        self.inner.memory_len()
    }
    fn tape_len(&self) -> usize {
        self.inner.tape_len()
    }
    fn work_len(&self) -> usize {
        self.inner.work_len()
    }
    fn config(&self) -> String {
        self.inner.config()
    }
    fn prepare(&self, psi: &[f64], noise: &[f64], memory: &mut [f64]) {
        self.inner.prepare(psi, noise, memory);
    }
    fn gradient_into(
        &self,
        psi: &[f64],
        memory: &[f64],
        z: &[f64],
        gradient: &mut [f64],
        tape: &mut [f64],
        work: &mut [f64],
    ) {
        self.add(Kind::Gradient, 1);
        self.inner.gradient_into(psi, memory, z, gradient, tape, work);
    }
    fn add_second(
        &self,
        psi: &[f64],
        memory: &[f64],
        tape: &[f64],
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        psi_bar: &mut [f64],
        work: &mut [f64],
    ) {
        self.add(Kind::HessianVector, 1);
        self.inner.add_second(psi, memory, tape, z, u, scale, product, psi_bar, work);
    }
}
