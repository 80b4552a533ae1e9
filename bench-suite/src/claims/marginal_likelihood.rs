//! Claims on estimates of the log marginal likelihood from fits.

use super::curves::Curves;
use super::resampling::{Columns, median};
use super::{Claim, Finding, greatest, least};
use crate::evidence::{Evidence, Series};

/// Exact log evidence of the radon model.
pub(crate) const RADON: f64 = -1105.872;

/// Claims of MCMC-SE on its Fig. 6, and of CW on its Fig. 4a.
pub fn radon() -> Vec<Claim> {
    vec![
        Claim {
            citation: "MCMC-SE, Fig. 6",
            sentence: "The evidence bound and SNIS end above the evidence.",
            judge: others_exceed,
        },
        Claim {
            citation: "MCMC-SE, Fig. 6",
            sentence: "Parallel chains end nearest to the evidence.",
            judge: parallel_is_nearest,
        },
        Claim {
            citation: "MCMC-SE, Fig. 6",
            sentence: "Parallel chains are within 5 nats of where they end after 2000 steps.",
            judge: parallel_is_fast,
        },
        Claim {
            citation: "MCMC-SE, Fig. 6",
            sentence: "A single chain, of either kind, is not so far before step 6000.",
            judge: single_is_slow,
        },
        Claim {
            citation: "CW, Fig. 4a",
            sentence: "Of the methods with chains, parallel ones end highest, then averaged candidates, then a single candidate \
                       and a single chain.",
            judge: |evidence| order(evidence, &["pmcsa", "msc-rb", "msc", "jsa"], 2),
        },
        Claim {
            citation: "ours",
            sentence: "Measured from the exact evidence, the bound ends nearest, then SNIS, then parallel chains, then all \
                       others.",
            judge: nearest_in_order,
        },
    ]
}

/// Claims of CW on its Fig. 4b.
pub fn stock() -> Vec<Claim> {
    vec![
        Claim {
            citation: "CW, Fig. 4b",
            sentence: "SNIS ends above parallel chains.",
            judge: |evidence| at_the_end(evidence, &["snis", "pmcsa"]),
        },
        Claim {
            citation: "CW, Fig. 4b",
            sentence: "Parallel chains end above single ones and candidates.",
            judge: |evidence| at_the_end(evidence, &["pmcsa", "msc-rb", "msc", "jsa"]),
        },
    ]
}

/// Number of steps of the published fits.
const STEPS: u64 = 10_000;

fn of<'a>(evidence: &'a Evidence, kind: &str) -> Option<Series<'a>> {
    evidence.find(|series| series.method().kind() == kind)
}

/// Last estimate, in a column for each kind of method.
fn ends(evidence: &Evidence, kinds: &[&str]) -> Option<Columns> {
    kinds.iter().map(|kind| of(evidence, kind).map(|series| series.last("log_z"))).collect()
}

const MISSING: &str = "not every method was run";

fn others_exceed(evidence: &Evidence) -> Finding {
    let Some(columns) = ends(evidence, &["stl", "snis"]) else { return Finding::too_little(MISSING) };
    let above = |columns: &[Vec<f64>]| least(columns.iter().map(|column| median(column) - RADON));
    let what = "median estimate at the end above the exact value, the lower of both";
    Finding::at_least_of(&columns, above, 0.0, what)
}

fn parallel_is_nearest(evidence: &Evidence) -> Finding {
    let Some(columns) = ends(evidence, &["pmcsa", "jsa", "msc", "msc-rb", "snis", "stl"]) else {
        return Finding::too_little(MISSING);
    };
    let nearer = |columns: &[Vec<f64>]| {
        let off = |column: &Vec<f64>| (median(column) - RADON).abs();
        least(columns[1..].iter().map(off)) - off(&columns[0])
    };
    let what = "distance of the best other from the exact value less that of pMCSA, medians at the end";
    Finding::at_least_of(&columns, nearer, 0.0, what)
}

/// Estimates along fits, for kinds of methods.
fn curves(evidence: &Evidence, kinds: &[&str]) -> Option<Curves> {
    Curves::of(&kinds.iter().map(|kind| of(evidence, kind)).collect::<Option<Vec<_>>>()?, "log_z")
}

/// For each curve the first recorded step after which it stays within 5 nats of its last value; NaN if the last value is NaN.
fn arrivals(curves: &Curves, columns: &[Vec<f64>]) -> Vec<f64> {
    let arrival = |curve: &Vec<f64>| {
        let last = curve.last().copied().unwrap_or(f64::NAN);
        let late = curve.iter().rposition(|value| (value - last).abs() > 5.0 || value.is_nan());
        curves.steps.get(late.map_or(0, |at| at + 1)).map_or(f64::NAN, |step| *step as f64)
    };
    curves.each(columns, median).iter().map(arrival).collect()
}

fn parallel_is_fast(evidence: &Evidence) -> Finding {
    let Some(curves) = curves(evidence, &["pmcsa"]) else { return Finding::too_little(MISSING) };
    let what = "step from which on the median stays within 5 nats of its last";
    Finding::at_most_of(&curves.columns, |columns| greatest(arrivals(&curves, columns)), 2_000.0, what)
}

