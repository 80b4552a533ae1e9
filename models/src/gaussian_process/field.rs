//! Gaussian fields: density, gradient and predictions.

use std::f64::consts::PI;
use std::mem::MaybeUninit;

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::cholesky_in_place;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};
use mcsa_core::{Error, at_least_one, borrow, finite_matrix, numeric};
use mcsa_numeric::design::ROWS;

use super::MOST;
use super::matern::{Lengths, Shape, correlation, fill};

/// Gaussian field at `n` inputs: `f ~ N(0, a^2 k(x / l) + (s^2 + 1e-6) I)`, with `k` the Matern kernel of smoothness 5/2.
///
/// The Cholesky factorisation is faer's, in place in lent memory; its own scratch of one column lies on the stack.
#[derive(Debug, Clone)]
pub(super) struct Field {
    layout: Layout,
    shape: Shape,
    /// `panels x d x ROWS`.
    packed: Vec<f64>,
}

/// Places in a point `z` of the logarithms of amplitude, nugget and lengths, which the field values follow; and the model's name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) model: &'static str,
    pub(super) amplitude: usize,
    pub(super) nugget: usize,
    pub(super) lengths: usize,
}

/// Variance added to the diagonal besides the nugget. (MCMC-SE; pMCSA)
const JITTER: f64 = 1e-6;

/// Size in bytes of the factorisation's scratch of `n` numbers, on the stack.
const SCRATCH: usize = 1 << 16;

/// Largest number of inputs whose factorisation fits in the scratch.
const MOST_INPUTS: usize = SCRATCH / 8 - 64;

impl Field {
    pub(super) fn new(x: MatRef<'_, f64>, layout: Layout) -> Result<Self, Error> {
        finite_matrix("features", x)?;
        let shape = Shape::new(x.nrows(), x.ncols());
        if !(1..=MOST_INPUTS).contains(&shape.n) {
            return Err(Error::parameter("inputs", shape.n as f64, "at least 1 and at most 8128"));
        }
        at_least_one("features", shape.d)?;
        let mut packed = vec![0.0; shape.panels() * shape.d * ROWS];
        for i in 0..shape.n {
            for k in 0..shape.d {
                packed[(i / ROWS * shape.d + k) * ROWS + i % ROWS] = x[(i, k)];
            }
        }
        Ok(Self { layout, shape, packed })
    }

    /// Number of features.
    pub(super) fn features(&self) -> usize {
        self.shape.d
    }

    /// Index in `z` of the first field value.
    pub(super) fn first(&self) -> usize {
        self.layout.lengths + self.shape.d
    }

    /// Length of `z`.
    pub(super) fn dim(&self) -> usize {
        self.first() + self.shape.n
    }

    /// Length of lent memory: three triangles, the scaled inputs, and some columns.
    pub(super) fn work_len(&self) -> usize {
        3 * self.shape.len() + self.packed.len() + 3 * self.shape.stride + self.shape.d * ROWS + 8
    }

    /// Squares of amplitude and nugget at `z`.
    fn squares(&self, z: &[f64]) -> [f64; 2] {
        [self.layout.amplitude, self.layout.nugget].map(|at| (2.0 * z[at]).exp())
    }

    /// The factor `sqrt 5 / l` of each feature at `z`.
    fn rates(&self, z: &[f64]) -> impl Iterator<Item = f64> {
        // A length of 1e-100 makes any two inputs uncorrelated; for smaller ones squares would overflow.
        z[self.layout.lengths..self.first()].iter().map(|l| (5.0_f64.sqrt() * (-l).exp()).min(1e100))
    }

