//! Families fitted by factor analysis of a covariance that is given by few columns.

use crate::{Reparameterised, numeric};

/// Covariance that is a diagonal plus and minus products of few columns.
///
/// ```text
/// S = diag(variances) + P P^T - N N^T,     P = plus, N = minus, each column by column
/// ```
/// It has to be positive semidefinite, of which nothing is checked.
#[derive(Debug, Clone, Copy)]
pub struct FewColumns<'a> {
    /// The diagonal.
    pub variances: &'a [f64],
    /// Columns whose products are added.
    pub plus: &'a [f64],
    /// Columns whose products are subtracted.
    pub minus: &'a [f64],
}

impl FewColumns<'_> {
    /// Writes `S x`.
    pub fn apply(&self, x: &[f64], image: &mut [f64]) {
        let dim = x.len().max(1);
        image.iter_mut().zip(x).zip(self.variances).for_each(|((image, x), variance)| *image = variance * x);
        for column in self.plus.chunks_exact(dim) {
            numeric::axpy(numeric::dot(column, x), column, image);
        }
        for column in self.minus.chunks_exact(dim) {
            numeric::axpy(-numeric::dot(column, x), column, image);
        }
    }

    /// Writes the diagonal of S.
    pub fn diagonal_into(&self, diagonal: &mut [f64]) {
        let dim = diagonal.len().max(1);
        diagonal.copy_from_slice(self.variances);
        for column in self.plus.chunks_exact(dim) {
            diagonal.iter_mut().zip(column).for_each(|(entry, x)| *entry += x * x);
        }
        for column in self.minus.chunks_exact(dim) {
            diagonal.iter_mut().zip(column).for_each(|(entry, x)| *entry -= x * x);
        }
    }
}

/// Gaussian family with a diagonal plus low-rank covariance `D + B B^T`, which is projected on by factor analysis.
pub trait FactorMatched: Reparameterised {
    /// Number of columns of B.
    fn rank(&self) -> usize;

    /// Writes the mean, the diagonal of D, and B column by column.
    fn split_into(&self, params: &[f64], mean: &mut [f64], variances: &mut [f64], factor: &mut [f64]);

    /// Writes lambda with this mean, and with the covariance that `iterations` steps of EM for factor analysis reach from that of `params`
    /// towards `covariance`: none of them increases `KL(N(0, S) || N(0, D + B B^T))`. The cost is linear in the dimension. `work` is as for
    /// a batch of as many columns as `covariance` has.
    ///
    /// Returns false if no member of the family is reached; the contents of `matched` are then undefined.
    ///
    /// # Panics
    /// If the shapes differ.
    fn match_factors(
        &self,
        params: &[f64],
        mean: &[f64],
        covariance: FewColumns<'_>,
        iterations: usize,
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool;
}
