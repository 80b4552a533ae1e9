//! Health reports: closed forms, and a fit unchanged by reports.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mcsa_core::{Estimator, LogDensity, Record, Seed, from_fn};
use mcsa_estimators::{
    Ascent, AscentState, Elbo, Health, Outcome, ParamsOrigin, Run, Stationary, TailWeight, pmcsa,
};
use mcsa_families::MeanField;
use mcsa_models::Gaussian;
use mcsa_optim::{Adam, AdamState, Averaged, Averaging};

use super::ascent;

/// Health after `steps` steps at a vanishing learning rate under a proposal of this scale, for a standard normal times `e^2`.
fn health(scale: f64, steps: u64, seed: u64) -> Health {
    let inner = Gaussian::standard(2);
    let target = from_fn(2, |z| inner.log_density(z, &mut [0.0; 2]) + 2.0);
    let family = MeanField::new(2);
    let optimizer = Adam::new(1e-12).unwrap();
    let ascent =
        Ascent { target: &target, family: &family, estimator: pmcsa(20), optimizer, seed: Seed::new(seed) };
    let mut fit = ascent.start(family.at(&[0.0; 2], &[scale; 2]).unwrap()).unwrap();
    ascent.run(&mut fit, steps).unwrap();
    let before = serde_json::to_string(&fit).unwrap();
    let health = ascent.health(&fit).unwrap();
    assert_eq!(before, serde_json::to_string(&fit).unwrap());
    assert_eq!(health, ascent.health(&fit).unwrap(), "the same fit gives the same report");
    let text = serde_json::to_string(&health).unwrap();
    assert_eq!(health, serde_json::from_str(&text).unwrap());
    health
}

/// A report from a number of draws, in one piece.
fn health_from<P: LogDensity, S>(
    ascent: &Ascent<'_, P, MeanField, impl Estimator<P, MeanField, State = S>, Adam>,
    fit: &AscentState<S, AdamState>,
    draws: usize,
) -> Health {
    ascent.health_in_pieces(fit, Some(draws), Vec::new(), |_| usize::MAX).unwrap().unwrap()
}

/// A proposal of scale s > 1 in two dimensions: `log w* = 2 log s`, `KL(q || p) = s^2 - 1 - 2 log s`, `KL(p || q) = 1/s^2 - 1 + 2 log s`,
/// sample size over draws `1 / E_q[w^2] = (2 s^2 - 1) / s^4`. The lower bound's standard error is below 0.1, that of the upper of 20
/// chains 0.2: five are allowed.
#[test]
fn a_report_has_its_closed_forms() {
    let s = 2.0_f64;
    let health = health(s, 600, 1);
    let log_w_star = 2.0 * s.ln();
    assert!((log_w_star - 0.1..log_w_star + 0.15).contains(&health.log_weight_bound), "{health}");
    assert!((health.log_evidence - 2.0).abs() < 0.1, "{health}");
    assert!((health.evidence_lower - (2.0 - (s * s - 1.0 - log_w_star))).abs() < 0.5, "{health}");
    assert!((health.evidence_upper - (2.0 + 1.0 / (s * s) - 1.0 + log_w_star)).abs() < 1.0, "{health}");
    let share = (2.0 * s * s - 1.0) / s.powi(4);
    assert!((health.sample_size / health.draws as f64 - share).abs() < 0.1, "{health}");
    assert!(health.tail_weight() == TailWeight::Light && health.shape < 0.3, "{health}");
    // E min(1, w'/w) of this pair, about one half.
    assert!((0.3..0.8).contains(&health.acceptance), "{health}");
    assert!(health.max_weight > 0.0 && health.max_weight < 0.5, "{health}");
    assert!(health.oldest.is_some_and(|(_, age)| age < 60), "{health}");
    // The mean score of a scale is `(1 / s^2 - 1) d log s / d rho`, and d s / d rho = 1 - e^-s under softplus.
    let signal = 2.0_f64.sqrt() * (1.0 - 1.0 / (s * s)) * (1.0 - (-s).exp()) / s;
    assert!((health.signal - signal).abs() < 0.05 && health.noise > 0.0, "{signal} {health}");
    assert_eq!(health.non_finite, 0.0);
    assert_eq!(health.to_string().lines().count(), 4);
    // Tail of k-hat: 3 sqrt(draws) weights, an error of (1 + k) / sqrt(weights).
    assert_eq!((health.draws, health.tail), (4_000, 190));
    assert!((0.02..0.12).contains(&health.shape_error) && health.shape_growth.abs() < 0.5, "{health}");
    assert!(health.to_string().contains("190 largest of 4000 weights"), "{health}");
}

