//! Gaussians with a wrong gradient or a corner without a density, pairs of bananas, and a likelihood without a prior.

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, Gradient, LogDensity, Stream};
use mcsa_models::{Banana, GroundTruth};
use serde::{Deserialize, Serialize};

use super::{Built, Margin, Margins, Truth};

/// Fault of a gradient, in the first coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Half as large.
    Scaled,
    /// One larger.
    Shifted,
    /// The other sign.
    Sign,
}

/// Standard normal density with a gradient that is not its own.
pub(super) struct WrongGradient {
    pub(super) dim: usize,
    pub(super) fault: Fault,
}

/// Standard normal density that is NaN where each of the first `coordinates` exceeds `from`.
pub(super) struct NanCorner {
    pub(super) dim: usize,
    pub(super) coordinates: usize,
    pub(super) from: f64,
}

/// Independent pairs of coordinates, each with a banana-shaped density.
pub(super) struct Bananas {
    pub(super) pairs: usize,
    pub(super) banana: Banana,
}

/// Likelihood of a logistic regression whose classes are separated, under a flat prior: improper.
///
/// ```text
/// p(z) ∝ prod_i 1 / (1 + exp(-s_i x_i z)),   s_i x_i b > 0 for all i and some b:   p does not fall along b
/// ```
pub(super) struct Separated {
    dim: usize,
    /// Rows `s_i x_i`, one after another.
    rows: Vec<f64>,
}

fn normal(z: &[f64]) -> f64 {
    -0.5 * z.iter().map(|z| z * z).sum::<f64>()
}

impl LogDensity for WrongGradient {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        normal(z)
    }
}

impl Gradient for WrongGradient {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(slope, z)| *slope = -z);
        gradient[0] = match self.fault {
            Fault::Scaled => 0.5 * gradient[0],
            Fault::Shifted => gradient[0] + 1.0,
            Fault::Sign => -gradient[0],
        };
        normal(z)
    }
}

impl LogDensity for NanCorner {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        if z[..self.coordinates].iter().all(|z| *z > self.from) { f64::NAN } else { normal(z) }
    }
}

impl Gradient for NanCorner {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let value = self.log_density(z, work);
        gradient.iter_mut().zip(z).for_each(|(slope, z)| *slope = if value.is_nan() { value } else { -z });
        value
    }
}

impl Bananas {
    /// Pairs with a ridge of standard deviation 2, with their moments and margins.
    pub(super) fn built(pairs: usize, bend: f64) -> Result<Built, Error> {
        let banana = Banana::new(2.0, bend)?;
        let truth = match Truth::of(&banana) {
            Truth::Moments { means, sds } => {
                Truth::Moments { means: means.repeat(pairs), sds: sds.repeat(pairs) }
            }
            Truth::None => Truth::None,
        };
        let one = banana.covariance();
        let entry = |i: usize, j: usize| match &one {
            Some(one) if i / 2 == j / 2 => one[(i % 2, j % 2)],
            _ => 0.0,
        };
        let covariance = one.is_some().then(|| Mat::from_fn(2 * pairs, 2 * pairs, entry));
        let pair = vec![Margin::Normals(vec![[1.0, 0.0, 2.0]]), Margin::banana(2.0, bend)];
        let margins = Some(Margins::repeated(pair, pairs));
        let target = Arc::new(Self { pairs, banana });
        Ok(Built { truth, covariance, log_z: Some(0.0), margins, ..Built::unknown(target) })
    }
}

impl LogDensity for Bananas {
    fn dim(&self) -> usize {
        2 * self.pairs
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        z.chunks_exact(2).map(|pair| self.banana.log_density(pair, work)).sum()
    }
}

impl Gradient for Bananas {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let pairs = z.chunks_exact(2).zip(gradient.chunks_exact_mut(2));
        pairs.map(|(pair, slopes)| self.banana.gradient_into(pair, slopes, work)).sum()
    }
}

impl Separated {
    /// Ten rows per dimension, the first input a constant, whose labels are the signs of the second.
    pub(super) fn drawn(dim: usize, stream: &mut Stream) -> Self {
        let mut rows = Vec::new();
        for _ in 0..10 * dim {
            let mut x = vec![0.0; dim];
            stream.normals_into(&mut x);
            x[0] = 1.0;
            let sign = x[1 % dim].signum();
            rows.extend(x.into_iter().map(|x| sign * x));
        }
        Self { dim, rows }
    }

    fn odds<'a>(&'a self, z: &'a [f64]) -> impl Iterator<Item = (&'a [f64], f64)> {
        let product = move |row: &[f64]| row.iter().zip(z).map(|(x, z)| x * z).sum::<f64>();
        self.rows.chunks_exact(self.dim).map(move |row| (row, product(row)))
    }
}

impl LogDensity for Separated {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        // log 1/(1 + exp(-x)) without overflow.
        self.odds(z).map(|(_, x)| x.min(0.0) - (-x.abs()).exp().ln_1p()).sum()
    }
}

impl Gradient for Separated {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        for (row, x) in self.odds(z) {
            let share = 1.0 / (1.0 + x.exp());
            gradient.iter_mut().zip(row).for_each(|(slope, x)| *slope += share * x);
        }
        self.log_density(z, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    fn differs(target: &impl Gradient, z: &[f64]) -> bool {
        let (mut slopes, mut work) = (vec![0.0; z.len()], vec![0.0; target.work_len(1)]);
        target.gradient_into(z, &mut slopes, &mut work);
        (0..z.len()).any(|i| {
            let mut at = |step: f64| {
                let mut z = z.to_vec();
                z[i] += step;
                target.log_density(&z, &mut work)
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            (slopes[i] - difference).abs() > 1e-5
        })
    }

    #[test]
    fn only_the_wrong_gradients_are_wrong() {
        for fault in [Fault::Scaled, Fault::Shifted, Fault::Sign] {
            assert!(differs(&WrongGradient { dim: 3, fault }, &[0.4, 1.0, -1.0]));
        }
        assert!(!differs(&NanCorner { dim: 3, coordinates: 2, from: 1.0 }, &[0.4, 2.0, -1.0]));
        let banana = Banana::new(2.0, 0.5).unwrap();
        assert!(!differs(&Bananas { pairs: 2, banana }, &[0.4, 1.0, -1.0, 2.0]));
        let separated = Separated::drawn(3, &mut Seed::new(1).stream(0, 0));
        assert!(!differs(&separated, &[0.4, 1.0, -1.0]));
    }

    /// Along the separating direction the likelihood rises for ever.
    #[test]
    fn separated_classes_have_no_mode() {
        let separated = Separated::drawn(3, &mut Seed::new(1).stream(0, 0));
        let at = |scale: f64| separated.log_density(&[0.0, scale, 0.0], &mut []);
        assert!(at(1.0) < at(10.0) && at(10.0) < at(1e6) && at(1e6) <= 0.0 && at(1e6) > -0.1);
    }
}
