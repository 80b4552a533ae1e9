//! Invariance tests of the workspace's kernels on continuous targets with exact draws.
//!
//! Seeds are fixed. The false-alarm probability is 1e-4 for the crate: a quarter of it is for this file, split over
//! its reports.

use faer::mat;
use mcsa_core::{AffineMap, ExactDraws, Kernel, Seed};
use mcsa_kernels::{Acceptance, Cis, Cycle, DelayedAcceptance, Hmcecs, Imh, Nuts, Rwm, TaylorExpansion};
use mcsa_models::{Banana, Gaussian, LinearRegression, WeightedRows};
use mcsa_testing::{Invariance, Report, Spread, Trial, judge};

use crate::targets::{Narrow, banana, correlated, funnel, mixture, student};

/// Number of reports of this file that must hold: five targets and five kernels, and seven
/// more, and two of [`annealed`](super::annealed).
const REPORTS: usize = 34;

/// Quick tests: the invariance of these kernels is proved by enumeration, so this file tests them on other targets.
pub(crate) fn split() -> Invariance {
    judge(0.25e-4).share(REPORTS).quick()
}

pub(crate) fn holds(report: &Report) {
    assert!(report.holds(), "{report}");
}

fn on_every_kernel<P: ExactDraws>(target: &P) {
    holds(&split().of(&Imh::default(), target));
    holds(&split().of(&Imh { acceptance: Acceptance::Barker, sweeps: 2 }, target));
    holds(&split().of(&Cis { candidates: 4 }, target));
    let surrogate = student(target.dim(), 3.0);
    holds(&split().of(&DelayedAcceptance { inner: Imh::default(), surrogate }, target));
    let cycle = Cycle { first: Imh::default(), second: Cis { candidates: 3 } };
    holds(&split().not_reversible().of(&cycle, target));
}

#[test]
fn kernels_keep_a_correlated_gaussian() {
    on_every_kernel(&correlated(3, 0.8));
}

#[test]
fn kernels_keep_a_banana() {
    on_every_kernel(&banana());
}

#[test]
fn kernels_keep_a_funnel() {
    on_every_kernel(&funnel());
}

#[test]
fn kernels_keep_a_mixture() {
    on_every_kernel(&mixture());
}

#[test]
fn kernels_keep_heavy_tails() {
    on_every_kernel(&student(2, 5.0));
}

/// A posterior with exact draws, of six data.
pub(crate) fn regression() -> LinearRegression {
    let x = mat![[1.0, 0.3], [1.0, -1.2], [1.0, 0.8], [1.0, 2.0], [1.0, -0.4], [1.0, 1.1]];
    LinearRegression::new(x.as_ref(), &[0.2, 1.5, -0.3, -1.0, 0.9, 0.1], 0.7, 1.5).unwrap()
}

/// A walk for three weighted rows of six, corrected for all.
#[test]
fn weighted_rows_screen_proposals() {
    let target = regression();
    let surrogate = WeightedRows::new(&target, vec![0, 3, 4], vec![2.0; 3]).unwrap();
    holds(&split().of(&DelayedAcceptance { inner: Rwm::new(0.5).unwrap(), surrogate }, &target));
}

/// The expansion of a normal likelihood is exact, so that subsampled chains have the posterior itself as their target, and uniform
/// rows are stationary.
#[test]
fn subsampled_chains_keep_a_normal_posterior() {
    let target = regression();
    let expansion = TaylorExpansion::new(&target, vec![1.0, -1.0]).unwrap();
    let kernel = Hmcecs::new(Nuts::new(0.3).unwrap(), expansion, 3, 2).unwrap();
    holds(&split().not_reversible().of(&kernel, &target));
}

/// The time reversal of a cycle of two reversible kernels is the cycle in the other order.
#[test]
fn a_cycle_is_reversed_by_the_other_order() {
    let target = banana();
    let (imh, cis) = (Imh::default(), Cis { candidates: 3 });
    let there = Cycle { first: imh.clone(), second: cis.clone() };
    let back = Cycle { first: cis, second: imh };
    let mut near = Spread::around(&target, Seed::new(6), 1.2);
    let mut wide = Spread::around(&target, Seed::new(6), 1.8);
    holds(&split().of_reversal(&there, &back, &target, &mut [&mut near, &mut wide]));
}

