//! Discrete target on finitely many points.

use faer::{Mat, MatRef};
use mcsa_core::numeric::log_sum_exp;
use mcsa_core::{Columns, Error, ExactDraws, LogDensity, Stream, all_finite, same_length};

use crate::GroundTruth;

/// Unnormalised discrete distribution on finitely many points of `R^d`, so that every expectation is a finite sum.
///
/// ```text
/// log p(a_k) = log_weights_k,   log p = -inf elsewhere,   log normaliser = log sum_k exp(log_weights_k)
/// ```
///
/// With a family on the same atoms, [`mcsa_core::enumerate`] computes a kernel's transition matrix. A point is an atom if all
/// its coordinates are equal to those of the atom. The density is with respect to the counting measure: an integral over `R^d`
/// does not give the normaliser.
///
/// ```
/// use mcsa_core::LogDensity;
/// let target = mcsa_models::Atoms::on_line(&[0.0, 2.0_f64.ln()])?;
/// assert_eq!(target.log_density(&[1.0], &mut []), 2.0_f64.ln());
/// assert_eq!(target.log_density(&[0.5], &mut []), f64::NEG_INFINITY);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Atoms {
    points: Mat<f64>,
    log_weights: Vec<f64>,
    log_normaliser: f64,
}

impl Atoms {
    /// Atoms at the columns of `points`, with one log weight per column; `-inf` is a weight of zero.
    ///
    /// # Errors
    /// If the number of log weights is not the number of columns, a coordinate is not finite, two columns are equal, a log weight
    /// is NaN or `+inf`, or no weight is positive.
    pub fn new(points: Mat<f64>, log_weights: Vec<f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Atoms");
        same_length("log_weights", points.ncols(), log_weights.len()).map_err(refuse)?;
        for k in 0..points.ncols() {
            all_finite("point", points.col_as_slice(k)).map_err(refuse)?;
            if let Some(l) = (0..k).find(|&l| points.col_as_slice(l) == points.col_as_slice(k)) {
                return Err(refuse(Error::invalid(format!("points {l} and {k} are equal: merge them"))));
            }
        }
        if let Some(&bad) = log_weights.iter().find(|w| w.is_nan() || **w == f64::INFINITY) {
            return Err(refuse(Error::parameter("log_weight", bad, "a number or -inf")));
        }
        let log_normaliser = log_sum_exp(&log_weights);
        if !log_normaliser.is_finite() {
            return Err(refuse(Error::invalid("no weight is positive: give at least one finite log weight")));
        }
        Ok(Self { points, log_weights, log_normaliser })
    }

    /// Atoms at `0, 1, ..` on the real line, one per log weight.
    ///
    /// # Errors
    /// If a log weight is NaN or `+inf`, or no weight is positive.
    pub fn on_line(log_weights: &[f64]) -> Result<Self, Error> {
        Self::new(Mat::from_fn(1, log_weights.len(), |_, k| k as f64), log_weights.to_vec())
    }

    /// The atoms, one per column.
    pub fn points(&self) -> MatRef<'_, f64> {
        self.points.as_ref()
    }

    /// Normalised probability `p(a_k)`.
    ///
    /// # Panics
    /// If `k` is not less than the number of atoms.
    pub fn probability(&self, k: usize) -> f64 {
        (self.log_weights[k] - self.log_normaliser).exp()
    }

    fn expectation(&self, f: impl Fn(&[f64]) -> f64) -> f64 {
        let term = |k| self.probability(k) * f(self.points.as_ref().column(k));
        (0..self.points.ncols()).map(term).sum()
    }
}

impl LogDensity for Atoms {
    fn dim(&self) -> usize {
        self.points.nrows()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let atom = (0..self.points.ncols()).find(|&k| self.points.col_as_slice(k) == z);
        atom.map_or(f64::NEG_INFINITY, |k| self.log_weights[k])
    }
}

impl ExactDraws for Atoms {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        let k = stream.choose(&self.log_weights).expect("a weight is positive");
        z.copy_from_slice(self.points.col_as_slice(k));
    }
}

impl GroundTruth for Atoms {
    fn log_normaliser(&self) -> f64 {
        self.log_normaliser
    }

    fn mean(&self) -> Option<Vec<f64>> {
        Some((0..self.dim()).map(|i| self.expectation(|a| a[i])).collect())
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let mean = self.mean()?;
        let entry = |i: usize, j: usize| self.expectation(|a| (a[i] - mean[i]) * (a[j] - mean[j]));
        Some(Mat::from_fn(self.dim(), self.dim(), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::enumerate;

    #[test]
    fn moments_are_finite_sums() {
        let target = Atoms::on_line(&[0.0, f64::NEG_INFINITY, 3.0_f64.ln()]).unwrap();
        assert!((target.mean().unwrap()[0] - 1.5).abs() < 1e-15);
        assert!((target.covariance().unwrap()[(0, 0)] - 0.75).abs() < 1e-15);
        assert!((target.log_normaliser() - 4.0_f64.ln()).abs() < 1e-15);
    }

    /// Enumerated over every branch of the stream's decisions, a draw is atom `k` with probability `p(a_k)`.
    #[test]
    fn draws_have_their_probabilities() {
        let target = Atoms::on_line(&[0.0, 0.5, -2.0]).unwrap();
        let branches = enumerate(1, 10, |lanes| {
            let mut z = [f64::NAN];
            target.draw_into(&mut lanes[0], &mut z);
            z[0] as usize
        });
        for branch in branches.unwrap() {
            assert!((branch.probability - target.probability(branch.outcome)).abs() < 1e-15);
        }
    }

    #[test]
    fn bad_atoms_are_refused() {
        let refused = |points: Mat<f64>, w: &[f64]| Atoms::new(points, w.to_vec()).unwrap_err().to_string();
        assert!(refused(Mat::zeros(1, 2), &[0.0, 0.0]).contains("points 0 and 1 are equal"));
        assert!(refused(Mat::zeros(1, 1), &[f64::NAN]).contains("log_weight is NaN"));
        assert!(refused(Mat::zeros(1, 0), &[]).contains("no weight is positive"));
    }
}
