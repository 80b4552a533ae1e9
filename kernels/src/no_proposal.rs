//! A placeholder proposal for kernels that need none.

use faer::{MatMut, MatRef};
use mcsa_core::{ColumnsMut, Proposal, Stream};

/// Placeholder for kernels that do not propose from q, such as [`Rwm`](crate::Rwm).
///
/// Its points and log densities are NaN, so that a kernel that does propose from q rejects every move and counts it.
///
/// ```
/// use mcsa_core::Proposal;
/// let mut log_q = [0.0];
/// mcsa_kernels::NoProposal { dim: 2 }.log_probs(mcsa_core::one(&[1.0, 2.0]), &mut log_q);
/// assert!(log_q[0].is_nan());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoProposal {
    /// The dimension of the points.
    pub dim: usize,
}

impl Proposal for NoProposal {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_probs(&mut self, _: MatRef<'_, f64>, log_q: &mut [f64]) {
        log_q.fill(f64::NAN);
    }

    fn sample_into(&mut self, _: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        (0..z.ncols()).for_each(|j| z.column_mut(j).fill(f64::NAN));
        log_q.fill(f64::NAN);
    }
}
