//! Divergence against steps, a panel for each N (CW, Fig. 6).

use mcsa_plot::{Axis, Figure, Panel};

use crate::claims::curves::Curves;
use crate::claims::resampling::median;
use crate::claims::{Check, Finding, greatest, least};
use crate::figures::Plate;
use crate::figures::curves::{by_method, provenance, with_medians};
use crate::results::{Results, Series};

/// One figure with the methods of the paper, one with all.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let published = |series: &Series<'_>| matches!(series.method().kind(), "pmcsa" | "msc" | "msc-rb");
    vec![Plate::new("published", figure(results, published)), Plate::new("all", figure(results, |_| true))]
}

fn figure(results: &Results, is_shown: impl Fn(&Series<'_>) -> bool) -> Figure {
    let panels = [4, 16, 64].map(|budget| {
        let panel = Panel::new(Axis::linear("Iteration"), Axis::log("KL(*p* ∥ *q*)"))
            .titled(format!("*N* = {budget}"));
        let mut series = results.series();
        series.retain(|series| series.method().budget() == budget && is_shown(series));
        with_medians(panel, &series, "kl", 0, by_method)
    });
    Figure::new(panels.into()).as_multiples(3).shaped(0.8).captioned(provenance(results))
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] = [
    ("parallel_is_first", parallel_is_first),
    ("single_overshoots", single_overshoots),
    ("parallel_does_not", parallel_does_not),
];

const BUDGETS: [usize; 3] = [4, 16, 64];

/// Divergence curves of methods with their N; `None` if one has not been run.
fn curves(results: &Results, methods: &[(&str, usize)]) -> Option<Curves> {
    let series = |(kind, budget): &(&str, usize)| results.find(|series| series.is(kind, *budget));
    Curves::of(&methods.iter().map(series).collect::<Option<Vec<_>>>()?, "kl")
}

/// Largest rise of a curve above its minimum so far, divided by its first value.
fn rise(curve: &[f64]) -> f64 {
    let (mut least, mut rise) = (curve[0], 0.0_f64);
    for value in curve {
        rise = rise.max(value - least);
        least = least.min(*value);
    }
    rise / curve[0]
}

fn parallel_is_first(results: &Results) -> Finding {
    let methods: Vec<_> =
        BUDGETS.iter().flat_map(|n| ["pmcsa", "msc", "msc-rb"].map(|kind| (kind, *n))).collect();
    let Some(curves) = curves(results, &methods) else { return Finding::too_little(MISSING) };
    let worst = |columns: &[Vec<f64>]| {
        let half_time = |curve: &Vec<f64>| curves.first(curve, |value| value <= 0.5 * curve[0]);
        let times: Vec<f64> = curves.each(columns, median).iter().map(half_time).collect();
        least(times.chunks(3).map(|times| least([times[1], times[2]]) / times[0]))
    };
    let what = "half-time of the faster of MSC and MSC-RB over that of pMCSA, least over N";
    Finding::at_least_of(&curves.columns, worst, 1.0, what)
}

const RISES: &str = "largest rise of the median divergence, in units of the first";

fn single_overshoots(results: &Results) -> Finding {
    let Some(curves) = curves(results, &[("msc", 64), ("msc-rb", 64)]) else {
        return Finding::too_little(MISSING);
    };
    let smaller = |columns: &[Vec<f64>]| least(curves.each(columns, median).iter().map(|curve| rise(curve)));
    Finding::at_least_of(&curves.columns, smaller, RISE, &format!("{RISES}, the smaller of both"))
}

fn parallel_does_not(results: &Results) -> Finding {
    let Some(curves) = curves(results, &[("pmcsa", 16), ("pmcsa", 64)]) else {
        return Finding::too_little(MISSING);
    };
    let larger =
        |columns: &[Vec<f64>]| greatest(curves.each(columns, median).iter().map(|curve| rise(curve)));
    Finding::at_most_of(&curves.columns, larger, RISE, &format!("{RISES}, the larger of both"))
}

const MISSING: &str = "not every method was run with every N";

/// Smallest rise that counts, as a fraction of the first divergence.
const RISE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests::{checks, results, verdicts};
    use crate::experiment::PresetName;
    use crate::kinds::Task;

    const ID: &str = "k003-fig6-isotropic-gaussian";

    /// A divergence that decreases at a rate, with a bump half way.
    fn found(rate: fn(&str) -> f64, bump: fn(&str) -> f64) -> Vec<Verdict> {
        checks(ID, PresetName::Quick, |task: &Task, _, step| {
            let kind = task.method().kind();
            let bumped = if step == 1500 { bump(kind) } else { 0.0 };
            vec![("kl", 100.0 * (-(step as f64) * rate(kind)).exp() + bumped)]
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let fast = |kind: &str| if kind == "pmcsa" { 4e-3 } else { 1e-3 };
        let slow = |kind: &str| if kind == "pmcsa" { 1e-3 } else { 4e-3 };
        let smooth = |kind: &str| if kind == "pmcsa" { 0.0 } else { 20.0 };
        let rough = |kind: &str| if kind == "pmcsa" { 20.0 } else { 0.0 };
        assert_eq!(found(fast, smooth), [Agree; 3]);
        assert_eq!(found(slow, rough), [Disagree; 3]);
        let mut empty = results(ID, PresetName::Quick, |_, _, _| vec![]);
        assert_eq!(verdicts(&empty), [TooLittle; 3]);
        empty.outcomes.clear();
        assert_eq!(verdicts(&empty), [TooLittle; 3]);
    }
}
