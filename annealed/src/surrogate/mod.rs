//! Surrogate posteriors, the densities that guide annealed paths, and the points and weights that they start from.
//!
//! | surrogate | log likelihood | parameters |
//! |---|---|---|
//! | [`SubsetSurrogate`] | weighted sum over a few data, of any factorised likelihood | weights |
//! | [`LogisticSurrogate`] | weighted sum over a few points | weights, covariates |
//! | [`NeuralSurrogate`] | network of two hidden layers | its weights |
//! | [`QuadraticSurrogate`] | `a . z - z^T B z / 2` | a, B |
//! | [`PosteriorSurrogate`] | that of the target: DAIS | none |
//! | [`MinibatchSurrogate`] | that of rows drawn once per path: NS-DAIS | none |
//!
//! [`LogisticSurrogate`] has one constructor for each ansatz of (SL-DAIS, Sec. 4) but the network. [`Coreset`], [`sensitivities`]
//! and [`Clusters`] choose points, and can be used alone.

mod coreset;
mod logistic;
mod minibatch;
mod neural;
mod quadratic;
mod subset;

pub use coreset::{Clusters, Coreset, seed_clusters, sensitivities};
pub use logistic::LogisticSurrogate;
use mcsa_core::{Counted, Curvature, Evaluation, borrow, numeric};
pub use minibatch::MinibatchSurrogate;
pub use neural::NeuralSurrogate;
pub use quadratic::QuadraticSurrogate;
pub use subset::SubsetSurrogate;

/// Surrogate posterior `g(z; psi) = log p(z) + log surrogate likelihood(z; psi)`, up to a constant, with parameters psi.
///
/// An annealed path follows its gradient, and the reverse sweep needs products with its second derivatives (SL-DAIS, Sec. 4). The
/// full log likelihood is a surrogate without parameters. The log likelihood of a minibatch is a surrogate whose rows are a
/// function of the noise of the path.
///
/// A path prepares a `memory` once and calls the other methods once per step. `psi` is unconstrained: the surrogate maps it, and
/// derivatives are with respect to it.
pub trait Surrogate: Send + Sync {
    /// Dimensions, and lengths of the memory that methods are lent.
    fn sizes(&self) -> Sizes;

    /// Text of the configuration; a checkpoint stores it.
    fn config(&self) -> String {
        mcsa_core::type_name::<Self>()
    }

    /// Computes `memory` from psi and from the surrogate's own noise.
    fn prepare(&self, psi: &[f64], noise: &[f64], memory: &mut [f64]) {
        let _ = (psi, noise, memory);
    }

    /// Writes `dg/dz`, and to `tape` what [`add_second`](Self::add_second) at the same point can use again.
    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], tape: &mut [f64], work: &mut [f64]);

    /// `product += scale * (d^2 g / dz^2) u`, and `psi_bar += scale * d/dpsi [u . dg/dz]`.
    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], work: &mut [f64]);
}

/// Dimensions of a [`Surrogate`], and lengths of the memory that it is lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// The dimension of z.
    pub dim: usize,
    /// The length of psi.
    pub params: usize,
    /// Number of standard normal numbers of each path that the surrogate itself consumes.
    pub noise: usize,
    /// Length of `memory`: everything that is computed once per path from psi and noise.
    pub memory: usize,
    /// Length of the slice `tape` in which a step keeps what its reverse sweep can use again.
    pub tape: usize,
    /// Length of the slice `work` that any method needs.
    pub work: usize,
}

/// Point z of a path, with psi and the memory that [`Surrogate::prepare`] has computed for the path.
#[derive(Debug, Clone, Copy)]
pub struct PathPoint<'a> {
    /// Parameters of the surrogate.
    pub psi: &'a [f64],
    /// Memory of the path.
    pub memory: &'a [f64],
    /// The point.
    pub z: &'a [f64],
}

/// Direction of a second derivative, at a point whose gradient is known.
#[derive(Debug, Clone, Copy)]
pub struct Along<'a> {
    /// The point.
    pub at: PathPoint<'a>,
    /// The tape that [`Surrogate::gradient_into`] has written at this point.
    pub tape: &'a [f64],
    /// Direction `u`, a vector of the dimension of z.
    pub u: &'a [f64],
    /// Factor of both derivatives that [`Surrogate::add_second`] adds.
    pub scale: f64,
}

/// Gradients and products with second derivatives are counted as those of a target.
impl<S: Surrogate> Surrogate for Counted<S> {
    fn sizes(&self) -> Sizes {
        self.inner().sizes()
    }
    fn config(&self) -> String {
        self.inner().config()
    }
    fn prepare(&self, psi: &[f64], noise: &[f64], memory: &mut [f64]) {
        self.inner().prepare(psi, noise, memory);
    }
    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], tape: &mut [f64], work: &mut [f64]) {
        self.add(Evaluation::Gradient, 1);
        self.inner().gradient_into(at, gradient, tape, work);
    }
    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], work: &mut [f64]) {
        self.add(Evaluation::HessianVector, 1);
        self.inner().add_second(along, product, psi_bar, work);
    }
}

/// Posterior itself as the surrogate, without parameters: differentiable annealed importance sampling (DAIS).
///
/// ```
/// use mcsa_annealed::surrogate::{PathPoint, PosteriorSurrogate, Surrogate};
/// use mcsa_models::Gaussian;
/// let surrogate = PosteriorSurrogate(Gaussian::standard(2));
/// let mut work = vec![0.0; surrogate.sizes().work];
/// let mut gradient = [0.0; 2];
/// let at = PathPoint { psi: &[], memory: &[], z: &[1.0, -2.0] };
/// surrogate.gradient_into(at, &mut gradient, &mut [], &mut work);
/// assert_eq!(gradient, [-1.0, 2.0]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PosteriorSurrogate<P>(pub P);

impl<P: Curvature> Surrogate for PosteriorSurrogate<P> {
    fn sizes(&self) -> Sizes {
        let dim = self.0.dim();
        Sizes { dim, work: dim + self.0.work_len(1), ..Sizes::default() }
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], work: &mut [f64]) {
        self.0.gradient_into(at.z, gradient, work);
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], _: &mut [f64], mut work: &mut [f64]) {
        let Along { at: PathPoint { z, .. }, u, scale, .. } = along;
        let along = borrow(&mut work, u.len());
        self.0.hessian_vector_into(z, u, along, work);
        numeric::axpy(scale, along, product);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Counts;
    use mcsa_models::Gaussian;

    #[test]
    fn surrogates_are_counted_by_the_call() {
        let guide = Counted::new(PosteriorSurrogate(Gaussian::standard(1)));
        let (mut gradient, mut product, mut work) = ([0.0], [1.0], vec![0.0; guide.sizes().work]);
        let at = |z| PathPoint { psi: &[], memory: &[], z };
        guide.gradient_into(at(&[2.0]), &mut gradient, &mut [], &mut work);
        guide.gradient_into(at(&[3.0]), &mut gradient, &mut [], &mut work);
        let along = Along { at: at(&[2.0]), tape: &[], u: &[4.0], scale: 0.5 };
        guide.add_second(along, &mut product, &mut [], &mut work);
        assert_eq!((gradient, product), ([-3.0], [-1.0]));
        assert_eq!(guide.counts(), Counts { gradient: 2, hessian_vector: 1, ..Counts::default() });
    }
}
