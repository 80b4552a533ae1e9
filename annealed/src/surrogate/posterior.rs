use crate::Surrogate;
use mcsa_core::{Curvature, borrow, numeric};

/// Posterior itself as the surrogate, without parameters: differentiable annealed importance sampling (DAIS).
///
/// ```
/// use mcsa_annealed::{Surrogate, surrogate::PosteriorSurrogate};
/// use mcsa_models::Gaussian;
/// let surrogate = PosteriorSurrogate(Gaussian::standard(2));
/// let mut work = vec![0.0; surrogate.work_len()];
/// let mut gradient = [0.0; 2];
/// surrogate.gradient_into(&[], &[], &[1.0, -2.0], &mut gradient, &mut [], &mut work);
/// assert_eq!(gradient, [-1.0, 2.0]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PosteriorSurrogate<P>(pub P);

impl<P: Curvature> Surrogate for PosteriorSurrogate<P> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn num_params(&self) -> usize {
        0
    }

    fn work_len(&self) -> usize {
        self.0.dim() + self.0.work_len(1)
    }

    fn gradient_into(
        &self,
        _: &[f64],
        _: &[f64],
        z: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
        work: &mut [f64],
    ) {
        self.0.gradient_into(z, gradient, work);
    }

    fn add_second(
        &self,
        _: &[f64],
        _: &[f64],
        _: &[f64],
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        _: &mut [f64],
        mut work: &mut [f64],
    ) {
        let along = borrow(&mut work, u.len());
        self.0.hessian_vector_into(z, u, along, work);
        numeric::axpy(scale, along, product);
    }
}
