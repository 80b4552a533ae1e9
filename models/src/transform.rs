//! Transforms from the real line to the range of a parameter.

use crate::generic::Real;

/// Transform of a parameter: a smooth increasing map `theta = b(z)` of the real line onto the parameter's range.
///
/// | range | `theta` | `log b'(z)` |
/// |---|---|---|
/// | [`Real`](Self::Real) | `z` | `0` |
/// | [`Positive`](Self::Positive) | `exp(z)` | `z` |
/// | [`Interval`](Self::Interval) | `low + (high - low) s(z)`, `s(z) = 1 / (1 + e^-z)` | `log(high - low) + log s(z) + log s(-z)` |
///
/// A density of `theta` becomes one of `z` by adding `log b'(z)` (pMCSA, MSC and their code optimise in `z`).
///
/// ```
/// use mcsa_models::Transform;
/// let phi = Transform::Interval { low: -1.0, high: 1.0 };
/// assert_eq!(phi.constrain(0.0), 0.0);
/// assert!((phi.unconstrain(phi.constrain(1.3)) - 1.3).abs() < 1e-14);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transform {
    /// The whole line, unchanged.
    Real,
    /// The positive numbers, by their logarithm.
    Positive,
    /// An open interval, by the logit of the relative position.
    Interval {
        /// The lower end.
        low: f64,
        /// The upper end, larger than the lower.
        high: f64,
    },
}

impl Transform {
    /// `theta = b(z)`. For large `|z|` it rounds to an end of the range.
    pub fn constrain<R: Real>(self, z: R) -> R {
        match self {
            Self::Real => z,
            Self::Positive => z.exp(),
            Self::Interval { low, high } => (-z).sigmoid() * low + z.sigmoid() * high,
        }
    }

    /// `z = b^-1(theta)`; NaN or infinite if `theta` is not inside the range.
    pub fn unconstrain(self, theta: f64) -> f64 {
        match self {
            Self::Real => theta,
            Self::Positive => theta.ln(),
            Self::Interval { low, high } => (theta - low).ln() - (high - theta).ln(),
        }
    }

    /// Log-Jacobian `log b'(z)`.
    pub fn log_slope<R: Real>(self, z: R) -> R {
        match self {
            Self::Real => 0.0.into(),
            Self::Positive => z,
            Self::Interval { low, high } => z.log_sigmoid() + (high - low).ln() + (-z).log_sigmoid(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Transform::{self, Interval, Positive};
    use mcsa_testing::law::{ROUNDING, is_slope, slope};

    #[test]
    fn transforms_invert_and_their_slopes_are_slopes() {
        for transform in
            [Transform::Real, Positive, Interval { low: -1.0, high: 1.0 }, Interval { low: 2.5, high: 7.0 }]
        {
            for z in [-4.0, -0.3, 0.0, 1.7, 3.9] {
                let is = |found: f64, f: &dyn Fn(f64) -> f64| {
                    is_slope("slope", || format!("{transform:?} at {z}"), found, slope(ROUNDING, f))
                };
                let theta = transform.constrain(z);
                assert!((transform.unconstrain(theta) - z).abs() < 1e-12);
                assert_eq!(is(transform.log_slope(z).exp(), &|t| transform.constrain(z + t)), Ok(()));
                assert!(is(1.001 * transform.log_slope(z).exp(), &|t| transform.constrain(z + t)).is_err());
            }
        }
    }
}
