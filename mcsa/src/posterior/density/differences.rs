//! Gradient and curvature of a log density by differences.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Curvature, Gradient, LogDensity, batch, batch_mut, borrow};

/// Log density with a gradient by forward differences and a curvature by central differences of that gradient, for coordinates in which
/// it changes over distances of about a scale, and about one for the curvature.
///
/// ```text
/// g_i(z) = (log p(z + h_i e_i) - log p(z)) / h_i,   H v = (g(z + k v) - g(z - k v)) / (2 k),   h_i = 10^-4 scale_i, k = 10^-3
/// ```
/// A gradient takes `d + 1` evaluations. Its error is `h / 2` times the second derivative, and rounding of `log p` divided by h. It is a
/// function of z, so that leapfrog steps with it are reversible and preserve volume, and chains are exact for p.
pub(crate) struct Differences<'a, P: ?Sized> {
    density: &'a P,
    distances: Vec<f64>,
}

/// Distance h of the points of a gradient, in units of the scale.
const SLOPE: f64 = 1e-4;
/// Error `h / 2` of a gradient at curvature one and scale one.
pub(crate) const OFFSET: f64 = 0.5 * SLOPE;
/// Distance k of the gradients of a curvature.
const BEND: f64 = 1e-3;

impl<'a, P: LogDensity + ?Sized> Differences<'a, P> {
    /// Differences of a density whose scales are one.
    pub(crate) fn new(density: &'a P) -> Self {
        Self::scaled(density, vec![1.0; density.dim()])
    }

    /// Differences of a density with these scales.
    pub(crate) fn scaled(density: &'a P, mut scales: Vec<f64>) -> Self {
        scales.iter_mut().for_each(|scale| *scale *= SLOPE);
        Self { density, distances: scales }
    }
}

impl<P: LogDensity + ?Sized> LogDensity for Differences<'_, P> {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        let (dim, columns) = (self.density.dim(), columns.max(1));
        columns * (dim + 1) * (dim + 1) + 2 * dim + self.density.work_len(columns * (dim + 1))
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.density.log_density(z, work)
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.density.log_densities(z, out, work);
    }
}

impl<P: LogDensity + ?Sized> Gradient for Differences<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let (dim, mut value) = (z.len(), [0.0]);
        self.gradients_into(batch(z, dim, 1), &mut value, batch_mut(gradient, dim, 1), work);
        value[0]
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (dim, columns) = z.shape();
        let around = dim + 1;
        let points = borrow(&mut work, columns * around * dim);
        let values = borrow(&mut work, columns * around);
        for (c, point) in points.chunks_exact_mut(dim).enumerate() {
            point.copy_from_slice(z.column(c / around));
            // The last point around z is z itself.
            let i = c % around;
            if let (Some(coordinate), Some(distance)) = (point.get_mut(i), self.distances.get(i)) {
                *coordinate += distance;
            }
        }
        let points = batch(points, dim, columns * around);
        self.density.log_densities(points, values, work);
        for (j, out) in out.iter_mut().enumerate() {
            let first = j * around;
            *out = values[first + dim];
            for (i, slope) in gradients.column_mut(j).iter_mut().enumerate() {
                // The distance that rounding left.
                *slope = (values[first + i] - *out) / (points.column(first + i)[i] - z.column(j)[i]);
            }
        }
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
        let target = Differences::new(&density);
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
