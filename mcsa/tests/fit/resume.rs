//! Checkpoints: equal bits after every interruption; files of other fits, and what is no checkpoint, are errors.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use mcsa::models::{Banana, EightSchools, Funnel, Gaussian};
use mcsa::posterior::{FitResult, FitState, Options, Stage, Target};

/// The path of a file that is not there, in a folder of its own.
fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fit").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder.join("checkpoint")
}

fn options() -> Options {
    Options { draws: 400, starts: 6, evaluations: Some(60_000), ..Options::seeded(3) }
}

fn without_a_break(target: &Target<'_>, options: &Options) -> FitResult {
    let mut fitting = FitState::new(options).unwrap();
    fitting.run(target, &mut |_| ControlFlow::Continue(())).unwrap();
    fitting.finish(target).unwrap()
}

/// The result without a break, to which one piece of work at a time comes too, each by a state read from a file and a target made anew.
/// Also returns the stages seen.
fn in_pieces<'a>(name: &str, with: &dyn Fn() -> Target<'a>, options: &Options) -> (FitResult, Vec<Stage>) {
    let (path, whole, mut seen) = (file(name), without_a_break(&with(), options), Vec::new());
    for _ in 0..200 {
        let target = with();
        let mut fitting = FitState::resume_or(&path, &target, options).unwrap();
        if fitting.stage == Stage::Done {
            // As texts, in which NaN is NaN.
            assert!(format!("{:?}", fitting.finish(&target).unwrap()) == format!("{whole:?}"));
            return (whole, seen);
        }
        if !seen.contains(&fitting.stage) {
            seen.push(fitting.stage);
        }
        fitting.advance(&target).unwrap();
        fitting.save(&path).unwrap();
    }
    panic!("no end in 200 pieces");
}

#[test]
fn interruptions_after_every_piece_change_no_bit() {
    // Ten starts before the climb, and four for the verdict.
    let (model, options) =
        (Banana::new(2.0, 1.0).unwrap(), Options { starts: 14, evaluations: Some(90_000), ..options() });
    let stages = vec![Stage::Start, Stage::Climb, Stage::Chains, Stage::Verdict];
    let (whole, _) = in_pieces("with", &|| Target::with_gradient(&model), &options);
    let (alone, seen) = in_pieces("without", &|| Target::density_only(&model), &options);
    assert_eq!(seen, stages);
    // Counterexamples: another seed, and the density alone, give other draws.
    assert_ne!(alone.draws.points, whole.draws.points);
    let other = without_a_break(&Target::with_gradient(&model), &Options { seed: 4, ..options });
    assert_ne!(other.draws.points, whole.draws.points);
}

#[test]
fn a_fit_that_begins_at_another_is_resumed() {
    // Of 400 draws q has too few effective ones, so that chains would be the answer, which give no start.
    let model = Gaussian::standard(2);
    let earlier = Options { draws: 1_000, ..options() };
    let earlier = without_a_break(&Target::with_gradient(&model), &earlier);
    let warm = options().start_from(&earlier);
    in_pieces("warm", &|| Target::with_gradient(&model), &warm);
    in_pieces("warm alone", &|| Target::density_only(&model), &warm);
    let path = file("warm start");
    FitState::new(&warm).unwrap().save(&path).unwrap();
    let resume = |options| FitState::resume_or(&path, &Target::with_gradient(&model), options);
    assert_eq!(resume(&warm).unwrap().options, warm);
    assert!(resume(&options()).unwrap_err().to_string().contains("earlier fits"));
}

/// Chains have a state of another kind, with one metric and in conditional coordinates.
#[test]
fn chains_are_resumed() {
    let (schools, funnel) = (EightSchools::non_centred(), Funnel::new(5, 3.0).unwrap());
    let longer = Options { evaluations: Some(400_000), share: 0.99, ..options() };
    let (fitted, seen) = in_pieces("metric", &|| Target::with_gradient(&schools), &longer);
    assert!(
        seen.contains(&Stage::Chains) && fitted.sampled.is_some_and(|mixing| !mixing.is_conditional),
        "{fitted}"
    );
    let (fitted, _) = in_pieces("conditional", &|| Target::with_gradient(&funnel), &longer);
    assert!(fitted.sampled.is_some_and(|mixing| mixing.is_conditional), "{fitted}");
}

