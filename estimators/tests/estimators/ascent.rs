//! Outcomes of runs: every end has its reason, and a failed run keeps its state.

use std::ops::ControlFlow;

use faer::Mat;
use mcsa_core::{
    Ensemble, Error, Estimator, Kernel, LogDensity, Optimizer, Parametric, Proposal, Seed, Stream,
};
use mcsa_estimators::{
    Ascent, AscentState, Average, ChainScore, Controlled, Elbo, Obstacle, Outcome, Run, Stationary, View,
    jsa, msc, msc_rb, pmcsa, rws, single, snis,
};
use mcsa_families::MeanField;
use mcsa_kernels::ImhState;
use mcsa_models::Gaussian;
use mcsa_optim::{Adam, AdamState, Sgd};

/// An optimiser with steps of length one, and an infinite one at the third step.
struct Explodes;

impl Optimizer for Explodes {
    type State = u64;
    fn init(&self, _: usize) -> u64 {
        0
    }
    fn check(&self, _: usize, _: &u64) -> Result<(), Error> {
        Ok(())
    }
    fn ascend(&self, steps: &mut u64, params: &mut [f64], _: &[f64]) {
        *steps += 1;
        params[0] += if *steps == 3 { f64::INFINITY } else { 1.0 };
    }
}

fn ascent<'a, E, O>(
    target: &'a Gaussian,
    family: &'a MeanField,
    estimator: E,
    optimizer: O,
) -> Ascent<'a, Gaussian, MeanField, E, O> {
    Ascent { target, family, estimator, optimizer, seed: Seed::new(1) }
}

#[test]
fn a_step_to_nowhere_is_an_outcome_and_lambda_stays() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let ascent = ascent(&target, &family, pmcsa(2), Explodes);
    let mut fit = ascent.start(vec![0.0, 0.5]).unwrap();
    let outcome = ascent.run(&mut fit, 10).unwrap();
    let reason = "params[0] is inf, expected a finite number".to_owned();
    assert_eq!(outcome, Outcome::Diverged { step: 3, parameter: Some(0), reason });
    assert_eq!((fit.step(), fit.params()), (3, &[2.0, 0.5][..]));
    // The fit can be continued.
    assert_eq!(ascent.run(&mut fit, 1), Ok(Outcome::BudgetSpent { accuracy: None }));
    assert_eq!((fit.step(), fit.params()), (4, &[3.0, 0.5][..]));
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
    fn lanes(&self) -> usize {
        1
    }
    fn work_len(&self, _: &Gaussian, _: &MeanField) -> usize {
        0
    }
    fn init(&self, _: &Gaussian, _: &MeanField, _: &[f64], _: &mut [Stream]) -> Result<u64, Error> {
        Ok(0)
    }
    fn check(&self, _: &Gaussian, _: &MeanField, _: &u64) -> Result<(), Error> {
        Ok(())
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

/// An estimator with exact draws of a standard normal, except for one chain, which never moves.
struct AllBut(Option<usize>);

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
        let ascent = Ascent {
            target: &target,
            family: &family,
            estimator,
            optimizer: Adam::new(0.1).unwrap(),
            seed: Seed::new(1),
        };
        ascent.start(vec![0.0; 16]).err().expect("refused").to_string()
    }
    for huge in [1 << 28, usize::MAX / 2, usize::MAX] {
        let hmc = || mcsa_kernels::Hmc::new(0.1, 4).unwrap();
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
