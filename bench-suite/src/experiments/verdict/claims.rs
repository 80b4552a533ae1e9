//! Checks of the claims on error rates.

use crate::claims::{Check, Finding, Verdict};
use crate::interval::{binomial, bootstrap};
use crate::results::Results;

use super::tally::{Class, Rates, rates, tallies};

/// Level of the intervals, as in claims that are comparisons.
const LEVEL: f64 = 0.9;

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] = [
    ("few_false_yes", few_false_yes),
    ("few_false_no", few_false_no),
    ("better_than_shape", better_than_shape),
];

/// The claim that a rate is at most `limit`: both ends of its exact interval have to be on one side.
fn at_most(count: usize, of: usize, limit: f64, what: &str) -> Finding {
    if of == 0 {
        return Finding::too_little(format!("no runs: {what}"));
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
    Finding { verdict, number, threshold: limit, reason }
}

fn few_false_yes(results: &Results) -> Finding {
    let Rates { planted, false_yes, .. } = rates(results);
    at_most(
        false_yes,
        planted,
        0.01,
        "yes with a wrong answer, of fits of planted failures that starts can reach",
    )
}

fn few_false_no(results: &Results) -> Finding {
    let Rates { right, false_no, .. } = rates(results);
    at_most(false_no, right, 0.2, "no, of right answers on good targets")
}

fn better_than_shape(results: &Results) -> Finding {
    let one = |is: bool| if is { 1.0 } else { 0.0 };
    let planted = tallies(results).into_iter().filter(|tally| tally.class == Class::Planted);
    let differences: Vec<f64> = planted
        .flat_map(|tally| tally.runs)
        .map(|run| one(run.wrong && run.light) - one(run.wrong && run.yes))
        .collect();
    match bootstrap(&differences, LEVEL) {
        None => Finding::too_little("no runs"),
        Some(interval) => {
            let verdict = match () {
                () if interval.low > 0.0 => Verdict::Agree,
                () if interval.high < 0.0 => Verdict::Disagree,
                () => Verdict::TooLittle,
            };
            let reason = format!(
                "rate of wrong answers with k-hat below 0.7, less that of wrong answers with yes, on the same runs: 90 % interval {:.3} to {:.3} (claimed: > 0)",
                interval.low, interval.high
            );
            Finding { verdict, number: interval.value, threshold: 0.0, reason }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;

    /// A wrong answer on every planted failure, a right one on every good target; `yes` of both, and their k-hat.
    fn found(planted: f64, good: f64, k_hat: f64) -> Vec<crate::claims::Verdict> {
        checks("ours/fit-verdict", PresetName::Default, |task, _, _| {
            let is_planted =
                matches!(task.target(), crate::catalog::Target::Case { case } if case.is_planted());
            let (error, yes) = if is_planted { (9.0, planted) } else { (0.0, good) };
            vec![
                ("answer_error", error),
                ("answer_stretch", 1.0),
                ("yes", yes),
                ("k_hat", if is_planted { k_hat } else { 0.1 }),
                ("start_share", 0.5),
            ]
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(found(0.0, 1.0, 0.1), [Agree, Agree, Agree]);
        assert_eq!(found(1.0, 0.0, 0.9), [Disagree, Disagree, Disagree]);
        assert_eq!(found(0.0, 1.0, 0.9)[2], TooLittle);
    }
}
