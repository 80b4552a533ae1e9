//! Forward sweep of a differentiable annealed chain.

use mcsa_core::numeric::dot;

use super::chain::Dais;
use super::guide::{Guide, Target};

/// Step sizes of a path that are clipped; the derivative of such a step size is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepSizes {
    /// Number of steps of size zero, which do not move.
    pub zero: usize,
    /// Number of steps of the largest size.
    pub longest: usize,
    /// Number of all steps.
    pub steps: usize,
}

impl StepSizes {
    /// True if the chain has steps and none of them moves.
    pub fn is_still(&self) -> bool {
        self.steps > 0 && self.zero == self.steps
    }
}

/// Memory of one path: what the reverse sweep needs of the forward sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub(super) dim: usize,
    /// `z_0 .. z_K`.
    pub(super) points: Vec<f64>,
    /// `h_1 .. h_K`, where the momentum is kicked.
    pub(super) halves: Vec<f64>,
    /// `v_0 .. v_{K-1}`.
    pub(super) before: Vec<f64>,
    /// `v^_1 .. v^_K`.
    pub(super) after: Vec<f64>,
    /// Gradients of `log q_0` at the halves.
    pub(super) base: Vec<f64>,
    /// Gradients of the guide at the halves.
    pub(super) guide: Vec<f64>,
    /// `eta_1 .. eta_K`.
    pub(super) etas: Vec<f64>,
    /// True for a step size strictly between its clips.
    pub(super) free: Vec<bool>,
    /// Gradient of the target at `z_K`.
    pub(super) end: Vec<f64>,
    /// Derivatives of the target for its parameters.
    pub(super) end_params: Vec<f64>,
    /// Ten vectors for the reverse sweep.
    pub(super) rooms: Vec<f64>,
    sizes: StepSizes,
}

impl Path {
    /// Memory for a path of `steps` steps in `dim` dimensions, ended by a target of `target_params` parameters.
    pub fn new(dim: usize, steps: usize, target_params: usize) -> Self {
        let rows = || vec![0.0; steps * dim];
        Self {
            dim,
            points: vec![0.0; (steps + 1) * dim],
            halves: rows(),
            before: rows(),
            after: rows(),
            base: rows(),
            guide: rows(),
            etas: vec![0.0; steps],
            free: vec![false; steps],
            end: vec![0.0; dim],
            end_params: vec![0.0; target_params],
            rooms: vec![0.0; 10 * dim],
            sizes: StepSizes::default(),
        }
    }

    /// Points `z_0 .. z_K`.
    pub fn points(&self) -> impl Iterator<Item = &[f64]> {
        self.points.chunks_exact(self.dim)
    }

    /// Numbers of clipped step sizes.
    pub fn step_sizes(&self) -> StepSizes {
        self.sizes
    }
}

impl Dais {
    /// Log weight of the path that the standard normal numbers `eps` (d) and `nu` (K rows of d) draw: an estimate of the bound.
    ///
    /// # Panics
    /// If lengths differ, or `path` has other dimensions.
    pub fn log_weight<G: Guide, T: Target>(
        &self,
        guide: &G,
        target: &T,
        (eps, nu): (&[f64], &[f64]),
        path: &mut Path,
    ) -> f64 {
        let (d, steps) = (self.dim(), self.num_steps());
        assert_eq!((guide.dim(), target.dim(), path.dim), (d, d, d), "dimensions of guide, target and path");
        assert_eq!((eps.len(), nu.len(), path.etas.len()), (d, steps * d, steps), "noise and steps");
        path.sizes = StepSizes { steps, ..StepSizes::default() };
        self.base.draw(eps, &mut path.points[..d]);
        let refresh = (1.0 - self.gamma * self.gamma).sqrt();
        let mut log_ratio = 0.0;
        for k in 0..steps {
            let row = k * d..(k + 1) * d;
            for i in 0..d {
                let fresh = self.law.deviation(self.mass[i]) * nu[k * d + i];
                path.before[k * d + i] = match k {
                    0 => fresh,
                    _ => self.gamma * path.after[(k - 1) * d + i] + refresh * fresh,
                };
            }
            let beta = self.betas[k];
            let eta = self.step(k, path);
            for i in row.clone() {
                path.halves[i] = path.points[i] + 0.5 * eta * path.before[i] / self.mass[i - k * d];
            }
            let half = &path.halves[row.clone()];
            self.base.gradient_into(half, &mut path.rooms[..d], &mut path.base[row.clone()]);
            guide.gradient_into(half, &mut path.guide[row.clone()]);
            for i in row.clone() {
                let kick = (1.0 - beta) * path.base[i] + beta * path.guide[i];
                path.after[i] = path.before[i] + eta * kick;
                path.points[i + d] = path.halves[i] + 0.5 * eta * path.after[i] / self.mass[i - k * d];
                let deviation = self.law.deviation(self.mass[i - k * d]);
                let (before, after) = (path.before[i] / deviation, path.after[i] / deviation);
                log_ratio += 0.5 * (before * before - after * after);
            }
        }
        let value = target.value_and_gradient(&path.points[steps * d..], &mut path.end, &mut path.end_params);
        value - self.base.log_density(eps) + log_ratio
    }

    /// Step size of step k, clipped and counted.
    fn step(&self, k: usize, path: &mut Path) -> f64 {
        let raw = self.step_size + self.kappa * self.betas[k];
        path.free[k] = raw > 0.0 && raw < self.longest;
        path.sizes.zero += usize::from(raw <= 0.0);
        path.sizes.longest += usize::from(raw >= self.longest);
        path.etas[k] = raw.clamp(0.0, self.longest);
        path.etas[k]
    }

    /// `grad[(1 - beta_k) log q_0 + beta_k g](h_k) . x`.
    pub(super) fn kick_dot(&self, path: &Path, k: usize, x: &[f64]) -> f64 {
        let row = k * path.dim..(k + 1) * path.dim;
        (1.0 - self.betas[k]) * dot(&path.base[row.clone()], x) + self.betas[k] * dot(&path.guide[row], x)
    }
}
