//! Outcomes of runs: every end has its reason, a failed run keeps its state, and slow and badly scaled fits are no failures.

use std::ops::ControlFlow;

use faer::Mat;
use mcsa_core::{
    Ensemble, Error, Estimator, FromFn, Kernel, LogDensity, Optimizer, Parametric, Proposal, Stream,
    WithGradient, from_fn,
};
use mcsa_estimators::{
    AscentState, Average, ChainScore, Controlled, Elbo, Interleaved, Obstacle, Outcome, Run, Stationary,
    View, jsa, msc, msc_rb, pmcsa, rws, single, snis,
};
use mcsa_families::MeanField;
use mcsa_kernels::{Hmc, ImhState};
use mcsa_models::Gaussian;
use mcsa_optim::{Adam, AdamState, Sgd};

use super::{ascent, fitted};

/// An optimiser whose n-th step moves the first parameter to a function of n and its value.
struct Moves(fn(u64, f64) -> f64);

impl Optimizer for Moves {
    type State = u64;
    fn init(&self, _: usize) -> u64 {
        0
    }
    fn check(&self, _: usize, _: &u64) -> Result<(), Error> {
        Ok(())
    }
    fn ascend(&self, steps: &mut u64, params: &mut [f64], _: &[f64]) {
        *steps += 1;
        params[0] = self.0(*steps, params[0]);
    }
}

#[test]
fn a_step_to_nowhere_is_an_outcome_and_lambda_stays() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let explodes = Moves(|step, param| param + if step == 3 { f64::INFINITY } else { 1.0 });
    let ascent = ascent(&target, &family, pmcsa(2), explodes);
    let mut fit = ascent.start(vec![0.0, 0.5]).unwrap();
    let outcome = ascent.run(&mut fit, 10).unwrap();
    let reason = "params[0] is inf, expected a finite number".to_owned();
    assert_eq!(outcome, Outcome::Diverged { step: 3, parameter: Some(0), reason });
    assert_eq!((fit.step(), fit.params()), (3, &[2.0, 0.5][..]));
    // The fit can be continued.
    assert_eq!(ascent.run(&mut fit, 1), Ok(Outcome::BudgetSpent { accuracy: None }));
    assert_eq!((fit.step(), fit.params()), (4, &[3.0, 0.5][..]));
}

#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    let (large, small, family) = (Gaussian::standard(10), Gaussian::standard(3), MeanField::new(3));
    let on = |target| ascent(target, &family, pmcsa(4), Adam::new(0.02).unwrap());
    for (params, message) in [
        (vec![0.0; 6], "Ascent: ChainScore: the target has dimension 10, the family 3"),
        (vec![0.0; 5], "Ascent: params has length 5, expected 6"),
        (vec![f64::NAN; 6], "Ascent: params[0] is NaN, expected a finite number"),
    ] {
        assert_eq!(on(&large).start(params).unwrap_err().to_string(), message);
    }
    let mut ascent = on(&small);
    let mut fit = ascent.start(vec![0.0; 6]).unwrap();
    ascent.seed = mcsa_core::Seed::new(4);
    let error = ascent.run(&mut fit, 1).unwrap_err().to_string();
    assert!(error.contains("the fit was started with seed"), "{error}");
    ascent.estimator = jsa(0);
    let error = ascent.start(vec![0.0; 6]).unwrap_err().to_string();
    assert_eq!(error, "Ascent: ChainScore: Imh: sweeps is 0, expected at least 1");
}

/// An estimator with directions of one, and a NaN for parameter 1 at step 5.
struct Breaks;

impl Estimator<Gaussian, MeanField> for Breaks {
    type State = u64;
    type Info = ();
    fn num_params(&self, _: &Gaussian, family: &MeanField) -> usize {
        family.num_params()
    }
    fn check_params(&self, _: &Gaussian, family: &MeanField, params: &[f64]) -> Result<(), Error> {
        family.check(params)
    }
    fn work_len(&self, _: &Gaussian, _: &MeanField) -> usize {
        0
    }
    fn init(&self, _: &Gaussian, _: &MeanField, _: &[f64], _: &mut [Stream]) -> Result<u64, Error> {
        Ok(0)
    }
    fn ascent_direction(
        &self,
        _: &Gaussian,
        _: &MeanField,
        _: &[f64],
        steps: &mut u64,
        _: &mut [Stream],
        direction: &mut [f64],
        _: &mut [f64],
    ) -> Result<(), Error> {
        *steps += 1;
        direction.copy_from_slice(&[1.0, if *steps == 5 { f64::NAN } else { 0.0 }]);
        Ok(())
    }
}

