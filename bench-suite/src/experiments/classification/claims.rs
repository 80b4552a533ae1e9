//! Checks on arrival times of accuracy and on the tail of importance weights.

use crate::claims::curves::Curves;
use crate::claims::resampling::mean;
use crate::claims::{Check, Finding, greatest, least};
use crate::results::Results;
use mcsa_diagnostics::quantile;

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 5] = [
    ("parallel_arrives_first", parallel_arrives_first),
    ("parallel_is_trusted", |results| {
        tail(results, "pmcsa", 1_000, |all| Finding::at_most(greatest(all), 1.8, TAIL))
    }),
    ("bound_starts_untrusted", |results| {
        tail(results, "elbo", 1_000, |all| Finding::at_least(least(all), 10.0, TAIL))
    }),
    ("bound_stays_untrusted", |results| {
        tail(results, "elbo", 4_000, |all| Finding::at_least(least(all), 2.0, TAIL))
    }),
    ("never_trusted", never_trusted),
];

const GERMAN: &str = "german_credit_numeric";
const SETS: [&str; 3] = ["pima", "heart_cleveland_303", GERMAN];

fn parallel_arrives_first(results: &Results) -> Finding {
    let all = results.of_target(GERMAN);
    let of = |kind: &str| all.iter().find(|series| series.method().kind() == kind).cloned();
    let series =
        ["pmcsa", "jsa", "msc", "msc-rb", "snis", "stl"].map(of).into_iter().collect::<Option<Vec<_>>>();
    let Some(curves) = series.and_then(|series| Curves::of(&series, "accuracy")) else {
        return Finding::too_little("no fits of german");
    };
    let later = |columns: &[Vec<f64>]| {
        let arrival = |curve: &Vec<f64>| {
            let last = curve.last().copied().unwrap_or(f64::NAN);
            curves.first(curve, |value| value >= last - 0.01)
        };
        let steps: Vec<f64> = curves.each(columns, mean).iter().map(arrival).collect();
        least(steps[1..].iter().copied()) - steps[0]
    };
    let what = "first step at which the mean accuracy is within 0.01 of its last: earliest of the others less that of pMCSA";
    Finding::at_least_of(&curves.columns, later, 0.0, what)
}

const TAIL: &str = "median k-hat, the worse for the claim of german and heart";

/// Finding on the median k-hat of a method at a step, on german and heart; only if k-hat could be estimated in more than half
/// of the fits.
fn tail(results: &Results, kind: &str, step: u64, judge: fn(Vec<f64>) -> Finding) -> Finding {
    let mut all = Vec::new();
    for set in &SETS[1..] {
        let found = results.of_target(set).into_iter().find(|series| series.method().kind() == kind);
        let Some(series) = found else { return Finding::too_little("not every method was run on every set") };
        let mut values = series.at(step, "k_hat");
        let unknown = values.iter().filter(|value| value.is_nan()).count();
        if values.is_empty() || 2 * unknown >= values.len() {
            let reason = format!(
                "k-hat of {kind} on {set} at step {step}: the weights do not tell in {unknown} of {} fits",
                values.len()
            );
            return Finding::too_little(reason);
        }
        // A k-hat that cannot be estimated counts as worse than any number.
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = f64::INFINITY);
        all.push(quantile(&mut values, 0.5));
    }
    judge(all)
}

fn never_trusted(results: &Results) -> Finding {
    let mut all = Vec::new();
    for series in SETS.iter().flat_map(|set| results.of_target(set)) {
        let mut values = series.last("k_hat");
        all.push(if values.is_empty() { f64::NAN } else { quantile(&mut values, 0.5) });
    }
    Finding::at_least(least(all), 0.7, "least median k-hat at the end, over methods and sets")
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::kinds::Task;

    fn tails(k_hat: fn(&str, u64) -> f64) -> Vec<Verdict> {
        checks("k003-fig2-logistic", PresetName::Quick, |task: &Task, _, step| {
            vec![("k_hat", k_hat(task.method().kind(), step))]
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let heavy = |kind: &str, step| match (kind, step) {
            ("pmcsa", _) => 1.5,
            ("elbo", ..2_000) => 15.0,
            _ => 2.5,
        };
        assert_eq!(tails(heavy), [Agree; 4]);
        assert_eq!(tails(|kind, _| if kind == "pmcsa" { 2.0 } else { 0.5 }), [Disagree; 4]);
        assert_eq!(tails(|_, _| f64::NAN), [TooLittle; 4]);
    }

    /// Curves that rise to 0.75, half of the way after `half` steps, with noise that alternates between rows.
    #[test]
    fn the_first_to_arrive_is_found() {
        fn arrival(half: fn(&str) -> f64, noise: f64) -> Vec<Verdict> {
            checks("k000-tab2-logistic", PresetName::Quick, |task: &Task, replicate, step| {
                let kind = task.method().kind();
                let is_even = (replicate + kind.len() as u64 + step / 200).is_multiple_of(2);
                let rise = 1.0 - 0.5_f64.powf(step as f64 / half(kind));
                vec![("accuracy", 0.75 * rise + if is_even { noise } else { -noise })]
            })
        }
        let fast = |kind: &str| if kind == "pmcsa" { 300.0 } else { 900.0 };
        let slow = |kind: &str| if kind == "pmcsa" { 900.0 } else { 300.0 };
        assert_eq!(arrival(fast, 0.0), [Agree]);
        assert_eq!(arrival(slow, 0.0), [Disagree]);
        assert_ne!(arrival(fast, 0.5), [Agree]);
        assert_eq!(arrival(fast, f64::NAN), [TooLittle]);
    }
}