/// The twin: a proposal of scale 0.2 has unbounded weights of tail index `1 - 0.04`, and the report calls the tail heavy.
#[test]
fn a_guide_that_misses_mass_is_reported() {
    let health = health(0.2, 600, 2);
    assert_eq!(health.tail_weight(), TailWeight::Heavy, "{health}");
    assert!(health.to_string().contains("too heavy"), "{health}");
    assert!(health.log_weight_bound > 2.0 && health.sample_size < 0.4 * health.draws as f64, "{health}");
}

/// Numbers that an estimator does not record are left out of the record; the others are there.
#[test]
fn without_chains_there_is_no_age() {
    let (target, family) = (Gaussian::standard(2), MeanField::new(2));
    let (estimator, optimizer) = (Elbo::closed(4), Adam::new(0.01).unwrap());
    let ascent = ascent(&target, &family, estimator, optimizer);
    let mut fit = ascent.start(vec![0.1; 4]).unwrap();
    ascent.run(&mut fit, 10).unwrap();
    let health = ascent.health(&fit).unwrap();
    let mut names = Vec::new();
    health.record(&mut |metric, value| {
        assert!(value.is_finite(), "{}", metric.name);
        names.push(metric.name);
    });
    assert!(names.contains(&"pareto_shape") && names.contains(&"noise"));
    assert!(!names.contains(&"acceptance") && !names.contains(&"oldest_chain"));
    assert!(health.to_string().contains("no chains"));
}

/// A fit of a standard Gaussian with noisy iterates: its health at the average and at the last iterate differ. By default
/// the average is judged and named; after a step that no rule has observed, the last iterate, at which noise makes the proposal too
/// narrow somewhere.
#[test]
fn the_recommended_lambda_is_judged() {
    let (target, family) = (Gaussian::standard(30), MeanField::new(30));
    let optimizer = Adam::new(0.15).unwrap();
    let ascent = ascent(&target, &family, pmcsa(10), optimizer);
    let mut fit = ascent.start(family.at(&[0.0; 30], &[1.0; 30]).unwrap()).unwrap();
    let rule = Stationary::to(0.6).unwrap();
    let outcome = ascent.run(&mut fit, Run::of(10_000).until(rule)).unwrap();
    let Outcome::Converged(accuracy) = &outcome else { panic!("{outcome}") };
    let health = ascent.health(&fit).unwrap();
    let judged = ParamsOrigin::RuleAverage { window: accuracy.window };
    assert_eq!((health.judged, ascent.recommended(&fit)), (judged, (judged, &accuracy.average[..])));
    let said = format!("average of the last {} steps", accuracy.window);
    assert!(health.to_string().contains(&said), "{health}");
    ascent.run(&mut fit, 1).unwrap();
    let last = ascent.health(&fit).unwrap();
    assert_eq!(last.judged, ParamsOrigin::LastIterate);
    assert!(last.to_string().contains("last iterate"), "{last}");
    assert_eq!(health.tail_weight(), TailWeight::Light, "{health}");
    assert_ne!(last.tail_weight(), TailWeight::Light, "{last}");
    assert!(last.shape > health.shape + 0.3, "{health}\n{last}");
}

/// The average of the optimiser is judged if no rule has observed the fit.
#[test]
fn the_optimisers_average_is_judged() {
    let (target, family) = (Gaussian::standard(2), MeanField::new(2));
    let optimizer = Averaged { averaging: Averaging::tail(11).unwrap(), optimizer: Adam::new(0.05).unwrap() };
    let ascent = ascent(&target, &family, pmcsa(10), optimizer);
    let mut fit = ascent.start(family.at(&[0.0; 2], &[1.0; 2]).unwrap()).unwrap();
    ascent.run(&mut fit, 10).unwrap();
    assert_eq!(ascent.recommended(&fit), (ParamsOrigin::LastIterate, fit.params()));
    let mut sum = [0.0; 4];
    for _ in 0..20 {
        ascent.run(&mut fit, 1).unwrap();
        sum.iter_mut().zip(fit.params()).for_each(|(sum, p)| *sum += p / 20.0);
    }
    let average = fit.optimizer().average().unwrap();
    assert!(average.iter().zip(sum).all(|(a, b)| (a - b).abs() < 1e-14), "{average:?} {sum:?}");
    assert_eq!(ascent.recommended(&fit), (ParamsOrigin::OptimizerAverage, average));
    let health = ascent.health(&fit).unwrap();
    assert_eq!(health.judged, ParamsOrigin::OptimizerAverage);
    assert!(health.to_string().contains("the optimiser's average"), "{health}");
}

