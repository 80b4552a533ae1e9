//! Evidence lower bound by reparameterised draws: of families with a closed entropy, and of pushforwards.

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{
    ColumnsMut, Error, Estimator, Gradient, Metric, Pushforward, Record, Reparameterised, StepSizes, Stream,
    at_least_one, batch, batch_mut, borrow, fits_in_memory,
};
use serde::{Deserialize, Serialize};

use crate::chain_score::same_dimension;
use crate::family_parameters::family_parameters;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elbo {
    /// Number of draws per step.
    pub samples: usize,
    /// Estimator of the entropy term.
    #[serde(default)]
    pub entropy: Entropy,
    /// If true, the second half of the noise is the negative of the first half (antithetic draws); the number of draws must be even.
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

impl ElboInfo {
    /// Counts a draw with this term of the bound, and divides its slope by the number of draws. False if a number is not finite; the
    /// slope is then zero.
    fn count(&mut self, term: f64, slope: &mut [f64], draws: usize) -> bool {
        let is_finite = term.is_finite() && slope.iter().all(|s| s.is_finite());
        if is_finite {
            self.finite += 1;
            self.evidence += term;
            slope.iter_mut().for_each(|s| *s /= draws as f64);
        } else {
            self.non_finite += 1;
            slope.fill(0.0);
        }
        is_finite
    }
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

    fn work_len(&self, target: &P, family: &F) -> usize {
        let (n, dim) = (self.samples, family.dim());
        (family.noise_dim() + 2 * dim + 1) * n + family.work_len(n).max(target.work_len(n))
    }

    fn init(&self, target: &P, family: &F, params: &[f64], _: &mut [Stream]) -> Result<(), Error> {
        check_draws(self.samples, target.dim(), family.dim(), self.mirrored)
            .map_err(|error| error.within("Elbo"))?;
        family.check(params)
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
        fill_noise(noise, noise_dim, self.mirrored, |noise| family.sample_noise_into(lanes, noise));
        let noise = batch(noise, family.noise_dim(), n);
        family.transport(params, noise, batch_mut(points, dim, n), work);
        target.gradients_into(batch(points, dim, n), log_p, batch_mut(slopes, dim, n), work);

        if self.entropy == Entropy::Path {
            family.add_slopes(params, batch(points, dim, n), -1.0, batch_mut(slopes, dim, n), work);
        }

        let mut info = ElboInfo::default();
        for (j, &log_p) in log_p.iter().enumerate() {
            info.count(log_p, &mut slopes[j * dim..(j + 1) * dim], n);
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
/// at arbitrary points implement [`Family`](mcsa_core::Family), which the inclusive divergence requires, so this does not compile:
///
/// ```compile_fail,E0277
/// use mcsa_core::Estimator;
/// use mcsa_estimators::pmcsa;
/// use mcsa_families::{Flow, Gauss};
/// use mcsa_models::Gaussian;
/// fn fits<F, E: Estimator<Gaussian, F>>(_: &E, _: &F) {}
/// fits(&pmcsa(4), &Flow::block_neural(2, Gauss, 1, &[8, 8])?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
///
/// Under an annealed family it is the bound of DAIS, NS-DAIS or SL-DAIS; every step records how many step sizes are clipped.
///
/// Numerics: a draw at which a log density or a gradient is not finite contributes nothing and is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowElbo {
    /// Number of draws per step.
    pub samples: usize,
    /// If true, the second half of the noise is the negative of the first half (antithetic draws); the number of draws must be even.
    #[serde(default)]
    pub mirrored: bool,
}

impl FlowElbo {
    /// An estimator with `samples` independent draws.
    pub const fn new(samples: usize) -> Self {
        Self { samples, mirrored: false }
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

    fn work_len(&self, target: &P, family: &F) -> usize {
        let (n, dim) = (self.samples, family.dim());
        (family.noise_dim() + 2 * dim + 2) * n + family.work_len(n) + target.work_len(n)
    }

    fn init(&self, target: &P, family: &F, params: &[f64], _: &mut [Stream]) -> Result<(), Error> {
        check_draws(self.samples, target.dim(), family.dim(), self.mirrored)
            .map_err(|error| error.within("FlowElbo"))?;
        family.check(params)
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
        fill_noise(noise, noise_dim, self.mirrored, |noise| family.sample_noise_into(lanes, noise));
        let mut info = ElboInfo { step_sizes: family.step_sizes(params, work), ..ElboInfo::default() };
        direction.fill(0.0);
        let mut pull = |z: MatRef<'_, f64>, log_q: &mut [f64], mut slopes: MatMut<'_, f64>| {
            target.gradients_into(z, log_p, slopes.rb_mut(), of_target);
            for (j, (log_p, log_q)) in log_p.iter().zip(log_q).enumerate() {
                let is_finite = info.count(log_p - *log_q, slopes.column_mut(j), n);
                *log_q = if is_finite { -1.0 / n as f64 } else { 0.0 };
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

/// Returns an error if the number of draws is 0, odd for mirrored pairs, or too large for memory, or the dimensions of target and family
/// differ.
pub(crate) fn check_draws(samples: usize, target: usize, family: usize, mirrored: bool) -> Result<(), Error> {
    at_least_one("samples", samples)?;
    if mirrored && !samples.is_multiple_of(2) {
        return Err(Error::parameter("samples", samples as f64, "even, for mirrored pairs"));
    }
    fits_in_memory("samples", samples, family)?;
    same_dimension(target, family)
}

/// Fills `noise`, a column of `rows` numbers per draw, with `draw`; if mirrored, the second half is the negative of the first.
pub(crate) fn fill_noise(noise: &mut [f64], rows: usize, mirrored: bool, draw: impl FnOnce(MatMut<'_, f64>)) {
    let half = if mirrored { noise.len() / 2 } else { noise.len() };
    let (drawn, images) = noise.split_at_mut(half);
    draw(batch_mut(drawn, rows, half.checked_div(rows).unwrap_or(0)));
    images.iter_mut().zip(drawn).for_each(|(image, eps)| *image = -*eps);
}
