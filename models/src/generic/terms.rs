//! Densities that are a prior and one term per datum, from one formula each: minibatches of them have derivatives, too.

use mcsa_core::{Part, Separable, Subsampled, numeric};

use super::{
    Bounded, Formula, GenericDensity, Parameters, Real, add_hessian_vector, gradient_of, outside_if_far,
};

/// Log prior and log likelihood of each datum, written once for every type of number.
///
/// [`Bounded`] makes a target of it, as of a [`GenericDensity`]. The data of this target can be subsampled: it is
/// [`Separable`] and [`Subsampled`].
///
/// ```
/// use mcsa_core::Separable;
/// use mcsa_models::{Bounded, GenericTerms, Parameters, Real};
///
/// /// Poisson counts with one rate, whose prior is an exponential distribution.
/// struct Counts(Vec<f64>);
///
/// impl GenericTerms for Counts {
///     fn num_data(&self) -> usize {
///         self.0.len()
///     }
///     fn log_prior<R: Real>(&self, theta: &[R]) -> R {
///         -theta[0]
///     }
///     fn log_likelihood<R: Real>(&self, datum: usize, theta: &[R]) -> R {
///         theta[0].ln() * self.0[datum] - theta[0]
///     }
/// }
///
/// let target = Bounded::new(Parameters::new().positive("rate"), Counts(vec![2.0, 0.0, 1.0]))?;
/// let z = [0.5_f64.ln()];
/// let term = target.log_likelihood_at(&[0], &z, &mut [0.0]);
/// assert!((term - (2.0 * z[0] - 0.5)).abs() < 1e-15);
/// # Ok::<(), mcsa_models::Error>(())
/// ```
pub trait GenericTerms: Send + Sync {
    /// The number of data.
    fn num_data(&self) -> usize;

    /// Log prior at `theta`, on the parameters' own scale, up to a constant.
    fn log_prior<R: Real>(&self, theta: &[R]) -> R;

    /// Log likelihood of a datum at `theta`.
    fn log_likelihood<R: Real>(&self, datum: usize, theta: &[R]) -> R;
}

impl<M: GenericTerms> GenericDensity for M {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        self.log_prior(theta) + (0..self.num_data()).map(|datum| self.log_likelihood(datum, theta)).sum::<R>()
    }
}

/// Log prior of the parameters, with the log-Jacobian of their transforms.
struct Prior<'a, M>(&'a Bounded<M>);

impl<M: GenericTerms> Formula for Prior<'_, M> {
    fn parameters(&self) -> &Parameters {
        &self.0.parameters
    }

    fn at<R: Real>(&self, z: &[R], theta: &mut [R]) -> R {
        let log_jacobian = self.0.constrain_into(z, theta);
        self.0.density.log_prior(theta) + log_jacobian
    }
}

/// Sum of the log likelihoods of some data.
struct Likelihood<'a, M>(&'a Bounded<M>, &'a [usize]);

impl<M: GenericTerms> Formula for Likelihood<'_, M> {
    fn parameters(&self) -> &Parameters {
        &self.0.parameters
    }

    fn at<R: Real>(&self, z: &[R], theta: &mut [R]) -> R {
        self.0.parameters.constrain_into(z, theta);
        self.1.iter().map(|&datum| self.0.density.log_likelihood(datum, theta)).sum()
    }
}

impl<M: GenericTerms> Separable for Bounded<M> {
    fn num_data(&self) -> usize {
        self.density.num_data()
    }

    fn log_prior(&self, z: &[f64], work: &mut [f64]) -> f64 {
        outside_if_far(Prior(self).at(z, &mut work[..self.parameters.len()]), &self.parameters, z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], work: &mut [f64]) -> f64 {
        outside_if_far(Likelihood(self, rows).at(z, &mut work[..self.parameters.len()]), &self.parameters, z)
    }
}

impl<M: GenericTerms> Subsampled for Bounded<M> {
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient_of(&Prior(self), z, self.parameters.len(), gradient)
    }

    fn add_gradient_at(&self, part: Part<'_>, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let slopes = &mut work[..z.len()];
        let value = gradient_of(&Likelihood(self, part.rows), z, self.parameters.len(), slopes);
        numeric::axpy(part.scale, slopes, gradient);
        value
    }

    fn prior_hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        out.fill(0.0);
        add_hessian_vector(&Prior(self), self.parameters.len(), 1.0, z, v, out, work);
    }

    fn add_hessian_vector_at(&self, part: Part<'_>, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        let likelihood = Likelihood(self, part.rows);
        add_hessian_vector(&likelihood, self.parameters.len(), part.scale, z, v, out, work);
    }
}
