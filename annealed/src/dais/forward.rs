//! Forward sweep of an annealed path.

use crate::Surrogate;

use super::chain::Chain;
use super::tape::Tape;

/// Normal numbers of one path: `eps` (d), `nu` (K rows of d), and those of the surrogate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise<'a> {
    pub(super) eps: &'a [f64],
    pub(super) nu: &'a [f64],
    pub(super) own: &'a [f64],
}

impl<'a> Noise<'a> {
    pub(super) fn split(noise: &'a [f64], dim: usize, steps: usize) -> Self {
        let (eps, rest) = noise.split_at(dim);
        let (nu, own) = rest.split_at(steps * dim);
        Self { eps, nu, own }
    }
}

impl Chain<'_> {
    /// Simulates a path onto the tape and returns the log ratio of forward and backward densities,
    /// `log q_0(z_0) - sum_k [log N(v^_k; 0, S^2) - log N(v_{k-1}; 0, S^2)]`. `work` is lent to the surrogate and holds at least d
    /// numbers.
    pub(super) fn simulate<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        noise: Noise<'_>,
        tape: &mut Tape<'_>,
        work: &mut [f64],
    ) -> f64 {
        let (d, steps, kept) = (self.dim(), self.num_steps(), surrogate.tape_len());
        surrogate.prepare(psi, noise.own, tape.memory);
        self.base.draw(noise.eps, &mut tape.points[..d]);
        let refresh = (1.0 - self.gamma * self.gamma).sqrt();
        let mut log_ratio = 0.0;
        for k in 0..steps {
            let row = k * d..(k + 1) * d;
            let (earlier, before) =
                (&tape.after[k.saturating_sub(1) * d..][..d], &mut tape.before[row.clone()]);
            let nu = &noise.nu[row.clone()];
            if k == 0 {
                for i in 0..d {
                    before[i] = self.deviation[i] * nu[i];
                }
            } else {
                for i in 0..d {
                    before[i] = self.gamma * earlier[i] + refresh * (self.deviation[i] * nu[i]);
                }
            }
            let ((eta, _), beta) = (self.eta(k), self.betas[k]);
            let (done, next) = tape.points.split_at_mut((k + 1) * d);
            let (point, next) = (&done[k * d..], &mut next[..d]);
            let half = &mut tape.halves[row.clone()];
            for i in 0..d {
                half[i] = point[i] + 0.5 * eta * (before[i] * self.inverse_mass[i]);
            }
            let base = &mut tape.base[row.clone()];
            self.base.slope_into(half, &mut tape.whitened[row.clone()], base);
            let guide = &mut tape.guide[row.clone()];
            let kept = &mut tape.kept[k * kept..(k + 1) * kept];
            surrogate.gradient_into(psi, tape.memory, half, guide, kept, work);
            let after = &mut tape.after[row];
            for i in 0..d {
                let kick = (1.0 - beta) * base[i] + beta * guide[i];
                after[i] = before[i] + eta * kick;
                next[i] = half[i] + 0.5 * eta * (after[i] * self.inverse_mass[i]);
                log_ratio += 0.5 * self.precision[i] * (before[i] * before[i] - after[i] * after[i]);
            }
        }
        self.base.log_density(noise.eps, &mut work[..d]) - log_ratio
    }
}
