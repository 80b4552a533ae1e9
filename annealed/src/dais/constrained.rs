//! Unconstrained parameters of an annealed path: their layout, constrained values and derivatives.

use mcsa_core::{borrow, numeric};

use super::base::{self, Shape};
use super::chain::{Bars, Chain, Mass, Slope};
use mcsa_families::Link;
use mcsa_numeric::linear::packed;

/// Largest `|logit gamma|`: nearer to 1 the derivative of the refresh overflows.
const LOGIT: f64 = 15.0;

/// Layout of lambda, `[base; u; kappa; w; log M; b; psi]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) dim: usize,
    pub(super) base: usize,
    pub(super) steps: usize,
}

impl Layout {
    /// Index of the first log mass.
    pub(super) const fn mass(self) -> usize {
        self.base + 3
    }

    /// Index of the first temperature.
    const fn betas(self) -> usize {
        self.mass() + self.dim
    }

    /// Index of the first entry of psi.
    pub(super) const fn psi(self) -> usize {
        self.betas() + self.steps
    }

    pub(super) const fn constrained_len(self) -> usize {
        6 * self.dim + self.steps
    }

    /// Length of the memory of [`bars`](Self::bars).
    pub(super) const fn bars_len(self) -> usize {
        3 * self.dim + self.steps
    }

    /// Derivatives: of mean and triangle in place in the gradient of lambda, of the rest, which is zeroed, in `memory`.
    pub(super) fn bars<'a>(
        self,
        gradient: &'a mut [f64],
        shape: Shape,
        mut memory: &'a mut [f64],
    ) -> Bars<'a> {
        memory.fill(0.0);
        let (mean, rest) = gradient[..self.base].split_at_mut(self.dim);
        let triangle = if shape == Shape::Lower { rest } else { &mut [] };
        Bars {
            base: base::Bars { mean, scales: borrow(&mut memory, self.dim), triangle },
            step_size: 0.0,
            kappa: 0.0,
            gamma: 0.0,
            inverse_mass: borrow(&mut memory, self.dim),
            deviation: borrow(&mut memory, self.dim),
            betas: borrow(&mut memory, self.steps),
        }
    }
}

/// Layout of lambda and the maps of its parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) layout: Layout,
    pub(super) shape: Shape,
    pub(super) link: Link,
    pub(super) longest: f64,
    pub(super) law: Mass,
    pub(super) slope: Slope,
}

/// Constrained values at one lambda.
#[derive(Debug)]
pub(super) struct Constrained<'a> {
    form: Form,
    scales: &'a [f64],
    inverse: &'a [f64],
    /// `d scale / d rho`.
    derivatives: &'a [f64],
    inverse_mass: &'a [f64],
    deviation: &'a [f64],
    precision: &'a [f64],
    betas: &'a [f64],
    step_size: f64,
    kappa: f64,
    gamma: f64,
}

impl<'a> Constrained<'a> {
    /// The values at `params`, in lent memory.
    pub(super) fn of(form: Form, params: &[f64], mut memory: &'a mut [f64]) -> Self {
        let Form { layout, shape, link, longest, law, slope } = form;
        let d = layout.dim;
        let [scales, inverse, derivatives, inverse_mass, deviation, precision] =
            [(); 6].map(|()| borrow(&mut memory, d));
        for i in 0..d {
            inverse[i] = params[d + rho_at(shape, d, i)];
        }
        link.scales_into(inverse, scales);
        link.derivatives_into(inverse, derivatives);
        inverse.iter_mut().zip(&*scales).for_each(|(inverse, scale)| *inverse = 1.0 / scale);

        numeric::exp_into(&params[layout.mass()..layout.betas()], precision);
        for i in 0..d {
            let mass = precision[i];
            inverse_mass[i] = 1.0 / mass;
            deviation[i] = law.deviation(mass);
            precision[i] = 1.0 / (deviation[i] * deviation[i]);
        }

        let betas = borrow(&mut memory, layout.steps);
        numeric::exp_into(&params[layout.betas()..layout.psi()], betas);
        let mut sum = 0.0;
        for beta in betas.iter_mut() {
            sum += *beta;
            *beta = sum;
        }
        betas.iter_mut().for_each(|beta| *beta /= sum);

        let sigmoid = numeric::scalar::sigmoid;
        let factor = if slope == Slope::Plain { 1.0 } else { longest };
        Self {
            form,
            scales,
            inverse,
            derivatives,
            inverse_mass,
            deviation,
            precision,
            betas,
            step_size: longest * sigmoid(params[layout.base]),
            kappa: factor * params[layout.base + 1],
            gamma: sigmoid(params[layout.base + 2].clamp(-LOGIT, LOGIT)),
        }
    }

    /// The chain at these values.
    pub(super) fn chain<'c>(&self, params: &'c [f64]) -> Chain<'c>
    where
        'a: 'c,
    {
        let Form { layout, shape, longest, .. } = self.form;
        let (mean, rest) = params[..layout.base].split_at(layout.dim);
        let triangle = if shape == Shape::Lower { rest } else { &[] };
        Chain {
            base: base::View { shape, mean, scales: self.scales, inverse: self.inverse, triangle },
            step_size: self.step_size,
            kappa: self.kappa,
            longest,
            gamma: self.gamma,
            betas: self.betas,
            inverse_mass: self.inverse_mass,
            deviation: self.deviation,
            precision: self.precision,
        }
    }

    /// Adds the derivatives in lambda that belong to those of step size, kappa and gamma, and to those in `memory`; psi apart.
    pub(super) fn pull_back(
        &self,
        (step_size, kappa, gamma): (f64, f64, f64),
        mut memory: &mut [f64],
        gradient: &mut [f64],
    ) {
        let Form { layout, shape, longest, law, slope, .. } = self.form;
        let d = layout.dim;
        let [scales, inverse_mass, deviation] = [(); 3].map(|()| borrow(&mut memory, d));
        let betas = borrow(&mut memory, layout.steps);
        // dM/d(log M) = M, and M ds/dM is s / 2 or s.
        let share = if law == Mass::Variance { 0.5 } else { 1.0 };
        for i in 0..d {
            gradient[d + rho_at(shape, d, i)] += scales[i] * self.derivatives[i];
            let mass = &mut gradient[layout.mass() + i];
            *mass += share * self.deviation[i] * deviation[i] - self.inverse_mass[i] * inverse_mass[i];
        }
        gradient[layout.base] += step_size * self.step_size * (1.0 - self.step_size / longest);
        gradient[layout.base + 1] += if slope == Slope::Plain { kappa } else { kappa * longest };
        // Beyond the cut of its logit gamma is constant.
        if self.gamma.max(1.0 - self.gamma) < numeric::scalar::sigmoid(LOGIT) {
            gradient[layout.base + 2] += gamma * self.gamma * (1.0 - self.gamma);
        }
        let mean: f64 = numeric::dot(self.betas, betas);
        let mut later = 0.0;
        for j in (0..layout.steps).rev() {
            later += betas[j];
            let before = if j == 0 { 0.0 } else { self.betas[j - 1] };
            gradient[layout.betas() + j] += (self.betas[j] - before) * (later - mean);
        }
    }
}

/// Index of `rho_i` behind the mean, in the lambda of a mean-field or full-rank base.
fn rho_at(shape: Shape, dim: usize, i: usize) -> usize {
    if shape == Shape::Diagonal { i } else { packed::start(dim, i) }
}
