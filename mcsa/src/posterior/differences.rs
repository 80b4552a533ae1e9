//! Gradient and curvature of a log density by differences.

use faer::MatRef;
use mcsa_core::{Columns, Curvature, Gradient, LogDensity, batch, borrow};

/// Log density with a gradient by forward differences and a curvature by central differences of that gradient, for coordinates in which
/// it changes over distances of about one.
///
/// ```text
/// g_i(z) = (log p(z + h e_i) - log p(z)) / h,   H v = (g(z + k v) - g(z - k v)) / (2 k),   h = 10^-4, k = 10^-3
/// ```
/// A gradient takes `d + 1` evaluations. Its error is `h / 2` times the second derivative, and rounding of `log p` divided by h.
pub(crate) struct Differences<'a, P: ?Sized>(pub(crate) &'a P);

/// Distance h of the points of a gradient.
const SLOPE: f64 = 1e-4;
/// Distance k of the gradients of a curvature.
const BEND: f64 = 1e-3;

impl<P: LogDensity + ?Sized> LogDensity for Differences<'_, P> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        let dim = self.0.dim();
        (dim + 2) * (dim + 1) + 2 * dim + self.0.work_len(columns.max(dim + 1))
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.0.log_density(z, work)
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.0.log_densities(z, out, work);
    }
}

impl<P: LogDensity + ?Sized> Gradient for Differences<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let dim = z.len();
        let points = borrow(&mut work, dim * (dim + 1));
        let values = borrow(&mut work, dim + 1);
        for (i, point) in points.chunks_exact_mut(dim).enumerate() {
            point.copy_from_slice(z);
            // The last point is z itself.
            if let Some(coordinate) = point.get_mut(i) {
                *coordinate += SLOPE;
            }
        }
        let points = batch(points, dim, dim + 1);
        self.0.log_densities(points, values, work);
        let value = values[dim];
        for (i, slope) in gradient.iter_mut().enumerate() {
            // The distance that rounding left.
            *slope = (values[i] - value) / (points.column(i)[i] - z[i]);
        }
        value
    }
}

impl<P: LogDensity + ?Sized> Curvature for Differences<'_, P> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        let [moved, behind] = [(); 2].map(|()| borrow(&mut work, z.len()));
        let mut at = |distance: f64, gradient: &mut [f64]| {
            for ((moved, z), v) in moved.iter_mut().zip(z).zip(v) {
                *moved = z + distance * v;
            }
            self.gradient_into(moved, gradient, work);
        };
        at(-BEND, behind);
        at(BEND, out);
        out.iter_mut().zip(&*behind).for_each(|(ahead, behind)| *ahead = (*ahead - behind) / (2.0 * BEND));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::from_fn;

    #[test]
    fn slopes_and_curvature_are_those_of_a_quadratic() {
        // log p = 1e6 - (3 x^2 + 2 x y + y^2) / 2.
        let density = from_fn(2, |z| 1e6 - 0.5 * (3.0 * z[0] * z[0] + 2.0 * z[0] * z[1] + z[1] * z[1]));
        let target = Differences(&density);
        let mut work = vec![f64::NAN; target.work_len(1)];
        let (z, mut gradient, mut column) = ([0.5, -2.0], [0.0; 2], [0.0; 2]);
        let value = target.gradient_into(&z, &mut gradient, &mut work);
        assert!((value - density.log_density(&z, &mut [])).abs() < 1e-9);
        for (found, exact) in gradient.iter().zip([0.5, 1.5]) {
            assert!((found - exact).abs() < 2e-4, "{gradient:?}");
        }
        target.hessian_vector_into(&z, &[1.0, 0.0], &mut column, &mut work);
        for (found, exact) in column.iter().zip([-3.0, -1.0]) {
            assert!((found - exact).abs() < 2e-3, "{column:?}");
        }
        // Counterexample: another curvature.
        assert!((column[0] + 3.1).abs() > 2e-3);
    }
}
