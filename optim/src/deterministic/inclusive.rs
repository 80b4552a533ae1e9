//! Ground truth for fits: the minimiser of the inclusive divergence by quadrature, and the supremum of the importance weight.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Family, Gradient, all_finite, same_length};

use super::laplace::difference_width;
use super::{Lbfgs, Maximum, Outcome};

/// Quadrature rule of a distribution: nodes and weights, from a grid with its densities or from exact draws.
///
/// ```
/// use mcsa_optim::deterministic::Quadrature;
/// let nodes = faer::Mat::from_fn(1, 2001, |_, j| 0.01 * j as f64 - 10.0);
/// let log_p: Vec<f64> = (0..2001).map(|j| -0.5 * (nodes[(0, j)] - 1.0).powi(2)).collect();
/// let normal = Quadrature::on_grid(nodes.as_ref(), &log_p)?;
/// assert!((normal.mean(|z| z[0]) - 1.0).abs() < 1e-12);
/// assert!((normal.mean(|z| z[0] * z[0]) - 2.0).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Quadrature {
    nodes: Mat<f64>,
    weights: Vec<f64>,
}

impl Quadrature {
    /// Quadrature with `nodes`, one per column, and `weights`, which are divided by their sum.
    ///
    /// # Errors
    /// If the numbers of nodes and weights differ, a node is not finite, a weight is negative or not finite, or all are zero.
    pub fn new(nodes: MatRef<'_, f64>, weights: &[f64]) -> Result<Self, Error> {
        let within = |error: Error| error.within("Quadrature");
        same_length("weights", nodes.ncols(), weights.len()).map_err(within)?;
        if let Some(weight) = weights.iter().find(|weight| !(**weight >= 0.0 && weight.is_finite())) {
            return Err(within(Error::parameter("weight", *weight, "at least 0 and finite")));
        }
        for j in 0..nodes.ncols() {
            all_finite("node", nodes.column(j)).map_err(within)?;
        }
        let total: f64 = weights.iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(within(Error::parameter("sum of weights", total, "positive and finite")));
        }
        // Nodes of weight zero are dropped: log q may be -inf there, and 0 times -inf is NaN.
        let kept: Vec<usize> = (0..weights.len()).filter(|j| weights[*j] > 0.0).collect();
        let nodes = Mat::from_fn(nodes.nrows(), kept.len(), |i, j| nodes[(i, kept[j])]);
        Ok(Self { nodes, weights: kept.iter().map(|j| weights[*j] / total).collect() })
    }

    /// Trapezoidal rule: equally spaced nodes with weights proportional to `exp(log_p)`.
    ///
    /// It is very accurate for a smooth density that vanishes before the grid ends (Trefethen & Weideman 2014).
    ///
    /// # Errors
    /// If [`new`](Self::new) fails; or if a log density is NaN or `+inf`, or all are `-inf`.
    pub fn on_grid(nodes: MatRef<'_, f64>, log_p: &[f64]) -> Result<Self, Error> {
        let highest = log_p.iter().fold(f64::NEG_INFINITY, |highest, log_p| highest.max(*log_p));
        let weights: Vec<f64> = log_p.iter().map(|log_p| (log_p - highest).exp()).collect();
        Self::new(nodes, &weights)
    }

    /// The expectation of `f`.
    pub fn mean(&self, mut f: impl FnMut(&[f64]) -> f64) -> f64 {
        self.weights.iter().enumerate().map(|(j, weight)| weight * f(self.nodes.as_ref().column(j))).sum()
    }

    /// The dimension of the nodes.
    pub fn dim(&self) -> usize {
        self.nodes.nrows()
    }
}

/// Minimiser of the inclusive divergence within a family, for ground truth.
///
/// ```text
/// argmin_lambda KL(p || q_lambda) = argmax_lambda E_p[log q_lambda(z)],   E_p by quadrature, its gradient by the score
/// ```
/// The value of the [`Maximum`] is `E_p[log q_lambda]`, so the divergence at the optimum is `E_p[log p]` minus this value. A lambda
/// for which [`check`](mcsa_core::Parametric::check) fails counts as `-inf`. In families with several lambdas for one density
/// (mixtures), the peak is one of several optima.
///
/// # Errors
/// If family and quadrature differ in dimension, the family refuses the start, or [`Lbfgs::maximise`] fails.
///
/// ```
/// use mcsa_families::MeanField;
/// use mcsa_optim::deterministic::{Lbfgs, Quadrature, inclusive_optimum};
/// let draws = faer::mat![[1.0, 2.0, 6.0]];
/// let p = Quadrature::new(draws.as_ref(), &[1.0; 3])?;
/// let q = MeanField::new(1);
/// let peak = inclusive_optimum(&Lbfgs::default(), &p, &q, &[0.0, 0.0])?.converged()?;
/// assert!((peak.point[0] - 3.0).abs() < 1e-5);
/// assert!((q.link.scale(peak.point[1]) - (14.0_f64 / 3.0).sqrt()).abs() < 1e-5);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub fn inclusive_optimum<F: Family + ?Sized>(
    lbfgs: &Lbfgs,
    p: &Quadrature,
    family: &F,
    start: &[f64],
) -> Result<Maximum, Error> {
    let within = |error: Error| error.within("inclusive_optimum");
    same_length("nodes", family.dim(), p.dim()).map_err(within)?;
    family.check(start).map_err(within)?;
    let nodes = p.nodes.as_ref();
    let mut log_q = vec![0.0; p.weights.len()];
    let mut work = vec![0.0; family.work_len(p.weights.len())];
    let objective = |params: &[f64], gradient: &mut [f64]| {
        if family.check(params).is_err() {
            return f64::NEG_INFINITY;
        }
        family.log_probs(params, nodes, &mut log_q, &mut work);
        family.add_scores(params, nodes, &p.weights, gradient, &mut work);
        p.weights.iter().zip(&log_q).map(|(weight, log_q)| weight * log_q).sum()
    };
    lbfgs.maximise(objective, start).map_err(within)
}

