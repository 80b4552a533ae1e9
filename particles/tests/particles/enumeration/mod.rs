//! Particle methods on finite hidden Markov models, by enumeration: conditional SMC leaves the smoothing distribution invariant,
//! `E[Z-hat] = Z`, and common mistakes are detected. Only the last check draws random numbers.

#![expect(clippy::print_stdout, reason = "the errors found, and the matrix of mutants")]

mod finite;
mod mutants;
mod published;
mod sketch;

use mcsa_particles::{
    Bootstrap, ConditionalSmc, HiddenMarkov, Lineage, PathKernel, Resampling, Smc, Untwisted,
};
use mcsa_testing::{Check, Measured, Transition};

use finite::{Steps, chain, smoothing, transition};

const LINEAGES: [Lineage; 3] = [Lineage::Traced, Lineage::Ancestors, Lineage::Backward];

/// Tolerance for rounding over some thousand branches of some ten decisions.
const TOLERANCE: f64 = 1e-12;

fn error(check: &Check) -> f64 {
    match check.measured {
        Measured::Exact { error, .. } => error,
        ref other => panic!("{other:?}"),
    }
}

fn kernel(particles: usize, resampling: Resampling, threshold: f64, lineage: Lineage) -> ConditionalSmc {
    ConditionalSmc { particles, resampling, threshold, lineage }
}

fn invariance(kernel: &ConditionalSmc, model: &HiddenMarkov, proposal: &HiddenMarkov) -> (f64, Transition) {
    let found = transition(kernel, model, &mut Steps { model, proposal });
    (error(&found.keeps_target()), found)
}

/// Every resampling scheme and every lineage, with resampling always, sometimes and never, under a twisted proposal.
#[test]
fn conditional_smc_keeps_the_smoothing_law() {
    for (times, states, particles) in [(2, 2, 2), (3, 2, 2), (2, 3, 2), (2, 2, 3), (3, 2, 3)] {
        let (model, proposal) = (chain(times, states, 1), chain(times, states, 2));
        let (mut worst, mut branches) = (0.0_f64, 0);
        for rule in Resampling::ALL {
            for lineage in LINEAGES {
                for threshold in [1.0, 0.85, 0.0] {
                    // The longest case only in its most general form: it has a million branches per resampling scheme.
                    if times * particles == 9 && (threshold != 0.85 || lineage != Lineage::Ancestors) {
                        continue;
                    }
                    let (error, found) =
                        invariance(&kernel(particles, rule, threshold, lineage), &model, &proposal);
                    assert!(
                        error < TOLERANCE,
                        "T{times} K{states} S{particles} {rule:?} {lineage:?} {threshold}: {error}"
                    );
                    worst = worst.max(error);
                    branches += found.branches;
                }
            }
        }
        println!(
            "T = {times}, K = {states}, S = {particles}: |pi K - pi| <= {worst:.1e} over {branches} branches"
        );
    }
}

/// With the model's own transitions as proposal, and with twists that change proposals but not weights.
#[test]
fn other_guides_keep_it_too() {
    let (model, proposal) = (chain(3, 2, 1), chain(3, 2, 2));
    for rule in Resampling::ALL {
        for lineage in LINEAGES {
            let kernel = kernel(2, rule, 1.0, lineage);
            let bootstrap = transition(&kernel, &model, &mut Bootstrap(&model));
            assert!(error(&bootstrap.keeps_target()) < TOLERANCE);
            let mut untwisted =
                Untwisted { model: &model, proposal: Steps { model: &model, proposal: &proposal } };
            assert!(error(&transition(&kernel, &model, &mut untwisted).keeps_target()) < TOLERANCE);
        }
    }
}

#[test]
fn impossible_configurations_are_refused() {
    let (model, start) = (chain(2, 2, 1), faer::Mat::zeros(2, 1));
    for (particles, threshold) in [(1, 1.0), (2, f64::NAN), (2, 1.5)] {
        let refused = kernel(particles, Resampling::Multinomial, threshold, Lineage::Traced);
        assert!(refused.init(&model, start.clone()).is_err(), "{refused:?}");
    }
}

/// Benefit of ancestor sampling: with two particles, the first state of a path changes more often.
#[test]
fn ancestor_sampling_lets_go_of_the_past() {
    let (model, proposal) = (chain(3, 2, 1), chain(3, 2, 2));
    let stays = |lineage| {
        let (_, found) = invariance(&kernel(2, Resampling::Systematic, 1.0, lineage), &model, &proposal);
        let law = smoothing(&model);
        // The first state is the lowest digit of a path's index.
        (0..8)
            .flat_map(|from| (0..8).filter(move |to| (from ^ to) & 1 == 0).map(move |to| (from, to)))
            .map(|(from, to)| law[from] * found.matrix[(from, to)])
            .sum::<f64>()
    };
    let (traced, chosen) = (stays(Lineage::Traced), stays(Lineage::Ancestors));
    println!("the first state stays with probability {traced:.4} traced, {chosen:.4} with ancestor sampling");
    assert!(chosen < traced - 0.02);
}

/// `E[Z-hat] = Z` for every resampling scheme, also if particles are resampled only when their weights are uneven.
#[test]
fn the_evidence_is_unbiased() {
    for (times, states, particles) in [(2, 2, 2), (3, 2, 2), (2, 3, 3), (3, 3, 2), (3, 2, 3)] {
        let (model, proposal) = (chain(times, states, 1), chain(times, states, 2));
        let evidence = model.log_evidence().exp();
        let mut worst = 0.0_f64;
        for rule in Resampling::ALL {
            for threshold in [1.0, 0.85, 0.0] {
                if times * particles == 9 && threshold != 0.85 {
                    continue;
                }
                let smc = Smc::new(particles, rule, threshold).expect("possible");
                let mut steps = Steps { model: &model, proposal: &proposal };
                let mean = finite::mean_evidence(&smc, &model, &mut steps);
                worst = worst.max((mean / evidence - 1.0).abs());
                if times == 2 {
                    let mean = finite::mean_evidence(&smc, &model, &mut Bootstrap(&model));
                    worst = worst.max((mean / evidence - 1.0).abs());
                }
            }
        }
        println!("T = {times}, K = {states}, S = {particles}: |E[Z-hat] / Z - 1| <= {worst:.1e}");
        assert!(worst < TOLERANCE, "{worst}");
    }
}
