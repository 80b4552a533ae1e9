//! Rows of regressions: standardised ones, and synthetic ones.

use faer::Mat;
use mcsa_core::Stream;
use mcsa_data::Dataset;

/// The rows with every input standardised, and a column of ones.
pub(super) fn standardised(rows: Dataset) -> Dataset {
    let count = rows.rows() as f64;
    let mut x = rows.x.clone();
    for k in 0..x.ncols() {
        let column: &mut [f64] = x.col_as_slice_mut(k);
        let mean = column.iter().sum::<f64>() / count;
        let square = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let scale = if square > 0.0 { square.sqrt() } else { 1.0 };
        column.iter_mut().for_each(|x| *x = (*x - mean) / scale);
    }
    Dataset { x, ..rows }.with_ones_last()
}

/// `10 d` rows: inputs with a correlation of 0.8 of neighbours, scaled so that log odds have a standard deviation of about 2.
pub(super) fn synthetic_rows(dim: usize, stream: &mut Stream) -> (Mat<f64>, Vec<f64>) {
    let mut x = Mat::zeros(10 * dim, dim);
    let mut weights = vec![0.0; dim];
    stream.normals_into(&mut weights);
    let mut labels = Vec::new();
    for row in 0..10 * dim {
        let mut last = stream.normal();
        for column in 0..dim {
            x[(row, column)] = last;
            last = 0.8 * last + 0.6 * stream.normal();
        }
        let odds: f64 = (0..dim).map(|column| x[(row, column)] * weights[column]).sum();
        let odds = 2.0 * odds / (dim as f64).sqrt();
        labels.push(if stream.uniform() < 1.0 / (1.0 + (-odds).exp()) { 1.0 } else { 0.0 });
    }
    (x, labels)
}
