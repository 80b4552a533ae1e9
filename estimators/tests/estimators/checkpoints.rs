//! A saved fit belongs to the parts that made it.

use faer::Mat;
use mcsa_core::{Counted, Error, Estimator, LogDensity, Optimizer, Seed};
use mcsa_estimators::{Ascent, AscentState, pmcsa, single, snis};
use mcsa_families::{Defence, Link, MeanField, Tail};
use mcsa_kernels::{ImhState, Rwm};
use mcsa_models::{Banana, Gaussian};
use mcsa_optim::{Adam, AdamState, Averaged, Averaging, Sgd, SgdState};

use super::ascent;

const START: [f64; 4] = [0.0, 0.0, 0.5, 0.5];

fn at(mean: f64) -> Gaussian {
    Gaussian::new(vec![mean; 2], Mat::identity(2, 2).as_ref()).unwrap()
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

    // Without a check chains would never move: cached densities are e^50 times those of any proposal. The first use makes it.
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
    let of = |estimator| ascent(&target, &family, estimator, adam(0.1));
    let walk = |scale| ascent(&target, &family, single(Rwm::new(scale).unwrap()), adam(0.1));
    let tail = || Tail::cauchy(2);
    let guarded =
        |share| ascent(&target, &family, pmcsa(4).guarded(Defence::new(share, tail()).unwrap()), adam(0.1));
    let averaged = |rate| {
        let averaging = Averaging::polynomial(3.0).unwrap();
        ascent(&target, &family, snis(4), Averaged { averaging, optimizer: Sgd::new(rate).unwrap() })
    };
    let with_rate = |rate| ascent(&target, &family, pmcsa(4), adam(rate));
    for (error, parts) in [
        (
            refusal(&with_rate(0.01), &with_rate(0.1), true),
            &["another optimizer: it had `", "0.01", "0.1"][..],
        ),
        (
            refusal(&of(pmcsa(4)), &ascent(&target, &log, pmcsa(4), adam(0.1)), false),
            &["another family: it had `link: Softplus`, not `link: Exp`"],
        ),
        (refusal(&walk(0.5), &walk(0.25), true), &["another estimator: it had `", "scale: 0.25"]),
        // More chains than the state has: `adopt` cannot change it.
        (refusal(&of(pmcsa(4)), &of(pmcsa(5)), false), &["it had `lanes: 4`, not `lanes: 5`"]),
        (refusal(&guarded(0.1), &guarded(0.2), true), &["`share: 0.1`, not `share: 0.2`"]),
        (refusal(&averaged(0.1), &averaged(0.2), true), &["0.1", "0.2"]),
    ] {
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        let advice =
            ["go on with the former, or change it on purpose by Ascent::adopt", "if they mean the same"];
        assert!(advice.iter().any(|advice| error.ends_with(advice)), "{error}");
    }
    // The twin: an equal configuration, constructed again, continues the fit.
    let mut fit: Climb = serde_json::from_str(&on_file(&of(pmcsa(4)), 3)).unwrap();
    of(pmcsa(4)).run(&mut fit, 1).unwrap();
}

#[test]
fn a_target_of_another_type_is_named() {
    let (target, bent, family) = (at(0.0), Banana::new(1.0, 0.5).unwrap(), MeanField::new(2));
    let adam = || Adam::new(0.1).unwrap();
    let mut fit: Climb =
        serde_json::from_str(&on_file(&ascent(&target, &family, pmcsa(4), adam()), 3)).unwrap();
    let error = ascent(&bent, &family, pmcsa(4), adam()).run(&mut fit, 1).unwrap_err().to_string();
    assert!(error.contains("another target: it had `Gaussian`, not `Banana`"), "{error}");
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
    // Another seed is still refused.
    let mut other = with(0.1);
    other.seed = Seed::new(2);
    assert!(other.adopt(&mut fit).unwrap_err().to_string().contains("seed"));
    Ok(())
}