/// Result of maximisations of the log weight from several starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Supremum {
    /// The largest log weight found: a lower bound of the supremum, and equal to it if a start was in the basin of the global
    /// maximum.
    pub value: f64,
    /// The point with this log weight.
    pub point: Vec<f64>,
    /// The outcome of the maximisation that found the point; [`Unbounded`](Outcome::Unbounded) if any maximisation found no
    /// maximum.
    pub outcome: Outcome,
    /// The number of maximisations that ended within `1e-6` of the value. One out of many suggests that there are basins not found.
    pub agreeing: usize,
    /// The number of maximisations: of starts with a finite weight.
    pub climbs: usize,
}

/// Supremum of the log weight, `log w* = sup_z (log p(z) - log q_lambda(z))`, by maximisation from each column of `starts`.
///
/// With an unnormalised `p` this is `log w* + log Z`. Independent Metropolis-Hastings converges at the rate `1 - 1/w*` (Mengersen &
/// Tweedie 1996); if q has lighter tails than p, `w*` is infinite, and the outcome is [`Unbounded`](Outcome::Unbounded). If the
/// ratio tends to its supremum only at infinity, the maximisation ends where the gradient norm is at most the tolerance. Several
/// starts do not prove that a maximum is global; take them from p and from q.
///
/// The gradient of `log q` in z is taken by central differences, in one batch of `2 d + 1` columns per evaluation.
///
/// # Errors
/// If dimensions differ, the family refuses lambda, or no start has a finite weight.
///
/// ```
/// use mcsa_families::MeanField;
/// use mcsa_models::Gaussian;
/// use mcsa_optim::deterministic::{Lbfgs, log_weight_supremum};
/// let (p, q) = (Gaussian::standard(1), MeanField::new(1));
/// let starts = faer::mat![[-3.0, 2.0]];
/// let highest = log_weight_supremum(&Lbfgs::default(), &p, &q, &q.at(&[0.0], &[2.0])?, starts.as_ref())?;
/// assert!((highest.value - 2.0_f64.ln()).abs() < 1e-9 && highest.agreeing == 2); // scales 1 and 2
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub fn log_weight_supremum<P, F>(
    lbfgs: &Lbfgs,
    target: &P,
    family: &F,
    params: &[f64],
    starts: MatRef<'_, f64>,
) -> Result<Supremum, Error>
where
    P: Gradient + ?Sized,
    F: Family + ?Sized,
{
    let within = |error: Error| error.within("log_weight_supremum");
    let dim = target.dim();
    same_length("family's points", dim, family.dim()).map_err(within)?;
    same_length("starts", dim, starts.nrows()).map_err(within)?;
    family.check(params).map_err(within)?;
    let columns = 2 * dim + 1;
    let mut batch = Mat::zeros(dim, columns);
    let mut log_q = vec![0.0; columns];
    let mut work = vec![0.0; target.work_len(1)];
    let mut family_work = vec![0.0; family.work_len(columns)];
    let mut log_weight = |z: &[f64], gradient: &mut [f64]| {
        for j in 0..columns {
            batch.as_mut().column_mut(j).copy_from_slice(z);
        }
        for (k, x) in z.iter().enumerate() {
            let width = difference_width(*x);
            batch[(k, 2 * k)] += width;
            batch[(k, 2 * k + 1)] -= width;
        }
        family.log_probs(params, batch.as_ref(), &mut log_q, &mut family_work);
        let log_p = target.gradient_into(z, gradient, &mut work);
        for (k, g) in gradient.iter_mut().enumerate() {
            *g -= (log_q[2 * k] - log_q[2 * k + 1]) / (batch[(k, 2 * k)] - batch[(k, 2 * k + 1)]);
        }
        log_p - log_q[2 * dim]
    };
    let mut peaks = Vec::new();
    let mut is_unbounded = false;
    for j in 0..starts.ncols() {
        // A start outside the support is skipped; the other starts are used.
        if let Ok(peak) = lbfgs.maximise(&mut log_weight, starts.column(j)) {
            is_unbounded |= peak.outcome == Outcome::Unbounded;
            peaks.push(peak);
        }
    }
    let climbs = peaks.len();
    let agreeing = |value: f64| peaks.iter().filter(|peak| value - peak.value < 1e-6).count();
    let highest = peaks.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let highest = highest.ok_or_else(|| within(Error::invalid("no start has a finite weight")))?;
    Ok(Supremum {
        value: highest.value,
        point: highest.point.clone(),
        outcome: if is_unbounded { Outcome::Unbounded } else { highest.outcome },
        agreeing: agreeing(highest.value),
        climbs,
    })
}
