//! Link functions: maps from an unconstrained number to a positive scale.

use mcsa_core::{Error, numeric, positive};
use serde::{Deserialize, Serialize};

/// Link function from an unconstrained `rho` to a positive scale `sigma`.
///
/// ```text
/// Softplus: sigma = ln(1 + e^rho)      Exp: sigma = e^rho
/// ```
/// Softplus is linear for large `rho`, so that one step of the optimiser cannot multiply a scale by e; with exp a step in `rho`
/// is a relative change of the scale. Both are about `e^rho` for very negative `rho`.
///
/// Numerics: [`check`](Link::check) admits a `rho` whose scale is a normal number: at least
/// [`LEAST`](Link::LEAST), and for `Exp` at most [`GREATEST`](Link::GREATEST). Within these bounds no scale or derivative
/// is zero, infinite or NaN; other parameters fail the `check` of a family.
///
/// ```
/// use mcsa_families::Link;
/// let rho = Link::Softplus.inverse(1.0)?;
/// assert!((Link::Softplus.scale(rho) - 1.0).abs() < 1e-15);
/// assert!(Link::Exp.check(&[0.0, -800.0]).is_err());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// `ln(1 + e^rho)`.
    #[default]
    Softplus,
    /// `e^rho`.
    Exp,
}

impl Link {
    /// The least `rho` that [`check`](Link::check) admits: `e^-708` is the smallest integer power of e that is a normal number.
    pub const LEAST: f64 = -708.0;
    /// The greatest `rho` that [`check`](Link::check) admits under [`Link::Exp`]: `e^709` is finite, `e^710` is not.
    pub const GREATEST: f64 = 709.0;

    /// The scale `sigma` at `rho`.
    pub fn scale(self, rho: f64) -> f64 {
        match self {
            Self::Softplus => rho.max(0.0) + (-rho.abs()).exp().ln_1p(),
            Self::Exp => rho.exp(),
        }
    }

    /// `d sigma / d rho`: the logistic function for softplus.
    pub fn derivative(self, rho: f64) -> f64 {
        match self {
            Self::Softplus => logistic(rho),
            Self::Exp => rho.exp(),
        }
    }

    /// The `rho` whose scale is `scale`.
    ///
    /// Softplus: `ln(e^sigma - 1)`, computed as `sigma + ln(1 - e^-sigma)` above ln 2, so that small and large scales keep
    /// their digits.
    ///
    /// # Errors
    /// If the scale is not positive and finite, or so small that [`check`](Link::check) would fail for its `rho`.
    pub fn inverse(self, scale: f64) -> Result<f64, Error> {
        positive("scale", scale)?;
        let rho = match self {
            Self::Softplus if scale > std::f64::consts::LN_2 => scale + (-(-scale).exp()).ln_1p(),
            Self::Softplus => scale.exp_m1().ln(),
            Self::Exp => scale.ln(),
        };
        if !self.admits(rho) {
            return Err(Error::parameter("scale", scale, "between e^-708 and e^709"));
        }
        Ok(rho)
    }

    /// The scale of each `rho`.
    pub fn scales_into(self, rho: &[f64], scales: &mut [f64]) {
        assert_eq!(rho.len(), scales.len(), "a scale per number");
        match self {
            Self::Softplus => numeric::ln_1p_exp_into(rho, scales),
            Self::Exp => numeric::exp_into(rho, scales),
        }
    }

    /// `d sigma / d rho` at each `rho`.
    pub fn derivatives_into(self, rho: &[f64], derivatives: &mut [f64]) {
        assert_eq!(rho.len(), derivatives.len(), "a derivative per number");
        match self {
            Self::Softplus => numeric::sigmoid_into(rho, derivatives),
            Self::Exp => numeric::exp_into(rho, derivatives),
        }
    }

    /// `d ln sigma / d rho` at each `rho`, between 0 and 1, given the `scales` at `rho`.
    pub fn log_derivatives_into(self, rho: &[f64], scales: &[f64], derivatives: &mut [f64]) {
        assert_eq!(rho.len(), scales.len(), "a scale per number");
        match self {
            Self::Softplus => {
                self.derivatives_into(rho, derivatives);
                for (derivative, &scale) in derivatives.iter_mut().zip(scales) {
                    *derivative /= scale;
                }
            }
            Self::Exp => derivatives.fill(1.0),
        }
    }

    /// The `rho` of each scale.
    ///
    /// # Errors
    /// If the lengths differ, or [`inverse`](Link::inverse) fails for a scale; the error names its index.
    pub fn inverses_into(self, scales: &[f64], rho: &mut [f64]) -> Result<(), Error> {
        mcsa_core::same_length("rho", scales.len(), rho.len())?;
        match self {
            Self::Softplus => numeric::ln_expm1_into(scales, rho),
            Self::Exp => numeric::ln_into(scales, rho),
        }
        // Without a branch, so that numbers are looked at several at a time.
        let good = rho.iter().zip(scales).fold(true, |good, (&rho, &scale)| {
            good & (scale > 0.0) & (scale < f64::INFINITY) & self.admits(rho)
        });
        if good {
            return Ok(());
        }
        for (i, &scale) in scales.iter().enumerate() {
            self.inverse(scale).map_err(|error| error.within(format!("coordinate {i}")))?;
        }
        Ok(())
    }