#[test]
fn a_direction_that_is_not_finite_names_parameter_and_step() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let ascent = ascent(&target, &family, Breaks, Sgd::new(1.0).unwrap());
    let mut fit = ascent.start(vec![0.0, 0.5]).unwrap();
    let mut seen = 0;
    let mut count = |_: &View<'_, _, _>| {
        seen += 1;
        ControlFlow::Continue(())
    };
    let outcome = ascent.run(&mut fit, Run::of(10).observe(&mut count)).unwrap();
    let Outcome::NonFinite { step: 5, parameter: 1, value } = outcome else { panic!("{outcome}") };
    assert!(value.is_nan());
    assert_eq!((fit.step(), fit.params(), seen), (5, &[4.0, 0.5][..], 4));
    assert_eq!(outcome.to_string(), "direction[1] is NaN at step 5");
    let text = serde_json::to_string(&outcome).unwrap();
    let back: Outcome = serde_json::from_str(&text).unwrap();
    assert!(matches!(back, Outcome::NonFinite { step: 5, parameter: 1, value } if value.is_nan()));
    // Continuing skips the step; chains and lambda are kept.
    ascent.run(&mut fit, 5).unwrap();
    assert_eq!((fit.step(), fit.params()), (10, &[9.0, 0.5][..]));
}

type Climb = AscentState<ImhState, AdamState>;

fn bits(fit: &Climb) -> Vec<u64> {
    fit.params().iter().map(|p| p.to_bits()).collect()
}

/// Runs until the rule decides, in pieces of `piece` steps, with the fit written to text and read between them.
fn until(rule: &Stationary, rate: f64, piece: u64) -> (Outcome, Climb) {
    let (target, family) = (Gaussian::standard(2), MeanField::new(2));
    let ascent = ascent(&target, &family, pmcsa(10), Adam::new(rate).unwrap());
    let mut fit = ascent.start(vec![0.5, -0.5, 0.0, 1.0]).unwrap();
    while fit.step() < 30_000 {
        let steps = piece.min(30_000 - fit.step());
        let outcome = ascent.run(&mut fit, Run::of(steps).until(*rule)).unwrap();
        fit = serde_json::from_str(&serde_json::to_string(&fit).unwrap()).unwrap();
        if !matches!(outcome, Outcome::BudgetSpent { .. } | Outcome::StationaryButStuck { .. })
            || fit.step() == 30_000
        {
            return (outcome, fit);
        }
    }
    panic!("the last piece returns");
}

#[test]
fn a_rule_decides_at_the_same_step_however_often_interrupted() {
    let rule = Stationary::to(0.1).unwrap();
    let (whole, fit) = until(&rule, 0.01, 30_000);
    let Outcome::Converged(accuracy) = &whole else { panic!("{whole}") };
    assert!(accuracy.step < 20_000 && accuracy.reached() <= 0.1 && accuracy.obstacle.is_none(), "{whole}");
    for piece in [97, 1_000] {
        let (pieces, other) = until(&rule, 0.01, piece);
        assert_eq!((&whole, &fit), (&pieces, &other), "{piece}");
    }
    // The iterates equal those of a run without a rule.
    let (target, family) = (Gaussian::standard(2), MeanField::new(2));
    let ascent = ascent(&target, &family, pmcsa(10), Adam::new(0.01).unwrap());
    let mut alone = ascent.start(vec![0.5, -0.5, 0.0, 1.0]).unwrap();
    ascent.run(&mut alone, fit.step()).unwrap();
    assert_eq!(bits(&alone), bits(&fit));
    // And the average is near the optimum: means 0, scales 1.
    let error =
        |k: usize| accuracy.average[k].abs().max((family.link.scale(accuracy.average[k + 2]) - 1.0).abs());
    assert!(error(0) < 0.1 && error(1) < 0.1, "{:?}", accuracy.average);
}

