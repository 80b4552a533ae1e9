//! Surrogate posteriors: the density that guides an annealed path, with learned parameters.

/// Surrogate posterior `g(z; psi) = log p(z) + log surrogate likelihood(z; psi)`, up to a constant, with parameters psi.
///
/// An annealed path follows its gradient, and the reverse sweep needs products with its second derivatives (SL-DAIS, Sec. 4). The
/// full log likelihood is a surrogate without parameters, that of a minibatch one which draws its rows from the noise.
///
/// A path prepares a `memory` once and calls the other methods once per step. `psi` is unconstrained: the surrogate maps it, and
/// derivatives are with respect to it.
pub trait Surrogate: Send + Sync {
    /// The dimension of z.
    fn dim(&self) -> usize;

    /// The length of psi.
    fn num_params(&self) -> usize;

    /// Number of standard normal numbers of each path that the surrogate itself consumes.
    fn noise_dim(&self) -> usize {
        0
    }

    /// Length of `memory`: everything that is computed once per path from psi and noise.
    fn memory_len(&self) -> usize {
        0
    }

    /// Length of the slice `tape` in which a step keeps what its reverse sweep can use again.
    fn tape_len(&self) -> usize {
        0
    }

    /// Length of the slice `work` that any method needs.
    fn work_len(&self) -> usize {
        0
    }

    /// Text of the configuration; a checkpoint stores it.
    fn config(&self) -> String {
        mcsa_core::type_name::<Self>()
    }

    /// Computes `memory` from psi and from the surrogate's own noise.
    fn prepare(&self, psi: &[f64], noise: &[f64], memory: &mut [f64]) {
        let _ = (psi, noise, memory);
    }

    /// Writes `dg/dz`, and to `tape` what [`add_second`](Self::add_second) at the same point can use again.
    fn gradient_into(
        &self,
        psi: &[f64],
        memory: &[f64],
        z: &[f64],
        gradient: &mut [f64],
        tape: &mut [f64],
        work: &mut [f64],
    );

    /// `product += scale * (d^2 g / dz^2) u`, and `psi_bar += scale * d/dpsi [u . dg/dz]`.
    #[expect(
        clippy::too_many_arguments,
        reason = "parameters, two memories, point, direction, factor, two results, scratch"
    )]
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
    );
}
