//! Kernel Stein discrepancy.

use faer::MatRef;
use mcsa_core::Columns;

/// Kernel Stein discrepancy between points and a density, from the gradients of `log p` at the points, with the inverse
/// multiquadric kernel `k(x, y) = (1 + |x - y|^2)^(-1/2)` (Gorham & Mackey 2017).
///
/// ```text
/// KSD^2 = 1/n^2 sum_ij u(x_i, x_j),    s = grad log p
/// u(x, y) = s(x).s(y) k + s(x).grad_y k + s(y).grad_x k + trace grad_x grad_y k
/// ```
/// `E_p[u(x, .)] = 0` at every x, so the discrepancy measures the distance to p without its normaliser. For this kernel it tends
/// to zero only if the points converge to p. The diagonal is included: `n` exact draws have `E[KSD^2] = E[|s|^2 + d] / n`. The
/// discrepancy hardly detects wrong proportions of distant modes. Its computation visits `n^2 / 2` pairs of points.
///
/// Points are columns; scale them first if coordinates have different units. NaN if there is no point, the shapes differ or a
/// number is not finite.
pub fn stein_discrepancy(points: MatRef<'_, f64>, gradients: MatRef<'_, f64>) -> f64 {
    let n = points.ncols();
    if n == 0 || points.nrows() == 0 || points.shape() != gradients.shape() {
        return f64::NAN;
    }
    let mut total = 0.0;
    for j in 0..n {
        for i in 0..j {
            total += 2.0 * stein_kernel(at(points, gradients, i), at(points, gradients, j));
        }
        total += stein_kernel(at(points, gradients, j), at(points, gradients, j));
    }
    // The sum of a positive definite kernel is negative only by rounding; NaN and infinities are kept.
    let square = total / (n * n) as f64;
    if square.is_finite() { square.max(0.0).sqrt() } else { f64::NAN }
}

/// A point, and the gradient of log p at it.
type Place<'a> = (&'a [f64], &'a [f64]);

fn at<'a>(points: MatRef<'a, f64>, gradients: MatRef<'a, f64>, j: usize) -> Place<'a> {
    (points.column(j), gradients.column(j))
}

fn stein_kernel((x, slope_x): Place<'_>, (y, slope_y): Place<'_>) -> f64 {
    let (mut square, mut slopes, mut along) = (0.0, 0.0, 0.0);
    for k in 0..x.len() {
        let apart = x[k] - y[k];
        square += apart * apart;
        slopes += slope_x[k] * slope_y[k];
        along += (slope_x[k] - slope_y[k]) * apart;
    }
    // With b = -1/2: grad_x k = 2 b s^(b-1) (x - y), and the trace is -2 b d s^(b-1) - 4 b (b-1) s^(b-2) |x - y|^2.
    let s = 1.0 + square;
    let root = s.sqrt();
    slopes / root + (along + x.len() as f64) / (s * root) - 3.0 * square / (s * s * root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;
    use mcsa_core::Seed;

    /// One point: `|s|^2 + d`.
    #[test]
    fn one_point_by_hand() {
        let (z, slope) = (faer::mat![[0.3], [2.0]], faer::mat![[-0.3], [-2.0]]);
        let exact = (0.09_f64 + 4.0 + 2.0).sqrt();
        assert!((stein_discrepancy(z.as_ref(), slope.as_ref()) - exact).abs() < 1e-15);
    }

    /// `integral p(y) u(x, y) dy = 0` at every x by the trapezoidal rule, which is exact to rounding here; for a density shifted
    /// by a half it must not vanish.
    #[test]
    fn the_target_annihilates_the_stein_kernel() {
        for x in [-2.0_f64, 0.1, 3.0] {
            let integral = |shift: f64| -> f64 {
                let node = |k: i32| 0.01 * f64::from(k);
                (-1_200..=1_200)
                    .map(node)
                    .map(|y| {
                        let density = (-0.5 * (y - shift) * (y - shift)).exp() / std::f64::consts::TAU.sqrt();
                        0.01 * density * stein_kernel((&[x], &[-x]), (&[y], &[-y]))
                    })
                    .sum()
            };
            assert!(integral(0.0).abs() < 1e-12, "{x}: {}", integral(0.0));
            assert!(integral(0.5).abs() > 1e-3, "{x}: {}", integral(0.5));
        }
    }

    /// Exact draws in three dimensions: `n KSD^2` has mean 6 and hardly reaches 25; draws shifted by a half are far above.
    #[test]
    fn exact_draws_are_near_and_moved_draws_are_not() {
        let n = 400;
        let mut stream = Seed::new(4).stream(0, 0);
        let draws = Mat::from_fn(3, n, |_, _| stream.normal());
        let discrepancy = |shift: f64| {
            let z = Mat::from_fn(3, n, |i, j| draws[(i, j)] + shift);
            let slope = Mat::from_fn(3, n, |i, j| -z[(i, j)]);
            stein_discrepancy(z.as_ref(), slope.as_ref()).powi(2) * n as f64
        };
        assert!(discrepancy(0.0) < 25.0, "{}", discrepancy(0.0));
        assert!(discrepancy(0.5) > 60.0, "{}", discrepancy(0.5));
    }

    #[test]
    fn what_says_nothing_is_nan() {
        let good = Mat::from_fn(2, 3, |i, j| (i + j) as f64);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut broken = good.clone();
            broken[(1, 2)] = bad;
            assert!(stein_discrepancy(good.as_ref(), broken.as_ref()).is_nan());
            assert!(stein_discrepancy(broken.as_ref(), good.as_ref()).is_nan());
        }
        assert!(stein_discrepancy(Mat::zeros(2, 0).as_ref(), Mat::zeros(2, 0).as_ref()).is_nan());
        assert!(stein_discrepancy(good.as_ref(), Mat::zeros(2, 2).as_ref()).is_nan());
    }
}
