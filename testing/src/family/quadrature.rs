//! Laws of expectations, by quadrature in dimension one and two.

use faer::Mat;
use mcsa_core::numeric::quadrature::{Axis, refine};
use mcsa_core::{Family, Reparameterised};

use super::{Case, Failure};
use crate::law::{mean_and_error, near};

const TOLERANCE: f64 = 1e-9;

/// `int q = 1`, in dimension one and two. In other dimensions the law holds without a test.
pub fn density_integrates_to_one(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    const LAW: &str = "density_integrates_to_one";
    let Some((totals, change)) = totals(case) else { return Ok(()) };
    let place = || format!("mass, changing by {change:.0e} at the last halving");
    near(LAW, place, totals[0], 1.0, TOLERANCE)
}

/// `E_q[d/dlambda log q] = 0`, in dimension one and two. In other dimensions the law holds without a test.
///
/// The tolerance is 1e-9, times the root of `E |score|^2` over draws if that exceeds one.
pub fn scores_have_mean_zero(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    const LAW: &str = "scores_have_mean_zero";
    let Some((totals, change)) = totals(case) else { return Ok(()) };
    let scores = case.scores(case.points(64).as_ref());
    let size: f64 = scores.iter().flatten().map(|s| s * s).sum::<f64>() / scores.len() as f64;
    for (k, &mean) in totals[2..].iter().enumerate() {
        let place = || format!("param {k}, changing by {change:.0e} at the last halving");
        near(LAW, place, mean, 0.0, TOLERANCE * size.sqrt().max(1.0))?;
    }
    Ok(())
}

/// `entropy = -E_q[log q]`: by quadrature in dimension one and two, and in every dimension by the mean over
/// 4096 draws, within 6 standard errors (false alarm 2e-9).
pub fn entropy_is_mean_surprise(case: &Case<dyn Reparameterised + '_>) -> Result<(), Failure> {
    const LAW: &str = "entropy_is_mean_surprise";
    let entropy = case.family.entropy(&case.params, &mut case.work(1));
    if let Some((totals, _)) = totals(case) {
        near(LAW, || "by quadrature".into(), entropy, totals[1], TOLERANCE * (1.0 + entropy.abs()))?;
    }
    let (_, log_q) = case.draw(4096, &mut case.stream("entropy"));
    let surprise: Vec<f64> = log_q.iter().map(|log_q| -log_q).collect();
    let (mean, error) = mean_and_error(&surprise);
    near(LAW, || "over draws".into(), entropy, mean, 6.0 * error + TOLERANCE * (1.0 + entropy.abs()))
}

/// Mass, mean of `-log q` and mean score under `q` in dimension one or two, and their change at the last halving of the step; `None` in
/// other dimensions.
///
/// The step is halved until no integral changes by more than 1e-11 of its size, at most to 1/512 (1-D) or 1/64 (2-D; with knots
/// 1/32).
fn totals(case: &Case<dyn Family + '_>) -> Option<(Vec<f64>, f64)> {
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
    Some(refine(0.125, 1.0 / finest, rule, settled))
}

/// Mass, mean of `-log q` and mean score.
fn at_step(case: &Case<dyn Family + '_>, lines: &[(f64, f64)], step: f64) -> Vec<f64> {
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
