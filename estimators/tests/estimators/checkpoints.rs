//! A fit saved after any step and resumed is bit-identical to one that never stopped, and belongs to the parts that made it.

use faer::Mat;
use mcsa_core::{ChainState, Counted, Error, Estimator, LogDensity, Optimizer, Parametric, Seed};
use mcsa_estimators::{
    Ascent, AscentState, ChainScore, Controlled, Interleaved, Joint, Moments, jsa, jsa_scan, msc, msc_rb,
    pmcsa, pmcsa_rb, rws, single, snis,
};
use mcsa_families::{Amortised, Defence, Link, MeanField, Tail};
use mcsa_kernels::{Cycle, Hmc, Imh, ImhState, Repeat, Rwm};
use mcsa_models::{FactorAnalysis, Gaussian};
use mcsa_optim::{Adam, AdamState, Averaged, Averaging, Sgd, SgdState};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::step;

const STEPS: u64 = 40;

fn text<S: Serialize>(fit: &AscentState<S, AdamState>) -> String {
    serde_json::to_string(fit).unwrap()
}

/// The fit after all steps in one run, and in runs of `piece` steps with the fit serialised between them, without the
/// entries that `forget` removes.
fn both_ways<P, F, E>(
    ascent: &Ascent<'_, P, F, E, Adam>,
    start: &[f64],
    piece: u64,
    forget: impl Fn(&mut Value),
) -> (String, String)
where
    E: Estimator<P, F>,
    E::State: Serialize + DeserializeOwned,
{
    let mut whole = ascent.start(start.to_vec()).unwrap();
    ascent.run(&mut whole, STEPS).unwrap();
    let mut parts = ascent.start(start.to_vec()).unwrap();
    while parts.step() < STEPS {
        let mut file: Value = serde_json::from_str(&text(&parts)).unwrap();
        forget(&mut file);
        parts = serde_json::from_str(&file.to_string()).unwrap();
        let steps = piece.min(STEPS - parts.step());
        ascent.run(&mut parts, steps).unwrap();
    }
    (text(&whole), text(&parts))
}

fn resumes<P, F, E>(name: &str, target: &P, family: &F, estimator: E, start: &[f64])
where
    E: Estimator<P, F>,
    E::State: Serialize + DeserializeOwned,
{
    let (optimizer, seed) = (Adam::new(0.02).unwrap(), Seed::new(6));
    let ascent = Ascent { target, family, estimator, optimizer, seed };
    for piece in [1, 7] {
        let (whole, parts) = both_ways(&ascent, start, piece, |_| ());
        assert!(whole == parts, "{name}, {piece} steps at a time");
    }
}

fn on_a_gaussian<E>(name: &str, estimator: E)
where
    E: Estimator<Gaussian, MeanField>,
    E::State: Serialize + DeserializeOwned,
{
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    resumes(name, &target, &family, estimator, &start);
}

#[test]
fn fits_with_auxiliary_chains_resume() {
    let hmc = || Hmc::new(0.2, 5).unwrap();
    on_a_gaussian("interleaved", rws(4, hmc()));
    on_a_gaussian("chains of both", Interleaved { often: pmcsa(4), seldom: single(hmc()), period: 3 });
    on_a_gaussian("controlled", Controlled::new(pmcsa(4)));
    on_a_gaussian("controlled cloud", Controlled::new(msc_rb(4)));
    on_a_gaussian("controlled weights", Controlled::new(snis(4)));
    let nested = Interleaved { often: Controlled::new(jsa(4)), seldom: Controlled::new(pmcsa(2)), period: 2 };
    on_a_gaussian("controlled, in turns", nested);
    on_a_gaussian("moments", Moments::new(pmcsa(4), 6.0));
    on_a_gaussian("moments of recycled proposals", Moments::new(pmcsa_rb(4), 6.0));
    on_a_gaussian("moments of candidates", Moments::new(msc_rb(4), 6.0));
    on_a_gaussian("moments of a dynamics", Moments::new(single(hmc()), 6.0));
}

#[test]
fn joint_fits_resume() {
    let data = Mat::from_fn(3, 12, |i, j| ((3 * i + 5 * j) as f64).sin());
    let model = FactorAnalysis::new(data.clone(), 1).unwrap();
    let shared = Amortised::new(MeanField::new(1), data).unwrap();
    let lambda = shared.same_for_all(&MeanField::new(1).at(&[0.0], &[1.0]).unwrap()).unwrap();
    let start = [&lambda[..], &[0.5, 0.4, 0.3, 0.0, 0.0, 0.0, -0.5]].concat();
    resumes("joint", &model, &shared, Joint { climb: jsa_scan(4) }, &start);
}

