//! Paths, and what moves them.

use faer::Mat;
use mcsa::{Columns, Error, PathGuide, Record, StateSpace, Stream, all_finite, bits, same_length, type_name};
use serde::{Deserialize, Serialize};

/// Paths, one per column, state after state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paths {
    /// The paths.
    #[serde(with = "bits::matrix")]
    pub positions: Mat<f64>,
}

impl Paths {
    /// Finite paths of a target.
    pub(super) fn new<P: StateSpace + ?Sized>(target: &P, positions: Mat<f64>) -> Result<Self, Error> {
        let paths = Self { positions };
        paths.check(target, paths.positions.ncols())?;
        Ok(paths)
    }

    /// Whether paths, as read from a checkpoint, belong to this target.
    ///
    /// # Errors
    /// If they do not: the message names what differs.
    pub fn check<P: StateSpace + ?Sized>(&self, target: &P, count: usize) -> Result<(), Error> {
        let positions = self.positions.as_ref();
        same_length("paths", count, positions.ncols())?;
        same_length("a path", target.dim(), positions.nrows())?;
        (0..count).try_for_each(|j| all_finite("a path", positions.column(j)))
    }
}

/// What moves paths. Not a [`Kernel`](mcsa::Kernel), for it proposes state by state: it asks the model for its parts and the guide
/// for its steps. Each path is driven by its own stream.
pub trait PathKernel: Send + Sync {
    /// What a step tells.
    type Info: Record + Default + Send;

    /// The configuration in words, as [`Kernel::config`](mcsa::Kernel::config).
    fn config(&self) -> String {
        type_name::<Self>()
    }

    /// Numbers of lent memory that a step needs.
    fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize;

    /// Paths that are the columns of `positions`.
    ///
    /// # Errors
    /// If these are not finite paths of the target, or the configuration is impossible.
    fn init<P: StateSpace + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<Paths, Error>;

    /// One transition of every path.
    ///
    /// # Panics
    /// If lanes and paths differ in number, or `work` is too short.
    fn step<P, G>(
        &self,
        target: &P,
        guide: &mut G,
        paths: &mut Paths,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Self::Info
    where
        P: StateSpace + ?Sized,
        G: PathGuide + ?Sized;
}
