//! What learns the constants of a kernel before it is used.
//!
//! A kernel is a fixed config and exactly invariant. Adaptation breaks that, so it is a thing apart: a state
//! that learns from steps and makes new kernels, and is thrown away when the last kernel is made.

mod diagonal_mass;
mod dual_averaging;
mod warm_up;
mod window;

use mcsa::Error;

pub use self::diagonal_mass::DiagonalMass;
pub use self::dual_averaging::{DualAveraging, StepSize};
pub use self::warm_up::warm_up;
pub use self::window::{Adaptation, WindowAdaptation};
use crate::Mass;

/// A kernel whose step size and mass can be learnt.
///
/// ```
/// use mcsa_kernels::{Hmc, Tunable};
/// let hmc = Hmc::new(0.1, 8)?.tuned(0.2, None)?;
/// assert_eq!((hmc.step_size(), hmc.steps()), (0.2, 8));
/// # Ok::<(), mcsa::Error>(())
/// ```
pub trait Tunable: Sized {
    /// The present step size, or scale.
    fn step_size(&self) -> f64;

    /// The same kernel with another step size, and another mass if one has been learnt.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error>;
}

/// A record of a step that knows how likely its proposals were to be accepted.
pub trait Accepts {
    /// The mean acceptance probability, in `0..=1`.
    fn acceptance(&self) -> f64;
}