fn single_is_slow(evidence: &Evidence) -> Finding {
    let Some(curves) = curves(evidence, &["msc", "jsa"]) else { return Finding::too_little(MISSING) };
    let what = "the same, the earlier of MSC and JSA";
    Finding::at_least_of(&curves.columns, |columns| least(arrivals(&curves, columns)), 6_000.0, what)
}

fn nearest_in_order(evidence: &Evidence) -> Finding {
    let Some(columns) = ends(evidence, &["stl", "snis", "pmcsa", "msc-rb", "msc", "jsa"]) else {
        return Finding::too_little(MISSING);
    };
    let steps = |columns: &[Vec<f64>]| {
        let off: Vec<f64> = columns.iter().map(|column| (median(column) - RADON).abs()).collect();
        least((0..3).map(|k| least(off[k + 1..].iter().copied()) - off[k]))
    };
    let what = "least difference between the distance of one from the exact value and that of the nearest of those \
                behind it, medians at the end";
    Finding::at_least_of(&columns, steps, 0.0, what)
}

/// Finding for the claim that the medians of the first `descending` kinds decrease, and all others are below them.
fn order(evidence: &Evidence, kinds: &[&str], descending: usize) -> Finding {
    let Some(columns) = ends(evidence, kinds) else { return Finding::too_little(MISSING) };
    let steps = |columns: &[Vec<f64>]| {
        let above =
            |k: usize| median(&columns[k]) - greatest(columns[k + 1..].iter().map(|column| median(column)));
        least((0..descending).map(above))
    };
    let what = "least difference between the median of one and the best of those below it, at the end";
    Finding::at_least_of(&columns, steps, 0.0, what)
}

/// Finding for the claim that the first kind ends above all others, in fits of the published length.
fn at_the_end(evidence: &Evidence, kinds: &[&str]) -> Finding {
    let last =
        evidence.series().iter().filter_map(|series| series.steps().last().copied()).max().unwrap_or(0);
    if last < STEPS {
        return Finding::too_little(format!("fits of {last} steps; the claim is of {STEPS}"));
    }
    order(evidence, kinds, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;
    use mcsa_data::Catalogue;

    #[test]
    fn the_reference_is_that_of_the_model() {
        let data = Catalogue::new(None).radon().unwrap();
        let model =
            mcsa_models::Radon::new(data.counties.len(), data.county, data.floor, data.log_radon).unwrap();
        let (exact, change) = model.log_evidence(1e-5);
        assert!((exact - RADON).abs() < 1e-3 && change < 1e-4, "{exact} {change}");
    }

    /// Curves that rise to an end; the remaining distance halves every `half` steps.
    fn verdicts(file: &str, claims: Vec<Claim>, end: fn(&str) -> f64, half: fn(&str) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains(file)).unwrap();
        let rows = |task: &Task, _: u64, step: u64| {
            let kind = task.method().kind();
            vec![("log_z", end(kind) - 1000.0 * 0.5_f64.powf(step as f64 / half(kind)))]
        };
        // The published effort, but with five replicates.
        let mut experiment = entry.experiment().unwrap();
        if let Some(preset) = experiment.presets.get_mut(&PresetName::Paper) {
            preset.replicates = 5;
        }
        let evidence = Evidence::synthetic(experiment, PresetName::Paper, rows);
        claims.iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    /// Values as in the published figure, relative to a true value at the papers' line.
    fn published(kind: &str) -> f64 {
        match kind {
            "pmcsa" => RADON + 0.1,
            "stl" | "snis" => RADON + 8.0,
            "msc-rb" => RADON - 2.0,
            _ => RADON - 4.0,
        }
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let half = |kind: &str| if kind == "pmcsa" { 200.0 } else { 900.0 };
        // For curves around the papers' line, claims about the exact value cannot hold, and vice versa.
        assert_eq!(
            verdicts("k000-fig6-radon", radon(), published, half),
            [Agree, Agree, Agree, Agree, Agree, Disagree]
        );
        let ordered = |kind: &str| match kind {
            "stl" => RADON - 2.0,
            "snis" => RADON - 3.0,
            _ => published(kind) - 9.0,
        };
        assert_eq!(
            verdicts("k000-fig6-radon", radon(), ordered, half),
            [Disagree, Disagree, Agree, Agree, Agree, Agree]
        );
        let opposite = |kind: &str| 2.0 * RADON - published(kind) - if kind == "pmcsa" { 20.0 } else { 0.0 };
        let slow = |kind: &str| if kind == "pmcsa" { 900.0 } else { 200.0 };
        assert_eq!(verdicts("k000-fig6-radon", radon(), opposite, slow), [Disagree; 6]);
        assert_eq!(verdicts("k000-fig6-radon", radon(), |_| f64::NAN, half), [TooLittle; 6]);
        assert_eq!(verdicts("k003-fig4b-stock", stock(), published, half), [Agree; 2]);
        assert_eq!(verdicts("k003-fig4b-stock", stock(), opposite, half)[1], Disagree);
        assert_eq!(verdicts("k003-fig4b-stock", stock(), |_| f64::NAN, half), [TooLittle; 2]);
    }
}
