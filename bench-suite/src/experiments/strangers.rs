//! Posteriors that others wrote: how often the verdict of `mcsa::fit`, and nutpie's diagnostics, were right. `bench-suite/strangers`
//! runs them by Python; here are tables of the stored rows.

use serde::Deserialize;

use crate::published::rows;
use crate::results::Results;
use crate::store::Number;
use crate::tables::{Table, distinct, or_dash};

const ROWS: &str = include_str!("../../strangers/rows.csv");

/// A run of a method on a posterior; the other columns of the file are for reading.
#[derive(Deserialize)]
struct Run {
    source: String,
    posterior: String,
    /// Number of unconstrained parameters; absent for a run without an end.
    dim: Option<u64>,
    /// 1 if settings may be chosen on the posterior.
    trial: u8,
    method: String,
    /// `yes` or `no` by the diagnostics of the method, `crash`, or `over` the limit of time.
    outcome: String,
    /// 1 if every mean is within 0.3 standard deviations and every standard deviation within a factor 1.3; absent without a reference.
    right: Option<u8>,
    mean_error: Option<Number>,
    sd_error: Option<Number>,
    gradients: Option<Number>,
    densities: Option<Number>,
    seconds: Option<Number>,
}

impl Run {
    /// What counts: the word of the method, and whether the answer is right.
    fn kind(&self) -> String {
        let truth = match self.right {
            _ if !["yes", "no"].contains(&self.outcome.as_str()) => return self.outcome.clone(),
            Some(1) => "right",
            Some(_) => "wrong",
            None => "open",
        };
        format!("{}, {truth}", self.outcome)
    }
}

/// Sums by source, half and method; then every run.
pub(super) fn tables(_: &Results) -> Vec<Table> {
    let runs: Vec<Run> = rows("strangers/rows.csv", ROWS).unwrap_or_default();
    let half = |run: &Run| if run.trial == 1 { "trial" } else { "judge" };
    let key = |run: &Run| [run.source.clone(), half(run).into(), run.method.clone()];
    const KINDS: &str =
        "yes, right | yes, wrong | yes, open | no, right | no, wrong | no, open | crash | over";
    let sum = |group: [String; 3]| {
        let here: Vec<String> = runs.iter().filter(|run| key(run) == group).map(Run::kind).collect();
        let count = |kind: &str| here.iter().filter(|found| *found == kind).count().to_string();
        group.into_iter().chain(KINDS.split(" | ").map(count)).collect()
    };
    let mut groups = distinct(runs.iter().map(key));
    groups.sort();
    let number = |x: &Option<Number>, digits: usize| or_dash(x.map(|x| format!("{:.digits$}", x.0)));
    let every = runs.iter().map(|run| {
        let dim = or_dash(run.dim.map(|dim| dim.to_string()));
        let words = [run.posterior.clone(), dim, half(run).into(), run.method.clone(), run.kind()];
        let errors = [number(&run.mean_error, 2), number(&run.sd_error, 2)];
        let costs = [number(&run.gradients, 0), number(&run.densities, 0), number(&run.seconds, 1)];
        words.into_iter().chain(errors).chain(costs).collect()
    });
    let note = "An answer is right if every mean of a reported parameter is within 0.3 standard deviations of the reference and every \
                standard deviation within a factor 1.3; it is open if there is no reference. nutpie's word is yes if every R-hat is below \
                1.01 and no step diverged. Settings may be chosen on the half \"trial\" alone.";
    let columns = "Posterior | d | Half | Method | Verdict and answer | Error of a mean, sd | Factor of an sd | Gradients | Densities | \
                   Seconds";
    vec![
        Table::new(
            "sums",
            "How often",
            &format!("Source | Half | Method | {KINDS}"),
            groups.into_iter().map(sum).collect(),
            note,
        ),
        Table::new(
            "runs",
            "Every run",
            columns,
            every.collect(),
            "Errors are the largest over the reported parameters.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_rows_are_read() {
        let runs: Vec<Run> = rows("strangers/rows.csv", ROWS).unwrap();
        assert!(runs.iter().all(|run| ["yes", "no", "crash", "over"].contains(&run.outcome.as_str())));
        let head = ROWS.lines().next().unwrap();
        let line = "posteriordb,a,3,1,mcsa,1,no,0,inf,1.2,x,,10,0,2.5,,chains,\"a, b\"";
        let run = &rows::<Run>("rows.csv", &format!("{head}\n{line}")).unwrap()[0];
        assert_eq!((run.kind(), run.mean_error), ("no, wrong".into(), Some(Number(f64::INFINITY))));
        assert!(rows::<Run>("rows.csv", &format!("{head}\n{}", line.replace(",inf,", ",far,"))).is_err());
    }
}
