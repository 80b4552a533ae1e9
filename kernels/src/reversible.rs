//! Reversible kernels: those in detailed balance with their target.

/// Kernel in detailed balance with every target p, `p(z) K(z, dy) = p(y) K(y, dz)`, at a fixed proposal.
///
/// [`DelayedAcceptance`](crate::DelayedAcceptance) needs it of its inner kernel. Several sweeps of one reversible kernel are reversible:
///
/// ```
/// use mcsa_core::Kernel;
/// use mcsa_kernels::{Cis, DelayedAcceptance, Repeat};
/// let (target, surrogate) = (mcsa_models::Gaussian::standard(1), mcsa_models::Gaussian::standard(1));
/// let inner = Repeat { kernel: Cis::with_fresh(4), times: 3 };
/// DelayedAcceptance { inner, surrogate }.init(&target, faer::Mat::zeros(1, 1))?;
/// # Ok::<(), mcsa_core::Error>(())
/// ```
///
/// One kernel after another in general is not, so this does not compile:
///
/// ```compile_fail,E0277
/// use mcsa_core::Kernel;
/// use mcsa_kernels::{Cis, Cycle, DelayedAcceptance, Imh};
/// let (target, surrogate) = (mcsa_models::Gaussian::standard(1), mcsa_models::Gaussian::standard(1));
/// let inner = Cycle { first: Imh::default(), second: Cis::with_fresh(4) };
/// Kernel::init(&DelayedAcceptance { inner, surrogate }, &target, faer::Mat::zeros(1, 1))?;
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub trait Reversible {}
