//! Products and solves of packed triangles in few dimensions, many points at a time.
//!
//! In few dimensions a column of a triangle is too short for a loop along it. Here the sums of several points stay in registers.
//! In a solve a register holds one coordinate of several points, because coordinates of one point depend on each other. In a
//! product it holds consecutive coordinates of one point. Each point goes through the same operations, in the same order, as in
//! [`packed`](super::packed), and gets the same bits.

use crate::{Columns, ColumnsMut};
use faer::{MatMut, MatRef};
use pulp::{Simd, WithSimd, cast};

use super::packed::start;

/// Largest dimension of these forms.
const FEW: usize = 32;
/// Largest number of registers of a coordinate.
const REGISTERS: usize = 4;
/// Largest number of lanes of a register.
const LANES: usize = 8;

/// True if these forms are faster for points of dimension `dim` with `numbers` coordinates in all: at most 32 dimensions, and at
/// least three points.
#[inline]
pub const fn are_few(dim: usize, numbers: usize) -> bool {
    dim <= FEW && numbers >= 3 * dim
}

/// Length of the memory that [`Whiten`] is lent.
#[inline]
pub const fn work_len(dim: usize) -> usize {
    if dim <= FEW { REGISTERS * LANES * dim } else { 0 }
}

/// Runs `op` with registers of four numbers where there are any: wider ones need more points.
fn dispatch(op: impl WithSimd<Output = ()>) {
    #[cfg(target_arch = "x86_64")]
    match pulp::x86::V3::try_new() {
        Some(simd) => Simd::vectorize(simd, op),
        None => Simd::vectorize(pulp::Scalar::new(), op),
    }
    #[cfg(not(target_arch = "x86_64"))]
    pulp::Arch::new().dispatch(op);
}

/// A coordinate of the points of `G` registers.
type Row<S, const G: usize> = [<S as Simd>::f64s; G];

/// Rows in lent memory, one per coordinate.
#[inline(always)]
fn rows<S: Simd, const G: usize>(memory: &mut [f64], dim: usize) -> &mut [Row<S, G>] {
    &mut S::as_mut_simd_f64s(&mut memory[..dim * G * S::F64_LANES]).0.as_chunks_mut().0[..dim]
}

/// Copies points into rows, less `shift`; missing points are copies of the last one.
#[inline(always)]
fn gather<'a, S: Simd, const G: usize>(
    simd: S,
    rows: &mut [Row<S, G>],
    count: usize,
    shift: &[f64],
    point: impl Fn(usize) -> &'a [f64],
) {
    let dim = rows.len();
    let shift = &shift[..dim];
    for g in 0..G {
        let mut points: [&[f64]; LANES] = [&[]; LANES];
        for (lane, at) in points[..S::F64_LANES].iter_mut().enumerate() {
            *at = &point((g * S::F64_LANES + lane).min(count - 1))[..dim];
        }
        for (i, row) in rows.iter_mut().enumerate() {
            let mut lanes = [0.0; LANES];
            for lane in 0..S::F64_LANES {
                lanes[lane] = points[lane][i];
            }
            row[g] = simd.sub_f64s(S::as_simd_f64s(&lanes[..S::F64_LANES]).0[0], simd.splat_f64s(shift[i]));
        }
    }
}

/// Copies rows to points: `put(j, i, x)` is given coordinate i of point j.
#[inline(always)]
fn scatter<S: Simd, const G: usize>(
    rows: &[Row<S, G>],
    count: usize,
    mut put: impl FnMut(usize, usize, f64),
) {
    for (i, row) in rows.iter().enumerate() {
        let mut lanes = [0.0; REGISTERS * LANES];
        S::as_mut_simd_f64s(&mut lanes[..G * S::F64_LANES]).0.copy_from_slice(row);
        for (j, x) in lanes[..count].iter().enumerate() {
            put(j, i, *x);
        }
    }
}

