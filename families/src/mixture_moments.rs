//! Running moments of the mixture of diagonal Gaussians: online EM on responsibilities.

use crate::{GaussianMixture, MomentMatched};
use faer::MatRef;
use mcsa_core::{Columns, Parametric, borrow};

use crate::softmax::Softmax;

/// Least weight of a component of a running estimate, times the number of components.
const LEAST_WEIGHT: f64 = 1e-3;

/// Online EM (Cappe & Moulines 2009), with the responsibilities at the current lambda.
///
/// ```text
/// r_ik = w_k N_k(z_i) / q(z_i),    E_q[r_k] = w_k,   E_q[r_k (z - m_k)] = 0,   E_q[r_k (z - m_k)^2] = w_k sigma_k^2
/// w_k' = (1 - gain) w_k + gain R_k,   R_k = sum_i weight_i r_ik
/// m_k' and sigma_k' as those of MeanField with gain  gain R_k / w_k'  and weights  weight_i r_ik / R_k
/// ```
/// At gain one the step never decreases `E_p[log q]`. It is not a natural-gradient step: where components overlap, EM is slow.
///
/// A component without points loses weight and stays where it is. Its weight stays at least `0.001 / K`, so that some proposals
/// are still drawn from it and it can return. A fixed point is a stationary point of `KL(p || q)` if all its weights are above
/// that.
impl MomentMatched for GaussianMixture {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        mut work: &mut [f64],
    ) -> bool {
        let (dim, count) = (self.dim(), self.components());
        assert_eq!((points.nrows(), points.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "logits, means and rhos");
        let softmax = Softmax::of(self.logits(params));
        let mut shared = self.prepare(params, &mut work);
        let shares = borrow(&mut work, count * weights.len());
        for ((j, &weight), shares) in weights.iter().enumerate().zip(shares.chunks_exact_mut(count)) {
            if weight == 0.0 {
                shares.fill(0.0);
                continue;
            }
            let log_q = self.log_parts(params, &mut shared, points.column(j));
            for (share, log_part) in shares.iter_mut().zip(&*shared.log_parts) {
                *share = weight * (log_part - log_q).exp();
            }
        }
        let (logits, components) = matched.split_at_mut(count);
        let share = |k: usize| shares.iter().skip(k).step_by(count).copied();
        for (k, logit) in logits.iter_mut().enumerate() {
            let arrived = gain * share(k).sum::<f64>();
            *logit = (1.0 - gain) * softmax.log(params[k]).exp() + arrived;
            let (mean, rho) = self.component(params, k);
            let (matched_mean, matched_rho) = components[2 * dim * k..][..2 * dim].split_at_mut(dim);
            let (part, total) = (arrived / *logit, arrived / gain);
            for i in 0..dim {
                let scale = self.link().scale(rho[i]);
                let away = |j: usize| points[(i, j)] - mean[i];
                let (mut delta, mut spread) = (0.0, 0.0);
                if total > 0.0 {
                    delta = share(k).enumerate().map(|(j, share)| share * away(j)).sum::<f64>() / total;
                    let square = |(j, share): (usize, f64)| share * (away(j) - delta) * (away(j) - delta);
                    spread = share(k).enumerate().map(square).sum::<f64>() / total;
                }
                let variance = (1.0 - part) * (scale * scale + part * (delta * delta)) + part * spread;
                matched_mean[i] = mean[i] + part * delta;
                let Ok(rho) = self.link().inverse(variance.sqrt()) else { return false };
                matched_rho[i] = rho;
            }
        }
        keep_alive(logits);
        matched.iter().all(|number| number.is_finite())
    }
}

/// Raises weights to the least that is allowed, at the cost of the others, and takes their logarithms.
fn keep_alive(weights: &mut [f64]) {
    let least = LEAST_WEIGHT / weights.len() as f64;
    let (mut raised, mut others) = (0.0, 0.0);
    for weight in &*weights {
        if *weight < least { raised += least } else { others += weight }
    }
    for weight in weights {
        *weight = if *weight < least { least } else { *weight * ((1.0 - raised) / others) }.ln();
    }
}
