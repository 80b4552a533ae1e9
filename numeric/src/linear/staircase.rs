//! Staircase matrices: masked matrices whose rows read a growing number of leading inputs.

use std::ops::Range;

use crate::vectorised;

use super::packed::{PANEL, dots};

/// Consecutive rows of equal width.
#[derive(Debug, Clone, PartialEq)]
pub struct Tread {
    /// The rows.
    pub rows: Range<usize>,
    /// Number of leading inputs that each row reads.
    pub width: usize,
    /// Index of the first row's first weight; the other rows follow.
    pub start: usize,
}

/// Matrix whose row `r` is zero after its first `width(r)` entries, with widths that do not decrease; only these entries are
/// stored, row by row.
///
/// The masks of autoregressive networks have this shape when units are sorted by degree, and no product with a masked zero is
/// computed. The arithmetic of one point does not depend on the others, nor on which treads are computed together.
#[derive(Debug, Clone, PartialEq)]
pub struct Staircase {
    inputs: usize,
    treads: Vec<Tread>,
}

impl Staircase {
    /// Matrix from the number of rows and the width of each tread.
    pub fn new(inputs: usize, treads: impl Iterator<Item = (usize, usize)>) -> Self {
        let (mut row, mut start) = (0, 0);
        let treads = treads.map(|(rows, width)| {
            let tread = Tread { rows: row..row + rows, width, start };
            (row, start) = (row + rows, start + rows * width);
            tread
        });
        Self { inputs, treads: treads.collect() }
    }

    /// The treads, from the first row to the last.
    pub fn treads(&self) -> &[Tread] {
        &self.treads
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.treads.last().map_or(0, |tread| tread.rows.end)
    }

    /// Number of stored weights.
    pub fn num_weights(&self) -> usize {
        self.treads.last().map_or(0, |tread| tread.start + tread.rows.len() * tread.width)
    }

    /// Indices of the weights of row `row`, which belongs to `tread`.
    pub fn row(&self, tread: &Tread, row: usize) -> Range<usize> {
        let start = tread.start + (row - tread.rows.start) * tread.width;
        start..start + tread.width
    }

