//! Metric of the curvature: coordinates in which a log density falls like that of a standard Gaussian.

use faer::{Mat, Side};

/// Coordinates in units of the curvature `A` of a cost at a point: `z = centre + C y` with `C C^T = |A|^-1`.
///
/// ```text
/// A ~ differences of gradients,   S A S = U diag(l) U^T,  S = diag |A_kk|^(-1/2),   C = S U diag(max(|l|, least))^(-1/2)
/// ```
/// The absolute values of the eigenvalues make the metric positive definite where the curvature is not (saddle-free Newton,
/// Dauphin et al. 2014). The norm of the gradient in these coordinates is the length of the Newton step in standard deviations.
pub(crate) struct Metric {
    centre: Vec<f64>,
    factor: Mat<f64>,
    /// True unless an eigenvalue is negative beyond the error of differences.
    pub(crate) is_definite: bool,
}

/// Width of the differences of gradients, relative to `|z|` or 1.
const WIDTH: f64 = 1e-6;

/// Least scaled eigenvalue, and the one down to which a negative one is rounding: scaled entries have errors of some `1e-6`.
const LEAST: f64 = 1e-8;
const ROUNDING: f64 = 1e-6;

/// Length of an axis, relative to `|z|` or 1, from which it is long.
const LONG: f64 = 10.0;

impl Metric {
    /// The metric at `centre`, where the cost has the gradient `gradient`, from one more gradient per coordinate; `None` if one of
    /// them is `None`.
    pub(crate) fn at(
        centre: &[f64],
        gradient: &[f64],
        mut gradient_at: impl FnMut(&[f64]) -> Option<Vec<f64>>,
    ) -> Option<Self> {
        let dim = centre.len();
        let mut moved = centre.to_vec();
        let mut curvature = Mat::zeros(dim, dim);
        for k in 0..dim {
            moved[k] = centre[k] + WIDTH * centre[k].abs().max(1.0);
            let (width, ahead) = (moved[k] - centre[k], gradient_at(&moved)?);
            moved[k] = centre[k];
            for i in 0..dim {
                curvature[(i, k)] = (ahead[i] - gradient[i]) / width;
            }
        }
        let unit = |k: usize| match curvature[(k, k)].abs() {
            0.0 => 1.0,
            length => length.sqrt().recip(),
        };
        let units: Vec<f64> = (0..dim).map(unit).collect();
        let scaled = Mat::from_fn(dim, dim, |i, j| {
            0.5 * units[i] * (curvature[(i, j)] + curvature[(j, i)]) * units[j]
        });
        let eigen = scaled.self_adjoint_eigen(Side::Lower).ok()?;
        let (axes, values) = (eigen.U(), eigen.S());
        let is_definite = (0..dim).all(|k| values[k] > -ROUNDING);
        let factor =
            Mat::from_fn(dim, dim, |i, k| units[i] * axes[(i, k)] / values[k].abs().max(LEAST).sqrt());
        (0..dim).all(|k| factor.col_as_slice(k).iter().all(|c| c.is_finite())).then(|| Self {
            centre: centre.to_vec(),
            factor,
            is_definite,
        })
    }

    /// The point `centre + C y`.
    pub(crate) fn place(&self, y: &[f64]) -> Vec<f64> {
        let mut z = self.centre.clone();
        for (k, y) in y.iter().enumerate() {
            z.iter_mut().zip(self.factor.col_as_slice(k)).for_each(|(z, c)| *z += c * y);
        }
        z
    }

    /// The gradient `C^T g` in the coordinates of the metric.
    pub(crate) fn pulled(&self, gradient: &[f64]) -> Vec<f64> {
        let column = |k: usize| self.factor.col_as_slice(k).iter().zip(gradient).map(|(c, g)| c * g).sum();
        (0..gradient.len()).map(column).collect()
    }

    /// `|A|^-1`, the covariance of the Gaussian with this curvature.
    pub(crate) fn covariance(&self) -> Mat<f64> {
        &self.factor * self.factor.transpose()
    }

    /// Columns of `C` that are long compared with the coordinates of `z`, along which the curvature is next to nothing, and the multiple
    /// of each at which it is no longer long.
    pub(crate) fn long_axes<'a>(&'a self, z: &'a [f64]) -> impl Iterator<Item = (&'a [f64], f64)> {
        let multiple = move |axis: &[f64]| {
            let within = axis.iter().zip(z).map(|(c, z)| LONG * (1.0 + z.abs()) / c.abs());
            within.fold(f64::INFINITY, f64::min)
        };
        (0..z.len())
            .map(|k| self.factor.col_as_slice(k))
            .map(move |axis| (axis, multiple(axis)))
            .filter(|(_, multiple)| *multiple < 1.0)
    }
}
