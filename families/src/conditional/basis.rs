//! Basis V of the children: geometric mean of covariances, and joint diagonalisation.

use faer::{Mat, MatRef, Side};

use super::triangle;

/// Ridge of a covariance, in units of its mean eigenvalue.
const RIDGE: f64 = 1e-5;
/// Sweeps of rotations, and the sine below which a rotation is none.
const SWEEPS: usize = 40;
const LEAST_SINE: f64 = 1e-10;

/// Second moments of the columns of `x` over some rows, with a ridge.
fn moments(x: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
    let taken = Mat::from_fn(rows.len(), x.ncols(), |j, i| x[(rows[j], i)]);
    let mut square = taken.transpose() * &taken * faer::Scale(1.0 / rows.len() as f64);
    let ridge = RIDGE * trace(&square) / square.nrows() as f64;
    (0..square.nrows()).for_each(|i| square[(i, i)] += ridge);
    square
}

fn trace(square: &Mat<f64>) -> f64 {
    (0..square.nrows()).map(|i| square[(i, i)]).sum()
}

/// Covariance S of residuals from residuals and scores, one draw per row: the geometric mean of the covariance A of residuals and of
/// the inverse of that B of scores, for which `S B S = A` (Bhatia 2007, section 4.1).
///
/// ```text
/// A = K K^T,   S = K (K^T B K)^(-1/2) K^T
/// ```
/// A Gaussian has `A = B^-1 = S`; `None` if a matrix is not positive definite.
pub(super) fn geometric_mean(
    residuals: MatRef<'_, f64>,
    scores: MatRef<'_, f64>,
    rows: &[usize],
) -> Option<Mat<f64>> {
    let factor = moments(residuals, rows).llt(Side::Lower).ok()?.L().to_owned();
    let middle = factor.transpose() * moments(scores, rows) * &factor;
    let eigen = middle.self_adjoint_eigen(Side::Lower).ok()?;
    let mut root = &factor * eigen.U();
    for (k, value) in eigen.S().column_vector().iter().enumerate() {
        let root4 = value.powf(-0.25);
        root.col_mut(k).iter_mut().for_each(|entry| *entry *= root4);
    }
    let mean = &root * root.transpose();
    mean.is_all_finite().then_some(mean)
}

/// Basis V with `V V^T` the geometric mean of all draws: its Cholesky factor K, or, with `drivers`, K times the rotation that makes the
/// geometric means of the draws in each quarter of each driver as diagonal as possible.
pub(super) fn basis(
    residuals: MatRef<'_, f64>,
    scores: MatRef<'_, f64>,
    drivers: Option<MatRef<'_, f64>>,
) -> Option<Mat<f64>> {
    let (count, dim) = (residuals.nrows(), residuals.ncols());
    let all: Vec<usize> = (0..count).collect();
    let factor = geometric_mean(residuals, scores, &all)?.llt(Side::Lower).ok()?.L().to_owned();
    let Some(drivers) = drivers else { return Some(factor) };
    let mut white = residuals.transpose().to_owned();
    faer::linalg::triangular_solve::solve_lower_triangular_in_place(
        factor.as_ref(),
        white.as_mut(),
        faer::Par::Seq,
    );
    let (white, scores) = (white.transpose().to_owned(), scores * &factor);
    let mut means = vec![];
    for k in 0..drivers.ncols() {
        let mut order = all.clone();
        order.sort_by(|&a, &b| drivers[(a, k)].total_cmp(&drivers[(b, k)]));
        for quarter in order.chunks(count.div_ceil(4)) {
            let mean = geometric_mean(white.as_ref(), scores.as_ref(), quarter)?;
            means.push(faer::Scale(dim as f64 / trace(&mean)) * mean);
        }
    }
    Some(factor * joint_rotation(&mut means, dim))
}

