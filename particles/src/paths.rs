//! Ensembles of paths, and kernels that move them.

use crate::{PathGuide, StateSpace};
use faer::Mat;
use mcsa_core::{Columns, Error, Record, Stream, all_finite, bits, same_length, type_name};
use serde::{Deserialize, Serialize};

/// Ensemble of paths: one path per column, its states in order of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paths {
    /// The paths, one per column.
    #[serde(with = "bits::matrix")]
    pub positions: Mat<f64>,
}

impl Paths {
    /// Checked paths: finite, and of the target's dimension.
    pub(super) fn new<P: StateSpace + ?Sized>(target: &P, positions: Mat<f64>) -> Result<Self, Error> {
        let paths = Self { positions };
        paths.check(target, paths.positions.ncols())?;
        Ok(paths)
    }

    /// Checks that there are `count` finite paths of the target's dimension, as after reading a checkpoint.
    ///
    /// # Errors
    /// If their number or dimension differs, or a state is not finite; the message names which.
    pub fn check<P: StateSpace + ?Sized>(&self, target: &P, count: usize) -> Result<(), Error> {
        let positions = self.positions.as_ref();
        same_length("paths", count, positions.ncols())?;
        same_length("a path", target.dim(), positions.nrows())?;
        (0..count).try_for_each(|j| all_finite("a path", positions.column(j)))
    }
}

/// Markov kernel on paths of a state space model.
///
/// Not a [`Kernel`](mcsa_core::Kernel), because it proposes state by state: it needs the model's transition and observation
/// densities and the proposal's steps. Each path is driven by its own stream.
pub trait PathKernel: Send + Sync {
    /// Metrics of one step.
    type Info: Record + Default + Send;

    /// The configuration as text, as [`Kernel::config`](mcsa_core::Kernel::config).
    fn config(&self) -> String {
        type_name::<Self>()
    }

    /// Length of the memory to be lent to a step.
    fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize;

    /// Initial paths from the columns of `positions`.
    ///
    /// # Errors
    /// If these are not finite paths of the target, or the configuration is invalid.
    fn init<P: StateSpace + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<Paths, Error>;

    /// One transition of every path.
    ///
    /// # Panics
    /// If the number of lanes differs from that of the paths, or `work` is shorter than `work_len`.
    fn step<P, G>(
        &self,
        target: &P,
        proposal: &mut G,
        paths: &mut Paths,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Self::Info
    where
        P: StateSpace + ?Sized,
        G: PathGuide + ?Sized;
}
