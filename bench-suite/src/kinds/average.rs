//! Average of the last iterates of a fit.

use mcsa_core::{Error, bits};
use mcsa_families::GaussianFamily;
use serde::{Deserialize, Serialize};

use crate::metric::Vector;

/// Means and variances of `q`, averaged over iterates:
///
/// ```text
/// m = 1/K sum_k mu_k,     s^2 = 1/K sum_k sigma_k^2      over the last K
/// ```
///
/// MSC predicts with this average (MSC, Tab. 1).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Average {
    count: u64,
    #[serde(with = "bits::vector")]
    mean: Vec<f64>,
    #[serde(with = "bits::vector")]
    variance: Vec<f64>,
}

impl Average {
    pub(super) fn new(dim: usize) -> Self {
        Self { count: 0, mean: vec![0.0; dim], variance: vec![0.0; dim] }
    }

    /// Adds one iterate.
    pub(super) fn add(&mut self, family: &dyn GaussianFamily, params: &[f64]) -> Result<(), Error> {
        self.count += 1;
        let towards = |average: &mut Vec<f64>, values: &[f64]| {
            for (average, value) in average.iter_mut().zip(values) {
                *average += (value - *average) / self.count as f64;
            }
        };
        towards(&mut self.mean, family.mean(params));
        towards(&mut self.variance, &family.variances(params)?);
        Ok(())
    }

    /// Parameters with these moments; in a family that is not mean field, those without correlation.
    pub(super) fn params(&self, family: &dyn GaussianFamily) -> Result<Vec<f64>, Error> {
        let scales: Vec<f64> = self.variance.iter().map(|variance| variance.sqrt()).collect();
        params(family, &self.mean, &scales)
    }

    /// Means and log scales.
    pub(super) fn vectors(&self) -> [(Vector, Vec<f64>); 2] {
        vectors(&self.mean, &self.variance)
    }
}

/// Parameters of independent coordinates with these means and scales.
pub(super) fn params(family: &dyn GaussianFamily, mean: &[f64], scales: &[f64]) -> Result<Vec<f64>, Error> {
    let mut rho = scales.to_vec();
    family.link().inverses_into(scales, &mut rho)?;
    family.assemble(mean, &rho, &mut || 0.0)
}

/// Means and log scales of a family with these moments.
pub(super) fn vectors(mean: &[f64], variance: &[f64]) -> [(Vector, Vec<f64>); 2] {
    let log_scales = variance.iter().map(|variance| 0.5 * variance.ln()).collect();
    [(Vector::Means, mean.to_vec()), (Vector::LogScales, log_scales)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_families::{Link, MeanField};

    /// Variances are averaged, not scales: scales 1 and 3 give the root of 5.
    #[test]
    fn two_iterates_by_hand() {
        let family = MeanField::new(1).with_link(Link::Exp);
        let mut average = Average::new(1);
        average.add(&family, &[1.0, 0.0]).unwrap();
        average.add(&family, &[2.0, 3.0_f64.ln()]).unwrap();
        let params = average.params(&family).unwrap();
        assert!((params[0] - 1.5).abs() < 1e-15 && (params[1] - 0.5 * 5.0_f64.ln()).abs() < 1e-15);
        let [means, log_scales] = average.vectors();
        assert_eq!(means, (Vector::Means, vec![params[0]]));
        assert!((log_scales.1[0] - params[1]).abs() < 1e-15);
    }
}
