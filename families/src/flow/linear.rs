//! Layers that are linear in the point: location and scale of each coordinate (ActNorm), and LU factors.

use faer::Mat;
use mcsa_core::numeric::vectorised;
use mcsa_core::{Error, Stream, borrow};
use mcsa_numeric::linear::{packed, standard};

use super::layer::{At, Bijection, Block, Direction, Sweep};
use crate::{FullRank, Link};

/// Appends parameters at which the layer is the identity.
fn start_placed(layer: &dyn Bijection, dim: usize, params: &mut Vec<f64>) -> Result<(), Error> {
    let begin = params.len();
    params.resize(begin + layer.num_params(), 0.0);
    layer.place(&vec![0.0; dim], &vec![1.0; dim], &mut params[begin..])
}

/// ActNorm layer `y = b + s x`, `s = ln(1 + e^rho)`, coordinate by coordinate (Kingma & Dhariwal 2018, section 3.1).
///
/// Packing: `[b; rho]`, as in [`MeanField`](crate::MeanField).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ActNorm {
    pub(super) dim: usize,
}

impl Bijection for ActNorm {
    fn num_params(&self) -> usize {
        2 * self.dim
    }

    fn tape_len(&self) -> usize {
        self.dim
    }

    /// Scales, derivatives of the link, and the log-determinant.
    fn prepared_len(&self) -> usize {
        2 * self.dim + 1
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        LINK.check(&params[self.dim..])
    }

    fn place(&self, location: &[f64], scales: &[f64], params: &mut [f64]) -> Result<(), Error> {
        let (b, rho) = params.split_at_mut(self.dim);
        b.copy_from_slice(location);
        LINK.inverses_into(scales, rho)
    }

    fn start(&self, _: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        start_placed(self, self.dim, params)
    }

    fn prepare(&self, params: &[f64], mut prepared: &mut [f64], _: bool) {
        let rho = &params[self.dim..];
        let (scales, slopes) = (borrow(&mut prepared, self.dim), borrow(&mut prepared, self.dim));
        LINK.scales_into(rho, scales);
        prepared[0] = standard::sum_of_logs(scales, slopes);
        LINK.derivatives_into(rho, slopes);
    }

    fn pass(&self, at: At<'_>, direction: Direction, Block { x, log_det, tape, .. }: Block<'_>) {
        let (b, scales) = (&at.params[..self.dim], &at.prepared[..self.dim]);
        if direction == Direction::Forward {
            tape.copy_from_slice(x);
        }
        for x in x.chunks_exact_mut(self.dim) {
            for i in 0..self.dim {
                x[i] = match direction {
                    Direction::Forward => b[i] + scales[i] * x[i],
                    Direction::Inverse => (x[i] - b[i]) / scales[i],
                };
            }
        }
        if direction == Direction::Inverse {
            tape.copy_from_slice(x);
        }
        log_det.iter_mut().for_each(|log_det| *log_det += at.prepared[2 * self.dim]);
    }

    fn backward(&self, sweep: Sweep<'_>, d: &mut [f64], gradient: &mut [f64], _: &mut [f64]) {
        let at = sweep.at;
        let dim = self.dim;
        let (scales, slopes) = (&at.prepared[..dim], &at.prepared[dim..2 * dim]);
        let (d_b, d_rho) = gradient.split_at_mut(dim);
        for ((d, x), v) in d.chunks_exact_mut(dim).zip(sweep.tape.chunks_exact(dim)).zip(sweep.weights) {
            for i in 0..dim {
                let pull = match sweep.direction {
                    Direction::Forward => d[i],
                    Direction::Inverse => -d[i] / scales[i],
                };
                d_b[i] += pull;
                d_rho[i] += (pull * x[i] + v / scales[i]) * slopes[i];
                d[i] = match sweep.direction {
                    Direction::Forward => d[i] * scales[i],
                    Direction::Inverse => -pull,
                };
            }
        }
    }
}

/// Linear layer `y = b + L U x`: `L` lower triangular with `L_kk = ln(1 + e^rho_k)`, `U` upper triangular with ones on its diagonal
/// (Kingma & Dhariwal 2018, section 3.2).
///
/// ```text
/// ln |det L U| = sum_k ln L_kk
/// ```
/// Either direction costs `d^2` per point. Every matrix whose leading minors are positive is such a product. Packing: `[b; L column by column; U row by row]`: parameters as in [`FullRank`],
/// then `U` without its diagonal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Linear {
    pub(super) dim: usize,
}

