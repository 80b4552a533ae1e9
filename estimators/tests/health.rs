//! What a report says, and that looking moves nothing.

use mcsa::{Record, Seed};
use mcsa_estimators::{Ascent, Elbo, Health, pmcsa};
use mcsa_families::MeanField;
use mcsa_models::Gaussian;
use mcsa_optim::Adam;

/// After `steps` at a vanishing rate under a guide of this scale, for a standard normal times `e^2`.
fn health(scale: f64, steps: u64) -> Health {
    struct Raised(Gaussian);
    impl mcsa::LogDensity for Raised {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
            self.0.log_density(z, work) + 2.0
        }
    }
    let (target, family) = (Raised(Gaussian::standard(2)), MeanField::new(2));
    let optimizer = Adam::new(1e-12).unwrap();
    let ascent =
        Ascent { target: &target, family: &family, estimator: pmcsa(20), optimizer, seed: Seed::new(1) };
    let mut fit = ascent.start(family.at(&[0.0; 2], &[scale; 2]).unwrap()).unwrap();
    ascent.run(&mut fit, steps, &mut []).unwrap();
    let before = serde_json::to_string(&fit).unwrap();
    let health = ascent.health(&fit).unwrap();
    assert_eq!(before, serde_json::to_string(&fit).unwrap());
    assert_eq!(health, ascent.health(&fit).unwrap(), "the same fit gives the same report");
    let text = serde_json::to_string(&health).unwrap();
    assert_eq!(health, serde_json::from_str(&text).unwrap());
    health
}

/// A guide of scale s > 1 in two dimensions: `log w* = 2 log s`, `KL(q || p) = s^2 - 1 - 2 log s`, `KL(p || q) = 1/s^2 - 1 + 2 log s`,
/// sample size over draws `1 / E_q[w^2] = (2 s^2 - 1) / s^4`. The lower bound's standard error of 1000 draws is about 0.1, that of
/// the upper of 20 chains 0.2: five are allowed.
#[test]
fn a_report_has_its_closed_forms() {
    let s = 2.0_f64;
    let health = health(s, 600);
    let log_w_star = 2.0 * s.ln();
    assert!((log_w_star - 0.1..log_w_star + 0.15).contains(&health.log_weight_bound), "{health}");
    assert!((health.log_evidence - 2.0).abs() < 0.1, "{health}");
    assert!((health.evidence_lower - (2.0 - (s * s - 1.0 - log_w_star))).abs() < 0.5, "{health}");
    assert!((health.evidence_upper - (2.0 + 1.0 / (s * s) - 1.0 + log_w_star)).abs() < 1.0, "{health}");
    let share = (2.0 * s * s - 1.0) / s.powi(4);
    assert!((health.sample_size / 1_000.0 - share).abs() < 0.1, "{health}");
    assert!(health.has_light_tails() && health.shape < 0.3, "{health}");
    // E min(1, w'/w) of this pair, about one half.
    assert!((0.3..0.8).contains(&health.acceptance), "{health}");
    assert!(health.max_weight > 0.0 && health.max_weight < 0.5, "{health}");
    assert!(health.oldest.is_some_and(|(_, age)| age < 60), "{health}");
    // The mean score of a scale is `(1 / s^2 - 1) d log s / d rho`, and d s / d rho = 1 - e^-s under softplus.
    let signal = 2.0_f64.sqrt() * (1.0 - 1.0 / (s * s)) * (1.0 - (-s).exp()) / s;
    assert!((health.signal - signal).abs() < 0.05 && health.noise > 0.0, "{signal} {health}");
    assert_eq!(health.non_finite, 0.0);
    assert_eq!(health.to_string().lines().count(), 4);
}

/// The twin: a guide of scale 0.4 has weights of tail index `1 - 0.16`, unbounded, and the report says so.
#[test]
fn a_guide_that_misses_mass_is_reported() {
    let health = health(0.4, 600);
    assert!(!health.has_light_tails(), "{health}");
    assert!(health.to_string().contains("too heavy"), "{health}");
    assert!(health.log_weight_bound > 2.0 && health.sample_size < 400.0, "{health}");
}

/// What an estimator does not have is left out of the row; the rest is there.
#[test]
fn without_chains_there_is_no_age() {
    let (target, family) = (Gaussian::standard(2), MeanField::new(2));
    let (estimator, optimizer) = (Elbo::closed(4), Adam::new(0.01).unwrap());
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
    let mut fit = ascent.start(vec![0.1; 4]).unwrap();
    ascent.run(&mut fit, 10, &mut []).unwrap();
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
