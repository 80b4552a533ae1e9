//! Claims on bounds of the bias as functions of the divergence.

use mcsa_theory::bounds::mcmc_se;

use super::{Claim, Finding, greatest, least};

/// Claims of MCMC-SE on its Fig. 2.
pub fn bias_bound() -> Vec<Claim> {
    vec![
        Claim {
            citation: "MCMC-SE, Fig. 2",
            sentence: "The curves pass through the points that can be read off at divergences of 0 and 2.449.",
            judge: |_| passes(at),
        },
        Claim {
            citation: "MCMC-SE, Fig. 2",
            sentence: "At a divergence of 5, no bound is below 97 % of the range of the score: more draws do not help.",
            judge: |_| saturates(at),
        },
        Claim {
            citation: "MCMC-SE, Thm. 1",
            sentence: "What is drawn for one chain is the bound of the theorem, L (1 - N / (2 w*)).",
            judge: |_| is_printed(at),
        },
    ]
}

/// Curves of the figure: kind of method, and `N`.
pub(crate) const CURVES: [(&str, usize); 5] = [("pmcsa", 8), ("jsa", 2), ("jsa", 8), ("msc", 2), ("msc", 8)];

/// Bound of a curve at a divergence, in units of the score's range, with `w* = exp KL`.
pub(crate) fn at(kind: &str, n: usize, divergence: f64) -> f64 {
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
