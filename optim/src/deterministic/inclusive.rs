//! Ground truth for fits: the minimiser of the inclusive divergence by quadrature.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Error, Family, all_finite, positive, same_length};

use super::{Lbfgs, Maximum};
use crate::rules::not_negative;

/// Quadrature rule of a distribution: nodes and weights, such as an even grid with its densities (the trapezoidal rule, very accurate
/// for a smooth density that vanishes before the grid ends), or exact draws with equal weights.
///
/// ```
/// use mcsa_optim::deterministic::Quadrature;
/// let nodes = faer::Mat::from_fn(1, 2001, |_, j| 0.01 * j as f64 - 10.0);
/// let densities: Vec<f64> = (0..2001).map(|j| (-0.5 * (nodes[(0, j)] - 1.0).powi(2)).exp()).collect();
/// let normal = Quadrature::new(nodes.as_ref(), &densities)?;
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
        weights.iter().try_for_each(|&weight| not_negative("weight", weight)).map_err(within)?;
        for j in 0..nodes.ncols() {
            all_finite("node", nodes.column(j)).map_err(within)?;
        }
        let total: f64 = weights.iter().sum();
        positive("sum of weights", total).map_err(within)?;
        // Nodes of weight zero are dropped: log q may be -inf there, and 0 times -inf is NaN.
        let kept: Vec<usize> = (0..weights.len()).filter(|j| weights[*j] > 0.0).collect();
        let nodes = Mat::from_fn(nodes.nrows(), kept.len(), |i, j| nodes[(i, kept[j])]);
        Ok(Self { nodes, weights: kept.iter().map(|j| weights[*j] / total).collect() })
    }

    /// The expectation of `f`.
    pub fn mean(&self, mut f: impl FnMut(&[f64]) -> f64) -> f64 {
        self.weights.iter().enumerate().map(|(j, weight)| weight * f(self.nodes.as_ref().column(j))).sum()
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
    same_length("nodes", family.dim(), p.nodes.nrows()).map_err(within)?;
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
