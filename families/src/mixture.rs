//! Mixture of members of any family.

use faer::{MatMut, MatRef};
use mcsa_core::{
    Error, Family, Parametric, Stream, all_finite, at_least_one, borrow, numeric, positive, same_length,
};

use crate::MomentMatched;

/// Mixture `q(z) = sum_k w_k q_k(z)` of `components` members of one family, with learned weights.
///
/// ```text
/// w = softmax(a),   r_k(z) = w_k q_k(z) / q(z)
/// d/da_k log q = r_k - w_k,   d/dlambda_k log q = r_k d/dlambda_k log q_k(z)
/// ```
/// Packing: `[a; lambda_1; ..; lambda_K]`. A draw chooses a component, and is not a smooth function of lambda, so the mixture is not
/// reparameterised. Components with equal parameters have equal scores for ever: begin them apart.
///
/// ```
/// use mcsa_core::Family;
/// use mcsa_families::{FullRank, Mixture};
/// let q = Mixture::new(FullRank::new(1), 2)?;
/// let part = |mean: f64| q.component().at(&[mean], faer::mat![[1.0]].as_ref());
/// let params = q.at(&[0.25, 0.75], &[part(-5.0)?, part(5.0)?])?;
/// let mut work = vec![0.0; mcsa_core::Parametric::work_len(&q, 1)];
/// let log_ratio = q.log_prob(&params, &[5.0], &mut work) - q.log_prob(&params, &[-5.0], &mut work);
/// assert!((log_ratio - 3.0_f64.ln()).abs() < 1e-9);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mixture<F> {
    component: F,
    components: usize,
}

impl<F: Parametric> Mixture<F> {
    /// Mixture of `components` members of the family `component`.
    ///
    /// # Errors
    /// If `components` is zero.
    pub fn new(component: F, components: usize) -> Result<Self, Error> {
        at_least_one("components", components).map(|()| Self { component, components })
    }

    /// The family of a component.
    pub const fn component(&self) -> &F {
        &self.component
    }

    /// The number of components.
    pub const fn components(&self) -> usize {
        self.components
    }

    /// Parameters with these weights, which need not sum to one, and these parameters of the components.
    ///
    /// # Errors
    /// If a number of components differs, a weight is not positive and finite, or parameters fail the `check` of a component.
    pub fn at(&self, weights: &[f64], parts: &[Vec<f64>]) -> Result<Vec<f64>, Error> {
        same_length("weights", self.components, weights.len())?;
        same_length("components", self.components, parts.len())?;
        weights.iter().try_for_each(|&weight| positive("weight", weight))?;
        let logits = weights.iter().map(|weight| weight.ln());
        let params: Vec<f64> = logits.chain(parts.iter().flatten().copied()).collect();
        self.check(&params)?;
        Ok(params)
    }

    /// The weights, which sum to one.
    pub fn weights(&self, params: &[f64]) -> Vec<f64> {
        let logits = &params[..self.components];
        let softmax = Softmax::of(logits);
        logits.iter().map(|logit| softmax.log(*logit).exp()).collect()
    }

    /// The parameters of component `k`.
    pub fn part<'a>(&self, params: &'a [f64], k: usize) -> &'a [f64] {
        let each = self.component.num_params();
        &params[self.components + k * each..][..each]
    }

    fn part_mut<'a>(&self, params: &'a mut [f64], k: usize) -> &'a mut [f64] {
        let each = self.component.num_params();
        &mut params[self.components + k * each..][..each]
    }
}

impl<F: Family> Mixture<F> {
    /// Writes `log w_k + log q_k(z_j)` to `parts`, component by component, and `log q(z_j)` to `log_q`.
    fn log_parts(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        parts: &mut [f64],
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        let columns = z.ncols();
        let [sums, ratios] = [(); 2].map(|()| borrow(&mut work, columns));
        let softmax = Softmax::of(&params[..self.components]);
        log_q.fill(f64::NEG_INFINITY);
        for k in 0..self.components {
            let part = &mut parts[k * columns..][..columns];
            self.component.log_probs(self.part(params, k), z, part, work);
            let log_weight = softmax.log(params[k]);
            for (part, log_q) in part.iter_mut().zip(&mut *log_q) {
                *part += log_weight;
                // A NaN stays.
                *log_q = if part.is_nan() { *part } else { log_q.max(*part) };
            }
        }
        sums.fill(0.0);
        for part in parts.chunks_exact(columns.max(1)) {
            for ((ratio, part), top) in ratios.iter_mut().zip(part).zip(&*log_q) {
                *ratio = part - top;
            }
            numeric::exp(ratios);
            sums.iter_mut().zip(&*ratios).for_each(|(sum, ratio)| *sum += ratio);
        }
        numeric::ln(sums);
        for (log_q, log_sum) in log_q.iter_mut().zip(sums) {
            // Where q is zero or NaN it stays so.
            *log_q += if log_q.is_finite() { *log_sum } else { 0.0 };
        }
    }

