//! Error rates of the verdict on a fit: tallies of right and wrong answers, figures, table and checks.

use mcsa::posterior::{RULE, Rates, Way};
use mcsa_plot::{Axis, Color, Figure, Layer, Marker, Panel, Style};

use super::scoreboard::evaluations;
use crate::catalog::Case;
use crate::claims::{Check, Checked, Finding, LEVEL, Verdict};
use crate::figures::{FigureFile, status};
use crate::interval::binomial;
use crate::results::Results;
use crate::store::Row;
use crate::tables::{Table, in_groups, median, or_dash, rate};

/// Largest error of a mean, in standard deviations, and largest factor of a standard deviation, of an answer that is not wrong.
const LIMITS: (f64, f64) = (0.3, 1.3);
/// Share of the starts from which on a mode counts as one that starts can reach.
const REACHED: f64 = 0.05;
/// k-hat below which weights count as light.
const LIGHT: f64 = 0.7;
/// Range of errors that is drawn, in multiples of the limit; others lie on its ends.
const RANGE: (f64, f64) = (0.01, 100.0);
/// Place of answers of targets without moments.
const NOWHERE: f64 = 300.0;

/// Checks of a fit: metric and name.
const WITNESSES: [(&str, &str); 10] = [
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

#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    yes: bool,
    light: bool,
    /// The answer is wrong; true for every answer if the target has no moments.
    wrong: bool,
    /// Error of the answer as a multiple of the limit.
    error: f64,
}

impl Run {
    fn of(row: &Row) -> Self {
        let value = |name: &str| row.values.get(name).copied().unwrap_or(f64::NAN);
        let off = value("answer_error") / LIMITS.0;
        let stretch = value("answer_stretch").ln() / LIMITS.1.ln();
        let error = if off >= stretch { off } else { stretch };
        Self {
            yes: value("yes") == 1.0,
            // Draws of chains have no weights.
            light: value("k_hat") < LIGHT && value("by_chains") != 1.0,
            wrong: !(off <= 1.0 && stretch <= 1.0),
            error,
        }
    }
}

type Is = fn(&Run) -> bool;

const FALSE_YES: Is = |run| run.yes && run.wrong;
const FALSE_NO: Is = |run| !run.yes && !run.wrong;
const FALSE_LIGHT: Is = |run| run.light && run.wrong;

/// Numbers of runs in the table: their titles, and what is true of those that count.
const COUNTS: [(&str, Is); 8] = [
    ("Runs", |_| true),
    ("Yes", |run| run.yes),
    ("No", |run| !run.yes),
    ("Wrong", |run| run.wrong),
    ("Yes and wrong", FALSE_YES),
    ("No and right", FALSE_NO),
    ("k-hat < 0.7 and wrong", FALSE_LIGHT),
    ("k-hat ≥ 0.7 and right", |run| !run.light && !run.wrong),
];

/// Class of a case, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Planted,
    /// Planted failure that fewer than one start in twenty reaches.
    Hidden,
    Good,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Planted => "planted",
            Self::Hidden => "planted, hidden",
            Self::Good => "good",
        }
    }
}

struct Tally<'r> {
    case: &'r Case,
    class: Class,
    /// Mean share of the starts that reach the mode that is easily missed, if there is one; of several, the one that fewest reach.
    start_share: Option<f64>,
    runs: Vec<Run>,
    rows: Vec<&'r Row>,
}

/// Tallies of all cases, in the order of the classes and of the file. Runs of a case whose parameters are drawn are those of two cases:
/// of one that starts reach and of one that they do not.
fn tallies(results: &Results) -> Vec<Tally<'_>> {
    tallies_of(&[results], |_| true)
}

/// As [`tallies`], of the rows of several experiments that count.
fn tallies_of<'r>(all: &[&'r Results], counts: impl Fn(&Row) -> bool) -> Vec<Tally<'r>> {
    let outcomes = all.iter().flat_map(|results| &results.outcomes);
    let of_cases = outcomes.filter_map(|one| Some((one.job.task.target().case()?, &one.rows)));
    let runs = of_cases.flat_map(|(case, rows)| rows.iter().map(move |row| (case, row)));
    let runs = runs.filter(|(_, row)| counts(row));
    let is_missed = |case: &Case, row: &Row| {
        matches!(case, Case::Planted { .. })
            && row.values.get("start_share").is_some_and(|share| *share < REACHED)
    };
    let cases = in_groups(runs.map(|(case, row)| ((case, is_missed(case, row)), row))).into_iter();
    let mut all: Vec<Tally<'_>> = cases.map(|((case, _), rows)| Tally::of(case, rows)).collect();
    all.sort_by_key(|tally| tally.class);
    all
}

