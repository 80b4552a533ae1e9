//! The Gaussian target, whose every answer is known.

use std::borrow::Cow;
use std::f64::consts::PI;

use faer::linalg::solvers::{Llt, LltError};
use faer::{Mat, MatRef, Side};
use mcsa::{Curvature, Error, Gradient, LogDensity, Named, all_finite, borrow, same_length};

/// A normalised Gaussian, by its mean and covariance.
///
/// ```text
/// log p(z) = -|y|^2/2 - sum log L_ii - (d/2) log 2 pi,   y = L^-1 (z - mean),   covariance = L L^T
/// ```
///
/// Its exact inclusive-KL optimum in a mean-field Gaussian family has the target's mean and marginal
/// standard deviations (moment matching), which makes it the first thing to test a fit on.
///
/// ```
/// use mcsa::LogDensity;
/// let target = mcsa_models::Gaussian::standard(2);
/// assert!((target.log_density(&[0.0, 0.0], &mut [0.0; 2]) + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone)]
pub struct Gaussian {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    factor: Mat<f64>,
    log_normaliser: f64,
}

impl Gaussian {
    /// Mean zero and unit covariance. Dimension 0 is the point mass on the empty vector.
    pub fn standard(dim: usize) -> Self {
        Self {
            mean: vec![0.0; dim],
            covariance: Mat::identity(dim, dim),
            factor: Mat::identity(dim, dim),
            log_normaliser: -0.5 * dim as f64 * (2.0 * PI).ln(),
        }
    }

    /// The Gaussian of a mean and a covariance, of which the lower triangle is read.
    ///
    /// # Errors
    /// If the shapes differ, a number is not finite, or the covariance is not positive definite.
    pub fn new(mean: Vec<f64>, covariance: MatRef<'_, f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Gaussian");
        let dim = mean.len();
        all_finite("mean", &mean).map_err(refuse)?;
        same_length("covariance rows", dim, covariance.nrows()).map_err(refuse)?;
        same_length("covariance columns", dim, covariance.ncols()).map_err(refuse)?;
        let covariance = Mat::from_fn(dim, dim, |i, j| covariance[(i.max(j), i.min(j))]);
        for j in 0..dim {
            all_finite("covariance", covariance.col_as_slice(j)).map_err(refuse)?;
        }
        let factor = match Llt::new(covariance.as_ref(), Side::Lower) {
            Ok(llt) => llt.L().to_owned(),
            Err(LltError::NonPositivePivot { index }) => {
                return Err(refuse(Error::NotPositiveDefinite { what: "covariance", pivot: index }));
            }
        };
        let log_det: f64 = (0..dim).map(|i| factor[(i, i)].ln()).sum();
        let log_normaliser = -log_det - 0.5 * dim as f64 * (2.0 * PI).ln();
        Ok(Self { mean, covariance, factor, log_normaliser })
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The covariance.
    pub fn covariance(&self) -> MatRef<'_, f64> {
        self.covariance.as_ref()
    }

    /// The entropy `-E_p[log p]`.
    pub fn entropy(&self) -> f64 {
        0.5 * self.mean.len() as f64 - self.log_normaliser
    }

    /// `y <- L^-1 y`, column by column of `L`.
    fn whiten(&self, y: &mut [f64]) {
        for k in 0..y.len() {
            let column = self.factor.col_as_slice(k);
            let head = y[k] / column[k];
            y[k] = head;
            for (y, &l) in y[k + 1..].iter_mut().zip(&column[k + 1..]) {
                *y -= head * l;
            }
        }
    }

    /// `y <- L^-T y`.
    fn colour_back(&self, y: &mut [f64]) {
        for k in (0..y.len()).rev() {
            let column = self.factor.col_as_slice(k);
            let below: f64 = y[k + 1..].iter().zip(&column[k + 1..]).map(|(y, l)| y * l).sum();
            y[k] = (y[k] - below) / column[k];
        }
    }

    fn whitened_into(&self, z: &[f64], y: &mut [f64]) -> f64 {
        for ((y, z), mean) in y.iter_mut().zip(z).zip(&self.mean) {
            *y = z - mean;
        }
        self.whiten(y);
        self.log_normaliser - 0.5 * y.iter().map(|y| y * y).sum::<f64>()
    }
}

