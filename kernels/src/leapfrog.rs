//! Leapfrog integrator.

use mcsa_core::{Error, Gradient};
use serde::{Deserialize, Serialize};

use crate::Mass;

/// Energy error above which a trajectory counts as divergent: 1000, as in Stan.
pub(crate) const DIVERGENCE: f64 = 1000.0;

/// Leapfrog integrator of the Hamiltonian `H(z, p) = -log p(z) + p^T M^-1 p / 2`.
///
/// ```text
/// p <- p + (eps/2) grad log p(z),   z <- z + eps M^-1 p,   p <- p + (eps/2) grad log p(z)
/// ```
///
/// Reversible and volume-preserving at every step size (Neal 2011, section 2.3), so the acceptance probability depends on
/// `exp(-H)` alone. The energy error of a trajectory of fixed length is of order `eps^2`. On a Gaussian the integrator is
/// stable while `eps < 2 sigma_min` in units of the mass, and diverges beyond.
///
/// ```
/// use mcsa_kernels::{Leapfrog, Mass};
/// let leapfrog = Leapfrog::new(0.1, Mass::unit())?;
/// let target = mcsa_models::Gaussian::standard(1);
/// let (mut z, mut p, mut gradient) = ([1.0], [0.0], [-1.0]);
/// leapfrog.step(&target, 1.0, &mut z, &mut p, &mut gradient, &mut []);
/// assert!((z[0] - 0.1_f64.cos()).abs() < 1e-5);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Leapfrog {
    step_size: f64,
    mass: Mass,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    step_size: f64,
    #[serde(default)]
    mass: Mass,
}

impl TryFrom<Settings> for Leapfrog {
    type Error = Error;

    fn try_from(Settings { step_size, mass }: Settings) -> Result<Self, Error> {
        Self::new(step_size, mass)
    }
}

impl Leapfrog {
    /// An integrator with this step size and mass.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn new(step_size: f64, mass: Mass) -> Result<Self, Error> {
        if !(step_size > 0.0 && step_size.is_finite()) {
            return Err(Error::parameter("step_size", step_size, "positive and finite"));
        }
        Ok(Self { step_size, mass })
    }

    /// The step size `eps`.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }

    /// The mass `M`.
    pub fn mass(&self) -> &Mass {
        &self.mass
    }

    /// This integrator with another step size, and with another mass if one is given.
    pub(crate) fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error> {
        Self::new(step_size, mass.unwrap_or_else(|| self.mass.clone()))
    }

    /// One leapfrog step, forward for `direction` 1 and backward for -1. Returns the log density at the new point, or NaN
    /// if that point is not finite. On entry and on return, `gradient` is the gradient of the log density at `z`.
    pub fn step<P: Gradient + ?Sized>(
        &self,
        target: &P,
        direction: f64,
        z: &mut [f64],
        momentum: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) -> f64 {
        if !self.depart(direction, z, momentum, gradient) {
            return f64::NAN;
        }
        let log_p = target.gradient_into(z, gradient, work);
        self.arrive(direction, momentum, gradient);
        log_p
    }

    /// First half of a step: half kick and drift. Returns whether the new `z` is finite, so that the target can be
    /// evaluated there.
    pub(crate) fn depart(
        &self,
        direction: f64,
        z: &mut [f64],
        momentum: &mut [f64],
        gradient: &[f64],
    ) -> bool {
        self.arrive(direction, momentum, gradient);
        self.mass.drift(direction * self.step_size, momentum, z);
        z.iter().all(|z| z.is_finite())
    }

    /// Second half of a step: half kick with the gradient at the new point.
    pub(crate) fn arrive(&self, direction: f64, momentum: &mut [f64], gradient: &[f64]) {
        let time = 0.5 * direction * self.step_size;
        momentum.iter_mut().zip(gradient).for_each(|(p, g)| *p += time * g);
    }

    /// `H` at a point of known log density; `+inf` outside the support. NaN if a number is NaN or the density is `+inf`.
    pub(crate) fn energy(&self, log_p: f64, momentum: &[f64]) -> f64 {
        if log_p == f64::INFINITY { f64::NAN } else { self.mass.kinetic(momentum) - log_p }
    }
}

/// The energy of a starting state, with NaN replaced by `+inf`: such a chain moves to any state with a finite density.
pub(crate) fn start_energy(energy: f64) -> f64 {
    if energy.is_nan() { f64::INFINITY } else { energy }
}

/// The energy error against the start, for counting divergences; `-inf` for states outside the support, which do not count.
pub(crate) fn energy_error(start: f64, energy: f64, log_p: f64) -> f64 {
    let outside = log_p == f64::NEG_INFINITY || start == f64::INFINITY;
    if outside && !energy.is_nan() { f64::NEG_INFINITY } else { energy - start }
}

/// `min(1, exp(start - energy))`, and 0 for an energy that is not finite.
pub(crate) fn acceptance(start: f64, energy: f64) -> f64 {
    if energy.is_finite() { (start - energy).min(0.0).exp() } else { 0.0 }
}
