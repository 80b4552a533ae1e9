//! Bounds of the bias against the divergence (MCMC-SE, Fig. 2).

use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};
use mcsa_theory::bounds::mcmc_se;

use crate::catalog::Method;
use crate::claims::{Check, Finding, greatest, least};
use crate::figures::FigureFile;
use crate::look;
use crate::results::Results;

/// All curves in one panel; the printed bound of Theorem 1 dotted.
pub(crate) fn figures(_: &Results) -> Vec<FigureFile> {
    let divergences: Vec<f64> = (0..=100).map(|k| 0.1 * f64::from(k)).collect();
    let mut panel = Panel::new(
        Axis::linear("KL(*p* ∥ *q*) = log *w\\**"),
        Axis::linear("Bound of the bias, in units of *L*").spanning(0.0, 1.05),
    );
    for (kind, n) in CURVES {
        let method = match kind {
            "pmcsa" => Method::Pmcsa { chains: n },
            "jsa" => Method::Jsa { transitions: n },
            _ => Method::Msc { fresh: n - 1 },
        };
        let dash = if n == 2 { Dash::Short } else { Dash::Solid };
        let style = Style { dash, ..look::style(&method) };
        let bound: Vec<f64> = divergences.iter().map(|kl| at(kind, n, *kl)).collect();
        let name = if kind == "pmcsa" {
            "pMCSA, any *N*".to_owned()
        } else {
            format!("{}, *N* = {n}", look::name(kind))
        };
        panel = panel.with(Layer::line(divergences.clone(), bound).named(name).styled(style));
        if (kind, n) == ("jsa", 8) {
            let printed = divergences
                .iter()
                .map(|kl| mcmc_se::sequential_bias_as_printed(1.0, kl.exp(), n))
                .collect::<Vec<_>>();
            let (x, y): (Vec<f64>, Vec<f64>) =
                divergences.iter().copied().zip(printed).filter(|(_, bound)| *bound >= 0.0).unzip();
            let dotted = Style { dash: Dash::Dotted, ..style };
            panel = panel.with(Layer::line(x, y).named("JSA, *N* = 8, as printed").styled(dotted));
        }
    }
    let caption = "Computed from the formulas. The printed bound of one chain lacks its remainder, and is negative below \
                   log 4.";
    vec![FigureFile::new("bound", Figure::new(vec![panel]).wide(110.0).captioned(caption))]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] =
    [("passes", |_| passes(at)), ("saturates", |_| saturates(at)), ("is_printed", |_| is_printed(at))];

/// Curves of the figure: kind of method, and `N`.
const CURVES: [(&str, usize); 5] = [("pmcsa", 8), ("jsa", 2), ("jsa", 8), ("msc", 2), ("msc", 8)];

/// Bound of a curve at a divergence, in units of the score's range, with `w* = exp KL`.
fn at(kind: &str, n: usize, divergence: f64) -> f64 {
    let w_star = divergence.exp();
    match kind {
        "pmcsa" => mcmc_se::parallel_bias(1.0, w_star),
        "jsa" => mcmc_se::sequential_bias(1.0, w_star, n),
        _ => mcmc_se::cis_bias(1.0, w_star, n),
    }
}

type Bound = fn(&str, usize, f64) -> f64;

/// Values read off the published figure, to three digits.
const READ: [(&str, usize, f64, f64); 7] = [
    ("pmcsa", 8, 2.449, 0.914),
    ("jsa", 2, 2.449, 0.874),
    ("jsa", 8, 2.449, 0.680),
    ("msc", 2, 2.449, 0.957),
    ("msc", 8, 2.449, 0.760),
    ("msc", 2, 0.0, 0.5),
    ("msc", 8, 0.0, 0.125),
];

fn passes(bound: Bound) -> Finding {
    let off = READ.map(|(kind, n, divergence, read)| (bound(kind, n, divergence) - read).abs());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};

    fn verdicts(bound: Bound) -> [Verdict; 3] {
        [passes(bound), saturates(bound), is_printed(bound)].map(|finding| finding.verdict)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(verdicts(at), [Agree, Agree, Disagree]);
        let printed = |_: &str, n, kl: f64| mcmc_se::sequential_bias_as_printed(1.0, kl.exp(), n);
        assert_eq!(verdicts(printed)[2], Agree);
        assert_eq!(verdicts(|_, _, _| 0.5), [Disagree; 3]);
        assert_eq!(verdicts(|_, _, _| f64::NAN), [TooLittle; 3]);
    }
}
