//! Products and solves of packed triangles in few dimensions, many points at a time.
//!
//! In few dimensions a column of a triangle is too short for vector instructions along it. Here points are taken four to a register,
//! and the triangle is read row by row with the sums of a row in registers. Each point goes through the operations of the forms for
//! many dimensions in the same order, and gets the same bits.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut};
use pulp::NullaryFnOnce;

/// Largest dimension of these forms.
pub(crate) const FEW: usize = 32;
/// Points of a register.
const QUAD: usize = 4;
/// Largest number of registers of a coordinate.
const REGISTERS: usize = 4;
/// Largest number of points that are taken together.
const GROUP: usize = REGISTERS * QUAD;

/// The shift of points that are copied as they are.
const ZEROS: [f64; FEW] = [0.0; FEW];

/// A coordinate of four points.
type Quad = [f64; QUAD];

/// True if these forms are the faster ones for so many numbers of points.
pub(crate) const fn are_few(dim: usize, numbers: usize) -> bool {
    dim <= FEW && numbers >= 3 * dim
}

/// Length of the memory that [`Squares`] and [`Place`] are lent.
pub(crate) const fn work_len(dim: usize) -> usize {
    if dim <= FEW { 2 * GROUP * dim } else { 0 }
}

/// Coordinates of up to `G` quads of points, a row each, in lent memory.
#[inline(always)]
fn rows<const G: usize>(memory: &mut [f64], dim: usize) -> &mut [[Quad; G]] {
    &mut memory.as_chunks_mut().0.as_chunks_mut().0[..dim]
}

/// Copies points into rows, each coordinate less `shift(i)`; missing points are copies of the last one.
#[inline(always)]
fn gather<'a, const G: usize>(
    rows: &mut [[Quad; G]],
    count: usize,
    shift: &[f64],
    point: impl Fn(usize) -> &'a [f64],
) {
    for g in 0..G {
        let at = |lane: usize| &point((g * QUAD + lane).min(count - 1))[..shift.len()];
        let points = at(0).iter().zip(at(1)).zip(at(2)).zip(at(3));
        for ((row, (((a, b), c), d)), shift) in rows.iter_mut().zip(points).zip(shift) {
            row[g] = [a - shift, b - shift, c - shift, d - shift];
        }
    }
}

/// Copies the rows to points, four coordinates of four points at a time: `put(j, i, x)` is given coordinates of point j from i on.
#[inline(always)]
fn scatter<const G: usize>(rows: &[[Quad; G]], count: usize, mut put: impl FnMut(usize, usize, &[f64])) {
    let (squares, rest) = rows.as_chunks::<QUAD>();
    for g in 0..G {
        for (s, [a, b, c, d]) in squares.iter().enumerate() {
            let (a, b, c, d) = (a[g], b[g], c[g], d[g]);
            let points: [Quad; QUAD] = [
                [a[0], b[0], c[0], d[0]],
                [a[1], b[1], c[1], d[1]],
                [a[2], b[2], c[2], d[2]],
                [a[3], b[3], c[3], d[3]],
            ];
            for (lane, point) in points[..(count - g * QUAD).min(QUAD)].iter().enumerate() {
                put(g * QUAD + lane, s * QUAD, point);
            }
        }
        for (i, row) in rest.iter().enumerate() {
            for (lane, x) in row[g][..(count - g * QUAD).min(QUAD)].iter().enumerate() {
                put(g * QUAD + lane, squares.len() * QUAD + i, std::slice::from_ref(x));
            }
        }
    }
}

/// `sums <- add(sums, L_ic x_c)` for each column c of row i before its diagonal, in their order; `rows` are the x_c.
#[inline(always)]
fn along_row<const G: usize>(
    triangle: &[f64],
    dim: usize,
    rows: &[[Quad; G]],
    mut sums: [Quad; G],
    add: impl Fn(f64, f64) -> f64,
) -> [Quad; G] {
    let mut at = rows.len();
    for (c, values) in rows.iter().enumerate() {
        let entry = triangle[at];
        for (sum, value) in sums.iter_mut().zip(values) {
            for l in 0..QUAD {
                sum[l] = add(sum[l], entry * value[l]);
            }
        }
        at += dim - c - 1;
    }
    sums
}

