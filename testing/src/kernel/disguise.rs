//! Equivalent forms of a target and a proposal: with a shifted log density, or in affine coordinates.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{AffineMap, Columns, ColumnsMut, Gradient, LogDensity, Named, Proposal, Stream};

/// Target with a constant added to its log density; the distribution is unchanged.
///
/// ```
/// use mcsa_core::LogDensity;
/// let (target, z) = (mcsa_models::Banana::new(1.5, 0.4)?, [0.3, 0.1]);
/// let shifted = mcsa_testing::Shifted { target: &target, constant: 8.0 };
/// assert_eq!(shifted.log_density(&z, &mut []), target.log_density(&z, &mut []) + 8.0);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shifted<'a, P: ?Sized> {
    /// The target.
    pub target: &'a P,
    /// The constant added.
    pub constant: f64,
}

impl<P: LogDensity + ?Sized> LogDensity for Shifted<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.target.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.target.log_density(z, work) + self.constant
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.target.constrain(z, out);
    }
}

impl<P: Gradient + ?Sized> Gradient for Shifted<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.target.gradient_into(z, gradient, work) + self.constant
    }
}

/// Proposal in new coordinates: the image of a full-rank family's distribution under the inverse map.
pub(crate) struct MovedGuide<'a> {
    pub(crate) proposal: &'a mut dyn Proposal,
    pub(crate) map: &'a AffineMap,
}

impl MovedGuide<'_> {
    fn add_volume(&self, log_q: &mut [f64]) {
        let volume = self.map.log_volume();
        log_q.iter_mut().for_each(|l| *l += volume);
    }
}

impl Proposal for MovedGuide<'_> {
    fn dim(&self) -> usize {
        self.proposal.dim()
    }

    fn log_probs(&mut self, y: MatRef<'_, f64>, log_q: &mut [f64]) {
        let mut z = Mat::zeros(y.nrows(), y.ncols());
        for j in 0..y.ncols() {
            self.map.forward_into(y.column(j), z.col_as_slice_mut(j));
        }
        self.proposal.log_probs(z.as_ref(), log_q);
        self.add_volume(log_q);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut y: MatMut<'_, f64>, log_q: &mut [f64]) {
        let mut z = Mat::zeros(y.nrows(), y.ncols());
        self.proposal.sample_into(lanes, z.as_mut(), log_q);
        for j in 0..y.ncols() {
            self.map.inverse_into(z.col_as_slice(j), y.column_mut(j));
        }
        self.add_volume(log_q);
    }
}