    /// `y_j[r] = biases[r] + W_r . x_j` for the rows of `treads`, and every point `j`.
    pub fn multiply(&self, treads: Range<usize>, weights: &[f64], biases: &[f64], x: &[f64], y: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || self.multiply_here(treads.clone(), weights, biases, x, y),
        );
    }

    #[inline(always)]
    fn multiply_here(&self, treads: Range<usize>, weights: &[f64], biases: &[f64], x: &[f64], y: &mut [f64]) {
        let (inputs, outputs) = (self.inputs, self.rows());
        for tread in &self.treads[treads] {
            let width = tread.width;
            let own = &weights[tread.start..tread.start + tread.rows.len() * width];
            for (j, y) in y.chunks_exact_mut(outputs).enumerate() {
                let x = &x[j * inputs..j * inputs + width];
                let (biases, y) = (&biases[tread.rows.clone()], &mut y[tread.rows.clone()]);
                let mut row = 0;
                while row + PANEL <= y.len() {
                    let panel: [&[f64]; PANEL] =
                        std::array::from_fn(|p| &own[(row + p) * width..(row + p + 1) * width]);
                    for (p, product) in dots(panel, x).into_iter().enumerate() {
                        y[row + p] = biases[row + p] + product;
                    }
                    row += PANEL;
                }
                while row < y.len() {
                    let [product] = dots([&own[row * width..(row + 1) * width]], x);
                    y[row] = biases[row] + product;
                    row += 1;
                }
            }
        }
    }

    /// Reverse-mode derivative of [`multiply`](Self::multiply) for the rows of `treads`, the last first: `d_x_j += W^T d_y_j` and,
    /// in the order of `j`, `d_weights += d_y_j x_j^T`, `d_biases += d_y_j`.
    #[expect(clippy::too_many_arguments, reason = "what went in, what comes back, and where it goes")]
    pub fn pull(
        &self,
        treads: Range<usize>,
        weights: &[f64],
        x: &[f64],
        d_y: &[f64],
        d_x: &mut [f64],
        d_weights: &mut [f64],
        d_biases: &mut [f64],
    ) {
        vectorised(
            #[inline(always)]
            || {
                let (inputs, outputs) = (self.inputs, self.rows());
                for tread in self.treads[treads.clone()].iter().rev() {
                    for row in tread.rows.clone().rev() {
                        let own = self.row(tread, row);
                        let (w, d_w) = (&weights[own.clone()], &mut d_weights[own]);
                        for (j, d_y) in d_y.chunks_exact(outputs).enumerate() {
                            let here = j * inputs..j * inputs + tread.width;
                            let (c, x, d_x) = (d_y[row], &x[here.clone()], &mut d_x[here]);
                            d_biases[row] += c;
                            for i in 0..tread.width {
                                d_w[i] += c * x[i];
                                d_x[i] += c * w[i];
                            }
                        }
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, phase: f64) -> Vec<f64> {
        (0..count).map(|k| (1.7 * k as f64 + phase).sin()).collect()
    }

    fn dense(stairs: &Staircase, weights: &[f64]) -> Vec<Vec<f64>> {
        let rows = stairs.treads().iter().flat_map(|tread| tread.rows.clone().map(move |row| (tread, row)));
        rows.map(|(tread, row)| {
            let mut full = weights[stairs.row(tread, row)].to_vec();
            full.resize(stairs.inputs, 0.0);
            full
        })
        .collect()
    }

    /// A single coordinate has none before it: the network reads no input.
    #[test]
    fn without_inputs_it_is_its_biases() {
        let stairs = Staircase::new(0, [(2, 0)].into_iter());
        let (mut y, mut d_b) = ([f64::NAN; 4], [0.0; 2]);
        stairs.multiply(0..1, &[], &[3.0, 4.0], &[], &mut y);
        assert_eq!(y, [3.0, 4.0, 3.0, 4.0]);
        stairs.pull(0..1, &[], &[], &[1.0, 2.0, 3.0, 4.0], &mut [], &mut [], &mut d_b);
        assert_eq!(d_b, [4.0, 6.0]);
    }

    /// Checked against the dense matrix with its zeros; computed tread by tread it has the bits of one call for all treads.
    #[test]
    fn it_is_a_matrix_with_zeros() {
        let stairs = Staircase::new(23, [(1, 0), (9, 5), (0, 7), (4, 8), (7, 23)].into_iter());
        assert_eq!((stairs.rows(), stairs.num_weights()), (21, 9 * 5 + 4 * 8 + 7 * 23));
        let (weights, biases) = (numbers(stairs.num_weights(), 0.1), numbers(21, 0.5));
        let (x, d_y) = (numbers(3 * 23, 0.9), numbers(3 * 21, 0.4));
        let mut y = vec![f64::NAN; 3 * 21];
        stairs.multiply(0..5, &weights, &biases, &x, &mut y);
        let mut stepwise = vec![f64::NAN; 3 * 21];
        (0..5).for_each(|k| stairs.multiply(k..k + 1, &weights, &biases, &x, &mut stepwise));
        assert_eq!(y, stepwise);
        let (mut d_x, mut d_w, mut d_b) = (vec![0.0; 3 * 23], vec![0.0; stairs.num_weights()], vec![0.0; 21]);
        stairs.pull(0..5, &weights, &x, &d_y, &mut d_x, &mut d_w, &mut d_b);
        let (full, d_full) = (dense(&stairs, &weights), dense(&stairs, &d_w));
        for r in 0..21 {
            for j in 0..3 {
                let product: f64 = (0..23).map(|i| full[r][i] * x[j * 23 + i]).sum();
                assert!((y[j * 21 + r] - biases[r] - product).abs() < 1e-13);
            }
            for i in (0..23).filter(|&i| full[r][i] != 0.0) {
                let outer: f64 = (0..3).map(|j| d_y[j * 21 + r] * x[j * 23 + i]).sum();
                assert!((d_full[r][i] - outer).abs() < 1e-13);
            }
            assert!((d_b[r] - (0..3).map(|j| d_y[j * 21 + r]).sum::<f64>()).abs() < 1e-13);
        }
        for (k, d_x) in d_x.iter().enumerate() {
            let (j, i) = (k / 23, k % 23);
            let sum: f64 = (0..21).map(|r| full[r][i] * d_y[j * 21 + r]).sum();
            assert!((d_x - sum).abs() < 1e-13);
        }
    }
}
