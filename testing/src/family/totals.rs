//! Integrals of a density and its score, by quadrature on the line and in the plane.

use faer::Mat;
use mcsa_core::Family;
use mcsa_core::numeric::quadrature::{Axis, refine};

use super::Case;

/// Integrals against `q`, and their change at the last halving of the step.
pub(super) struct Totals {
    pub(super) mass: f64,
    pub(super) surprise: f64,
    pub(super) score: Vec<f64>,
    pub(super) change: f64,
}

/// Mass, mean of `-log q` and mean score under `q` in dimension one or two; `None` in other dimensions.
///
/// The step is halved until no integral changes by more than 1e-11 of its size, at most to 1/512 (1-D) or 1/64 (2-D; with knots
/// 1/32).
pub(super) fn totals<F: Family>(case: &Case<F>) -> Option<Totals> {
    let dim = case.family.dim();
    let finest = match dim {
        1 => 512.0,
        2 if case.knots.is_some() => 32.0,
        2 => 64.0,
        _ => return None,
    };
    let lines = case.spreads();
    let rule = |step: f64| at_step(case, &lines, step);
    let settled = |now: &[f64], change: f64| change <= 1e-11 * (1.0 + now[1].abs());
    let (mut all, change) = refine(0.125, 1.0 / finest, rule, settled);
    let score = all.split_off(2);
    Some(Totals { mass: all[0], surprise: all[1], score, change })
}

/// Mass, mean of `-log q` and mean score.
fn at_step<F: Family>(case: &Case<F>, lines: &[(f64, f64)], step: f64) -> Vec<f64> {
    let (family, params) = (&case.family, &case.params);
    let centre: Vec<f64> = lines.iter().map(|line| line.0).collect();
    let axis = |i: usize, z: &[f64]| {
        let (centre, width) = lines[i];
        Axis::pieces(case.map, centre, width, case.knots_at(z, i)).nodes(step)
    };
    let (mut mass, mut surprise, mut score) = (0.0, 0.0, vec![0.0; family.num_params()]);
    let outer = if lines.len() > 1 { axis(1, &centre) } else { vec![(0.0, 0.0)] };
    let (mut first, mut work, mut log_q, mut z) = (Vec::new(), Vec::new(), Vec::new(), Mat::zeros(0, 0));
    let mut weights = Vec::new();
    for (k, &(y, log_y)) in outer.iter().enumerate() {
        if k == 0 || case.knots.is_some() {
            first = axis(0, &[centre[0], y][..lines.len()]);
            work = case.work(first.len());
            log_q = vec![0.0; first.len()];
            z = Mat::zeros(family.dim(), first.len());
        }
        for (j, &(x, _)) in first.iter().enumerate() {
            z.col_as_slice_mut(j).iter_mut().zip([x, y]).for_each(|(z, value)| *z = value);
        }
        family.log_probs(params, z.as_ref(), &mut log_q, &mut work);
        weights.clear();
        for j in 0..first.len() {
            let weight = (log_q[j] + first[j].1 + log_y).exp();
            // The score of a point of zero weight may have overflowed: such points are left out.
            if weight != 0.0 {
                mass += weight;
                surprise -= weight * log_q[j];
                let k = weights.len();
                let (x, y) = (z[(0, j)], y);
                z.col_as_slice_mut(k).iter_mut().zip([x, y]).for_each(|(z, value)| *z = value);
                weights.push(weight);
            }
        }
        let kept = z.as_ref().subcols(0, weights.len());
        family.add_scores(params, kept, &weights, &mut score, &mut work);
    }
    score.splice(0..0, [mass, surprise]);
    score
}
