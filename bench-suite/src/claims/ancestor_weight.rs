//! Claims on the ancestor weight of conditional SMC.

use mcsa_core::Seed;

use super::{Claim, Finding};
use crate::as_published::{Ancestry, TwoStates};

/// Number of sweeps from which moments are estimated.
const SWEEPS: usize = 200_000;

/// Claims of MSC on its Alg. 4.
pub fn ancestor_weight() -> Vec<Claim> {
    vec![
        Claim {
            citation: "MSC, Alg. 4",
            sentence: "With ancestors sampled by the printed weight, the posterior of the path is invariant.",
            judge: |_| invariant(&moments(Ancestry::Printed, 2)),
        },
        Claim {
            citation: "ours",
            sentence: "With the weight w p(x | z) p(z' | z) / psi(z) it is.",
            judge: |_| invariant(&moments(Ancestry::Correct, 2)),
        },
        Claim {
            citation: "ours",
            sentence: "With ten particles the variance under the printed weight is still off, by more than a twentieth.",
            judge: |_| still_off(&moments(Ancestry::Printed, 10)),
        },
    ]
}

/// Estimated mean and variance of the first state, standard error of the variance, and exact mean and variance.
pub(crate) struct Moments {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    pub(crate) error: f64,
    pub(crate) exact: (f64, f64),
}

pub(crate) fn moments(ancestry: Ancestry, particles: usize) -> Moments {
    let scene = TwoStates::default();
    let mut stream = Seed::new(1).named("ancestors").stream(0, 0);
    of(&scene.first_states(ancestry, particles, SWEEPS, &mut stream), scene.exact())
}

/// Moments with a standard error from means over blocks of 400 sweeps, far longer than the autocorrelation time.
fn of(states: &[f64], exact: (f64, f64)) -> Moments {
    let count = states.len() as f64;
    let mean = states.iter().sum::<f64>() / count;
    let square = |z: &f64| (z - mean).powi(2);
    let variance = states.iter().map(square).sum::<f64>() / count;
    let blocks: Vec<f64> =
        states.chunks(400).map(|block| block.iter().map(square).sum::<f64>() / block.len() as f64).collect();
    let spread = blocks.iter().map(|block| (block - variance).powi(2)).sum::<f64>();
    let number = blocks.len() as f64;
    Moments { mean, variance, error: (spread / (number - 1.0) / number).sqrt(), exact }
}

fn invariant(found: &Moments) -> Finding {
    let off = (found.variance - found.exact.1).abs() / found.error;
    let what = format!(
        "variance of the first state {:.3}, exactly {:.3}: off by so many standard errors",
        found.variance, found.exact.1
    );
    Finding::at_most(off, 5.0, what)
}

fn still_off(found: &Moments) -> Finding {
    let what =
        format!("variance of the first state {:.3} over {:.3}, less one", found.variance, found.exact.1);
    Finding::at_least(found.variance / found.exact.1 - 1.0, 0.05, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;

    #[test]
    fn they_hold_fail_and_abstain() {
        let found = |variance: f64| Moments { mean: 1.0, variance, error: 0.001, exact: (1.0, 0.157) };
        assert_eq!(invariant(&found(0.158)).verdict, Verdict::Agree);
        assert_eq!(invariant(&found(0.293)).verdict, Verdict::Disagree);
        assert_eq!(invariant(&found(f64::NAN)).verdict, Verdict::TooLittle);
        assert_eq!(still_off(&found(0.17)).verdict, Verdict::Agree);
        assert_eq!(still_off(&found(0.158)).verdict, Verdict::Disagree);
        assert_eq!(still_off(&found(f64::NAN)).verdict, Verdict::TooLittle);
    }

    /// Independent draws with variance 4: the error of the variance of `n` is `4 sqrt(2 / n)`.
    #[test]
    fn errors_are_those_of_the_definition() {
        let mut stream = Seed::new(1).stream(0, 0);
        let states: Vec<f64> = (0..100_000).map(|_| 3.0 + 2.0 * stream.normal()).collect();
        let found = of(&states, (3.0, 4.0));
        assert!((found.error / (4.0 * (2.0 / 1e5_f64).sqrt()) - 1.0).abs() < 0.3, "{}", found.error);
        assert!((found.variance - 4.0).abs() < 5.0 * found.error);
    }
}