    /// Cholesky factor of the covariance, in `k`; `None` if the scales are out of range or the covariance has no factor.
    fn factor<'a>(
        &self,
        z: &[f64],
        k: &'a mut [f64],
        slopes: &mut [f64],
        scaled: &mut [f64],
        column: &mut [f64],
    ) -> Option<MatMut<'a, f64>> {
        let Shape { n, stride, .. } = self.shape;
        if !(z[self.layout.amplitude] <= MOST && z[self.layout.nugget] <= MOST) {
            return None;
        }
        for (k, rate) in self.rates(z).enumerate() {
            let panels = scaled.as_chunks_mut::<ROWS>().0.iter_mut().zip(self.packed.as_chunks::<ROWS>().0);
            for (scaled, packed) in panels.skip(k).step_by(self.shape.d) {
                *scaled = packed.map(|x| x * rate);
            }
        }
        let [amplitude, nugget] = self.squares(z);
        fill(self.shape, scaled, amplitude, k, slopes, column);
        for j in 0..n {
            k[j * stride + j] += nugget + JITTER;
        }
        let mut k = MatMut::from_column_major_slice_with_stride_mut(k, n, n, stride);
        let mut scratch = [MaybeUninit::<u8>::uninit(); SCRATCH];
        let stack = MemStack::new(&mut scratch);
        let done = cholesky_in_place(k.as_mut(), Default::default(), Par::Seq, stack, Default::default());
        done.is_ok().then_some(k)
    }

    /// `log N(f; 0, K)`, or `-inf` where `K` has no Cholesky factor; else the gradient in `z` is written, 0 for numbers that are not of the
    /// field.
    pub(super) fn log_density(&self, z: &[f64], gradient: Option<&mut [f64]>, mut work: &mut [f64]) -> f64 {
        let (shape, n) = (self.shape, self.shape.n);
        // The factorisation handles unaligned ends separately: from a 64-byte boundary, its order depends on the matrix alone.
        let skip = work.as_ptr().align_offset(64);
        borrow(&mut work, if skip < 8 { skip } else { 0 });
        let k = borrow(&mut work, shape.len());
        let slope = borrow(&mut work, if gradient.is_some() { shape.len() } else { 0 });
        let column = borrow(&mut work, shape.stride);
        let solved = borrow(&mut work, shape.stride);
        let scaled = borrow(&mut work, self.packed.len());
        let Some(factor) = self.factor(z, &mut *k, slope, scaled, column) else {
            return f64::NEG_INFINITY;
        };
        for (j, pivot) in column[..n].iter_mut().enumerate() {
            *pivot = factor[(j, j)];
        }
        numeric::ln(&mut column[..n]);
        solved[..n].copy_from_slice(&z[self.first()..]);
        solved[n..].fill(0.0);
        let y = MatMut::from_column_major_slice_mut(&mut solved[..n], n, 1);
        solve_lower_triangular_in_place(factor.as_ref(), y, Par::Seq);
        let square = numeric::dot(&solved[..n], &solved[..n]);
        let log_p = -0.5 * square - numeric::sum(&column[..n]) - 0.5 * n as f64 * (2.0 * PI).ln();
        if log_p.is_nan() || log_p == f64::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        let Some(gradient) = gradient else {
            return log_p;
        };
        let y = MatMut::from_column_major_slice_mut(&mut solved[..n], n, 1);
        solve_upper_triangular_in_place(factor.as_ref().transpose(), y, Par::Seq);
        let inverse = borrow(&mut work, shape.len());
        self.invert(factor, inverse);
        let trace: f64 = (0..n).map(|j| k[j * shape.stride + j]).sum();
        let nugget = self.squares(z)[1];
        let along = numeric::dot(&solved[..n], &solved[..n]) - trace;
        let (scales, of_f) = gradient.split_at_mut(self.first());
        scales.fill(0.0);
        scales[self.layout.nugget] = nugget * along;
        scales[self.layout.amplitude] = square - n as f64 - (nugget + JITTER) * along;
        of_f.iter_mut().zip(&*solved).for_each(|(out, a)| *out = -a);
        self.clear(slope);
        self.clear(k);
        pulp::Arch::new().dispatch(Lengths {
            shape,
            scaled: scaled.as_chunks().0,
            slope,
            inverse: k,
            solved: solved.as_chunks().0,
            sums: borrow(&mut work, shape.d * ROWS).as_chunks_mut().0,
            out: &mut scales[self.layout.lengths..],
        });
        log_p
    }

    /// `k <- K^-1` from its factor, on and below the diagonal.
    fn invert(&self, mut factor: MatMut<'_, f64>, inverse: &mut [f64]) {
        let Shape { n, stride, .. } = self.shape;
        let mut inverse = MatMut::from_column_major_slice_with_stride_mut(inverse, n, n, stride);
        invert_lower_triangular(inverse.as_mut(), factor.as_ref(), Par::Seq);
        triangular::matmul(
            factor.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            inverse.as_ref().transpose(),
            BlockStructure::TriangularUpper,
            inverse.as_ref(),
            BlockStructure::TriangularLower,
            1.0,
            Par::Seq,
        );
    }

    /// Writes 0 above the diagonal within the panels on the diagonal, and below the last row.
    fn clear(&self, triangle: &mut [f64]) {
        let Shape { n, stride, .. } = self.shape;
        for (j, column) in triangle.chunks_exact_mut(stride).enumerate() {
            column[j / ROWS * ROWS..j].fill(0.0);
            column[n..].fill(0.0);
        }
    }

    /// Predictive mean and variance of the field at the rows of `x`, from means and variances of `z`, with the scales fixed at their
    /// means and independent field values; a variance of 0 is a known value.
    ///
    /// ```text
    /// k*' K^-1 mean,   a^2 + s^2 + 1e-6 - k*' K^-1 k* + k*' K^-1 diag(variance) K^-1 k*
    /// ```
    ///
    /// # Errors
    /// If the covariance has no Cholesky factor.
    pub(super) fn predict(
        &self,
        x: MatRef<'_, f64>,
        mean: &[f64],
        variance: &[f64],
    ) -> Result<Vec<(f64, f64)>, Error> {
        assert!(mean.len() == self.dim() && variance.len() == self.dim(), "a moment per coordinate");
        let (Shape { n, stride, d }, z) = (self.shape, mean);
        let (mean, variance) = (&mean[self.first()..], &variance[self.first()..]);
        assert_eq!(x.ncols(), d, "rows of the features of the field");
        let mut k = vec![0.0; self.shape.len()];
        let (mut scaled, mut column) = (vec![0.0; self.packed.len()], vec![0.0; stride]);
        let Some(factor) = self.factor(z, &mut k, &mut [], &mut scaled, &mut column) else {
            let reason = "the covariance at these scales has no Cholesky factor; predict at a point where the density is finite";
            return Err(Error::invalid(reason).within(self.layout.model));
        };
        let [amplitude, nugget] = self.squares(z);
        let own = amplitude + nugget + JITTER;
        let mut across = vec![0.0; n];
        let each = |i| {
            let at: Vec<f64> = self.rates(z).enumerate().map(|(k, rate)| x[(i, k)] * rate).collect();
            for (j, k) in across.iter_mut().enumerate() {
                let input = (0..d).map(|f| scaled[(j / ROWS * d + f) * ROWS + j % ROWS]);
                *k = amplitude * correlation(at.iter().copied(), input);
            }
            let y = MatMut::from_column_major_slice_mut(&mut across, n, 1);
            solve_lower_triangular_in_place(factor.as_ref(), y, Par::Seq);
            let explained = numeric::dot(&across, &across);
            let y = MatMut::from_column_major_slice_mut(&mut across, n, 1);
            solve_upper_triangular_in_place(factor.as_ref().transpose(), y, Par::Seq);
            let unknown: f64 = across.iter().zip(variance).map(|(w, v)| w * w * v).sum();
            (numeric::dot(&across, mean), (own - explained).max(0.0) + unknown)
        };
        Ok((0..x.nrows()).map(each).collect())
    }
}
