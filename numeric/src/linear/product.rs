//! Small matrix products with a fixed order of summation.
//!
//! Every entry of the result is a chain of `fma` over the inner index, in order, starting from the entry's old value. It does not
//! depend on the number of columns beside it, nor on where a batch was divided: each column has the bits that it has alone. A
//! general matrix product chooses its blocks by shape and cannot guarantee this.

use pulp::{Arch, Simd, WithSimd};

/// `C += A B`; `A` is `rows x depth`, `B` is `depth x columns`, all column-major. With a batch as `B` it evaluates a layer of a
/// network.
pub fn add_product(rows: usize, depth: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    assert_eq!(a.len(), rows * depth, "A is rows x depth");
    if rows == 0 || depth == 0 {
        return;
    }
    assert_eq!(b.len() / depth, c.len() / rows, "a column of C per column of B");
    Arch::new().dispatch(Product::<false> { rows, depth, columns: c.len() / rows, a, b, c });
}

/// `C += sum_j a_j b_j^T` in the order of `j`; points `a_j` have `rows` numbers, `b_j` have `columns`. It is the gradient of a
/// layer.
pub fn add_outers(rows: usize, columns: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    assert_eq!(c.len(), rows * columns, "C is rows x columns");
    if rows == 0 || columns == 0 {
        return;
    }
    assert_eq!(a.len() / rows, b.len() / columns, "as many points on either side");
    Arch::new().dispatch(Product::<true> { rows, depth: a.len() / rows, columns, a, b, c });
}

/// `out <- A^T`; `A` is `rows x columns`. Computed in small squares, because rows of one are columns of the other.
pub fn transpose_into(rows: usize, a: &[f64], out: &mut [f64]) {
    const SIDE: usize = 8;
    assert_eq!(a.len(), out.len(), "as many numbers");
    let columns = a.len().checked_div(rows).unwrap_or(0);
    for top in (0..rows).step_by(SIDE) {
        for left in (0..columns).step_by(SIDE) {
            for i in top..rows.min(top + SIDE) {
                let row = &mut out[i * columns + left..i * columns + columns.min(left + SIDE)];
                row.iter_mut().enumerate().for_each(|(k, entry)| *entry = a[(left + k) * rows + i]);
            }
        }
    }
}

/// Product `C += A B`, or `C += A B^T` if `TRANSPOSED`.
struct Product<'a, const TRANSPOSED: bool> {
    rows: usize,
    depth: usize,
    columns: usize,
    a: &'a [f64],
    b: &'a [f64],
    c: &'a mut [f64],
}

impl<const T: bool> WithSimd for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = S::F64_LANES;
        let mut top = 0;
        while top < self.rows {
            let left = self.rows - top;
            // Eight lanes come with 32 registers, fewer lanes with 16; they hold the sums and the operands.
            top += if lanes >= 8 && left >= 8 * lanes && self.columns < 4 {
                self.band::<S, 8, false>(simd, top)
            } else if lanes >= 8 && left >= 4 * lanes {
                self.band::<S, 4, false>(simd, top)
            } else if left >= 2 * lanes {
                self.band::<S, 2, false>(simd, top)
            } else if left == lanes {
                self.band::<S, 1, false>(simd, top)
            } else if left > lanes {
                self.band::<S, 1, true>(simd, top)
            } else {
                self.band::<S, 0, true>(simd, top)
            };
        }
    }
}