/// 200 seeds at level 0.05: at most 10 alarms are expected, and the 4 standard errors above that are exceeded with a
/// probability below 1e-4. The true level of the p-values is lower, because Bonferroni and the two-sample bound are
/// conservative.
#[test]
fn the_false_alarm_probability_is_kept() {
    let alarm = |seed: &u64| {
        let judge = judge(0.05).draws(512).steps(4).seed(Seed::new(8).child(*seed));
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
    holds(&split().interacting().of(&choice, &target));
    let report = split().of(&choice, &target);
    for law in ["independent chains", "labels"] {
        assert!(report.on(law).unwrap().fails(), "{report}");
    }
}

/// A checkpoint that loses the densities must be detected, and so must one that `check` refuses.
#[test]
fn a_checkpoint_that_forgets_is_caught() {
    let target = banana();
    let mut guide = Spread::around(&target, Seed::new(7), 1.5);
    let imh = Imh::default();
    let trial = Trial::new(&imh, &target);
    assert!(trial.restores(&mut guide, |state| Ok(state.clone())).holds());
    let forgetful = |state: &mcsa_kernels::ImhState| {
        let mut state = state.clone();
        state.chains.log_p.fill(0.0);
        Ok(state)
    };
    assert!(trial.restores(&mut guide, forgetful).fails());
    let short = |state: &mcsa_kernels::ImhState| {
        let mut state = state.clone();
        state.chains.log_p.pop();
        Ok(state)
    };
    let refused = trial.restores(&mut guide, short);
    assert!(!refused.holds() && !refused.fails(), "{refused}");
}

/// Draws from another distribution, here from a slightly narrower target, must be detected.
#[test]
fn the_wrong_target_is_caught() {
    for kernel in [Imh::default(), Imh { acceptance: Acceptance::Barker, sweeps: 3 }] {
        let report = split().of(&kernel, &Narrow(Gaussian::standard(2), 1.25));
        for law in ["means", "rank"] {
            assert!(report.on(law).unwrap().fails(), "{report}");
        }
        assert!(report.on("moves").unwrap().holds());
    }
}

/// Too few draws, no steps, a kernel that refuses its start: the check is a refusal.
#[test]
fn what_cannot_be_judged_is_refused() {
    let target = Gaussian::standard(2);
    let silent = |report: Report| !report.holds() && !report.fails();
    assert!(silent(judge(1e-4).draws(100).of(&Imh::default(), &target)));
    assert!(silent(judge(1e-4).steps(0).of(&Imh::default(), &target)));
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
    let report = || split().seed(Seed::new(9)).of(&Imh::default(), &banana());
    assert_eq!(report(), report());
    holds(&report());
}

/// Kernels that propose only from the guide make equal moves in other coordinates.
#[test]
fn coordinates_do_not_matter() {
    fn in_other_coordinates<K>(kernel: &K)
    where
        K: Kernel<Banana> + for<'a> Kernel<mcsa_core::Whitened<'a, Banana>>,
    {
        let target = banana();
        let mut guide = Spread::around(&target, Seed::new(7), 1.5);
        let map = AffineMap::new(vec![1.0, -5.0], mat![[2.0, 0.0], [-0.7, 0.3]]).unwrap();
        let check = Trial::new(kernel, &target).forgets_coordinates(&mut guide, &map);
        assert!(check.holds(), "{check}");
    }
    in_other_coordinates(&Imh::default());
    in_other_coordinates(&Imh { acceptance: Acceptance::Barker, sweeps: 2 });
    in_other_coordinates(&Cis { candidates: 3 });
}

/// A surrogate that is not transformed to the new coordinates must be detected.
#[test]
fn a_surrogate_left_behind_is_caught() {
    let target = banana();
    let mut guide = Spread::around(&target, Seed::new(7), 1.5);
    let map = AffineMap::new(vec![1.0, -5.0], mat![[2.0, 0.0], [-0.7, 0.3]]).unwrap();
    let kernel = DelayedAcceptance { inner: Imh::default(), surrogate: Gaussian::standard(2) };
    assert!(Trial::new(&kernel, &target).forgets_coordinates(&mut guide, &map).fails());
}
