//! An estimator without its type makes the steps of the estimator that it holds, and its state goes through a file.

use mcsa_core::{Estimator, Seed};
use mcsa_estimators::{
    Ascent, AscentState, Controlled, DynEstimator, DynState, FlowElbo, ScoreWeights, Weighting, msc_rb,
    pmcsa, rws, snis,
};
use mcsa_families::{Drawn, MeanField};
use mcsa_kernels::Hmc;
use mcsa_models::Gaussian;
use mcsa_optim::{Adam, AdamState};

const STEPS: u64 = 60;
type Erased<'e> = DynEstimator<'e, Gaussian, MeanField>;
type DynFit = AscentState<DynState, AdamState>;

fn ascent<'a, E>(
    target: &'a Gaussian,
    family: &'a MeanField,
    estimator: E,
) -> Ascent<'a, Gaussian, MeanField, E, Adam> {
    Ascent { target, family, estimator, optimizer: Adam::new(0.02).unwrap(), seed: Seed::new(6) }
}

fn read(fit: &DynFit) -> DynFit {
    serde_json::from_str(&serde_json::to_string(fit).unwrap()).unwrap()
}

/// Lambda, metrics, chains and health of a fit in one run, and of an erased one that is stored and read every seven steps.
fn is_the_same<E: Estimator<Gaussian, MeanField> + Clone>(name: &str, estimator: E) {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    let plain = ascent(&target, &family, estimator.clone());
    let mut whole = plain.start(start.clone()).unwrap();
    plain.run(&mut whole, STEPS).unwrap();
    let erased = ascent(&target, &family, Erased::new(estimator));
    let mut parts = erased.start(start).unwrap();
    while parts.step() < STEPS {
        parts = read(&parts);
        let steps = 7.min(STEPS - parts.step());
        erased.run(&mut parts, steps).unwrap();
    }
    assert_eq!(whole.params(), parts.params(), "{name}");
    // As text, because metrics that a method does not record are NaN.
    assert_eq!(format!("{:?}", whole.statistics()), format!("{:?}", parts.statistics()), "{name}");
    let [ours, theirs] = [plain.health(&whole).unwrap(), erased.health(&parts).unwrap()];
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{name}");
    let (ours, theirs) = (serde_json::to_value(whole.estimator()), serde_json::to_value(parts.estimator()));
    assert_eq!(ours.unwrap(), theirs.unwrap(), "{name}");
    assert_eq!(*parts.estimator(), *read(&parts).estimator(), "{name}");
}

#[test]
fn steps_and_states_are_those_of_the_estimator() {
    is_the_same("pmcsa", pmcsa(4));
    is_the_same("msc-rb", msc_rb(4));
    is_the_same("snis", snis(4));
    is_the_same("chi square", ScoreWeights::new(4, Weighting::ChiSquare));
    is_the_same("controlled", Controlled::new(pmcsa(4)));
    is_the_same("rws", rws(4, Hmc::new(0.2, 5).unwrap()));
}

/// The bound on a pushforward, in an ascent of the family with its density: lambda as of the pushforward alone.
#[test]
fn an_estimator_can_have_a_view_of_its_own() {
    let (target, family, pushforward) = (Gaussian::standard(3), MeanField::new(3), Drawn(MeanField::new(3)));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    let (optimizer, seed, estimator) = (Adam::new(0.02).unwrap(), Seed::new(6), FlowElbo::new(4));
    let plain = Ascent { target: &target, family: &pushforward, estimator, optimizer, seed };
    let mut whole = plain.start(start.clone()).unwrap();
    plain.run(&mut whole, STEPS).unwrap();
    let erased = ascent(&target, &family, Erased::on(FlowElbo::new(4), &pushforward));
    let mut fit = erased.start(start).unwrap();
    erased.run(&mut fit, STEPS).unwrap();
    assert_eq!(whole.params(), fit.params());
    assert!(erased.health(&fit).unwrap().evidence_lower.is_finite());
}

/// The states of two estimators have different types, of which the erased ones show nothing: the first use finds it.
#[test]
fn a_state_of_another_estimator_is_an_error() {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    let first = ascent(&target, &family, Erased::new(pmcsa(4)));
    let mut fit = first.start(start).unwrap();
    first.run(&mut fit, 3).unwrap();
    let second = ascent(&target, &family, Erased::new(Controlled::new(pmcsa(4))));
    let error = second.run(&mut fit, 3).unwrap_err().to_string();
    assert!(error.contains("made with another estimator"), "{error}");
    let error = second.adopt(&mut fit).unwrap_err().to_string();
    assert!(error.contains("the state is that of another estimator"), "{error}");
    let error = second.adopt(&mut read(&fit)).unwrap_err().to_string();
    assert!(error.contains("the file holds the state of another estimator"), "{error}");
    // The control: the fit is as it was for the estimator that made it, in memory and from a file.
    first.run(&mut read(&fit), 3).unwrap();
    first.run(&mut fit, 3).unwrap();
}

#[test]
fn erased_steps_allocate_nothing() {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let erased = ascent(&target, &family, Erased::new(Controlled::new(pmcsa(4))));
    let mut fit = erased.start(family.at(&[0.5; 3], &[1.5; 3]).unwrap()).unwrap();
    erased.run(&mut fit, 20).unwrap();
    let mut count =
        |steps: u64| allocation_counter::measure(|| drop(erased.run(&mut fit, steps))).count_total;
    assert_eq!(count(5), count(100));
}
