//! Reverse sweep of an annealed path.

use crate::Surrogate;
use mcsa_core::borrow;
use mcsa_core::numeric::dot;

use super::chain::{Bars, Chain};
use super::forward::Noise;
use super::tape::Tape;

impl Chain<'_> {
    /// Length of `work` for [`add_gradient`](Self::add_gradient).
    pub(super) fn work_len<S: Surrogate + ?Sized>(surrogate: &S) -> usize {
        10 * surrogate.dim() + surrogate.work_len()
    }

    /// Adds the derivatives of `cotangent . z_K + share * log ratio`, with the log ratio that [`simulate`](Self::simulate) returned
    /// for this tape. All derivatives are total: those for the base, the surrogate and the mass include every effect on the path.
    #[expect(
        clippy::too_many_arguments,
        reason = "surrogate, psi, chance, two factors, tape, two results, memory"
    )]
    pub(super) fn add_gradient<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        noise: Noise<'_>,
        (cotangent, share): (&[f64], f64),
        tape: &Tape<'_>,
        bars: &mut Bars<'_>,
        psi_bar: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (d, steps, kept) = (self.dim(), self.num_steps(), surrogate.tape_len());
        let [z_bar, v_bar, after_bar, kick_bar, half_bar, s_bar] = [(); 6].map(|()| borrow(&mut work, d));
        let room = borrow(&mut work, 4 * d);
        z_bar.copy_from_slice(cotangent);
        v_bar.fill(0.0);
        s_bar.fill(0.0);
        let refresh = (1.0 - self.gamma * self.gamma).sqrt();
        for k in (0..steps).rev() {
            let row = k * d..(k + 1) * d;
            let ((eta, free), beta) = (self.eta(k), self.betas[k]);
            let (before, after) = (&tape.before[row.clone()], &tape.after[row.clone()]);
            let (base, guide) = (&tape.base[row.clone()], &tape.guide[row.clone()]);
            let mut eta_bar = 0.0;
            if k + 1 < steps {
                let fresh = &noise.nu[(k + 1) * d..][..d];
                for i in 0..d {
                    let (s, v) = (self.deviation[i], v_bar[i]);
                    after_bar[i] = self.gamma * v;
                    bars.gamma += v * (after[i] - self.gamma / refresh * s * fresh[i]);
                    s_bar[i] += refresh * v * fresh[i];
                }
            } else {
                after_bar.fill(0.0);
            }
            for i in 0..d {
                // The log ratio contains |v^|^2 / (2 s^2); then the second drift.
                let (z, w, scaled) = (z_bar[i], self.inverse_mass[i], share * after[i] * self.precision[i]);
                after_bar[i] += scaled + 0.5 * eta * (w * z);
                s_bar[i] -= scaled * after[i] / self.deviation[i];
                eta_bar += 0.5 * z * (w * after[i]);
                bars.inverse_mass[i] += 0.5 * eta * z * after[i];
                kick_bar[i] = eta * after_bar[i];
                eta_bar += after_bar[i] * ((1.0 - beta) * base[i] + beta * guide[i]);
            }
            let mut beta_bar = dot(kick_bar, guide) - dot(kick_bar, base);
            half_bar.copy_from_slice(z_bar);
            let at = (&tape.whitened[row.clone()], base);
            self.base.add_second(at, (kick_bar, 1.0 - beta), half_bar, &mut bars.base, room);
            let (half, kept) = (&tape.halves[row], &tape.kept[k * kept..(k + 1) * kept]);
            surrogate.add_second(psi, tape.memory, kept, half, kick_bar, beta, half_bar, psi_bar, work);
            for i in 0..d {
                // The first drift; the log ratio contains -|v|^2 / (2 s^2).
                let (h, w, scaled) =
                    (half_bar[i], self.inverse_mass[i], share * before[i] * self.precision[i]);
                z_bar[i] = h;
                v_bar[i] = after_bar[i] + 0.5 * eta * (w * h) - scaled;
                eta_bar += 0.5 * h * (w * before[i]);
                bars.inverse_mass[i] += 0.5 * eta * h * before[i];
                s_bar[i] += scaled * before[i] / self.deviation[i];
            }
            if free {
                bars.step_size += eta_bar;
                bars.kappa += beta * eta_bar;
                beta_bar += self.kappa * eta_bar;
            }
            bars.betas[k] += beta_bar;
        }
        for i in 0..d {
            let first = if steps > 0 { v_bar[i] * noise.nu[i] } else { 0.0 };
            bars.deviation[i] += s_bar[i] + first;
        }
        self.base.add_draw(z_bar, noise.eps, share, &mut bars.base);
    }
}
