//! Twisted Markov chain family: Gaussian dynamics of a model, each step tilted by a learned Gaussian factor.

use faer::{MatMut, MatRef};
use mcsa_core::numeric::{exp, ln_1p};
use mcsa_core::{Columns, Error, Family, Parametric, Stream, all_finite, borrow, each_column, same_length};
use mcsa_models::support::HALF_LOG_TAU;

use crate::{GaussianDynamics, PathProposal};

/// Family of paths that depends on the model being fitted: its [`TwistedChain`]. When the parameters of the model move, the family
/// changes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Twisted;

impl Twisted {
    /// The chain of a model.
    pub const fn on<P>(self, model: &P) -> TwistedChain<'_, P> {
        TwistedChain { model }
    }

    /// Length of the slice `work` that the proposals for a model need.
    pub fn proposal_len<P: GaussianDynamics>(self, model: &P) -> usize {
        4 * model.num_states()
    }

    /// The proposals of the chain of a model at these params, for which [`check`](Parametric::check) must be `Ok`.
    pub fn proposal<'a, P: GaussianDynamics>(
        self,
        model: &'a P,
        params: &'a [f64],
        mut work: &'a mut [f64],
    ) -> TwistedSteps<'a, P> {
        assert_eq!(params.len(), 2 * model.num_states(), "nu and log Lambda");
        let (nu, log_lambda) = params.split_at(model.num_states());
        let mut lend = || borrow(&mut work, model.num_states());
        let (lambda, halves, constants, deviations) = (lend(), lend(), lend(), lend());
        let lambda = precisions(log_lambda, lambda);
        for (t, deviation) in deviations.iter_mut().enumerate() {
            let variance = model.means_into(t, &[], &mut []);
            constants[t] = variance * lambda[t];
            halves[t] = 0.5 / (1.0 + constants[t]);
            // 1 / (1 / v + Lambda)
            *deviation = 2.0 * variance * halves[t];
        }
        ln_1p(constants);
        for (t, deviation) in deviations.iter_mut().enumerate() {
            constants[t] = 0.5 * (*deviation * nu[t] * nu[t] - constants[t]);
            *deviation = deviation.sqrt();
        }
        TwistedSteps { model, nu, lambda, halves, constants, deviations }
    }
}

/// Markov chain of a model's Gaussian steps, each twisted by a Gaussian factor `psi_t` (MSC, eqs. 13-14):
///
/// ```text
/// q(z_t | z_{t-1}) ∝ p(z_t | z_{t-1}) psi_t(z_t),     psi_t(z) = exp(-Lambda_t z^2 / 2 + nu_t z)
///                  = N(z_t; (m / v + nu_t) / P, 1 / P),   P = 1 / v + Lambda_t,   with m, v of the model's step
/// lambda = [nu_0 .. nu_{T-1}; log Lambda_0 .. log Lambda_{T-1}]
/// d/dnu_t         log q = z_t - m'                        with m' the mean of the twisted step
/// d/dlog Lambda_t log q = Lambda_t (1 / P + m'^2 - z_t^2) / 2
/// ```
///
/// If the model is linear and Gaussian and each `psi_t` is the likelihood of all observations from `t` on given `z_t`, the chain is
/// the posterior. It changes with the model's parameters theta; its scores are those in lambda alone.
///
/// A precision `Lambda_t` that is not finite is an error; one that underflows to 0 leaves the precision of the step as in the
/// model.
#[derive(Debug)]
pub struct TwistedChain<'a, P> {
    /// The model.
    pub model: &'a P,
}

/// One twisted step: variance of the model's step, and `nu_t` and `Lambda_t` of its twist.
#[derive(Clone, Copy)]
struct Step {
    variance: f64,
    nu: f64,
    lambda: f64,
}

impl Step {
    fn precision(self) -> f64 {
        self.variance.recip() + self.lambda
    }

    /// Mean of the twisted step, from the mean of the model's step.
    fn mean(self, mean: f64) -> f64 {
        (mean / self.variance + self.nu) / self.precision()
    }
}

impl<P: GaussianDynamics> TwistedChain<'_, P> {
    /// The parts `nu` and `Lambda` of the params; `(z, columns)` are checked against them.
    fn parts<'p, 'w>(
        &self,
        params: &'p [f64],
        (z, columns): (MatRef<'_, f64>, usize),
        work: &mut &'w mut [f64],
    ) -> (&'p [f64], &'w [f64]) {
        assert_eq!(params.len(), self.num_params(), "nu and log Lambda");
        assert_eq!((z.nrows(), z.ncols()), (self.dim(), columns), "a number per column");
        let (nu, log_lambda) = params.split_at(self.dim());
        (nu, precisions(log_lambda, borrow(work, self.dim())))
    }

    /// Calls `take(t, step, mean)` for each step of a path, with the mean of the model's step.
    fn each_step(&self, nu: &[f64], lambda: &[f64], z: &[f64], mut take: impl FnMut(usize, Step, f64)) {
        for t in 0..z.len() {
            let mut mean = [0.0];
            let variance = self.model.means_into(t, &z[t.saturating_sub(1)..][..1], &mut mean);
            take(t, Step { variance, nu: nu[t], lambda: lambda[t] }, mean[0]);
        }
    }
}

