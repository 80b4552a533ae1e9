//! Bounds of models with local latent points (SL-DAIS, Tab. 5).

use std::cmp::Ordering;

use super::gains::{Gains, Shown, interval};
use crate::catalog::{FamilyConfig, SemiConfig};
use crate::claims::{Check, ENOUGH, Finding};
use crate::figures::FigureFile;
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 1] = [("half_of_the_gap", half_of_the_gap)];

const ELBO: Shown = Shown { metric: "elbo", label: "ELBO", unit: ", nats", digits: 1 };

/// Largest distance of a share of the gap from one half that counts as half of it. Ours, since the text has no numbers.
const TOLERANCE: f64 = 0.1;

fn paths<'s>(series: &'s Series<'_>) -> Option<&'s SemiConfig> {
    match series.shape() {
        Some(FamilyConfig::SemiAnnealed(semi)) => Some(semi),
        _ => None,
    }
}

fn gains(results: &Results) -> Gains<'_> {
    let name = |series: &Series<'_>| match paths(series) {
        Some(semi) if semi.steps == 0 => "mean field".to_owned(),
        Some(SemiConfig { steps, shared, step_size, .. }) => {
            let chain = if *shared { "shared" } else { "per datum" };
            format!("*K* = {steps}, {chain}, *η*_{{0}} = {step_size}")
        }
        None => "integrated out".to_owned(),
    };
    Gains::new(results, |series| paths(series).is_some_and(|semi| semi.steps == 0), name)
}

/// Gains over the mean field, a row for each number of steps.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let caption = "Semi-DAIS with *K* steps of each local path, and a mean-field Gaussian for the weights alone with all local points \
                   integrated out, against a mean-field Gaussian for all latent points.";
    vec![gains(results).plate(&[ELBO], "mean field", caption)]
}

/// Bounds of all families.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    vec![gains(results).sheet("Semi-DAIS on a robust regression", &[ELBO])]
}

/// Distance from one half of the share of the gap that most steps close, at the end of its interval that is farther away; for the
/// published form, a chain for each datum, from the longest first steps.
fn half_of_the_gap(results: &Results) -> Finding {
    let gains = gains(results);
    let published = gains.others().filter(|series| paths(series).is_some_and(|semi| !semi.shared));
    let size = |series: &Series<'_>| paths(series).map_or((0, 0.0), |semi| (semi.steps, semi.step_size));
    let longest = published.max_by(|a, b| size(a).partial_cmp(&size(b)).unwrap_or(Ordering::Equal));
    let oracle = gains.others().find(|series| paths(series).is_none());
    let (Some(longest), Some(oracle)) = (longest, oracle) else {
        return Finding::too_little("no fits of the families compared");
    };
    let (ours, whole) = (gains.differences(longest, "elbo"), gains.differences(oracle, "elbo"));
    let shares = ours.iter().filter_map(|(replicate, gain)| Some(gain / whole.get(replicate)?));
    let Some(found) = interval(shares).filter(|found| found.replicates >= ENOUGH) else {
        return Finding::too_little("too few replicates of the families compared");
    };
    let distance = (found.low - 0.5).abs().max((found.high - 0.5).abs());
    let what = format!(
        "distance from 0.5 of the 90 % interval [{:.3}, {:.3}] of the share of the gap that {} steps close",
        found.low,
        found.high,
        paths(longest).map_or(0, |semi| semi.steps)
    );
    Finding::at_most(distance, TOLERANCE, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::task::Task;

    /// Rows in which 16 steps close this share of a gap of 10 nats.
    fn verdicts(preset: PresetName, share: f64) -> Vec<Verdict> {
        let rows = |task: &Task, replicate: u64, _| {
            let gain = match task.fit().map(|fit| &fit.family) {
                Some(FamilyConfig::SemiAnnealed(semi)) => share * 10.0 * semi.steps as f64 / 16.0,
                _ => 10.0,
            };
            vec![("elbo", 3.0 * replicate as f64 + gain)]
        };
        checks("sl-dais/tab5-local-latents", preset, rows)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(verdicts(PresetName::Default, 0.55), [Verdict::Agree]);
        assert_eq!(verdicts(PresetName::Default, 0.7), [Verdict::Disagree]);
        assert_eq!(verdicts(PresetName::Quick, 0.55), [Verdict::TooLittle]);
    }
}
