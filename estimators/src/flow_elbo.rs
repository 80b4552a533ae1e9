//! Evidence lower bound of families with samples but no density at arbitrary points.

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{ColumnsMut, Error, Estimator, Gradient, Pushforward, Stream, batch, batch_mut, borrow};
use serde::{Deserialize, Serialize};

use crate::ElboInfo;
use crate::dimension::same_dimension;
use crate::family_parameters::family_parameters;
use crate::noise::{self, check_draws};

/// Gradient ascent on the evidence lower bound of a [`Pushforward`], by the total derivative of its integrand.
///
/// ```text
/// eps_i ~ noise,   z_i = t(lambda, eps_i)
/// g = 1/N sum_i (dt/dlambda)^T d/dz log p(z_i) - d/dlambda [ log q_lambda(t(lambda, eps_i)) ]
/// ```
///
/// This is the gradient of `1/N sum_i log p(z_i) - log q(z_i)`, and so an unbiased estimate of the gradient of the bound
/// (Rezende & Mohamed 2015, eq. 15). The density of q is needed at its own draws only, so flows without an inverse can be
/// fitted. For the same reason there is no path derivative, and the noise does not vanish where q is p. On an affine map it
/// equals [`Elbo::closed`](crate::Elbo::closed).
///
/// Such a flow cannot be a proposal distribution: a kernel needs `log q` at the state of its chain. Families with a density
/// at arbitrary points implement [`Family`](mcsa_core::Family), which the inclusive divergence requires. The types separate the
/// two:
///
/// ```
/// use mcsa_core::Estimator;
/// use mcsa_estimators::{FlowElbo, pmcsa};
/// use mcsa_families::{Flow, Gauss};
/// use mcsa_models::Gaussian;
/// fn fits<F, E: Estimator<Gaussian, F>>(_: &E, _: &F) {}
/// fits(&FlowElbo::new(4), &Flow::block_neural(2, Gauss, 1, &[8, 8])?);
/// fits(&pmcsa(4), &Flow::masked_autoregressive(2, Gauss, 2, &[32])?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use mcsa_core::Estimator;
/// # use mcsa_estimators::pmcsa;
/// # use mcsa_families::{Flow, Gauss};
/// # use mcsa_models::Gaussian;
/// # fn fits<F, E: Estimator<Gaussian, F>>(_: &E, _: &F) {}
/// fits(&pmcsa(4), &Flow::block_neural(2, Gauss, 1, &[8, 8])?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
///
/// Under an annealed family it is the bound of DAIS, NS-DAIS or SL-DAIS; every step records how many step sizes are clipped.
///
/// Numerics: a draw at which a log density or a gradient is not finite contributes nothing and is counted.
///
/// ```
/// use mcsa_estimators::FlowElbo;
/// let elbo = FlowElbo::new(4).mirrored();
/// assert_eq!((elbo.samples, elbo.mirrored), (4, true));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowElbo {
    /// Number of draws per step.
    pub samples: usize,
    /// If true, the second half of the noise is the negative of the first half (antithetic draws).
    #[serde(default)]
    pub mirrored: bool,
}

impl FlowElbo {
    /// An estimator with `samples` independent draws.
    pub const fn new(samples: usize) -> Self {
        Self { samples, mirrored: false }
    }

    /// This estimator with mirrored pairs of draws; their number must be even.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        Self { mirrored: true, ..self }
    }
}

impl<P, F> Estimator<P, F> for FlowElbo
where
    P: Gradient + ?Sized,
    F: Pushforward + ?Sized,
{
    type State = ();
    type Info = ElboInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    family_parameters!(P, F);

    fn lanes(&self) -> usize {
        1
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let (n, dim) = (self.samples, family.dim());
        (family.noise_dim() + 2 * dim + 2) * n + family.work_len(n) + target.work_len(n)
    }

    fn init(&self, target: &P, family: &F, params: &[f64], _: &mut [Stream]) -> Result<(), Error> {
        check_draws(self.samples, family.dim(), self.mirrored).map_err(|error| error.within("FlowElbo"))?;
        same_dimension(target.dim(), family.dim()).map_err(|error| error.within("FlowElbo"))?;
        family.check(params)
    }

    fn check(&self, _: &P, _: &F, (): &()) -> Result<(), Error> {
        Ok(())
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        (): &mut (),
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<ElboInfo, Error> {
        let (n, dim, noise_dim) = (self.samples, family.dim(), family.noise_dim());
        let noise = borrow(&mut work, noise_dim * n);
        let points = borrow(&mut work, dim * n);
        let slopes = borrow(&mut work, dim * n);
        let log_p = borrow(&mut work, n);
        let log_q = borrow(&mut work, n);
        let of_target = borrow(&mut work, target.work_len(n));
        noise::fill(noise, noise_dim, self.mirrored, |noise| family.sample_noise_into(lanes, noise));
        let mut info = ElboInfo { step_sizes: family.step_sizes(params, work), ..ElboInfo::default() };
        direction.fill(0.0);
        let mut pull = |z: MatRef<'_, f64>, log_q: &mut [f64], mut slopes: MatMut<'_, f64>| {
            target.gradients_into(z, log_p, slopes.rb_mut(), of_target);
            for (j, (log_p, log_q)) in log_p.iter().zip(log_q).enumerate() {
                let slope = slopes.column_mut(j);
                let term = log_p - *log_q;
                if term.is_finite() && slope.iter().all(|s| s.is_finite()) {
                    info.finite += 1;
                    info.evidence += term;
                    slope.iter_mut().for_each(|s| *s /= n as f64);
                    *log_q = -1.0 / n as f64;
                } else {
                    info.non_finite += 1;
                    slope.fill(0.0);
                    *log_q = 0.0;
                }
            }
            info.evidence /= info.finite as f64;
            info.non_finite == 0
        };
        let (z, cotangents) = (batch_mut(points, dim, n), batch_mut(slopes, dim, n));
        let eps = batch(noise, noise_dim, n);
        family.push_and_add_gradients(params, eps, z, log_q, cotangents, &mut pull, direction, work);
        if info.non_finite > 0 {
            // Derivatives at a draw left out may be infinite, and zero times infinity is NaN: its noise is replaced by zeros, where
            // they are finite.
            for (noise, &weight) in noise.chunks_exact_mut(noise_dim.max(1)).zip(&*log_q) {
                if weight == 0.0 {
                    noise.fill(0.0);
                }
            }
            let (eps, weights) = (batch(noise, noise_dim, n), &*log_q);
            family.add_push_gradients(params, eps, batch(slopes, dim, n), weights, direction, work);
        }
        Ok(info)
    }
}
