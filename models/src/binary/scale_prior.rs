use std::f64::consts::PI;

/// Prior of a standard deviation `s`, as a density of `u = log s`; the log-Jacobian `u` is included.
///
/// ```
/// use mcsa_models::ScalePrior;
/// let at_one = ScalePrior::HalfNormal.log_density(0.0);
/// assert!((at_one - (0.5 * (2.0 / std::f64::consts::PI).ln() - 0.5)).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScalePrior {
    /// `s ~ N+(0, 1)`: `p(u) = sqrt(2/pi) exp(u - e^2u / 2)`. (MCMC-SE)
    #[default]
    HalfNormal,
    /// `s ~ InverseGamma(1, 1)`: `p(u) = exp(-u - e^-u)`, from the later source code of `MCMC-SE`.
    InverseGamma,
}

impl ScalePrior {
    /// `log p(u)`, normalised; `-inf` where a square or a reciprocal of the scale overflows.
    pub fn log_density(self, u: f64) -> f64 {
        self.log_density_with(u, self.exponent(u).exp())
    }

    /// The argument of the exponential in [`log_density`](ScalePrior::log_density).
    pub(super) fn exponent(self, u: f64) -> f64 {
        match self {
            Self::HalfNormal => 2.0 * u,
            Self::InverseGamma => -u,
        }
    }

    /// `log p(u)`, from `power`, the exponential of [`exponent`](ScalePrior::exponent).
    pub(super) fn log_density_with(self, u: f64, power: f64) -> f64 {
        match self {
            Self::HalfNormal => 0.5 * (2.0 / PI).ln() + u - 0.5 * power,
            Self::InverseGamma => -u - power,
        }
    }

    /// `d/du log p(u)`.
    pub fn slope(self, u: f64) -> f64 {
        match self {
            Self::HalfNormal => 1.0 - (2.0 * u).exp(),
            Self::InverseGamma => (-u).exp() - 1.0,
        }
    }

    /// `d^2/du^2 log p(u)`.
    pub fn curvature(self, u: f64) -> f64 {
        match self {
            Self::HalfNormal => -2.0 * (2.0 * u).exp(),
            Self::InverseGamma => -(-u).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_integrate_to_one() {
        for prior in [ScalePrior::HalfNormal, ScalePrior::InverseGamma] {
            let total: f64 = (-4000..4000).map(|i| prior.log_density(f64::from(i) * 0.01).exp() * 0.01).sum();
            assert!((total - 1.0).abs() < 1e-12, "{prior:?}: {total}");
        }
    }
}
