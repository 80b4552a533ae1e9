//! Annealed chains on linear Gaussian models: config, end and gap.

use super::{Normal, Quadratic};
use faer::Mat;
use mcsa_core::Error;

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
    /// Surrogate likelihood in the potentials.
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

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.base.dim()
    }

    /// Step sizes `eta_1 .. eta_K`, clipped.
    pub fn step_sizes(&self) -> impl Iterator<Item = f64> {
        self.betas.iter().map(|beta| (self.step_size + self.kappa * beta).max(0.0).min(self.longest))
    }

    /// Gap `log p(D) - L = -E log p(z_K | D) - H(q_0) - E[log weight of the momenta]` of the bound L, whose last term has the
    /// likelihood of `posterior`.
    ///
    /// # Panics
    /// If dimensions differ.
    pub fn gap(&self, posterior: &Normal) -> f64 {
        let End { mean, covariance, weight } = self.end();
        -posterior.mean_log_density(&mean, &covariance) - self.base.entropy() - weight
    }

    /// Bound L on the log evidence of `likelihood`, the expected log weight.
    ///
    /// # Errors
    /// If the likelihood has no proper posterior.
    pub fn bound(&self, likelihood: &Quadratic) -> Result<f64, Error> {
        let (posterior, log_evidence) = self.prior.posterior(likelihood)?;
        Ok(log_evidence - self.gap(&posterior))
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
        let bound = chain.bound(&likelihood).unwrap();
        assert!((mean(&|e, v| weight(e, v).1) - bound).abs() < 1e-10);
        let (_, evidence) = chain.prior.posterior(&likelihood).unwrap();
        assert!((mean(&|e, v| weight(e, v).1.exp()).ln() - evidence).abs() < 1e-9);
    }
}
