//! Models whose parameters and data are drawn, for simulation-based calibration.

use std::f64::consts::FRAC_PI_2;

use faer::Mat;
use mcsa_core::{Error, Gradient, Stream, from_fn};
use mcsa_models::{Centring, EightSchools, LogisticRegression};
use serde::{Deserialize, Serialize};

/// Model with proper priors and few data, so that its priors matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Simulated {
    /// `y_i ~ Bernoulli(1 / (1 + exp(-x_i'z)))`, `z_k ~ N(0, 1)`: 10 rows of an intercept and two normal covariates.
    Logistic,
    /// [`EightSchools`] with standardised effects and the errors of the eight schools.
    Schools,
    /// `y_i ~ Poisson(exp(z_0 + z_1 x_i))`, `z_k ~ N(0, 1)`: 4 normal covariates.
    Poisson,
    /// `y_i ~ N(m_1, 1)/2 + N(m_2, 1)/2`, `m_1 = z_0 ~ N(0, 1)`, `m_2 = m_1 + exp(z_1)`, `z_1 ~ N(1, 1)`: 6 data.
    Mixture,
}

/// Standard errors of the eight schools (Rubin 1981), and scale of their priors.
const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
const SCALE: f64 = 5.0;

/// Parameters with the posterior of data given these.
type Drawn = (Vec<f64>, Box<dyn Gradient>);

impl Simulated {
    /// Draws parameters from priors whose scales are `prior` times those of the posterior, and data.
    pub fn draw(self, prior: f64, stream: &mut Stream) -> Result<Drawn, Error> {
        match self {
            Self::Logistic => {
                let truth: Vec<f64> = (0..3).map(|_| prior * stream.normal()).collect();
                let x = Mat::from_fn(10, 3, |_, k| if k == 0 { 1.0 } else { stream.normal() });
                let odds = |i: usize| -> f64 { (0..3).map(|k| x[(i, k)] * truth[k]).sum() };
                let labels = (0..10).map(|i| f64::from(u8::from(stream.accept(-(-odds(i)).exp().ln_1p()))));
                let labels: Vec<f64> = labels.collect();
                Ok((truth, Box::new(LogisticRegression::new(x.as_ref(), &labels, 1.0)?)))
            }
            Self::Schools => {
                let (mu, tau) = (SCALE * stream.normal(), SCALE * (FRAC_PI_2 * stream.uniform()).tan());
                let mut truth = vec![prior * mu, (prior * tau).ln()];
                truth.extend(ERRORS.map(|_| prior * stream.normal()));
                let effect = |(eta, error)| truth[0] + truth[1].exp() * eta + error * stream.normal();
                let effects = truth[2..].iter().zip(ERRORS).map(effect).collect();
                Ok((truth, Box::new(EightSchools::new(effects, ERRORS.into(), Centring::NonCentred)?)))
            }
            Self::Poisson => {
                let truth = vec![prior * stream.normal(), prior * stream.normal()];
                let mut datum = |_| {
                    let x = stream.normal();
                    (x, poisson((truth[0] + truth[1] * x).exp(), stream))
                };
                let data: [(f64, f64); 4] = std::array::from_fn(&mut datum);
                let density = move |z: &[f64]| {
                    let term = |(x, y): (f64, f64)| y * (z[0] + z[1] * x) - (z[0] + z[1] * x).exp();
                    data.map(term).iter().sum::<f64>() - 0.5 * (z[0] * z[0] + z[1] * z[1])
                };
                let gradient = move |z: &[f64], out: &mut [f64]| {
                    out.iter_mut().zip(z).for_each(|(out, z)| *out = -z);
                    for (x, y) in data {
                        let error = y - (z[0] + z[1] * x).exp();
                        out[0] += error;
                        out[1] += error * x;
                    }
                };
                Ok((truth, Box::new(from_fn(2, density).with_gradient(gradient))))
            }
            Self::Mixture => {
                let truth = vec![prior * stream.normal(), 1.0 + prior * stream.normal()];
                let mut datum = |_| {
                    let place = if stream.uniform() < 0.5 { 0.0 } else { truth[1].exp() };
                    truth[0] + place + stream.normal()
                };
                let data: [f64; 6] = std::array::from_fn(&mut datum);
                // Distances to both means, and the log of the sum of both densities, without constants.
                let parts = move |z: &[f64], y: f64| {
                    let [a, b] = [y - z[0], y - z[0] - z[1].exp()];
                    let (high, low) = if a.abs() < b.abs() { (a, b) } else { (b, a) };
                    (a, b, -0.5 * high * high + (0.5 * (high * high - low * low)).exp().ln_1p())
                };
                let density = move |z: &[f64]| {
                    data.map(|y| parts(z, y).2).iter().sum::<f64>()
                        - 0.5 * (z[0].powi(2) + (z[1] - 1.0).powi(2))
                };
                let gradient = move |z: &[f64], out: &mut [f64]| {
                    (out[0], out[1]) = (-z[0], 1.0 - z[1]);
                    for (a, b, log) in data.map(|y| parts(z, y)) {
                        let [first, second] = [a, b].map(|x| x * (-0.5 * x * x - log).exp());
                        out[0] += first + second;
                        out[1] += second * z[1].exp();
                    }
                };
                Ok((truth, Box::new(from_fn(2, density).with_gradient(gradient))))
            }
        }
    }
}

/// Number of events of a unit of time: waiting times are exponential.
fn poisson(rate: f64, stream: &mut Stream) -> f64 {
    let (mut count, mut left) = (0.0, rate + stream.uniform().ln());
    while left > 0.0 {
        count += 1.0;
        left += stream.uniform().ln();
    }
    count
}

#[cfg(test)]
mod tests {
    use mcsa_core::{LogDensity, Seed};
    use mcsa_testing::model::{Case, gradient_is_gradient};

    use super::*;

    /// The posterior is finite at the parameters of its data, and its gradient that of differences.
    #[test]
    fn posteriors_are_those_of_their_data() {
        for model in [Simulated::Logistic, Simulated::Schools, Simulated::Poisson, Simulated::Mixture] {
            let (truth, target) = model.draw(1.0, &mut Seed::new(3).stream(0, 0)).unwrap();
            let log_p = target.log_density(&truth, &mut vec![0.0; target.work_len(1)]);
            assert!(log_p.is_finite() && truth.len() == target.dim(), "{model:?}: {log_p}");
            assert!(gradient_is_gradient(&Case::new(&*target)).is_ok(), "{model:?}");
        }
    }

    /// Mean and variance of 20,000 counts within 5 standard errors (false alarm below 1e-5). Counterexample: another rate.
    #[test]
    fn counts_have_mean_and_variance_of_their_rate() {
        let mut stream = Seed::new(4).stream(0, 0);
        let counts: Vec<f64> = (0..20_000).map(|_| poisson(2.5, &mut stream)).collect();
        let mean = |of: &dyn Fn(f64) -> f64| counts.iter().map(|c| of(*c)).sum::<f64>() / 20_000.0;
        let error = |rate: f64| (mean(&|c| c) - rate).abs() / (rate / 20_000.0).sqrt();
        assert!(error(2.5) < 5.0 && error(2.6) > 5.0);
        // The fourth central moment is 2.5 + 3 * 2.5^2, so that the standard error of the variance is 0.028.
        assert!((mean(&|c| (c - 2.5).powi(2)) - 2.5).abs() < 0.14);
    }
}
