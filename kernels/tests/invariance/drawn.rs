//! The table of kernels and continuous targets with exact draws.
//!
//! Seeds are fixed. The false-alarm probability is 0.5e-4 for this file, split over its reports.

use faer::Mat;
use mcsa_core::{ExactDraws, Gradient, Seed};
use mcsa_kernels::{
    Acceptance, Cis, Cycle, DelayedAcceptance, Elliptical, GaussianPrior, Hmc, Hmcecs, Imh, Leapfrog, Mala,
    Mass, Nuts, Rwm, Selection, TaylorExpansion,
};
use mcsa_models::{Gaussian, WeightedRows};
use mcsa_testing::{Invariance, Report, Spread, judge};

use crate::targets::{Narrow, banana, correlated, funnel, mixture, regression, student};

/// Number of reports that must hold: five targets and sixteen kernels, and three more.
const REPORTS: usize = 83;

fn split() -> Invariance {
    judge(0.5e-4 / REPORTS as f64)
}

/// Tests of kernels whose invariance is proved by enumeration.
fn quick() -> Invariance {
    split().quick()
}

fn long() -> Invariance {
    Invariance { draws: 8_192, steps: 16, ..split() }
}

fn holds(report: &Report) {
    assert!(report.holds(), "{report}");
}

fn leapfrog(step_size: f64, mass: Mass) -> Leapfrog {
    Leapfrog::new(step_size, mass).expect("a step size")
}

fn hmc(step_size: f64, selection: Selection) -> Hmc {
    Hmc::with(leapfrog(step_size, Mass::default()), 5, selection).expect("a number of steps")
}

fn on_every_kernel<P: ExactDraws + Gradient>(target: &P) {
    let dim = target.dim();
    // Proposals from q.
    holds(&quick().of(&Imh::default(), target));
    holds(&quick().of(&Imh { acceptance: Acceptance::Barker, sweeps: 2 }, target));
    holds(&quick().of(&Cis { candidates: 4 }, target));
    let surrogate = student(dim, 3.0);
    holds(&quick().of(&DelayedAcceptance { inner: Imh::default(), surrogate }, target));
    let cycle = Cycle { first: Imh::default(), second: Cis { candidates: 3 } };
    holds(&quick().not_reversible().of(&cycle, target));
    // Moves from the chain. The doubling of NUTS favours the newer half of a trajectory: it is invariant, but need not be reversible.
    holds(&long().of(&Rwm::new(0.8).expect("a step size"), target));
    holds(&long().of(&Mala::new(0.7).expect("a step size"), target));
    holds(&long().of(&hmc(0.4, Selection::EndPoint), target));
    holds(&long().of(&hmc(0.4, Selection::Multinomial), target));
    holds(&long().not_reversible().of(&Nuts::new(0.4).expect("a step size"), target));
    holds(&long().of(&Elliptical::new(GaussianPrior::standard(dim)), target));
    // Scales of each coordinate, and a correlated prior.
    let scales: Vec<f64> = [0.8, 1.5, 1.1].into_iter().cycle().take(dim).collect();
    let mass = || Mass::diagonal(scales.iter().map(|s| 1.4 * s).collect()).expect("masses");
    holds(&long().of(&Rwm::with(0.7, scales.clone()).expect("scales"), target));
    holds(&long().of(&Mala::with(0.7, mass()).expect("a step size"), target));
    let three = |selection| Hmc::with(leapfrog(0.5, mass()), 3, selection).expect("a number of steps");
    holds(&long().of(&three(Selection::Multinomial), target));
    holds(&long().not_reversible().of(&Nuts::with(leapfrog(0.5, mass()), 4).expect("a depth"), target));
    let factor = Mat::from_fn(dim, dim, |i, k| if k == i { 1.4 } else { 0.5 });
    let prior = GaussianPrior::new(vec![0.3; dim], factor.as_ref()).expect("a factor");
    holds(&long().of(&Elliptical::with(prior, 1).expect("a number of shrinkages"), target));
}

#[test]
fn kernels_keep_their_targets() {
    std::thread::scope(|scope| {
        scope.spawn(|| on_every_kernel(&correlated(3, 0.8)));
        scope.spawn(|| on_every_kernel(&banana()));
        scope.spawn(|| on_every_kernel(&funnel()));
        scope.spawn(|| on_every_kernel(&mixture()));
        scope.spawn(|| on_every_kernel(&student(2, 5.0)));
    });
}

/// A walk for three weighted rows of six, corrected for all.
#[test]
fn weighted_rows_screen_proposals() {
    let target = regression();
    let surrogate = WeightedRows::new(&target, vec![0, 3, 4], vec![2.0; 3]).unwrap();
    holds(&quick().of(&DelayedAcceptance { inner: Rwm::new(0.5).unwrap(), surrogate }, &target));
}

/// The expansion of a normal likelihood is exact, so that subsampled chains have the posterior itself as their target, and uniform
/// rows are stationary.
#[test]
fn subsampled_chains_keep_a_normal_posterior() {
    let target = regression();
    let expansion = TaylorExpansion::new(&target, vec![1.0, -1.0]).unwrap();
    let kernel = Hmcecs::new(Nuts::new(0.3).unwrap(), expansion, 3, 2).unwrap();
    holds(&quick().not_reversible().of(&kernel, &target));
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
    holds(&quick().of_reversal(&there, &back, &target, &mut [&mut near, &mut wide]));
}

/// Draws from a target somewhat wider than the kernels' target must be detected.
#[test]
fn the_wrong_target_is_caught() {
    for kernel in [Imh::default(), Imh { acceptance: Acceptance::Barker, sweeps: 3 }] {
        let report = quick().of(&kernel, &Narrow(Gaussian::standard(2), 1.25));
        for law in ["means", "rank"] {
            assert!(report.on(law).unwrap().fails(), "{report}");
        }
        assert!(report.on("moves").unwrap().holds());
    }
    let target = Narrow(Gaussian::standard(2), 1.3);
    assert!(
        Invariance { seed: Seed::new(4), ..long() }.of(&hmc(0.4, Selection::Multinomial), &target).fails()
    );
    assert!(long().of(&Elliptical::new(GaussianPrior::standard(2)), &target).fails());
    assert!(long().of(&Nuts::new(0.4).unwrap(), &target).fails());
}
