//! Metropolis-adjusted Langevin kernel (MALA).

use faer::Mat;
use mcsa_core::{Error, Gradient, Kernel, Proposal, Stream};
use serde::{Deserialize, Serialize};

use crate::{GradientEnsemble, Hmc, HmcInfo, Leapfrog, Mass, Reversible, Selection, Tunable};

/// Metropolis-adjusted Langevin algorithm: a gradient step with Gaussian noise, accepted by the Metropolis-Hastings rule.
///
/// ```text
/// z' = z + (eps^2/2) M^-1 grad log p(z) + eps M^-1/2 n,   n ~ N(0, I)
/// move with probability min(1, p(z') r(z | z') / (p(z) r(z' | z))),   r the density of this proposal
/// ```
///
/// Invariant for p (Roberts & Tweedie 1996). Equal to [`Hmc`] with one leapfrog step and end-point selection (Neal 2011):
/// the log acceptance ratio is the energy difference, and is computed as such. The best acceptance in high dimension is
/// 0.574 (Roberts & Rosenthal 1998). Costs one gradient per chain and step.
///
/// Numerics: as [`Hmc`]. Every trajectory is a single leapfrog step, so a divergence is a rejection.
///
/// ```
/// use mcsa_core::{ChainState, Kernel, Seed};
/// use mcsa_kernels::{Mala, NoProposal};
/// let (target, mala) = (mcsa_models::Gaussian::standard(2), Mala::new(0.5)?);
/// let mut state = mala.init(&target, faer::Mat::zeros(2, 1))?;
/// let (mut lanes, mut work) = (Seed::new(1).streams(1, 0), vec![0.0; mala.work_len(&target, 1)]);
/// let info = mala.step(&target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
/// assert!(info.acceptance > 0.9);
/// # Ok::<(), mcsa_core::Error>(())
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
    /// A kernel with this step size and unit mass.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn new(step_size: f64) -> Result<Self, Error> {
        Self::with(step_size, Mass::unit())
    }

    /// A kernel with this step size, preconditioned by the inverse of `mass`.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn with(step_size: f64, mass: Mass) -> Result<Self, Error> {
        Self::try_from(Settings { step_size, mass })
    }

    /// This kernel as Hamiltonian Monte Carlo with one leapfrog step.
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

impl Reversible for Mala {}

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
        proposal: &mut dyn Proposal,
        state: &mut GradientEnsemble,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> HmcInfo {
        self.0.step(target, proposal, state, lanes, work)
    }
}
