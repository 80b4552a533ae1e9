//! Claims of MSC.

use super::*;
use Standing::{Holds, NotCheckable, Tight, Violated};
use mcsa_core::numeric::quadrature::integrate;
use mcsa_theory::{Instance, Number, Rational, Square};

#[test]
fn standings() {
    regression(
        "002",
        &[
            ("002-CIS", Holds),
            ("002-CIS-REVERSIBLE", Holds),
            ("002-P1", NotCheckable),
            ("002-ODE", Violated),
            ("002-P2", Holds),
            ("002-P2-REPLACED", Violated),
            ("002-P2-WHOLE", Holds),
            ("002-FIG1", Tight),
            ("002-FIG1-MEAN", Tight),
        ],
    );
}

fn r(a: i64, b: i64) -> Rational {
    Rational::ratio(a, b)
}

/// 002-CIS in exact fractions, and importance resampling without the retained point, which must fail.
#[test]
fn the_target_is_kept_to_the_last_digit() {
    let pi = [r(1, 7), r(2, 7), r(4, 7)];
    let case = Instance::new(&pi, &[r(1, 2), r(1, 3), r(1, 6)], &[r(0, 1), r(1, 1), r(5, 1)]).unwrap();
    for candidates in 2..6 {
        let kernel = case.cis(candidates).transition;
        assert_eq!(kernel.push(&pi), pi);
        for (z, y) in [(0, 1), (0, 2), (1, 2)] {
            assert_eq!(pi[z].clone() * &kernel.row(z)[y], pi[y].clone() * &kernel.row(y)[z]);
        }
    }
    let forgetful = Square::from_fn(3, |_, y| case.q()[y].clone());
    assert_ne!(forgetful.push(&pi), pi);
}

/// 002-P2 with replacement: two data, batches of two, likelihoods (1/2, 1/4) and (1, 1/4), a flat prior. If batches are weighted
/// by their probabilities the first atom has 9/10, if each set counts once 28/31.
#[test]
fn multiplicities_matter() {
    let (at, other) = ([r(1, 2), r(1, 1)], [r(1, 4), r(1, 4)]);
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let share = |pairs: &[(usize, usize)]| {
        let sum = |l: &[Rational; 2]| pairs.iter().fold(r(0, 1), |sum, &(i, j)| sum + l[i].clone() * &l[j]);
        sum(&at) / (sum(&at) + sum(&other))
    };
    assert_eq!(share(&pairs), r(9, 10));
    assert_eq!(share(&[pairs[0], pairs[1], pairs[3]]), r(28, 31));
    let (found, _) = example("002-P2-REPLACED");
    // The mean step of a softmax is the difference of the two.
    assert!((found - (9.0 / 10.0 - 28.0 / 31.0_f64).abs()).abs() < 1e-15);
}

/// 002-ODE at q = N(lambda, 1), p = N(0, 1): the mean score is `-lambda`, so its negative leads away from the optimum 0.
#[test]
fn the_printed_flow_leaves_the_optimum() {
    let normal = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    for lambda in [-1.5, 0.25, 2.0] {
        let mean_score = integrate(-12.0, 12.0, 1e-13, |z| (z - lambda) * normal(z));
        assert!((mean_score.value + lambda).abs() < 1e-12 && mean_score.error < 1e-12);
        let (printed, corrected) = (-mean_score.value, mean_score.value);
        assert!(printed * lambda > 0.0 && corrected * lambda < 0.0);
    }
}
