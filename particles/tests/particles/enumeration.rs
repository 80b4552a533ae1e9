//! Particle methods on finite hidden Markov models, by enumeration: conditional SMC leaves the smoothing distribution invariant,
//! `E[Z-hat] = Z`, and common mistakes are detected. Only the last check draws random numbers, on a linear-Gaussian model.

#![expect(clippy::print_stdout, reason = "the errors found, and the matrix of mutants")]

use faer::Mat;
use mcsa_core::{Columns, LogDensity, Seed, Stream, enumerate};
use mcsa_models::Learnable;
use mcsa_particles::{
    Bootstrap, ConditionalSmc, Lineage, LinearGaussianSeries, PathKernel, PathProposal, Paths, Resampling,
    Smc, StateSpace, Twisted, Untwisted,
};
use mcsa_testing::{Check, Matrix, Measured, Report, Transition};

use crate::sketch::{Mistake, Sketch};

const LIMIT: usize = 10_000_000;

/// Hidden Markov model on states `0 .. K-1`, each stored as a number: all decisions of a particle method on it are discrete.
struct HiddenMarkov {
    initial: Vec<f64>,
    transition: Vec<Vec<f64>>,
    /// One row of likelihoods per time.
    likelihood: Vec<Vec<f64>>,
}

impl HiddenMarkov {
    fn alphabet(&self) -> usize {
        self.initial.len()
    }

    /// Law of the state at `t`; at `t = 0` predecessors are not read.
    fn law(&self, t: usize, previous: &[f64], i: usize) -> &[f64] {
        if t == 0 { &self.initial } else { &self.transition[previous[i] as usize] }
    }

    /// All paths, as the columns of a matrix: column `c` has the digits of `c` in base `K`, the first state being the lowest digit.
    fn paths(&self) -> Mat<f64> {
        let (states, base) = (self.num_states(), self.alphabet());
        Mat::from_fn(states, base.pow(states as u32), |t, path| (path / base.pow(t as u32) % base) as f64)
    }

    fn log_evidence(&self) -> f64 {
        let paths = self.paths();
        (0..paths.ncols()).map(|k| self.log_path(paths.as_ref().column(k)).exp()).sum::<f64>().ln()
    }
}

impl LogDensity for HiddenMarkov {
    fn dim(&self) -> usize {
        self.likelihood.len()
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.log_path(z)
    }
}

impl StateSpace for HiddenMarkov {
    fn num_states(&self) -> usize {
        self.likelihood.len()
    }
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        for (i, z) in z.iter_mut().enumerate() {
            let logs: Vec<f64> = self.law(t, previous, i).iter().map(|p| p.ln()).collect();
            *z = stream.choose(&logs).expect("a state") as f64;
        }
    }
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.law(t, previous, i)[z[i] as usize].ln();
        }
    }
    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(z).for_each(|(out, z)| *out = self.likelihood[t][*z as usize].ln());
    }
}

/// A model without symmetry, generated from a number.
fn chain(times: usize, states: usize, number: usize) -> HiddenMarkov {
    let mass = |a: usize, b: usize| 0.15 + ((a * 7 + b * 13 + number * 5) as f64 * 1.7).sin().powi(2);
    let law = |row: usize| {
        let masses: Vec<f64> = (0..states).map(|k| mass(row, k)).collect();
        let total: f64 = masses.iter().sum();
        masses.into_iter().map(|p| p / total).collect::<Vec<f64>>()
    };
    let likelihood = (0..times).map(|t| (0..states).map(|k| 1.5 * mass(11 + t, 5 * k)).collect()).collect();
    HiddenMarkov { initial: law(0), transition: (1..=states).map(law).collect(), likelihood }
}

/// Path proposal: the transitions of another model, whose likelihood serves as the twist `psi`.
struct Steps<'a> {
    model: &'a HiddenMarkov,
    proposal: &'a HiddenMarkov,
}

impl PathProposal for Steps<'_> {
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    ) {
        self.proposal.draw_states_into(t, previous, stream, z);
        self.log_weights(t, previous, z, log_weights);
    }

    fn log_weights(&mut self, t: usize, previous: &[f64], z: &[f64], log_weights: &mut [f64]) {
        let (mut log_q, mut log_psi) = (vec![0.0; z.len()], vec![0.0; z.len()]);
        self.model.log_transitions(t, previous, z, log_weights);
        self.proposal.log_transitions(t, previous, z, &mut log_q);
        self.proposal.log_observations(t, z, &mut log_psi);
        for ((weight, q), psi) in log_weights.iter_mut().zip(log_q).zip(log_psi) {
            *weight += psi - q;
        }
    }

    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]) {
        self.proposal.log_observations(t, z, out);
    }
}

/// Probability of every path given the observations.
fn smoothing(model: &HiddenMarkov) -> Vec<f64> {
    let paths = model.paths();
    (0..paths.ncols())
        .map(|k| (model.log_path(paths.as_ref().column(k)) - model.log_evidence()).exp())
        .collect()
}