impl LogDensity for Gaussian {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        self.dim()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        self.whitened_into(z, borrow(&mut work, z.len()))
    }
}

impl Gradient for Gaussian {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let log_p = self.whitened_into(z, gradient);
        self.colour_back(gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        log_p
    }
}

impl Curvature for Gaussian {
    fn hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(v);
        self.whiten(out);
        self.colour_back(out);
        out.iter_mut().for_each(|x| *x = -*x);
    }
}

impl Named for Gaussian {
    fn constrain(&self, z: &[f64], out: &mut Vec<(Cow<'static, str>, f64)>) {
        out.extend(z.iter().enumerate().map(|(i, &z)| (Cow::from(format!("z[{i}]")), z)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn correlated() -> Gaussian {
        let covariance = faer::mat![[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]];
        Gaussian::new(vec![1.0, -2.0, 0.5], covariance.as_ref()).unwrap()
    }

    /// The density by cofactors, which no code above uses.
    #[test]
    fn density_equals_the_explicit_formula() {
        let (a, b, c) = (2.0, 0.7, 1.5);
        let target = Gaussian::new(vec![0.3, -0.1], faer::mat![[a, b], [b, c]].as_ref()).unwrap();
        let (x, y) = (1.2 - 0.3, 0.4 + 0.1);
        let det: f64 = a * c - b * b;
        let form = (c * x * x - 2.0 * b * x * y + a * y * y) / det;
        let expected = -0.5 * form - 0.5 * det.ln() - (2.0 * PI).ln();
        assert!((target.log_density(&[1.2, 0.4], &mut [0.0; 2]) - expected).abs() < 1e-14);
    }

    #[test]
    fn gradient_and_curvature_equal_central_differences() {
        let (target, z, v, h) = (correlated(), [0.2, 0.1, -0.4], [0.5, -1.0, 2.0], 1e-5);
        let (mut gradient, mut curved) = ([0.0; 3], [0.0; 3]);
        let log_p = target.gradient_into(&z, &mut gradient, &mut []);
        assert_eq!(log_p.to_bits(), target.log_density(&z, &mut [0.0; 3]).to_bits());
        target.hessian_vector_into(&z, &v, &mut curved, &mut []);
        let (mut right, mut left) = ([0.0; 3], [0.0; 3]);
        let along = |t: f64| [z[0] + t * v[0], z[1] + t * v[1], z[2] + t * v[2]];
        target.gradient_into(&along(h), &mut right, &mut []);
        target.gradient_into(&along(-h), &mut left, &mut []);
        for i in 0..3 {
            let mut up = z;
            let mut down = z;
            up[i] += h;
            down[i] -= h;
            let slope = (target.log_density(&up, &mut [0.0; 3]) - target.log_density(&down, &mut [0.0; 3]))
                / (2.0 * h);
            assert!((gradient[i] - slope).abs() < 1e-8);
            assert!((curved[i] - (right[i] - left[i]) / (2.0 * h)).abs() < 1e-8);
        }
    }

    #[test]
    fn bad_input_is_refused_with_its_place() {
        let refused = |mean: Vec<f64>, covariance: Mat<f64>| {
            Gaussian::new(mean, covariance.as_ref()).unwrap_err().to_string()
        };
        assert_eq!(
            refused(vec![0.0], Mat::identity(2, 2)),
            "Gaussian: covariance rows has length 2, expected 1"
        );
        assert_eq!(
            refused(vec![f64::NAN], Mat::identity(1, 1)),
            "Gaussian: mean[0] is NaN, expected a finite number"
        );
        let indefinite = refused(vec![0.0; 2], faer::mat![[1.0, 2.0], [2.0, 1.0]]);
        assert!(indefinite.contains("not positive definite"), "{indefinite}");
    }

    #[test]
    fn dimension_zero_is_a_point_mass() {
        assert_eq!(Gaussian::standard(0).log_density(&[], &mut []), 0.0);
        assert_eq!(Gaussian::new(vec![], Mat::new().as_ref()).unwrap().dim(), 0);
    }
}
