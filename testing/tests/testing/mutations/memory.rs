//! State shared by all kernels of this suite.

use faer::{Mat, MatRef};
use mcsa_core::{ChainState, Ensemble, Error, LogDensity, bits};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) chains: Ensemble,
    /// log q of the chains, NaN before the first step: a quantity that a correct kernel must not store.
    #[serde(with = "bits::vector")]
    pub(crate) log_q: Vec<f64>,
    /// The points of the cloud; without columns, the chains are the cloud.
    #[serde(with = "bits::matrix")]
    pub(crate) points: Mat<f64>,
    #[serde(with = "bits::vector")]
    pub(crate) weights: Vec<f64>,
}

impl Memory {
    /// Chains, and memory for `points` points of the cloud; before the first step these are the chains' positions.
    pub(crate) fn new<P: LogDensity + ?Sized>(
        target: &P,
        positions: Mat<f64>,
        points: usize,
    ) -> Result<Self, Error> {
        let chains = positions.ncols();
        let points = Mat::from_fn(positions.nrows(), points, |i, k| positions[(i, k % chains)]);
        let weights = vec![1.0 / points.ncols().max(1) as f64; points.ncols()];
        Ok(Self { chains: Ensemble::new(target, positions)?, log_q: vec![f64::NAN; chains], points, weights })
    }
}

impl ChainState for Memory {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }

    fn points(&self) -> MatRef<'_, f64> {
        if self.points.ncols() == 0 { self.chains.positions.as_ref() } else { self.points.as_ref() }
    }

    fn weights(&self) -> Option<&[f64]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }
}

/// `kernel!(Kernel, Target, [points,] step)`: the kernel with this step and the state [`Memory`], for targets that implement
/// `Target`. The number of points of its cloud is `points(kernel, chains)`; without points, the chains are the cloud.
macro_rules! kernel {
    ($kernel:ty, $target:ident, $step:expr) => {
        kernel!($kernel, $target, |_, _| 0, $step);
    };
    ($kernel:ty, $target:ident, $points:expr, $step:expr) => {
        impl<P: mcsa_core::$target + ?Sized> mcsa_core::Kernel<P> for $kernel {
            methods!($points, $step);
        }
    };
}
pub(crate) use kernel;

/// Methods of a kernel with the state [`Memory`].
macro_rules! methods {
    ($points:expr, $step:expr) => {
        type State = Memory;
        type Info = ();

        fn columns(&self, chains: usize) -> usize {
            chains
        }

        fn work_len(&self, target: &P, _: usize) -> usize {
            target.work_len(1)
        }

        fn init(&self, target: &P, positions: faer::Mat<f64>) -> Result<Memory, mcsa_core::Error> {
            let points: fn(&Self, usize) -> usize = $points;
            let points = points(self, positions.ncols());
            Memory::new(target, positions, points)
        }

        fn check(&self, target: &P, chains: usize, state: &Memory) -> Result<(), mcsa_core::Error> {
            state.chains.check(target.dim(), chains)
        }

        fn step(
            &self,
            target: &P,
            proposal: &mut dyn mcsa_core::Proposal,
            state: &mut Memory,
            lanes: &mut [mcsa_core::Stream],
            work: &mut [f64],
        ) {
            type Proposal<'g> = &'g mut dyn mcsa_core::Proposal;
            let step: fn(&Self, &P, Proposal<'_>, &mut Memory, &mut [mcsa_core::Stream], &mut [f64]) = $step;
            step(self, target, proposal, state, lanes, work);
        }
    };
}
pub(crate) use methods;
