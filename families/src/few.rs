//! Products and solves of packed triangles in few dimensions, four points at a time.
//!
//! In few dimensions a column of a triangle is too short for vector instructions along it, so four points are taken at a time, one per lane.
//! Each point goes through the operations of the forms for many dimensions in the same order, and gets the same bits.

/// Largest dimension of these forms.
pub(crate) const FEW: usize = 32;
const TOGETHER: usize = 4;

/// A coordinate of four points.
type Row = [f64; TOGETHER];

/// True if these forms are the faster ones for so many numbers of points.
pub(crate) const fn are_few(dim: usize, numbers: usize) -> bool {
    dim <= FEW && numbers >= 3 * dim
}

/// Rows of up to four points; missing points are copies of the last one.
#[inline(always)]
fn gather(points: &[f64], rows: &mut [Row]) {
    let (dim, last) = (rows.len(), points.len() / rows.len() - 1);
    let [a, b, c, d] = [0, 1, 2, 3].map(|lane: usize| &points[lane.min(last) * dim..][..dim]);
    for ((((row, a), b), c), d) in rows.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *row = [*a, *b, *c, *d];
    }
}

#[inline(always)]
fn scatter(rows: &[Row], points: &mut [f64]) {
    for (lane, point) in points.chunks_exact_mut(rows.len()).enumerate().take(TOGETHER) {
        rows.iter().zip(point).for_each(|(row, x)| *x = row[lane]);
    }
}

/// `x <- L^-1 x` for each point; `inverse` holds the reciprocals of the diagonal.
#[inline(always)]
pub(crate) fn solve(triangle: &[f64], inverse: &[f64], points: &mut [f64]) {
    let dim = inverse.len();
    let mut rows = [Row::default(); FEW];
    let rows = &mut rows[..dim];
    for points in points.chunks_mut(TOGETHER * dim) {
        gather(points, rows);
        let mut columns = triangle;
        for c in 0..dim {
            let (row, below) = rows[c..].split_first_mut().expect("a row per coordinate");
            row.iter_mut().for_each(|x| *x *= inverse[c]);
            let values = *row;
            let (column, rest) = columns.split_at(dim - c);
            for (x, entry) in below.iter_mut().zip(&column[1..]) {
                for l in 0..TOGETHER {
                    x[l] -= entry * values[l];
                }
            }
            columns = rest;
        }
        scatter(rows, points);
    }
}

/// `out += L x` for each point, with this diagonal in place of that of the triangle.
#[inline(always)]
pub(crate) fn multiply_add(triangle: &[f64], diagonal: &[f64], points: &[f64], out: &mut [f64]) {
    let dim = diagonal.len();
    let (mut rows, mut sums) = ([Row::default(); FEW], [Row::default(); FEW]);
    let (rows, sums) = (&mut rows[..dim], &mut sums[..dim]);
    for (points, out) in points.chunks(TOGETHER * dim).zip(out.chunks_mut(TOGETHER * dim)) {
        gather(points, rows);
        gather(out, sums);
        let mut columns = triangle;
        for (c, &values) in rows.iter().enumerate() {
            let (sum, below) = sums[c..].split_first_mut().expect("a row per coordinate");
            for l in 0..TOGETHER {
                sum[l] += diagonal[c] * values[l];
            }
            let (column, rest) = columns.split_at(dim - c);
            for (sum, entry) in below.iter_mut().zip(&column[1..]) {
                for l in 0..TOGETHER {
                    sum[l] += entry * values[l];
                }
            }
            columns = rest;
        }
        scatter(sums, out);
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