/// `x <- L^-1 x`; `inverse` holds the reciprocals of the diagonal.
#[inline(always)]
fn solve_rows<const G: usize>(triangle: &[f64], inverse: &[f64], rows: &mut [[Quad; G]]) {
    for (i, &scale) in inverse.iter().enumerate() {
        let (solved, rest) = rows.split_at_mut(i);
        rest[0] = along_row(triangle, inverse.len(), solved, rest[0], |x, product| x - product);
        rest[0].as_flattened_mut().iter_mut().for_each(|x| *x *= scale);
    }
}

/// `x <- start(i) + L x`, with this diagonal in place of that of the triangle.
#[inline(always)]
fn multiply_rows<const G: usize>(
    triangle: &[f64],
    diagonal: &[f64],
    rows: &mut [[Quad; G]],
    start: impl Fn(usize) -> [Quad; G],
) {
    // From the last row up: the rows above do not read it.
    for i in (0..diagonal.len()).rev() {
        let sums = along_row(triangle, diagonal.len(), &rows[..i], start(i), |sum, product| sum + product);
        for (x, sum) in rows[i].iter_mut().zip(sums) {
            for l in 0..QUAD {
                x[l] = sum[l] + diagonal[i] * x[l];
            }
        }
    }
}

/// `x <- L^-1 x` for each point; `inverse` holds the reciprocals of the diagonal.
#[inline(always)]
pub(crate) fn solve(triangle: &[f64], inverse: &[f64], points: &mut [f64]) {
    let dim = inverse.len();
    let mut rows = [[Quad::default(); 1]; FEW];
    let rows = &mut rows[..dim];
    for points in points.chunks_mut(QUAD * dim) {
        gather(rows, points.len() / dim, &ZEROS[..dim], |j| &points[j * dim..]);
        solve_rows(triangle, inverse, rows);
        scatter(rows, points.len() / dim, |j, i, x| points[j * dim + i..][..x.len()].copy_from_slice(x));
    }
}

/// `out += L x` for each point, with this diagonal in place of that of the triangle.
#[inline(always)]
pub(crate) fn multiply_add(triangle: &[f64], diagonal: &[f64], points: &[f64], out: &mut [f64]) {
    let dim = diagonal.len();
    let (mut rows, mut sums) = ([[Quad::default(); 1]; FEW], [[Quad::default(); 1]; FEW]);
    let (rows, sums) = (&mut rows[..dim], &mut sums[..dim]);
    for (points, out) in points.chunks(QUAD * dim).zip(out.chunks_mut(QUAD * dim)) {
        gather(rows, points.len() / dim, &ZEROS[..dim], |j| &points[j * dim..]);
        gather(sums, points.len() / dim, &ZEROS[..dim], |j| &out[j * dim..]);
        multiply_rows(triangle, diagonal, rows, |i| sums[i]);
        scatter(rows, out.len() / dim, |j, i, x| out[j * dim + i..][..x.len()].copy_from_slice(x));
    }
}

/// Runs `op` with registers of four numbers where there are any: with wider ones the compiler scatters rows, which is slower.
pub(crate) fn dispatch(op: impl NullaryFnOnce<Output = ()>) {
    #[cfg(target_arch = "x86_64")]
    match pulp::x86::V3::try_new() {
        Some(simd) => simd.vectorize(op),
        None => op.call(),
    }
    #[cfg(not(target_arch = "x86_64"))]
    pulp::Arch::new().dispatch(op);
}

/// Squared lengths `|L^-1 (z - m)|^2` of the columns of z; `inverse` holds the reciprocals of the diagonal.
pub(crate) struct Squares<'a> {
    pub(crate) triangle: &'a [f64],
    pub(crate) inverse: &'a [f64],
    pub(crate) mean: &'a [f64],
    pub(crate) z: MatRef<'a, f64>,
    pub(crate) squares: &'a mut [f64],
    pub(crate) work: &'a mut [f64],
}

/// Points `z = m + L eps`, one per column, with `scales` in place of the diagonal of the triangle.
pub(crate) struct Place<'a> {
    pub(crate) triangle: &'a [f64],
    pub(crate) scales: &'a [f64],
    pub(crate) mean: &'a [f64],
    pub(crate) eps: &'a [f64],
    pub(crate) z: MatMut<'a, f64>,
    /// Squared lengths of the eps, or empty if they are not asked for.
    pub(crate) squares: &'a mut [f64],
    pub(crate) work: &'a mut [f64],
}