/// `sums - entry x`, not fused: products and differences are those of every instruction set.
#[inline(always)]
fn less<S: Simd, const G: usize>(simd: S, mut sums: Row<S, G>, entry: f64, x: &Row<S, G>) -> Row<S, G> {
    let entry = simd.splat_f64s(entry);
    for (sum, &x) in sums.iter_mut().zip(x) {
        *sum = simd.sub_f64s(*sum, simd.mul_f64s(entry, x));
    }
    sums
}

/// `scale x`.
#[inline(always)]
fn times<S: Simd, const G: usize>(simd: S, mut x: Row<S, G>, scale: f64) -> Row<S, G> {
    let scale = simd.splat_f64s(scale);
    for x in &mut x {
        *x = simd.mul_f64s(*x, scale);
    }
    x
}

/// `x <- L^-1 x`, two rows at a time; `inverse` holds the reciprocals of the diagonal.
#[inline(always)]
fn solve<S: Simd, const G: usize>(simd: S, triangle: &[f64], inverse: &[f64], rows: &mut [Row<S, G>]) {
    let dim = inverse.len();
    for i in (0..dim).step_by(2) {
        let (solved, rest) = rows.split_at_mut(i);
        let pair = i + 1 < dim;
        let mut a = rest[0];
        let mut b = if pair { rest[1] } else { a };
        let mut at = i;
        for (c, x) in solved.iter().enumerate() {
            a = less(simd, a, triangle[at], x);
            b = less(simd, b, triangle[at + usize::from(pair)], x);
            at += dim - c - 1;
        }
        a = times(simd, a, inverse[i]);
        rest[0] = a;
        if pair {
            rest[1] = times(simd, less(simd, b, triangle[at + 1], &a), inverse[i + 1]);
        }
    }
}

/// Squared lengths of points, summed in the order of `numeric::dot`: 32 accumulators, of which the second half is added to the first,
/// repeatedly. The rows are overwritten.
#[inline(always)]
fn lengths<S: Simd, const G: usize>(simd: S, rows: &mut [Row<S, G>], lengths: &mut [f64]) {
    for row in rows.iter_mut() {
        for x in row {
            *x = simd.mul_f64s(*x, *x);
        }
    }
    let mut half = FEW / 2;
    while half > 0 {
        let (low, high) = rows.split_at_mut(half.min(rows.len()));
        for (low, high) in low.iter_mut().zip(high) {
            for (low, high) in low.iter_mut().zip(high) {
                *low = simd.add_f64s(*low, *high);
            }
        }
        half /= 2;
    }
    let mut lanes = [0.0; REGISTERS * LANES];
    S::as_mut_simd_f64s(&mut lanes[..G * S::F64_LANES]).0.copy_from_slice(&rows[0]);
    lengths.copy_from_slice(&lanes[..lengths.len()]);
}

/// Squared lengths `|L^-1 (z - m)|^2` of the columns of z, and whitened points `L^-1 (z - m)` unless `points` is empty; `inverse` holds
/// the reciprocals of the diagonal.
pub struct Whiten<'a> {
    /// Lower triangular matrix, packed by columns.
    pub triangle: &'a [f64],
    /// Reciprocals of the diagonal, or of the scales.
    pub inverse: &'a [f64],
    /// The mean `m`.
    pub mean: &'a [f64],
    /// The points, one per column.
    pub z: MatRef<'a, f64>,
    /// Squared lengths, one per point; empty if they are not wanted.
    pub squares: &'a mut [f64],
    /// The points, one after the other.
    pub points: &'a mut [f64],
    /// Scratch memory.
    pub work: &'a mut [f64],
}

impl Whiten<'_> {
    /// Computes the squared lengths and the whitened points with the instructions of this machine.
    pub fn run(self) {
        dispatch(self);
    }

    #[inline(always)]
    fn group<S: Simd, const G: usize>(&mut self, simd: S, first: usize, count: usize) {
        let dim = self.inverse.len();
        let rows = rows::<S, G>(self.work, dim);
        gather(simd, rows, count, self.mean, |j| self.z.column(first + j));
        solve(simd, self.triangle, self.inverse, rows);
        if !self.points.is_empty() {
            scatter::<S, G>(rows, count, |j, i, x| self.points[(first + j) * dim + i] = x);
        }
        if !self.squares.is_empty() {
            lengths(simd, rows, &mut self.squares[first..first + count]);
        }
    }
}

