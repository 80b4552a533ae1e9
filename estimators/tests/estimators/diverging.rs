//! Outcomes of diverging fits and of fits without finite densities; slow and badly scaled fits are no failures.

use faer::Mat;
use mcsa_core::{Error, Estimator, Gradient, LogDensity, Optimizer, Seed, from_fn};
use mcsa_estimators::{
    Ascent, Elbo, Interleaved, Outcome, Run, Stationary, jsa, msc_rb, pmcsa, rws, single, snis,
};
use mcsa_families::MeanField;
use mcsa_kernels::Hmc;
use mcsa_models::Gaussian;
use mcsa_optim::{Adam, Sgd};

/// An optimiser that multiplies the first parameter by a thousand in every step, without overflow.
struct Runs;

impl Optimizer for Runs {
    type State = ();
    fn init(&self, _: usize) {}
    fn check(&self, _: usize, (): &()) -> Result<(), Error> {
        Ok(())
    }
    fn ascend(&self, (): &mut (), params: &mut [f64], _: &[f64]) {
        params[0] *= 1e3;
    }
}

fn fit<P, E, O>(target: &P, estimator: E, optimizer: O, start: Vec<f64>, steps: u64) -> (Outcome, Vec<f64>)
where
    P: LogDensity,
    E: Estimator<P, MeanField>,
    O: Optimizer,
{
    let family = MeanField::new(target.dim());
    let ascent = Ascent { target, family: &family, estimator, optimizer, seed: Seed::new(1) };
    let mut fit = ascent.start(start).unwrap();
    let outcome = ascent.run(&mut fit, steps).unwrap();
    (outcome, fit.params().to_vec())
}

#[test]
fn a_lambda_that_runs_off_has_diverged() {
    let target = Gaussian::standard(1);
    // Start 1, so 1e10 is too far: the fourth step would go to 1e12.
    let (outcome, params) = fit(&target, pmcsa(2), Runs, vec![1.0, 0.5], 100);
    let Outcome::Diverged { step: 4, parameter: Some(0), reason } = &outcome else { panic!("{outcome}") };
    assert!(reason.starts_with("params[0] is 1e12, beyond 1e10"), "{outcome}");
    assert_eq!(params, [1e9, 0.5]);
    assert!(outcome.is_failure());
    // A fit with a distant start may go farther by the same factor.
    let (outcome, _) = fit(&target, pmcsa(2), Runs, vec![1e9, 0.5], 3);
    assert_eq!(outcome, Outcome::BudgetSpent { accuracy: None });
    assert!(!outcome.is_failure());
}

/// A learning rate of 1e25 moves lambda some 1e25 standard deviations away in the first step, all numbers finite.
#[test]
fn a_rate_out_of_all_proportion_diverges() {
    for seed in 0..8 {
        let (target, family) = (Gaussian::standard(2), MeanField::new(2));
        let optimizer = Sgd::new(1e25).unwrap();
        let ascent = Ascent {
            target: &target,
            family: &family,
            estimator: pmcsa(4),
            optimizer,
            seed: Seed::new(seed),
        };
        let mut fit = ascent.start(vec![0.0, 0.0, 0.5, 0.5]).unwrap();
        let outcome = ascent.run(&mut fit, 5_000).unwrap();
        assert!(matches!(outcome, Outcome::Diverged { step: 1, .. }), "{outcome}");
        assert_eq!(fit.params(), [0.0, 0.0, 0.5, 0.5], "lambda is where the last good step left it");
    }
}

/// Standard deviations from 1e-8 to 1e8, optima thousands of them away, and learning rates too small to arrive: no failure.
#[test]
fn slow_and_badly_scaled_fits_have_not_diverged() {
    for scale in [1e-8, 1.0, 1e8] {
        let variance = Mat::from_fn(1, 1, |_, _| scale * scale);
        let target = Gaussian::new(vec![1e3 * scale], variance.as_ref()).unwrap();
        let family = MeanField::new(1);
        let start = family.at(&[995.0 * scale], &[scale]).unwrap();
        let (outcome, params) = fit(&target, pmcsa(10), Adam::new(1e-6).unwrap(), start.clone(), 500);
        assert_eq!(outcome, Outcome::BudgetSpent { accuracy: None }, "slow, {scale:e}");
        assert!(params.iter().all(|p| p.is_finite()));
        if scale >= 1.0 {
            let hmc = Hmc::new(0.5 * scale, 4).unwrap();
            let (outcome, params) = fit(&target, single(hmc), Adam::new(0.05 * scale).unwrap(), start, 2_000);
            assert_eq!(outcome, Outcome::BudgetSpent { accuracy: None }, "{scale:e}");
            assert!((params[0] / scale - 1e3).abs() < 2.0, "it has converged: {params:?}");
        }
    }
}

