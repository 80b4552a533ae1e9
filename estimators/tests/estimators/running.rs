//! Runs with observers and checkpoint files, and fits whose chains start at given points.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use faer::Mat;
use mcsa_core::{ChainState, Error, Estimator, Seed};
use mcsa_estimators::{
    Ascent, AscentState, Average, ChainScore, Controlled, DynEstimator, Observer, Outcome, Run, Stationary,
    Stop, View, pmcsa, snis,
};
use mcsa_families::MeanField;
use mcsa_kernels::{Hmc, ImhState};
use mcsa_models::Gaussian;
use mcsa_optim::{Adam, AdamState};

const START: [f64; 4] = [0.5, -0.5, 0.2, 0.1];

type Parts<E> = Ascent<'static, Gaussian, MeanField, E, Adam>;

fn ascent<E: Estimator<Gaussian, MeanField>>(estimator: E) -> Parts<E> {
    let (target, family) =
        (Box::leak(Box::new(Gaussian::standard(2))), Box::leak(Box::new(MeanField::new(2))));
    Ascent { target, family, estimator, optimizer: Adam::new(0.05).unwrap(), seed: Seed::new(4) }
}

/// A path in an empty folder of its own.
fn place(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mcsa-running-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.join("fit.json")
}

/// The file as it is after 10 of 20 steps is what a killed program leaves: the fit after 7 steps.
#[test]
fn a_fit_goes_on_from_its_file_bit_for_bit() {
    let (ascent, path) = (ascent(pmcsa(4)), place("goes-on"));
    let left = path.with_file_name("left.json");
    let mut kill = |view: &View<'_, _, _>| {
        if view.fit.step() == 10 {
            fs::copy(&path, &left).unwrap();
        }
        ControlFlow::Continue(())
    };
    let mut whole = ascent.start(START.to_vec()).unwrap();
    ascent.run(&mut whole, Run::to(20).checkpoint(&path, 7).observe(&mut kill)).unwrap();
    let saved = ascent.resume_or(&path, || ascent.start(vec![9.0; 4])).unwrap();
    assert_eq!(saved, whole, "the last step is saved");
    let mut resumed = ascent.resume_or(&left, || ascent.start(vec![9.0; 4])).unwrap();
    assert_eq!(resumed.step(), 7);
    ascent.run(&mut resumed, Run::to(20)).unwrap();
    assert_eq!(resumed, whole);
    let again = ascent.run(&mut resumed, Run::to(20)).unwrap();
    assert_eq!((again, resumed.step()), (Outcome::BudgetSpent { accuracy: None }, 20));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn no_damaged_or_foreign_file_is_used() {
    let (ascent, path) = (ascent(pmcsa(4)), place("damaged"));
    let mut fit = ascent.start(START.to_vec()).unwrap();
    ascent.run(&mut fit, Run::of(3).checkpoint(&path, 100)).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    let told = |text: &str| {
        fs::write(&path, text).unwrap();
        ascent.resume_or(&path, || ascent.start(START.to_vec())).unwrap_err().to_string()
    };
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone().into_bytes();
        bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        assert!(told(std::str::from_utf8(&bytes).unwrap()).contains("fit.json"), "byte {at}");
        assert!(told(&whole[..at]).contains("fit.json"), "cut at {at}");
    }
    assert!(told("").contains("not a file of format `mcsa fit 1`"));
    assert!(told("{}").contains("not a file of format `mcsa fit 1`"));
    fs::write(&path, &whole).unwrap();
    assert_eq!(ascent.resume_or(&path, || ascent.start(START.to_vec())).unwrap(), fit);
    let other = Ascent { estimator: pmcsa(5), ..self::ascent(pmcsa(5)) };
    let error = other.resume_or(&path, || other.start(START.to_vec())).unwrap_err().to_string();
    assert!(error.contains("fit.json") && error.contains("made with another estimator"), "{error}");
    let erased = self::ascent(DynEstimator::new(pmcsa(4)));
    let error = erased.resume_or(&path, || erased.start(START.to_vec())).unwrap_err().to_string();
    assert!(error.contains("fit.json") && error.contains("whose states are"), "{error}");
}

#[test]
fn a_file_that_cannot_be_written_ends_the_run_before_its_first_step() {
    let (ascent, path) = (ascent(pmcsa(4)), place("unwritable"));
    fs::write(&path, "a file, no folder").unwrap();
    let mut fit = ascent.start(START.to_vec()).unwrap();
    let error = ascent.run(&mut fit, Run::of(5).checkpoint(path.join("fit.json"), 1)).unwrap_err();
    assert!(error.to_string().starts_with("Checkpoint: cannot use"), "{error}");
    assert_eq!(fit.step(), 0);
}

