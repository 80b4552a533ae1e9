//! Chains and what is remembered of them.

use faer::Mat;
use serde::{Deserialize, Serialize};

use crate::{Error, LogDensity, all_finite, bits, columns::Columns, same_length};

/// `N` chains: a point each, and the log density of the target there.
///
/// The density of the target may be cached because the target stays; that of the guide may not,
/// because lambda moves between steps. So an ensemble holds no `log_q`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ensemble {
    /// A chain per column.
    #[serde(with = "bits::matrix")]
    pub positions: Mat<f64>,
    /// The target's log density at each chain.
    #[serde(with = "bits::vector")]
    pub log_p: Vec<f64>,
}

impl Ensemble {
    /// Chains at `positions`, their densities evaluated once.
    ///
    /// # Errors
    /// If the points have the wrong dimension or are not finite. A density of `-inf` or NaN at the
    /// start is kept: any proposal with a density is then accepted.
    pub fn new<P: LogDensity + ?Sized>(target: &P, positions: Mat<f64>) -> Result<Self, Error> {
        same_length("a starting point", target.dim(), positions.nrows())?;
        for j in 0..positions.ncols() {
            all_finite("a starting point", positions.as_ref().column(j))?;
        }
        let mut log_p = vec![0.0; positions.ncols()];
        let mut work = vec![0.0; target.work_len(positions.ncols())];
        target.log_densities(positions.as_ref(), &mut log_p, &mut work);
        Ok(Self { positions, log_p })
    }

    /// Whether these are so many chains of this dimension, as a checkpoint should hold.
    ///
    /// # Errors
    /// If not, or if a position is not finite.
    pub fn check(&self, dim: usize, chains: usize) -> Result<(), Error> {
        same_length("chains", chains, self.positions.ncols())?;
        same_length("densities of chains", chains, self.log_p.len())?;
        same_length("a chain", dim, self.positions.nrows())?;
        (0..chains).try_for_each(|j| all_finite("a chain", self.positions.as_ref().column(j)))
    }

    /// The number of chains.
    pub fn len(&self) -> usize {
        self.log_p.len()
    }

    /// Whether there is no chain.
    pub fn is_empty(&self) -> bool {
        self.log_p.is_empty()
    }

    /// Moves every chain to that of `other`, without allocating.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn copy_from(&mut self, other: &Self) {
        assert_eq!(self.positions.nrows(), other.positions.nrows(), "one dimension");
        self.log_p.copy_from_slice(&other.log_p);
        self.positions.as_mut().copy_from(other.positions.as_ref());
    }

    /// Moves chain `j` to a point whose density is known.
    ///
    /// # Panics
    /// If there is no chain `j`, or the point has another dimension.
    pub fn place(&mut self, j: usize, z: &[f64], log_p: f64) {
        self.positions.col_as_slice_mut(j).copy_from_slice(z);
        self.log_p[j] = log_p;
    }
}
