//! Evaluations per step (pMCSA, Tab. 2; MCMC-SE, Tab. 1; CW, Tab. 1).

use super::Sheet;
use crate::catalog::Method;
use crate::evidence::{Evidence, Series};
use crate::look;

/// Costs of a step of a method, minimal and as printed: evaluations of p, evaluations of q, draws, gradients of p, scores.
pub(crate) struct Least {
    /// Minimal cost, if the densities of p at the chains are cached and those of q at its own draws are free.
    pub(crate) least: [f64; 5],
    /// Cost printed in pMCSA and MCMC-SE, where N counts all candidates.
    pub(crate) printed: Option<[f64; 5]>,
    /// Cost printed in CW.
    pub(crate) printed_by_cw: Option<[f64; 5]>,
}

impl Least {
    pub(crate) fn of(method: &Method) -> Self {
        let n = method.budget() as f64;
        let (least, printed, by_cw) = match *method {
            Method::Pmcsa { .. } => {
                ([n, 2.0 * n, n, 0.0, n], Some([n, 2.0 * n, n, 0.0, n]), Some([n, n, n, 0.0, n]))
            }
            Method::Jsa { .. } => {
                ([n, n + 1.0, n, 0.0, n], Some([n, n + 1.0, n, 0.0, n]), Some([n, n, n, 0.0, n]))
            }
            // Printed is (N - 1, N, N - 1) for N candidates, which is this row for N - 1 fresh ones.
            Method::Msc { .. } => {
                let row = [n, n + 1.0, n, 0.0, 1.0];
                (row, Some(row), Some(row))
            }
            Method::MscRb { .. } => {
                let row = [n, n + 1.0, n, 0.0, n + 1.0];
                (row, Some(row), Some(row))
            }
            Method::Elbo { .. } => {
                let row = [0.0, 0.0, n, n, n];
                (row, Some(row), Some([0.0, 0.0, n, n, 0.0]))
            }
            Method::Stl { .. } => ([0.0, 0.0, n, n, n], Some([0.0, 0.0, n, n, n]), None),
            // Five importance steps, then one along the score at the state of a Hamiltonian chain: six steps.
            Method::Rws { leapfrog, .. } => {
                let [wake, chain] = [5.0 / 6.0, 1.0 / 6.0];
                let slopes = chain * hamiltonian(leapfrog);
                ([wake * n, wake * n, wake * n, slopes, wake * n + chain], None, None)
            }
            Method::Hmc { leapfrog, transitions, .. } => {
                ([0.0, 0.0, 0.0, transitions as f64 * hamiltonian(leapfrog), 1.0], None, None)
            }
            _ => ([n, n, n, 0.0, n], None, None),
        };
        Self { least, printed, printed_by_cw: by_cw }
    }
}

/// Gradients of a transition with `leapfrog` steps: one at each state of the path.
fn hamiltonian(leapfrog: usize) -> f64 {
    (leapfrog + 1) as f64
}

/// Counted evaluations per step; NaN if nothing was counted.
pub(crate) fn counted(series: &Series<'_>) -> [f64; 5] {
    let count = |name: &str| {
        let each = series.outcomes.iter().map(|outcome| {
            let steps = outcome.rows.last().map_or(0, |row| row.step);
            outcome.ended.counts.get(name).map_or(f64::NAN, |count| *count as f64 / steps as f64)
        });
        each.sum::<f64>() / series.outcomes.len() as f64
    };
    let draws = count("q_draws");
    // The ELBO draws noise without evaluating a density.
    let with_draws =
        if matches!(series.method(), Method::Elbo { .. } | Method::Stl { .. }) { 0.0 } else { draws };
    [
        count("p_evaluations"),
        count("q_evaluations") + with_draws,
        draws,
        count("p_gradients"),
        count("q_scores"),
    ]
}

/// A row for each method: counted values, and the printed one where it differs.
pub fn cost(evidence: &Evidence) -> Vec<Sheet> {
    let row = |series: &Series<'_>| {
        let method = series.method();
        let (row, counted) = (Least::of(method), counted(series));
        let mut cells = vec![look::name(method.kind()).to_owned(), counting(method)];
        for (k, count) in counted.into_iter().enumerate() {
            let mut cell = words(count);
            let papers = [("pMCSA, MCMC-SE", row.printed), ("CW", row.printed_by_cw)];
            for (paper, cells) in papers {
                let other = cells.map(|cells| cells[k]).filter(|other| (count - other).abs() > 0.01);
                if let Some(other) = other {
                    cell.push_str(&format!(" ({paper}: {})", words(other)));
                }
            }
            cells.push(cell);
        }
        cells
    };
    let head = ["Method", "N", "p", "q", "draws", "gradients of p", "scores"];
    vec![Sheet {
        name: "cost",
        title: "Evaluations per step".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: evidence.series().iter().map(row).collect(),
        note: "Counted in fits. In brackets: a table that has another number.".to_owned(),
    }]
}

/// Description of the budget.
fn counting(method: &Method) -> String {
    match *method {
        Method::Msc { fresh } | Method::MscRb { fresh } => format!("{fresh} fresh, {} in all", fresh + 1),
        Method::Hmc { leapfrog, .. } => format!("{leapfrog} leapfrog steps"),
        _ => method.budget().to_string(),
    }
}

/// At most two decimals.
fn words(value: f64) -> String {
    if value.is_nan() { "–".to_owned() } else { format!("{}", (100.0 * value).round() / 100.0) }
}
