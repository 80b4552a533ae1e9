//! Eight schools: a small hierarchical model with a funnel-shaped posterior.

use std::f64::consts::{LN_2, PI};

use mcsa_core::numeric::quadrature::{Axis, Integral, Map, log_integral};
use mcsa_core::numeric::scalar;
use mcsa_core::{Error, Gradient, LogDensity, Named, Separable, all_finite, same_length};

use crate::support::{HALF_LOG_TAU, decided, half_cauchy, log_normal, positive};

/// Effects of coaching in eight schools, and their standard errors (Rubin 1981, Table 1; Gelman et al.,
/// *Bayesian Data Analysis*, section 5.5).
const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

/// Scale of both priors, from `posteriordb`.
const SCALE: f64 = 5.0;

/// Parametrisation of the effects of the schools in [`EightSchools`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Centring {
    /// The coordinates are the effects `theta_j`. Where the data are weak, their posterior is a funnel.
    Centred,
    /// The coordinates are standardised effects, `eta_j = (theta_j - mu) / tau`. Where the data are strong, they are correlated.
    NonCentred,
}

/// Eight schools model: partially pooled effects with known standard errors:
///
/// ```text
/// mu ~ N(0, 5^2),   tau ~ half-Cauchy(5),   theta_j ~ N(mu, tau^2),   effect_j ~ N(theta_j, error_j^2)
/// z = (mu, log tau, theta_1, .., theta_J)   or   (mu, log tau, eta_1, .., eta_J),   log-Jacobian log tau
/// ```
///
/// The second form has `eta_j ~ N(0, 1)` and `theta_j = mu + tau eta_j`; both have equal evidence. One datum per school.
///
/// ```
/// use mcsa_models::EightSchools;
/// let (log_evidence, _) = EightSchools::centred().log_evidence(1e-10);
/// assert!((log_evidence + 31.311_347).abs() < 1e-6);
/// ```
#[derive(Debug, Clone)]
pub struct EightSchools {
    effects: Vec<f64>,
    errors: Vec<f64>,
    inverse_errors: Vec<f64>,
    centring: Centring,
    /// `-sum log error_j - J log(2 pi) / 2`.
    log_peak: f64,
}

impl EightSchools {
    /// The eight schools with the effects as coordinates.
    pub fn centred() -> Self {
        Self::of(EFFECTS.into(), ERRORS.into(), Centring::Centred)
    }

    /// The eight schools with the standardised effects as coordinates.
    pub fn non_centred() -> Self {
        Self::of(EFFECTS.into(), ERRORS.into(), Centring::NonCentred)
    }

    /// The model for other schools.
    ///
    /// # Errors
    /// If the lengths differ, an effect is not finite or an error not positive and finite.
    pub fn new(effects: Vec<f64>, errors: Vec<f64>, centring: Centring) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("EightSchools");
        all_finite("effects", &effects).map_err(refuse)?;
        same_length("errors", effects.len(), errors.len()).map_err(refuse)?;
        errors.iter().try_for_each(|&error| positive("error", error)).map_err(refuse)?;
        Ok(Self::of(effects, errors, centring))
    }

    fn of(effects: Vec<f64>, errors: Vec<f64>, centring: Centring) -> Self {
        let log_peak = -errors.iter().map(|e| e.ln() + HALF_LOG_TAU).sum::<f64>();
        let inverse_errors = errors.iter().map(|error| error.recip()).collect();
        Self { effects, errors, inverse_errors, centring, log_peak }
    }

    /// Log evidence `log p(effects)`, and its change at the last halving of the step: effects and `mu` are integrated out in
    /// closed form, `log tau` by quadrature to within `tolerance`.
    pub fn log_evidence(&self, tolerance: f64) -> (f64, f64) {
        let axis = Axis::line(Map::Sinh, SCALE.ln(), 1.0);
        let Integral { value, error } = log_integral(&[axis], tolerance, |z| self.log_scale_density(z[0]));
        (value, error)
    }

    /// `log p(effects, log tau)`, with effects and `mu` integrated out.
    fn log_scale_density(&self, log_tau: f64) -> f64 {
        let variance = (2.0 * log_tau).exp();
        let (mut precision, mut linear) = (1.0 / (SCALE * SCALE), 0.0);
        let mut log_p = half_cauchy(log_tau, SCALE).0 - SCALE.ln();
        for (effect, error) in self.effects.iter().zip(&self.errors) {
            let total = variance + error * error;
            precision += total.recip();
            linear += effect / total;
            log_p -= 0.5 * (total.ln() + effect * effect / total) + HALF_LOG_TAU;
        }
        log_p + 0.5 * (linear * linear / precision - precision.ln())
    }

    /// Effect of school `j` at `z`.
    fn effect(&self, j: usize, z: &[f64], tau: f64) -> f64 {
        match self.centring {
            Centring::Centred => z[2 + j],
            Centring::NonCentred => z[0] + tau * z[2 + j],
        }
    }

    /// Log prior.
    fn prior(&self, z: &[f64], tau: f64) -> f64 {
        let count = self.effects.len() as f64;
        let spread = match self.centring {
            Centring::Centred => {
                let inverse = tau.recip();
                let square: f64 = z[2..].iter().map(|theta| ((theta - z[0]) * inverse).powi(2)).sum();
                -0.5 * square - count * z[1]
            }
            Centring::NonCentred => -0.5 * z[2..].iter().map(|eta| eta * eta).sum::<f64>(),
        };
        // The half-Cauchy density with its Jacobian: `2 tau / (pi s (1 + (tau / s)^2))`.
        let of_tau = LN_2 - (PI * SCALE).ln() - scalar::ln_1p_exp(2.0 * (z[1] - SCALE.ln())) + z[1];
        log_normal(z[0], SCALE) + of_tau + spread - count * HALF_LOG_TAU
    }

    fn likelihood_term(&self, j: usize, z: &[f64], tau: f64) -> f64 {
        let white = (self.effects[j] - self.effect(j, z, tau)) * self.inverse_errors[j];
        -0.5 * white * white
    }

    fn value(&self, z: &[f64], tau: f64) -> f64 {
        let likelihood: f64 = (0..self.effects.len()).map(|j| self.likelihood_term(j, z, tau)).sum();
        decided(self.prior(z, tau) + likelihood + self.log_peak, z)
    }
}

