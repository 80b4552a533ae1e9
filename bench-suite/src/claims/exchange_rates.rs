//! Claims on stochastic volatility of exchange rates.

use super::resampling::{mean, median};
use super::{Claim, Finding};
use crate::catalog::{First, Target};
use crate::evidence::Evidence;

const CITATION: &str = "MSC, Fig. 3";
/// Number of currencies in either data set.
const CURRENCIES: usize = 18;
/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 2_000;

/// Claims of MSC on its Fig. 3.
pub fn exchange_rates() -> Vec<Claim> {
    vec![
        Claim {
            citation: CITATION,
            sentence: "Scored by the same filter, MSC learns a higher evidence than SMC, in the middle of the currencies.",
            judge: |evidence| middle(evidence, First::Level, "log_z"),
        },
        Claim {
            citation: CITATION,
            sentence: "And on average over them.",
            judge: |evidence| average(evidence, First::Level, "log_z"),
        },
        Claim {
            citation: CITATION,
            sentence: "Three currencies or more are clearly above zero.",
            judge: |evidence| several(evidence, First::Level, "log_z"),
        },
        Claim {
            citation: CITATION,
            sentence: "Scored as published, each by a filter of its own, MSC is above SMC in the middle of the currencies.",
            judge: |evidence| middle(evidence, First::Level, "log_z_as_published"),
        },
        Claim {
            citation: CITATION,
            sentence: "With the printed first state, too, MSC is above in the middle, scored by the same filter.",
            judge: |evidence| middle(evidence, First::Zero, "log_z"),
        },
        Claim {
            citation: CITATION,
            sentence: "And so it is scored as published.",
            judge: |evidence| middle(evidence, First::Zero, "log_z_as_published"),
        },
    ]
}

/// One currency: its name and, for each replicate, the log evidence under MSC minus that under SMC.
pub(crate) struct Difference {
    pub(crate) currency: String,
    pub(crate) values: Vec<f64>,
}

/// Name of the data set that was fitted: the published one, if present.
pub(crate) fn data(evidence: &Evidence) -> Option<String> {
    let has = |name: &&str| evidence.find(|series| series.target().data() == Some(name)).is_some();
    ["fx_fed_h10_18", "fx_ecb_18"].iter().find(|name| has(name)).map(|name| (*name).to_owned())
}

/// Differences for each currency, from fits with the given mean of the first state and the given metric.
pub(crate) fn differences(evidence: &Evidence, first: First, name: &str) -> Vec<Difference> {
    let Some(data) = data(evidence) else { return Vec::new() };
    let all = evidence.series();
    let place = |target: &Target| match target {
        Target::FxVolatility { data: of, series, first: at } => {
            (*of == data && *at == first).then(|| series.clone())
        }
        _ => None,
    };
    let difference = |ours: &crate::evidence::Series<'_>| {
        let currency = place(ours.target())?;
        let theirs = all.iter().find(|s| s.target() == ours.target() && s.method().kind() == "smc")?;
        let value = |a: &&crate::store::Outcome| {
            let same = theirs.outcomes.iter().find(|b| b.job.replicate == a.job.replicate)?;
            let end = |o: &crate::store::Outcome| match o.ended.failure {
                Some(_) => None,
                None => o.rows.last()?.values.get(name).copied(),
            };
            Some(end(a)? - end(same)?)
        };
        Some(Difference { currency, values: ours.outcomes.iter().filter_map(value).collect() })
    };
    all.iter().filter(|series| series.method().kind() == "msc").filter_map(difference).collect()
}

impl Difference {
    /// Mean over replicates divided by its standard error, because the spread of fits differs much between currencies.
    fn in_errors(&self) -> f64 {
        let (count, centre) = (self.values.len() as f64, mean(&self.values));
        let square: f64 = self.values.iter().map(|value| (value - centre).powi(2)).sum();
        centre / (square / (count - 1.0) / count).sqrt()
    }
}

/// Mean difference of each currency; a finding in its place if a currency is missing or fits are too short. Currencies are
/// resampled, because the claims are about them and they differ by more than five fits of one currency show.
fn means(evidence: &Evidence, first: First, name: &str) -> Result<Vec<f64>, Finding> {
    let is_long = |s: &crate::evidence::Series<'_>| {
        s.outcomes.iter().all(|o| o.rows.last().is_some_and(|r| r.step >= STEPS))
    };
    let found = differences(evidence, first, name);
    if found.len() < CURRENCIES || !evidence.series().iter().all(is_long) {
        let what = format!("{} of {CURRENCIES} currencies with {STEPS} steps", found.len());
        return Err(Finding::too_little(what));
    }
    Ok(found.iter().map(|difference| mean(&difference.values)).collect())
}

fn middle(evidence: &Evidence, first: First, name: &str) -> Finding {
    let what = "median of the currencies' mean differences in nats, currencies resampled";
    of_means(evidence, first, name, median, what)
}

fn average(evidence: &Evidence, first: First, name: &str) -> Finding {
    let what = "mean of the currencies' mean differences in nats, currencies resampled";
    of_means(evidence, first, name, mean, what)
}

fn of_means(
    evidence: &Evidence,
    first: First,
    name: &str,
    statistic: fn(&[f64]) -> f64,
    what: &str,
) -> Finding {
    match means(evidence, first, name) {
        Ok(means) => Finding::at_least_of(&[means], |columns| statistic(&columns[0]), 0.0, what),
        Err(finding) => finding,
    }
}

/// Finding on currencies whose difference exceeds three standard errors.
fn several(evidence: &Evidence, first: First, name: &str) -> Finding {
    if let Err(finding) = means(evidence, first, name) {
        return finding;
    }
    let errors: Vec<f64> = differences(evidence, first, name).iter().map(Difference::in_errors).collect();
    if errors.iter().any(|error| error.is_nan()) {
        return Finding::too_little("no spread over replicates");
    }
    let clear = |sign: f64| errors.iter().filter(|error| sign * **error > 3.0).count();
    let what = format!(
        "currencies above zero by three of their standard errors; {} are below by as much",
        clear(-1.0)
    );
    Finding::at_least(clear(1.0) as f64, 3.0, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(preset: PresetName, gain: f64, noise: f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("msc-fig3")).unwrap();
        // Fits of one currency vary as much as currencies do.
        let rows = |task: &Task, replicate: u64, _: u64| {
            let Target::FxVolatility { series, .. } = task.target() else { panic!("a currency") };
            let spread = series.bytes().map(u64::from).sum::<u64>() % 5 + replicate % 5;
            let value =
                if task.method().kind() == "msc" { gain + noise * (spread as f64 - 4.0) } else { 0.0 };
            vec![("log_z", value), ("log_z_as_published", value)]
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), preset, rows);
        exchange_rates().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        assert_eq!(verdicts(PresetName::Default, 1.0, 0.1), [Agree; 6]);
        assert_eq!(verdicts(PresetName::Default, -1.0, 0.1), [Disagree; 6]);
        assert_eq!(verdicts(PresetName::Quick, 1.0, 0.1), [TooLittle; 6]);
        assert_eq!(verdicts(PresetName::Default, f64::NAN, 0.1), [TooLittle; 6]);
        let noisy = verdicts(PresetName::Default, 0.1, 3.0);
        assert_eq!(noisy[0], TooLittle);
    }

    /// Values 1 and 3: mean 2, standard error 1.
    #[test]
    fn errors_are_those_of_the_mean() {
        let difference = Difference { currency: String::new(), values: vec![1.0, 3.0] };
        assert_eq!(difference.in_errors(), 2.0);
    }
}