const LINK: Link = Link::Softplus;

/// Lower triangular matrix by strips: strip `k` holds the entries below the diagonal in column `k`. `U` is the transpose of one.
#[derive(Clone, Copy)]
struct Strips<'a> {
    numbers: &'a [f64],
    diagonal: &'a [f64],
    /// True if each strip in `numbers` is preceded by an entry of the diagonal, which is skipped.
    led: bool,
}

impl<'a> Strips<'a> {
    #[inline(always)]
    fn strip(self, k: usize) -> &'a [f64] {
        let dim = self.diagonal.len();
        let start = if self.led { packed::start(dim, k) + 1 } else { strip_start(dim, k) };
        &self.numbers[start..start + dim - 1 - k]
    }

    /// `x <- T x` of each point.
    fn multiply(self, points: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for x in points.chunks_exact_mut(self.diagonal.len()) {
                    for k in (0..x.len()).rev() {
                        let (head, below) = x.split_at_mut(k + 1);
                        below.iter_mut().zip(self.strip(k)).for_each(|(x, t)| *x += t * head[k]);
                        head[k] *= self.diagonal[k];
                    }
                }
            },
        );
    }

    /// `x <- T^-1 x` of each point.
    fn solve(self, points: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for x in points.chunks_exact_mut(self.diagonal.len()) {
                    for k in 0..x.len() {
                        let (head, below) = x.split_at_mut(k + 1);
                        head[k] /= self.diagonal[k];
                        below.iter_mut().zip(self.strip(k)).for_each(|(x, t)| *x -= t * head[k]);
                    }
                }
            },
        );
    }

    /// `x <- T^T x` of each point.
    fn multiply_transposed(self, points: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for x in points.chunks_exact_mut(self.diagonal.len()) {
                    for k in 0..x.len() {
                        let (head, below) = x.split_at_mut(k + 1);
                        head[k] = below
                            .iter()
                            .zip(self.strip(k))
                            .fold(head[k] * self.diagonal[k], |sum, (x, t)| sum + t * x);
                    }
                }
            },
        );
    }

    /// `x <- T^-T x` of each point.
    fn solve_transposed(self, points: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for x in points.chunks_exact_mut(self.diagonal.len()) {
                    for k in (0..x.len()).rev() {
                        let (head, below) = x.split_at_mut(k + 1);
                        let rest = below.iter().zip(self.strip(k)).fold(head[k], |sum, (x, t)| sum - t * x);
                        head[k] = rest / self.diagonal[k];
                    }
                }
            },
        );
    }
}

/// Index at which strip `k` starts if strips have no diagonal entry.
const fn strip_start(dim: usize, k: usize) -> usize {
    k * (2 * dim - 1 - k) / 2
}

impl Linear {
    /// `L` and `U^T`.
    fn factors<'a>(&self, at: At<'a>) -> [Strips<'a>; 2] {
        let (lower, upper) = at.params[self.dim..].split_at(packed::len(self.dim));
        let (diagonal, rest) = at.prepared.split_at(self.dim);
        let lower = Strips { numbers: lower, diagonal, led: true };
        [lower, Strips { numbers: upper, diagonal: &rest[self.dim..2 * self.dim], led: false }]
    }
}

impl Bijection for Linear {
    fn num_params(&self) -> usize {
        self.dim + self.dim * self.dim
    }

    /// `x` and `U x`.
    fn tape_len(&self) -> usize {
        2 * self.dim
    }

    /// The diagonal of `L`, derivatives of the link, ones, and the log-determinant.
    fn prepared_len(&self) -> usize {
        3 * self.dim + 1
    }

    /// A cotangent of `U x` per point.
    fn work_len(&self, columns: usize) -> usize {
        self.dim * columns
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        for k in 0..self.dim {
            let rho = params[self.dim + packed::start(self.dim, k)];
            LINK.check(&[rho]).map_err(|error| error.within(format!("column {k} of the factor")))?;
        }
        Ok(())
    }

    fn place(&self, location: &[f64], scales: &[f64], params: &mut [f64]) -> Result<(), Error> {
        let factor = Mat::from_fn(self.dim, self.dim, |i, k| if i == k { scales[i] } else { 0.0 });
        let frame = FullRank::new(self.dim).at(location, factor.as_ref())?;
        let (head, upper) = params.split_at_mut(frame.len());
        head.copy_from_slice(&frame);
        upper.fill(0.0);
        Ok(())
    }

