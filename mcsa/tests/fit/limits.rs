//! Limits of evaluations and time: they hold in every stage, and a result that they cut short is marked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcsa::core::from_fn;
use mcsa::models::{Banana, EightSchools, Gaussian};
use mcsa::posterior::{Check, FitResult, Objection, Options};

/// Evaluations beyond any limit: 100 draws, and stored points.
const BEYOND: u64 = 105;

#[test]
fn a_budget_ends_every_stage() {
    let model = EightSchools::non_centred();
    let enough = Options { draws: 1_000, ..Options::seeded(1) };
    let whole = mcsa::fit(&model, &enough).unwrap();
    assert!(whole.verdict.is_yes(), "{whole}");
    // Too few evaluations for all starts.
    let short = mcsa::fit(&model, &Options { evaluations: Some(1_000), ..enough.clone() }).unwrap();
    assert!(short.evaluations.total() <= 1_000 + BEYOND, "{short}");
    assert!(objects!(short, Objection::Starts { made, of: 100 } if *made < 100), "{short}");
    // Without a gradient: too few for tempering.
    let short = mcsa::fit_density(&model, &Options { evaluations: Some(1_000), ..enough.clone() }).unwrap();
    assert!(objects!(short, Objection::Tempering { exponent } if *exponent < 1.0), "{short}");
    // Too few for the climbs of a bent target.
    let bent = Banana::new(2.0, 2.0).unwrap();
    let options = Options { evaluations: Some(8_000), starts: 5, share: 1.0, ..enough };
    let short = mcsa::fit(&bent, &options).unwrap();
    assert!(short.verdict.objections.contains(&Objection::Budget), "{short}");
    assert!(short.evaluations.total() <= 8_000 + BEYOND, "{short}");
    // Counterexample: with the default budget this objection is not there.
    let long = mcsa::fit(&bent, &Options { evaluations: Some(1_000_000), ..options }).unwrap();
    assert!(!long.verdict.objections.contains(&Objection::Budget), "{long}");
}

#[test]
fn the_time_ends_starts_and_climb() {
    let model = EightSchools::non_centred();
    let options = Options { draws: 1_000, seconds: Some(1e-9), ..Options::seeded(1) };
    let short = mcsa::fit(&model, &options).unwrap();
    assert!(objects!(short, Objection::Starts { made: 0, of: 100 }), "{short}");
    assert!(short.verdict.objections.contains(&Objection::Time), "{short}");
    assert!(short.evaluations.total() <= 1_000 + BEYOND, "{short}");
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
        (Options { draws: usize::MAX, ..ours.clone() }, "draws"),
        (Options { starts: 0, ..ours.clone() }, "starts"),
        (Options { evaluations: Some(0), ..ours.clone() }, "evaluations"),
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

/// Fit of a standard normal, each evaluation of which takes a time, and the number of its calls.
#[expect(
    clippy::disallowed_methods,
    reason = "a density that takes time is what a limit of time is tested on"
)]
fn counted(dim: usize, takes: Duration, with_gradient: bool, options: &Options) -> (FitResult, u64) {
    let calls = AtomicU64::new(0);
    let density = |z: &[f64]| {
        calls.fetch_add(1, Ordering::Relaxed);
        if !takes.is_zero() {
            std::thread::sleep(takes);
        }
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    };
    let slow = from_fn(dim, density).with_gradient(|z, gradient| {
        gradient.iter_mut().zip(z).for_each(|(gradient, z)| *gradient = -z);
    });
    let fitted = if with_gradient { mcsa::fit(&slow, options) } else { mcsa::fit_density(&slow, options) };
    (fitted.expect("a result"), calls.load(Ordering::Relaxed))
}

fn lacks(fitted: &FitResult, of: Check) -> bool {
    objects!(fitted, Objection::Unverified { check, .. } if *check == of)
}

/// Every evaluation of draws and verdict counts. Beyond the limit are 100 draws, and the stored points and modes that are looked at again.
#[test]
fn evaluations_bound_the_whole_fit() {
    for with_gradient in [true, false] {
        let fit = |dim: usize, evaluations: u64| {
            let options = Options { evaluations: Some(evaluations), draws: 1_000, ..Options::seeded(1) };
            counted(dim, Duration::ZERO, with_gradient, &options)
        };
        for (dim, evaluations) in [(2, 1), (2, 60), (2, 600), (2, 2_500), (2, 5_000), (150, 1), (150, 700)] {
            let (fitted, calls) = fit(dim, evaluations);
            assert!(calls <= evaluations + BEYOND + 30, "{dim} {evaluations}: {calls}");
            assert!(fitted.evaluations.total() <= evaluations + BEYOND, "{evaluations}: {fitted}");
            assert!(!fitted.verdict.is_yes() && lacks(&fitted, Check::Chains), "{evaluations}: {fitted}");
            assert!(
                fitted.to_string().contains("not verified: the budget of evaluations ended before the check")
            );
            assert!((100..=1_000).contains(&fitted.draws.len()));
        }
        // Counterexample: a budget of just what the whole fit takes changes no bit.
        let (whole, calls) = fit(2, 1_000_000);
        assert!(whole.verdict.is_yes() && calls > 8_000, "{calls} {whole}");
        let (enough, _) = fit(2, whole.evaluations.total() + 1_000);
        assert_eq!(enough, whole);
    }
}

/// A millisecond an evaluation, and half a second: without limits in the starts, the draws and the verdict the fit takes 15 s and more.
#[test]
fn the_time_bounds_the_whole_fit() {
    for with_gradient in [true, false] {
        let options = Options { seconds: Some(0.5), ..Options::seeded(1) };
        #[expect(clippy::disallowed_methods, reason = "the time is what is tested")]
        let begun = Instant::now();
        let (fitted, calls) = counted(2, Duration::from_millis(1), with_gradient, &options);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(8) && calls < 4_500, "{took:?} {calls}");
        for check in [Check::Chains, Check::WiderProposals, Check::Tails] {
            assert!(lacks(&fitted, check), "{fitted}");
        }
        assert!(fitted.to_string().contains("not verified: the time ended before the check"), "{fitted}");
        assert!(objects!(fitted, Objection::Draws { made, of: 4_000 } if *made < 3_000), "{fitted}");
    }
}

/// A result that a limit cut short can be made from its state again.
#[test]
fn a_fit_that_a_limit_ended_is_read_again() {
    use mcsa::posterior::{FitState, Target};
    let model = Gaussian::standard(3);
    let target = Target::with_gradient(&model);
    let options = Options { evaluations: Some(1_000), ..Options::seeded(1) };
    let mut fitting = FitState::new(&options).unwrap();
    fitting.run(&target, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let text = serde_json::to_string(&fitting).unwrap();
    let read: FitState = serde_json::from_str(&text).unwrap();
    let [now, later] = [fitting, read].map(|fitting| fitting.finish(&target).unwrap());
    assert!(now.draws.len() < 4_000, "{now}");
    assert_eq!((&now.draws.points, &now.draws.log_p), (&later.draws.points, &later.draws.log_p));
    assert_eq!((now.to_string(), now.verdict), (later.to_string(), later.verdict));
}