/// Rotation U for which all `U^T C U` are as diagonal as possible, by plane rotations in closed form (Cardoso & Souloumiac 1996).
/// The matrices are replaced by `U^T C U`.
///
/// ```text
/// h = (C_pp - C_qq, 2 C_pq),   G = sum h h^T,   angle = atan2(2 G_12, G_11 - G_22 + |(G_11 - G_22, 2 G_12)|) / 2
/// ```
fn joint_rotation(matrices: &mut [Mat<f64>], dim: usize) -> Mat<f64> {
    let mut rotation = Mat::identity(dim, dim);
    for _ in 0..SWEEPS {
        let mut is_still = true;
        for p in 0..dim {
            for q in p + 1..dim {
                let (mut on, mut off) = (0.0, 0.0);
                for matrix in &*matrices {
                    let (gap, cross) = (matrix[(p, p)] - matrix[(q, q)], 2.0 * matrix[(p, q)]);
                    on += gap * gap - cross * cross;
                    off += 2.0 * gap * cross;
                }
                let (sine, cosine) = (0.5 * f64::atan2(off, on + on.hypot(off))).sin_cos();
                if sine.abs() < LEAST_SINE {
                    continue;
                }
                is_still = false;
                let turn = |a: &mut f64, b: &mut f64| {
                    (*a, *b) = (cosine * *a + sine * *b, cosine * *b - sine * *a);
                };
                let turn_columns = |matrix: &mut Mat<f64>| {
                    let (left, mut right) = matrix.as_mut().split_at_col_mut(q);
                    let columns = left.col_mut(p).iter_mut().zip(right.as_mut().col_mut(0).iter_mut());
                    columns.for_each(|(a, b)| turn(a, b));
                };
                turn_columns(&mut rotation);
                for matrix in &mut *matrices {
                    turn_columns(matrix);
                    for k in 0..dim {
                        let (mut a, mut b) = (matrix[(p, k)], matrix[(q, k)]);
                        turn(&mut a, &mut b);
                        (matrix[(p, k)], matrix[(q, k)]) = (a, b);
                    }
                }
            }
        }
        if is_still {
            break;
        }
    }
    rotation
}

/// Order of the rows, and unit triangles A and B, for which the reordered `diag(units) V` is `A B^T` times a diagonal: elimination with
/// row pivots, chosen without the units.
pub(super) fn unit_factors(mut v: Mat<f64>, units: &[f64]) -> (Vec<usize>, Vec<f64>, Vec<f64>) {
    let dim = v.nrows();
    let mut order: Vec<usize> = (0..dim).collect();
    for j in 0..dim {
        let pivot = (j..dim).max_by(|&a, &b| v[(a, j)].abs().total_cmp(&v[(b, j)].abs())).unwrap_or(j);
        order.swap(j, pivot);
        for k in 0..dim {
            (v[(j, k)], v[(pivot, k)]) = (v[(pivot, k)], v[(j, k)]);
        }
        for i in j + 1..dim {
            let ratio = v[(i, j)] / v[(j, j)];
            v[(i, j)] = ratio;
            (j + 1..dim).for_each(|k| v[(i, k)] -= ratio * v[(j, k)]);
        }
    }
    let ratio = |i: usize, j: usize| units[order[i]] / units[order[j]];
    let lower = triangle::from_fn(dim, |i, j| v[(i, j)] * ratio(i, j));
    let upper = triangle::from_fn(dim, |i, j| v[(j, i)] / v[(i, i)] * ratio(j, i));
    (order, lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditional::triangle::Unit;
    use faer::mat;

    #[test]
    fn a_pencil_is_diagonalised() {
        let basis = mat![[1.0, 0.5, 0.0], [-0.5, 1.0, 0.3], [0.2, -0.4, 1.0]];
        let rotation = basis.qr().compute_Q();
        let turned = |values: [f64; 3]| {
            let scaled = Mat::from_fn(3, 3, |i, j| rotation[(i, j)] * values[j]);
            scaled * rotation.transpose()
        };
        let largest_off = |matrices: &[Mat<f64>]| {
            let of =
                |m: &Mat<f64>| [m[(0, 1)], m[(0, 2)], m[(1, 2)]].iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            matrices.iter().map(of).fold(0.0, f64::max)
        };
        let mut matrices = vec![turned([1.0, 1.0, 3.0]), turned([0.5, 2.0, 2.0])];
        joint_rotation(&mut matrices, 3);
        assert!(largest_off(&matrices) < 1e-12);
        // Counterexample: two matrices that do not commute have no such rotation.
        let mut matrices =
            vec![turned([1.0, 2.0, 3.0]), mat![[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]];
        joint_rotation(&mut matrices, 3);
        assert!(largest_off(&matrices) > 0.1);
    }

    #[test]
    fn unit_triangles_are_a_basis_up_to_scales() {
        let (v, units) = (mat![[0.1, 2.0, 1.0], [-3.0, 0.5, 0.2], [1.0, 1.0, -1.0]], [10.0, 1.0, 0.1]);
        let (order, lower, upper) = unit_factors(v.clone(), &units);
        let ratios = (0..3).map(|j| {
            let mut column = [0.0; 3];
            column[j] = 1.0;
            Unit(&upper).multiply_transposed(&mut column);
            Unit(&lower).multiply(&mut column);
            [0, 1, 2].map(|i| units[order[i]] * v[(order[i], j)] / column[i])
        });
        assert!({ ratios }.all(|r| (r[0] - r[1]).abs().max((r[0] - r[2]).abs()) < 1e-12 * r[0].abs()));
        // Counterexample: without the pivot, the small first entry would come first.
        assert_eq!(order[0], 1);
    }
}
