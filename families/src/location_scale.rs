//! Families of a location, a scale and a standard law: `z = m + A u`, with u standard normal or standard t.

use std::fmt;
use std::marker::PhantomData;

use mcsa_core::{Error, Parametric, Stream, all_finite, same_length};
use mcsa_numeric::HALF_LOG_TAU;

use crate::law::Radial;
use crate::student::Student;
use crate::{Dof, Fixed, Gauss, KnownLaw, Law, Learned, Link};

/// Distribution of `z = m + A u`: [`MeanField`](crate::MeanField), [`FullRank`](crate::FullRank), [`StudentT`](crate::StudentT) or
/// [`MultivariateT`](crate::MultivariateT).
///
/// Lambda is the location, the parameters of the scale A, and for [`Learned`] the parameter of `nu`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LocationScale<S, L> {
    /// The dimension.
    pub dim: usize,
    /// The map from `rho` to the scales, or to the diagonal of the factor.
    pub link: Link,
    /// The law of u.
    pub law: L,
    shape: PhantomData<S>,
}

/// Shape of the scale A.
///
/// Sealed: [`Diagonal`](crate::Diagonal) or [`Triangle`](crate::Triangle).
pub trait Shape: Copy + PartialEq + Send + Sync + sealed::Shape {}

pub(crate) mod sealed {
    use super::{Error, Link, Radial, Stream, Student};

    pub trait Shape {
        /// Names of the Gaussian family and of the t.
        const NAMES: [&'static str; 2];

        /// Scales, or a Cholesky factor.
        type Scale<'a>;

        /// Location, and parameters of the scale.
        fn params(
            link: Link,
            dim: usize,
            location: &[f64],
            scale: Self::Scale<'_>,
        ) -> Result<Vec<f64>, Error>;

        fn num_params(dim: usize) -> usize;

        fn work_len(dim: usize, columns: usize) -> usize;

        /// Checks the parameters of the scale.
        fn check(link: Link, dim: usize, scale: &[f64]) -> Result<(), Error>;

        /// `ln det A`.
        fn log_det(link: Link, dim: usize, scale: &[f64], work: &mut [f64]) -> f64;

        /// Draws u.
        fn draw(law: Radial, lane: &mut Stream, u: &mut [f64]);

        /// The entropy of u for a t.
        fn entropy(student: Student, dim: usize) -> f64;
    }
}

impl<S: Shape> LocationScale<S, Gauss> {
    /// Family in `dim` dimensions with the softplus link.
    pub const fn new(dim: usize) -> Self {
        Self { dim, link: Link::Softplus, law: Gauss, shape: PhantomData }
    }
}

impl<S: Shape, L: KnownLaw> LocationScale<S, L> {
    /// Parameters with this location and these scales, or this lower Cholesky factor of the scale matrix.
    ///
    /// A covariance instead of its factor is an error, except a diagonal one, which cannot be distinguished from a factor.
    ///
    /// # Errors
    /// If a shape differs, a number is not finite, a scale or a number on the diagonal is not positive and in the range of the link,
    /// or an entry above the diagonal is not zero.
    pub fn at(&self, location: &[f64], scale: S::Scale<'_>) -> Result<Vec<f64>, Error> {
        S::params(self.link, self.dim, location, scale)
    }
}

impl<S: Shape> LocationScale<S, Fixed> {
    /// Family in `dim` dimensions with the softplus link and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, as in [`Fixed::new`].
    pub fn fixed(dim: usize, dof: f64) -> Result<Self, Error> {
        Ok(Self { dim, link: Link::Softplus, law: Fixed::new(dof)?, shape: PhantomData })
    }
}

impl<S: Shape> LocationScale<S, Learned> {
    /// Family in `dim` dimensions with the softplus link and learned degrees of freedom, greater than `floor`.
    ///
    /// # Errors
    /// If `floor` is not finite, or below 0.1, as in [`Learned::above`].
    pub fn learned(dim: usize, floor: f64) -> Result<Self, Error> {
        Ok(Self { dim, link: Link::Softplus, law: Learned::above(floor)?, shape: PhantomData })
    }

    /// Parameters as those for fixed degrees of freedom, and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If `at` fails for fixed degrees of freedom, or `dof` is not finite and above the floor.
    pub fn at(&self, location: &[f64], scale: S::Scale<'_>, dof: f64) -> Result<Vec<f64>, Error> {
        let mut params = S::params(self.link, self.dim, location, scale)?;
        params.push(self.law.param(dof)?);
        Ok(params)
    }
}

impl<S: Shape, L: Law> LocationScale<S, L> {
    /// This family with another link.
    #[must_use]
    pub const fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// The Gaussian with the same location and scale.
    pub(crate) fn frame(&self) -> LocationScale<S, Gauss> {
        LocationScale::new(self.dim).with_link(self.link)
    }

    fn is_t(&self) -> bool {
        self.law.at(&[0.0][..L::NUM_PARAMS]).0.is_some()
    }

    /// Location, parameters of the scale, and the law of u.
    pub(crate) fn parts<'a>(&self, params: &'a [f64]) -> (&'a [f64], &'a [f64], Radial) {
        assert_eq!(params.len(), self.num_params(), "location, scale and degrees of freedom");
        let (frame, dof) = params.split_at(params.len() - L::NUM_PARAMS);
        let (location, scale) = frame.split_at(self.dim);
        (location, scale, self.law.at(dof))
    }

    /// The entropy, in closed form: the sum of the logarithms of the scales plus the entropy of u.
    pub fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        let ((_, scale, law), dim) = (self.parts(params), self.dim as f64);
        let log_det = S::log_det(self.link, self.dim, scale, work);
        match law.0 {
            None => 0.5 * dim + (log_det + dim * HALF_LOG_TAU),
            Some(student) => S::entropy(student, self.dim) + log_det,
        }
    }
}

impl<S: Shape, D: Dof> LocationScale<S, D> {
    /// The degrees of freedom at `params`.
    pub fn dof_at(&self, params: &[f64]) -> f64 {
        assert_eq!(params.len(), self.num_params(), "location, scale and degrees of freedom");
        self.law.dof(&params[params.len() - D::NUM_PARAMS..])
    }

    /// The standard t at which a running estimate begins its step.
    pub(crate) fn confined(&self, params: &[f64]) -> Student {
        Student::new(self.law.confined(self.dof_at(params)))
    }
}

impl<S: Shape, L: Law> fmt::Debug for LocationScale<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gaussian, t] = S::NAMES;
        let mut fields = f.debug_struct(if self.is_t() { t } else { gaussian });
        fields.field("dim", &self.dim).field("link", &self.link);
        if self.is_t() {
            fields.field("dof", &self.law);
        }
        fields.finish()
    }
}

impl<S: Shape, L: Law> Parametric for LocationScale<S, L> {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.dim + S::num_params(self.dim) + L::NUM_PARAMS
    }

    fn work_len(&self, columns: usize) -> usize {
        S::work_len(self.dim, columns) + if self.is_t() { columns } else { 0 }
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        let (_, scale, law) = self.parts(params);
        law.check()?;
        S::check(self.link, self.dim, scale)
    }
}
