//! Degrees of freedom.

use mcsa::{Error, all_finite, same_length};

use crate::Link;
use crate::student::check_dof;

/// Whether a family's degrees of freedom are given or part of lambda; decided by type.
///
/// Sealed: [`Fixed`] or [`Learned`].
pub trait Dof: std::fmt::Debug + Copy + Send + Sync + sealed::Sealed {
    /// How many params it takes, the last of lambda: none or one.
    const NUM_PARAMS: usize;

    /// The degrees of freedom that its params name.
    fn dof(&self, params: &[f64]) -> f64;

    /// `d dof / d param`; 0 if there is none.
    fn derivative(&self, params: &[f64]) -> f64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Fixed {}
    impl Sealed for super::Learned {}
}

/// Degrees of freedom that do not move.
///
/// ```
/// use mcsa_families::Fixed;
/// assert_eq!(Fixed::new(4.0)?.value(), 4.0);
/// assert!(Fixed::new(0.0).is_err());
/// # Ok::<(), mcsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fixed(f64);

impl Fixed {
    /// So many degrees of freedom.
    ///
    /// # Errors
    /// If not finite, or below 0.1, where draws may leave the range of a double.
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

/// Degrees of freedom that are the last param: `dof = floor + ln(1 + e^param)`.
///
/// The floor keeps the tails from growing ever heavier on the way. Above 2 it keeps the variance finite.
///
/// ```
/// use mcsa_families::{Dof, Learned};
/// let dof = Learned::above(1.0)?;
/// assert!((dof.dof(&[dof.param(5.0)?]) - 5.0).abs() < 1e-14);
/// # Ok::<(), mcsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learned {
    floor: f64,
}

impl Learned {
    /// Always more than `floor` degrees.
    ///
    /// # Errors
    /// If the floor is not finite, or below 0.1, where draws may leave the range of a double.
    pub fn above(floor: f64) -> Result<Self, Error> {
        check_dof(floor).map_err(|error| error.within("floor"))?;
        Ok(Self { floor })
    }

    /// What the degrees exceed.
    pub fn floor(self) -> f64 {
        self.floor
    }

    /// The param that names so many degrees.
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

/// The params of a family with these degrees of freedom: `[mean; rho; degrees]`, refused if broken.
pub(crate) fn check<D: Dof>(dof: &D, params: &[f64], expected: usize) -> Result<(), Error> {
    same_length("params", expected, params.len())?;
    all_finite("params", params)?;
    // Finite params may still name infinitely many degrees: 1e308 + 1e308.
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