/// A target with a constant log density.
struct Everywhere(f64);

impl LogDensity for Everywhere {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, _: &[f64], _: &mut [f64]) -> f64 {
        self.0
    }
}

impl Gradient for Everywhere {
    fn gradient_into(&self, _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        self.0
    }
}

#[test]
fn a_target_that_is_finite_nowhere_is_named() {
    fn check<E: Estimator<Everywhere, MeanField>>(name: &str, make: impl Fn() -> E, nan: f64) {
        for (value, faults) in [(f64::NAN, nan), (f64::NEG_INFINITY, 0.0)] {
            let target = Everywhere(value);
            let (outcome, _) =
                fit(&target, make(), Adam::new(0.01).unwrap(), vec![0.0, 0.0, 0.5, 0.5], 5_000);
            let Outcome::NothingFinite { step: 256, steps: 256, non_finite } = outcome else {
                panic!("{name}, {value}: {outcome}")
            };
            assert!(nan.is_nan() || non_finite == faults, "{name}, {value}: {non_finite}");
            assert!(outcome.to_string().starts_with("no finite log density in the 256 steps up to 256; "));
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        }
    }
    let hmc = || Hmc::new(0.2, 3).unwrap();
    check("pmcsa", || pmcsa(4), 4.0 * 256.0);
    check("jsa", || jsa(4), 4.0 * 256.0);
    check("msc_rb", || msc_rb(4), 4.0 * 256.0);
    check("hmc", || single(hmc()), f64::NAN);
    check("snis", || snis(4), 4.0 * 256.0);
    check("elbo", || Elbo { samples: 3, ..Elbo::closed(4) }, f64::NAN);
    check("rws", || rws(4, hmc()), f64::NAN);
    check("in turns", || Interleaved { often: snis(2), seldom: snis(2), period: 3 }, 2.0 * 256.0);
}

/// Under a stopping rule too the run ends at the same step, for every number of interruptions.
#[test]
fn nothing_finite_is_noticed_under_a_rule_and_across_interruptions() {
    let (target, family) = (Everywhere(f64::NAN), MeanField::new(2));
    let optimizer = Adam::new(0.01).unwrap();
    let ascent =
        Ascent { target: &target, family: &family, estimator: pmcsa(4), optimizer, seed: Seed::new(1) };
    let rule = Stationary::to(0.1).unwrap();
    let mut fit = ascent.start(vec![0.0, 0.0, 0.5, 0.5]).unwrap();
    let outcome = ascent.run(&mut fit, Run::of(5_000).until(rule)).unwrap();
    assert!(matches!(outcome, Outcome::NothingFinite { step: 256, .. }), "{outcome}");
    // The fit can be continued, and ends again with this outcome.
    let outcome = ascent.run(&mut fit, Run::of(5_000).until(rule)).unwrap();
    assert!(matches!(outcome, Outcome::NothingFinite { step: 512, steps: 256, .. }), "{outcome}");

    let mut parts = ascent.start(vec![0.0, 0.0, 0.5, 0.5]).unwrap();
    while parts.step() < 252 {
        let outcome = ascent.run(&mut parts, 7).unwrap();
        assert!(!outcome.is_failure(), "{outcome}");
        parts = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    }
    let outcome = ascent.run(&mut parts, 7).unwrap();
    assert!(matches!(outcome, Outcome::NothingFinite { step: 256, .. }), "{outcome}");
}

/// The twin: a support that one draw in ten thousand of the start hits is no failure once a chain is inside.
#[test]
fn a_chain_inside_a_small_support_is_enough() {
    let far = from_fn(1, |z| if z[0] > 2.5 { -0.5 * z[0] * z[0] } else { f64::NEG_INFINITY });
    let (outcome, params) = fit(&far, pmcsa(10), Adam::new(0.01).unwrap(), vec![0.0, 0.5413], 1_000);
    assert_eq!(outcome, Outcome::BudgetSpent { accuracy: None });
    assert!(params[0] > 1.5, "{params:?}");
}
