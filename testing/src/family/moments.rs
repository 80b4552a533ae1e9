//! Laws of expectations, by quadrature in dimension one and two.

use mcsa_core::{Family, Reparameterised};

use super::{Case, Failure, draws, totals};
use crate::law::near;

const TOLERANCE: f64 = 1e-9;

/// `int q = 1`, in dimension one and two. In other dimensions the law holds without a test.
///
/// # Errors
/// If the integral differs; the failure names it.
pub fn density_integrates_to_one<F: Family>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "density_integrates_to_one";
    let Some(totals) = totals::totals(case) else { return Ok(()) };
    let place = || format!("mass, changing by {:.0e} at the last halving", totals.change);
    near(LAW, place, totals.mass, 1.0, TOLERANCE)
}

/// `E_q[d/dlambda log q] = 0`, in dimension one and two. In other dimensions the law holds without a test.
///
/// The tolerance is 1e-9, times the root of `E |score|^2` over draws if that exceeds one.
///
/// # Errors
/// If a mean differs from zero; the failure names the first such parameter.
pub fn scores_have_mean_zero<F: Family>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "scores_have_mean_zero";
    let Some(totals) = totals::totals(case) else { return Ok(()) };
    let scores = case.scores(case.points(64).as_ref());
    let size: f64 = scores.iter().flatten().map(|s| s * s).sum::<f64>() / scores.len() as f64;
    for (k, &mean) in totals.score.iter().enumerate() {
        let place = || format!("param {k}, changing by {:.0e} at the last halving", totals.change);
        near(LAW, place, mean, 0.0, TOLERANCE * size.sqrt().max(1.0))?;
    }
    Ok(())
}

/// `entropy = -E_q[log q]`: by quadrature in dimension one and two, and in every dimension by the mean over
/// 4096 draws, within 6 standard errors (false alarm 2e-9).
///
/// # Errors
/// If the entropy differs; the failure names both numbers.
pub fn entropy_is_mean_surprise<F: Reparameterised>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "entropy_is_mean_surprise";
    let entropy = case.family.entropy(&case.params, &mut case.work(1));
    if let Some(totals) = totals::totals(case) {
        near(LAW, || "by quadrature".into(), entropy, totals.surprise, TOLERANCE * (1.0 + entropy.abs()))?;
    }
    let (_, log_q) = case.draw(4096, &mut case.stream("entropy"));
    let surprise: Vec<f64> = log_q.iter().map(|log_q| -log_q).collect();
    let (mean, error) = draws::mean(&surprise);
    near(LAW, || "over draws".into(), entropy, mean, 6.0 * error + TOLERANCE * (1.0 + entropy.abs()))
}
