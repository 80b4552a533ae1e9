//! Robust regression: local precisions integrate to Student t errors, and their reverse step is a derivative.

use faer::Mat;
use mcsa_core::numeric::quadrature::{Axis, Map, log_integral};
use mcsa_core::{Seed, Separable};
use mcsa_models::{LocalRobustRegression, LocalTerm, StudentNoise, StudentRegression};
use mcsa_testing::law::{ROUNDING, is_slope, slope};

const DATA: usize = 7;
const FREEDOM: f64 = 3.5;
/// `(weights, log s)`.
const THETA: [f64; 4] = [0.4, -1.1, 0.2, -0.3];

fn data() -> (Mat<f64>, Vec<f64>) {
    let mut stream = Seed::new(8).stream(0, 0);
    let x = Mat::from_fn(DATA, 3, |_, _| stream.normal());
    let y = (0..DATA).map(|_| 3.0 * stream.normal()).collect();
    (x, y)
}

fn local() -> LocalRobustRegression {
    let (x, y) = data();
    LocalRobustRegression::new(x.as_ref(), &y, FREEDOM, 1.5).expect("good data")
}

/// `log` of the integral over the local variable, by quadrature.
fn integral(term: LocalTerm) -> f64 {
    let found = log_integral(&[Axis::line(Map::Sinh, 0.0, 1.0)], 1e-12, |w| term.log_density(w[0]));
    assert!(found.error < 1e-11, "{found:?}");
    found.value
}

/// Quadrature over each `w` against the closed form, and against the oracle model.
fn integrates_to_the_oracle(change: impl Fn(LocalTerm) -> LocalTerm) -> bool {
    let (x, y) = data();
    let noise = StudentNoise::Known { scale: THETA[3].exp(), freedom: FREEDOM };
    let oracle = StudentRegression::new(x.as_ref(), &y, noise, 1.5).expect("good data");
    (0..DATA).all(|i| {
        let term = change(local().term(i, &THETA));
        let expected = oracle.log_likelihood_at(&[i], &THETA[..3], &mut []);
        (integral(term) - expected).abs() < 1e-10 && (term.log_integral() - expected).abs() < 1e-12
    })
}

#[test]
fn local_precisions_integrate_to_student_errors() {
    assert!(integrates_to_the_oracle(|term| term));
}

#[test]
fn another_shape_or_residual_is_caught() {
    assert!(!integrates_to_the_oracle(|term| LocalTerm { shape: term.shape + 1e-8, ..term }));
    assert!(!integrates_to_the_oracle(|term| LocalTerm { square: term.square * (1.0 + 1e-7), ..term }));
    assert!(!integrates_to_the_oracle(|term| LocalTerm { constant: term.constant + 1e-9, ..term }));
}

#[test]
fn derivatives_of_a_term() {
    for (i, w) in [(0, -0.7), (3, 0.0), (6, 1.9)] {
        let term = local().term(i, &THETA);
        let squared = |t: f64| LocalTerm { square: term.square + t, ..term };
        let is =
            |found: f64, f: &dyn Fn(f64) -> f64| is_slope("term", String::new, found, slope(ROUNDING, f));
        assert_eq!(is(term.slope(w), &|t| term.log_density(w + t)), Ok(()));
        assert_eq!(is(term.curvature(w), &|t| term.slope(w + t)), Ok(()));
        assert_eq!(is(term.of_square(w), &|t| squared(t).log_density(w)), Ok(()));
        assert_eq!(is(term.of_square(w), &|t| squared(t).slope(w)), Ok(()));
        assert_eq!(is(term.of_square(w), &|t| squared(t).curvature(w)), Ok(()));
        assert!(is(1.0001 * term.slope(w), &|t| term.log_density(w + t)).is_err());
    }
}

/// `d/dtheta [l(w) + u dl/dw]` by one reverse step, against differences.
#[test]
fn the_reverse_step_is_a_derivative() {
    let (model, w, u) = (local(), 0.6, -1.7);
    for i in 0..DATA {
        let term = model.term(i, &THETA);
        let mut gradient = [0.0; 4];
        model.add_theta_gradient(i, &THETA, (1.0 + u) * term.of_square(w), 1.0, &mut gradient);
        for k in 0..4 {
            let known = slope(ROUNDING, |t| {
                let mut theta = THETA;
                theta[k] += t;
                let term = model.term(i, &theta);
                term.log_density(w) + u * term.slope(w)
            });
            assert_eq!(is_slope("theta", || format!("datum {i}, {k}"), gradient[k], known), Ok(()));
            let missing = is_slope("theta", String::new, gradient[k] - 1e-3, known);
            assert!(missing.is_err());
        }
    }
}
