//! Counted surrogates.

use mcsa_core::{Counted, Evaluation};

use super::Surrogate;

/// Gradients and products with second derivatives are counted as those of a target.
impl<S: Surrogate> Surrogate for Counted<S> {
    fn dim(&self) -> usize {
        self.inner().dim()
    }
    fn num_params(&self) -> usize {
        self.inner().num_params()
    }
    fn noise_dim(&self) -> usize {
        self.inner().noise_dim()
    }
    fn memory_len(&self) -> usize {
        self.inner().memory_len()
    }
    fn tape_len(&self) -> usize {
        self.inner().tape_len()
    }
    fn work_len(&self) -> usize {
        self.inner().work_len()
    }
    fn config(&self) -> String {
        self.inner().config()
    }
    fn prepare(&self, psi: &[f64], noise: &[f64], memory: &mut [f64]) {
        self.inner().prepare(psi, noise, memory);
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
        self.add(Evaluation::Gradient, 1);
        self.inner().gradient_into(psi, memory, z, gradient, tape, work);
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
        self.add(Evaluation::HessianVector, 1);
        self.inner().add_second(psi, memory, tape, z, u, scale, product, psi_bar, work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Counts;

    /// The surrogate `-z^2 / 2`.
    struct Guide;

    impl Surrogate for Guide {
        fn dim(&self) -> usize {
            1
        }
        fn num_params(&self) -> usize {
            0
        }
        fn gradient_into(
            &self,
            _: &[f64],
            _: &[f64],
            z: &[f64],
            out: &mut [f64],
            _: &mut [f64],
            _: &mut [f64],
        ) {
            out[0] = -z[0];
        }
        fn add_second(
            &self,
            _: &[f64],
            _: &[f64],
            _: &[f64],
            _: &[f64],
            u: &[f64],
            scale: f64,
            product: &mut [f64],
            _: &mut [f64],
            _: &mut [f64],
        ) {
            product[0] -= scale * u[0];
        }
    }

    #[test]
    fn surrogates_are_counted_by_the_call() {
        let (guide, mut gradient, mut product) = (Counted::new(Guide), [0.0], [1.0]);
        guide.gradient_into(&[], &[], &[2.0], &mut gradient, &mut [], &mut []);
        guide.gradient_into(&[], &[], &[3.0], &mut gradient, &mut [], &mut []);
        guide.add_second(&[], &[], &[], &[2.0], &[4.0], 0.5, &mut product, &mut [], &mut []);
        assert_eq!((gradient, product), ([-3.0], [-1.0]));
        assert_eq!(guide.counts(), Counts { gradient: 2, hessian_vector: 1, ..Counts::default() });
    }
}
