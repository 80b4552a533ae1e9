//! Initial parameters of fits by name.

use mcsa_core::{Error, Stream};
use mcsa_families::{GaussianFamily, Rho, Start as Drawn};
use serde::{Deserialize, Serialize};

/// Initial parameters of a fit. Names refer to the published experiments that use them.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Start {
    /// Mean 0 and scale 1, not random.
    Standard,
    /// Random, near mean 0 and rho 0.
    Jittered,
    /// Means from a standard normal, scales about 1.1: see [`mcsa_families::Start::twice_softplus`].
    TwiceSoftplus,
    /// Means from a standard normal, all rho equal.
    FixedRho { rho: f64 },
    /// Near mean 0 and rho 0.5.
    Probit,
    /// Random means with the standard deviation `spread`, given scale.
    At { scale: f64, spread: f64 },
    /// Equal means and equal scales, not random.
    Placed { mean: f64, scale: f64 },
    /// The end of a warm fit from there, common to all families: a mean-field Gaussian fitted by ten parallel chains, by Adam at rate
    /// 0.01.
    Warm { mean: f64, scale: f64, steps: u64 },
}

impl Start {
    /// Mean and scale of every coordinate, if they are not random; before the steps of a warm fit.
    pub fn place(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Standard => Some((0.0, 1.0)),
            Self::Placed { mean, scale } | Self::Warm { mean, scale, .. } => Some((mean, scale)),
            _ => None,
        }
    }

    /// Number of steps of the warm fit.
    pub fn warm_steps(&self) -> u64 {
        match *self {
            Self::Warm { steps, .. } => steps,
            _ => 0,
        }
    }

    /// Initial parameters lambda, before the steps of a warm fit.
    pub fn draw(&self, family: &dyn GaussianFamily, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let with = |mean_spread, scale| Drawn { mean_spread, rho: Rho::Scale(scale), factor_spread: 0.1 };
        let start = match *self {
            Self::Standard => Drawn::standard(),
            Self::Jittered => Drawn::jittered(),
            Self::TwiceSoftplus => Drawn::twice_softplus(),
            Self::FixedRho { rho } => Drawn::fixed_rho(rho),
            Self::Probit => Drawn::probit(),
            Self::At { scale, spread } => with(spread, scale),
            Self::Placed { scale, .. } | Self::Warm { scale, .. } => with(0.0, scale),
        };
        let mut params = start.draw(family, stream)?;
        if let Self::Placed { mean, .. } | Self::Warm { mean, .. } = *self {
            // In every Gaussian family the first parameters are the means.
            params[..family.dim()].fill(mean);
        }
        Ok(params)
    }
}
