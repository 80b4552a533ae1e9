//! Config of a differentiable annealed chain.

use mcsa_core::{Error, same_length};

use super::base::Base;

/// Law of the momentum, given the diagonal mass M.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mass {
    /// Variance: `v ~ N(0, M)`, with drift `v / M`. The momentum is the one that the Hamiltonian conserves (SL-DAIS, Sec. 3).
    #[default]
    Variance,
    /// Standard deviation: `v ~ N(0, M^2)`, with drift `v / M`, as numpyro has it. Also a bound, but a looser one.
    Deviation,
}

impl Mass {
    /// Standard deviation s of the momentum.
    pub(super) fn deviation(self, mass: f64) -> f64 {
        if self == Self::Variance { mass.sqrt() } else { mass }
    }

    /// `ds / dM`.
    pub(super) fn slope(self, mass: f64) -> f64 {
        if self == Self::Variance { 0.5 / mass.sqrt() } else { 1.0 }
    }
}

/// Differentiable annealed importance sampling with K steps.
///
/// ```text
/// z_0 ~ q_0,  v_0 ~ N(0, S^2);  for k = 1..K:
///   eta_k = clip(eta_0 + kappa beta_k, 0, eta_max)
///   h_k  = z_{k-1} + eta_k/2 M^-1 v_{k-1}
///   v^_k = v_{k-1} + eta_k grad[(1 - beta_k) log q_0 + beta_k g](h_k)
///   z_k  = h_k + eta_k/2 M^-1 v^_k
///   v_k  = gamma v^_k + sqrt(1 - gamma^2) S nu_k
/// log w = f(z_K) - log q_0(z_0) + sum_k [log N(v^_k; 0, S^2) - log N(v_{k-1}; 0, S^2)]
/// ```
/// with guide g and target f. `E[log w]` is a lower bound of the log evidence, and `E[w]` is the evidence if f is the full log
/// joint, for every guide (SL-DAIS, Lemma 1). Without steps it is the plain bound of the base.
///
/// All parameters are on their constrained scale. A step size at its clip has no derivative there: if all of them are zero the
/// chain stands still for ever, which [`Path::step_sizes`](super::Path::step_sizes) reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Dais {
    /// Law of `z_0`.
    pub base: Base,
    /// `eta_0`, the step size before annealing.
    pub step_size: f64,
    /// `kappa`, the change of the step size with the temperature.
    pub kappa: f64,
    /// `eta_max`, the largest step size.
    pub longest: f64,
    /// `gamma`, the share of the momentum kept by a refresh, in `[0, 1)`.
    pub gamma: f64,
    /// `beta_1 .. beta_K`, the inverse temperatures; the last is 1.
    pub betas: Vec<f64>,
    /// Diagonal of M.
    pub mass: Vec<f64>,
    /// Law of the momentum given M.
    pub law: Mass,
}

impl Dais {
    /// Number K of steps.
    pub fn num_steps(&self) -> usize {
        self.betas.len()
    }

    /// Dimension of z.
    pub fn dim(&self) -> usize {
        self.base.dim()
    }

    /// Checks the parameters of the chain.
    ///
    /// # Errors
    /// If a parameter is out of its range; it is named. That the last temperature is 1 is not required, since its derivative
    /// is that of a free number.
    pub fn check(&self) -> Result<(), Error> {
        same_length("mass", self.dim(), self.mass.len())?;
        if let Some(&x) = self.mass.iter().find(|x| !(**x > 0.0 && x.is_finite())) {
            return Err(Error::parameter("mass", x, "positive and finite"));
        }
        if !(self.longest > 0.0 && self.longest.is_finite()) {
            return Err(Error::parameter("largest step size", self.longest, "positive and finite"));
        }
        if !(self.gamma >= 0.0 && self.gamma < 1.0) {
            return Err(Error::parameter("gamma", self.gamma, "in [0, 1)"));
        }
        for (name, x) in [("step size", self.step_size), ("kappa", self.kappa)] {
            if !x.is_finite() {
                return Err(Error::parameter(name, x, "finite"));
            }
        }
        match self.betas.iter().find(|x| !x.is_finite()) {
            Some(&x) => Err(Error::parameter("beta", x, "finite")),
            None => Ok(()),
        }
    }
}
