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
use pulp::{Arch, Simd, WithSimd};

use mcsa_numeric::design::ROWS;

type Rows = [f64; ROWS];

/// Number of columns of a tile.
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

struct Distances<'a> {
    shape: Shape,
    scaled: &'a [Rows],
    out: &'a mut [f64],
}

impl WithSimd for Distances<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F64_LANES {
            8 => self.tiles::<S, 2>(simd),
            4 => self.tiles::<S, 4>(simd),
            2 => self.tiles::<S, 8>(simd),
            _ => self.tiles::<S, 16>(simd),
        }
    }
}

impl Distances<'_> {
    #[inline(always)]
    fn tiles<S: Simd, const R: usize>(self, simd: S) {
        let Shape { n, stride, d } = self.shape;
        let panels = self.scaled.chunks_exact(d);
        for (q, across) in panels.clone().enumerate() {
            for (p, down) in panels.clone().enumerate().skip(q) {
                for first in (0..ROWS).step_by(TILE) {
                    let mut sums = [[simd.splat_f64s(0.0); R]; TILE];
                    for (x, y) in down.iter().zip(across) {
                        let x: &[S::f64s] = S::as_simd_f64s(x).0;
                        for (sums, &y) in sums.iter_mut().zip(&y[first..first + TILE]) {
                            let y = simd.splat_f64s(y);
                            for (sum, &x) in sums.iter_mut().zip(x) {
                                let apart = simd.sub_f64s(x, y);
                                *sum = simd.mul_add_e_f64s(apart, apart, *sum);
                            }
                        }
                    }
                    for (c, sums) in sums.iter().enumerate() {
                        let j = q * ROWS + first + c;
                        if j < n {
                            let at = j * stride + p * ROWS;
                            let out = S::as_mut_simd_f64s(&mut self.out[at..at + ROWS]).0;
                            out.copy_from_slice(sums);
                        }
                    }
                }
            }
        }
    }
}

/// Factors of a column from squared distances: `value <- a^2 (1 + s + s^2/3)`, `slope <- a^2 (1 + s)/3` unless empty, `decay <-
/// -s`.
struct Polynomials<'a> {
    amplitude: f64,
    value: &'a mut [Rows],
    slope: &'a mut [Rows],
    decay: &'a mut [Rows],
}

impl WithSimd for Polynomials<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (far, third) = (simd.splat_f64s(FAR), simd.splat_f64s(1.0 / 3.0));
        let (amplitude, one, zero) =
            (simd.splat_f64s(self.amplitude), simd.splat_f64s(1.0), simd.splat_f64s(0.0));
        let mut slopes = self.slope.iter_mut();
        for (value, decay) in self.value.iter_mut().zip(self.decay) {
            let (value, decay) = (S::as_mut_simd_f64s(value).0, S::as_mut_simd_f64s(decay).0);
            let mut slope = slopes.next().map(|slope| S::as_mut_simd_f64s(slope).0.iter_mut());
            for (value, decay) in value.iter_mut().zip(decay) {
                let square = simd.min_f64s(*value, far);
                let s = simd.sqrt_f64s(square);
                let linear = simd.add_f64s(one, s);
                *value = simd.mul_f64s(amplitude, simd.mul_add_e_f64s(square, third, linear));
                *decay = simd.sub_f64s(zero, s);
                if let Some(slope) = slope.as_mut().and_then(Iterator::next) {
                    *slope = simd.mul_f64s(simd.mul_f64s(amplitude, third), linear);
                }
            }
        }
    }
}

struct Times<'a> {
    factor: &'a [Rows],
    out: &'a mut [Rows],
}

