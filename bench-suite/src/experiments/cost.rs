//! Evaluations per step (pMCSA, Tab. 2; MCMC-SE, Tab. 1; CW, Tab. 1).

use crate::catalog::Method;
use crate::claims::{Check, Finding, greatest};
use crate::look;
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Costs of a step of a method, minimal and as printed: evaluations of p, evaluations of q, draws, gradients of p, scores.
struct Least {
    /// Minimal cost, if the densities of p at the chains are cached and those of q at its own draws are free.
    least: [f64; 5],
    /// Cost printed in pMCSA and MCMC-SE, where N counts all candidates.
    printed: Option<[f64; 5]>,
    /// Cost printed in CW.
    printed_by_cw: Option<[f64; 5]>,
}

impl Least {
    fn of(method: &Method) -> Self {
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
fn counted(series: &Series<'_>) -> [f64; 5] {
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
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
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
        name: "cost".to_owned(),
        title: "Evaluations per step".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: results.series().iter().map(row).collect(),
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

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] = [
    ("nothing_is_wasted", |results| {
        farthest(results, |row| Some(row.least), |off| off, "evaluations above the least, at most")
    }),
    ("as_printed", |results| farthest(results, |row| row.printed, f64::abs, FARTHEST)),
    ("as_printed_by_cw", |results| farthest(results, |row| row.printed_by_cw, f64::abs, FARTHEST)),
];

const FARTHEST: &str = "largest difference from a printed cell";

/// Largest difference between counted evaluations and a table, over all methods in the table.
fn farthest(
    results: &Results,
    of: fn(&Least) -> Option<[f64; 5]>,
    size: fn(f64) -> f64,
    what: &str,
) -> Finding {
    let mut off = Vec::new();
    for series in results.series() {
        let row = Least::of(series.method());
        if let Some(expected) = of(&row) {
            off.extend(
                counted(&series).into_iter().zip(expected).map(|(found, expected)| size(found - expected)),
            );
        }
    }
    Finding::at_most(greatest(off), 0.01, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests as synthetic;
    use crate::experiment::PresetName;

    /// Verdicts for `times` the minimal number of evaluations in every step.
    fn verdicts(times: f64) -> Vec<Verdict> {
        let mut results = synthetic::results("pmcsa/tab-cost", PresetName::Quick, |_, _, _| Vec::new());
        for outcome in results.outcomes.iter_mut().filter(|_| times > 0.0) {
            let [p, q, draws, gradients, scores] = Least::of(outcome.job.task.method()).least;
            let is_noise = matches!(outcome.job.task.method().kind(), "elbo" | "stl");
            let q = if is_noise { q } else { q - draws };
            let names = ["p_evaluations", "q_evaluations", "q_draws", "p_gradients", "q_scores"];
            let counts = names.into_iter().zip([p, q, draws, gradients, scores]);
            outcome.ended.counts =
                counts.map(|(name, count)| (name.to_owned(), (1e4 * times * count).round() as u64)).collect();
        }
        synthetic::verdicts(&results)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(verdicts(1.0), [Agree, Agree, Disagree]);
        assert_eq!(verdicts(2.0), [Disagree; 3]);
        assert_eq!(verdicts(0.0), [TooLittle; 3]);
    }
}
