//! Checks of claims on ranks and on the best method.

use super::board::{Board, is_scalable, name};
use crate::catalog::{AnnealedConfig, FamilyConfig};
use crate::claims::{Check, ENOUGH, Finding, Verdict};
use crate::interval::{Interval, bootstrap};
use crate::results::{Results, Series};

/// Level of the intervals of all claims.
const LEVEL: f64 = 0.9;

/// Difference of mean log predictive densities below which two methods predict alike, nats per label.
const ALIKE: f64 = 0.005;

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 5] = [
    ("surrogate_ranks_above_subsampling", |results| sl_above_ns(results, "elbo")),
    ("surrogate_predicts_above_subsampling", |results| sl_above_ns(results, "lpd")),
    ("flow_and_surrogate_rank_best", flow_and_sl_are_best),
    ("best_fit_predicts_as_chains", best_fit_as_chains),
    ("settings_decide_nothing", settings_decide_nothing),
];

/// Finding that a mean is at least a threshold, by its interval: open if the threshold is inside.
fn by_interval(values: &[f64], threshold: f64, what: &str) -> Finding {
    match bootstrap(values, LEVEL) {
        Some(found) if found.replicates >= ENOUGH => decide(found, threshold, what),
        _ => Finding::too_little(format!("fewer than three splits: {what}")),
    }
}

fn decide(Interval { value, low, high, .. }: Interval, threshold: f64, what: &str) -> Finding {
    let words = format!("{what}, 90 % interval {low:.3} to {high:.3}");
    let found = Finding::at_least(value, threshold, words);
    let is_decided = (low >= threshold && value >= threshold) || (high < threshold && value < threshold);
    if is_decided || found.number.is_nan() { found } else { Finding { verdict: Verdict::TooLittle, ..found } }
}

/// Mean rank of NS-DAIS less that of SL-DAIS, averaged over their numbers of steps, for every split.
fn sl_above_ns(results: &Results, metric: &str) -> Finding {
    let ranks = Board::of(results).ranks(metric);
    let of = |prefix: &str| ranks.iter().filter(|(name, _)| name.starts_with(prefix)).collect::<Vec<_>>();
    let (naive, surrogate) = (of("NS-DAIS"), of("SL-DAIS"));
    let splits = ranks.first().map_or(0, |(_, ranks)| ranks.len());
    let mean = |all: &[&(String, Vec<f64>)], r: usize| {
        all.iter().map(|(_, ranks)| ranks[r]).sum::<f64>() / all.len() as f64
    };
    let values: Vec<f64> = (0..splits).map(|r| mean(&naive, r) - mean(&surrogate, r)).collect();
    by_interval(&values, 0.0, "mean rank of NS-DAIS less that of SL-DAIS with as many steps")
}

/// Least mean rank of the other methods less the greatest of the flow's and of the better of SL-DAIS, for every split.
fn flow_and_sl_are_best(results: &Results) -> Finding {
    let ranks = Board::of(results).ranks("elbo");
    let splits = ranks.first().map_or(0, |(_, ranks)| ranks.len());
    let is_sl = |name: &str| name.starts_with("SL-DAIS");
    let is_flow = |name: &str| name == "B-NAF";
    let values = (0..splits).map(|r| {
        let least = |is: &dyn Fn(&str) -> bool| {
            ranks.iter().filter(|(name, _)| is(name)).map(|(_, ranks)| ranks[r]).fold(f64::INFINITY, f64::min)
        };
        least(&|name| !is_sl(name) && !is_flow(name)) - least(&is_sl).max(least(&is_flow))
    });
    let what =
        "best mean rank on the bound of other methods less the worse of those of the flow and of SL-DAIS";
    by_interval(&values.collect::<Vec<f64>>(), 0.0, what)
}

/// Log predictive density of the scalable fit with the best mean less that of HMCECS: the least of all data sets.
fn best_fit_as_chains(results: &Results) -> Finding {
    let board = Board::of(results);
    let mut worst: Option<(Interval, String)> = None;
    for (label, all) in &board.sets {
        let Some(chains) = all.iter().find(|series| series.method().kind() == "hmcecs") else { continue };
        let gain = |series: &Series<'_>| bootstrap(&series.differences(chains, "lpd"), LEVEL);
        let fits = all.iter().filter(|series| is_scalable(series));
        let best = fits.filter_map(|series| Some((gain(series)?, format!("{} on {label}", name(series)))));
        let Some(best) = best.max_by(|a, b| a.0.value.total_cmp(&b.0.value)) else { continue };
        if worst.as_ref().is_none_or(|(known, _)| best.0.value < known.value) {
            worst = Some(best);
        }
    }
    match worst {
        Some((found, words)) if found.replicates >= ENOUGH => {
            let what =
                format!("log predictive density of the best scalable fit less that of HMCECS: {words}");
            decide(found, -ALIKE, &what)
        }
        _ => Finding::too_little("fewer than three splits of HMCECS"),
    }
}

