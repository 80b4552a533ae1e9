//! Of the evidence, estimated through the fit.

use super::resampling::Columns;
use super::{Claim, Finding, greatest, least};
use crate::evidence::{Evidence, Series};
use crate::quantile::quantile;

/// The log evidence of the radon model, exactly.
pub(crate) const RADON: f64 = -1105.872;

/// What MCMC-SE says of its Fig. 6, and CW of its Fig. 4a.
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
    ]
}

/// What CW says of its Fig. 4b.
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

/// The published fits have this many steps.
const STEPS: u64 = 10_000;

fn of<'a>(evidence: &'a Evidence, kind: &str) -> Option<Series<'a>> {
    evidence.find(|series| series.method().kind() == kind)
}

/// The number at the end, a column for each kind of method.
fn ends(evidence: &Evidence, kinds: &[&str]) -> Option<Columns> {
    kinds.iter().map(|kind| of(evidence, kind).map(|series| series.last("log_z"))).collect()
}

fn median(column: &[f64]) -> f64 {
    quantile(&mut column.to_vec(), 0.5)
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

/// The first recorded step from which on the median stays within 5 nats of its last; NaN without steps.
fn arrival(series: &Series<'_>) -> f64 {
    let (steps, [medians]) = series.quantiles("log_z", [0.5]);
    let Some(last) = medians.last() else { return f64::NAN };
    let late = medians.iter().rposition(|median| (median - last).abs() > 5.0 || median.is_nan());
    steps.get(late.map_or(0, |at| at + 1)).copied().unwrap_or(f64::NAN)
}

fn parallel_is_fast(evidence: &Evidence) -> Finding {
    let Some(series) = of(evidence, "pmcsa") else { return Finding::too_little(MISSING) };
    Finding::at_most(
        arrival(&series),
        2_000.0,
        "step from which on the median stays within 5 nats of its last",
    )
}

fn single_is_slow(evidence: &Evidence) -> Finding {
    let both = ["msc", "jsa"].map(|kind| of(evidence, kind).map(|series| arrival(&series)));
    let [Some(msc), Some(jsa)] = both else { return Finding::too_little(MISSING) };
    Finding::at_least(least([msc, jsa]), 6_000.0, "the same, the earlier of MSC and JSA")
}

/// The medians of the first kinds descend, and all others are below them.
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

/// The first ends above all others, in fits of the published length.
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
    use crate::data::Catalogue;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    #[test]
    fn the_reference_is_that_of_the_model() {
        let data = Catalogue::new(None).radon().unwrap();
        let model =
            mcsa_models::Radon::new(data.counties.len(), data.county, data.floor, data.log_radon).unwrap();
        let (exact, change) = model.log_evidence(1e-5);
        assert!((exact - RADON).abs() < 1e-3 && change < 1e-4, "{exact} {change}");
    }

    /// Curves that rise to an end, half of what is left every so many steps.
    fn verdicts(file: &str, claims: Vec<Claim>, end: fn(&str) -> f64, half: fn(&str) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains(file)).unwrap();
        let rows = |task: &Task, _: u64, step: u64| {
            let kind = task.method().kind();
            vec![("log_z", end(kind) - 1000.0 * 0.5_f64.powf(step as f64 / half(kind)))]
        };
        // The published effort, but of five replicates.
        let mut experiment = entry.experiment().unwrap();
        if let Some(preset) = experiment.presets.get_mut(&PresetName::Paper) {
            preset.replicates = 5;
        }
        let evidence = Evidence::synthetic(experiment, PresetName::Paper, rows);
        claims.iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    /// As drawn, against a truth that lies where the papers' line does.
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
        assert_eq!(verdicts("mcmcse-fig6", radon(), published, half), [Agree; 5]);
        let opposite = |kind: &str| 2.0 * RADON - published(kind) - if kind == "pmcsa" { 20.0 } else { 0.0 };
        let slow = |kind: &str| if kind == "pmcsa" { 900.0 } else { 200.0 };
        assert_eq!(verdicts("mcmcse-fig6", radon(), opposite, slow), [Disagree; 5]);
        assert_eq!(verdicts("mcmcse-fig6", radon(), |_| f64::NAN, half), [TooLittle; 5]);
        assert_eq!(verdicts("cw-fig4b", stock(), published, half), [Agree; 2]);
        assert_eq!(verdicts("cw-fig4b", stock(), opposite, half)[1], Disagree);
        assert_eq!(verdicts("cw-fig4b", stock(), |_| f64::NAN, half), [TooLittle; 2]);
    }
}
