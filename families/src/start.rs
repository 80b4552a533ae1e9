//! Initial parameters of a fit.

use mcsa_core::{Error, Stream};

use crate::{GaussianFamily, Link};

/// Initial value of `rho`, the unconstrained number behind each scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rho {
    /// The same number in every coordinate.
    Fixed(f64),
    /// In every coordinate the `rho` at which the family's link gives this scale.
    Scale(f64),
    /// `centre + spread * N(0, 1)`.
    Normal {
        /// The centre.
        centre: f64,
        /// The standard deviation.
        spread: f64,
    },
    /// `ln(1 + e^N(0, 1))`: a softplus, already a scale, is used as `rho`, so that the link is applied once more.
    SoftplusOfNormal,
}

/// Distribution of the initial parameters: `mean_i = mean_spread * N(0, 1)`, `rho` as given by [`Rho`], entries of a low-rank
/// factor `factor_spread * N(0, 1)`, drawn in this order.
///
/// The constructors are named after the initial values of the published experiments, taken from the published code, not from the
/// papers.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_families::{MeanField, Start};
/// let q = MeanField::new(3);
/// let params = Start::jittered().draw(&q, &mut Seed::new(1).stream(0, 0))?;
/// assert!(params.iter().all(|x| x.abs() < 0.6));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start {
    /// The standard deviation of the means.
    pub mean_spread: f64,
    /// Initial value of `rho`.
    pub rho: Rho,
    /// The standard deviation of the entries of a low-rank factor, for which zero would be a saddle point.
    pub factor_spread: f64,
}

impl Start {
    /// Mean 0 and scale 1, without randomness (except in a low-rank factor).
    pub const fn standard() -> Self {
        Self { mean_spread: 0.0, rho: Rho::Scale(1.0), factor_spread: 0.1 }
    }

    /// Means `0.1 N(0, 1)`, rho `0.1 N(0, 1)`: neural network, radon, stochastic volatility, Gaussian process on
    /// the CPU. A softplus scale is about 0.69.
    pub const fn jittered() -> Self {
        Self { mean_spread: 0.1, rho: Rho::Normal { centre: 0.0, spread: 0.1 }, factor_spread: 0.1 }
    }

    /// Means `N(0, 1)`, rho `softplus(N(0, 1))`: logistic regression, and the Gaussian target of the step size figure.
    /// The softplus is applied twice; the median scale is 1.10.
    pub const fn twice_softplus() -> Self {
        Self { mean_spread: 1.0, rho: Rho::SoftplusOfNormal, factor_spread: 0.1 }
    }

    /// Means `N(0, 1)`, the same rho in every coordinate: Gaussian processes, 3 for score ascent (scale 3.0486) and 1 for
    /// the evidence lower bound (1.3133), under softplus.
    pub const fn fixed_rho(rho: f64) -> Self {
        Self { mean_spread: 1.0, rho: Rho::Fixed(rho), factor_spread: 0.1 }
    }

    /// Means `0.1 N(0, 1)`, rho `0.5 + 0.1 N(0, 1)`: probit regression and the twisted chain of MSC, under [`Link::Exp`].
    pub const fn probit() -> Self {
        Self { mean_spread: 0.1, rho: Rho::Normal { centre: 0.5, spread: 0.1 }, factor_spread: 0.1 }
    }

