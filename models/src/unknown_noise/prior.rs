use mcsa_core::Error;

use crate::prior::half_cauchy;
use crate::support::{finite, log_normal, positive};

/// Prior of one weight of a regression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WeightPrior {
    /// `p(b) = 1`: improper.
    Flat,
    /// `b ~ N(mean, sd^2)`.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        sd: f64,
    },
}

/// Prior of the standard deviation `sigma` of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoisePrior {
    /// `p(sigma) = 1` for `sigma > 0`: improper.
    Flat,
    /// `sigma ~ half-Cauchy(scale)`.
    HalfCauchy {
        /// The scale.
        scale: f64,
    },
}

impl WeightPrior {
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            Self::Flat => Ok(()),
            Self::Normal { mean, sd } => {
                finite("prior mean", mean)?;
                positive("prior sd", sd)
            }
        }
    }

    /// Mean and precision; the precision of a flat prior is 0.
    pub(super) fn moments(self) -> (f64, f64) {
        match self {
            Self::Flat => (0.0, 0.0),
            Self::Normal { mean, sd } => (mean, sd.powi(-2)),
        }
    }

    /// `log p(b)` and its slope.
    pub(super) fn at(self, b: f64) -> (f64, f64) {
        match self {
            Self::Flat => (0.0, 0.0),
            Self::Normal { mean, sd } => (log_normal(b - mean, sd), (mean - b) / (sd * sd)),
        }
    }
}

impl NoisePrior {
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            Self::Flat => Ok(()),
            Self::HalfCauchy { scale } => positive("noise scale", scale),
        }
    }

    /// `log p(sigma) + u` and its slope in `u = log sigma`.
    pub(super) fn at(self, u: f64) -> (f64, f64) {
        match self {
            Self::Flat => (u, 1.0),
            Self::HalfCauchy { scale } => half_cauchy(u, scale),
        }
    }

    /// `p(sigma)`, as in a paper.
    pub(super) fn log_density(self, sigma: f64) -> f64 {
        match self {
            Self::Flat => 0.0,
            Self::HalfCauchy { scale } => {
                let white = sigma / scale;
                (2.0 / (std::f64::consts::PI * scale * (1.0 + white * white))).ln()
            }
        }
    }
}