/// Index of a path.
fn number(model: &HiddenMarkov, path: &[f64]) -> usize {
    path.iter().rev().fold(0, |number, &z| number * model.alphabet() + z as usize)
}

/// Exact transition matrix on paths of any move of a path.
fn transition_of(model: &HiddenMarkov, mut run: impl FnMut(&mut [f64], &mut Stream)) -> Transition {
    let (target, paths) = (smoothing(model), model.paths());
    Transition::of_states(&target, 1, LIMIT, |from, lanes| {
        let mut path = paths.as_ref().column(from).to_vec();
        run(&mut path, &mut lanes[0]);
        number(model, &path)
    })
    .expect("discrete decisions")
}

/// Exact transition matrix of the production kernel; lent memory is filled with NaN.
fn transition(kernel: &ConditionalSmc, model: &HiddenMarkov, proposal: &mut dyn PathProposal) -> Transition {
    let (dim, mut work) = (model.dim(), vec![0.0; kernel.work_len(model)]);
    let mut paths = kernel.init(model, Mat::zeros(dim, 1)).expect("possible");
    transition_of(model, |path, stream| {
        work.fill(f64::NAN);
        paths.positions.col_as_slice_mut(0).copy_from_slice(path);
        kernel.step(model, proposal, &mut paths, std::slice::from_mut(stream), &mut work);
        path.copy_from_slice(paths.positions.col_as_slice(0));
    })
}

/// Expected evidence estimate `E[Z-hat]`.
fn mean_evidence(smc: &Smc, model: &HiddenMarkov, proposal: &mut dyn PathProposal) -> f64 {
    let mut work = vec![0.0; smc.work_len(model)];
    let branches = enumerate(1, LIMIT, |lanes| {
        work.fill(f64::NAN);
        smc.log_evidence(model, proposal, &mut lanes[0], &mut work).exp()
    });
    branches.expect("discrete decisions").iter().map(|b| b.probability * b.outcome).sum()
}

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
            let steps = &mut Steps { model: &model, proposal: &proposal };
            let mut untwisted = Untwisted { model: &model, proposal: steps };
            assert!(error(&transition(&kernel, &model, &mut untwisted).keeps_target()) < TOLERANCE);
        }
    }
}

#[test]
fn impossible_configurations_are_errors() {
    let (model, start) = (chain(2, 2, 1), faer::Mat::zeros(2, 1));
    for (particles, threshold) in [(1, 1.0), (2, f64::NAN), (2, 1.5)] {
        let refused = kernel(particles, Resampling::Multinomial, threshold, Lineage::Traced);
        assert!(refused.init(&model, start.clone()).is_err(), "{refused:?}");
    }
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
                let mean = mean_evidence(&smc, &model, &mut steps);
                worst = worst.max((mean / evidence - 1.0).abs());
                if times == 2 {
                    let mean = mean_evidence(&smc, &model, &mut Bootstrap(&model));
                    worst = worst.max((mean / evidence - 1.0).abs());
                }
            }
        }
        println!("T = {times}, K = {states}, S = {particles}: |E[Z-hat] / Z - 1| <= {worst:.1e}");
        assert!(worst < TOLERANCE, "{worst}");
    }
}

const SMALL: &str = "pi K = pi, T 2 S 2";
const LONG: &str = "pi K = pi, T 3 S 2";
const WIDE: &str = "pi K = pi, T 2 S 3";

fn transition_of_sketch(sketch: &Sketch, times: usize) -> Transition {
    let (model, proposal) = (chain(times, 2, 1), chain(times, 2, 2));
    let mut steps = Steps { model: &model, proposal: &proposal };
    transition_of(&model, |path, stream| sketch.step(&model, &mut steps, path, stream))
}

/// Two implementations of one algorithm have equal transition matrices.
#[test]
fn the_kernel_is_the_algorithm_on_paper() {
    for (times, particles) in [(2, 2), (3, 2), (2, 3)] {
        let (model, proposal) = (chain(times, 2, 1), chain(times, 2, 2));
        for rule in Resampling::ALL {
            for lineage in [Lineage::Traced, Lineage::Ancestors] {
                for threshold in [1.0, 0.85] {
                    let kernel = kernel(particles, rule, threshold, lineage);
                    let sketch = Sketch { kernel, mistake: Mistake::None };
                    let ours = transition(&kernel, &model, &mut Steps { model: &model, proposal: &proposal });
                    let same = ours.equals(&transition_of_sketch(&sketch, times).matrix);
                    assert!(error(&same) < TOLERANCE, "{rule:?} {lineage:?}: {}", error(&same));
                }
            }
        }
    }
}

