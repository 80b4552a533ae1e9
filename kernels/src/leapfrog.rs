//! Leapfrog integrator, its diagonal mass, and what the kernels of leapfrog trajectories have in common.

use faer::Mat;
use mcsa_core::{ChainState, Ensemble, Error, Gradient, Stream, bits, positive, same_length};
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, PartialEq)]
pub struct Leapfrog {
    step_size: f64,
    mass: Mass,
}

impl Leapfrog {
    /// An integrator with this step size and mass.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn new(step_size: f64, mass: Mass) -> Result<Self, Error> {
        positive("step_size", step_size).map(|()| Self { step_size, mass })
    }

    /// The step size `eps`.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }

    /// The mass `M`.
    pub fn mass(&self) -> &Mass {
        &self.mass
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

/// Diagonal mass matrix M of Hamiltonian dynamics; a larger mass slows its coordinate down.
///
/// ```text
/// p ~ N(0, M),   kinetic energy p^T M^-1 p / 2,   velocity M^-1 p,   M = diag(masses)
/// ```
///
/// The best diagonal mass is the inverse of the marginal variances (Neal 2011, section 4.1; Betancourt 2017, section 4.2):
/// then one step size suits all coordinates. The unit mass fits every dimension.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mass {
    masses: Vec<f64>,
    inverses: Vec<f64>,
    pub(crate) roots: Vec<f64>,
}

impl Mass {
    /// The unit mass, for any dimension.
    pub fn unit() -> Self {
        Self::default()
    }

    /// A mass per coordinate; the empty vector is the unit mass.
    ///
    /// # Errors
    /// If a mass or its inverse is not positive and finite.
    pub fn diagonal(masses: Vec<f64>) -> Result<Self, Error> {
        let inverses: Vec<f64> = masses.iter().map(|m| 1.0 / m).collect();
        for (&mass, &inverse) in masses.iter().zip(&inverses) {
            if !(mass > 0.0 && mass.is_finite() && inverse.is_finite()) {
                return Err(
                    Error::parameter("mass", mass, "positive and finite, as its inverse").within("Mass")
                );
            }
        }
        let roots = masses.iter().map(|m| m.sqrt()).collect();
        Ok(Self { masses, inverses, roots })
    }

    /// The masses; empty for the unit mass.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Checks that the mass fits a system of `dim` coordinates.
    ///
    /// # Errors
    /// If the number of masses differs from `dim` and the mass is not the unit mass.
    pub fn check(&self, dim: usize) -> Result<(), Error> {
        if self.masses.is_empty() { Ok(()) } else { same_length("mass", dim, self.masses.len()) }
    }

    /// Draws a momentum from `N(0, M)`.
    pub fn momentum_into(&self, lane: &mut Stream, momentum: &mut [f64]) {
        lane.normals_into(momentum);
        momentum.iter_mut().zip(&self.roots).for_each(|(p, root)| *p *= root);
    }

    /// Kinetic energy `p^T M^-1 p / 2`.
    pub fn kinetic(&self, momentum: &[f64]) -> f64 {
        if self.inverses.is_empty() {
            return 0.5 * momentum.iter().map(|p| p * p).sum::<f64>();
        }
        0.5 * momentum.iter().zip(&self.inverses).map(|(p, inverse)| inverse * p * p).sum::<f64>()
    }

    /// Moves the position: `z += time * M^-1 p`.
    pub fn drift(&self, time: f64, momentum: &[f64], z: &mut [f64]) {
        if self.inverses.is_empty() {
            z.iter_mut().zip(momentum).for_each(|(z, p)| *z += time * p);
        } else {
            z.iter_mut().zip(momentum).zip(&self.inverses).for_each(|((z, p), m)| *z += time * m * p);
        }
    }

    /// Inner product `p^T M^-1 (a + b)` of the velocity at `p` with the displacement `a + b`.
    pub(crate) fn along(&self, p: &[f64], a: &[f64], b: &[f64]) -> f64 {
        let products = p.iter().zip(a).zip(b).map(|((p, a), b)| p * (a + b));
        if self.inverses.is_empty() {
            products.sum()
        } else {
            products.zip(&self.inverses).map(|(product, m)| m * product).sum()
        }
    }
}

/// State of a gradient-based kernel: the chains, and the gradient of the log density at each of them.
///
/// Gradients are cached between steps. [`chains_mut`](ChainState::chains_mut) discards them, because the caller may move the
/// chains. [`Mala`](crate::Mala), [`Hmc`](crate::Hmc) and [`Nuts`](crate::Nuts) share this state type, so one of these
/// kernels can continue where another stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradientEnsemble {
    chains: Ensemble,
    #[serde(with = "bits::matrix")]
    gradients: Mat<f64>,
    known: bool,
}

impl GradientEnsemble {
    /// Chains at `positions`; the first step evaluates their gradients.
    pub fn new<P: Gradient + ?Sized>(target: &P, positions: Mat<f64>) -> Result<Self, Error> {
        let gradients = Mat::zeros(positions.nrows(), positions.ncols());
        Ok(Self { chains: Ensemble::new(target, positions)?, gradients, known: false })
    }

    /// Checks the number of chains and their dimension, as after reading a checkpoint.
    ///
    /// # Errors
    /// If a number or a dimension differs; the message names which.
    pub fn check(&self, dim: usize, chains: usize) -> Result<(), Error> {
        self.chains.check(dim, chains)?;
        same_length("gradients of chains", chains, self.gradients.ncols())?;
        same_length("a gradient", dim, self.gradients.nrows())
    }