    /// Checks that no `rho` has a scale that is not a positive normal number: underflow, overflow, NaN.
    ///
    /// # Errors
    /// If a scale is not a positive normal number; the error names its index, the `rho` and the scale.
    pub fn check(self, rho: &[f64]) -> Result<(), Error> {
        if rho.iter().fold(true, |good, &rho| good & self.admits(rho)) {
            return Ok(());
        }
        match rho.iter().position(|&rho| !self.admits(rho)) {
            None => Ok(()),
            Some(index) => Err(Error::invalid(format!(
                "rho[{index}] is {}: its scale {:e} under {self:?} is not a positive normal number",
                rho[index],
                self.scale(rho[index])
            ))),
        }
    }

    fn admits(self, rho: f64) -> bool {
        let greatest = match self {
            Self::Softplus => f64::MAX,
            Self::Exp => Self::GREATEST,
        };
        (Self::LEAST <= rho) & (rho <= greatest)
    }
}

fn logistic(rho: f64) -> f64 {
    let small = (-rho.abs()).exp();
    if rho < 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINKS: [Link; 2] = [Link::Softplus, Link::Exp];

    proptest! {
        /// `rho -> sigma` turns an absolute error of `rho` into a relative error of `sigma`, times `d ln sigma / d rho <= 1`.
        #[test]
        fn the_inverse_is_the_inverse(rho in -708.0..709.0f64) {
            for link in LINKS {
                let scale = link.scale(rho);
                let back = link.inverse(scale).unwrap();
                let ulp = f64::EPSILON * (rho.abs() + 1.0) / (link.derivative(rho) / link.scale(rho)).max(1e-3);
                prop_assert!((back - rho).abs() <= 4.0 * ulp.max(f64::EPSILON * rho.abs()), "{link:?} {rho} {back}");
                prop_assert!((link.scale(back) / scale - 1.0).abs() < 4.0 * f64::EPSILON * (1.0 + rho.abs()));
            }
        }

        /// Central differences with step h: truncation h^2/6, rounding eps/h, relative to the scale.
        #[test]
        fn derivatives_are_slopes(rho in -30.0..30.0f64) {
            for link in LINKS {
                let h = 1e-5;
                let slope = (link.scale(rho + h) - link.scale(rho - h)) / (2.0 * h);
                prop_assert!((link.derivative(rho) - slope).abs() < 1e-9 * (link.scale(rho) + 1e-30) + 1e-10 * slope);
            }
        }

        #[test]
        fn what_check_admits_gives_positive_finite_numbers(rho in prop_oneof![any::<f64>(), -720.0..720.0f64]) {
            for link in LINKS {
                let good = link.check(&[rho]).is_ok();
                let (scale, slope) = (link.scale(rho), link.derivative(rho) / link.scale(rho));
                if good {
                    prop_assert!(scale.is_normal() && scale > 0.0 && (1.0 / scale).is_finite());
                    prop_assert!((0.0..=1.0).contains(&slope));
                }
                prop_assert!(good || !(-708.0..=709.0).contains(&rho));
            }
        }

        #[test]
        fn slices_are_numbers_one_after_the_other(rho in proptest::collection::vec(-40.0..40.0f64, 0..40)) {
            for link in LINKS {
                let (mut scales, mut slopes, mut back) = (rho.clone(), rho.clone(), rho.clone());
                link.scales_into(&rho, &mut scales);
                link.log_derivatives_into(&rho, &scales, &mut slopes);
                link.inverses_into(&scales, &mut back).unwrap();
                for (i, &rho) in rho.iter().enumerate() {
                    let alone = link.inverse(scales[i]).unwrap();
                    prop_assert!((back[i] - alone).abs() <= 4.0 * f64::EPSILON * (1.0 + alone.abs()));
                    prop_assert!((scales[i] / link.scale(rho) - 1.0).abs() < 1e-15);
                    prop_assert!((slopes[i] / (link.derivative(rho) / link.scale(rho)) - 1.0).abs() < 2e-15);
                }
            }
        }
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(Link::Softplus.scale(800.0), 800.0);
        assert_eq!(Link::Softplus.inverse(800.0), Ok(800.0));
        assert_eq!(Link::Softplus.scale(-700.0), (-700.0_f64).exp());
        assert_eq!(Link::Softplus.inverse(1e-300), Ok(1e-300_f64.ln()));
        assert!((Link::Softplus.inverse(1.0).unwrap() - 0.541_324_854_612_918_1).abs() < 1e-15);
    }

    #[test]
    fn scales_that_are_none_are_refused() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
            for link in LINKS {
                assert!(link.inverse(scale).is_err(), "{link:?} {scale}");
                assert!(link.inverses_into(&[1.0, scale], &mut [0.0; 2]).is_err());
            }
        }
        let error = Link::Softplus.check(&[0.0, -800.0]).unwrap_err().to_string();
        assert_eq!(error, "rho[1] is -800: its scale 0e0 under Softplus is not a positive normal number");
    }
}