impl<const T: bool> Product<'_, T> {
    /// Rows from `top` in `FULL` registers, and in a partial one if `PART`, times all columns.
    #[inline(always)]
    fn band<S: Simd, const FULL: usize, const PART: bool>(&mut self, simd: S, top: usize) -> usize {
        let height = if PART { self.rows - top } else { FULL * S::F64_LANES };
        let mut first = 0;
        while first < self.columns {
            let left = self.columns - first;
            first += if FULL < 8 && S::F64_LANES >= 8 && left >= 6 {
                self.tile::<S, FULL, PART, 6>(simd, top, height, first)
            } else if FULL < 8 && left >= 4 {
                self.tile::<S, FULL, PART, 4>(simd, top, height, first)
            } else {
                self.tile::<S, FULL, PART, 1>(simd, top, height, first)
            };
        }
        height
    }

    /// Rows as in [`band`](Self::band), times `C` columns from `first`: every sum stays in its register until it is complete.
    #[inline(always)]
    fn tile<S: Simd, const FULL: usize, const PART: bool, const C: usize>(
        &mut self,
        simd: S,
        top: usize,
        height: usize,
        first: usize,
    ) -> usize {
        let zero = simd.splat_f64s(0.0);
        let (mut sums, mut last) = ([[zero; FULL]; C], [zero; C]);
        for (c, (sums, last)) in sums.iter_mut().zip(&mut last).enumerate() {
            let column = &self.c[(first + c) * self.rows + top..][..height];
            let (body, tail) = S::as_simd_f64s(column);
            sums.copy_from_slice(&body[..FULL]);
            if PART {
                *last = simd.partial_load_f64s(tail);
            }
        }
        let columns: [&[f64]; C] = std::array::from_fn(|c| {
            if T { &self.b[..0] } else { &self.b[(first + c) * self.depth..][..self.depth] }
        });
        for (t, a) in self.a.chunks_exact(self.rows).enumerate() {
            let (body, tail) = S::as_simd_f64s(&a[top..top + height]);
            let body = &body[..FULL];
            let part = if PART { simd.partial_load_f64s(tail) } else { zero };
            let row = if T { &self.b[t * self.columns + first..][..C] } else { &[][..] };
            for c in 0..C {
                let b = simd.splat_f64s(if T { row[c] } else { columns[c][t] });
                for r in 0..FULL {
                    sums[c][r] = simd.mul_add_e_f64s(body[r], b, sums[c][r]);
                }
                if PART {
                    last[c] = simd.mul_add_e_f64s(part, b, last[c]);
                }
            }
        }
        for (c, (sums, last)) in sums.iter().zip(last).enumerate() {
            let column = &mut self.c[(first + c) * self.rows + top..][..height];
            let (body, tail) = S::as_mut_simd_f64s(column);
            body[..FULL].copy_from_slice(sums);
            if PART {
                simd.partial_store_f64s(tail, last);
            }
        }
        C
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, phase: f64) -> Vec<f64> {
        (0..count).map(|k| (1.7 * k as f64 + phase).sin()).collect()
    }

    const SHAPES: [(usize, usize, usize); 9] = [
        (1, 1, 1),
        (5, 64, 13),
        (10, 7, 6),
        (64, 5, 17),
        (64, 64, 9),
        (8, 3, 4),
        (23, 0, 3),
        (0, 3, 2),
        (17, 2, 0),
    ];

    /// Compares both products, with one instruction set, with reference sums.
    fn run(simd: impl Simd, (rows, depth, columns): (usize, usize, usize)) -> [Vec<f64>; 3] {
        let (a, b) = (numbers(rows * depth, 0.1), numbers(depth * columns, 0.7));
        let mut flipped = b.clone();
        transpose_into(depth, &b, &mut flipped);
        let start = numbers(rows * columns, 0.4);
        let (mut product, mut outers, mut sums) = (start.clone(), start.clone(), start);
        let c = &mut product[..];
        Simd::vectorize(simd, Product::<false> { rows, depth, columns, a: &a, b: &b, c });
        let c = &mut outers[..];
        Simd::vectorize(simd, Product::<true> { rows, depth, columns, a: &a, b: &flipped, c });
        for (at, sum) in sums.iter_mut().enumerate() {
            let (i, c) = (at % rows, at / rows);
            *sum += (0..depth).map(|t| a[t * rows + i] * b[c * depth + t]).sum::<f64>();
        }
        [product, outers, sums]
    }

    #[test]
    fn every_backend_multiplies() {
        for shape in SHAPES.into_iter().filter(|shape| shape.0 * shape.1 > 0) {
            let mut found = vec![run(pulp::Scalar, shape)];
            #[cfg(target_arch = "x86_64")]
            found.extend(pulp::x86::V3::try_new().map(|simd| run(simd, shape)));
            #[cfg(target_arch = "x86_64")]
            found.extend(pulp::x86::V4::try_new().map(|simd| run(simd, shape)));
            for [product, outers, sums] in found {
                assert_eq!(product, outers, "{shape:?}");
                assert!(product.iter().zip(&sums).all(|(a, b)| (a - b).abs() < 1e-13), "{shape:?}");
            }
        }
    }

    #[test]
    fn a_column_has_the_same_bits_alone_and_in_company() {
        for (rows, depth, columns) in SHAPES {
            let (a, b, start) =
                (numbers(rows * depth, 0.1), numbers(depth * columns, 0.7), numbers(rows * columns, 0.4));
            let (mut together, mut alone) = (start.clone(), start);
            add_product(rows, depth, &a, &b, &mut together);
            for c in 0..columns {
                add_product(rows, depth, &a, &b[c * depth..][..depth], &mut alone[c * rows..][..rows]);
            }
            assert_eq!(together, alone, "{rows} x {depth} x {columns}");

            // Points a_j of `rows` numbers and b_j of `columns`, one after the other.
            let (b, start) = (numbers(columns * depth, 0.7), numbers(rows * columns, 0.4));
            let (mut together, mut alone) = (start.clone(), start);
            add_outers(rows, columns, &a, &b, &mut together);
            for j in 0..depth {
                let (a, b) = (&a[j * rows..][..rows], &b[j * columns..][..columns]);
                add_outers(rows, columns, a, b, &mut alone);
            }
            assert_eq!(together, alone, "{depth} points of {rows} and {columns}");
        }
    }
}