impl WithSimd for Whiten<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let most = REGISTERS * S::F64_LANES;
        for first in (0..self.z.ncols()).step_by(most) {
            let count = (self.z.ncols() - first).min(most);
            match count.div_ceil(S::F64_LANES) {
                1 => self.group::<S, 1>(simd, first, count),
                2 => self.group::<S, 2>(simd, first, count),
                3 => self.group::<S, 3>(simd, first, count),
                _ => self.group::<S, REGISTERS>(simd, first, count),
            }
        }
    }
}

/// Points `z = m + L eps`, one per column, with `scales` in place of the diagonal of the triangle. A register holds consecutive
/// coordinates of one point.
pub struct Place<'a> {
    /// Lower triangular matrix, packed by columns.
    pub triangle: &'a [f64],
    /// The scales.
    pub scales: &'a [f64],
    /// The mean `m`.
    pub mean: &'a [f64],
    /// Standardised points, one after the other.
    pub eps: &'a [f64],
    /// The points, one per column.
    pub z: MatMut<'a, f64>,
}

/// Largest number of points that are placed together: with their sums, a column and a product they fill the registers of AVX2.
const PLACED: usize = 10;

/// Bits of the lanes `k + 1..` of a register, from index `LANES - 1 - k` on.
const AFTER: [u64; 2 * LANES] = {
    let mut bits = [0; 2 * LANES];
    let mut lane = LANES;
    while lane < 2 * LANES {
        bits[lane] = u64::MAX;
        lane += 1;
    }
    bits
};

/// The register of numbers from `at` on; missing ones are zero.
#[inline(always)]
fn load<S: Simd>(simd: S, x: &[f64], at: usize) -> S::f64s {
    match x.get(at..at + S::F64_LANES) {
        Some(whole) => S::as_simd_f64s(whole).0[0],
        None => simd.partial_load_f64s(&x[at..]),
    }
}

impl Place<'_> {
    /// Computes the points `z` with the instructions of this machine.
    pub fn run(self) {
        dispatch(self);
    }

    /// The points `first..first + P`; returns `P`.
    #[inline(always)]
    fn group<S: Simd, const P: usize>(&mut self, simd: S, first: usize) -> usize {
        let Self { triangle, scales, mean, eps, ref mut z } = *self;
        let dim = scales.len();
        let eps = &eps[first * dim..];
        let mut noise: [&[f64]; P] = [&[]; P];
        for (p, noise) in noise.iter_mut().enumerate() {
            *noise = &eps[p * dim..][..dim];
        }
        for top in (0..dim).step_by(S::F64_LANES) {
            let end = (top + S::F64_LANES).min(dim);
            let mut sums = [load(simd, mean, top); P];
            for c in 0..top {
                let column = load(simd, triangle, start(dim, c) + top - c);
                for (sum, noise) in sums.iter_mut().zip(noise) {
                    *sum = simd.add_f64s(*sum, simd.mul_f64s(column, simd.splat_f64s(noise[c])));
                }
            }
            for c in top..end - 1 {
                // Lanes up to that of c hold entries of other columns: their products are replaced by zeros, whatever they are.
                let column = load(simd, triangle, start(dim, c) + top - c);
                let after = S::as_simd_u64s(&AFTER[LANES - 1 - (c - top)..][..S::U64_LANES]).0[0];
                for (sum, noise) in sums.iter_mut().zip(noise) {
                    let product = simd.mul_f64s(column, simd.splat_f64s(noise[c]));
                    *sum = simd.add_f64s(*sum, cast(simd.and_u64s(cast(product), after)));
                }
            }
            let scales = load(simd, scales, top);
            for (p, sum) in sums.iter_mut().enumerate() {
                // Lanes after the last coordinate are of no account.
                *sum = simd.add_f64s(*sum, simd.mul_f64s(scales, load(simd, eps, p * dim + top)));
                let places = &mut z.column_mut(first + p)[top..end];
                match places.len() == S::F64_LANES {
                    true => S::as_mut_simd_f64s(places).0[0] = *sum,
                    false => simd.partial_store_f64s(places, *sum),
                }
            }
        }
        P
    }
}

