//! Adaptation of step size and mass during a warm-up.
//!
//! A kernel has a fixed config and is exactly invariant; a kernel that adapts while it runs is not. Adaptation is therefore
//! separate: a state that learns from the steps of a warm-up and yields new kernels, and is discarded once the final kernel
//! is made.

mod diagonal_mass;
mod dual_averaging;
mod warm_up;
mod window;

use mcsa_core::{Error, Metric};

pub use self::diagonal_mass::DiagonalMass;
pub use self::dual_averaging::{DualAveraging, StepSize};
pub use self::warm_up::warm_up;
pub use self::window::{Adaptation, WindowAdaptation};
use crate::{Mass, Tally};

/// Kernel with a step size and a mass that can be tuned.
///
/// ```
/// use mcsa_kernels::{Hmc, Tunable};
/// let hmc = Hmc::new(0.1, 8)?.tuned(0.2, None)?;
/// assert_eq!((hmc.step_size(), hmc.steps()), (0.2, 8));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub trait Tunable: Sized {
    /// The step size, or the scale of a random walk.
    fn step_size(&self) -> f64;

    /// This kernel with another step size, and with another mass if one is given.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error>;
}

/// Step record that holds an acceptance probability.
pub trait Accepts {
    /// The mean acceptance probability, in `0..=1`.
    fn acceptance(&self) -> f64;
}

/// The mean acceptance probability of the parts that recorded one; NaN if none did.
impl Accepts for Tally {
    fn acceptance(&self) -> f64 {
        self.value(Metric::ACCEPTANCE).unwrap_or(f64::NAN)
    }
}
