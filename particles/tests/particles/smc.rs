//! Edge cases of particle methods: extreme weights, models with NaN, memory, and pinned first values.

use faer::Mat;
use mcsa_core::{LogDensity, Seed, Stream};
use mcsa_particles::{
    Bootstrap, ConditionalSmc, FxVolatility, Lineage, PathKernel, Resampling, Smc, StateSpace, Theta,
};
use proptest::prelude::*;

use crate::LINEAGES;

fn counts(ancestors: &[usize]) -> Vec<f64> {
    let mut counts = vec![0.0; ancestors.len()];
    ancestors.iter().for_each(|&ancestor| counts[ancestor] += 1.0);
    counts
}

proptest! {
    /// For all weights, from equal ones to a single positive one: every ancestor has weight, the retained one is last, and
    /// systematic resampling rounds `S W_i` down or up.
    #[test]
    fn ancestors_have_weight(
        logs in proptest::collection::vec(prop_oneof![-3.0..0.0f64, -800.0..0.0f64, Just(0.0)], 1..40),
        seed in 0u64..1000,
        pick in 0usize..40,
        scale in prop_oneof![Just(1.0), 1e-9..1e9f64],
    ) {
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - top).exp()).sum();
        let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp() / total).collect();
        let (count, size) = (weights.len(), weights.len() as f64);
        let scaled: Vec<f64> = weights.iter().map(|weight| scale * weight).collect();
        let alive: Vec<usize> = (0..count).filter(|&k| weights[k] > 0.0).collect();
        let retained = alive[pick % alive.len()];
        let (mut ancestors, mut ends) = (vec![usize::MAX; count], vec![f64::NAN; count]);
        for (lane, rule) in (0..).zip(Resampling::ALL) {
            let mut stream = Seed::new(seed).stream(lane, 0);
            rule.ancestors_into(&mut stream, &scaled, None, &mut ancestors, &mut ends);
            prop_assert!(ancestors.iter().all(|&ancestor| weights[ancestor] > 0.0), "{rule:?}");
            for (n, weight) in counts(&ancestors).iter().zip(&weights) {
                let mean = size * weight;
                let is_rounded = (n - mean).abs() < 1.0 + 1e-9;
                prop_assert!(rule == Resampling::Multinomial || is_rounded, "{rule:?}: {n} for {mean}");
            }
            rule.ancestors_into(&mut stream, &scaled, Some(retained), &mut ancestors, &mut ends);
            prop_assert_eq!(ancestors[count - 1], retained);
            prop_assert!(ancestors.iter().all(|&ancestor| weights[ancestor] > 0.0), "{:?}", rule);
        }
    }
}

const THETA: Theta = Theta { mu: -0.5, atanh_phi: 1.2, log_sigma: -1.0, log_beta: 0.2 };

fn model() -> FxVolatility {
    FxVolatility::new((0..12).map(|t| (f64::from(t) * 1.7).sin()).collect(), THETA).expect("finite")
}

/// A model whose observation density is NaN, or zero, on one side of 0.
struct Faulty<P>(P, f64);

impl<P: StateSpace> LogDensity for Faulty<P> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.log_path(z)
    }
}

impl<P: StateSpace> StateSpace for Faulty<P> {
    fn num_states(&self) -> usize {
        self.0.num_states()
    }
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        self.0.draw_states_into(t, previous, stream, z);
    }
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        self.0.log_transitions(t, previous, z, out);
    }
    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        self.0.log_observations(t, z, out);
        for (out, z) in out.iter_mut().zip(z) {
            if *z > 0.0 {
                *out = self.1;
            }
        }
    }
}

/// Paths that start at `start` in every state, after steps of a kernel with the bootstrap proposal; with the sum of its metrics
/// `non_finite` and `renewed`, and the number of chains that stayed. Path `j` has lane `first + j`.
fn moved<P: StateSpace>(
    kernel: &ConditionalSmc,
    target: &P,
    start: Mat<f64>,
    (seed, first): (u64, u64),
    steps: std::ops::Range<u64>,
) -> (Mat<f64>, [f64; 3]) {
    let chains = start.ncols() as u64;
    let mut paths = kernel.init(target, start).expect("paths");
    let (mut work, mut totals) = (vec![f64::NAN; kernel.work_len(target)], [0.0; 3]);
    for step in steps {
        let mut lanes: Vec<Stream> =
            (first..first + chains).map(|lane| Seed::new(seed).stream(lane, step)).collect();
        let info = kernel.step(target, &mut Bootstrap(target), &mut paths, &mut lanes, &mut work);
        totals[0] += info.non_finite as f64;
        totals[1] += info.renewed;
        totals[2] += info.vanished as f64;
    }
    (paths.positions, totals)
}

