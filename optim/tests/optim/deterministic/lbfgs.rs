//! Modes: closed forms, faults, and posteriors whose inputs are not standardised, from zero.

use mcsa_core::{Counted, Gradient, LogDensity, Seed};
use mcsa_data::{Catalogue, Dataset};
use mcsa_models::{EightSchools, HierarchicalLogistic, LogisticRegression, ProbitRegression, ScalePrior};
use mcsa_optim::deterministic::{Laplace, Lbfgs, Maximum, Outcome, Pathfinder};

use super::{Density, gaussian, log_gamma};

fn climb(objective: impl FnMut(&[f64], &mut [f64]) -> f64, start: &[f64]) -> Maximum {
    Lbfgs::default().maximise(objective, start).unwrap()
}

/// From `start`, on a function of one argument that returns its value and its derivative.
fn climb_line(line: impl Fn(f64) -> (f64, f64), start: f64) -> Maximum {
    let objective = |z: &[f64], gradient: &mut [f64]| {
        let (value, slope) = line(z[0]);
        gradient[0] = slope;
        value
    };
    climb(objective, &[start])
}

#[test]
fn the_mode_of_a_gaussian_is_its_mean() {
    for (dim, spread) in [(1, 0.0), (5, 0.0), (20, 2.0), (50, 1.0)] {
        let target = gaussian(dim, spread);
        let peak = Lbfgs::default().mode(&target, &vec![30.0; dim]).unwrap();
        assert_eq!(peak.outcome, Outcome::Converged, "{dim} {peak:?}");
        assert!(peak.gradient_norm <= 1e-6);
        // An error e of the mean makes a gradient of e over the variance.
        let worst = peak.point.iter().zip(target.mean()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5 * 10.0_f64.powf(2.0 * spread), "{dim}: {worst}");
        assert!(peak.value.is_finite() && peak.evaluations > peak.iterations);
    }
}

#[test]
fn dimension_zero_has_one_point() {
    let peak = climb(|_, _| 2.0, &[]);
    assert_eq!((peak.outcome, peak.value, peak.iterations), (Outcome::Converged, 2.0, 0));
}

#[test]
fn a_steep_side_and_a_flat_side() {
    for start in [-30.0, -1.0, 6.0, 50.0] {
        let peak = Lbfgs::default().mode(&log_gamma(3.0), &[start]).unwrap().converged().unwrap();
        assert!((peak.point[0] - 3.0_f64.ln()).abs() < 1e-6, "{start}: {peak:?}");
    }
}

/// A Gamma density on the half line, without transform: `-inf` and NaN on the other half.
#[test]
fn outside_the_support_it_does_not_go() {
    for outside in [f64::NEG_INFINITY, f64::NAN] {
        let objective = |z: &[f64], gradient: &mut [f64]| {
            gradient[0] = 3.0 / z[0] - 2.0;
            if z[0] > 0.0 { 3.0 * z[0].ln() - 2.0 * z[0] } else { outside }
        };
        for start in [1e-6, 1.0, 500.0] {
            let peak = climb(objective, &[start]).converged().unwrap();
            assert!((peak.point[0] - 1.5).abs() < 1e-5, "{start}: {peak:?}");
        }
        let error = Lbfgs::default().maximise(objective, &[-1.0]).unwrap_err().to_string();
        assert!(error.starts_with("Lbfgs: the value or its gradient is not finite at the start"), "{error}");
    }
    let no_gradient = |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = f64::NAN;
        -z[0] * z[0]
    };
    assert!(Lbfgs::default().maximise(no_gradient, &[1.0]).is_err());
}

#[test]
fn ends_without_a_maximum_have_their_reasons() {
    let outcome = |line: fn(f64) -> (f64, f64), start| climb_line(line, start).outcome;
    assert_eq!(outcome(|z| (z, 1.0), 0.0), Outcome::Unbounded);
    assert_eq!(outcome(|z| (z * z, 2.0 * z), 1.0), Outcome::Unbounded);
    let pole = climb_line(|z| (-z.abs().ln(), -1.0 / z), 1.0);
    assert_eq!(pole.outcome, Outcome::Unbounded);
    assert!(pole.converged().unwrap_err().to_string().contains("there is no maximum"));
    let wrong_gradient = climb_line(|z| (-0.5 * z * z, z), 1.0);
    assert_eq!((wrong_gradient.outcome, &wrong_gradient.point[..]), (Outcome::Stalled, &[1.0][..]));
    assert!(wrong_gradient.converged().unwrap_err().to_string().contains("no step goes up"));
    let kink = climb_line(|z| (-(z - 2.0).abs(), -(z - 2.0).signum()), 7.3);
    assert_eq!(kink.outcome, Outcome::Stalled);
    assert!((kink.point[0] - 2.0).abs() < 1e-6, "{kink:?}");
    let peak = Lbfgs::with(1e-6, 3, 5).unwrap().mode(&gaussian(20, 2.0), &[30.0; 20]).unwrap();
    assert_eq!((peak.outcome, peak.iterations), (Outcome::IterationLimit, 3));
    assert!(peak.converged().unwrap_err().to_string().contains("after 3 iterations"));
}