#[test]
fn every_mistake_is_seen() {
    let multinomial = kernel(2, Resampling::Multinomial, 1.0, Lineage::Traced);
    let ancestors = ConditionalSmc { lineage: Lineage::Ancestors, ..multinomial };
    let systematic = ConditionalSmc { resampling: Resampling::Systematic, ..multinomial };
    let adaptive = ConditionalSmc { threshold: 0.85, ..multinomial };
    let cases = [
        ("none, multinomial", multinomial, Mistake::None),
        ("none, ancestors chosen", ancestors, Mistake::None),
        ("none, systematic", systematic, Mistake::None),
        ("none, adaptive", adaptive, Mistake::None),
        ("retained path dropped at one step", multinomial, Mistake::Dropped),
        ("ancestor without likelihood", ancestors, Mistake::NoLikelihood),
        ("ancestor weight as printed", ancestors, Mistake::Printed),
        ("weights kept when resampled", multinomial, Mistake::Kept),
        ("weights forgotten when not resampled", adaptive, Mistake::Forgotten),
        ("systematic, naively overwritten", systematic, Mistake::Naive),
    ];
    let mut matrix = Matrix::default();
    for (name, kernel, mistake) in cases {
        for (law, times, particles) in [(SMALL, 2, 2), (LONG, 3, 2), (WIDE, 2, 3)] {
            let kernel = ConditionalSmc { particles, ..kernel };
            let found = transition_of_sketch(&Sketch { kernel, mistake }, times).keeps_target();
            println!("{name:<37} {law:<22} {:.1e}", error(&found));
            let check = Check::exact(law, error(&found), TOLERANCE, "");
            matrix.add(name, &Report::new("", vec![check]));
        }
        assert_eq!(matrix.caught(name), mistake != Mistake::None, "{name}");
    }
    println!("{matrix}");
}

/// One transition of a path.
type Step<'a> = dyn FnMut(&mut dyn PathProposal, &mut [f64], &mut Stream) + 'a;

/// Mean and second moment of the first state over a long chain, each with its standard error from blocks of 400 steps.
fn moments(mut step: impl FnMut(&mut [f64], &mut Stream)) -> [(f64, f64); 2] {
    let (mut path, mut stream, blocks) = ([1.0, 0.5], Seed::new(6).stream(0, 0), 400);
    let means: Vec<[f64; 2]> = (0..blocks)
        .map(|_| {
            let mut sums = [0.0; 2];
            for _ in 0..400 {
                step(&mut path, &mut stream);
                sums[0] += path[0] / 400.0;
                sums[1] += path[0] * path[0] / 400.0;
            }
            sums
        })
        .collect();
    [0, 1].map(|k| {
        let count = blocks as f64;
        let mean = means.iter().map(|block| block[k]).sum::<f64>() / count;
        let variance = means.iter().map(|block| (block[k] - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, (variance / count).sqrt())
    })
}

/// The kernel's moments agree with the exact ones within 5 standard errors, with and without ancestor sampling: false alarm below
/// `3e-6` over the four. With the printed weight both differ by more than 20.
#[test]
fn the_printed_ancestor_weight_is_wrong() {
    let series = LinearGaussianSeries::new(vec![1.4, 0.6]).expect("finite");
    let model = series.at(&[0.9, -0.5, -0.7]);
    let params = [0.5, 0.2, 0.3, 0.1];
    let mut memory = vec![0.0; Twisted.proposal_len(&model)];
    let mut proposal = Twisted.proposal(&model, &params, &mut memory);
    let law = model.smoothed()[0].law;
    let exact = [law.mean, law.variance + law.mean * law.mean];
    println!("exact: mean {:.4}, variance {:.4}", law.mean, law.variance);
    let mut off = |name: &str, step: &mut Step<'_>| {
        let found = moments(|path, stream| step(&mut proposal, path, stream));
        let errors = [0, 1].map(|k| (found[k].0 - exact[k]) / found[k].1);
        let variance = found[1].0 - found[0].0 * found[0].0;
        println!(
            "{name}: mean {:.4}, variance {variance:.4}, off by {errors:.1?} standard errors",
            found[0].0
        );
        errors
    };
    for lineage in [Lineage::Traced, Lineage::Ancestors] {
        let kernel = kernel(2, Resampling::Multinomial, 1.0, lineage);
        let mut work = vec![0.0; kernel.work_len(&model)];
        let mut paths = Paths { positions: faer::Mat::zeros(2, 1) };
        let errors = off(&format!("{lineage:?}"), &mut |proposal, path, stream| {
            paths.positions.col_as_slice_mut(0).copy_from_slice(path);
            kernel.step(&model, proposal, &mut paths, std::slice::from_mut(stream), &mut work);
            path.copy_from_slice(paths.positions.col_as_slice(0));
        });
        assert!(errors.iter().all(|error| error.abs() < 5.0), "{errors:?}");
    }
    let kernel = kernel(2, Resampling::Multinomial, 1.0, Lineage::Ancestors);
    let printed = Sketch { kernel, mistake: Mistake::Printed };
    let errors =
        off("as printed", &mut |proposal, path, stream| printed.step(&model, proposal, path, stream));
    assert!(errors.iter().all(|error| error.abs() > 20.0), "{errors:?}");
}
