//! Posteriors that others wrote: how often the verdict of `mcsa::fit`, and nutpie's diagnostics, were right. `bench-suite/strangers`
//! runs them by Python; here are tables of the stored rows.

use serde::Deserialize;

use super::verdict::at_most;
use crate::claims::{Check, Checked, Finding};
use crate::published::rows;
use crate::results::Results;
use crate::store::Number;
use crate::tables::{Table, distinct, in_groups, or_dash};

const ROWS: &str = include_str!("../../strangers/rows.csv");
const OPEN: &str = include_str!("../../strangers/open.csv");

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
    seed: u64,
    /// The rule of the verdict; absent for other methods than the call.
    rule: Option<u32>,
    /// `yes` or `no` by the diagnostics of the method, `crash`, or `over` the limit of time.
    outcome: String,
    /// 1 if every mean is within 0.3 standard deviations and every standard deviation within a factor 1.3; absent without a reference.
    right: Option<u8>,
    mean_error: Option<Number>,
    sd_error: Option<Number>,
    gradients: Option<Number>,
    densities: Option<Number>,
    seconds: Option<Number>,
    /// Objections of the method.
    #[serde(default)]
    reasons: String,
}

/// A posterior whose two long runs gave no reference.
#[derive(Deserialize)]
struct Open {
    posterior: String,
    cause: String,
}

