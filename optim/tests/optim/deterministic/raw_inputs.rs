//! Modes and paths of posteriors whose inputs are not standardised, from zero.

use mcsa_core::{Counted, Gradient, LogDensity, Seed};
use mcsa_data::{Catalogue, Dataset};
use mcsa_models::{EightSchools, HierarchicalLogistic, LogisticRegression, ProbitRegression, ScalePrior};
use mcsa_optim::deterministic::{Laplace, Lbfgs, Maximum, Outcome, Pathfinder, Warning};

use super::Density;

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
        assert!(matches!(found.warnings[..], [Warning::Flat | Warning::Stalled]), "{:?}", found.warnings);
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
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    };
    judge("pima", &logistic("pima"), 0.5);
    judge("pima, hierarchical", &hierarchical("pima"), 1.0);
    judge("german, hierarchical", &hierarchical("german_credit_numeric"), 1.0);
}