fn precisions<'w>(log_lambda: &[f64], lambda: &'w mut [f64]) -> &'w [f64] {
    lambda.copy_from_slice(log_lambda);
    exp(lambda);
    lambda
}

impl<P: GaussianDynamics> Parametric for TwistedChain<'_, P> {
    fn dim(&self) -> usize {
        self.model.num_states()
    }

    fn num_params(&self) -> usize {
        2 * self.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim()
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        match params[self.dim()..].iter().find(|log_lambda| !log_lambda.exp().is_finite()) {
            Some(&log_lambda) => Err(Error::parameter("log Lambda", log_lambda, "below 709")),
            None => Ok(()),
        }
    }
}

impl<P: GaussianDynamics> Family for TwistedChain<'_, P> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        let (nu, lambda) = self.parts(params, (z, log_q.len()), &mut work);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let (z, mut sum) = (z.column(j), -(self.dim() as f64) * HALF_LOG_TAU);
            self.each_step(nu, lambda, z, |t, step, mean| {
                let gap = z[t] - step.mean(mean);
                sum += 0.5 * (step.precision().ln() - step.precision() * gap * gap);
            });
            *log_q = sum;
        }
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (nu, lambda) = self.parts(params, (z.as_ref(), log_q.len()), &mut work);
        each_column(lanes, z, |lane, j, z| {
            log_q[j] = -(z.len() as f64) * HALF_LOG_TAU;
            for t in 0..z.len() {
                let (mut mean, noise) = ([0.0], lane.normal());
                let variance = self.model.means_into(t, &z[t.saturating_sub(1)..][..1], &mut mean);
                let step = Step { variance, nu: nu[t], lambda: lambda[t] };
                log_q[j] += 0.5 * (step.precision().ln() - noise * noise);
                z[t] = step.mean(mean[0]) + noise / step.precision().sqrt();
            }
        });
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (nu, lambda) = self.parts(params, (z, weights.len()), &mut work);
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (d_nu, d_log_lambda) = gradient.split_at_mut(self.dim());
        for (j, weight) in weights.iter().enumerate() {
            let z = z.column(j);
            self.each_step(nu, lambda, z, |t, step, mean| {
                let mean = step.mean(mean);
                d_nu[t] += weight * (z[t] - mean);
                // m'^2 - z^2 as a product, which does not cancel.
                let squares = (mean - z[t]) * (mean + z[t]);
                d_log_lambda[t] += weight * 0.5 * step.lambda * (step.precision().recip() + squares);
            });
        }
    }
}

/// Steps of [`TwistedChain`] at a fixed lambda, as a path proposal.
///
/// Divisions, square roots and logarithms that do not depend on a particle are computed for all times at once when the proposal is
/// made: in a row they cost less than one at each step.
#[derive(Debug)]
pub struct TwistedSteps<'a, P> {
    model: &'a P,
    nu: &'a [f64],
    lambda: &'a [f64],
    /// `1 / (2 (1 + v Lambda))`.
    halves: &'a [f64],
    /// `v nu^2 / (2 (1 + v Lambda)) - log(1 + v Lambda) / 2`.
    constants: &'a [f64],
    /// Standard deviation of each twisted step.
    deviations: &'a [f64],
}

impl<P: GaussianDynamics> TwistedSteps<'_, P> {
    /// Replaces the means `m` of the model's steps by the log weights `log int p(z_t | z_{t-1}) psi_t(z_t) dz_t` of the twisted
    /// steps, which do not depend on the proposed `z_t`:
    ///
    /// ```text
    /// -log(1 + v Lambda) / 2 + (2 m nu + v nu^2 - m^2 Lambda) / (2 (1 + v Lambda))
    /// ```
    fn weigh(&self, t: usize, means: &mut [f64]) {
        let (double, lambda) = (2.0 * self.nu[t], self.lambda[t]);
        let (half, constant) = (self.halves[t], self.constants[t]);
        for mean in means {
            *mean = half * *mean * (double - *mean * lambda) + constant;
        }
    }
}

impl<P: GaussianDynamics> PathProposal for TwistedSteps<'_, P> {
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    ) {
        assert_eq!(z.len(), log_weights.len(), "a weight per state");
        self.model.means_into(t, previous, log_weights);
        let (slope, deviation) = (2.0 * self.halves[t], self.deviations[t]);
        let shift = deviation * deviation * self.nu[t];
        stream.normals_into(z);
        for (z, mean) in z.iter_mut().zip(&*log_weights) {
            *z = slope * mean + shift + deviation * *z;
        }
        self.weigh(t, log_weights);
    }

    fn log_weights(&mut self, t: usize, previous: &[f64], _: &[f64], log_weights: &mut [f64]) {
        self.model.means_into(t, previous, log_weights);
        self.weigh(t, log_weights);
    }

    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), out.len(), "a twist per state");
        let (nu, half) = (self.nu[t], 0.5 * self.lambda[t]);
        for (out, z) in out.iter_mut().zip(z) {
            *out = z * (nu - half * z);
        }
    }
}