/// A call with a file that is interrupted by its observer goes on where it was, and a complete file is only read.
#[test]
fn a_call_goes_on_from_its_file() {
    let (model, path) = (EightSchools::non_centred(), file("call"));
    let options = Options { checkpoint: Some(path.clone()), ..options() };
    let target = Target::with_gradient(&model);
    let mut fitting = FitState::resume_or(&path, &target, &options).unwrap();
    fitting.run(&target, &mut |_| ControlFlow::Break(())).unwrap();
    assert_eq!(FitState::read(&path).unwrap().unwrap(), fitting);
    let resumed = mcsa::fit(&model, &options).unwrap();
    // As texts, in which NaN is NaN.
    let resumed = format!("{resumed:?}");
    assert!(resumed == format!("{:?}", without_a_break(&Target::with_gradient(&model), &self::options())));
    let saved = fs::read(&path).unwrap();
    let again = mcsa::fit(&model, &options).unwrap();
    assert!(format!("{again:?}") == resumed && fs::read(&path).unwrap() == saved);
    // A run that begins anew does not overwrite it.
    let error = FitState::new(&options).unwrap().run(&target, &mut |_| ControlFlow::Continue(()));
    let said = error.unwrap_err().to_string();
    assert!(said.contains("a later state") && said.contains(&path.display().to_string()), "{said}");
    // A file that is no checkpoint is neither used nor overwritten.
    fs::write(&path, "{}").unwrap();
    let said = mcsa::fit(&model, &options).unwrap_err().to_string();
    assert!(said.contains(&format!("cannot use {}", path.display())), "{said}");
    assert_eq!(fs::read(&path).unwrap(), b"{}");
}

#[test]
fn files_of_other_fits_are_refused_with_the_difference() {
    let (model, path, options) = (Banana::new(2.0, 0.5).unwrap(), file("other"), options());
    let target = Target::with_gradient(&model);
    let refusal = |target: &Target<'_>, options: &Options| {
        let said = FitState::resume_or(&path, target, options).unwrap_err().to_string();
        assert!(said.contains(&path.display().to_string()), "{said}");
        said
    };
    let mut fitting = FitState::new(&options).unwrap();
    for _ in 0..12 {
        fitting.advance(&target).unwrap();
        fitting.save(&path).unwrap();
        assert_eq!(FitState::resume_or(&path, &target, &options).unwrap(), fitting);
        // The same model with other numbers, of another dimension, without its gradient; and other options.
        let near = Banana::new(2.0, 0.5001).unwrap();
        let said = refusal(&Target::with_gradient(&near), &options);
        assert!(said.contains("another target or to other data"), "{said}");
        let wide = mcsa::models::Gaussian::standard(3);
        let said = refusal(&Target::with_gradient(&wide), &options);
        assert!(said.contains("dimension 2, this one 3"), "{said}");
        let said = refusal(&Target::density_only(&model), &options);
        assert!(said.contains("a gradient, this one has none"), "{said}");
        for (other, difference) in [
            (Options { seed: 4, ..options.clone() }, "seed is 3 there and 4 here"),
            (Options { draws: 500, ..options.clone() }, "draws is 400 there and 500 here"),
            (Options { starts: 7, ..options.clone() }, "starts is 6 there and 7 here"),
            (Options { evaluations: Some(9), ..options.clone() }, "evaluations is 60000 there and 9 here"),
            (Options { share: 0.25, ..options.clone() }, "share is 0.7 there and 0.25 here"),
        ] {
            let said = refusal(&target, &other);
            assert!(said.contains(difference), "{said}");
        }
        // Limits of time and progress may differ.
        let other = Options { seconds: Some(1e9), progress: true, ..options.clone() };
        assert_eq!(FitState::resume_or(&path, &target, &other).unwrap().stage, fitting.stage);
    }
}

/// States that were changed by hand give errors, not panics.
#[test]
fn inconsistent_states_are_refused() {
    let (model, options) = (Banana::new(2.0, 0.5).unwrap(), options());
    let target = Target::with_gradient(&model);
    let mut fitting = FitState::new(&options).unwrap();
    for stage in [Stage::Climb, Stage::Verdict, Stage::Done] {
        fitting.stage = stage;
        assert!(fitting.advance(&target).is_err() && fitting.finish(&target).is_err());
    }
    fitting.stage = Stage::Start;
    (0..2).for_each(|_| fitting.advance(&target).unwrap());
    fitting.ascents.modes[0].point.push(0.0);
    assert!(fitting.advance(&target).unwrap_err().to_string().contains("dimension 2"));
}
