//! Degrees of freedom of Student t families: fixed, or learned as part of lambda.

use mcsa_core::{Error, all_finite, same_length};

use crate::Link;
use crate::student::check_dof;

/// Degrees of freedom of a Student t family, fixed or part of lambda; the type decides which.
///
/// Sealed: [`Fixed`] or [`Learned`].
pub trait Dof: std::fmt::Debug + Copy + Send + Sync + sealed::Sealed {
    /// Number of parameters: 0 if fixed; 1 if learned, and then it is the last entry of lambda.
    const NUM_PARAMS: usize;

    /// Degrees of freedom at the given parameters, a slice of length `NUM_PARAMS`.
    fn dof(&self, params: &[f64]) -> f64;

    /// Derivative `d dof / d param`; 0 if there is no parameter.
    fn derivative(&self, params: &[f64]) -> f64;
}

mod sealed {
    pub trait Sealed {
        /// The nearest degrees of freedom that a running estimate may have.
        fn confined(&self, dof: f64) -> f64;

        /// Writes the parameter at which the degrees of freedom equal `dof`; false if there is none.
        fn write(&self, dof: f64, params: &mut [f64]) -> bool;
    }
}

impl sealed::Sealed for Fixed {
    fn confined(&self, dof: f64) -> f64 {
        dof
    }

    fn write(&self, _: f64, _: &mut [f64]) -> bool {
        true
    }
}

impl sealed::Sealed for Learned {
    fn confined(&self, dof: f64) -> f64 {
        let [least, most] = self.range();
        dof.clamp(least, most)
    }

    fn write(&self, dof: f64, params: &mut [f64]) -> bool {
        self.param(dof).map(|param| params[0] = param).is_ok()
    }
}

/// Constant degrees of freedom.
///
/// ```
/// use mcsa_families::Fixed;
/// assert_eq!(Fixed::new(4.0)?.value(), 4.0);
/// assert!(Fixed::new(0.0).is_err());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fixed(f64);

impl Fixed {
    /// Degrees of freedom equal to `dof`.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, where draws may leave the range of a double.
    pub fn new(dof: f64) -> Result<Self, Error> {
        check_dof(dof)?;
        Ok(Self(dof))
    }

    /// The degrees of freedom.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Dof for Fixed {
    const NUM_PARAMS: usize = 0;

    fn dof(&self, _: &[f64]) -> f64 {
        self.0
    }

    fn derivative(&self, _: &[f64]) -> f64 {
        0.0
    }
}

/// Learned degrees of freedom, the last entry of lambda: `dof = floor + ln(1 + e^param)`.
///
/// The floor keeps the tails from becoming ever heavier during a fit. A floor above 2 keeps the variance finite.
///
/// ```
/// use mcsa_families::{Dof, Learned};
/// let dof = Learned::above(1.0)?;
/// assert!((dof.dof(&[dof.param(5.0)?]) - 5.0).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learned {
    floor: f64,
}

impl Learned {
    /// Learned degrees of freedom greater than `floor`.
    ///
    /// # Errors
    /// If the floor is not finite, or below 0.1, where draws may leave the range of a double.
    pub fn above(floor: f64) -> Result<Self, Error> {
        check_dof(floor).map_err(|error| error.within("floor"))?;
        Ok(Self { floor })
    }

    /// Lower bound of the degrees of freedom.
    pub fn floor(self) -> f64 {
        self.floor
    }

    /// Least and greatest degrees of freedom of a running estimate ([`MomentMatched`](crate::MomentMatched)): 1.05 times the
    /// floor, and 200, beyond which a t is a Gaussian for most purposes, or twice the least if that is more.
    pub fn range(self) -> [f64; 2] {
        let least = 1.05 * self.floor;
        [least, f64::max(200.0, 2.0 * least)]
    }

    /// The parameter at which the degrees of freedom equal `dof`.
    ///
    /// # Errors
    /// If `dof` is not above the floor and finite.
    pub fn param(self, dof: f64) -> Result<f64, Error> {
        if !(dof > self.floor && dof.is_finite()) {
            return Err(Error::parameter("dof", dof, "finite and above the floor"));
        }
        Link::Softplus.inverse(dof - self.floor)
    }
}

impl Dof for Learned {
    const NUM_PARAMS: usize = 1;

    fn dof(&self, params: &[f64]) -> f64 {
        self.floor + Link::Softplus.scale(params[0])
    }

    fn derivative(&self, params: &[f64]) -> f64 {
        Link::Softplus.derivative(params[0])
    }
}

/// Checks parameters `[location; rho; dof]`: their number, that they are finite, and that the degrees of freedom are allowed.
pub(crate) fn check<D: Dof>(dof: &D, params: &[f64], expected: usize) -> Result<(), Error> {
    same_length("params", expected, params.len())?;
    all_finite("params", params)?;
    // Finite parameters may still give infinite degrees of freedom: 1e308 + 1e308.
    check_dof(dof.dof(&params[expected - D::NUM_PARAMS..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors() {
        for bad in [0.0, -1.0, 0.09, f64::NAN, f64::INFINITY] {
            assert!(Fixed::new(bad).is_err() && Learned::above(bad).is_err(), "{bad}");
        }
        let learned = Learned::above(2.0).unwrap();
        for bad in [2.0, 1.0, f64::NAN, f64::INFINITY] {
            assert!(learned.param(bad).is_err(), "{bad}");
        }
        assert!(learned.dof(&[-1e300]) >= 2.0);
        assert!(check(&Learned::above(f64::MAX).unwrap(), &[f64::MAX], 1).is_err());
    }
}
