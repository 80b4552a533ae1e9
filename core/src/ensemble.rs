//! Ensembles of parallel chains: positions and cached log densities of the target.

use faer::Mat;
use serde::{Deserialize, Serialize};

use crate::{Columns, Error, LogDensity, all_finite, bits, same_length};

/// `N` parallel chains: the position of each, and the log density of the target at it.
///
/// The target's log density may be cached because the target does not change during a fit. The proposal's log density may not be
/// cached, because lambda moves between steps; so an ensemble holds no `log_q`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ensemble {
    /// The positions, one chain per column.
    #[serde(with = "bits::matrix")]
    pub positions: Mat<f64>,
    /// The target's log density at the position of each chain.
    #[serde(with = "bits::vector")]
    pub log_p: Vec<f64>,
}

/// Largest difference allowed between a cached and a recomputed log density, relative to the larger of the two or to 1.
const SAME_DENSITY: f64 = 1e-9;

impl Ensemble {
    /// Chains at the columns of `positions`, with one evaluation of the target per chain.
    ///
    /// A log density of `-inf` or NaN at a starting point is no error: any proposal with a finite log density is then accepted.
    ///
    /// # Errors
    /// If the points have the wrong dimension or are not finite.
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

    /// Checks the shape of an ensemble read from a checkpoint: `chains` chains of dimension `dim`, with finite positions.
    ///
    /// # Errors
    /// If the number of chains or the dimension differs, or a position is not finite.
    pub fn check(&self, dim: usize, chains: usize) -> Result<(), Error> {
        same_length("chains", chains, self.positions.ncols())?;
        same_length("densities of chains", chains, self.log_p.len())?;
        same_length("a chain", dim, self.positions.nrows())?;
        (0..chains).try_for_each(|j| all_finite("a chain", self.positions.as_ref().column(j)))
    }

    /// Checks the cached log densities against `target`, with one evaluation per chain.
    ///
    /// Differences up to `1e-9` of the size of the log density (or of 1, if that is larger) are allowed, since machines with other
    /// vector units add in another order.
    ///
    /// # Errors
    /// If a cached value differs by more, or one value is finite and the other not: the target has other data or parameters.
    pub fn verify<P: LogDensity + ?Sized>(&self, target: &P) -> Result<(), Error> {
        let mut log_p = vec![0.0; self.len()];
        let mut work = vec![0.0; target.work_len(self.len())];
        target.log_densities(self.positions.as_ref(), &mut log_p, &mut work);
        let is_known = |(known, found): (&f64, &f64)| {
            let size = known.abs().max(found.abs()).max(1.0);
            let is_near = size.is_finite() && (known - found).abs() <= SAME_DENSITY * size;
            is_near || known == found || (known.is_nan() && found.is_nan())
        };
        let stranger = self.log_p.iter().zip(&log_p).position(|pair| !is_known(pair));
        stranger.map_or(Ok(()), |j| {
            Err(Error::invalid(format!(
                "the cached log density of chain {j} is {:e}, the target gives {:e}: the state is of another target or of other data; \
                 start a new fit (its parameters can be the start)",
                self.log_p[j], log_p[j]
            )))
        })
    }

    /// The number of chains.
    pub fn len(&self) -> usize {
        self.log_p.len()
    }

    /// True if the ensemble has no chain.
    pub fn is_empty(&self) -> bool {
        self.log_p.is_empty()
    }

    /// Copies positions and log densities of `other`, without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        assert_eq!(self.positions.nrows(), other.positions.nrows(), "one dimension");
        self.log_p.copy_from_slice(&other.log_p);
        self.positions.as_mut().copy_from(other.positions.as_ref());
    }

    /// Moves chain `j` to the point `z`, with log density `log_p`.
    pub fn place(&mut self, j: usize, z: &[f64], log_p: f64) {
        self.positions.col_as_slice_mut(j).copy_from_slice(z);
        self.log_p[j] = log_p;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_fn;

    #[test]
    fn cached_densities_are_those_of_their_target() {
        let of = |slope: f64| from_fn(1, move |z| slope * z[0].ln());
        // Densities 0, 2 log 3, -inf and NaN.
        let points = Mat::from_fn(1, 4, |_, j| [1.0, 3.0, 0.0, -1.0][j]);
        let chains = Ensemble::new(&of(2.0), points).unwrap();
        assert!(chains.verify(&of(2.0)).is_ok() && chains.verify(&of(2.0 + 1e-10)).is_ok());
        let error = chains.verify(&of(2.0 + 1e-8)).unwrap_err().to_string();
        assert!(error.starts_with("the cached log density of chain 1 is 2.19"), "{error}");
        assert!(error.contains("other data"), "{error}");
        // At 0 the density is +inf instead of -inf.
        let error = chains.verify(&of(-2.0)).unwrap_err().to_string();
        assert!(error.starts_with("the cached log density of chain 1"), "{error}");
        let at_zero = Ensemble { positions: Mat::zeros(1, 1), log_p: vec![-700.0] };
        assert!(at_zero.verify(&of(2.0)).is_err(), "finite, and -inf now");
    }
}
