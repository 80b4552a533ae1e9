//! Laws of running moments on a target of weighted atoms: the exact inclusive optimum stays, and steps of gain one lead to it uphill.

use faer::Mat;
use mcsa_core::Family;
use mcsa_families::MomentMatched;
use mcsa_optim::deterministic::{Lbfgs, Quadrature, inclusive_optimum};

use crate::moments::step;

/// Target with finitely many atoms.
pub(crate) struct Atomic {
    pub(crate) points: Mat<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Atomic {
    /// Skewed and correlated t with four degrees of freedom, in one or two dimensions, on a grid that is wider in its tails.
    pub(crate) fn skew_t(dim: usize) -> Self {
        let count = 41_usize;
        let node = |k: usize| (k as f64 - 20.0) * 0.2;
        let points =
            Mat::from_fn(dim, count.pow(dim as u32), |i, j| node(j / count.pow(i as u32) % count).sinh());
        let weight = |j: usize| {
            let x = points[(0, j)];
            let y = if dim > 1 { points[(1, j)] - 0.6 * x } else { 0.0 };
            let spacing: f64 = (0..dim).map(|i| points[(i, j)].hypot(1.0)).product();
            let power = -0.5 * (4.0 + dim as f64);
            spacing * (1.0 + (x * x + y * y) / 4.0).powf(power) * (1.0 + 0.5 * x.tanh())
        };
        let weights: Vec<f64> = (0..points.ncols()).map(weight).collect();
        Self::new(points, &weights)
    }

    pub(crate) fn new(points: Mat<f64>, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        Self { points, weights: weights.iter().map(|weight| weight / total).collect() }
    }

    /// `E_p[log q]`.
    pub(crate) fn value<F: Family>(&self, family: &F, params: &[f64]) -> f64 {
        let mut log_q = vec![0.0; self.weights.len()];
        let mut work = vec![0.0; family.work_len(self.weights.len())];
        family.log_probs(params, self.points.as_ref(), &mut log_q, &mut work);
        self.weights.iter().zip(log_q).map(|(weight, log_q)| weight * log_q).sum()
    }

    /// The inclusive optimum by L-BFGS.
    pub(crate) fn optimum<F: Family>(&self, family: &F, start: &[f64]) -> Vec<f64> {
        let p = Quadrature::new(self.points.as_ref(), &self.weights).unwrap();
        let lbfgs = Lbfgs::with(1e-9, 10_000, 20).unwrap();
        inclusive_optimum(&lbfgs, &p, family, start).unwrap().converged().unwrap().point
    }

    pub(crate) fn step<F: MomentMatched>(&self, family: &F, params: &[f64], gain: f64) -> Vec<f64> {
        step(family, params, gain, self.points.as_ref(), &self.weights).expect("moments inside the family")
    }
}

/// Largest difference of two lambdas.
pub(crate) fn gap(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Largest move of a step from the inclusive optimum, over several gains.
pub(crate) fn drift<F: MomentMatched>(p: &Atomic, family: &F, optimum: &[f64]) -> f64 {
    [0.05, 0.5, 1.0].map(|gain| gap(&p.step(family, optimum, gain), optimum)).into_iter().fold(0.0, f64::max)
}

/// Lambda after steps of gain one from `start`, and the largest fall of `E_p[log q]` in a step.
pub(crate) fn climb<F: MomentMatched>(
    p: &Atomic,
    family: &F,
    start: &[f64],
    steps: usize,
) -> (Vec<f64>, f64) {
    let (mut params, mut value, mut fall) = (start.to_vec(), p.value(family, start), 0.0_f64);
    for _ in 0..steps {
        params = p.step(family, &params, 1.0);
        let next = p.value(family, &params);
        fall = fall.max(value - next);
        value = next;
    }
    (params, fall)
}
