//! Guide in whitened coordinates.

use faer::{MatMut, MatRef};
use mcsa_core::{AffineMap, Columns, ColumnsMut, Guide, Stream};

/// Guide `q` in the coordinates `y` of an affine map `z = map(y)`: `log q(map(y)) + log |det factor|`.
pub(crate) struct WhiteGuide<'a> {
    pub(crate) guide: &'a mut dyn Guide,
    pub(crate) map: &'a AffineMap,
}

impl Guide for WhiteGuide<'_> {
    fn dim(&self) -> usize {
        self.guide.dim()
    }

    fn log_probs(&mut self, y: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.guide.log_probs(self.map.forward(y).as_ref(), log_q);
        log_q.iter_mut().for_each(|log_q| *log_q += self.map.log_volume());
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut y: MatMut<'_, f64>, log_q: &mut [f64]) {
        self.guide.sample_into(lanes, y.as_mut(), log_q);
        log_q.iter_mut().for_each(|log_q| *log_q += self.map.log_volume());
        let mut white = vec![0.0; y.nrows()];
        for j in 0..y.ncols() {
            self.map.inverse_into(y.as_ref().column(j), &mut white);
            y.column_mut(j).copy_from_slice(&white);
        }
    }
}
