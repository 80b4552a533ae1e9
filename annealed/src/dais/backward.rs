//! Backward simulation of an annealed path from its last point.

use crate::Surrogate;

use super::chain::Chain;
use super::tape::Tape;

impl Chain<'_> {
    /// Simulates the path backward from `end`: fresh momenta, inverse steps. Fills points and momenta of the tape and returns the log
    /// ratio of [`simulate`](Self::simulate) along this path. `nu` holds K rows of d normal numbers, the last row that of the last
    /// momentum.
    ///
    /// ```text
    /// v^_K = S nu_K;  for k = K..1:
    ///   h_k = z_k - eta_k/2 M^-1 v^_k,   v_{k-1} = v^_k - eta_k kick(h_k),   z_{k-1} = h_k - eta_k/2 M^-1 v_{k-1}
    ///   v^_{k-1} = gamma v_{k-1} + sqrt(1 - gamma^2) S nu_{k-1}
    /// ```
    pub(super) fn simulate_back<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        end: &[f64],
        (nu, own): (&[f64], &[f64]),
        tape: &mut Tape<'_>,
        work: &mut [f64],
    ) -> f64 {
        let (d, steps, kept) = (self.dim(), self.num_steps(), surrogate.tape_len());
        surrogate.prepare(psi, own, tape.memory);
        tape.points[steps * d..].copy_from_slice(end);
        let refresh = (1.0 - self.gamma * self.gamma).sqrt();
        let mut log_ratio = 0.0;
        for k in (0..steps).rev() {
            let row = k * d..(k + 1) * d;
            let after = &mut tape.after[row.clone()];
            let nu = &nu[row.clone()];
            if k + 1 == steps {
                for i in 0..d {
                    after[i] = self.deviation[i] * nu[i];
                }
            } else {
                let later = &tape.before[(k + 1) * d..][..d];
                for i in 0..d {
                    after[i] = self.gamma * later[i] + refresh * (self.deviation[i] * nu[i]);
                }
            }
            let ((eta, _), beta) = (self.eta(k), self.betas[k]);
            let (earlier, later) = tape.points.split_at_mut((k + 1) * d);
            let (earlier, later) = (&mut earlier[k * d..], &later[..d]);
            let half = &mut tape.halves[row.clone()];
            for i in 0..d {
                half[i] = later[i] - 0.5 * eta * (after[i] * self.inverse_mass[i]);
            }
            let base = &mut tape.base[row.clone()];
            self.base.slope_into(half, &mut tape.whitened[row.clone()], base);
            let guide = &mut tape.guide[row.clone()];
            let kept = &mut tape.kept[k * kept..(k + 1) * kept];
            surrogate.gradient_into(psi, tape.memory, half, guide, kept, work);
            let before = &mut tape.before[row];
            for i in 0..d {
                let kick = (1.0 - beta) * base[i] + beta * guide[i];
                before[i] = after[i] - eta * kick;
                earlier[i] = half[i] - 0.5 * eta * (before[i] * self.inverse_mass[i]);
                log_ratio += 0.5 * self.precision[i] * (before[i] * before[i] - after[i] * after[i]);
            }
        }
        let (whitened, logs) = work.split_at_mut(d);
        self.base.whiten(&tape.points[..d], whitened);
        self.base.log_density(whitened, &mut logs[..d]) - log_ratio
    }
}
