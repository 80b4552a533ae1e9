//! Base distributions of a flow: standard Gaussian or multivariate Student t.

use faer::MatMut;
use mcsa_core::{Error, Stream};
use serde::{Deserialize, Serialize};

use crate::gaussian::LN_SQRT_2PI;
use crate::student::{Student, radius};
use crate::{Dof, Fixed, Learned};
use mcsa_core::each_column;
use mcsa_numeric::linear::standard;

/// Base distribution of a flow: the standard Gaussian [`Gauss`], or the standard multivariate t with [`Fixed`] or
/// [`Learned`] degrees of freedom. All are isotropic, so that a permutation of coordinates does not change them.
///
/// Sealed: no other type can implement it.
pub trait Base: std::fmt::Debug + Copy + PartialEq + Send + Sync + sealed::Sealed {
    /// Number of parameters: 0, or 1, which is then the last entry of lambda.
    const NUM_PARAMS: usize = 0;

    /// The base as it is written to a file.
    fn config(&self) -> BaseConfig;

    /// The base read from a file.
    ///
    /// # Errors
    /// If the file holds another base, or a number that the base refuses.
    fn from_config(config: BaseConfig) -> Result<Self, Error>;

    #[doc(hidden)]
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        let _ = params;
        Ok(())
    }

    #[doc(hidden)]
    fn noise(&self, params: &[f64]) -> sealed::Noise;

    #[doc(hidden)]
    fn dof_slope(&self, params: &[f64]) -> f64 {
        let _ = params;
        0.0
    }
}

/// File format of a base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum BaseConfig {
    /// The base [`Gauss`].
    Gauss,
    /// The base [`Fixed`].
    Student {
        /// The degrees of freedom.
        dof: f64,
    },
    /// The base [`Learned`].
    LearnedStudent {
        /// Lower bound of the degrees of freedom.
        floor: f64,
    },
}

impl BaseConfig {
    fn refuse<T>(self, asked: &str) -> Result<T, Error> {
        Err(Error::invalid(format!(
            "the base is {self:?}, and a flow on {asked} was asked for: name the right type"
        )))
    }
}

/// Base distribution that does not depend on lambda, so that a flow on it is also a [`Pushforward`](mcsa_core::Pushforward).
///
/// With learned degrees of freedom the noise depends on lambda, and its gradient is not implemented; asking for it does not
/// compile:
///
/// ```compile_fail
/// use mcsa_families::{Flow, Learned};
/// fn exclusive(_: impl mcsa_core::Pushforward) {}
/// exclusive(Flow::real_nvp(2, Learned::above(1.0)?, 4, &[16])?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
/// ```
/// use mcsa_families::{Fixed, Flow};
/// fn exclusive(_: impl mcsa_core::Pushforward) {}
/// exclusive(Flow::real_nvp(2, Fixed::new(3.0)?, 4, &[16])?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub trait FixedBase: Base {}

impl FixedBase for Gauss {}
impl FixedBase for Fixed {}

/// The standard Gaussian, as the base of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauss;

impl Base for Gauss {
    fn config(&self) -> BaseConfig {
        BaseConfig::Gauss
    }

    fn from_config(config: BaseConfig) -> Result<Self, Error> {
        match config {
            BaseConfig::Gauss => Ok(Self),
            other => other.refuse("Gauss"),
        }
    }

    fn noise(&self, _: &[f64]) -> sealed::Noise {
        sealed::Noise(None)
    }
}

impl Base for Fixed {
    fn config(&self) -> BaseConfig {
        BaseConfig::Student { dof: self.value() }
    }

    fn from_config(config: BaseConfig) -> Result<Self, Error> {
        match config {
            BaseConfig::Student { dof } => Self::new(dof),
            other => other.refuse("Fixed degrees of freedom"),
        }
    }

    fn noise(&self, _: &[f64]) -> sealed::Noise {
        sealed::Noise(Some(Student::new(self.value())))
    }
}

impl Base for Learned {
    const NUM_PARAMS: usize = 1;

    fn config(&self) -> BaseConfig {
        BaseConfig::LearnedStudent { floor: self.floor() }
    }

    fn from_config(config: BaseConfig) -> Result<Self, Error> {
        match config {
            BaseConfig::LearnedStudent { floor } => Self::above(floor),
            other => other.refuse("Learned degrees of freedom"),
        }
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        crate::student_t::check(self, params, 1)
    }

    fn noise(&self, params: &[f64]) -> sealed::Noise {
        sealed::Noise(Some(Student::new(self.dof(params))))
    }

    fn dof_slope(&self, params: &[f64]) -> f64 {
        self.derivative(params)
    }
}

pub(super) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Gauss {}
    impl Sealed for super::Fixed {}
    impl Sealed for super::Learned {}

    /// The base at a fixed lambda: a Gaussian if `None`, else a t.
    #[derive(Debug, Clone, Copy)]
    pub struct Noise(pub(in crate::flow) Option<crate::student::Student>);
}
pub(super) use sealed::Noise;

impl Noise {
    /// Log density at zero in `dim` dimensions.
    pub(super) fn log_peak(self, dim: usize) -> f64 {
        self.0.map_or(-(dim as f64) * LN_SQRT_2PI, |student| student.log_peak(dim))
    }

    /// Decrease of the log density from zero to `eps`.
    pub(super) fn fallen(self, eps: &[f64]) -> f64 {
        match self.0 {
            None => 0.5 * standard::dot(eps, eps),
            Some(student) => 0.5 * (student.dof + eps.len() as f64) * student.log_fall(radius(eps)),
        }
    }

    /// `slope <- weight * d/deps log r(eps)`.
    pub(super) fn slope_into(self, eps: &[f64], weight: f64, slope: &mut [f64]) {
        let pull = self.0.map_or(1.0, |student| student.weight(eps.len(), radius(eps)));
        slope.iter_mut().zip(eps).for_each(|(slope, eps)| *slope = -weight * pull * eps);
    }

    /// Derivative of the log density at `eps` in the degrees of freedom; `peak_slope` is that of the log density at zero.
    pub(super) fn dof_score(self, peak_slope: f64, eps: &[f64]) -> f64 {
        self.0.map_or(0.0, |student| {
            let radius = radius(eps);
            let (_, claim) = student.pull_and_claim(radius);
            let rise = 0.5 * (1.0 + eps.len() as f64 / student.dof) * claim;
            peak_slope - 0.5 * student.log_fall(radius) + rise
        })
    }

    /// Derivative of [`log_peak`](Self::log_peak) in the degrees of freedom.
    pub(super) fn log_peak_slope(self, dim: usize) -> f64 {
        self.0.map_or(0.0, |student| student.log_peak_slope(dim))
    }

    /// Draws every column; lanes as in [`mcsa_core::Family::sample_into`].
    pub(super) fn sample_into(self, lanes: &mut [Stream], eps: MatMut<'_, f64>) {
        each_column(lanes, eps, |lane, _, eps| {
            lane.normals_into(eps);
            if let Some(student) = self.0 {
                let stretch = student.stretch(lane);
                eps.iter_mut().for_each(|eps| *eps *= stretch);
            }
        });
    }
}
