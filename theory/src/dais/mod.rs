//! Differentiable annealed importance sampling of linear Gaussian models in closed form (SL-DAIS, Sec. 3).
//!
//! Prior and base are [`Normal`], the likelihood and its surrogate [`Quadratic`]. Every step of a [`LinearDais`] is then linear in the
//! noise, and the distribution of `z_K`, the bound, its gap and the mean weight are exact, for any schedule, mass and refreshment.
//!
//! ```
//! use mcsa_theory::dais::{LinearDais, Normal, Quadratic};
//! let prior = Normal::scalar(0.0, 1.0)?;
//! let likelihood = Quadratic::scalar(2.0, 3.0);
//! let (posterior, log_evidence) = prior.posterior(&likelihood)?;
//! let gap = |steps: usize| LinearDais::from_prior(&prior, &likelihood, steps, 0.3).gap(&posterior);
//! assert!(gap(8) < gap(4) && gap(4) < gap(1));
//! assert!((log_evidence + 0.5 * 4f64.ln() - 0.5).abs() < 1e-15);
//! # Ok::<(), mcsa_core::Error>(())
//! ```

mod mean_weight;
mod normal;

use faer::Mat;
use mcsa_core::Error;

pub use normal::{Normal, Quadratic};

/// Annealed chain from a Gaussian base to a Gaussian posterior, guided by a surrogate of the likelihood.
///
/// ```text
/// z_0 ~ q_0,  v_0 ~ N(0, S^2);  for k = 1..K:
///   eta_k = clip(eta_0 + kappa beta_k, 0, eta_max)
///   h = z_{k-1} + eta_k/2 M^-1 v_{k-1}
///   v^ = v_{k-1} + eta_k grad[(1 - beta_k) log q_0 + beta_k (log prior + log surrogate)](h)
///   z_k = h + eta_k/2 M^-1 v^,   v_k = gamma v^ + sqrt(1 - gamma^2) S nu_k
/// L = E[log p(D, z_K) - log q_0(z_0) + sum_k (|S^-1 v_{k-1}|^2 - |S^-1 v^_k|^2) / 2]
/// ```
/// Every step is linear, so that the distribution of `z_K`, the bound L and its gap are exact (SL-DAIS, Sec. 3 and Lemma 1).
#[derive(Debug, Clone, PartialEq)]
pub struct LinearDais {
    /// The prior.
    pub prior: Normal,
    /// Distribution `q_0` of `z_0`.
    pub base: Normal,
    /// Surrogate likelihood that guides the steps.
    pub surrogate: Quadratic,
    /// `eta_0`, the step size before annealing.
    pub step_size: f64,
    /// `kappa`, the change of the step size with the temperature.
    pub kappa: f64,
    /// `eta_max`, the largest step size.
    pub longest: f64,
    /// `gamma`, the share of the momentum kept by a refreshment.
    pub gamma: f64,
    /// `beta_1 .. beta_K`, the inverse temperatures.
    pub betas: Vec<f64>,
    /// Diagonal of M.
    pub mass: Vec<f64>,
    /// Diagonal of S, the standard deviations of the momentum: `sqrt(M)` in the paper, `M` in numpyro.
    pub deviation: Vec<f64>,
}

/// Mean and covariance of the last point `z_K` of a chain, and the expected log weight of the momenta.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// `E z_K`.
    pub mean: Vec<f64>,
    /// `Cov z_K`.
    pub covariance: Mat<f64>,
    /// `1/2 sum_k E[|S^-1 v_{k-1}|^2 - |S^-1 v^_k|^2]`.
    pub weight: f64,
}

impl End {
    /// Distribution of `z_K`.
    ///
    /// # Errors
    /// If a step is so long that the chain overflowed.
    pub fn law(self) -> Result<Normal, Error> {
        Normal::new(self.mean, self.covariance)
    }
}

