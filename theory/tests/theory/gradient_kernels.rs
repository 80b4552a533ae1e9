//! Invariance tests of kernels without a guide (random walk, gradient-based, elliptical) on continuous targets with exact draws.
//!
//! Seeds are fixed. The false-alarm probability is 1e-4 for the crate: a quarter of it is for this file, split over
//! its reports.

use mcsa_core::{ExactDraws, Gradient, Kernel, Seed};
use mcsa_kernels as kernels;
use mcsa_kernels::{Cycle, Elliptical, GaussianPrior, Hmc, Imh, Leapfrog, Mala, Mass, Nuts, Repeat, Rwm};
use mcsa_kernels::{Selection, Unguided};
use mcsa_models::{Banana, Gaussian};
use mcsa_testing::{Invariance, Report, Shifted, judge};

use crate::mutations::by_trial;
use crate::targets::{Narrow, banana, correlated, funnel, mixture, student};

/// Number of reports of this file that must hold: five targets and six kernels, and four compositions.
const REPORTS: usize = 34;

fn split() -> Invariance {
    judge(0.25e-4).share(REPORTS).draws(8_192).steps(16)
}

fn holds(report: &Report) {
    assert!(report.holds(), "{report}");
}

fn hmc(step_size: f64, selection: Selection) -> Hmc {
    Hmc::with(Leapfrog::new(step_size, Mass::default()).expect("a step size"), 5, selection)
        .expect("a step size")
}

fn on_every_kernel<P: ExactDraws + Gradient>(target: &P) {
    holds(&split().of(&Rwm::new(0.8).expect("a step size"), target));
    holds(&split().of(&Mala::new(0.7).expect("a step size"), target));
    holds(&split().of(&hmc(0.4, Selection::EndPoint), target));
    holds(&split().of(&hmc(0.4, Selection::Multinomial), target));
    // The doubling favours the newer half of a trajectory: the kernel is invariant, but need not be reversible.
    holds(&split().not_reversible().of(&Nuts::new(0.4).expect("a step size"), target));
    holds(&split().of(&Elliptical::new(GaussianPrior::standard(target.dim())), target));
}

#[test]
fn walks_keep_a_correlated_gaussian() {
    on_every_kernel(&correlated(3, 0.8));
}

#[test]
fn walks_keep_a_banana() {
    on_every_kernel(&banana());
}

#[test]
fn walks_keep_a_funnel() {
    on_every_kernel(&funnel());
}

#[test]
fn walks_keep_a_mixture() {
    on_every_kernel(&mixture());
}

#[test]
fn walks_keep_heavy_tails() {
    on_every_kernel(&student(2, 5.0));
}

/// After another kernel has moved the chains, cached quantities of the old positions must not be used.
#[test]
fn compositions_forget_old_gradients() {
    let target = banana();
    let mala = Mala::new(0.7).unwrap();
    let cycle = Cycle { first: Imh::default(), second: mala.clone() };
    holds(&split().not_reversible().of(&cycle, &target));
    let cycle = Cycle { first: mala, second: Imh::default() };
    holds(&split().not_reversible().of(&cycle, &target));
    let hmc = hmc(0.4, Selection::Multinomial);
    let either = kernels::Mixture::new(0.5, hmc.clone(), Imh::default()).unwrap();
    holds(&split().interacting().of(&either, &target));
    holds(&split().of(&Repeat { kernel: hmc, times: 2 }, &target));
}

/// Laws of constants, labels, replay and restoring, without false alarms.
#[test]
fn what_must_not_matter_does_not() {
    fn tried<K>(kernel: &K)
    where
        K: Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
    {
        holds(&by_trial(kernel, &mut Unguided { dim: 2 }));
    }
    tried(&Rwm::new(0.8).unwrap());
    tried(&Mala::new(0.7).unwrap());
    tried(&hmc(0.4, Selection::EndPoint));
    tried(&hmc(0.4, Selection::Multinomial));
    tried(&Nuts::new(0.4).unwrap());
    tried(&Elliptical::new(GaussianPrior::standard(2)));
}

/// Draws from a target somewhat wider than the kernels' target must be detected.
#[test]
fn the_wrong_target_is_caught() {
    let target = Narrow(Gaussian::standard(2), 1.3);
    assert!(split().seed(Seed::new(4)).of(&hmc(0.4, Selection::Multinomial), &target).fails());
    assert!(split().of(&Elliptical::new(GaussianPrior::standard(2)), &target).fails());
    assert!(split().of(&Nuts::new(0.4).unwrap(), &target).fails());
}