impl Run {
    /// True of a copy with a planted second mode.
    fn is_planted(&self) -> bool {
        self.source.ends_with(", planted")
    }

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

fn stored() -> Result<Vec<Run>, String> {
    rows("strangers/rows.csv", ROWS).map_err(|error| error.to_string())
}

/// The runs of seed 1, which every posterior has.
fn of_one_seed() -> Result<Vec<Run>, String> {
    Ok(stored()?.into_iter().filter(|run| run.seed == 1).collect())
}

/// The runs of the call on each posterior that was run with several seeds.
fn of_several_seeds(runs: &[Run]) -> Vec<([&str; 2], Vec<&Run>)> {
    let ours = runs.iter().filter(|run| run.method == OURS && !run.is_planted());
    let mut groups = in_groups(ours.map(|run| ([run.source.as_str(), run.posterior.as_str()], run)));
    groups.retain(|(_, group)| group.len() > 1);
    groups
}

/// Number of seeds of the claim on the word of the verdict.
const SEEDS: usize = 10;

/// True if the outcomes of some runs differ.
fn differ(group: &[&Run]) -> bool {
    group.iter().any(|run| run.outcome != group[0].outcome)
}

pub(super) const CHECKS: [(&str, Check); 4] = [
    ("same_word", |_| same_word(&stored()?)),
    ("no_answer_on_few", |_| {
        let is_bad = |run: &Run| run.kind() != "yes, right";
        share_is_at_most(0.1, |_| true, is_bad, "no, or wrong, of posteriors with a reference")
    }),
    ("few_wrong_yes", |_| {
        let is_bad = |run: &Run| run.kind() == "yes, wrong";
        share_is_at_most(
            0.03,
            |run| run.outcome == "yes",
            is_bad,
            "wrong, of answers with a yes and a reference",
        )
    }),
    ("yes_where_clean", |_| yes_where_clean(&of_one_seed()?)),
];

/// What the findings rest on.
const EVIDENCE: &str = "one run of each, stored";

/// The claim on the share of bad runs among those of the call, with a gradient, that have a reference and count. Planted copies do not.
fn share_is_at_most(limit: f64, counts: fn(&Run) -> bool, is_bad: fn(&Run) -> bool, what: &str) -> Checked {
    let all = of_one_seed()?;
    let is_ours = |run: &&Run| run.method == OURS && !run.is_planted();
    let judged = || all.iter().filter(is_ours).filter(|run| run.right.is_some() && counts(run));
    let found = at_most(judged().filter(|run| is_bad(run)).count(), judged().count(), limit, what)?;
    Ok(Finding { evidence: EVIDENCE.into(), ..found })
}

/// The claim that the word of the verdict hardly depends on the seed.
fn same_word(runs: &[Run]) -> Checked {
    let mut all = of_several_seeds(runs);
    all.retain(|(_, group)| group.len() >= SEEDS);
    let several = all.iter().filter(|(_, group)| differ(group)).count();
    let found = at_most(
        several,
        all.len(),
        0.05,
        "get yes with some seeds and no with others, of posteriors with ten",
    )?;
    Ok(Finding { evidence: "ten runs of each, stored".into(), ..found })
}

/// The claim that the call says yes on every posterior on which nutpie's diagnostics are clean.
fn yes_where_clean(runs: &[Run]) -> Checked {
    let clean = runs.iter().filter(|run| run.method == "nutpie" && run.outcome == "yes");
    let ours = |of: &Run| runs.iter().find(|run| run.method == OURS && run.posterior == of.posterior);
    let both: Vec<&Run> = clean.filter_map(ours).collect();
    if both.is_empty() {
        return Err("no posterior on which nutpie's diagnostics are clean has a run".into());
    }
    let other = both.iter().filter(|run| run.outcome != "yes");
    let other: Vec<String> = other.map(|run| format!("{} ({})", run.posterior, run.outcome)).collect();
    let names = if other.is_empty() { String::new() } else { format!(": {}", other.join(", ")) };
    let what =
        format!("of {} posteriors on which nutpie's diagnostics are clean get no yes{names}", both.len());
    Ok(Finding { evidence: EVIDENCE.into(), ..Finding::at_most(other.len() as f64, 0.0, what) })
}

const OURS: &str = "mcsa";

/// Sums by source and method; then by half, and every run.
pub(super) fn tables(_: &Results) -> Vec<Table> {
    let all = stored().unwrap_or_default();
    let runs: Vec<&Run> = all.iter().filter(|run| run.seed == 1).collect();
    let half = |run: &Run| if run.trial == 1 { "trial" } else { "judge" };
    const KINDS: &str =
        "yes, right | yes, wrong | yes, open | no, right | no, wrong | no, open | crash | over";
    // Sources in the order of the file, the call before the other methods.
    let methods = distinct(runs.iter().map(|run| run.method.clone()));
    let place = |run: &Run| methods.iter().position(|method| *method == run.method);
    let mut ordered = runs.clone();
    ordered.sort_by_key(|run| (run.source.clone(), run.method != OURS, place(run)));
    let kinds = |group: &[&Run]| {
        let here: Vec<String> = group.iter().map(|run| run.kind()).collect();
        let count = move |kind: &str| here.iter().filter(|found| *found == kind).count().to_string();
        KINDS.split(" | ").map(count).collect::<Vec<_>>()
    };
    let sums = |key: &dyn Fn(&Run) -> Vec<String>| -> Vec<Vec<String>> {
        let sum = |group: Vec<String>| {
            let here: Vec<&Run> = runs.iter().copied().filter(|run| key(run) == group).collect();
            group.into_iter().chain(kinds(&here)).collect()
        };
        distinct(ordered.iter().map(|run| key(run))).into_iter().map(sum).collect()
    };
    let number = |x: &Option<Number>, digits: usize| or_dash(x.map(|x| format!("{:.digits$}", x.0)));
    let every = runs.iter().map(|run| {
        let dim = or_dash(run.dim.map(|dim| dim.to_string()));
        let words = [run.posterior.clone(), dim, half(run).into(), run.method.clone(), run.kind()];
        let errors = [number(&run.mean_error, 2), number(&run.sd_error, 2)];
        let costs = [number(&run.gradients, 0), number(&run.densities, 0), number(&run.seconds, 1)];
        words.into_iter().chain(errors).chain(costs).collect()
    });
    let several = of_several_seeds(&all);
    let differing = several.iter().filter(|(_, group)| differ(group));
    let differing =
        differing.map(|(names, group)| [names.map(str::to_owned).to_vec(), kinds(group)].concat()).collect();
    let note = "An answer is right if every mean of a reported parameter is within 0.3 standard deviations of the reference and every \
                standard deviation within a factor 1.3. It is open if there is no reference. nutpie's word is yes if every R-hat is below \
                1.01 and no step diverged. Planted copies of everyday models have a second mode, 12 standard deviations away; those of \
                posteriordb have a wrong bound.";
    let columns = "Posterior | d | Half | Method | Verdict and answer | Error of a mean, sd | Factor of an sd | Gradients | Densities | \
                   Seconds";
    vec![
        Table::new(
            "sums",
            "How often",
            &format!("Source | Method | {KINDS}"),
            sums(&|run| vec![run.source.clone(), run.method.clone()]),
            note,
        ),
        Table::new(
            "halves",
            "The same by halves",
            &format!("Source | Method | Half | {KINDS}"),
            sums(&|run| vec![run.source.clone(), run.method.clone(), half(run).into()]),
            "Settings may be chosen on the half \"trial\" alone.",
        ),
        Table::new(
            "seeds",
            "Several seeds",
            &format!("Source | Posteriors | One word for all seeds | {KINDS}"),
            seeds(&several, &kinds),
            "Runs of `mcsa` with other seeds than the first, and with it.",
        ),
        Table::new(
            "differing",
            "Posteriors whose word depends on the seed",
            &format!("Source | Posterior | {KINDS}"),
            differing,
            "Numbers of seeds.",
        ),
        Table::new(
            "rules",
            "Rules of the verdict",
            "Rule | Runs of seed 1 | Runs of further seeds",
            by_rule(&all),
            "Runs of `mcsa`, with the gradient and without, planted copies among them.",
        ),
        Table::new(
            "open",
            "Posteriors without a reference",
            "Source | Posterior | d | mcsa.fit | nutpie | Two long runs",
            open(&runs),
            "What nutpie's default run found, and why two long runs gave no reference, if they were made.",
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

/// For each rule the numbers of runs of the call, of the first seed and of others.
fn by_rule(all: &[Run]) -> Vec<Vec<String>> {
    let mut groups = in_groups(all.iter().filter_map(|run| run.rule.map(|rule| (rule, run))));
    groups.sort_by_key(|(rule, _)| std::cmp::Reverse(*rule));
    let row = |(rule, group): (u32, Vec<&Run>)| {
        let first = group.iter().filter(|run| run.seed == 1).count();
        [rule as usize, first, group.len() - first].map(|number| number.to_string()).to_vec()
    };
    groups.into_iter().map(row).collect()
}

/// Posteriors without a reference on which the call ended, with what the others found.
fn open(runs: &[&Run]) -> Vec<Vec<String>> {
    let causes: Vec<Open> = rows("strangers/open.csv", OPEN).unwrap_or_default();
    let is_open = |run: &&&Run| run.method == OURS && !run.is_planted() && run.kind().ends_with("open");
    let row = |run: &&Run| {
        let is_nutpie = |other: &&&Run| {
            (&other.source, &other.posterior, "nutpie") == (&run.source, &run.posterior, &*other.method)
        };
        let nutpie = runs.iter().find(is_nutpie).map(|run| match run.reasons.as_str() {
            "" => run.outcome.clone(),
            reasons => format!("{}: {reasons}", run.outcome),
        });
        let cause = causes.iter().find(|one| one.posterior == run.posterior).map(|one| one.cause.clone());
        let dim = or_dash(run.dim.map(|dim| dim.to_string()));
        let names = [run.source.clone(), run.posterior.clone(), dim, run.outcome.clone()];
        names.into_iter().chain([or_dash(nutpie), or_dash(cause)]).collect()
    };
    runs.iter().filter(is_open).map(row).collect()
}

/// For each source with several seeds: its posteriors, those with one word, and what its runs gave.
fn seeds(several: &[([&str; 2], Vec<&Run>)], kinds: &dyn Fn(&[&Run]) -> Vec<String>) -> Vec<Vec<String>> {
    let by_source = in_groups(several.iter().map(|([source, _], group)| (*source, group)));
    let row = |(source, groups): (&str, Vec<&Vec<&Run>>)| {
        let same = groups.iter().filter(|group| !differ(group)).count();
        let runs: Vec<&Run> = groups.iter().flat_map(|group| group.iter().copied()).collect();
        let head = vec![source.to_owned(), groups.len().to_string(), same.to_string()];
        head.into_iter().chain(kinds(&runs)).collect()
    };
    by_source.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;

    /// The table in the README is that of the stored rows.
    #[test]
    fn the_readme_has_the_stored_numbers() {
        let readme = include_str!("../../../README.md");
        let runs = of_one_seed().unwrap();
        for (line, source) in [
            ("37 everyday PyMC models", "everyday"),
            ("146 Stan programs of posteriordb", "posteriordb"),
            ("67 examples of BUGS in Stan, most of them hierarchies", "bugs_examples"),
        ] {
            let is_of = |run: &&Run| run.source == source && run.method == OURS;
            let here: Vec<&Run> = runs.iter().filter(is_of).collect();
            let [right, wrong, open] = ["yes, right", "yes, wrong", "yes, open"]
                .map(|kind| here.iter().filter(|run| run.kind() == kind).count());
            let rest = here.len() - right - wrong - open;
            let row = format!("| {line} | {right} | {wrong} | {open} | {rest} |");
            assert!(line.starts_with(&here.len().to_string()) && readme.contains(&row), "{row}");
        }
    }

    #[test]
    fn words_of_one_posterior_are_compared_over_seeds() {
        let head = ROWS.lines().next().unwrap();
        let found = |words: [&str; 10]| {
            let row = |(k, word): (usize, &&str)| {
                format!("posteriordb,a,3,1,mcsa,{},16,{word},1,0.1,1.1,x,,10,0,2.5,,chains,", k + 1)
            };
            let lines: Vec<String> = words.iter().enumerate().map(row).collect();
            same_word(&rows("rows.csv", &format!("{head}\n{}", lines.join("\n"))).unwrap())
        };
        let mut words = ["yes"; 10];
        assert_eq!(found(words).unwrap().number, 0.0);
        words[7] = "no";
        assert_eq!(found(words).unwrap().number, 1.0);
    }

    #[test]
    fn a_posterior_without_a_reference_is_open_with_its_causes() {
        let head = ROWS.lines().next().unwrap();
        let row = |name: &str, method: &str, word: &str, right: &str, reasons: &str| {
            format!("everyday,{name},3,1,{method},1,,{word},{right},,,,,10,0,2.5,,chains,{reasons}")
        };
        let text = [
            head.to_owned(),
            row("ordered-mixture", OURS, "no", "", "uneven"),
            row("ordered-mixture", "nutpie", "no", "", "R-hat 1.5"),
            row("known", OURS, "no", "1", "uneven"),
            row("slow", OURS, "over", "", ""),
        ];
        let all: Vec<Run> = rows("rows.csv", &text.join("\n")).unwrap();
        let found = open(&all.iter().collect::<Vec<_>>());
        assert_eq!(found.len(), 1);
        let end = &found[0][1..];
        assert_eq!(end[..4], ["ordered-mixture", "3", "no", "no: R-hat 1.5"]);
        assert!(end[4].starts_with("R-hat"), "{}", end[4]);
    }

    #[test]
    fn stored_rows_are_read() {
        let runs: Vec<Run> = rows("strangers/rows.csv", ROWS).unwrap();
        assert!(runs.iter().all(|run| ["yes", "no", "crash", "over"].contains(&run.outcome.as_str())));
        let head = ROWS.lines().next().unwrap();
        let line = "posteriordb,a,3,1,mcsa,1,16,no,0,inf,1.2,x,,10,0,2.5,,chains,\"a, b\"";
        let run = &rows::<Run>("rows.csv", &format!("{head}\n{line}")).unwrap()[0];
        assert_eq!((run.kind(), run.mean_error), ("no, wrong".into(), Some(Number(f64::INFINITY))));
        assert!(rows::<Run>("rows.csv", &format!("{head}\n{}", line.replace(",inf,", ",far,"))).is_err());
    }

    #[test]
    fn a_clean_run_of_nutpie_wants_a_yes() {
        let head = ROWS.lines().next().unwrap();
        let row = |method: &str, word: &str| {
            format!("posteriordb,a,3,1,{method},1,,{word},1,0.1,1.1,x,,10,0,2.5,,chains,")
        };
        let found = |ours: &str, theirs: &str| {
            let text = [head.to_owned(), row(OURS, ours), row("nutpie", theirs)].join("\n");
            yes_where_clean(&rows("rows.csv", &text).unwrap())
        };
        assert_eq!(found("yes", "yes").unwrap().verdict, Verdict::Agree);
        let fails = found("no", "yes").unwrap();
        assert_eq!((fails.verdict, fails.number), (Verdict::Disagree, 1.0));
        assert!(
            fails.reason.contains("of 1 posteriors") && fails.reason.contains("a (no)"),
            "{}",
            fails.reason
        );
        assert!(found("no", "no").is_err(), "no clean run is no evidence");
    }
}