impl LinearDais {
    /// Chain from the prior with `beta_k = k / K`, one step size, a mass of 1 and full refreshment (SL-DAIS, Assumption 1).
    pub fn from_prior(prior: &Normal, surrogate: &Quadratic, steps: usize, step_size: f64) -> Self {
        Self {
            prior: prior.clone(),
            base: prior.clone(),
            surrogate: surrogate.clone(),
            step_size,
            kappa: 0.0,
            longest: f64::INFINITY,
            gamma: 0.0,
            betas: (1..=steps).map(|k| k as f64 / steps as f64).collect(),
            mass: vec![1.0; prior.dim()],
            deviation: vec![1.0; prior.dim()],
        }
    }

    /// Step sizes `eta_1 .. eta_K`, clipped.
    pub fn step_sizes(&self) -> impl Iterator<Item = f64> {
        self.betas.iter().map(|beta| (self.step_size + self.kappa * beta).max(0.0).min(self.longest))
    }

    /// Gap `log p(D) - L = -E log p(z_K | D) - H(q_0) - E[log weight of the momenta]` of the bound L, where `p(z | D)` is
    /// `posterior`.
    pub fn gap(&self, posterior: &Normal) -> f64 {
        let End { mean, covariance, weight } = self.end();
        -posterior.mean_log_density(&mean, &covariance) - self.base.entropy() - weight
    }
}

/// Gap of a chain under a surrogate likelihood, and its three parts (SL-DAIS, Prop. 3).
///
/// ```text
/// log p(D) - L = KL(p_S || p) + gap_S + (E_(p_S) - E_(z_K))[log l - log l_S]
/// ```
/// Here `l` is the likelihood, `l_S` its surrogate and `p_S` the surrogate posterior. `gap_S` is the gap of the same chain if
/// `l_S` is the likelihood.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The gap `log p(D) - L`, computed without its parts.
    pub whole: f64,
    /// `KL(p_S || p)`, the limit of many steps.
    pub divergence: f64,
    /// `gap_S`, the gap of the chain if the surrogate is the likelihood.
    pub own: f64,
    /// Mean of the surrogate's error `log l - log l_S` under `p_S`, less its mean at `z_K`.
    pub error: f64,
}

impl Gap {
    /// Closed form for a linear Gaussian model.
    ///
    /// # Errors
    /// If a posterior is not proper, or the chain overflowed.
    pub fn of(chain: &LinearDais, likelihood: &Quadratic) -> Result<Self, Error> {
        let (surrogate, _) = chain.prior.posterior(&chain.surrogate)?;
        let (posterior, _) = chain.prior.posterior(likelihood)?;
        let error = likelihood.plus(&chain.surrogate.times(-1.0));
        Ok(Self {
            whole: chain.gap(&posterior),
            divergence: surrogate.divergence(&posterior),
            own: chain.gap(&surrogate),
            error: error.mean(&surrogate) - error.mean(&chain.end().law()?),
        })
    }

    /// The sum of the three parts.
    pub fn sum(&self) -> f64 {
        self.divergence + self.own + self.error
    }
}

/// Gradient `shift - precision z` of a quadratic log density.
#[derive(Debug, Clone)]
struct Slope {
    shift: Vec<f64>,
    /// Row-major.
    precision: Vec<f64>,
}

/// Representation of position and momentum that linear moves act on: moments, or coefficients of the noise.
trait Phase {
    /// `z += rate v`.
    fn drift(&mut self, rate: &[f64]);

    /// `v += eta (shift - precision z)`.
    fn kick(&mut self, eta: f64, slope: &Slope);

    /// `v = gamma v + sqrt(1 - gamma^2) S nu` with new noise.
    fn refresh(&mut self, gamma: f64, deviation: &[f64]);

    /// Adds `scale |S^-1 v|^2` to the log weight.
    fn add_energy(&mut self, scale: f64, deviation: &[f64]);
}

/// `out = (1 - beta) from + beta to`.
fn mix(from: &[f64], to: &[f64], beta: f64, out: &mut [f64]) {
    for i in 0..out.len() {
        out[i] = (1.0 - beta) * from[i] + beta * to[i];
    }
}

