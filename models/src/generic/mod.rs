//! Models without calculus: one formula of a density gives density and gradient, and bounds of parameters are declared.

mod parameters;
mod real;
mod tape;
mod terms;

use mcsa_core::{Curvature, Error, Gradient, LogDensity, Named};

pub use parameters::Parameters;
pub use real::Real;
pub use terms::GenericTerms;

use crate::support::{add_difference, decided};

/// Log density written once for every type of number, with and without derivatives; a method, because closures cannot be generic.
pub trait GenericDensity: Send + Sync {
    /// `log p(theta)` up to a constant, on the parameters' own scale, in the order of their declaration.
    fn log_density<R: Real>(&self, theta: &[R]) -> R;
}

/// Target of a density and its declared parameters: gradient, transforms and log-Jacobians are computed.
///
/// ```text
/// log p(z) = log p(theta(z)) + log |det dtheta/dz|
/// ```
/// The gradient is exact, by reverse accumulation on a tape. It costs 1.5 to 2 times the density for regressions, at every
/// dimension, and about 3 times for hierarchies. It costs up to 7 times the density of a hierarchy whose groups take 1 to 2
/// nanoseconds each. The first gradient on a thread allocates; later ones do not, until one of them needs a longer tape.
///
/// NaN is a fault of the density, unless a coordinate is beyond +-100, or beyond +-1e100 for a [`real`](Parameters::real)
/// parameter: there the point counts as outside the support. Derivatives in a scale overflow from about `e^-230` on, earlier than
/// the density.
///
/// ```
/// use mcsa_models::{Bounded, Gradient, GenericDensity, LogDensity, Parameters, Real};
///
/// /// Normal data with unknown mean and standard deviation; prior `1 / sigma`.
/// struct Sample(Vec<f64>);
///
/// impl GenericDensity for Sample {
///     fn log_density<R: Real>(&self, theta: &[R]) -> R {
///         let (mu, sigma) = (theta[0], theta[1]);
///         self.0.iter().map(|&x| R::from(x).log_normal(mu, sigma)).sum::<R>() - sigma.ln()
///     }
/// }
///
/// let target = Bounded::new(Parameters::new().real("mu", 1).positive("sigma"), Sample(vec![1.0, 3.0]))?;
/// let mut gradient = [0.0; 2];
/// target.gradient_into(&[2.0, 0.0], &mut gradient, &mut vec![0.0; target.work_len(1)]);
/// assert_eq!(gradient, [0.0, 0.0]);
/// # Ok::<(), mcsa_models::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded<M> {
    parameters: Parameters,
    density: M,
    /// True of a density of the parameters; false of a function of them, such as a likelihood.
    has_jacobian: bool,
}

/// Magnitude of a coordinate, of a parameter with a border, from which NaN is a matter of range.
const FAR: f64 = 100.0;

impl<M: GenericDensity> Bounded<M> {
    /// The target of a density of these parameters.
    ///
    /// # Errors
    /// If two parameters have the same name, an interval is empty or infinite, a simplex has no number, or a correlation matrix
    /// is too large for memory.
    pub fn new(parameters: Parameters, density: M) -> Result<Self, Error> {
        parameters.check().map_err(|error| error.within("Bounded"))?;
        Ok(Self { parameters, density, has_jacobian: true })
    }

    /// The log likelihood as a function of the coordinates, without the log-Jacobian. With a prior of the same coordinates it is a posterior.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn likelihood(parameters: Parameters, log_likelihood: M) -> Result<Self, Error> {
        Ok(Self { has_jacobian: false, ..Self::new(parameters, log_likelihood)? })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

impl<M> Bounded<M> {
    /// Writes the parameters, and returns what their transforms add to the log density.
    fn constrain_into<R: Real>(&self, z: &[R], theta: &mut [R]) -> R {
        let log_jacobian = self.parameters.constrain_into(z, theta);
        if self.has_jacobian { log_jacobian } else { 0.0.into() }
    }
}

/// Function of unconstrained coordinates, with memory for the parameters.
trait Formula {
    fn at<R: Real>(&self, z: &[R], theta: &mut [R]) -> R;

    fn parameters(&self) -> &Parameters;
}

impl<M: GenericDensity> Formula for Bounded<M> {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn at<R: Real>(&self, z: &[R], theta: &mut [R]) -> R {
        let log_jacobian = self.constrain_into(z, theta);
        self.density.log_density(theta) + log_jacobian
    }
}

/// Writes the gradient of a formula with `len` parameters and returns its value: outside the support these are 0 and minus infinity.
fn gradient_of(formula: &impl Formula, z: &[f64], len: usize, gradient: &mut [f64]) -> f64 {
    let value = tape::gradient_into(z, len, gradient, |z, theta| formula.at(z, theta));
    let value = outside_if_far(value, formula.parameters(), z);
    if value == f64::NEG_INFINITY {
        gradient.fill(0.0);
    }
    value
}

/// `out += scale * H v` for the Hessian H of a formula with `len` parameters.
fn add_hessian_vector(
    formula: &impl Formula,
    len: usize,
    scale: f64,
    z: &[f64],
    v: &[f64],
    out: &mut [f64],
    work: &mut [f64],
) {
    add_difference(|z, slope| _ = gradient_of(formula, z, len, slope), scale, z, v, out, work);
}

/// Where a coordinate is far out, NaN is a matter of range. A real number may be far from 0, up to `1e100`.
fn outside_if_far(log_p: f64, parameters: &Parameters, z: &[f64]) -> f64 {
    if log_p.is_nan() && parameters.is_far(z, FAR) { decided(log_p, z) } else { log_p }
}

impl<M: GenericDensity> LogDensity for Bounded<M> {
    fn dim(&self) -> usize {
        self.parameters.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.parameters.len().max(2 * self.parameters.dim())
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        outside_if_far(self.at(z, &mut work[..self.parameters.len()]), &self.parameters, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.parameters.report(z, out);
    }
}

impl<M: GenericDensity> Gradient for Bounded<M> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient_of(self, z, self.parameters.len(), gradient)
    }
}

/// By central differences of the exact gradient: about ten digits are right.
impl<M: GenericDensity> Curvature for Bounded<M> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        out.fill(0.0);
        add_hessian_vector(self, self.parameters.len(), 1.0, z, v, out, work);
    }
}
