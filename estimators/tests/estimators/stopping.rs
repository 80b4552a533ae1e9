//! Stopping rule against known optima. More parameters: `cargo run --release -p mcsa-estimators --example false_stops`.

use mcsa_core::{Estimator, LogDensity, Seed};
use mcsa_estimators::{Accuracy, Ascent, Obstacle, Outcome, Run, Stationary, jsa, pmcsa};
use mcsa_families::{Defence, MeanField, Tail};
use mcsa_models::{Gaussian, GroundTruth, Student};
use mcsa_optim::Adam;

use super::ascent;

const ACCURACY: f64 = 0.1;

/// The rule's outcome, and the worst true error of its average, in the rule's units.
fn fit<P: LogDensity + GroundTruth, E: Estimator<P, MeanField>>(
    target: &P,
    estimator: E,
    rate: f64,
    seed: u64,
) -> (Outcome, f64) {
    let dim = target.dim();
    let family = MeanField::new(dim);
    let optimizer = Adam::new(rate).unwrap();
    let ascent = Ascent { target, family: &family, estimator, optimizer, seed: Seed::new(seed) };
    let mut fit = ascent.start(family.at(&vec![0.0; dim], &vec![1.0; dim]).unwrap()).unwrap();
    let rule = Stationary::to(ACCURACY).unwrap();
    let outcome = ascent.run(&mut fit, Run::of(60_000).until(rule)).unwrap();
    let average = match &outcome {
        Outcome::Converged(Accuracy { average, .. })
        | Outcome::BudgetSpent { accuracy: Some(Accuracy { average, .. }) } => average,
        other => panic!("{other}"),
    };
    let (mean, covariance) = (target.mean().unwrap(), target.covariance().unwrap());
    let error = |i: usize| {
        let scale = covariance[(i, i)].sqrt();
        let off = (average[i] - mean[i]).abs() / scale;
        // A log scale has the unit 1 / sqrt(2); to this accuracy its error is the relative error of the scale.
        off.max(2.0_f64.sqrt() * (family.link.scale(average[dim + i]) / scale).ln().abs())
    };
    let worst = (0..dim).map(error).fold(0.0, f64::max);
    (outcome, worst)
}

/// Number of stops with an error above the claim, and the worst error.
fn false_stops(fits: impl Iterator<Item = (Outcome, f64)>) -> (usize, f64) {
    fits.fold((0, 0.0), |(count, worst), (outcome, error)| {
        assert!(matches!(outcome, Outcome::Converged(_)), "{outcome}");
        (count + usize::from(error > ACCURACY), worst.max(error))
    })
}

fn student() -> Student {
    Student::new(vec![0.0; 3], vec![1.0; 3], 5.0).unwrap()
}

/// At its confidence level the rule may be wrong once in twenty. More than 8 of 36 would have a probability of 1e-4.
#[test]
fn what_is_claimed_is_kept() {
    let gaussian = Gaussian::diagonal(vec![1.0, -1.0, 2.0], vec![0.5, 1.0, 2.0]).unwrap();
    let fits = (1..=12).flat_map(|seed| {
        let defended = pmcsa(10).guarded(Defence::new(0.1, Tail::student(3, 3.0).unwrap()).unwrap());
        [
            fit(&gaussian, pmcsa(10), 0.01, seed),
            fit(&gaussian, jsa(10), 0.03, seed),
            fit(&student(), defended, 0.01, seed),
        ]
    });
    let (count, worst) = false_stops(fits);
    assert!(count <= 8 && worst < 2.0 * ACCURACY, "{count} {worst}");
}

/// The twin, which is also a limit of the rule: under a Gaussian proposal a Student target has unbounded weights. Chains have
/// not yet reached much of the variance, iterates are stationary, and the claim is wrong. A defence prevents it, as in the
/// test above.
#[test]
fn mass_that_was_never_visited_is_not_seen() {
    let (count, _) = false_stops((1..=36).map(|seed| fit(&student(), pmcsa(10), 0.01, seed)));
    assert!(count > 8, "{count}");
}

/// At a learning rate too small for 90 parameters to cover three units, they drift to the end.
#[test]
fn parameters_under_way_do_not_stop() {
    let (target, family) = (Gaussian::standard(45), MeanField::new(45));
    let ascent = ascent(&target, &family, pmcsa(10), Adam::new(3e-5).unwrap());
    let mut fit = ascent.start(family.at(&[3.0; 45], &[1.0; 45]).unwrap()).unwrap();
    let outcome = ascent.run(&mut fit, Run::of(30_000).until(Stationary::to(0.2).unwrap())).unwrap();
    let Outcome::BudgetSpent { accuracy: Some(accuracy) } = &outcome else { panic!("{outcome}") };
    assert!(accuracy.r_hat > accuracy.r_hat_limit && accuracy.r_hat_limit > 1.0, "{outcome}");
    assert_eq!(accuracy.obstacle, Some(Obstacle::Drift), "{outcome}");
}