/// The twin: at a learning rate whose noise bends the mean by more than the required accuracy, no budget is enough, and the
/// outcome names the rate.
#[test]
fn a_rate_too_large_for_the_accuracy_never_converges() {
    let (outcome, _) = until(&Stationary::to(0.02).unwrap(), 0.2, 30_000);
    let Outcome::BudgetSpent { accuracy: Some(accuracy) } = &outcome else { panic!("{outcome}") };
    assert_eq!(accuracy.obstacle, Some(Obstacle::Rate), "{outcome}");
    assert!(outcome.to_string().contains("the rate is too large for this accuracy"), "{outcome}");
}

/// A kernel with exact draws of a standard normal, except for one chain, which never moves; it has no metrics.
pub(super) struct AllBut(pub(super) Option<usize>);

impl<P: LogDensity + ?Sized> Kernel<P> for AllBut {
    type State = Ensemble;
    type Info = ();
    fn columns(&self, chains: usize) -> usize {
        chains
    }
    fn work_len(&self, _: &P, _: usize) -> usize {
        0
    }
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Ensemble, Error> {
        Ensemble::new(target, positions)
    }
    fn step(&self, _: &P, _: &mut dyn Proposal, chains: &mut Ensemble, lanes: &mut [Stream], _: &mut [f64]) {
        for (j, lane) in lanes.iter_mut().enumerate().filter(|(j, _)| Some(*j) != self.0) {
            chains.place(j, &[lane.normal()], 0.0);
        }
    }
}

/// The iterates become stationary although one chain never moves; the outcome is not convergence. The twin, where all
/// chains move, converges.
#[test]
fn a_chain_that_never_moves_is_not_convergence() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let run = |stays| {
        let climb = ChainScore::new(AllBut(stays), 8, Average::Chains);
        let ascent = ascent(&target, &family, climb, Adam::new(0.005).unwrap());
        let mut fit = ascent.start(vec![0.0, 0.5]).unwrap();
        let rule = Stationary::to(0.2).unwrap();
        let outcome = ascent.run(&mut fit, Run::of(20_000).until(rule)).unwrap();
        (outcome, ascent.health(&fit).unwrap().oldest)
    };
    let (outcome, oldest) = run(Some(1));
    let Outcome::StationaryButStuck { chain: 1, stayed: 20_000, .. } = &outcome else { panic!("{outcome}") };
    assert!(outcome.to_string().contains("chain 1 stayed for 20000 steps"), "{outcome}");
    assert_eq!(oldest, Some((1, 20_000)));
    let (outcome, oldest) = run(None);
    assert!(matches!(outcome, Outcome::Converged(_)), "{outcome}");
    assert_eq!(oldest, Some((0, 0)));
}