    fn start(&self, _: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        start_placed(self, self.dim, params)
    }

    fn prepare(&self, params: &[f64], mut prepared: &mut [f64], _: bool) {
        let [diagonal, slopes, ones] = [(); 3].map(|()| borrow(&mut prepared, self.dim));
        for (k, rho) in ones.iter_mut().enumerate() {
            *rho = params[self.dim + packed::start(self.dim, k)];
        }
        LINK.scales_into(ones, diagonal);
        prepared[0] = standard::sum_of_logs(diagonal, slopes);
        LINK.derivatives_into(ones, slopes);
        ones.fill(1.0);
    }

    fn pass(&self, at: At<'_>, direction: Direction, Block { x, log_det, tape, .. }: Block<'_>) {
        let [lower, upper] = self.factors(at);
        let (tape_x, tape_v) = tape.split_at_mut(x.len());
        match direction {
            Direction::Forward => {
                tape_x.copy_from_slice(x);
                upper.multiply_transposed(x);
                tape_v.copy_from_slice(x);
                lower.multiply(x);
                for x in x.chunks_exact_mut(self.dim) {
                    x.iter_mut().zip(at.params).for_each(|(x, b)| *x += b);
                }
            }
            Direction::Inverse => {
                for x in x.chunks_exact_mut(self.dim) {
                    x.iter_mut().zip(at.params).for_each(|(x, b)| *x -= b);
                }
                lower.solve(x);
                tape_v.copy_from_slice(x);
                upper.solve_transposed(x);
                tape_x.copy_from_slice(x);
            }
        }
        log_det.iter_mut().for_each(|log_det| *log_det += at.prepared[3 * self.dim]);
    }

    /// With `g = df` the cotangent of `y` at a fixed `x` and `h = L^T g`: `db += g`, `dL_ik += g_i (U x)_k`, `dU_ki += h_k x_i`.
    fn backward(&self, sweep: Sweep<'_>, d: &mut [f64], gradient: &mut [f64], work: &mut [f64]) {
        let at = sweep.at;
        let dim = self.dim;
        let [lower, upper] = self.factors(at);
        // `outer` is the cotangent of y, `inner` that of U x; d is the sweep's output cotangent, and ends as that of its input.
        let inner = &mut work[..d.len()];
        let (outer, inner) = match sweep.direction {
            Direction::Forward => {
                inner.copy_from_slice(d);
                lower.multiply_transposed(inner);
                (&*d, &*inner)
            }
            Direction::Inverse => {
                upper.solve(d);
                inner.copy_from_slice(d);
                lower.solve_transposed(d);
                (&*d, &*inner)
            }
        };
        let sign = if sweep.direction == Direction::Forward { 1.0 } else { -1.0 };
        let (tape_x, tape_v) = sweep.tape.split_at(outer.len());
        let slopes = &at.prepared[dim..2 * dim];
        let (d_b, d_matrix) = gradient.split_at_mut(dim);
        let (d_lower, d_upper) = d_matrix.split_at_mut(packed::len(dim));
        vectorised(
            #[inline(always)]
            || {
                for (j, &v) in sweep.weights.iter().enumerate() {
                    let at = j * dim..(j + 1) * dim;
                    let (outer, inner) = (&outer[at.clone()], &inner[at.clone()]);
                    let (x, u) = (&tape_x[at.clone()], &tape_v[at]);
                    for k in 0..dim {
                        d_b[k] += sign * outer[k];
                        let column = &mut d_lower[packed::start(dim, k)..packed::start(dim, k) + dim - k];
                        column[0] += (sign * outer[k] * u[k] + v / lower.diagonal[k]) * slopes[k];
                        let pull = sign * u[k];
                        column[1..]
                            .iter_mut()
                            .zip(&outer[k + 1..])
                            .for_each(|(entry, outer)| *entry += outer * pull);
                        let row = &mut d_upper[strip_start(dim, k)..strip_start(dim, k) + dim - 1 - k];
                        let pull = sign * inner[k];
                        row.iter_mut().zip(&x[k + 1..]).for_each(|(entry, x)| *entry += x * pull);
                    }
                }
            },
        );
        if sweep.direction == Direction::Forward {
            d.copy_from_slice(&work[..d.len()]);
            upper.multiply(d);
        }
    }
}