    /// Evaluates the gradients unless they are cached. `scratch` holds one number per chain.
    pub(crate) fn refresh<P: Gradient + ?Sized>(
        &mut self,
        target: &P,
        scratch: &mut [f64],
        work: &mut [f64],
    ) {
        if !self.known {
            target.gradients_into(self.chains.positions.as_ref(), scratch, self.gradients.as_mut(), work);
            self.known = true;
        }
    }

    pub(crate) fn position(&self, j: usize) -> &[f64] {
        self.chains.positions.col_as_slice(j)
    }

    pub(crate) fn log_p(&self, j: usize) -> f64 {
        self.chains.log_p[j]
    }

    /// The gradient at chain `j`, as a step of a kernel leaves it.
    pub fn gradient(&self, j: usize) -> &[f64] {
        self.gradients.col_as_slice(j)
    }

    /// Moves chain `j` to `z`, a point of known log density and gradient.
    pub(crate) fn place(&mut self, j: usize, z: &[f64], log_p: f64, gradient: &[f64]) {
        self.chains.place(j, z, log_p);
        self.gradients.col_as_slice_mut(j).copy_from_slice(gradient);
    }
}

impl ChainState for GradientEnsemble {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.known = false;
        &mut self.chains
    }
}

/// A kernel of leapfrog trajectories: tuning and [`Kernel`], from its part `$mover` with the methods `leapfrog`, `memory` and
/// `transition`, and the kernel `$tuned` with another integrator.
///
/// [`Kernel`]: mcsa_core::Kernel
macro_rules! leapfrog_kernel {
    ($name:ident, $info:ident, |$kernel:ident| $mover:expr, |$leapfrog:ident| $tuned:expr) => {
        impl $crate::Tunable for $name {
            fn step_size(&self) -> f64 {
                let $kernel = self;
                $mover.leapfrog().step_size()
            }

            fn tuned(&self, step_size: f64, mass: Option<$crate::Mass>) -> Result<Self, mcsa_core::Error> {
                let $kernel = self;
                let mass = mass.unwrap_or_else(|| $mover.leapfrog().mass().clone());
                let leapfrog = $crate::Leapfrog::new(step_size, mass);
                let $leapfrog = leapfrog.map_err(|error| error.within(stringify!($name)))?;
                Ok($tuned)
            }
        }

        impl<P: mcsa_core::Gradient + ?Sized> mcsa_core::Kernel<P> for $name {
            type State = $crate::GradientEnsemble;
            type Info = $info;

            fn config(&self) -> String {
                format!("{self:?}")
            }

            fn work_len(&self, target: &P, chains: usize) -> usize {
                let ($kernel, dim) = (self, target.dim());
                dim * chains + $mover.memory(dim, chains) + target.work_len(chains.max(1))
            }

            fn init(&self, target: &P, positions: faer::Mat<f64>) -> Result<Self::State, mcsa_core::Error> {
                let $kernel = self;
                let fits = $mover.leapfrog().mass().check(target.dim());
                fits.and_then(|()| $mover.fits(target.dim(), positions.ncols()))
                    .and_then(|()| $crate::GradientEnsemble::new(target, positions))
                    .map_err(|error| error.within(stringify!($name)))
            }

            fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), mcsa_core::Error> {
                let $kernel = self;
                let fits = $mover.leapfrog().mass().check(target.dim());
                fits.and_then(|()| $mover.fits(target.dim(), chains))
                    .and_then(|()| state.check(target.dim(), chains))
                    .map_err(|error| error.within(stringify!($name)))
            }

            fn step(
                &self,
                target: &P,
                _: &mut dyn mcsa_core::Proposal,
                state: &mut Self::State,
                lanes: &mut [mcsa_core::Stream],
                mut work: &mut [f64],
            ) -> $info {
                let ($kernel, dim) = (self, target.dim());
                let momenta = mcsa_core::borrow(&mut work, dim * lanes.len());
                for (j, lane) in lanes.iter_mut().enumerate() {
                    $mover.leapfrog().mass().momentum_into(lane, &mut momenta[j * dim..][..dim]);
                }
                $mover.transition(target, state, momenta, lanes, work)
            }
        }
    };
}
pub(crate) use leapfrog_kernel;

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    #[test]
    fn the_unit_mass_is_a_diagonal_of_ones() {
        let (unit, ones) = (Mass::unit(), Mass::diagonal(vec![1.0; 3]).unwrap());
        let p = [0.3, -1.0, 2.0];
        assert_eq!(unit.kinetic(&p), ones.kinetic(&p));
        let (mut a, mut b) = ([1.0; 3], [1.0; 3]);
        unit.drift(0.1, &p, &mut a);
        ones.drift(0.1, &p, &mut b);
        assert_eq!(a, b);
        unit.momentum_into(&mut Seed::new(1).stream(0, 0), &mut a);
        ones.momentum_into(&mut Seed::new(1).stream(0, 0), &mut b);
        assert_eq!(a, b);
        assert_eq!(unit.along(&p, &a, &b), ones.along(&p, &a, &b));
    }

    #[test]
    fn impossible_masses_are_refused() {
        for mass in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
            assert!(Mass::diagonal(vec![1.0, mass]).is_err(), "{mass}");
        }
        let error = Mass::diagonal(vec![1.0, -2.0]).unwrap_err().to_string();
        assert_eq!(error, "Mass: mass is -2, expected positive and finite, as its inverse");
        let mass = Mass::diagonal(vec![0.1]).unwrap();
        assert!(mass.check(1).is_ok() && mass.check(2).is_err() && Mass::unit().check(7).is_ok());
    }
}