/// A target that is NaN beyond 0.5, and counts the NaN: a report adds those at its own draws to those of the steps.
#[test]
fn a_report_counts_every_fault() {
    let (inner, count) = (Gaussian::standard(1), AtomicUsize::new(0));
    let target = from_fn(1, |z| {
        if z[0] > 0.5 {
            count.fetch_add(1, Relaxed);
            return f64::NAN;
        }
        inner.log_density(z, &mut [0.0])
    });
    let family = MeanField::new(1);
    let ascent = ascent(&target, &family, pmcsa(20), Adam::new(1e-12).unwrap());
    let mut fit = ascent.start(family.at(&[0.0], &[2.0]).unwrap()).unwrap();
    let faults = || count.load(Relaxed);
    let before = faults();
    ascent.run(&mut fit, 200).unwrap();
    let found = faults() - before;
    assert!(found > 1_000, "{found} of 4000 proposals should be faults");
    assert_eq!(fit.statistics().non_finite(), found as f64);
    let before = faults();
    let health = health_from(&ascent, &fit, 50);
    assert_eq!(health.draws, 50);
    assert!(faults() > before);
    assert_eq!(health.non_finite, (found + faults() - before) as f64);
    let said = |dropped_metrics| Health { dropped_metrics, ..health.clone() }.to_string();
    assert!(said(2.0).contains("2 metrics were dropped") && !said(0.0).contains("metrics were dropped"));
}

/// A report in pieces of any sizes, stopped and continued, equals a whole one to the bit; with another density at one draw it does
/// not.
#[test]
fn pieces_make_the_same_report() {
    let (inner, family) = (Gaussian::standard(3), MeanField::new(3));
    let calls = AtomicUsize::new(0);
    let target = from_fn(3, |z| {
        calls.fetch_add(1, Relaxed);
        inner.log_density(z, &mut [0.0; 3])
    });
    let (estimator, optimizer, seed) = (pmcsa(4), Adam::new(0.01).unwrap(), Seed::new(9));
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed };
    let mut fit = ascent.start(family.at(&[0.5; 3], &[0.9; 3]).unwrap()).unwrap();
    ascent.run(&mut fit, 20).unwrap();
    for draws in [Some(1), Some(1_000), Some(2_300), None] {
        let expected = match draws {
            Some(draws) => health_from(&ascent, &fit, draws),
            None => ascent.health(&fit).unwrap(),
        };
        calls.store(0, Relaxed);
        let (mut done, mut stops) = (Vec::new(), 0);
        let health = loop {
            let (mut pieces, mut so_far) = (0, Vec::new());
            let next = |seen: &[f64]| {
                (pieces, so_far) = (pieces + 1, seen.to_vec());
                // Three pieces a call, across the borders of batches.
                if pieces > 3 { 0 } else { 1 + 137 * pieces }
            };
            match ascent.health_in_pieces(&fit, draws, done, next).unwrap() {
                Some(health) => break health,
                None => (done, stops) = (so_far, stops + 1),
            }
        };
        assert_eq!(calls.load(Relaxed), expected.draws, "no draw is evaluated twice");
        assert_eq!(stops > 0, expected.draws > 1);
        let text = |health: &Health| serde_json::to_string(health).unwrap();
        assert_eq!(text(&health), text(&expected));
        let other = ascent.health_in_pieces(&fit, draws, vec![-100.0], |_| usize::MAX).unwrap().unwrap();
        assert_ne!(text(&other), text(&expected));
    }
    let refused = |draws, done| ascent.health_in_pieces(&fit, draws, done, |_| 1).unwrap_err().to_string();
    assert_eq!(refused(Some(0), vec![]), "health_in_pieces: draws is 0, expected at least 1");
    assert_eq!(
        refused(Some(2), vec![0.0; 3]),
        "health_in_pieces: length of done is 3, expected at most that of all draws"
    );
}