impl LinearDais {
    /// Slope of the log density of a law times a likelihood.
    fn slope(law: &Normal, likelihood: Option<&Quadratic>) -> Slope {
        let (d, precision, mean) = (law.dim(), law.precision(), law.mean());
        let pulled = |i: usize| -> f64 { (0..d).map(|j| precision[(i, j)] * mean[j]).sum() };
        let (slope, bend) =
            (|i| likelihood.map_or(0.0, |l| l.slope[i]), |at| likelihood.map_or(0.0, |l| l.curvature[at]));
        Slope {
            shift: (0..d).map(|i| pulled(i) + slope(i)).collect(),
            precision: (0..d * d).map(|k| (k / d, k % d)).map(|at| precision[at] + bend(at)).collect(),
        }
    }

    /// Moves `phase`, which is at `(z_0, v_0)`, to `(z_K, v_K)` before its last refreshment.
    fn sweep(&self, phase: &mut impl Phase) {
        let (base, guide) = (Self::slope(&self.base, None), Self::slope(&self.prior, Some(&self.surrogate)));
        let (mut slope, mut rate) = (base.clone(), self.mass.clone());
        for (k, (eta, &beta)) in self.step_sizes().zip(&self.betas).enumerate() {
            if k > 0 {
                phase.refresh(self.gamma, &self.deviation);
            }
            mix(&base.shift, &guide.shift, beta, &mut slope.shift);
            mix(&base.precision, &guide.precision, beta, &mut slope.precision);
            for (rate, mass) in rate.iter_mut().zip(&self.mass) {
                *rate = 0.5 * eta / mass;
            }
            phase.drift(&rate);
            phase.add_energy(0.5, &self.deviation);
            phase.kick(eta, &slope);
            phase.add_energy(-0.5, &self.deviation);
            phase.drift(&rate);
        }
    }
}

/// Mean and covariance of `(z, v)` in row-major blocks, and the expected log weight of the momenta.
struct Moments {
    z: Vec<f64>,
    v: Vec<f64>,
    zz: Vec<f64>,
    zv: Vec<f64>,
    vv: Vec<f64>,
    /// `zz precision` and `precision zv` of a kick.
    bent: [Vec<f64>; 2],
    weight: f64,
}

/// `out = a b`, row-major.
fn product(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    for i in 0..d {
        for j in 0..d {
            let mut sum = 0.0;
            for k in 0..d {
                sum += a[i * d + k] * b[k * d + j];
            }
            out[i * d + j] = sum;
        }
    }
}

impl Phase for Moments {
    fn drift(&mut self, rate: &[f64]) {
        let d = rate.len();
        for i in 0..d {
            self.z[i] += rate[i] * self.v[i];
            for j in 0..d {
                self.zz[i * d + j] += rate[j] * self.zv[i * d + j]
                    + rate[i] * (self.zv[j * d + i] + rate[j] * self.vv[i * d + j]);
            }
        }
        for (i, rate) in rate.iter().enumerate() {
            for j in 0..d {
                self.zv[i * d + j] += rate * self.vv[i * d + j];
            }
        }
    }

    fn kick(&mut self, eta: f64, slope: &Slope) {
        let d = slope.shift.len();
        let [by_position, by_momentum] = &mut self.bent;
        product(&self.zz, &slope.precision, d, by_position);
        product(&slope.precision, &self.zv, d, by_momentum);
        for i in 0..d {
            let mut force = slope.shift[i];
            for j in 0..d {
                force -= slope.precision[i * d + j] * self.z[j];
                let mut twice = 0.0;
                for k in 0..d {
                    twice += slope.precision[i * d + k] * by_position[k * d + j];
                }
                self.vv[i * d + j] += eta * (eta * twice - by_momentum[i * d + j] - by_momentum[j * d + i]);
                self.zv[i * d + j] -= eta * by_position[i * d + j];
            }
            self.v[i] += eta * force;
        }
    }

