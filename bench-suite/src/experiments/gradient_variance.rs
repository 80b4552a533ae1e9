//! Variance of the direction along fits, a panel for each method (pMCSA).

use mcsa_plot::{Axis, Figure, Layer, Marker, Panel, Style};

use crate::catalog::Method;
use crate::claims::curves::Curves;
use crate::claims::resampling::median;
use crate::claims::{Check, Finding, greatest, least};
use crate::figures::Plate;
use crate::figures::curves::{provenance, with_medians};
use crate::look;
use crate::published;
use crate::results::Results;

/// N in the papers.
const BUDGETS: [usize; 5] = [8, 16, 32, 64, 128];

/// Curves from light to dark with growing N; rings are values read off the published figure.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let panels = ["pmcsa", "jsa", "msc", "msc-rb"].map(|kind| {
        let y = Axis::log("Var(*g*)").spanning(3e-3, 4e3);
        let mut panel = Panel::new(Axis::linear("Iteration"), y).titled(look::name(kind));
        let mut series = results.series();
        series.retain(|series| series.method().kind() == kind);
        let shade = |budget: usize, method: &Method| {
            let member = BUDGETS.iter().position(|known| *known == budget).unwrap_or(0);
            look::shade(method, member, BUDGETS.len())
        };
        panel = with_medians(panel, &series, "variance", 0, |series| {
            let budget = series.method().budget();
            (format!("*N* = {budget}"), shade(budget, series.method()))
        });
        let last = series.iter().filter_map(|series| series.steps().last().copied()).max().unwrap_or(0);
        for series in &series {
            let budget = series.method().budget();
            let readings =
                published::readings("pMCSA, gradient variance figure", &format!("{kind} {budget}"));
            let (x, y): (Vec<f64>, Vec<f64>) =
                readings.into_iter().filter(|(step, _)| *step <= last as f64).unzip();
            let ring = Style { marker: Marker::Ring, ..shade(budget, series.method()) }.sized(3.4);
            panel = panel.with(Layer::points(x, y).styled(ring));
        }
        panel
    });
    let caption = format!(
        "Sum of the variances of all components. {} Rings: read off the published figure.",
        provenance(results)
    );
    let mut figure = Figure::new(panels.into()).as_multiples(4).shaped(1.25).captioned(caption);
    figure.shares_legend = false;
    vec![Plate::new("variance", figure)]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 5] = [
    ("parallel_is_least", parallel_is_least),
    ("parallel_falls", parallel_falls),
    ("single_stays", single_stays),
    ("others_gain_little_early", others_gain_little_early),
    ("others_gain_late", others_gain_late),
];

/// Variance curves of methods with their N; `None` if one has not been run.
fn curves(results: &Results, methods: &[(&str, usize)]) -> Option<Curves> {
    let series = |(kind, budget): &(&str, usize)| results.find(|series| series.is(kind, *budget));
    Curves::of(&methods.iter().map(series).collect::<Option<Vec<_>>>()?, "variance")
}