    /// Replaces log parts by responsibilities times the weight of the column, `weights[j] r_k(z_j)`; zero where q is zero or NaN.
    fn shares(&self, parts: &mut [f64], log_q: &[f64], weights: &[f64]) {
        for part in parts.chunks_exact_mut(log_q.len().max(1)) {
            part.iter_mut().zip(log_q).for_each(|(part, log_q)| *part -= log_q);
            numeric::exp(part);
            for ((part, log_q), weight) in part.iter_mut().zip(log_q).zip(weights) {
                *part = if log_q.is_finite() { weight * *part } else { 0.0 };
            }
        }
    }
}

impl<F: Parametric> Parametric for Mixture<F> {
    fn config(&self) -> String {
        format!("Mixture {{ component: {}, components: {} }}", self.component.config(), self.components)
    }

    fn dim(&self) -> usize {
        self.component.dim()
    }

    fn num_params(&self) -> usize {
        self.components * (1 + self.component.num_params())
    }

    fn work_len(&self, columns: usize) -> usize {
        (self.components + 3) * columns + self.components + self.component.work_len(columns.max(1))
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", &params[..self.components])?;
        (0..self.components).try_for_each(|k| {
            self.component.check(self.part(params, k)).map_err(|error| error.within(format!("component {k}")))
        })
    }
}

impl<F: Family> Family for Mixture<F> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!(z.ncols(), log_q.len(), "a density per column");
        let parts = borrow(&mut work, self.components * z.ncols());
        self.log_parts(params, z, parts, log_q, work);
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        let columns = z.ncols();
        assert_eq!(columns, log_q.len(), "a density per column");
        if columns == 0 {
            return;
        }
        assert!(columns.is_multiple_of(lanes.len()), "lanes divide the columns");
        let per_lane = columns / lanes.len();
        for j in 0..columns {
            let lane = &mut lanes[j / per_lane..][..1];
            // Logits are finite, so there is a choice.
            let part = self.part(params, lane[0].choose(&params[..self.components]).unwrap_or(0));
            let column = z.as_mut().subcols_mut(j, 1);
            self.component.sample_into(part, lane, column, &mut log_q[j..=j], work);
        }
        let parts = borrow(&mut work, self.components * columns);
        self.log_parts(params, z.as_ref(), parts, log_q, work);
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!(z.ncols(), weights.len(), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let parts = borrow(&mut work, self.components * z.ncols());
        let log_q = borrow(&mut work, z.ncols());
        self.log_parts(params, z, parts, log_q, work);
        self.shares(parts, log_q, weights);
        let softmax = Softmax::of(&params[..self.components]);
        for k in 0..self.components {
            let shares = &parts[k * z.ncols()..][..z.ncols()];
            let weight_k = softmax.log(params[k]).exp();
            for ((share, weight), log_q) in shares.iter().zip(weights).zip(&*log_q) {
                // Where q is zero or NaN the score is zero.
                gradient[k] += if log_q.is_finite() { share - weight * weight_k } else { 0.0 };
            }
            self.component.add_scores(self.part(params, k), z, shares, self.part_mut(gradient, k), work);
        }
    }
}

/// Online EM on the responsibilities r (Cappe & Moulines 2009), with the step of the component's own family.
///
/// ```text
/// R_k = sum_j weight_j r_k(z_j),   w_k' = (1 - gain) w_k + gain R_k
/// component k: gain_k = gain R_k / w_k',   weights r_k(z_j) weight_j / R_k
/// ```
/// A component that no point belongs to keeps its parameters and loses weight, down to `0.001 / K`: some proposals are still drawn from
/// it, and it can return.
impl<F: MomentMatched> MomentMatched for Mixture<F> {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        mut work: &mut [f64],
    ) -> bool {
        let columns = points.ncols();
        let parts = borrow(&mut work, self.components * columns);
        let log_q = borrow(&mut work, columns);
        self.log_parts(params, points, parts, log_q, work);
        self.shares(parts, log_q, weights);
        let softmax = Softmax::of(&params[..self.components]);
        for k in 0..self.components {
            let shares = &mut parts[k * columns..][..columns];
            let share: f64 = shares.iter().sum();
            let weight = ((1.0 - gain) * softmax.log(params[k]).exp() + gain * share)
                .max(LEAST / self.components as f64);
            matched[k] = weight.ln();
            let part = self.part(params, k);
            let moved = self.part_mut(matched, k);
            let step = (gain * share / weight).min(1.0);
            if share > 0.0 && step > 0.0 {
                shares.iter_mut().for_each(|of| *of /= share);
                if self.component.match_moments(part, step, points, shares, moved, work) {
                    continue;
                }
            }
            moved.copy_from_slice(part);
        }
        matched.iter().all(|param| param.is_finite())
    }
}

/// Least weight of a component after a step, times the number of components.
const LEAST: f64 = 1e-3;

/// Log softmax of finite logits.
///
/// Numerics: the largest logit is subtracted before the logarithm of the sum, so that logits of any size
/// give probabilities.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Softmax {
    top: f64,
    log_total: f64,
}

impl Softmax {
    pub(crate) fn of(logits: &[f64]) -> Self {
        let top = logits.iter().fold(f64::NEG_INFINITY, |top, &x| top.max(x));
        Self { top, log_total: logits.iter().map(|x| (x - top).exp()).sum::<f64>().ln() }
    }

    /// Log probability of an outcome with this logit.
    pub(crate) fn log(self, logit: f64) -> f64 {
        (logit - self.top) - self.log_total
    }
}
