//! Table of runs, verdicts and errors per case.

use crate::interval::binomial;
use crate::results::Results;
use crate::tables::Sheet;

use super::tally::{Class, Rates, Tally, sum, tallies};

/// Witnesses: metric and name.
pub(super) const WITNESSES: [(&str, &str); 10] = [
    ("objects_weights", "weights"),
    ("objects_start", "starts"),
    ("objects_mixing", "mixing"),
    ("objects_moments", "moments"),
    ("objects_missed", "missed"),
    ("objects_tail", "tail"),
    ("objects_gradient", "gradient"),
    ("objects_non_finite", "NaN"),
    ("objects_budget", "budget"),
    ("objects_error", "error"),
];

/// Cases by which constants of the rule were chosen.
fn is_trial(title: &str) -> bool {
    const TRIAL: [&str; 13] = [
        "eight schools",
        "hierarchical logistic: pima",
        "hierarchical logistic: german_credit_numeric",
        "hierarchical logistic: heart_cleveland",
        "two modes around 0: d 5, 8 apart, 30 %",
        "funnel: d 5, scale 3",
        "Student t: d 2, freedom 1",
        "flat: d 2",
        "NaN corner: d 2, 2 beyond 1",
        "wrong gradient: d 3, halved",
        "wrong gradient: d 3, shifted",
        "wrong gradient: d 3, sign",
        "Gaussian: d 10",
    ];
    TRIAL.contains(&title)
}

/// A row for each case, and one for each class.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let all = tallies(results);
    let head = [
        "Target",
        "Class",
        "Starts that reach it",
        "Runs",
        "Yes",
        "No",
        "Wrong",
        "Yes and wrong",
        "No and right",
        "k-hat < 0.7 and wrong",
        "k-hat ≥ 0.7 and right",
        "Objections",
        "Evaluations, median",
    ];
    let mut rows: Vec<Vec<String>> = all.iter().map(row).collect();
    rows.extend(totals(&all));
    vec![Sheet {
        name: "verdicts".to_owned(),
        title: "Verdicts on fits whose answers are known".to_owned(),
        head: head.map(str::to_owned).into(),
        rows,
        note: "Wrong: a mean off by more than 0.3 standard deviations of the posterior, or a standard deviation by more than a factor 1.3; any \
               answer, where the density has no integral or no variance. Hidden: fewer than one start in twenty ends there. Rates with exact \
               90 % intervals."
            .to_owned(),
    }]
}

fn row(tally: &Tally<'_>) -> Vec<String> {
    let title = tally.case.title();
    let class = match tally.class {
        Class::Planted => "planted",
        Class::Hidden => "planted, hidden",
        Class::Good => "good",
    };
    let objections: Vec<String> = WITNESSES
        .iter()
        .map(|(metric, name)| (tally.objections(metric), name))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{name} {count}"))
        .collect();
    vec![
        title.clone(),
        format!("{class}{}", if is_trial(&title) { ", trial" } else { "" }),
        tally.start_share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", 100.0 * share)),
        tally.runs.len().to_string(),
        tally.count(|run| run.yes).to_string(),
        tally.count(|run| !run.yes).to_string(),
        tally.count(|run| run.wrong).to_string(),
        tally.count(|run| run.yes && run.wrong).to_string(),
        tally.count(|run| !run.yes && !run.wrong).to_string(),
        tally.count(|run| run.light && run.wrong).to_string(),
        tally.count(|run| !run.light && !run.wrong).to_string(),
        objections.join(", "),
        format!("{:.0}", tally.median(&["p_evaluations", "p_gradients"])),
    ]
}

/// Rates of all planted failures, all hidden ones, all good targets.
fn totals(all: &[Tally<'_>]) -> Vec<Vec<String>> {
    let rates = sum(all);
    let rate = |count: usize, of: usize| {
        if of == 0 {
            return "–".to_owned();
        }
        let [low, high] = binomial(count, of, 0.9).map(|end| 100.0 * end);
        format!("{count} of {of}: {:.1} % [{low:.1}, {high:.1}]", 100.0 * count as f64 / of as f64)
    };
    let line = |class: Class, name: &str, cells: [String; 4]| {
        let ours = || all.iter().filter(|tally| tally.class == class);
        let count =
            |is_it: fn(&super::tally::Run) -> bool| ours().map(|tally| tally.count(is_it)).sum::<usize>();
        let runs: usize = ours().map(|tally| tally.runs.len()).sum();
        let [false_yes, false_no, light, heavy] = cells;
        let numbers = [runs, count(|run| run.yes), count(|run| !run.yes), count(|run| run.wrong)];
        [
            vec![format!("All: {name}"), String::new(), String::new()],
            numbers.map(|number| number.to_string()).to_vec(),
            vec![false_yes, false_no, light, heavy, String::new(), String::new()],
        ]
        .concat()
    };
    let none = || "–".to_owned();
    let Rates {
        planted,
        false_yes,
        false_light,
        hidden,
        hidden_yes,
        good,
        right,
        false_no,
        false_heavy,
        good_yes,
    } = rates;
    vec![
        line(
            Class::Planted,
            "planted failures that starts can reach",
            [rate(false_yes, planted), none(), rate(false_light, planted), none()],
        ),
        line(Class::Hidden, "hidden ones", [rate(hidden_yes, hidden), none(), none(), none()]),
        line(
            Class::Good,
            "good targets",
            [rate(good_yes, good), rate(false_no, right), none(), rate(false_heavy, right)],
        ),
    ]
}