/// Number of variants of settings in which SL-DAIS with the most steps loses a bound to NS-DAIS or to the mean field although it wins
/// with the usual settings, or the reverse; only differences whose interval excludes zero count.
fn settings_decide_nothing(results: &Results) -> Finding {
    let board = Board::of(results);
    let usual: Vec<&Series<'_>> = board.sets.iter().flat_map(|(_, all)| all).collect();
    let (mut changed, mut compared, mut words) = (0, 0, Vec::new());
    for variant in board.variants.iter().filter(|series| name(series).starts_with("SL-DAIS")) {
        let is_usual = |series: &&&Series<'_>| {
            series.target().data() == variant.target().data() && name(series) == name(variant)
        };
        let Some(own) = usual.iter().find(is_usual) else { continue };
        let all = || usual.iter().copied().chain(&board.variants);
        for is_rival in [is_mean_field as fn(&Series<'_>) -> bool, is_naive] {
            let rival = |of: &Series<'_>| {
                let is_it = |other: &&Series<'_>| {
                    is_rival(other)
                        && other.target() == of.target()
                        && (is_mean_field(other) || is_set_as(other, of))
                };
                all().find(is_it).and_then(|other| bootstrap(&of.differences(other, "elbo"), LEVEL))
            };
            let (Some(there), Some(here)) = (rival(own), rival(variant)) else { continue };
            compared += 1;
            if sign(there) * sign(here) < 0 {
                changed += 1;
                words.push(format!("{} on {}", name(variant), variant.target().title()));
            }
        }
    }
    if compared == 0 || results.replicates() < ENOUGH {
        return Finding::too_little("no variants of settings, or fewer than three splits");
    }
    let what = format!(
        "comparisons, of {compared} with other prior scales, numbers of points, first steps and rates, that have the opposite sign {}",
        words.join("; ")
    );
    Finding::at_most(f64::from(changed), 0.0, what.trim())
}

/// Sign of a difference; 0 if its interval contains zero.
fn sign(found: Interval) -> i32 {
    i32::from(found.low > 0.0) - i32::from(found.high < 0.0)
}

fn is_mean_field(series: &Series<'_>) -> bool {
    matches!(series.shape(), Some(FamilyConfig::MeanField { .. }))
}

fn is_naive(series: &Series<'_>) -> bool {
    name(series).starts_with("NS-DAIS")
}

/// Returns true if two annealed paths differ in their surrogates alone.
fn is_set_as(a: &Series<'_>, b: &Series<'_>) -> bool {
    match (a.shape(), b.shape()) {
        (Some(FamilyConfig::Annealed(a)), Some(FamilyConfig::Annealed(b))) => {
            AnnealedConfig { surrogate: b.surrogate, ..a.clone() } == *b
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Ansatz, FamilyConfig};
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests::{checks, results};
    use crate::experiment::PresetName;
    use crate::task::Task;

    const ID: &str = "sl-dais/fig2-ranks";

    /// Level of a method: the flow, then SL-DAIS, DAIS, NS-DAIS, the mean field, the Gaussian.
    fn level(task: &Task) -> f64 {
        match task.fit().map(|fit| &fit.family) {
            Some(FamilyConfig::BlockNeural { .. }) => 5.0,
            Some(FamilyConfig::Annealed(annealed)) => match annealed.surrogate {
                Ansatz::Minibatch => 2.0,
                Ansatz::Posterior => 3.0,
                _ => 4.0,
            },
            Some(FamilyConfig::MeanField { .. }) => 1.0,
            _ => 0.0,
        }
    }

    /// Verdicts if all levels are multiplied, those of other priors by another number.
    fn found(preset: PresetName, factor: impl Fn(u64) -> f64, other: f64, chains: f64) -> Vec<Verdict> {
        checks(ID, preset, |task, replicate, _| {
            let factor = if task.target().label().contains("prior") { other } else { factor(replicate) };
            let level = if task.fit().is_none() { chains } else { factor * level(task) };
            vec![("elbo", level), ("lpd", 0.01 * level), ("accuracy", 0.1 * level)]
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(found(PresetName::Default, |_| 1.0, 1.0, 4.0), [Agree; 5]);
        assert_eq!(found(PresetName::Default, |_| -1.0, 1.0, 4.0), [Disagree; 5]);
        assert_eq!(found(PresetName::Quick, |_| 1.0, 1.0, 4.0), [TooLittle; 5]);
        let mixed =
            found(PresetName::Default, |replicate| if replicate % 2 == 0 { 1.0 } else { -1.0 }, 1.0, 4.0);
        assert_eq!(mixed[..3], [TooLittle; 3]);
    }

    /// DAIS, which is expensive, has fewer replicates; the ranks are those of all splits nevertheless.
    #[test]
    fn all_splits_are_ranked() {
        let results = results(ID, PresetName::Default, |task, _, _| vec![("elbo", level(task))]);
        let dais = results.find(|series| level(series.task) == 3.0).unwrap();
        assert_eq!((dais.outcomes.len(), results.replicates()), (3, 5));
        let ranks = super::Board::of(&results).ranks("elbo");
        let named: Vec<(&str, &[f64])> =
            ranks.iter().map(|(name, ranks)| (name.as_str(), &ranks[..])).collect();
        assert_eq!(
            named,
            [
                ("mean field", &[6.0; 5][..]),
                ("Gaussian", &[7.0; 5]),
                ("B-NAF", &[1.0; 5]),
                ("NS-DAIS 4", &[4.5; 5]),
                ("SL-DAIS 4", &[2.5; 5]),
                ("NS-DAIS 8", &[4.5; 5]),
                ("SL-DAIS 8", &[2.5; 5]),
            ]
        );
    }
}
