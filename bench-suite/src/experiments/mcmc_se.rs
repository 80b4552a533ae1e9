//! Bounds of the bias against the divergence (MCMC-SE, Fig. 2), and variances of the score estimate (Fig. 3).

use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};
use mcsa_theory::bounds::mcmc_se;

use crate::catalog::Method;
use crate::claims::{Check, Checked, Finding, greatest, least};
use crate::figures::FigureFile;
use crate::look;
use crate::published::readings;
use crate::results::{Results, Series, medians_of_parts};

/// All curves in one panel; the printed bound of Theorem 1 dotted.
pub(super) fn bounds(_: &Results) -> Vec<FigureFile> {
    let divergences: Vec<f64> = (0..=100).map(|k| 0.1 * f64::from(k)).collect();
    let mut panel = Panel::new(
        Axis::linear("KL(*p* ∥ *q*) = log *w\\**"),
        Axis::linear("Bound of the bias, in units of *L*").spanning(0.0, 1.05),
    );
    for (kind, n) in CURVES {
        let (method, name) = match kind {
            "pmcsa" => (Method::Pmcsa { chains: n }, "pMCSA, any *N*".to_owned()),
            "jsa" => (Method::Jsa { transitions: n }, format!("JSA, *N* = {n}")),
            _ => (Method::Msc { fresh: n - 1 }, format!("MSC, *N* = {n}")),
        };
        let dash = if n == 2 { Dash::Short } else { Dash::Solid };
        let style = Style { dash, ..look::style(&method) };
        let line = Layer::line(divergences.iter().map(|kl| (*kl, bound(kind, n, *kl))));
        panel = panel.with(line.named(name.clone()).styled(style));
        if (kind, n) == ("jsa", 8) {
            let printed = |kl: &f64| (*kl, mcmc_se::sequential_bias_as_printed(1.0, kl.exp(), n));
            let points = divergences.iter().map(printed).filter(|(_, bound)| *bound >= 0.0);
            let dotted = Style { dash: Dash::Dotted, ..style };
            panel = panel.with(Layer::line(points).named(format!("{name}, as printed")).styled(dotted));
        }
    }
    let caption = "Computed from the formulas. The printed bound of one chain lacks its remainder, and is negative below \
                   log 4.";
    vec![FigureFile::new("bound", Figure::new(vec![panel]).wide(110.0).captioned(caption))]
}

pub(super) const CHECKS: [(&str, Check); 8] = [
    ("passes", |_| Ok(passes(bound))),
    ("saturates", |_| Ok(saturates(bound))),
    ("is_printed", |_| Ok(is_printed(bound))),
    ("single_gains_little", |results| single_gains_little(results, "variance")),
    ("single_gains_little_as_published", |results| single_gains_little(results, "pooled_variance")),
    ("parallel_gains", parallel_gains),
    ("parallel_is_least", parallel_is_least),
    ("equally_biased", equally_biased),
];

/// Curves of the figure: kind of method, and `N`.
const CURVES: [(&str, usize); 5] = [("pmcsa", 8), ("jsa", 2), ("jsa", 8), ("msc", 2), ("msc", 8)];

/// Bound of a curve at a divergence, in units of the score's range, with `w* = exp KL`.
fn bound(kind: &str, n: usize, divergence: f64) -> f64 {
    let w_star = divergence.exp();
    match kind {
        "pmcsa" => mcmc_se::parallel_bias(1.0, w_star),
        "jsa" => mcmc_se::sequential_bias(1.0, w_star, n),
        _ => mcmc_se::cis_bias(1.0, w_star, n),
    }
}

type Bound = fn(&str, usize, f64) -> f64;

/// Distances from points that were read off the published figure, to three digits.
fn passes(bound: Bound) -> Finding {
    let off = CURVES.into_iter().flat_map(|(kind, n)| {
        let points = readings("MCMC-SE, Fig. 2", &format!("{kind} {n}")).into_iter();
        points.map(move |(divergence, read)| (bound(kind, n, divergence) - read).abs())
    });
    Finding::at_most(greatest(off), 0.001, "largest distance from a point that was read off")
}

fn saturates(bound: Bound) -> Finding {
    Finding::at_least(
        least(CURVES.map(|(kind, n)| bound(kind, n, 5.0))),
        0.97,
        "least bound at a divergence of 5",
    )
}