    /// Draws initial parameters of `family`.
    ///
    /// # Errors
    /// If a spread is negative or not finite, or the parameters fail `check`, for example a scale that is not positive.
    pub fn draw<G: GaussianFamily + ?Sized>(
        &self,
        family: &G,
        stream: &mut Stream,
    ) -> Result<Vec<f64>, Error> {
        let Self { mean_spread, rho, factor_spread } = *self;
        spread("mean_spread", mean_spread)?;
        spread("factor_spread", factor_spread)?;
        let fixed = match rho {
            Rho::Scale(scale) => family.link().inverse(scale)?,
            Rho::Fixed(rho) => rho,
            Rho::Normal { centre, spread: width } => {
                spread("spread of rho", width)?;
                centre
            }
            Rho::SoftplusOfNormal => 0.0,
        };
        let mean: Vec<f64> = (0..family.dim()).map(|_| mean_spread * stream.normal()).collect();
        let mut one = || match rho {
            Rho::Fixed(_) | Rho::Scale(_) => fixed,
            Rho::Normal { spread, .. } => fixed + spread * stream.normal(),
            Rho::SoftplusOfNormal => Link::Softplus.scale(stream.normal()),
        };
        let rho: Vec<f64> = (0..family.dim()).map(|_| one()).collect();
        family.assemble(&mean, &rho, &mut || factor_spread * stream.normal())
    }
}

fn spread(name: &'static str, value: f64) -> Result<(), Error> {
    if !(value >= 0.0 && value.is_finite()) {
        return Err(Error::parameter(name, value, "finite and not negative"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FullRank, LowRank, MeanField};
    use mcsa_core::Seed;

    fn stream() -> Stream {
        Seed::new(3).stream(0, 0)
    }

    #[test]
    fn published_scales_are_met() {
        let q = MeanField::new(1001);
        let scales = |start: Start, link| {
            let params = start.draw(&q.with_link(link), &mut stream()).unwrap();
            let mut scales: Vec<f64> = params[1001..].iter().map(|&rho| link.scale(rho)).collect();
            scales.sort_by(f64::total_cmp);
            scales
        };
        assert!((scales(Start::fixed_rho(3.0), Link::Softplus)[7] - 3.0486).abs() < 1e-4);
        assert!((scales(Start::fixed_rho(1.0), Link::Softplus)[7] - 1.3133).abs() < 1e-4);
        for link in [Link::Softplus, Link::Exp] {
            assert!((scales(Start::standard(), link)[7] - 1.0).abs() < 1e-15);
        }
        // Medians of 1001: within a few hundredths.
        assert!((scales(Start::jittered(), Link::Softplus)[500] - 0.693).abs() < 0.02);
        assert!((scales(Start::twice_softplus(), Link::Softplus)[500] - 1.10).abs() < 0.05);
        assert!((scales(Start::probit(), Link::Exp)[500] - 0.5_f64.exp()).abs() < 0.05);
    }

    #[test]
    fn families_share_a_beginning() {
        let mean_field = Start::jittered().draw(&MeanField::new(3), &mut stream()).unwrap();
        let low_rank = Start::jittered().draw(&LowRank::new(3, 2), &mut stream()).unwrap();
        let full_rank = FullRank::new(3);
        let params = Start::jittered().draw(&full_rank, &mut stream()).unwrap();
        assert_eq!(mean_field, low_rank[..6]);
        assert!(low_rank[6..].iter().all(|&b| b != 0.0 && b.abs() < 0.5));
        assert_eq!([params[3], params[6], params[8]], mean_field[3..]);
        assert_eq!(full_rank.variances(&params), MeanField::new(3).variances(&mean_field));
    }

    #[test]
    fn impossible_beginnings_are_refused() {
        let q = MeanField::new(2);
        let bad = [
            Start { rho: Rho::Scale(0.0), ..Start::standard() },
            Start { rho: Rho::Scale(-1.0), ..Start::standard() },
            Start { rho: Rho::Scale(f64::NAN), ..Start::standard() },
            Start { rho: Rho::Normal { centre: 0.0, spread: f64::NAN }, ..Start::standard() },
            Start { mean_spread: -1.0, ..Start::standard() },
            Start::fixed_rho(-800.0),
            Start::fixed_rho(f64::NAN),
        ];
        for start in bad {
            assert!(start.draw(&q, &mut stream()).is_err(), "{start:?}");
        }
        assert!(q.at(&[0.0, f64::NAN], &[1.0, 1.0]).is_err());
        assert!(q.at(&[0.0], &[1.0, 1.0]).is_err());
    }
}