/// Replaces numbers by their squares, and the first row by the squared lengths of the points, summed in the order of `numeric::dot`: 32
/// accumulators, of which the second half is added to the first, repeatedly.
#[inline(always)]
fn square_lengths<const G: usize>(rows: &mut [[Quad; G]]) -> &[f64] {
    let dim = rows.len();
    let flat = rows.as_flattened_mut().as_flattened_mut();
    flat.iter_mut().for_each(|x| *x *= *x);
    let mut half = FEW / 2;
    while half > 0 {
        let (low, high) = flat[..dim.min(2 * half) * G * QUAD].split_at_mut(dim.min(half) * G * QUAD);
        low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
        half /= 2;
    }
    flat
}

impl Squares<'_> {
    pub(crate) fn run(self) {
        dispatch(self);
    }

    #[inline(always)]
    fn group<const G: usize>(&mut self, first: usize, count: usize) {
        let dim = self.inverse.len();
        let rows = rows::<G>(self.work, dim);
        gather(rows, count, self.mean, |j| self.z.column(first + j));
        solve_rows(self.triangle, self.inverse, rows);
        self.squares[first..][..count].copy_from_slice(&square_lengths(rows)[..count]);
    }
}

impl NullaryFnOnce for Squares<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        for first in (0..self.squares.len()).step_by(GROUP) {
            match (self.squares.len() - first).min(GROUP) {
                count @ ..=4 => self.group::<1>(first, count),
                count @ ..=8 => self.group::<2>(first, count),
                count @ ..=12 => self.group::<3>(first, count),
                count => self.group::<REGISTERS>(first, count),
            }
        }
    }
}

impl Place<'_> {
    pub(crate) fn run(self) {
        dispatch(self);
    }

    #[inline(always)]
    fn group<const G: usize>(&mut self, first: usize, count: usize) {
        let dim = self.scales.len();
        let (points, spare) = self.work.split_at_mut(GROUP * dim);
        let rows = rows::<G>(points, dim);
        gather(rows, count, &ZEROS[..dim], |j| &self.eps[(first + j) * dim..]);
        if !self.squares.is_empty() {
            let spare = self::rows::<G>(spare, dim);
            spare.copy_from_slice(rows);
            self.squares[first..][..count].copy_from_slice(&square_lengths(spare)[..count]);
        }
        multiply_rows(self.triangle, self.scales, rows, |i| [[self.mean[i]; QUAD]; G]);
        scatter(rows, count, |j, i, x| {
            self.z.column_mut(first + j)[i..i + x.len()].copy_from_slice(x);
        });
    }
}

impl NullaryFnOnce for Place<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        for first in (0..self.z.ncols()).step_by(GROUP) {
            match (self.z.ncols() - first).min(GROUP) {
                count @ ..=4 => self.group::<1>(first, count),
                count @ ..=8 => self.group::<2>(first, count),
                count @ ..=12 => self.group::<3>(first, count),
                count => self.group::<REGISTERS>(first, count),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::packed::{MultiplyAdd, Solve, len};
    use mcsa_core::Seed;

    /// Every number of points has the bits of each point alone, which takes the form for many dimensions.
    #[test]
    fn four_points_have_the_bits_of_each_alone() {
        let mut stream = Seed::new(1).stream(0, 0);
        for dim in [1, 2, 3, 4, 5, 8, 11, 31, 32, 33] {
            let mut normals = |count: usize| {
                let mut x = vec![0.0; count];
                stream.normals_into(&mut x);
                x
            };
            let (triangle, diagonal) = (normals(len(dim)), normals(dim));
            for count in [2, 3, 4, 5, 10, 12] {
                let (points, before) = (normals(dim * count), normals(dim * count));
                let (mut solved, mut alone) = (points.clone(), points.clone());
                Solve { triangle: &triangle, inverse: &diagonal, points: &mut solved }.run();
                for point in alone.chunks_exact_mut(dim) {
                    Solve { triangle: &triangle, inverse: &diagonal, points: point }.run();
                }
                assert_eq!(solved, alone, "{dim} {count}");
                let (mut sums, mut each) = (before.clone(), before);
                let (triangle, diagonal) = (&triangle[..], &diagonal[..]);
                MultiplyAdd { triangle, diagonal, points: &points, out: &mut sums }.run();
                for (points, out) in points.chunks_exact(dim).zip(each.chunks_exact_mut(dim)) {
                    MultiplyAdd { triangle, diagonal, points, out }.run();
                }
                assert_eq!(sums, each, "{dim} {count}");
                // Counterexample: another point has other bits.
                assert_ne!(solved[..dim], points[..dim]);
            }
        }
    }
}