impl LogDensity for EightSchools {
    fn dim(&self) -> usize {
        2 + self.effects.len()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        self.value(z, scalar::exp(z[1]))
    }

    /// Values of `mu`, `tau` and the effects `theta[j]`, in both parametrisations.
    fn constrain(&self, z: &[f64], out: &mut Named) {
        let tau = z[1].exp();
        out.push("mu", z[0]);
        out.push("tau", tau);
        out.vector("theta", (0..self.effects.len()).map(|j| self.effect(j, z, tau)));
    }
}

impl Gradient for EightSchools {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let tau = scalar::exp(z[1]);
        let inverse = tau.recip();
        gradient[0] = -z[0] / (SCALE * SCALE);
        gradient[1] = 1.0 - 2.0 / (1.0 + (SCALE * inverse).powi(2));
        for (j, inverse_error) in self.inverse_errors.iter().enumerate() {
            let pull = (self.effects[j] - self.effect(j, z, tau)) * inverse_error * inverse_error;
            match self.centring {
                Centring::Centred => {
                    let white = (z[2 + j] - z[0]) * inverse;
                    gradient[0] += white * inverse;
                    gradient[1] += white * white - 1.0;
                    gradient[2 + j] = pull - white * inverse;
                }
                Centring::NonCentred => {
                    gradient[0] += pull;
                    gradient[1] += pull * tau * z[2 + j];
                    gradient[2 + j] = pull * tau - z[2 + j];
                }
            }
        }
        self.value(z, tau)
    }
}

impl Separable for EightSchools {
    fn num_data(&self) -> usize {
        self.effects.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(self.prior(z, scalar::exp(z[1])), z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        let tau = scalar::exp(z[1]);
        let term = |&j: &usize| self.likelihood_term(j, z, tau) - self.errors[j].ln() - HALF_LOG_TAU;
        // From +0: an empty sum of floats is -0.
        decided(rows.iter().map(term).fold(0.0, |sum, term| sum + term), z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At a fixed scale, quadrature over the mean and two effects agrees with the closed form, in both parametrisations.
    #[test]
    fn both_coordinates_have_the_same_evidence() {
        for log_tau in [-0.5, 0.7, 2.0] {
            for centring in [Centring::Centred, Centring::NonCentred] {
                let model = EightSchools::new(vec![3.0, -1.0], vec![2.0, 4.0], centring).unwrap();
                let (centre, width) = match centring {
                    Centring::Centred => (0.5, 1.0),
                    Centring::NonCentred => (0.0, 0.5),
                };
                let axes = [1.0, width, width].map(|width| Axis::line(Map::Sinh, centre, width));
                let Integral { value: found, .. } =
                    log_integral(&axes, 1e-10, |z| model.log_density(&[z[0], log_tau, z[1], z[2]], &mut []));
                let expected = model.log_scale_density(log_tau);
                assert!((found - expected).abs() < 1e-6, "{centring:?} {log_tau}: {found} {expected}");
            }
        }
    }

    #[test]
    fn the_evidence_is_that_of_no_data_without_data() {
        let (log_evidence, _) =
            EightSchools::new(vec![], vec![], Centring::Centred).unwrap().log_evidence(1e-12);
        assert!(log_evidence.abs() < 1e-11, "{log_evidence}");
    }

    #[test]
    fn bad_input_is_refused_with_its_place() {
        let refused =
            |effects, errors| EightSchools::new(effects, errors, Centring::Centred).unwrap_err().to_string();
        assert_eq!(refused(vec![1.0], vec![]), "EightSchools: errors has length 0, expected 1");
        assert_eq!(refused(vec![1.0], vec![0.0]), "EightSchools: error is 0, expected positive and finite");
    }
}
