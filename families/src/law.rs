//! Standard laws, of a location-scale family and of the base of a flow: Gaussian, or Student t with fixed or learned degrees of freedom.

use std::fmt;

use faer::MatMut;
use mcsa_core::{Error, Stream, each_column};
use mcsa_numeric::HALF_LOG_TAU;
use mcsa_numeric::linear::standard;

use crate::Link;
use crate::student::{Student, check_dof, radius};

/// Law of a standardised point: the standard Gaussian [`Gauss`], or the standard t with [`Fixed`] or [`Learned`] degrees of freedom.
///
/// Sealed: no other type can implement it.
pub trait Law: fmt::Debug + Copy + PartialEq + Send + Sync + sealed::Law {
    /// Number of parameters: 0, or 1, which is then the last entry of lambda.
    const NUM_PARAMS: usize = 0;
}

/// Law that does not depend on lambda: a family with it is [`Reparameterised`](mcsa_core::Reparameterised).
///
/// Sealed: [`Gauss`] or [`Fixed`].
pub trait KnownLaw: Law {}

/// Degrees of freedom of a Student t family, fixed or part of lambda; the type decides which.
///
/// Sealed: [`Fixed`] or [`Learned`].
pub trait Dof: Law {
    /// Degrees of freedom at the given parameters, a slice of length `NUM_PARAMS`.
    fn dof(&self, params: &[f64]) -> f64;
}

pub(crate) mod sealed {
    use super::Radial;

    pub trait Law {
        /// The law at these parameters.
        fn at(&self, params: &[f64]) -> Radial;

        /// Derivative of the degrees of freedom in their parameter.
        fn slope(&self, _: &[f64]) -> f64 {
            0.0
        }

        /// The nearest degrees of freedom that a running estimate may have.
        fn confined(&self, dof: f64) -> f64 {
            dof
        }

        /// Writes the parameter at which the degrees of freedom equal `dof`; false if there is none.
        fn write(&self, _: f64, _: &mut [f64]) -> bool {
            true
        }
    }
}

/// The standard Gaussian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauss;

/// Constant degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fixed(f64);

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

impl Learned {
    /// Learned degrees of freedom greater than `floor`.
    ///
    /// # Errors
    /// If the floor is not finite, or below 0.1, where draws may leave the range of a double.
    pub fn above(floor: f64) -> Result<Self, Error> {
        check_dof(floor).map_err(|error| error.within("floor"))?;
        Ok(Self { floor })
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

impl Law for Gauss {}

impl Law for Fixed {}

impl Law for Learned {
    const NUM_PARAMS: usize = 1;
}

impl KnownLaw for Gauss {}

impl KnownLaw for Fixed {}

impl sealed::Law for Gauss {
    fn at(&self, _: &[f64]) -> Radial {
        Radial(None)
    }
}

impl sealed::Law for Fixed {
    fn at(&self, params: &[f64]) -> Radial {
        Radial(Some(Student::new(self.dof(params))))
    }
}

impl sealed::Law for Learned {
    fn at(&self, params: &[f64]) -> Radial {
        Radial(Some(Student::new(self.dof(params))))
    }

    fn slope(&self, params: &[f64]) -> f64 {
        Link::Softplus.derivative(params[0])
    }

    fn confined(&self, dof: f64) -> f64 {
        let [least, most] = self.range();
        dof.clamp(least, most)
    }

    fn write(&self, dof: f64, params: &mut [f64]) -> bool {
        self.param(dof).map(|param| params[0] = param).is_ok_and(|()| params[0].is_finite())
    }
}

impl Dof for Fixed {
    fn dof(&self, _: &[f64]) -> f64 {
        self.0
    }
}

impl Dof for Learned {
    fn dof(&self, params: &[f64]) -> f64 {
        self.floor + Link::Softplus.scale(params[0])
    }
}

/// Isotropic law at a fixed lambda: the standard Gaussian if `None`, else the standard multivariate t.
#[derive(Debug, Clone, Copy)]
pub struct Radial(pub(crate) Option<Student>);

impl Radial {
    /// Finite parameters may still give infinite degrees of freedom: 1e308 + 1e308.
    pub(crate) fn check(self) -> Result<(), Error> {
        self.0.map_or(Ok(()), |student| check_dof(student.dof))
    }

    /// Log density at zero in `dim` dimensions.
    pub(crate) fn log_peak(self, dim: usize) -> f64 {
        self.0.map_or(-(dim as f64) * HALF_LOG_TAU, |student| student.log_peak(dim))
    }

    /// Derivative of [`log_peak`](Self::log_peak) in the degrees of freedom.
    pub(crate) fn log_peak_slope(self, dim: usize) -> f64 {
        self.0.map_or(0.0, |student| student.log_peak_slope(dim))
    }

    /// Decrease of the log density from zero to `u`.
    pub(crate) fn fallen(self, u: &[f64]) -> f64 {
        match self.0 {
            None => 0.5 * standard::dot(u, u),
            Some(student) => 0.5 * (student.dof + u.len() as f64) * student.log_fall(radius(u)),
        }
    }

    /// Replaces squared lengths of points by twice the decrease of the log density.
    pub(crate) fn falls(self, dim: usize, squares: &mut [f64]) {
        if let Some(student) = self.0 {
            student.log_falls(squares);
            squares.iter_mut().for_each(|fall| *fall *= student.dof + dim as f64);
        }
    }

    /// `-d log q / du` is this number times u.
    pub(crate) fn weight(self, u: &[f64]) -> f64 {
        self.0.map_or(1.0, |student| student.weight(u.len(), radius(u)))
    }

    /// Derivative of the log density at `u` in the degrees of freedom; `peak_slope` is that of the log density at zero.
    pub(crate) fn dof_score(self, peak_slope: f64, u: &[f64]) -> f64 {
        self.0.map_or(0.0, |student| {
            let radius = radius(u);
            let (_, claim) = student.pull_and_claim(radius);
            let rise = 0.5 * (1.0 + u.len() as f64 / student.dof) * claim;
            peak_slope - 0.5 * student.log_fall(radius) + rise
        })
    }

    /// Draws a point.
    pub(crate) fn draw(self, lane: &mut Stream, u: &mut [f64]) {
        lane.normals_into(u);
        if let Some(student) = self.0 {
            let stretch = student.stretch(lane);
            u.iter_mut().for_each(|u| *u *= stretch);
        }
    }

    /// Draws every column; lanes as in [`mcsa_core::Family::sample_into`].
    pub(crate) fn sample_into(self, lanes: &mut [Stream], points: MatMut<'_, f64>) {
        each_column(lanes, points, |lane, _, u| self.draw(lane, u));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudentT;
    use mcsa_core::Parametric;

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
        assert!(StudentT::learned(0, f64::MAX).unwrap().check(&[f64::MAX]).is_err());
    }
}
