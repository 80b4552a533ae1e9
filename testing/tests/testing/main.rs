//! Tests of the tests: the judge and trials on kernels of the workspace, and kernels with one deliberate mistake each.

mod mutations;

use faer::mat;
use mcsa_core::{AffineMap, Ensemble, Kernel, Seed, Whitened};
use mcsa_kernels::{Acceptance, Cis, Cycle, DelayedAcceptance, Imh, ImhState};
use mcsa_models::{Banana, Gaussian};
use mcsa_testing::{Check, Invariance, Report, Spread, Trial, judge};

fn banana() -> Banana {
    Banana::new(1.5, 0.4).expect("a width and a bend")
}

/// Quick tests, whose false-alarm probability is 0.25e-4 for this file.
fn split() -> Invariance {
    judge(0.25e-4 / 2.0).quick()
}

fn holds(report: &Report) {
    assert!(report.holds(), "{report}");
}

/// 200 seeds at level 0.05: at most 10 alarms are expected, and the 4 standard errors above that are exceeded with a
/// probability below 1e-4. The true level of the p-values is lower, because Bonferroni and the two-sample bound are
/// conservative.
#[test]
fn the_false_alarm_probability_is_kept() {
    let alarm = |seed: &u64| {
        let judge = Invariance { draws: 512, steps: 4, seed: Seed::new(8).child(*seed), ..judge(0.05) };
        judge.of(&Imh::default(), &Gaussian::standard(1)).fails()
    };
    let alarms = (0..200).filter(alarm).count();
    assert!(alarms <= 22, "{alarms}");
}

/// A mixture chooses one kernel for all chains, so its chains are not independent: the test holds if that is declared.
#[test]
fn interaction_is_declared() {
    let choice =
        mcsa_kernels::Mixture::new(0.5, Imh::default(), mcsa_kernels::Rwm::new(0.1).unwrap()).unwrap();
    let target = Gaussian::standard(2);
    holds(&Invariance { interacting: true, ..split() }.of(&choice, &target));
    let report = split().of(&choice, &target);
    for law in ["independent chains", "labels"] {
        assert!(report.on(law).unwrap().fails(), "{report}");
    }
}

/// A checkpoint that loses the densities must be detected, and so must one that `check` refuses.
#[test]
fn a_checkpoint_that_loses_densities_is_caught() {
    let target = banana();
    let mut proposal = Spread::around(&target, Seed::new(7), 1.5);
    let imh = Imh::default();
    let trial = Trial::new(&imh, &target);
    let mut restored = |change: fn(&mut Ensemble)| {
        trial.restores(&mut proposal, |state: &ImhState| {
            let mut state = state.clone();
            change(&mut state.chains);
            Ok(state)
        })
    };
    assert!(restored(|_| ()).holds());
    assert!(restored(|chains| chains.log_p.fill(0.0)).fails());
    let refused = restored(|chains| chains.log_p.truncate(1));
    assert!(!refused.holds() && !refused.fails(), "{refused}");
}

/// Too few draws, no steps, a kernel that refuses its start: the check is a refusal.
#[test]
fn what_cannot_be_judged_is_refused() {
    let target = Gaussian::standard(2);
    let silent = |report: Report| !report.holds() && !report.fails();
    assert!(silent(Invariance { draws: 100, ..judge(1e-4) }.of(&Imh::default(), &target)));
    assert!(silent(Invariance { steps: 0, ..judge(1e-4) }.of(&Imh::default(), &target)));
    assert!(silent(judge(1e-4).of_guided(&Imh::default(), &target, &mut [])));
    let report = judge(1e-4).of(&Cis { candidates: 1 }, &target);
    assert!(!report.holds() && report.to_string().contains("candidates is 1"), "{report}");
}

/// A kernel that never moves leaves every target invariant; only the law `moves` detects it.
#[test]
fn standing_still_is_seen() {
    let target = Gaussian::standard(2);
    let never = Cycle { first: Imh::default(), second: Imh::default() };
    let mut nowhere = Spread { mean: vec![1e9; 2], scale: vec![1.0; 2] };
    let report = judge(1e-4).quick().of_guided(&never, &target, &mut [&mut nowhere]);
    assert!(report.on("moves").unwrap().fails(), "{report}");
    assert!(report.on("means").unwrap().power.as_ref().unwrap().size > 1.0, "{report}");
    assert!(report.on("two samples").unwrap().holds(), "{report}");
}

#[test]
fn checks_do_not_change_between_runs() {
    let report = || Invariance { seed: Seed::new(9), ..split() }.of(&Imh::default(), &banana());
    assert_eq!(report(), report());
    holds(&report());
}

/// The law of coordinates, on a banana.
fn in_other_coordinates<K>(kernel: &K) -> Check
where
    K: Kernel<Banana> + for<'a> Kernel<Whitened<'a, Banana>>,
{
    let target = banana();
    let mut proposal = Spread::around(&target, Seed::new(7), 1.5);
    let map = AffineMap::new(vec![1.0, -5.0], mat![[2.0, 0.0], [-0.7, 0.3]]).unwrap();
    Trial::new(kernel, &target).ignores_coordinates(&mut proposal, &map)
}

/// Kernels that propose only from the proposal make equal moves in other coordinates.
#[test]
fn coordinates_do_not_matter() {
    for check in [
        in_other_coordinates(&Imh::default()),
        in_other_coordinates(&Imh { acceptance: Acceptance::Barker, sweeps: 2 }),
        in_other_coordinates(&Cis { candidates: 3 }),
    ] {
        assert!(check.holds(), "{check}");
    }
    // The twin: a surrogate that is not transformed to the new coordinates.
    let kernel = DelayedAcceptance { inner: Imh::default(), surrogate: Gaussian::standard(2) };
    assert!(in_other_coordinates(&kernel).fails());
}
