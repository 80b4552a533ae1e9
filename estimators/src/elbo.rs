//! Reparameterised gradient of the evidence lower bound (exclusive divergence KL(q || p)).

use mcsa_core::{
    Error, Estimator, Gradient, Metric, Record, Reparameterised, StepSizes, Stream, batch, batch_mut, borrow,
};
use serde::{Deserialize, Serialize};

use crate::dimension::same_dimension;
use crate::family_parameters::family_parameters;
use crate::noise::{self, check_draws};

/// Estimator of the entropy term of the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entropy {
    /// The gradient of the entropy in closed form.
    #[default]
    Closed,
    /// Path derivative: the gradient in z of `log q_lambda` at the draws, with lambda held fixed ("sticking the landing";
    /// Roeder, Wu & Duvenaud 2017). Its noise vanishes where q is p.
    Path,
}

/// Gradient ascent on the evidence lower bound `E_q[log p] + entropy(q)`, which is `-KL(q || p)` up to a constant.
///
/// ```text
/// eps_i ~ noise,   z_i = t(lambda, eps_i)
/// closed:  g = 1/N sum_i (dt/dlambda)^T  d/dz log p(z_i)  +  d/dlambda entropy
/// path:    g = 1/N sum_i (dt/dlambda)^T (d/dz log p(z_i) - d/dz log q_lambda(z_i))
/// ```
///
/// The baseline of automatic differentiation variational inference (CW: closed; pMCSA: path). Its optimum differs from that
/// of score ascent: it concentrates on a mode, where score ascent covers the mass of p.
///
/// Numerics: a draw at which the density or a gradient is not finite contributes nothing and is counted.
///
/// ```
/// use mcsa_estimators::Elbo;
/// let elbo = Elbo::path(1);
/// assert_eq!((elbo.samples, elbo.mirrored), (1, false));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elbo {
    /// Number of draws per step.
    pub samples: usize,
    /// Estimator of the entropy term.
    #[serde(default)]
    pub entropy: Entropy,
    /// If true, the second half of the noise is the negative of the first half (antithetic draws).
    #[serde(default)]
    pub mirrored: bool,
}

impl Elbo {
    /// The bound with the entropy in closed form.
    pub const fn closed(samples: usize) -> Self {
        Self { samples, entropy: Entropy::Closed, mirrored: false }
    }

    /// The bound with the path derivative.
    pub const fn path(samples: usize) -> Self {
        Self { samples, entropy: Entropy::Path, mirrored: false }
    }

    /// This estimator with mirrored pairs of draws; their number must be even.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        Self { mirrored: true, ..self }
    }
}

/// Metrics of one step of [`Elbo`] or [`FlowElbo`](crate::FlowElbo).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ElboInfo {
    /// Estimate of the bound from the finite draws.
    pub evidence: f64,
    /// Number of draws at which the density or a gradient was not finite.
    pub non_finite: u64,
    /// Number of finite draws.
    pub finite: u64,
    /// Numbers of clipped step sizes of an annealed family, at the lambda of the step.
    pub step_sizes: StepSizes,
}

impl Record for ElboInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::mean("evidence"), self.evidence);
        sink(Metric::NON_FINITE, self.non_finite as f64);
        sink(Metric::FINITE, self.finite as f64);
        if self.step_sizes.steps > 0 {
            sink(Metric::mean("zero_steps"), self.step_sizes.zero as f64);
            sink(Metric::mean("longest_steps"), self.step_sizes.longest as f64);
            sink(Metric::STILL, f64::from(u8::from(self.step_sizes.is_still())));
        }
    }
}

impl<P, F> Estimator<P, F> for Elbo
where
    P: Gradient + ?Sized,
    F: Reparameterised + ?Sized,
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
        (family.noise_dim() + 2 * dim + 1) * n + family.work_len(n).max(target.work_len(n))
    }

    fn init(&self, target: &P, family: &F, params: &[f64], _: &mut [Stream]) -> Result<(), Error> {
        check_draws(self.samples, family.dim(), self.mirrored).map_err(|error| error.within("Elbo"))?;
        same_dimension(target.dim(), family.dim()).map_err(|error| error.within("Elbo"))?;
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
        let (n, dim) = (self.samples, family.dim());
        let noise = borrow(&mut work, family.noise_dim() * n);
        let points = borrow(&mut work, dim * n);
        let slopes = borrow(&mut work, dim * n);
        let log_p = borrow(&mut work, n);
        let noise_dim = family.noise_dim();
        noise::fill(noise, noise_dim, self.mirrored, |noise| family.sample_noise_into(lanes, noise));
        let noise = batch(noise, family.noise_dim(), n);
        family.transport(params, noise, batch_mut(points, dim, n), work);
        target.gradients_into(batch(points, dim, n), log_p, batch_mut(slopes, dim, n), work);

        if self.entropy == Entropy::Path {
            family.add_slopes(params, batch(points, dim, n), -1.0, batch_mut(slopes, dim, n), work);
        }

        let mut info = ElboInfo::default();
        for (j, &log_p) in log_p.iter().enumerate() {
            let slope = &mut slopes[j * dim..(j + 1) * dim];
            if log_p.is_finite() && slope.iter().all(|s| s.is_finite()) {
                info.finite += 1;
                info.evidence += log_p;
                slope.iter_mut().for_each(|s| *s /= n as f64);
            } else {
                info.non_finite += 1;
                slope.fill(0.0);
            }
        }
        info.evidence = info.evidence / info.finite as f64 + family.entropy(params, work);
        direction.fill(0.0);
        family.add_pullbacks(params, noise, batch(slopes, dim, n), direction, work);
        if self.entropy == Entropy::Closed {
            family.add_entropy_gradient(params, 1.0, direction, work);
        }
        Ok(info)
    }
}