/// The twin: a fit without the turn of `Interleaved`, or without the averages of a control variate, differs.
#[test]
fn what_is_forgotten_is_noticed() {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    let (target, family, seed) = (&target, &family, Seed::new(6));
    let adam = || Adam::new(0.02).unwrap();

    let estimator = rws(4, Hmc::new(0.2, 5).unwrap());
    let ascent = Ascent { target, family, estimator, optimizer: adam(), seed };
    let (whole, parts) = both_ways(&ascent, &start, 7, |fit| fit["estimator"]["step"] = 0.into());
    assert_ne!(whole, parts);

    let ascent = Ascent { target, family, estimator: Controlled::new(pmcsa(4)), optimizer: adam(), seed };
    let (whole, parts) = both_ways(&ascent, &start, 7, |fit| {
        let products = &mut fit["estimator"]["products"];
        *products = "0".repeat(products.as_str().map_or(0, str::len)).into();
    });
    assert_ne!(whole, parts);
}

const START: [f64; 4] = [0.0, 0.0, 0.5, 0.5];

fn at(mean: f64) -> Gaussian {
    Gaussian::new(vec![mean; 2], Mat::identity(2, 2).as_ref()).unwrap()
}

fn ascent<'a, P: LogDensity, E, O>(
    target: &'a P,
    family: &'a MeanField,
    estimator: E,
    optimizer: O,
) -> Ascent<'a, P, MeanField, E, O> {
    Ascent { target, family, estimator, optimizer, seed: Seed::new(1) }
}

/// A fit after `steps` steps, serialised.
fn on_file<P, E, O>(ascent: &Ascent<'_, P, MeanField, E, O>, steps: u64) -> String
where
    P: LogDensity,
    E: Estimator<P, MeanField>,
    O: Optimizer,
{
    let mut fit = ascent.start(START.to_vec()).unwrap();
    ascent.run(&mut fit, steps).unwrap();
    serde_json::to_string(&fit).unwrap()
}

type Climb = AscentState<ImhState, AdamState>;

#[test]
fn other_data_are_refused() {
    let (target, other, family) = (at(0.0), at(12.0), MeanField::new(2));
    let adam = || Adam::new(0.02).unwrap();
    let text = on_file(&ascent(&target, &family, pmcsa(4), adam()), 300);
    let elsewhere = ascent(&other, &family, pmcsa(4), adam());

    // Without this check chains never move: their cached densities are e^50 times those of any proposal.
    let fit: Climb = serde_json::from_str(&text).unwrap();
    let (estimator, mut state) = (pmcsa(4), fit.estimator().clone());
    let mut lanes = Seed::new(1).streams(4, 0);
    for number in 301..2_301 {
        mcsa_core::Stream::go_to_step(&mut lanes, number);
        step(&estimator, (&other, &family), fit.params(), &mut state, &mut lanes);
    }
    assert_eq!(&state.chains().positions, &fit.estimator().chains().positions, "2,000 steps, and no move");

    // So the first use of the fit makes the check.
    let mut fit: Climb = serde_json::from_str(&text).unwrap();
    for error in [
        elsewhere.run(&mut fit, 1).unwrap_err(),
        elsewhere.health(&fit).unwrap_err(),
        elsewhere.adopt(&mut fit).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.starts_with("Ascent: ChainScore: the cached log density of chain 0 is -"), "{error}");
        assert!(error.ends_with("start a new fit (its parameters can be the start)"), "{error}");
    }
    // The twin: on its own data the fit continues unchanged.
    assert_eq!(serde_json::to_string(&fit).unwrap(), text);
    ascent(&target, &family, pmcsa(4), adam()).run(&mut fit, 1).unwrap();
}

