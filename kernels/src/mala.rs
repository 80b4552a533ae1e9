//! The Metropolis-adjusted Langevin kernel.

use faer::Mat;
use mcsa::{Error, Gradient, Guide, Kernel, Stream};
use serde::{Deserialize, Serialize};

use crate::{GradientEnsemble, Hmc, HmcInfo, Leapfrog, Mass, Selection, Tunable};

/// The Metropolis-adjusted Langevin algorithm: one gradient step with noise, then a Metropolis test.
///
/// ```text
/// z' = z + (eps^2/2) M^-1 grad log p(z) + eps M^-1/2 n,   n ~ N(0, I)
/// move with probability min(1, p(z') r(z | z') / (p(z) r(z' | z))),   r the density of this proposal
/// ```
///
/// Invariant for p (Roberts & Tweedie 1996). It is [`Hmc`] with one leapfrog step and the end point (Neal
/// 2011): the test's log ratio is the energy difference, and that is how it is computed. The best
/// acceptance in high dimension is 0.574 (Roberts & Rosenthal 1998). One gradient per chain and step.
///
/// Numerics: as [`Hmc`]; every trajectory is one step, hence a divergence is a rejection.
///
/// ```
/// use mcsa::{Cloud, Kernel, Seed};
/// use mcsa_kernels::{Mala, Unguided};
/// let (target, mala) = (mcsa_models::Gaussian::standard(2), Mala::new(0.5)?);
/// let mut state = mala.init(&target, faer::Mat::zeros(2, 1))?;
/// let (mut lanes, mut work) = (Seed::new(1).streams(1, 0), vec![0.0; mala.work_len(&target, 1)]);
/// let info = mala.step(&target, &mut Unguided { dim: 2 }, &mut state, &mut lanes, &mut work);
/// assert!(info.acceptance > 0.9);
/// # Ok::<(), mcsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings", into = "Settings")]
pub struct Mala(Hmc);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    step_size: f64,
    #[serde(default)]
    mass: Mass,
}

impl TryFrom<Settings> for Mala {
    type Error = Error;

    fn try_from(Settings { step_size, mass }: Settings) -> Result<Self, Error> {
        let leapfrog = Leapfrog::new(step_size, mass).map_err(|error| error.within("Mala"))?;
        Ok(Self(Hmc::with(leapfrog, 1, Selection::EndPoint)?))
    }
}

impl From<Mala> for Settings {
    fn from(mala: Mala) -> Self {
        Self { step_size: mala.step_size(), mass: mala.0.leapfrog().mass().clone() }
    }
}

impl Mala {
    /// Steps of this size, with unit mass.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn new(step_size: f64) -> Result<Self, Error> {
        Self::with(step_size, Mass::unit())
    }

    /// Steps of this size, preconditioned by the inverse of a mass.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn with(step_size: f64, mass: Mass) -> Result<Self, Error> {
        Self::try_from(Settings { step_size, mass })
    }

    /// The same kernel as a Hamiltonian one.
    pub fn hmc(&self) -> &Hmc {
        &self.0
    }
}

impl Tunable for Mala {
    fn step_size(&self) -> f64 {
        self.0.step_size()
    }

    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error> {
        Self::with(step_size, mass.unwrap_or_else(|| self.0.leapfrog().mass().clone()))
    }
}

impl<P: Gradient + ?Sized> Kernel<P> for Mala {
    type State = GradientEnsemble;
    type Info = HmcInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn columns(&self, _: usize) -> usize {
        0
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        self.0.work_len(target, chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<GradientEnsemble, Error> {
        self.0.init(target, positions).map_err(|error| error.within("Mala"))
    }

    fn check(&self, target: &P, chains: usize, state: &GradientEnsemble) -> Result<(), Error> {
        self.0.check(target, chains, state).map_err(|error| error.within("Mala"))
    }

    fn step(
        &self,
        target: &P,
        guide: &mut dyn Guide,
        state: &mut GradientEnsemble,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> HmcInfo {
        self.0.step(target, guide, state, lanes, work)
    }
}
