//! Annealed chain at given parameters, and the law of its momentum.

use mcsa_core::StepSizes;

use super::base;

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
    pub fn deviation(self, mass: f64) -> f64 {
        if self == Self::Variance { mass.sqrt() } else { mass }
    }

    /// `ds / dM`.
    pub(super) fn slope(self, mass: f64) -> f64 {
        if self == Self::Variance { 0.5 / mass.sqrt() } else { 1.0 }
    }
}

/// Parametrisation of the change kappa of the step size with the temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slope {
    /// kappa itself, as in the paper. One step of an optimiser can then drive every step size to zero.
    #[default]
    Plain,
    /// `kappa / eta_max`, so that a step of an optimiser changes kappa by a fraction of the largest step size.
    Scaled,
}

/// View of a chain: constrained parameters, with what follows from the mass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) base: base::View<'a>,
    pub(super) step_size: f64,
    pub(super) kappa: f64,
    pub(super) longest: f64,
    pub(super) gamma: f64,
    pub(super) betas: &'a [f64],
    /// `w = 1 / M`.
    pub(super) inverse_mass: &'a [f64],
    /// Standard deviation s of the momentum.
    pub(super) deviation: &'a [f64],
    /// `1 / s^2`.
    pub(super) precision: &'a [f64],
}

/// Derivatives for the parameters of a chain.
#[derive(Debug)]
pub(super) struct Bars<'a> {
    pub(super) base: base::Bars<'a>,
    pub(super) step_size: f64,
    pub(super) kappa: f64,
    pub(super) gamma: f64,
    pub(super) betas: &'a mut [f64],
    pub(super) inverse_mass: &'a mut [f64],
    pub(super) deviation: &'a mut [f64],
}

impl Chain<'_> {
    pub(super) fn dim(&self) -> usize {
        self.base.mean.len()
    }

    pub(super) fn num_steps(&self) -> usize {
        self.betas.len()
    }

    /// Step size `eta_k = clip(eta_0 + kappa beta_k, 0, eta_max)`, and true if it is strictly between its clips.
    pub(super) fn eta(&self, k: usize) -> (f64, bool) {
        let raw = self.step_size + self.kappa * self.betas[k];
        (raw.clamp(0.0, self.longest), raw > 0.0 && raw < self.longest)
    }
    /// Numbers of clipped step sizes.
    pub(super) fn step_sizes(&self) -> StepSizes {
        let mut sizes = StepSizes { steps: self.num_steps(), ..StepSizes::default() };
        for k in 0..self.num_steps() {
            let raw = self.step_size + self.kappa * self.betas[k];
            sizes.zero += usize::from(raw <= 0.0);
            sizes.longest += usize::from(raw >= self.longest);
        }
        sizes
    }
}
