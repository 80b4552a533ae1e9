//! Parameters of the autoregressive volatility model.

use mcsa_models::Transform;

/// Parameters of [`FxVolatility`](crate::FxVolatility), on the unconstrained scale on which they are learned.
///
/// ```
/// use mcsa_particles::Theta;
/// let theta = Theta { mu: -1.0, atanh_phi: 0.9_f64.atanh(), log_sigma: 0.3_f64.ln(), log_beta: 0.0 };
/// assert!((theta.phi() - 0.9).abs() < 1e-15);
/// assert_eq!(Theta::from([1.0, 0.0, 0.0, 2.0]).log_beta, 2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Theta {
    /// Mean level of the states.
    pub mu: f64,
    /// `atanh` of the persistence `phi`.
    pub atanh_phi: f64,
    /// Logarithm of the standard deviation of innovations.
    pub log_sigma: f64,
    /// Logarithm of the variance of returns at state 0.
    pub log_beta: f64,
}

impl Theta {
    /// The persistence `phi`, between -1 and 1.
    pub fn phi(&self) -> f64 {
        self.atanh_phi.tanh()
    }

    /// The variance of innovations.
    pub fn variance(&self) -> f64 {
        (2.0 * self.log_sigma).exp()
    }

    /// `log(1 - phi^2)`, without cancellation.
    pub(super) fn log_gap(&self) -> f64 {
        Transform::Interval { low: -1.0, high: 1.0 }.log_slope(2.0 * self.atanh_phi) + std::f64::consts::LN_2
    }
}

impl From<[f64; 4]> for Theta {
    fn from([mu, atanh_phi, log_sigma, log_beta]: [f64; 4]) -> Self {
        Self { mu, atanh_phi, log_sigma, log_beta }
    }
}

impl From<Theta> for [f64; 4] {
    fn from(theta: Theta) -> Self {
        [theta.mu, theta.atanh_phi, theta.log_sigma, theta.log_beta]
    }
}

/// Mean of the first state of [`FxVolatility`](crate::FxVolatility).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstState {
    /// The level `mu`: the path is stationary, and only `mu + log beta` is identified.
    #[default]
    Level,
    /// Zero, as printed (MSC, section 4.3).
    Zero,
}