#[test]
fn a_climb_ends_where_its_caller_says() {
    let parabola = |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = -z[0];
        -0.5 * z[0] * z[0]
    };
    let climb = |least: f64| {
        Lbfgs::default().maximise_until(parabola, &[10.0], |z, value| z[0] < 9.5 && value >= least).unwrap()
    };
    let (near, top) = (climb(-45.0), climb(1.0));
    assert_eq!((near.outcome, top.outcome), (Outcome::Ended, Outcome::Converged));
    assert!(near.evaluations < top.evaluations && near.point[0] < 9.5 && near.value >= -45.0, "{near:?}");
    assert!(near.converged().unwrap_err().to_string().contains("the caller ended it"));
}

/// Values near 1e9 with the rounding error of a long sum, here a ripple of 4e-7, and gradients without it: the last steps depend on
/// slopes alone. A line search that requires every value to increase stalls from three starts in four.
#[test]
fn values_so_large_that_they_are_rounded() {
    let target = Density(6, |z: &[f64], gradient: &mut [f64]| {
        let mut value = 1e9;
        for (k, (x, g)) in z.iter().zip(gradient).enumerate() {
            let curvature = 6.0_f64.powi(i32::try_from(k).expect("small"));
            let root = (curvature + 0.25 * x * x * x * x + x * x * curvature).sqrt();
            *g = -(0.5 * x * x * x + x * curvature) / root;
            value -= root;
        }
        value + 4e-7 * (1e9 * z.iter().sum::<f64>()).sin()
    });
    for number in 0..40 {
        let start: Vec<f64> = (0..6).map(|k| 10.0 * f64::from(number * 7 + k).sin()).collect();
        let peak = Lbfgs::default().mode(&target, &start).unwrap();
        assert_eq!(peak.outcome, Outcome::Converged, "{number}: {peak:?}");
        assert!(peak.point.iter().all(|x| x.abs() < 1e-5), "{peak:?}");
    }
}

#[test]
fn configs_are_checked() {
    assert!(Lbfgs::with(0.0, 10, 5).is_err() && Lbfgs::with(f64::NAN, 10, 5).is_err());
    assert!(Lbfgs::with(1e-6, 0, 5).is_err() && Lbfgs::with(1e-6, 10, 0).is_err());
    assert_eq!(toml::from_str::<Lbfgs>("").unwrap(), Lbfgs::default());
    let lbfgs = Lbfgs::with(1e-3, 10, 5).unwrap();
    assert_eq!(toml::from_str::<Lbfgs>(&toml::to_string(&lbfgs).unwrap()).unwrap(), lbfgs);
    assert!(toml::from_str::<Lbfgs>("history = 3").is_err());
    let error = Lbfgs::default().mode(&gaussian(3, 0.0), &[0.0]).unwrap_err().to_string();
    assert_eq!(error, "Lbfgs: start has length 1, expected 3");
    assert!(Lbfgs::default().mode(&gaussian(1, 0.0), &[f64::NAN]).is_err());
}

fn data(name: &str) -> Dataset {
    Catalogue::new(None).load(name).unwrap()
}

fn hierarchical(name: &str) -> HierarchicalLogistic {
    let data = data(name);
    HierarchicalLogistic::new(data.x.as_ref(), &data.y, ScalePrior::HalfNormal).unwrap()
}

fn logistic(name: &str) -> LogisticRegression {
    let data = data(name);
    LogisticRegression::new(data.x.as_ref(), &data.y, 1.0).unwrap()
}

fn probit(name: &str) -> ProbitRegression {
    let data = data(name);
    ProbitRegression::new(data.x.as_ref(), &data.y, 1.0).unwrap()
}

/// Converged from zero with at most `most` gradients; a second run from there, with a hundredth of the tolerance, finds nothing
/// higher.
fn is_found(name: &str, target: &impl Gradient, most: u64) {
    let target = Counted::new(target);
    let peak = Lbfgs::default().mode(&target, &vec![0.0; target.inner().dim()]).unwrap();
    assert_eq!(peak.outcome, Outcome::Converged, "{name}: {peak:?}");
    assert_eq!(peak.evaluations, target.counts().gradient);
    assert!(peak.evaluations <= most, "{name}: {} evaluations", peak.evaluations);
    let again: Maximum = Lbfgs::with(1e-8, 100, 10).unwrap().mode(&target, &peak.point).unwrap();
    assert!((again.value - peak.value).abs() < 1e-9 * peak.value.abs(), "{name}: {again:?}");
    assert!(Laplace::by_differences(&target, &peak.point).is_ok(), "{name}");
}

