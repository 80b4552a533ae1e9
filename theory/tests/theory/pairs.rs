//! Continuous pairs of target and guide: closed forms, and the claims that need a target without atoms.

use mcsa_theory::{Pair, bounds};
use statrs::distribution::{Continuous, StudentsT};
use statrs::function::erf::erfc;

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() < tolerance * (1.0 + expected.abs())
}

fn normal(mean: f64, deviation: f64) -> impl Fn(f64) -> f64 {
    move |z| -0.5 * ((z - mean) / deviation).powi(2) - deviation.ln() - 0.918_938_533_204_672_7
}

fn exponential(rate: f64) -> impl Fn(f64) -> f64 {
    move |z| if z < 0.0 { f64::NEG_INFINITY } else { rate.ln() - rate * z }
}

/// Skew-normal log density, `2 phi(z) Phi(shape z)`.
fn skew(shape: f64) -> impl Fn(f64) -> f64 {
    let normal = normal(0.0, 1.0);
    move |z| normal(z) + erfc(-shape * z / std::f64::consts::SQRT_2).ln()
}

fn student(freedom: f64) -> impl Fn(f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom).unwrap();
    move |z| student.ln_pdf(z)
}

#[test]
fn two_normals() {
    for deviation in [1.2, 2.0, 5.0] {
        let pair = Pair::new(normal(0.0, 1.0), normal(0.0, deviation), -40.0 * deviation, 40.0 * deviation);
        assert!(close(pair.largest_weight(), deviation, 1e-12));
        let square = deviation * deviation;
        assert!(close(pair.kl().value, deviation.ln() + 0.5 / square - 0.5, 1e-9));
        assert!(close(pair.pearson().value, square / (2.0 * square - 1.0).sqrt() - 1.0, 1e-9));
        assert!(!close(pair.pearson().value, 1.001 * (square / (2.0 * square - 1.0).sqrt()) - 1.0, 1e-9));
    }
}

/// p of rate 1, q of rate `t < 1`: `w = e^{-(1 - t) z} / t`, so `w* = 1/t` at 0, and from a point `y` of weight `v` the rejection
/// probability is `e^{-t y} - e^{-y} / v`.
#[test]
fn two_exponentials() {
    for t in [0.2, 0.5, 0.9] {
        let pair = Pair::new(exponential(1.0), exponential(t), 0.0, 60.0 / t);
        assert!(close(pair.largest_weight(), 1.0 / t, 1e-12));
        // The densities jump at 0: the rule is of second order there, as its error estimate shows.
        assert!(close(pair.kl().value, t - 1.0 - t.ln(), 1e-7) && pair.kl().error < 1e-6);
        assert!(close(pair.pearson().value, 1.0 / (t * (2.0 - t)) - 1.0, 1e-7));
        for y in [0.1, 1.0, 3.0] {
            let v = pair.log_weight(y).exp();
            let expected = (-t * y).exp() - (-y).exp() / v;
            assert!(close(pair.rejection(v).value, expected, 1e-6), "{t} {y}");
        }
        assert!(close(pair.rejection(1.0 / t).value, 1.0 - t, 1e-6), "at the mode the rate itself");
    }
}

/// With heavier tails of the guide the weight is bounded; with lighter ones it is not, and the largest is found at an end.
#[test]
fn tails_decide_whether_the_weight_is_bounded() {
    let heavy = Pair::new(normal(0.0, 1.0), student(3.0), -200.0, 200.0);
    // (1 + z^2/3)^2 e^{-z^2/2} is largest at z = 1.
    let at_one = normal(0.0, 1.0)(1.0) - student(3.0)(1.0);
    assert!(close(heavy.largest_weight(), at_one.exp(), 1e-10) && close(heavy.mode().abs(), 1.0, 1e-6));
    let light = Pair::new(student(3.0), normal(0.0, 1.0), -20.0, 20.0);
    assert!(light.mode().abs() == 20.0 && light.largest_weight() > 1e10);
}

/// Claims of the papers on a pair: `e^KL <= w*`, `1 - 1/v <= lambda(v) <= 1 - 1/w*`, and, without atoms,
/// `lambda(w(z)) <= TV(K(z, .), p) <= 1 - 1/w*`, the last with equality at the mode.
fn claims_hold<P: Fn(f64) -> f64, Q: Fn(f64) -> f64>(name: &str, pair: &Pair<P, Q>, points: &[f64]) {
    let (w_star, slack) = (pair.largest_weight(), 1e-5);
    let rate = bounds::rate(w_star);
    assert!(pair.kl().value.exp() <= w_star + slack, "{name}");
    assert!(pair.kl().value.exp() - 1.0 <= pair.pearson().value + slack, "{name}");
    for &z in points {
        let v = pair.log_weight(z).exp();
        let (stays, distance) = (pair.rejection(v).value, pair.distance(z).value);
        assert!((1.0 - 1.0 / v).max(0.0) <= stays + slack && stays <= rate + slack, "{name} at {z}");
        assert!(stays <= distance + slack && distance <= rate + slack, "{name} at {z}: {stays} {distance}");
    }
    let at_mode = pair.distance(pair.mode()).value;
    assert!(close(at_mode, rate, slack), "{name}: {at_mode} for {rate}");
    // Counter-check: a rate one per cent smaller is refuted at the mode.
    assert!(at_mode > 0.99 * rate + slack, "{name}");
}

#[test]
fn the_claims_hold_without_atoms() {
    let points = [-2.0, -0.3, 0.5, 1.0, 2.5];
    claims_hold("normals", &Pair::new(normal(0.0, 1.0), normal(0.7, 1.6), -60.0, 60.0), &points);
    claims_hold("skew", &Pair::new(skew(3.0), normal(0.8, 1.2), -40.0, 40.0), &points);
    claims_hold("student", &Pair::new(normal(0.0, 1.0), student(4.0), -400.0, 400.0), &points);
    claims_hold("two students", &Pair::new(student(5.0), student(2.5), -4_000.0, 4_000.0), &points);
    let positive = [0.05, 0.5, 1.0, 2.5, 6.0];
    claims_hold("exponentials", &Pair::new(exponential(1.0), exponential(0.4), 0.0, 150.0), &positive);
}
