//! Limits of evaluations and time: they hold in every stage, and a result that they cut short says so.

use mcsa::core::from_fn;
use mcsa::fit::{Objection, Options};
use mcsa::models::{Banana, EightSchools};

/// More than the evaluations of 1000 draws, of the verdict, and of one start and one round: no budget ends these.
const LEAST: u64 = 25_000;

#[test]
fn a_budget_ends_every_stage() {
    let model = EightSchools::non_centred();
    let enough = Options { draws: 1_000, ..Options::seeded(1) };
    let whole = mcsa::fit(&model, &enough).unwrap();
    assert!(whole.verdict.is_yes(), "{whole}");
    // Too few evaluations for all starts.
    let short = mcsa::fit(&model, &Options { evaluations: 1_000, ..enough.clone() }).unwrap();
    assert!(short.evaluations.total() < LEAST, "{short}");
    let is_of_starts = |o: &Objection| matches!(o, Objection::Starts { made, of: 100 } if *made < 100);
    assert!(short.verdict.objections.iter().any(is_of_starts), "{short}");
    // Without a gradient: too few for tempering.
    let short = mcsa::fit_density(&model, &Options { evaluations: 1_000, ..enough.clone() }).unwrap();
    let is_of_tempering = |o: &Objection| matches!(o, Objection::Tempering { exponent } if *exponent < 1.0);
    assert!(short.verdict.objections.iter().any(is_of_tempering), "{short}");
    // Too few for the climbs of a bent target.
    let bent = Banana::new(2.0, 2.0).unwrap();
    let options = Options { evaluations: 8_000, starts: 5, share: 1.0, ..enough };
    let short = mcsa::fit(&bent, &options).unwrap();
    assert!(short.verdict.objections.contains(&Objection::Budget), "{short}");
    assert!(short.evaluations.total() < 8_000 + LEAST, "{short}");
    // Counterexample: with the default budget this objection is not there.
    let long = mcsa::fit(&bent, &Options { evaluations: 1_000_000, ..options }).unwrap();
    assert!(!long.verdict.objections.contains(&Objection::Budget), "{long}");
}

/// Tempering from `N(0, 9)` does not come to a mode 10^6 away: the answer is no, with the exponent that it came to, and draws.
#[test]
fn tempering_that_falls_short_is_no_error() {
    let fitted = |centre: f64| {
        let target = from_fn(1, move |z| -0.5 * (z[0] - centre).powi(2));
        mcsa::fit_density(&target, &Options::seeded(1)).unwrap()
    };
    let is_of_tempering = |o: &Objection| matches!(o, Objection::Tempering { exponent } if *exponent < 1.0);
    let (far, near) = (fitted(1e6), fitted(10.0));
    assert!(!far.verdict.is_yes() && far.verdict.objections.iter().any(is_of_tempering), "{far}");
    assert!(near.verdict.is_yes(), "{near}");
}

#[test]
fn the_time_ends_starts_and_climb() {
    let model = EightSchools::non_centred();
    let options = Options { draws: 1_000, seconds: Some(1e-9), ..Options::seeded(1) };
    let short = mcsa::fit(&model, &options).unwrap();
    let is_of_starts = |o: &Objection| matches!(o, Objection::Starts { made: 1, of: 100 });
    assert!(short.verdict.objections.iter().any(is_of_starts), "{short}");
    assert!(short.verdict.objections.contains(&Objection::Time), "{short}");
    assert!(short.evaluations.total() < LEAST, "{short}");
    // Counterexample: a limit that is not reached changes no bit.
    let options = Options { draws: 1_000, starts: 5, ..Options::seeded(1) };
    let limited = Options { seconds: Some(1e9), progress: true, ..options.clone() };
    assert_eq!(mcsa::fit(&model, &limited).unwrap(), mcsa::fit(&model, &options).unwrap());
}

#[test]
fn wrong_options_are_refused() {
    let model = EightSchools::non_centred();
    let ours = Options::seeded(1);
    for (options, name) in [
        (Options { draws: 99, ..ours.clone() }, "draws"),
        (Options { starts: 0, ..ours.clone() }, "starts"),
        (Options { share: f64::NAN, ..ours.clone() }, "share"),
        (Options { share: 1.5, ..ours.clone() }, "share"),
        (Options { seconds: Some(f64::NAN), ..ours.clone() }, "seconds"),
        (Options { seconds: Some(0.0), ..ours.clone() }, "seconds"),
        (Options { checkpoint: Some("/dev/null/file".into()), ..ours }, "/dev/null/file"),
    ] {
        let said = mcsa::fit(&model, &options).unwrap_err().to_string();
        assert!(said.contains(name), "{said}");
    }
}
