//! Sums and scores of Gaussian families, bit-identical for every batch: the order of summation depends on the length alone.

use crate::vectorised;
use crate::{self as numeric, Columns};
use faer::MatRef;

pub use crate::{dot, sum_squares_scaled, sums_squares, sums_squares_scaled};

/// `sum_i ln x_i`; `logs` is scratch memory of the same length.
pub fn sum_of_logs(x: &[f64], logs: &mut [f64]) -> f64 {
    numeric::ln_into(x, logs);
    numeric::sum(logs)
}

/// Log density `peak - quadratic / 2`, with its value `peak` at the centre.
///
/// The result is `-inf` instead of NaN if `z` has no NaN but is so far away that the quadratic form overflowed.
pub fn log_density(peak: f64, quadratic: f64, z: &[f64]) -> f64 {
    if quadratic.is_nan() && !z.iter().any(|z| z.is_nan()) {
        return f64::NEG_INFINITY;
    }
    peak - 0.5 * quadratic
}

/// Point reflection `z <- 2 m - z` through the centre `m`.
pub fn reflect(centre: &[f64], z: &mut [f64]) {
    z.iter_mut().zip(centre).for_each(|(z, centre)| *z = 2.0 * centre - *z);
}

/// Asserts that `slopes` and `z` have the same shape, with `dim` rows.
pub fn assert_slopes(dim: usize, z: MatRef<'_, f64>, slopes: MatRef<'_, f64>) {
    assert_eq!((slopes.nrows(), slopes.ncols()), (z.nrows(), z.ncols()), "a slope per point");
    assert_eq!(z.nrows(), dim, "a point has the dimension of the family");
}

/// Weighted scores of a diagonal Gaussian at some points, added to a gradient in the order of the points.
///
/// No product is fused with a sum, so that results are bit-identical on every machine.
pub struct AddScores<'a> {
    /// The points, one per column.
    pub z: MatRef<'a, f64>,
    /// Weights of the points.
    pub weights: &'a [f64],
    /// The mean `m`.
    pub mean: &'a [f64],
    /// Reciprocals of the diagonal, or of the scales.
    pub inverse: &'a [f64],
    /// `d ln sigma / d rho`.
    pub slope: &'a [f64],
    /// Gradient in the mean.
    pub d_mean: &'a mut [f64],
    /// Gradient in the scales' parameters.
    pub d_rho: &'a mut [f64],
}

impl AddScores<'_> {
    /// Adds the scores to `d_mean` and `d_rho` with the instructions of this machine.
    pub fn run(mut self) {
        vectorised(
            #[inline(always)]
            || self.compute(),
        );
    }

    #[inline(always)]
    fn compute(&mut self) {
        let n = self.z.nrows();
        let (mean, inverse, slope) = (&self.mean[..n], &self.inverse[..n], &self.slope[..n]);
        let (d_mean, d_rho) = (&mut self.d_mean[..n], &mut self.d_rho[..n]);
        for (j, &weight) in self.weights.iter().enumerate() {
            let z = &self.z.column(j)[..n];
            for i in 0..n {
                let eps = (z[i] - mean[i]) * inverse[i];
                d_mean[i] += weight * (eps * inverse[i]);
                d_rho[i] += weight * ((eps * eps - 1.0) * slope[i]);
            }
        }
    }
}
