//! Assignment of columns to lanes when a batch is drawn.

use faer::MatMut;

use crate::{ColumnsMut, Stream};

/// Calls `draw(stream, j, column j)` for each column in order: with `c` columns and `l` lanes, lane `j` draws
/// columns `j c/l .. (j+1) c/l`.
///
/// # Panics
/// If the lanes do not divide the columns.
pub fn each_column(
    lanes: &mut [Stream],
    mut z: MatMut<'_, f64>,
    mut draw: impl FnMut(&mut Stream, usize, &mut [f64]),
) {
    let columns = z.ncols();
    if columns == 0 {
        return;
    }
    assert!(columns.is_multiple_of(lanes.len()), "lanes divide the columns");
    let per_lane = columns / lanes.len();
    for j in 0..columns {
        draw(&mut lanes[j / per_lane], j, z.column_mut(j));
    }
}