/// Every kernel that composes others, and every estimator around another, forwards the check.
#[test]
fn other_data_are_refused_by_whatever_has_chains() {
    fn refuses<E: Estimator<Gaussian, MeanField>>(name: &str, estimator: &dyn Fn() -> E) {
        let (target, other, family) = (at(0.0), at(1e-3), MeanField::new(2));
        let adam = || Adam::new(0.02).unwrap();
        let text = on_file(&ascent(&target, &family, estimator(), adam()), 3);
        let mut fit: AscentState<E::State, AdamState> = serde_json::from_str(&text).unwrap();
        let error = ascent(&other, &family, estimator(), adam()).run(&mut fit, 1);
        assert!(error.is_err_and(|error| error.to_string().contains("other data")), "{name}");
        ascent(&target, &family, estimator(), adam()).run(&mut fit, 1).unwrap();
    }
    let hmc = || Hmc::new(0.3, 4).unwrap();
    let repeat = || Repeat { kernel: hmc(), times: 2 };
    refuses("sweeps", &|| jsa(3));
    refuses("candidates", &|| msc(3));
    refuses("repeated", &|| single(repeat()));
    refuses("a cycle", &|| single(Cycle { first: repeat(), second: Imh::default() }));
    refuses("in turns", &|| Interleaved { often: snis(2), seldom: single(hmc()), period: 2 });
    refuses("controlled", &|| mcsa_estimators::Controlled::new(pmcsa(2)));
}

/// The check is made once, costs an evaluation per chain, and can be excluded from the counts.
#[test]
fn asking_costs_an_evaluation_per_chain_once() {
    let (target, family) = (Counted::new(at(0.0)), MeanField::new(2));
    let adam = || Adam::new(0.02).unwrap();
    let whole = ascent(&target, &family, pmcsa(4), adam());
    let text = on_file(&whole, 5);
    let mut fit: Climb = serde_json::from_str(&text).unwrap();
    let spent = || target.counts().log_density;
    let before = spent();
    whole.run(&mut fit, 0).unwrap();
    assert_eq!(spent() - before, 4);
    whole.run(&mut fit, 0).unwrap();
    whole.start(START.to_vec()).and_then(|mut fit| whole.run(&mut fit, 0)).unwrap();
    assert_eq!(spent() - before, 8, "four for the question, four for the start of another fit");
    let mut again: Climb = serde_json::from_str(&text).unwrap();
    let before = target.counts();
    target.uncounted(|| whole.run(&mut again, 0)).unwrap();
    assert_eq!(target.counts(), before);
    assert_eq!(fit, again, "whether it was asked is no part of a fit");
    assert_eq!(serde_json::to_string(&again).unwrap(), text);
}

/// The error of `new` for a fit that `old` made.
fn refusal<P, E, O>(
    old: &Ascent<'_, P, MeanField, E, O>,
    new: &Ascent<'_, P, MeanField, E, O>,
    adopts: bool,
) -> String
where
    P: LogDensity,
    E: Estimator<P, MeanField>,
    O: Optimizer,
{
    let mut fit: AscentState<E::State, O::State> = serde_json::from_str(&on_file(old, 3)).unwrap();
    let error = new.run(&mut fit, 1).unwrap_err();
    assert_eq!(new.adopt(&mut fit).is_ok(), adopts, "{error}");
    assert_eq!(new.run(&mut fit, 1).is_ok(), adopts, "{error}");
    error.to_string()
}

#[test]
fn configurations_are_compared_and_the_difference_is_named() {
    let target = at(0.0);
    let (family, log) = (MeanField::new(2), MeanField::new(2).with_link(Link::Exp));
    let adam = |rate| Adam::new(rate).unwrap();

    let error = refusal(
        &ascent(&target, &family, pmcsa(4), adam(0.01)),
        &ascent(&target, &family, pmcsa(4), adam(0.1)),
        true,
    );
    assert!(
        error.contains("another optimizer: it had `") && error.contains("0.01") && error.contains("0.1"),
        "{error}"
    );
    assert!(error.ends_with("go on with the former, or change it on purpose by Ascent::adopt"), "{error}");

    let error = refusal(
        &ascent(&target, &family, pmcsa(4), adam(0.1)),
        &ascent(&target, &log, pmcsa(4), adam(0.1)),
        false,
    );
    assert!(error.contains("another family: it had `link: Softplus`, not `link: Exp`"), "{error}");

    let rwm = |scale| single(Rwm::new(scale).unwrap());
    let error = refusal(
        &ascent(&target, &family, rwm(0.5), adam(0.1)),
        &ascent(&target, &family, rwm(0.25), adam(0.1)),
        true,
    );
    assert!(error.contains("another estimator: it had `") && error.contains("scale: 0.25"), "{error}");

    // More chains than the state has: named, and `adopt` cannot change it.
    let error = refusal(
        &ascent(&target, &family, pmcsa(4), adam(0.1)),
        &ascent(&target, &family, pmcsa(5), adam(0.1)),
        false,
    );
    assert!(error.contains("it had `lanes: 4`, not `lanes: 5`"), "{error}");

    let guarded = |share| pmcsa(4).guarded(Defence::new(share, Tail::cauchy(2)).unwrap());
    let (few, many) = (guarded(0.1), guarded(0.2));
    let error =
        refusal(&ascent(&target, &family, few, adam(0.1)), &ascent(&target, &family, many, adam(0.1)), true);
    assert!(error.contains("`share: 0.1`, not `share: 0.2`"), "{error}");

    let averaged = |power, rate| Averaged {
        averaging: Averaging::polynomial(power).unwrap(),
        optimizer: Sgd::new(rate).unwrap(),
    };
    let (old, new) = (averaged(3.0, 0.1), averaged(3.0, 0.2));
    let error =
        refusal(&ascent(&target, &family, snis(4), old), &ascent(&target, &family, snis(4), new), true);
    assert!(error.contains("0.1") && error.contains("0.2"), "{error}");

    // The twin: an equal configuration, constructed again, continues the fit.
    let mut fit: Climb =
        serde_json::from_str(&on_file(&ascent(&target, &family, pmcsa(4), adam(0.1)), 3)).unwrap();
    ascent(&target, &family, pmcsa(4), adam(0.1)).run(&mut fit, 1).unwrap();
}

