//! Proposal in whitened coordinates.

use faer::{MatMut, MatRef};
use mcsa_core::{AffineMap, Columns, ColumnsMut, Proposal, Stream, batch};

/// Proposal `q` in the coordinates `y` of an affine map `z = map(y)`: `log q(map(y)) + log |det factor|`.
pub(crate) struct WhiteGuide<'a> {
    pub(crate) proposal: &'a mut dyn Proposal,
    pub(crate) map: &'a AffineMap,
    /// Memory for the largest batch: a number per coordinate and column.
    pub(crate) memory: &'a mut [f64],
}

impl Proposal for WhiteGuide<'_> {
    fn dim(&self) -> usize {
        self.proposal.dim()
    }

    fn log_probs(&mut self, y: MatRef<'_, f64>, log_q: &mut [f64]) {
        let (dim, columns) = (y.nrows(), y.ncols());
        let images = &mut self.memory[..dim * columns];
        for (j, image) in images.chunks_exact_mut(dim).enumerate() {
            self.map.forward_into(y.column(j), image);
        }
        self.proposal.log_probs(batch(images, dim, columns), log_q);
        log_q.iter_mut().for_each(|log_q| *log_q += self.map.log_volume());
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut y: MatMut<'_, f64>, log_q: &mut [f64]) {
        self.proposal.sample_into(lanes, y.as_mut(), log_q);
        log_q.iter_mut().for_each(|log_q| *log_q += self.map.log_volume());
        let white = &mut self.memory[..y.nrows()];
        for j in 0..y.ncols() {
            self.map.inverse_into(y.as_ref().column(j), white);
            y.column_mut(j).copy_from_slice(white);
        }
    }
}