impl WithSimd for Place<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut first = 0;
        while first < self.z.ncols() {
            first += match self.z.ncols() - first {
                PLACED.. => self.group::<S, PLACED>(simd, first),
                5.. => self.group::<S, 5>(simd, first),
                2.. => self.group::<S, 2>(simd, first),
                _ => self.group::<S, 1>(simd, first),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Columns, batch};
    use faer::Mat;

    use super::{Place, Whiten};
    use crate::linear::packed::{MultiplyAdd, Solve, len};
    use crate::linear::standard;

    /// Every number of points has the bits of each point alone by the forms for many dimensions.
    #[test]
    fn many_points_have_the_bits_of_each_alone() {
        let (mut drawn, mut differs) = (0.0_f64, false);
        for dim in [1, 2, 3, 4, 5, 8, 11, 12, 31, 32] {
            let mut normals = |count: usize| {
                drawn += 1.0;
                (0..count).map(|i| 1.5 * (1.7 * i as f64 + drawn).sin() + 0.01).collect::<Vec<f64>>()
            };
            let (triangle, diagonal, mean) = (normals(len(dim)), normals(dim), normals(dim));
            for count in [1, 2, 3, 4, 5, 10, 12, 17, 26] {
                let x = normals(dim * count);
                let (mut points, mut squares) = (vec![0.0; dim * count], vec![0.0; count]);
                Whiten {
                    triangle: &triangle,
                    inverse: &diagonal,
                    mean: &mean,
                    z: batch(&x, dim, count),
                    squares: &mut squares,
                    points: &mut points,
                    work: &mut vec![f64::NAN; super::work_len(dim)],
                }
                .run();
                let mut z = Mat::zeros(dim, count);
                Place { triangle: &triangle, scales: &diagonal, mean: &mean, eps: &x, z: z.as_mut() }.run();
                for (j, x) in x.chunks_exact(dim).enumerate() {
                    let mut alone: Vec<f64> = x.iter().zip(&mean).map(|(x, mean)| x - mean).collect();
                    Solve { triangle: &triangle, inverse: &diagonal, points: &mut alone }.run();
                    assert_eq!(points[j * dim..][..dim], alone, "{dim} {count}");
                    assert_eq!(squares[j], standard::dot(&alone, &alone), "{dim} {count}");
                    let mut alone = mean.clone();
                    MultiplyAdd { triangle: &triangle, diagonal: &diagonal, points: x, out: &mut alone }
                        .run();
                    assert_eq!(z.as_ref().column(j), alone, "{dim} {count}");
                    // Counterexample: a mean that is an ulp away is seen.
                    let mut apart = mean.clone();
                    apart[0] *= 1.0 + f64::EPSILON;
                    MultiplyAdd { triangle: &triangle, diagonal: &diagonal, points: x, out: &mut apart }
                        .run();
                    differs |= apart != alone;
                }
            }
        }
        assert!(differs);
    }

    /// A coordinate that is no number is one of the coordinates after it alone, as for many dimensions.
    #[test]
    fn what_is_no_number_does_not_spread() {
        for (dim, at) in [(3, 1), (11, 0), (11, 5), (11, 9), (11, 10)] {
            let (triangle, ones) = (vec![0.5; len(dim)], vec![1.0; dim]);
            let mut x = vec![1.0; 12 * dim];
            x[dim + at] = f64::NAN;
            let mut z = Mat::zeros(dim, 12);
            Place { triangle: &triangle, scales: &ones, mean: &ones, eps: &x, z: z.as_mut() }.run();
            for j in 0..12 {
                for i in 0..dim {
                    assert_eq!(z[(i, j)].is_nan(), j == 1 && i >= at, "{dim} {at}: {i} {j}");
                }
            }
        }
    }
}