#[test]
fn modes_are_found_from_zero() {
    for (name, most) in [("pima", 50), ("german_credit_numeric", 70), ("heart_cleveland", 70)] {
        is_found(name, &logistic(name), most);
        is_found(name, &probit(name), most);
    }
    is_found("pima, hierarchical", &hierarchical("pima"), 90);
    is_found("german, hierarchical", &hierarchical("german_credit_numeric"), 130);
    is_found("eight schools", &EightSchools::non_centred(), 50);
}

/// Negative control: without scaling, a thousand steps do not suffice.
#[test]
fn without_scaling_they_are_not_found() {
    for target in [hierarchical("pima"), hierarchical("german_credit_numeric")] {
        let mut work = vec![0.0; target.work_len(1)];
        let start = vec![0.0; target.dim()];
        let objective = |z: &[f64], gradient: &mut [f64]| target.gradient_into(z, gradient, &mut work);
        let peak = Lbfgs::default().maximise(objective, &start).unwrap();
        assert_eq!(peak.outcome, Outcome::IterationLimit, "{peak:?}");
    }
}

/// The prior scale of heart's intercept has its highest density at zero, which is at minus infinity; a centred hierarchy has a pole.
#[test]
fn a_mode_at_infinity_is_not_called_converged() {
    for target in [hierarchical("heart_cleveland"), hierarchical("heart_statlog")] {
        let peak = Lbfgs::default().mode(&target, &vec![0.0; target.dim()]).unwrap();
        assert!(matches!(peak.outcome, Outcome::Flat | Outcome::Stalled), "{peak:?}");
        assert!(peak.clone().converged().is_err() && peak.point[1] < -5.0, "{peak:?}");
        let found = Pathfinder::default()
            .run(&target, &vec![0.0; target.dim()], &mut Seed::new(1).stream(0, 0))
            .unwrap();
        assert!(matches!(found.peak.outcome, Outcome::Flat | Outcome::Stalled), "{:?}", found.peak);
    }
    let peak = Lbfgs::default().mode(&EightSchools::centred(), &[0.0; 10]).unwrap();
    assert_ne!(peak.outcome, Outcome::Converged);
}

/// Rosenbrock's valley, and a third coordinate that begins on a ridge or at a maximum.
#[test]
fn a_saddle_in_scaled_coordinates_is_not_called_converged() {
    let valley = |sign: f64| {
        Density(3, move |z: &[f64], gradient: &mut [f64]| {
            let (a, b) = (1.0 - z[0], z[1] - z[0] * z[0]);
            gradient.copy_from_slice(&[2.0 * a + 400.0 * z[0] * b, -200.0 * b, sign * z[2]]);
            -a * a - 100.0 * b * b + 0.5 * sign * z[2] * z[2]
        })
    };
    let reached = |sign: f64| Lbfgs::default().mode(&valley(sign), &[-1.2, 1.0, 0.0]).unwrap();
    assert_eq!((reached(1.0).outcome, reached(-1.0).outcome), (Outcome::Stalled, Outcome::Converged));
    assert!(reached(1.0).point.iter().zip([1.0, 1.0, 0.0]).all(|(z, mode)| (z - mode).abs() < 1e-4));
}

/// The ELBO of the best Gaussian of a path reaches the evidence of the Laplace approximation up to noise and bend; without the scalings
/// of the path it was some 5 nats below for pima and 30 for german.
#[test]
fn paths_through_raw_inputs_learn_the_curvature() {
    let judge = |name: &str, target: &dyn Gradient, within: f64| {
        let (target, start) = (Counted::new(target), vec![0.0; target.dim()]);
        let found = Pathfinder::default().run(&target, &start, &mut Seed::new(1).stream(0, 0)).unwrap();
        let counts = target.counts();
        assert_eq!(found.evaluations, counts.gradient + counts.log_density);
        let laplace = Laplace::by_differences(&target, &found.peak.point).unwrap().log_evidence;
        assert!((found.elbo - laplace).abs() < within, "{name}: {} {laplace}", found.elbo);
        assert!(found.has_curvature && found.peak.outcome == Outcome::Converged, "{name}");
    };
    judge("pima", &logistic("pima"), 0.5);
    judge("pima, hierarchical", &hierarchical("pima"), 1.0);
    judge("german, hierarchical", &hierarchical("german_credit_numeric"), 1.0);
}
