//! Reverse sweep of a differentiable annealed chain.

use mcsa_core::numeric::dot;

use super::chain::Dais;
use super::guide::Guide;
use super::path::Path;

/// Derivatives of a log weight for all parameters on their constrained scale.
#[derive(Debug, Clone, PartialEq)]
pub struct DaisGradient {
    /// Mean of the base.
    pub mean: Vec<f64>,
    /// Scale of the base, shaped as in the base; zero above the diagonal.
    pub scale: Vec<f64>,
    /// Step size `eta_0`.
    pub step_size: f64,
    /// Slope `kappa`.
    pub kappa: f64,
    /// Share `gamma`.
    pub gamma: f64,
    /// Temperatures, each as a free number.
    pub betas: Vec<f64>,
    /// Diagonal of the mass.
    pub mass: Vec<f64>,
    /// Parameters of the guide.
    pub guide: Vec<f64>,
    /// Parameters of the target.
    pub target: Vec<f64>,
}

impl DaisGradient {
    /// Zeros for a chain whose guide and target have so many parameters.
    pub fn zeros(dais: &Dais, guide: usize, target: usize) -> Self {
        Self {
            mean: vec![0.0; dais.dim()],
            scale: vec![0.0; dais.base.scale.len()],
            step_size: 0.0,
            kappa: 0.0,
            gamma: 0.0,
            betas: vec![0.0; dais.num_steps()],
            mass: vec![0.0; dais.dim()],
            guide: vec![0.0; guide],
            target: vec![0.0; target],
        }
    }
}

impl Dais {
    /// Adds the gradient of the log weight of `path`, which [`Dais::log_weight`] filled with the same chain, guide and noise.
    ///
    /// Costs one product with the guide's second derivatives per step. No derivative is stopped: those for the base, the guide
    /// and the mass include all effects on the path.
    ///
    /// # Panics
    /// If lengths differ.
    pub fn add_gradient<G: Guide>(
        &self,
        guide: &G,
        (eps, nu): (&[f64], &[f64]),
        path: &mut Path,
        gradient: &mut DaisGradient,
    ) {
        let (d, steps) = (self.dim(), self.num_steps());
        assert_eq!((eps.len(), nu.len(), path.etas.len()), (d, steps * d, steps), "noise and steps");
        let mut rooms = std::mem::take(&mut path.rooms);
        let (z_bar, rest) = rooms.split_at_mut(d);
        let (v_bar, rest) = rest.split_at_mut(d);
        let (after_bar, rest) = rest.split_at_mut(d);
        let (kick_bar, rest) = rest.split_at_mut(d);
        let (half_bar, rest) = rest.split_at_mut(d);
        let (s_bar, scratch) = rest.split_at_mut(d);
        z_bar.copy_from_slice(&path.end);
        v_bar.fill(0.0);
        s_bar.fill(0.0);
        for (bar, end) in gradient.target.iter_mut().zip(&path.end_params) {
            *bar += end;
        }
        let refresh = (1.0 - self.gamma * self.gamma).sqrt();
        for k in (0..steps).rev() {
            let row = k * d..(k + 1) * d;
            let (eta, beta) = (path.etas[k], self.betas[k]);
            let mut eta_bar = 0.0;
            for i in 0..d {
                let (mass, s) = (self.mass[i], self.law.deviation(self.mass[i]));
                let after = path.after[k * d + i];
                after_bar[i] = 0.0;
                if k + 1 < steps {
                    let fresh = nu[(k + 1) * d + i];
                    after_bar[i] += self.gamma * v_bar[i];
                    gradient.gamma += v_bar[i] * (after - self.gamma / refresh * s * fresh);
                    s_bar[i] += refresh * v_bar[i] * fresh;
                }
                // -|v^|^2 / (2 s^2) of the log weight, then the second drift.
                after_bar[i] -= after / (s * s);
                s_bar[i] += after * after / (s * s * s);
                after_bar[i] += 0.5 * eta / mass * z_bar[i];
                eta_bar += 0.5 * z_bar[i] * after / mass;
                gradient.mass[i] -= 0.5 * eta * z_bar[i] * after / (mass * mass);
                kick_bar[i] = eta * after_bar[i];
            }
            eta_bar += self.kick_dot(path, k, after_bar);
            let mut beta_bar =
                dot(kick_bar, &path.guide[row.clone()]) - dot(kick_bar, &path.base[row.clone()]);
            half_bar.copy_from_slice(z_bar);
            let half = &path.halves[row];
            let of_base = (&mut gradient.mean[..], &mut gradient.scale[..]);
            self.base.add_second((half, kick_bar, 1.0 - beta), half_bar, of_base, scratch);
            guide.add_second(half, kick_bar, beta, half_bar, &mut gradient.guide);
            for i in 0..d {
                let (mass, s) = (self.mass[i], self.law.deviation(self.mass[i]));
                let before = path.before[k * d + i];
                // The first drift, then +|v|^2 / (2 s^2) of the log weight.
                z_bar[i] = half_bar[i];
                v_bar[i] = after_bar[i] + 0.5 * eta / mass * half_bar[i] + before / (s * s);
                eta_bar += 0.5 * half_bar[i] * before / mass;
                gradient.mass[i] -= 0.5 * eta * half_bar[i] * before / (mass * mass);
                s_bar[i] -= before * before / (s * s * s);
            }
            if path.free[k] {
                gradient.step_size += eta_bar;
                gradient.kappa += beta * eta_bar;
                beta_bar += self.kappa * eta_bar;
            }
            gradient.betas[k] += beta_bar;
        }
        for i in 0..d {
            if steps > 0 {
                s_bar[i] += v_bar[i] * nu[i];
            }
            gradient.mass[i] += s_bar[i] * self.law.slope(self.mass[i]);
        }
        self.base.add_draw(z_bar, eps, &mut gradient.mean, &mut gradient.scale);
        path.rooms = rooms;
    }
}
