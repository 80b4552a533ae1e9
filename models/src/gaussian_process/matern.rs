//! Matern kernel of smoothness 5/2 with one length scale per feature, over all pairs of inputs.
//!
//! ```text
//! k = (1 + s + s^2/3) e^-s,   s^2 = 5 sum_k (x_ik - x_jk)^2 / l_k^2,   dk/dlog l_k = (1 + s) e^-s / 3 . 5 (x_ik - x_jk)^2 / l_k^2
//! ```
//! Unlike the papers (MCMC-SE, pMCSA), `s` is the root of the sum of squares and the amplitude enters as a square: both
//! print the sum itself, and their source code takes the root.
//!
//! Inputs are divided by `l_k / sqrt 5` and stored in panels, rows along the registers. Distances are sums of squared
//! differences, not differences of products: exact at 0, and never negative.

use mcsa_core::numeric;
use pulp::{Simd, WithSimd};

use mcsa_numeric::design::ROWS;

type Rows = [f64; ROWS];

/// Number of columns whose terms are added before they are added to the total.
const TILE: usize = 4;

/// `s^2` beyond which `e^-s` is 0.
const FAR: f64 = 1e6;

/// Layout of a lower triangle: column after column, in whole panels of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) n: usize,
    /// Distance between the starts of successive columns.
    pub(super) stride: usize,
    /// Number of features.
    pub(super) d: usize,
}

impl Shape {
    /// A layout whose stride is not a multiple of 64, so that the columns do not compete for the same cache lines.
    pub(super) fn new(n: usize, d: usize) -> Self {
        let padded = n.div_ceil(ROWS) * ROWS;
        Self { n, d, stride: if padded.is_multiple_of(64) { padded + ROWS } else { padded } }
    }

    pub(super) fn panels(self) -> usize {
        self.n.div_ceil(ROWS)
    }

    /// Length of a stored triangle.
    pub(super) fn len(self) -> usize {
        self.stride * self.n
    }
}

/// Writes `a^2 k` and, if `slopes` is not empty, `a^2 (1 + s) e^-s / 3`, on and below the diagonal; the rest of the panels on the
/// diagonal receives finite numbers. `decay` holds one column.
pub(super) fn fill(
    shape: Shape,
    scaled: &[f64],
    amplitude: f64,
    values: &mut [f64],
    slopes: &mut [f64],
    decay: &mut [f64],
) {
    let height = shape.panels() * ROWS;
    for j in 0..shape.n {
        let place = j * shape.stride + j / ROWS * ROWS..j * shape.stride + height;
        let (value, decay) = (&mut values[place.clone()], &mut decay[..place.len()]);
        let slope = if slopes.is_empty() { &mut [][..] } else { &mut slopes[place] };
        numeric::vectorised(
            #[inline(always)]
            || {
                squares(scaled.as_chunks().0, shape.d, j, value.as_chunks_mut().0);
                polynomials(amplitude, value, slope, decay);
            },
        );
        numeric::exp(decay);
        value.iter_mut().zip(&*decay).for_each(|(value, factor)| *value *= factor);
        slope.iter_mut().zip(&*decay).for_each(|(slope, factor)| *slope *= factor);
    }
}

/// Squared distances of input `j` to those of its panel and the panels below.
#[inline(always)]
fn squares(scaled: &[Rows], d: usize, j: usize, out: &mut [Rows]) {
    let panels = scaled.chunks_exact(d).skip(j / ROWS);
    let across = &scaled[j / ROWS * d..][..d];
    for (down, out) in panels.zip(out) {
        let mut sums = [0.0; ROWS];
        for (x, y) in down.iter().zip(across) {
            for (sum, x) in sums.iter_mut().zip(x) {
                let apart = x - y[j % ROWS];
                *sum = apart.mul_add(apart, *sum);
            }
        }
        *out = sums;
    }
}

/// Factors of a column from squared distances: `value <- a^2 (1 + s + s^2/3)`, `slope <- a^2 (1 + s)/3` unless empty, `decay <-
/// -s`.
#[inline(always)]
fn polynomials(amplitude: f64, value: &mut [f64], slope: &mut [f64], decay: &mut [f64]) {
    const THIRD: f64 = 1.0 / 3.0;
    for (value, decay) in value.iter_mut().zip(&mut *decay) {
        let square = if *value < FAR { *value } else { FAR };
        let s = square.sqrt();
        *value = amplitude * square.mul_add(THIRD, 1.0 + s);
        *decay = 0.0 - s;
    }
    for (slope, decay) in slope.iter_mut().zip(decay) {
        *slope = amplitude * THIRD * (1.0 - *decay);
    }
}

/// Computes `sum_{i > j} W_ij slope_ij (u_ik - u_jk)^2`, `W = a a' - K^-1`, for each feature `k`. `slope` and `inverse` must hold
/// 0 above the diagonal and below the last row.
pub(super) struct Lengths<'a> {
    pub(super) shape: Shape,
    pub(super) scaled: &'a [Rows],
    pub(super) slope: &'a [f64],
    pub(super) inverse: &'a [f64],
    /// `K^-1 f`, 0 below the last row.
    pub(super) solved: &'a [Rows],
    /// Accumulators: one panel column per feature.
    pub(super) sums: &'a mut [Rows],
    pub(super) out: &'a mut [f64],
}

impl WithSimd for Lengths<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Shape { n, stride, d } = self.shape;
        self.sums.fill([0.0; ROWS]);
        let panels = self.scaled.chunks_exact(d);
        for (q, across) in panels.clone().enumerate() {
            for (p, down) in panels.clone().enumerate().skip(q) {
                let solved = &self.solved[p];
                for first in (0..ROWS).step_by(TILE) {
                    let mut weights = [[0.0; ROWS]; TILE];
                    for (c, weights) in weights.iter_mut().enumerate() {
                        let j = q * ROWS + first + c;
                        if j < n {
                            let at = j * stride + p * ROWS;
                            let (slope, inverse) = (&self.slope[at..at + ROWS], &self.inverse[at..at + ROWS]);
                            let a = self.solved[q][first + c];
                            for (r, weight) in weights.iter_mut().enumerate() {
                                *weight = (solved[r] * a - inverse[r]) * slope[r];
                            }
                        }
                    }
                    for ((x, y), total) in down.iter().zip(across).zip(&mut *self.sums) {
                        let mut sums = [0.0; ROWS];
                        for (weights, &y) in weights.iter().zip(&y[first..first + TILE]) {
                            for ((sum, x), weight) in sums.iter_mut().zip(x).zip(weights) {
                                let apart = x - y;
                                *sum = (apart * apart).mul_add(*weight, *sum);
                            }
                        }
                        total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
                    }
                }
            }
        }
        for (out, sums) in self.out.iter_mut().zip(&*self.sums) {
            let mut sum = simd.splat_f64s(0.0);
            for &part in S::as_simd_f64s(sums).0 {
                sum = simd.add_f64s(sum, part);
            }
            *out = simd.reduce_sum_f64s(sum);
        }
    }
}

/// Kernel `k` of two inputs that have been divided by `l_k / sqrt 5`.
pub(super) fn correlation(x: impl Iterator<Item = f64>, y: impl Iterator<Item = f64>) -> f64 {
    let square: f64 = x.zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().min(FAR);
    let s = square.sqrt();
    (1.0 + s + square / 3.0) * (-s).exp()
}
