//! Many Well target: independent double wells, with as many modes as a power of two.

use faer::Mat;
use mcsa_core::quadrature::integrate;
use mcsa_core::{Curvature, Error, ExactDraws, Gradient, LogDensity, Stream};

use crate::GroundTruth;
use crate::support::{HALF_LOG_TAU, decided};

/// Many Well (Noé et al. 2019; Midgley et al. 2023), unnormalised, with coordinates in pairs `(x, y)`:
///
/// ```text
/// log p(z) = sum_pairs w(x) - y^2 / 2,   w(x) = -x^4 + 6 x^2 + x / 2
/// log Z = (d / 2) (log int exp(w) + log(2 pi) / 2)
/// ```
///
/// Each `x` has modes near `-1.71` and `1.75`, the second with 84 % of the mass: `2^(d / 2)` modes in all. Normaliser and moments
/// of one well are found by quadrature, to rounding. Exact draws of `x` are made by rejection: `(x^2 - 3)^2 >= 3 (|x| -
/// sqrt 3)^2`, so that two half normal laws around `-sqrt 3` and `sqrt 3` cover the well.
///
/// ```
/// use mcsa_models::{GroundTruth, ManyWell};
/// let target = ManyWell::new(32)?;
/// assert!((target.log_normaliser() - 164.695_68).abs() < 1e-4);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ManyWell {
    pairs: usize,
    /// `log int exp(w)`.
    log_mass: f64,
    mean: f64,
    variance: f64,
}

/// `w(x)` and its slope.
fn well(x: f64) -> (f64, f64) {
    let square = x * x;
    ((6.0 - square) * square + 0.5 * x, (12.0 - 4.0 * square) * x + 0.5)
}

impl ManyWell {
    /// Wells in `dim` dimensions, two for each.
    ///
    /// # Errors
    /// If the dimension is zero or odd.
    pub fn new(dim: usize) -> Result<Self, Error> {
        if dim == 0 || !dim.is_multiple_of(2) {
            return Err(Error::parameter("dim", dim as f64, "even and at least 2").within("ManyWell"));
        }
        // exp(w) is below 1e-400 of its peak at both ends.
        let moment = |power: i32, centre: f64| {
            integrate(-6.0, 6.0, 1e-15, |x| (x - centre).powi(power) * well(x).0.exp()).value
        };
        let mass = moment(0, 0.0);
        let mean = moment(1, 0.0) / mass;
        Ok(Self { pairs: dim / 2, log_mass: mass.ln(), mean, variance: moment(2, mean) / mass })
    }

    /// Density of the first coordinate of each pair, normalised.
    pub fn well_density(&self, x: f64) -> f64 {
        (well(x).0 - self.log_mass).exp()
    }
}

impl LogDensity for ManyWell {
    fn dim(&self) -> usize {
        2 * self.pairs
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let log_p = z.chunks_exact(2).map(|pair| well(pair[0]).0 - 0.5 * pair[1] * pair[1]).sum();
        decided(log_p, z)
    }
}

impl Gradient for ManyWell {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        for (slopes, pair) in gradient.chunks_exact_mut(2).zip(z.chunks_exact(2)) {
            slopes[0] = well(pair[0]).1;
            slopes[1] = -pair[1];
        }
        self.log_density(z, work)
    }
}

impl Curvature for ManyWell {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = if i % 2 == 0 { 12.0 * (1.0 - z[i] * z[i]) * v[i] } else { -v[i] };
        }
    }
}

impl ExactDraws for ManyWell {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        let root = 3.0_f64.sqrt();
        for pair in z.chunks_exact_mut(2) {
            // exp(x / 2) moves both normal laws by 1/12, and gives them masses in the ratio exp(sqrt 3).
            pair[0] = loop {
                let sign = if stream.accept(-(-root).exp().ln_1p()) { 1.0 } else { -1.0 };
                let distance = root + sign / 12.0 + stream.normal() / 6.0_f64.sqrt();
                let above = distance * distance - 3.0;
                let below = distance - root;
                let is_accepted = stream.accept(3.0 * below * below - above * above);
                if distance > 0.0 && is_accepted {
                    break sign * distance;
                }
            };
            pair[1] = stream.normal();
        }
    }
}

impl GroundTruth for ManyWell {
    fn log_normaliser(&self) -> f64 {
        self.pairs as f64 * (self.log_mass + HALF_LOG_TAU)
    }

    fn mean(&self) -> Option<Vec<f64>> {
        Some([self.mean, 0.0].repeat(self.pairs))
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        Some(Mat::from_fn(self.dim(), self.dim(), |i, j| match i == j {
            true if i % 2 == 0 => self.variance,
            true => 1.0,
            false => 0.0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    /// Number of modes of a well that exact draws visit, and the share of the right one against quadrature: 20,000 draws, within
    /// 6 standard errors.
    #[test]
    fn draws_visit_both_sides_of_a_well() {
        let (target, mut stream) = (ManyWell::new(2).unwrap(), Seed::new(1).stream(0, 0));
        let right = integrate(-6.0, 6.0, 1e-12, |x| if x > 0.0 { target.well_density(x) } else { 0.0 }).value;
        let mut z = [0.0; 2];
        let count = (0..20_000).filter(|_| {
            target.draw_into(&mut stream, &mut z);
            z[0] > 0.0
        });
        let share = count.count() as f64 / 20_000.0;
        let error = (right * (1.0 - right) / 20_000.0).sqrt();
        assert!(right > 0.8 && (share - right).abs() < 6.0 * error, "{share} {right}");
        assert!(ManyWell::new(3).is_err() && ManyWell::new(0).is_err());
    }
}