impl<'r> Tally<'r> {
    fn of(case: &'r Case, rows: Vec<&'r Row>) -> Self {
        let shares: Vec<f64> = rows.iter().filter_map(|row| row.values.get("start_share").copied()).collect();
        let start_share = (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
        let class = match start_share {
            _ if !case.is_planted() => Class::Good,
            Some(share) if !(share >= REACHED) => Class::Hidden,
            _ => Class::Planted,
        };
        Self { case, class, start_share, runs: rows.iter().map(|row| Run::of(row)).collect(), rows }
    }

    fn objections(&self, witness: &str) -> usize {
        self.rows.iter().filter(|row| row.values.get(witness) == Some(&1.0)).count()
    }
}

fn count(all: &[Tally<'_>], class: Class, is_it: impl Fn(&Run) -> bool) -> usize {
    let runs = all.iter().filter(|tally| tally.class == class).flat_map(|tally| &tally.runs);
    runs.filter(|run| is_it(run)).count()
}

/// Numbers of runs and of errors of the verdict on answers of one way; chains answer in both experiments.
pub(crate) fn rates(with_gradient: &Results, by_density: &Results, way: Way) -> Rates {
    let by_chains = |row: &Row| row.values.get("by_chains") == Some(&1.0);
    let all = match way {
        Way::Gradient => tallies_of(&[with_gradient], |row| !by_chains(row)),
        Way::Density => tallies_of(&[by_density], |row| !by_chains(row)),
        Way::Chains => tallies_of(&[with_gradient, by_density], by_chains),
    };
    rates_of(&all, way)
}

fn rates_of(all: &[Tally<'_>], way: Way) -> Rates {
    use Class::{Good, Hidden, Planted};
    let [planted, hidden] = [Planted, Hidden].map(|class| count(all, class, |_| true));
    let [false_yes, hidden_yes] = [Planted, Hidden].map(|class| count(all, class, FALSE_YES));
    Rates {
        rule: RULE.number,
        way,
        planted,
        false_yes,
        at_most: binomial(false_yes, planted, LEVEL)[1],
        hidden,
        hidden_yes,
        right: count(all, Good, |run| !run.wrong),
        false_no: count(all, Good, FALSE_NO),
    }
}

pub(super) const CHECKS: [(&str, Check); 3] = [
    ("few_false_yes", |results| {
        let Rates { planted, false_yes, .. } = rates_of(&tallies(results), Way::Gradient);
        let what = "yes with a wrong answer, of fits of planted failures that starts can reach";
        at_most(false_yes, planted, 0.01, what)
    }),
    ("few_false_no", |results| {
        let Rates { right, false_no, .. } = rates_of(&tallies(results), Way::Gradient);
        at_most(false_no, right, 0.2, "no, of right answers on good targets")
    }),
    ("better_than_shape", better_than_shape),
];

/// The claim that a rate is at most `limit`: both ends of its exact interval have to be on one side.
pub(super) fn at_most(count: usize, of: usize, limit: f64, what: &str) -> Checked {
    if of == 0 {
        return Err(format!("no runs: {what}"));
    }
    let (number, [low, high]) = (count as f64 / of as f64, binomial(count, of, LEVEL));
    let verdict = match () {
        () if high <= limit => Verdict::Agree,
        () if low > limit => Verdict::Disagree,
        () => Verdict::TooLittle,
    };
    let reason = format!(
        "{what}: {count} of {of}, exact 90 % interval {:.2} to {:.2} % (claimed: at most {:.0} %)",
        100.0 * low,
        100.0 * high,
        100.0 * limit
    );
    Ok(Finding { verdict, number, reason, evidence: String::new() })
}

fn better_than_shape(results: &Results) -> Checked {
    let one = |is: bool| f64::from(u8::from(is));
    let planted = tallies(results).into_iter().filter(|tally| tally.class == Class::Planted);
    let differences: Vec<f64> = planted
        .flat_map(|tally| tally.runs)
        .map(|run| one(FALSE_LIGHT(&run)) - one(FALSE_YES(&run)))
        .collect();
    let what =
        "rate of wrong answers with k-hat below 0.7, less that of wrong answers with yes, on the same runs";
    Ok(Finding::mean_above(&differences, 0.0, what))
}

pub(super) fn figures(results: &Results) -> Vec<FigureFile> {
    let all = tallies(results);
    let is_planted = |tally: &&Tally<'_>| tally.class != Class::Good;
    let (planted, good): (Vec<_>, Vec<_>) = all.iter().partition(is_planted);
    let words = "Error of the answer of each fit: the largest error of a mean in units of 0.3 standard deviations, or of a log standard \
                 deviation in units of log 1.3, whichever is larger. Right of the line the answer is wrong. At the right edge are \
                 targets without moments, whose every answer is wrong.";
    let caption = format!("{words}{}", status(results));
    let errors = |name: &str, tallies: &[&Tally<'_>]| {
        let shape = (0.12 + 0.026 * tallies.len() as f64).max(0.3);
        FigureFile::new(name, Figure::new(vec![panel(tallies)]).wide(150.0).shaped(shape).captioned(&caption))
    };
    vec![errors("planted", &planted), errors("good", &good), objections(&all, results)]
}

fn panel(tallies: &[&Tally<'_>]) -> Panel {
    let names: Vec<String> = tallies.iter().map(|tally| tally.case.title()).collect();
    let x = Axis::log("Error of the answer, 1 = wrong").spanning(0.8 * RANGE.0, 1.4 * NOWHERE);
    let mut panel = Panel::new(x, Axis::categories("", names)).with(Layer::vertical_rule(1.0));
    let looks: [(Is, &str, Color, Marker); 3] = [
        (|run| !run.yes, "no", Color(0x00, 0x72, 0xB2), Marker::Ring),
        (|run| run.yes && !run.wrong, "yes and right", Color(0x00, 0x9E, 0x73), Marker::Circle),
        (FALSE_YES, "yes and wrong", Color(0xD5, 0x5E, 0x00), Marker::Square),
    ];
    for (is_it, name, color, marker) in looks {
        let mut points = Vec::new();
        for (place, tally) in tallies.iter().enumerate() {
            let runs: Vec<_> = tally.runs.iter().filter(|run| is_it(run)).collect();
            for (k, run) in runs.iter().enumerate() {
                let x = if run.error.is_nan() { NOWHERE } else { run.error.clamp(RANGE.0, RANGE.1) };
                // Spread within the row, so that equal errors are seen as several.
                points.push((x, place as f64 + 0.6 * ((k as f64 + 0.5) / runs.len() as f64 - 0.5)));
            }
        }
        let style = Style { color, marker, ..Style::series(0) };
        panel = panel.with(Layer::points(points).styled(style.sized(2.2).faint(0.8)).named(name));
    }
    panel
}

fn objections(all: &[Tally<'_>], results: &Results) -> FigureFile {
    let x = Axis::categories("Check", WITNESSES.map(|(_, name)| name.to_owned()));
    let mut panel = Panel::new(x, Axis::linear("Share of the runs, %"));
    let classes =
        [(Class::Planted, "planted failures"), (Class::Hidden, "hidden ones"), (Class::Good, "good targets")];
    for (index, (class, name)) in classes.into_iter().enumerate() {
        let runs = count(all, class, |_| true);
        for (place, (metric, _)) in WITNESSES.iter().enumerate() {
            let ours = all.iter().filter(|tally| tally.class == class);
            let count: usize = ours.map(|tally| tally.objections(metric)).sum();
            if count > 0 {
                let left = place as f64 - 0.39 + 0.26 * index as f64;
                let bar = Layer::bar([left, left + 0.26], 100.0 * count as f64 / runs as f64);
                panel = panel.with(bar.styled(Style::series(index)).named(name));
            }
        }
    }
    let caption = format!(
        "Share of the runs in which a check fails; several may object to one fit.{}",
        status(results)
    );
    FigureFile::new("witnesses", Figure::new(vec![panel]).wide(150.0).shaped(0.5).captioned(caption))
}

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let all = tallies(results);
    let counts = COUNTS.map(|(title, _)| title).join(" | ");
    vec![Table::new(
        "verdicts",
        "Verdicts on fits whose answers are known",
        &format!("Target | Class | Starts that reach it | {counts} | Objections | Evaluations, median"),
        all.iter().map(row).chain(totals(&all)).collect(),
        "Wrong: a mean off by more than 0.3 standard deviations of the posterior, or a standard deviation by more than a factor 1.3; any \
         answer, where the density has no integral or no variance. Hidden: fewer than one start in twenty ends there. Rates with exact \
         90 % intervals.",
    )]
}

/// Answers of one verdict and one kind: their titles, and what is true of them.
const ANSWERS: [(&str, Is); 4] = [
    ("Yes and right", |run| run.yes && !run.wrong),
    ("Yes and wrong", FALSE_YES),
    ("No and right", FALSE_NO),
    ("No and wrong", |run| !run.yes && run.wrong),
];

/// The four answers of each kind of planted failure and of its healthy twins.
pub(super) fn answers(results: &Results) -> Vec<Table> {
    let all = tallies(results);
    let line = |[name, of, share]: [String; 3], runs: &[&Run]| {
        let counts = ANSWERS.map(|(_, is_it)| runs.iter().filter(|run| is_it(run)).count());
        let limit = (!runs.is_empty()).then(|| binomial(counts[1], runs.len(), LEVEL)[1]);
        let limit = or_dash(limit.map(|limit| format!("{:.2} %", 100.0 * limit)));
        [name, of, share].into_iter().chain(counts.map(|count| count.to_string())).chain([limit]).collect()
    };
    let of_tally = |tally: &Tally<'_>| {
        let share = or_dash(tally.start_share.map(|share| format!("{:.0} %", 100.0 * share)));
        let name = [tally.case.title(), tally.class.name().to_owned(), share];
        line(name, &tally.runs.iter().collect::<Vec<_>>())
    };
    let of_class = |class: Class| {
        let runs = all.iter().filter(|tally| tally.class == class).flat_map(|tally| &tally.runs);
        line([format!("All: {}", class.name()), String::new(), String::new()], &runs.collect::<Vec<_>>())
    };
    let sums = [Class::Planted, Class::Hidden, Class::Good].into_iter().map(of_class);
    vec![Table::new(
        "answers",
        "Answers on planted failures whose parameters are drawn",
        &format!(
            "Kind | Class | Starts that reach it | {} | Rate of wrong yes, at most",
            ANSWERS.map(|(title, _)| title).join(" | ")
        ),
        all.iter().map(of_tally).chain(sums).collect(),
        "Right: every mean within 0.3 standard deviations of the posterior, every standard deviation within a factor 1.3. Hidden: runs of \
         which fewer than one start in twenty ends in the second mode. At most: upper end of the exact 90 % interval.",
    )]
}

fn row(tally: &Tally<'_>) -> Vec<String> {
    let title = tally.case.title();
    let class = tally.class.name();
    let trial = if TRIAL.contains(&&*title) { ", trial" } else { "" };
    let objections = WITNESSES.iter().map(|(metric, name)| (tally.objections(metric), name));
    let objections =
        objections.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{name} {count}"));
    let objections = objections.collect::<Vec<String>>().join(", ");
    let share = or_dash(tally.start_share.map(|share| format!("{:.0} %", 100.0 * share)));
    let mut cells = vec![title.clone(), format!("{class}{trial}"), share];
    let count = |is_it: Is| tally.runs.iter().filter(|run| is_it(run)).count();
    cells.extend(COUNTS.map(|(_, is_it)| count(is_it).to_string()));
    let evaluations = median(tally.rows.iter().map(|row| evaluations(row)));
    cells.extend([objections, format!("{evaluations:.0}")]);
    cells
}

fn totals(all: &[Tally<'_>]) -> [Vec<String>; 3] {
    let line = |class: Class, name: &str, of: [Option<usize>; 4]| {
        let counts = COUNTS.map(|(_, is_it)| count(all, class, is_it));
        let (numbers, rates) = counts.split_at(4);
        let numbers = numbers.iter().map(usize::to_string);
        let rates = rates.iter().zip(of).map(|(count, of)| or_dash(of.map(|of| rate(*count, of, 1))));
        let name = [format!("All: {name}"), String::new(), String::new()].into_iter();
        name.chain(numbers).chain(rates).chain([String::new(), String::new()]).collect()
    };
    let of = |class| Some(count(all, class, |_| true));
    let (planted, hidden, good) = (of(Class::Planted), of(Class::Hidden), of(Class::Good));
    let right = Some(count(all, Class::Good, |run| !run.wrong));
    [
        line(Class::Planted, "planted failures that starts can reach", [planted, None, planted, None]),
        line(Class::Hidden, "hidden ones", [hidden, None, None, None]),
        line(Class::Good, "good targets", [good, right, None, right]),
    ]
}