/// States of NaN or infinite weight are never chosen and are counted; states of zero density are not faults. Every prefix of the run is
/// one too, so that the last path shows the others.
#[test]
fn faults_of_a_model_are_counted_and_left() {
    let inner = model();
    for (value, is_fault) in [(f64::NAN, true), (f64::INFINITY, true), (f64::NEG_INFINITY, false)] {
        let target = Faulty(inner.states(), value);
        for lineage in LINEAGES {
            for resampling in Resampling::ALL {
                let kernel = ConditionalSmc { particles: 8, resampling, threshold: 0.8, lineage };
                let start = || Mat::full(13, 1, -1.0);
                for steps in 1..20 {
                    let (path, _) = moved(&kernel, &target, start(), (1, 0), 0..steps);
                    assert!(path.col_as_slice(0).iter().all(|&z| z <= 0.0));
                }
                let (_, [faults, renewed, _]) = moved(&kernel, &target, start(), (1, 0), 0..20);
                assert_eq!(faults > 0.0, is_fault, "{value} {lineage:?} {resampling:?}");
                assert!(renewed > 1.0, "{renewed}");
            }
        }
    }
}

/// If all states have zero density, the path stays and the evidence is zero.
#[test]
fn a_path_stays_when_all_weights_vanish() {
    let far = Theta { mu: 50.0, atanh_phi: 0.5, ..THETA };
    let inner = FxVolatility::new(vec![0.3; 12], far).expect("finite");
    let target = Faulty(inner.states(), f64::NEG_INFINITY);
    let (before, kernel) = (Mat::full(13, 2, 40.0), ConditionalSmc::with_particles(2));
    let (paths, totals) = moved(&kernel, &target, before.clone(), (1, 0), 0..1);
    assert_eq!((paths, totals[2]), (before, 2.0));
    let smc = Smc::new(1, Resampling::Systematic, 1.0).expect("possible");
    let mut work = vec![f64::NAN; smc.work_len(&target)];
    let mut lane = Seed::new(1).stream(0, 0);
    let found = smc.log_evidence(&target, &mut Bootstrap(&target), &mut lane, &mut work);
    assert_eq!(found, f64::NEG_INFINITY);
}

/// A path outside the support moves to one inside.
#[test]
fn an_impossible_path_is_left() {
    let inner = model();
    let target = Faulty(inner.states(), f64::NEG_INFINITY);
    let (path, _) = moved(&ConditionalSmc::with_particles(20), &target, Mat::full(13, 1, 0.5), (1, 0), 0..5);
    assert!(path.col_as_slice(0).iter().all(|&z| z <= 0.0));
}

/// A chain is bit-identical alone and in a batch: other lanes do not affect it.
#[test]
fn a_chain_does_not_see_its_neighbours() {
    let inner = model();
    let run = |first, chains| {
        let start = Mat::zeros(13, chains);
        moved(&ConditionalSmc::with_particles(5), &inner.states(), start, (3, first), 0..4).0
    };
    assert_eq!(run(0, 3).col_as_slice(2), run(2, 1).col_as_slice(0));
}

/// Pinned first values at `Seed::new(1)`, to ten digits: the sum of a path after three steps.
#[test]
fn the_first_numbers_are_pinned() {
    let inner = model();
    for (resampling, pin) in Resampling::ALL.into_iter().zip(PINNED) {
        let kernel = ConditionalSmc { resampling, ..ConditionalSmc::with_particles(5) };
        let (path, _) = moved(&kernel, &inner.states(), Mat::zeros(13, 1), (1, 0), 0..3);
        let found: f64 = path.col_as_slice(0).iter().sum();
        assert!((found - pin).abs() < 1e-10 * pin.abs(), "{resampling:?}: {found}");
    }
}

const PINNED: [f64; 2] = [-8.275756309593032, -14.3963609685049];

/// A configuration on file has the defaults of the documentation.
#[test]
fn defaults_are_those_documented() {
    let read: ConditionalSmc = serde_json::from_str("{\"particles\": 5}").unwrap();
    let written = ConditionalSmc { lineage: Lineage::default(), ..ConditionalSmc::with_particles(5) };
    assert_eq!((read, read.threshold), (written, 1.0));
}