    fn refresh(&mut self, gamma: f64, deviation: &[f64]) {
        self.v.iter_mut().chain(&mut self.zv).for_each(|x| *x *= gamma);
        self.vv.iter_mut().for_each(|x| *x *= gamma * gamma);
        for (i, s) in deviation.iter().enumerate() {
            self.vv[i * (deviation.len() + 1)] += (1.0 - gamma * gamma) * s * s;
        }
    }

    fn add_energy(&mut self, scale: f64, deviation: &[f64]) {
        for (i, s) in deviation.iter().enumerate() {
            let square = self.vv[i * (deviation.len() + 1)] + self.v[i] * self.v[i];
            self.weight += scale * square / (s * s);
        }
    }
}

impl LinearDais {
    /// Mean and covariance of `z_K`, and the expected log weight of the momenta.
    pub fn end(&self) -> End {
        let d = self.base.dim();
        let square = || vec![0.0; d * d];
        let covariance = self.base.covariance();
        let mut moments = Moments {
            z: self.base.mean().to_vec(),
            v: vec![0.0; d],
            zz: (0..d * d).map(|k| covariance[(k / d, k % d)]).collect(),
            zv: square(),
            vv: square(),
            bent: [square(), square()],
            weight: 0.0,
        };
        moments.refresh(0.0, &self.deviation);
        self.sweep(&mut moments);
        let covariance = Mat::from_fn(d, d, |i, j| moments.zz[i * d + j]);
        End { mean: moments.z, covariance, weight: moments.weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::numeric::quadrature::integrate;

    fn chain(steps: usize) -> LinearDais {
        let prior = Normal::scalar(0.3, 0.8).unwrap();
        LinearDais::from_prior(&prior, &Quadratic::scalar(0.7, 1.4), steps, 0.6)
    }

    #[test]
    fn evidence_is_the_integral() {
        let prior = chain(1).prior;
        let (posterior, evidence) = prior.posterior(&Quadratic::scalar(1.1, 2.0)).unwrap();
        let joint = |z: f64| (prior.log_density(&[z]) + 1.1 * z - z * z).exp();
        let mass = integrate(-10.0, 10.0, 1e-13, joint);
        assert!((mass.value.ln() - evidence).abs() < 1e-12);
        let mean = integrate(-10.0, 10.0, 1e-13, |z| z * joint(z)).value / mass.value;
        assert!((mean - posterior.mean()[0]).abs() < 1e-12);
    }

    /// One step, by quadrature over the noise: the distribution of `z_1`, the bound, and the mean weight, which is the evidence.
    #[test]
    fn one_step_is_that_of_the_definition() {
        let chain = chain(1);
        let weight = |e: f64, v: f64| {
            let z = 0.3 + 0.8f64.sqrt() * e;
            let h = z + 0.3 * v;
            let gradient = (h - 0.3) / 0.8 - (0.7 - 1.4 * h);
            let after = v - 0.6 * gradient;
            let end = h + 0.3 * after;
            let joint = chain.prior.log_density(&[end]) + 1.1 * end - end * end;
            (end, joint - chain.prior.log_density(&[z]) + 0.5 * (v * v - after * after))
        };
        let normal = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let mean = |f: &dyn Fn(f64, f64) -> f64| {
            integrate(-9.0, 9.0, 1e-12, |e| {
                normal(e) * integrate(-9.0, 9.0, 1e-12, |v| normal(v) * f(e, v)).value
            })
            .value
        };
        let end = chain.end();
        let first = mean(&|e, v| weight(e, v).0);
        assert!((first - end.mean[0]).abs() < 1e-10);
        assert!((mean(&|e, v| (weight(e, v).0 - first).powi(2)) - end.covariance[(0, 0)]).abs() < 1e-10);
        let likelihood = Quadratic::scalar(1.1, 2.0);
        let (posterior, evidence) = chain.prior.posterior(&likelihood).unwrap();
        assert!((mean(&|e, v| weight(e, v).1) - evidence + chain.gap(&posterior)).abs() < 1e-10);
        assert!((mean(&|e, v| weight(e, v).1.exp()).ln() - evidence).abs() < 1e-9);
    }
}