/// Variance curves of kinds of methods, each with the smallest and the largest N.
fn ends(results: &Results, kinds: &[&'static str]) -> Option<Curves> {
    let methods: Vec<_> = kinds.iter().flat_map(|kind| [(*kind, 8), (*kind, 128)]).collect();
    curves(results, &methods)
}

/// Ratio of median variances in each pair of curves, first over second, at each step within `from..=to`.
fn gains(curves: &Curves, columns: &[Vec<f64>], from: u64, to: u64) -> Vec<(u64, f64)> {
    let each = curves.each(columns, median);
    let pairs = each.chunks(2).flat_map(|pair| {
        curves.steps.iter().zip(pair[0].iter().zip(&pair[1])).map(|(step, (few, many))| (*step, few / many))
    });
    pairs.filter(|(step, _)| (from..=to).contains(step)).collect()
}

/// Smallest and largest gain with their steps, in words.
fn range(gains: &[(u64, f64)]) -> String {
    let by_gain = |a: &&(u64, f64), b: &&(u64, f64)| a.1.total_cmp(&b.1);
    let ends = [gains.iter().min_by(by_gain), gains.iter().max_by(by_gain)];
    let [Some((first, low)), Some((second, high))] = ends else { return "none".to_owned() };
    format!("{low:.1} at iteration {first} to {high:.1} at {second}")
}

const ALWAYS: u64 = u64::MAX;
const MISSING: &str = "no variances of every method with N of 8 and 128";

fn parallel_is_least(results: &Results) -> Finding {
    let kinds = ["pmcsa", "jsa", "msc", "msc-rb"];
    let budgets = [8, 16, 32, 64, 128].into_iter().filter(|n| results.find(|s| s.is("pmcsa", *n)).is_some());
    let methods: Vec<_> = budgets.flat_map(|n| kinds.map(|kind| (kind, n))).collect();
    let Some(curves) = curves(results, &methods) else { return Finding::too_little(MISSING) };
    let ratio = |columns: &[Vec<f64>]| {
        let each = curves.each(columns, median);
        least(each.chunks(4).flat_map(|all| {
            all[1..].iter().flat_map(|other| other.iter().zip(&all[0]).map(|(other, own)| other / own))
        }))
    };
    let what = "median variance of any other method over that of pMCSA, least over iterations and N";
    Finding::at_least_of(&curves.columns, ratio, 1.0, what)
}

/// Finding for the claim that all gains of a method are within a range. The number is the largest factor by which one is
/// outside: at most 1 if all are inside.
fn within(results: &Results, kind: &'static str, low: f64, high: f64, what: &str) -> Finding {
    let Some(curves) = ends(results, &[kind]) else { return Finding::too_little(MISSING) };
    let outside = |columns: &[Vec<f64>]| {
        greatest(
            gains(&curves, columns, 0, ALWAYS).iter().map(|(_, gain)| greatest([gain / high, low / gain])),
        )
    };
    let found = range(&gains(&curves, &curves.columns, 0, ALWAYS));
    let what =
        format!("gain of {what}, {found}, beyond the border of [{low:.2}, {high}], in units of the border");
    Finding::at_most_of(&curves.columns, outside, 1.0, &what)
}

fn parallel_falls(results: &Results) -> Finding {
    within(results, "pmcsa", 10.0, 30.0, "pMCSA")
}

fn single_stays(results: &Results) -> Finding {
    within(results, "msc", 1.0 / 1.4, 1.4, "MSC")
}

fn others_gain_little_early(results: &Results) -> Finding {
    let Some(curves) = ends(results, &["jsa", "msc-rb"]) else { return Finding::too_little(MISSING) };
    let early =
        |columns: &[Vec<f64>]| greatest(gains(&curves, columns, 0, 2_000).iter().map(|(_, gain)| *gain));
    let found = range(&gains(&curves, &curves.columns, 0, 2_000));
    let what = format!("largest gain of JSA and MSC-RB up to iteration 2000; they are {found}");
    Finding::at_most_of(&curves.columns, early, 2.0, &what)
}

fn others_gain_late(results: &Results) -> Finding {
    let Some(curves) = ends(results, &["jsa", "msc-rb"]) else { return Finding::too_little(MISSING) };
    let late =
        |columns: &[Vec<f64>]| least(gains(&curves, columns, 9_750, 9_850).iter().map(|(_, gain)| *gain));
    let what = "gain at iteration 9800, the smaller of JSA and MSC-RB";
    Finding::at_least_of(&curves.columns, late, 3.0, what)
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict;
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::kinds::Task;

    fn verdicts(variance: fn(&str, f64, u64) -> f64) -> Vec<Verdict> {
        let rows = |task: &Task, _: u64, step: u64| {
            let (kind, budget) = (task.method().kind(), task.method().budget() as f64);
            vec![("variance", variance(kind, budget, step))]
        };
        checks("mcsa-fig-gradvar", PresetName::Default, rows)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let published = |kind: &str, n: f64, step: u64| match kind {
            "pmcsa" => 64.6 / n,
            "msc" => 100.0,
            _ if step <= 2_000 => 50.0,
            _ => 70.0 / n.sqrt(),
        };
        assert_eq!(verdicts(published), [Verdict::Agree; 5]);
        let opposite = |kind: &str, n: f64, step: u64| match kind {
            "pmcsa" => 64.6,
            "msc" => 10.0 / n,
            _ if step <= 2_000 => 50.0 / n,
            _ => 70.0,
        };
        assert_eq!(verdicts(opposite), [Verdict::Disagree; 5]);
        assert_eq!(verdicts(|_, _, _| f64::NAN), [Verdict::TooLittle; 5]);
    }
}