fn is_printed(bound: Bound) -> Finding {
    let off = (0..=50).flat_map(|k| [2, 8].map(|n| (n, 0.2 * f64::from(k))));
    let off = off
        .map(|(n, kl)| (bound("jsa", n, kl) - mcmc_se::sequential_bias_as_printed(1.0, kl.exp(), n)).abs());
    Finding::at_most(greatest(off), 0.01, "largest distance of the curve of one chain from the printed bound")
}

const BUDGETS: [usize; 3] = [4, 8, 16];

/// Medians of a metric of one method in groups by divergence.
fn parts(results: &Results, kind: &str, budget: usize, name: &str, parts: usize) -> Vec<f64> {
    let is_it = |series: &Series<'_>| series.method().kind() == kind && series.method().budget() == budget;
    let points = results.find(is_it).map(|series| series.pairs("kl", name)).unwrap_or_default();
    medians_of_parts(points, parts).into_iter().map(|point| point.1).collect()
}

/// The last tenth by divergence counts as far from the target.
fn single_gains_little(results: &Results, name: &str) -> Checked {
    let far = |kind, budget| parts(results, kind, budget, name, 10).last().copied().unwrap_or(f64::NAN);
    let ratios = ["jsa", "msc"].map(|kind| far(kind, 16) / far(kind, 4));
    let what = "median variance at N = 16 over that at N = 4 in the last tenth by divergence, the less of JSA and MSC";
    Ok(Finding::at_least(least(ratios), 0.6, what))
}

fn parallel_gains(results: &Results) -> Checked {
    let [few, many] = [4, 16].map(|budget| parts(results, "pmcsa", budget, "variance", 4));
    let off = few.iter().zip(&many).map(|(few, many)| (4.0 * many / few).ln().abs());
    let what = "largest log of four times the ratio of median variances at N = 16 and N = 4, over quarters by divergence";
    Ok(Finding::at_most(greatest(off), 0.26, what))
}

/// Numbers of medians of pMCSA and of JSA or MSC in quarters by divergence, for all N: those of two metrics each.
fn quarters(results: &Results, name: &str, number: fn(f64, f64, f64) -> f64) -> Vec<f64> {
    let compared = |(budget, kind): (usize, &str)| {
        let of = |kind, name| parts(results, kind, budget, name, 4);
        let single = of(kind, name).into_iter().zip(of(kind, "variance"));
        let numbers = of("pmcsa", name).into_iter().zip(single);
        numbers.map(|(ours, (theirs, variance))| number(ours, theirs, variance)).collect::<Vec<f64>>()
    };
    BUDGETS
        .into_iter()
        .flat_map(|budget| ["jsa", "msc"].map(|kind| (budget, kind)))
        .flat_map(compared)
        .collect()
}

fn parallel_is_least(results: &Results) -> Checked {
    let ratios = quarters(results, "variance", |parallel, single, _| parallel / single);
    let what =
        "median variance of pMCSA over that of JSA or MSC, the largest over N and quarters by divergence";
    Ok(Finding::at_most(greatest(ratios), 1.0, what))
}

/// Differences in units of `sqrt(variance / 128)`, the standard error of a mean over 128 chains.
fn equally_biased(results: &Results) -> Checked {
    let off = quarters(results, "bias", |parallel, single, variance| {
        (parallel - single).abs() / (variance / 128.0).sqrt()
    });
    let what = "largest difference of median biases between pMCSA and the others in units of the error of a mean, over N and \
                quarters by divergence";
    Ok(Finding::at_most(greatest(off), 1.0, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};

    fn verdicts(bound: Bound) -> [Verdict; 3] {
        [passes(bound), saturates(bound), is_printed(bound)].map(|finding| finding.verdict)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(verdicts(bound), [Agree, Agree, Disagree]);
        let printed = |_: &str, n, kl: f64| mcmc_se::sequential_bias_as_printed(1.0, kl.exp(), n);
        assert_eq!(verdicts(printed)[2], Agree);
        assert_eq!(verdicts(|_, _, _| 0.5), [Disagree; 3]);
        assert_eq!(verdicts(|_, _, _| f64::NAN), [TooLittle; 3]);
    }
}