#[test]
fn a_rule_is_refused_at_the_door() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Stationary::to(bad).unwrap_err().to_string();
        assert!(error.starts_with("Stationary: accuracy is"), "{error}");
    }
    let rule: Stationary = serde_json::from_str(r#"{"accuracy":0.5}"#).unwrap();
    assert_eq!(rule, Stationary::to(0.5).unwrap());
    assert!(serde_json::from_str::<Stationary>(r#"{"accuracy":-0.5}"#).is_err());
}

/// Steps under a rule allocate nothing; a run allocates only at its start.
#[test]
fn a_rule_allocates_nothing_per_step() {
    let (target, family) = (Gaussian::standard(10), MeanField::new(10));
    let ascent = ascent(&target, &family, pmcsa(10), Adam::new(0.01).unwrap());
    let mut fit = ascent.start(vec![0.0; 20]).unwrap();
    let rule = Stationary::to(1e-9).unwrap();
    let mut run = |steps| {
        allocation_counter::measure(|| drop(ascent.run(&mut fit, Run::of(steps).until(rule)))).count_total
    };
    run(3_000);
    let (few, many) = (run(10), run(5_000));
    assert_eq!(few, many);
}

/// A number of chains, draws, candidates or transitions too large for memory is refused at the start, and the largest
/// allowed number is named; nothing overflows before.
#[test]
fn sizes_beyond_memory_are_refused() {
    fn refusal<E: Estimator<Gaussian, MeanField>>(estimator: E) -> String {
        let (target, family) = (Gaussian::standard(8), MeanField::new(8));
        let ascent = ascent(&target, &family, estimator, Adam::new(0.1).unwrap());
        ascent.start(vec![0.0; 16]).err().expect("refused").to_string()
    }
    // Streams of lanes are longer than points.
    assert!(refusal(pmcsa(2_000_000)).contains("lanes is 2000000, expected at most"));
    for huge in [1 << 28, usize::MAX / 2, usize::MAX] {
        let hmc = || Hmc::new(0.1, 4).unwrap();
        let repeated = mcsa_kernels::Repeat { kernel: hmc(), times: huge };
        for error in [
            refusal(pmcsa(huge)),
            refusal(jsa(huge)),
            refusal(msc(huge)),
            refusal(msc_rb(huge)),
            refusal(single(repeated)),
            refusal(snis(huge)),
            refusal(rws(huge, hmc())),
            refusal(Elbo::closed(huge)),
            refusal(Elbo::path(huge)),
            refusal(Controlled::new(pmcsa(huge))),
        ] {
            assert!(error.contains(&format!("is {huge}, expected at most")), "{error}");
        }
    }
}

fn fit<P, E, O>(target: &P, estimator: E, optimizer: O, start: Vec<f64>, steps: u64) -> (Outcome, Vec<f64>)
where
    P: LogDensity,
    E: Estimator<P, MeanField>,
    O: Optimizer,
{
    fitted((target, &MeanField::new(target.dim())), (estimator, optimizer, 1), start, steps)
}

#[test]
fn a_lambda_that_runs_off_has_diverged() {
    let target = Gaussian::standard(1);
    // Start 1, so 1e10 is too far: the fourth step would go to 1e12.
    let (outcome, params) = fit(&target, pmcsa(2), Moves(|_, param| 1e3 * param), vec![1.0, 0.5], 100);
    let Outcome::Diverged { step: 4, parameter: Some(0), reason } = &outcome else { panic!("{outcome}") };
    assert!(reason.starts_with("params[0] is 1e12, beyond 1e10"), "{outcome}");
    assert_eq!(params, [1e9, 0.5]);
    assert!(outcome.is_failure());
    // A fit with a distant start may go farther by the same factor.
    let (outcome, _) = fit(&target, pmcsa(2), Moves(|_, param| 1e3 * param), vec![1e9, 0.5], 3);
    assert_eq!(outcome, Outcome::BudgetSpent { accuracy: None });
    assert!(!outcome.is_failure());
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

type Density = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;
type Everywhere = FromFn<Density, WithGradient<fn(&[f64], &mut [f64])>>;

/// A target with a constant log density.
fn everywhere(value: f64) -> Everywhere {
    let density: Density = Box::new(move |_| value);
    from_fn(2, density).with_gradient(|_, gradient| gradient.fill(0.0))
}

#[test]
fn a_target_that_is_finite_nowhere_is_named() {
    fn check<E: Estimator<Everywhere, MeanField>>(name: &str, make: impl Fn() -> E, nan: f64) {
        for (value, faults) in [(f64::NAN, nan), (f64::NEG_INFINITY, 0.0)] {
            let target = everywhere(value);
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

/// Under a stopping rule too the run ends at the same step.
#[test]
fn nothing_finite_is_noticed_under_a_rule() {
    let (target, family) = (everywhere(f64::NAN), MeanField::new(2));
    let ascent = ascent(&target, &family, pmcsa(4), Adam::new(0.01).unwrap());
    let rule = Stationary::to(0.1).unwrap();
    let mut fit = ascent.start(vec![0.0, 0.0, 0.5, 0.5]).unwrap();
    let outcome = ascent.run(&mut fit, Run::of(5_000).until(rule)).unwrap();
    assert!(matches!(outcome, Outcome::NothingFinite { step: 256, .. }), "{outcome}");
    // The fit can be continued, and ends again with this outcome.
    let outcome = ascent.run(&mut fit, Run::of(5_000).until(rule)).unwrap();
    assert!(matches!(outcome, Outcome::NothingFinite { step: 512, steps: 256, .. }), "{outcome}");
}

/// The twin: a support that one draw in ten thousand of the start hits is no failure once a chain is inside.
#[test]
fn a_chain_inside_a_small_support_is_enough() {
    let far = from_fn(1, |z| if z[0] > 2.5 { -0.5 * z[0] * z[0] } else { f64::NEG_INFINITY });
    let (outcome, params) = fit(&far, pmcsa(10), Adam::new(0.01).unwrap(), vec![0.0, 0.5413], 1_000);
    assert_eq!(outcome, Outcome::BudgetSpent { accuracy: None });
    assert!(params[0] > 1.5, "{params:?}");
}