/// Neither a file of another fit nor one of a later step is lost.
#[test]
fn a_checkpoint_of_another_fit_is_not_overwritten() {
    let (ascent, path) = (ascent(pmcsa(4)), place("kept"));
    let mut fit = ascent.start(START.to_vec()).unwrap();
    ascent.run(&mut fit, Run::of(9).checkpoint(&path, 4)).unwrap();
    let kept = fs::read(&path).unwrap();
    let mut anew = ascent.start(START.to_vec()).unwrap();
    let error = ascent.run(&mut anew, Run::of(9).checkpoint(&path, 4)).unwrap_err().to_string();
    assert!(error.contains("a later step of this fit, at step 9"), "{error}");
    let elsewhere = Ascent { seed: Seed::new(5), ..self::ascent(pmcsa(4)) };
    let mut other = elsewhere.start(START.to_vec()).unwrap();
    elsewhere.run(&mut other, 30).unwrap();
    let error = elsewhere.run(&mut other, Run::of(9).checkpoint(&path, 4)).unwrap_err().to_string();
    assert!(error.contains("another fit, at step 9") && other.step() == 30, "{error}");
    assert_eq!(fs::read(&path).unwrap(), kept);
    fs::write(&path, "a letter").unwrap();
    assert!(ascent.run(&mut fit, Run::of(1).checkpoint(&path, 1)).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "a letter");
}

/// Notes the steps seen, and may ask for the end.
#[derive(Default)]
struct Notes {
    begun: Option<u64>,
    seen: Vec<u64>,
    ended: Option<Outcome>,
}

impl Observer<ImhState, AdamState> for Notes {
    fn begin(&mut self, _: &AscentState<ImhState, AdamState>, steps: u64) -> Result<(), Error> {
        self.begun = Some(steps);
        Ok(())
    }

    fn observe(&mut self, view: &View<'_, ImhState, AdamState>) -> ControlFlow<Stop> {
        assert_eq!(view.fit.estimator().chains().len(), 4, "the chains are seen");
        self.seen.push(view.fit.step());
        match view.fit.step() {
            6 => ControlFlow::Break(Stop::because("six")),
            _ => ControlFlow::Continue(()),
        }
    }

    fn finish(&mut self, _: &AscentState<ImhState, AdamState>, outcome: &Outcome) -> Result<(), Error> {
        self.ended = Some(outcome.clone());
        Ok(())
    }
}

#[test]
fn observers_see_beginning_steps_and_end() {
    let ascent = ascent(pmcsa(4));
    let (mut fit, mut notes) = (ascent.start(START.to_vec()).unwrap(), Notes::default());
    let outcome = ascent.run(&mut fit, Run::to(9).observe(&mut notes)).unwrap();
    assert_eq!(outcome, Outcome::Stopped(Stop::because("six")));
    assert_eq!((notes.begun, notes.seen, notes.ended), (Some(9), (1..=6).collect(), Some(outcome)));
    // With a rule, observers and checkpoints the iterates are those without.
    let mut alone = ascent.start(START.to_vec()).unwrap();
    ascent.run(&mut alone, 600).unwrap();
    let (path, mut notes) = (place("observed"), |_: &View<'_, _, _>| ControlFlow::Continue(()));
    let run = Run::to(600).until(Stationary::to(1e-3).unwrap()).checkpoint(&path, 50).observe(&mut notes);
    ascent.run(&mut fit, run).unwrap();
    assert_eq!((fit.params(), fit.estimator()), (alone.params(), alone.estimator()));
}

#[test]
fn chains_start_at_given_points() {
    let points = Mat::from_fn(2, 4, |i, j| (i + 2 * j) as f64);
    let fit = ascent(pmcsa(4)).start_at(START.to_vec(), points.clone()).unwrap();
    assert_eq!(fit.estimator().chains().positions, points);
    let controlled = ascent(Controlled::new(pmcsa(4))).start_at(START.to_vec(), points.clone()).unwrap();
    assert_eq!(controlled.estimator().estimator.chains().positions, points);
    let hmc = ChainScore::new(Hmc::new(0.1, 4).unwrap(), 4, Average::Chains);
    let fit = ascent(hmc).start_at(START.to_vec(), points.clone()).unwrap();
    assert_eq!(fit.estimator().chains().positions, points);
    let told = |result: Result<AscentState<_, _>, Error>| result.expect_err("refused").to_string();
    let none = |positions| told(ascent(pmcsa(4)).start_at(START.to_vec(), positions));
    assert!(none(Mat::zeros(2, 3)).contains("starting points has length 3, expected 4"));
    assert!(none(Mat::zeros(3, 4)).contains("a starting point has length 3, expected 2"));
    assert!(none(Mat::from_fn(2, 4, |_, _| f64::NAN)).contains("a starting point"));
    let refused = ascent(snis(8)).start_at(START.to_vec(), points).expect_err("refused").to_string();
    assert!(refused.contains("no chains"), "{refused}");
}