impl WithSimd for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (out, factor) in self.out.iter_mut().zip(self.factor) {
            for (out, &factor) in S::as_mut_simd_f64s(out).0.iter_mut().zip(S::as_simd_f64s(factor).0) {
                *out = simd.mul_f64s(*out, factor);
            }
        }
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
    let arch = Arch::new();
    arch.dispatch(Distances { shape, scaled: scaled.as_chunks().0, out: values });
    let height = shape.panels() * ROWS;
    for j in 0..shape.n {
        let place = j * shape.stride + j / ROWS * ROWS..j * shape.stride + height;
        let decay = &mut decay[..place.len()];
        let slope = if slopes.is_empty() { &mut [][..] } else { &mut slopes[place.clone()] };
        let (value, slope) = (values[place].as_chunks_mut().0, slope.as_chunks_mut().0);
        arch.dispatch(Polynomials { amplitude, value, slope, decay: decay.as_chunks_mut().0 });
        numeric::exp(decay);
        let factor = decay.as_chunks().0;
        arch.dispatch(Times { factor, out: value });
        arch.dispatch(Times { factor, out: slope });
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

impl Lengths<'_> {
    pub(super) fn run(self) {
        Arch::new().dispatch(self);
    }

    #[inline(always)]
    fn tiles<S: Simd, const R: usize>(self, simd: S) {
        let Shape { n, stride, d } = self.shape;
        self.sums.fill([0.0; ROWS]);
        let panels = self.scaled.chunks_exact(d);
        for (q, across) in panels.clone().enumerate() {
            for (p, down) in panels.clone().enumerate().skip(q) {
                let solved: &[S::f64s] = S::as_simd_f64s(&self.solved[p]).0;
                for first in (0..ROWS).step_by(TILE) {
                    let mut weights = [[simd.splat_f64s(0.0); R]; TILE];
                    for (c, weights) in weights.iter_mut().enumerate() {
                        let j = q * ROWS + first + c;
                        if j < n {
                            let at = j * stride + p * ROWS;
                            let slope: &[S::f64s] = S::as_simd_f64s(&self.slope[at..at + ROWS]).0;
                            let inverse: &[S::f64s] = S::as_simd_f64s(&self.inverse[at..at + ROWS]).0;
                            let a = simd.splat_f64s(self.solved[q][first + c]);
                            for (r, weight) in weights.iter_mut().enumerate() {
                                let w = simd.sub_f64s(simd.mul_f64s(solved[r], a), inverse[r]);
                                *weight = simd.mul_f64s(w, slope[r]);
                            }
                        }
                    }
                    for ((x, y), total) in down.iter().zip(across).zip(&mut *self.sums) {
                        let x: &[S::f64s] = S::as_simd_f64s(x).0;
                        let mut sums = [simd.splat_f64s(0.0); R];
                        for (weights, &y) in weights.iter().zip(&y[first..first + TILE]) {
                            let y = simd.splat_f64s(y);
                            for ((sum, &x), &weight) in sums.iter_mut().zip(x).zip(weights) {
                                let apart = simd.sub_f64s(x, y);
                                *sum = simd.mul_add_e_f64s(simd.mul_f64s(apart, apart), weight, *sum);
                            }
                        }
                        for (total, sum) in S::as_mut_simd_f64s(total).0.iter_mut().zip(sums) {
                            *total = simd.add_f64s(*total, sum);
                        }
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

impl WithSimd for Lengths<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F64_LANES {
            8 => self.tiles::<S, 2>(simd),
            4 => self.tiles::<S, 4>(simd),
            2 => self.tiles::<S, 8>(simd),
            _ => self.tiles::<S, 16>(simd),
        }
    }
}

/// Kernel `k` of two inputs that have been divided by `l_k / sqrt 5`.
pub(super) fn correlation(x: impl Iterator<Item = f64>, y: impl Iterator<Item = f64>) -> f64 {
    let square: f64 = x.zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().min(FAR);
    let s = square.sqrt();
    (1.0 + s + square / 3.0) * (-s).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_numeric::on_every_backend;

    const SHAPE: Shape = Shape { n: 21, stride: 32, d: 3 };

    fn scaled() -> Vec<Rows> {
        (0..2 * 3).map(|k| std::array::from_fn(|r| ((k * 5 + r * 7) % 11) as f64 / 4.0)).collect()
    }

    fn squares(scaled: &[Rows], i: usize, j: usize) -> [f64; 3] {
        let at = |i: usize, k: usize| scaled[i / ROWS * 3 + k][i % ROWS];
        std::array::from_fn(|k| (at(i, k) - at(j, k)).powi(2))
    }

    #[test]
    fn every_backend_measures_distances() {
        let scaled = scaled();
        let mut out = vec![f64::NAN; SHAPE.len()];
        on_every_backend!(
            Distances { shape: SHAPE, scaled: &scaled, out: &mut out },
            for j in 0..SHAPE.n {
                for i in j..SHAPE.n {
                    let found = std::mem::replace(&mut out[j * SHAPE.stride + i], f64::NAN);
                    assert!((found - squares(&scaled, i, j).iter().sum::<f64>()).abs() < 1e-13);
                }
            }
        );
    }

    #[test]
    fn every_backend_sums_over_pairs() {
        let (scaled, n) = (scaled(), SHAPE.n);
        let lower = |a: f64, b: f64| -> Vec<f64> {
            let entry = |i: usize, j: usize| a + b * ((i * 3 + j) % 7) as f64;
            let place = |at: usize| (at % SHAPE.stride, at / SHAPE.stride);
            (0..SHAPE.len())
                .map(place)
                .map(|(i, j)| if (j..n).contains(&i) { entry(i, j) } else { 0.0 })
                .collect()
        };
        let (slope, inverse) = (lower(0.1, 0.2), lower(-0.3, 0.1));
        let solved: [Rows; 2] = std::array::from_fn(|p| {
            std::array::from_fn(|r| if p * ROWS + r < n { (r % 5) as f64 - 2.0 } else { 0.0 })
        });
        let (mut sums, mut out) = ([[0.0; ROWS]; 3], [f64::NAN; 3]);
        let mut expected = [0.0; 3];
        for j in 0..n {
            for i in j + 1..n {
                let at = j * SHAPE.stride + i;
                let a = |i: usize| solved[i / ROWS][i % ROWS];
                for (total, square) in expected.iter_mut().zip(squares(&scaled, i, j)) {
                    *total += (a(i) * a(j) - inverse[at]) * slope[at] * square;
                }
            }
        }
        on_every_backend!(
            Lengths {
                shape: SHAPE,
                scaled: &scaled,
                slope: &slope,
                inverse: &inverse,
                solved: &solved,
                sums: &mut sums,
                out: &mut out,
            },
            for (out, expected) in out.iter_mut().zip(expected) {
                assert!((std::mem::replace(out, f64::NAN) - expected).abs() < 1e-11 * (1.0 + expected.abs()));
            }
        );
    }

    #[test]
    fn every_backend_fills_a_column() {
        let squares: [Rows; 2] =
            std::array::from_fn(|p| std::array::from_fn(|r| (p * ROWS + r) as f64 * 0.3));
        let (mut value, mut slope, mut decay) = (squares, [[f64::NAN; ROWS]; 2], [[f64::NAN; ROWS]; 2]);
        on_every_backend!(
            Polynomials { amplitude: 2.0, value: &mut value, slope: &mut slope, decay: &mut decay },
            for (at, &square) in squares.as_flattened().iter().enumerate() {
                let s = square.sqrt();
                let found = [&mut value, &mut slope, &mut decay].map(|x| x.as_flattened()[at]);
                let expected = [2.0 * (1.0 + s + square / 3.0), 2.0 * (1.0 + s) / 3.0, -s];
                assert!(
                    found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14),
                    "{found:?} {expected:?}"
                );
                value.as_flattened_mut()[at] = square;
            }
        );
    }
}
