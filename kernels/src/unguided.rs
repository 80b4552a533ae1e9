//! A placeholder guide for kernels that need none.

use faer::{MatMut, MatRef};
use mcsa_core::{ColumnsMut, Guide, Stream};

/// Placeholder guide for kernels that do not propose from a guide, such as [`Rwm`](crate::Rwm).
///
/// Its points and log densities are NaN, so that a kernel that does need a guide rejects every proposal and counts it.
///
/// ```
/// use mcsa_core::Guide;
/// let mut log_q = [0.0];
/// mcsa_kernels::Unguided { dim: 2 }.log_probs(mcsa_core::one(&[1.0, 2.0]), &mut log_q);
/// assert!(log_q[0].is_nan());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unguided {
    /// The dimension of the points.
    pub dim: usize,
}

impl Guide for Unguided {
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