#[test]
fn a_target_of_another_type_is_named() {
    struct Cubed(Gaussian);
    impl LogDensity for Cubed {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
            3.0 * self.0.log_density(z, work)
        }
    }
    let (target, cubed, family) = (at(0.0), Cubed(at(0.0)), MeanField::new(2));
    let adam = || Adam::new(0.1).unwrap();
    let mut fit: Climb =
        serde_json::from_str(&on_file(&ascent(&target, &family, pmcsa(4), adam()), 3)).unwrap();
    let error = ascent(&cubed, &family, pmcsa(4), adam()).run(&mut fit, 1).unwrap_err().to_string();
    assert!(error.contains("another target: it had `Gaussian`, not `Cubed`"), "{error}");
}

/// A file with other state types is refused before the states are read, in any order of its entries.
#[test]
fn a_checkpoint_of_other_types_is_refused_with_a_sentence() {
    let (target, family) = (at(0.0), MeanField::new(2));
    let text = on_file(&ascent(&target, &family, pmcsa(4), Adam::new(0.1).unwrap()), 3);
    let sorted: serde_json::Value = serde_json::from_str(&text).unwrap();
    for text in [text, sorted.to_string()] {
        let errors = [
            serde_json::from_str::<AscentState<(), AdamState>>(&text).unwrap_err().to_string(),
            serde_json::from_str::<AscentState<ImhState, SgdState>>(&text).unwrap_err().to_string(),
        ];
        for (error, found) in errors.iter().zip(["() and AdamState", "ImhState and SgdState"]) {
            assert!(error.starts_with("the fit was made by ChainScore { kernel: Imh {"), "{error}");
            assert!(
                error.contains("whose states are ImhState and AdamState; it is read as one with"),
                "{error}"
            );
            assert!(error.contains(&format!("states {found}: read it for the estimator")), "{error}");
        }
        assert!(serde_json::from_str::<Climb>(&text).is_ok());
    }
}

/// A fit adopted with another learning rate continues as one that changed its rate at that step.
#[test]
fn an_adopted_fit_goes_on_with_the_new_rate() -> Result<(), Error> {
    let (target, family) = (at(0.0), MeanField::new(2));
    let with = |rate| ascent(&target, &family, pmcsa(4), Sgd::new(rate).unwrap());
    let mut fit: AscentState<ImhState, SgdState> = serde_json::from_str(&on_file(&with(0.1), 3)).unwrap();
    let before = fit.params().to_vec();
    with(0.0 + 1e-300).adopt(&mut fit)?;
    with(1e-300).run(&mut fit, 5)?;
    assert_eq!((fit.step(), fit.params()), (8, &before[..]));
    assert!(with(0.1).run(&mut fit, 1).is_err(), "the old rate is the other one now");
    assert_eq!(family.num_params(), before.len());
    // Another seed is still refused.
    let mut other = with(0.1);
    other.seed = Seed::new(2);
    assert!(other.adopt(&mut fit).unwrap_err().to_string().contains("seed"));
    let _: &ChainScore<Imh> = &other.estimator;
    Ok(())
}
