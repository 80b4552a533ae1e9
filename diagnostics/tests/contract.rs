//! Contract of all diagnostics: NaN for uninformative input, and invariance under irrelevant changes.

use faer::Mat;
use mcsa_diagnostics::{
    LogEvidence, Pareto, chi_square, effective_sample_size, importance_sample_size, long_run_variance, r_hat,
    split_r_hat, standard_error, stein_discrepancy,
};
use proptest::prelude::*;

/// All diagnostics of chains.
fn of_chains(chains: &[Vec<f64>]) -> [f64; 5] {
    [
        effective_sample_size(chains),
        standard_error(chains),
        long_run_variance(&chains[0], 2),
        r_hat(chains),
        split_r_hat(chains),
    ]
}

/// All diagnostics of log weights.
fn of_weights(w: &[f64]) -> [f64; 6] {
    let bounds = LogEvidence::of(w, 2, w);
    [Pareto::of(w).shape, importance_sample_size(w), chi_square(w), bounds.lower, bounds.closer, bounds.upper]
}

fn chains() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (1..4_usize, 4..40_usize)
        .prop_flat_map(|(m, n)| prop::collection::vec(prop::collection::vec(-3.0..3.0, n..=n), m..=m))
}

fn broken() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
}

#[test]
fn no_weights_make_all_nan() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for w in [&[][..], &[nan, 0.0], &[inf, 0.0], &[-inf; 3], &[-inf; 100]] {
        assert!(of_weights(w).iter().all(|x| x.is_nan()), "{w:?}: {:?}", of_weights(w));
    }
}

proptest! {
    #[test]
    fn a_broken_draw_makes_all_nan(mut chains in chains(), at: prop::sample::Index, bad in broken()) {
        let k = at.index(chains[0].len());
        chains[0][k] = bad;
        prop_assert!(of_chains(&chains).iter().all(|x| x.is_nan()), "{:?}", of_chains(&chains));
    }

    #[test]
    fn constant_chains_make_all_nan(value in -1e6..1e6, m in 1..4_usize, n in 4..60_usize) {
        let found = of_chains(&vec![vec![value; n]; m]);
        prop_assert!(found.iter().all(|x| x.is_nan()), "{found:?}");
    }

    /// Counter-check of the two tests above: chains that move give numbers, and these do not depend on units.
    #[test]
    fn moving_chains_give_numbers_without_units(chains in chains(), shift in -5.0..5.0, power in -8..8) {
        let found = of_chains(&chains);
        prop_assert!(found.iter().all(|x| *x > 0.0 && x.is_finite()), "{found:?}");
        let draws = (chains.len() * chains[0].len()) as f64;
        prop_assert!(found[0] <= draws * draws.log10() * (1.0 + 1e-12));
        let scale = 2.0_f64.powi(power);
        let other: Vec<Vec<f64>> =
            chains.iter().map(|c| c.iter().map(|x| scale * (x + shift)).collect()).collect();
        let again = of_chains(&other);
        let units = [1.0, scale, scale * scale, 1.0, 1.0];
        for k in [0, 1, 2, 4] {
            prop_assert!((again[k] / (units[k] * found[k]) - 1.0).abs() < 1e-6, "{k}: {found:?} {again:?}");
        }
    }

    #[test]
    fn a_broken_weight_makes_all_nan(
        mut w in prop::collection::vec(-3.0..3.0, 25..80),
        at: prop::sample::Index,
        bad in prop::sample::select(vec![f64::NAN, f64::INFINITY]),
    ) {
        prop_assert!(of_weights(&w).iter().all(|x| x.is_finite()), "{:?}", of_weights(&w));
        let k = at.index(w.len());
        w[k] = bad;
        prop_assert!(of_weights(&w).iter().all(|x| x.is_nan()), "{:?}", of_weights(&w));
    }

    #[test]
    fn the_constant_of_the_target_moves_evidence_alone(w in prop::collection::vec(-3.0..3.0, 25..80), c in -900.0..900.0) {
        let moved: Vec<f64> = w.iter().map(|w| w + c).collect();
        let (a, b) = (of_weights(&w), of_weights(&moved));
        prop_assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-6 * (1.0 + a[k].abs())), "{a:?} {b:?}");
        prop_assert!((3..6).all(|k| f64::abs(a[k] + c - b[k]) < 1e-9 * (1.0 + f64::abs(c))), "{a:?} {b:?}");
        prop_assert!(a[3] <= a[4] + 1e-12, "the closer bound is no lower");
    }

    #[test]
    fn a_rotation_changes_no_stein_discrepancy(z in prop::collection::vec(-3.0..3.0, 2..30), angle in 0.0..6.0) {
        let n = z.len() / 2;
        let (sin, cos) = f64::sin_cos(angle);
        let points = Mat::from_fn(2, n, |i, j| z[2 * j + i]);
        let turned = Mat::from_fn(2, n, |i, j| {
            let (x, y) = (points[(0, j)], points[(1, j)]);
            if i == 0 { cos * x - sin * y } else { sin * x + cos * y }
        });
        let of = |points: &Mat<f64>| stein_discrepancy(points.as_ref(), (points * -1.0).as_ref());
        prop_assert!((of(&points) - of(&turned)).abs() < 1e-6);
    }
}
