//! Smallest cases with exact answers: one chain, two states, default settings, conditional laws of resampling.

use std::collections::BTreeMap;

use faer::Mat;
use mcsa_core::{
    ChainState, FamilyProposal, Gradient, Kernel, LogDensity, Parametric, Seed, Stream, enumerate, from_fn,
};
use mcsa_families::MeanField;
use mcsa_kernels::{Cis, DelayedAcceptance, ExtendedTarget, GradientEnsemble, Imh, Nuts, Rwm};
use mcsa_models::Gaussian;
use mcsa_particles::{
    Bootstrap, ConditionalSmc, FxVolatility, Lineage, PathKernel, Resampling, Smc, StateSpace,
};

/// Law of the numbers of descendants, over all branches of `draw`.
fn law(draw: impl Fn(&mut Stream, &mut [usize])) -> BTreeMap<[u32; 4], f64> {
    let branches = enumerate(1, 100_000, |lanes: &mut [Stream]| {
        let mut ancestors = [usize::MAX; 4];
        draw(&mut lanes[0], &mut ancestors);
        let mut numbers = [0; 4];
        ancestors.iter().for_each(|&ancestor| numbers[ancestor] += 1);
        numbers
    });
    let mut law = BTreeMap::new();
    for branch in branches.unwrap() {
        *law.entry(branch.outcome).or_insert(0.0) += branch.probability;
    }
    law
}

/// Given an ancestor r of one slot, numbers of descendants have their law weighted by `n_r / (S W_r)`, exactly. Schemes that
/// depend on the order of the particles start at each of them with equal probability.
#[test]
fn given_an_ancestor_numbers_are_weighted_by_its_own() {
    let weights = [0.5, 0.8, 1.1, 1.6];
    for rule in Resampling::ALL {
        let mut free = BTreeMap::new();
        for first in 0..4 {
            let mut turned = weights;
            turned.rotate_left(first);
            let found = law(|stream, ancestors| {
                rule.ancestors_into(stream, &turned, ancestors, &mut [0.0; 4]);
                ancestors.iter_mut().for_each(|ancestor| *ancestor = (*ancestor + first) % 4);
            });
            for (numbers, probability) in found {
                *free.entry(numbers).or_insert(0.0) += 0.25 * probability;
            }
        }
        for retained in 0..4 {
            let given = law(|stream, ancestors| {
                rule.ancestors_given_into(stream, &weights, retained, ancestors, &mut [0.0; 4]);
            });
            for (numbers, probability) in &free {
                let expected = probability * f64::from(numbers[retained]) / weights[retained];
                let found = given.get(numbers).copied().unwrap_or(0.0);
                assert!((found - expected).abs() < 1e-12, "{rule:?} {numbers:?}: {found} {expected}");
            }
        }
    }
}

/// States that never move after the first, weighted by `exp(-z^2)` at each time.
struct Frozen(usize);

impl LogDensity for Frozen {
    fn dim(&self) -> usize {
        self.0
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.log_path(z)
    }
}

impl StateSpace for Frozen {
    fn num_states(&self) -> usize {
        self.0
    }
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        if t == 0 { z.iter_mut().for_each(|z| *z = stream.normal()) } else { z.copy_from_slice(previous) }
    }
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        for (k, out) in out.iter_mut().enumerate() {
            *out = if t == 0 || previous[k] == z[k] { 0.0 } else { f64::NEG_INFINITY };
        }
    }
    fn log_observations(&self, _: usize, z: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(z).for_each(|(out, z)| *out = -z * z);
    }
}

/// The past of a state that never moved is that state, by every rule for it.
#[test]
fn a_drawn_path_has_its_own_past() {
    for lineage in [Lineage::Traced, Lineage::Ancestors, Lineage::Backward] {
        let (target, kernel) = (Frozen(4), ConditionalSmc { lineage, ..ConditionalSmc::with_particles(5) });
        let mut paths = kernel.init(&target, Mat::zeros(4, 1)).unwrap();
        let (mut work, mut moved) = (vec![f64::NAN; kernel.work_len(&target)], 0);
        for step in 0..30 {
            let mut lanes = Seed::new(2).streams(1, step);
            kernel.step(&target, &mut Bootstrap(&target), &mut paths, &mut lanes, &mut work);
            let path = paths.positions.col_as_slice(0);
            assert!(path.iter().all(|z| *z == path[0]), "{lineage:?} {path:?}");
            moved += u32::from(path[0] != 0.0);
        }
        assert!(moved > 0, "{lineage:?}");
    }
}

/// An evidence is the same whether the states of all times are kept or those of two.
#[test]
fn an_evidence_needs_two_states() {
    let returns = (0..6).map(|t| (f64::from(t) * 1.7).sin()).collect();
    let model = FxVolatility::new(returns, Default::default()).unwrap();
    let target = model.states();
    let smc = Smc::new(8, Resampling::Systematic, 0.7).unwrap();
    let (mut few, mut all) = (vec![0.0; smc.work_len(&target)], vec![0.0; smc.path_work_len(&target)]);
    let stream = || Seed::new(4).stream(0, 0);
    let found = smc.log_evidence(&target, &mut Bootstrap(&target), &mut stream(), &mut few);
    let path = &mut vec![0.0; target.dim()];
    let kept = smc.draw_path_into(&target, &mut Bootstrap(&target), &mut stream(), path, &mut all);
    assert!(few.len() < all.len());
    assert_eq!(found.to_bits(), kept.to_bits());
}

/// A step of one chain with memory of exactly the stated length.
fn step<K: Kernel<P>, P: LogDensity>(kernel: &K, target: &P, state: &mut K::State, step: u64) -> K::Info {
    let family = MeanField::new(target.dim());
    let params = vec![0.0; family.num_params()];
    let columns = kernel.columns(1);
    let (mut memory, mut work) = (vec![0.0; family.work_len(columns)], vec![0.0; kernel.work_len(target, 1)]);
    let mut proposal = FamilyProposal::new(&family, &params, columns, &mut memory).unwrap();
    kernel.step(target, &mut proposal, state, &mut Seed::new(3).streams(1, step), &mut work)
}

/// One chain has room for its candidates. If q is p all weights are equal, and each candidate counts.
#[test]
fn candidates_of_one_chain_have_equal_weights() {
    let scale = std::f64::consts::LN_2;
    let target = from_fn(1, |z| -0.5 * (z[0] / scale).powi(2));
    let kernel = Cis::with_candidates(4);
    let mut state = kernel.init(&target, Mat::zeros(1, 1)).unwrap();
    let info = step(&kernel, &target, &mut state, 0);
    assert_eq!(info.tried, 1);
    assert!((info.ess - 4.0).abs() < 1e-12 && (info.max_weight - 0.25).abs() < 1e-12, "{info:?}");
}

/// Densities that are one at the start and `e^-0.4`, for the surrogate `e^-0.1`, elsewhere: the first move is accepted with
/// probability `e^-0.3`, later ones with probability 1.
#[test]
fn a_second_acceptance_is_the_ratio_of_both_densities() {
    let target = from_fn(1, |z| if z[0] == 0.0 { 0.0 } else { -0.4 });
    let surrogate = from_fn(1, |z| if z[0] == 0.0 { 0.0 } else { -0.1 });
    let kernel = DelayedAcceptance { inner: Imh::default(), surrogate };
    let (mut first, mut later) = (0, 0);
    for seed in 0..20 {
        let mut state = Kernel::<_>::init(&kernel, &target, Mat::zeros(1, 1)).unwrap();
        for turn in 0..3 {
            let starts = state.chains().positions[(0, 0)] == 0.0;
            let info = step(&kernel, &target, &mut state, 10 * seed + turn);
            let expected = if starts { f64::exp(-0.3) } else { 1.0 };
            if info.promoted == 1 {
                assert!((info.second - expected).abs() < 1e-12, "{} {expected}", info.second);
                *(if starts { &mut first } else { &mut later }) += 1;
            }
        }
    }
    assert!(first > 0 && later > 0);
}

#[test]
fn an_extended_target_is_the_target_without_the_last_coordinate() {
    let target = Gaussian::standard(2);
    let extended = ExtendedTarget::new(&target);
    let work = &mut vec![0.0; extended.work_len(1)];
    let found = extended.log_density(&[0.3, -0.7, 55.0], work);
    assert_eq!(found, target.log_density(&[0.3, -0.7], work));
}

/// Flat, 2000 higher from a half on.
struct Cliff;

impl LogDensity for Cliff {
    fn dim(&self) -> usize {
        1
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        if z[0].abs() > 0.5 { 2_000.0 } else { 0.0 }
    }
}

impl Gradient for Cliff {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        self.log_density(z, work)
    }
}

/// An energy that falls by more than 1000 is a divergence too, counted once per trajectory; the chain moves.
#[test]
fn a_fall_of_the_energy_is_a_divergence() {
    let nuts = Nuts::new(1.0).unwrap();
    for (momentum, divergences) in [(1.0, 1), (0.1, 0)] {
        let nuts = Nuts::with(nuts.leapfrog().clone(), 1).unwrap();
        let mut state: GradientEnsemble = nuts.init(&Cliff, Mat::zeros(1, 1)).unwrap();
        let mut work = vec![0.0; nuts.work_len(&Cliff, 1)];
        let mut lanes = Seed::new(1).streams(1, 0);
        let info = nuts.transition(&Cliff, &mut state, &[momentum], &mut lanes, &mut work);
        assert_eq!((info.divergences, info.leapfrogs), (divergences, 1));
    }
}

/// A configuration on file has the defaults of the documentation.
#[test]
fn defaults_are_those_documented() {
    let read: ConditionalSmc = serde_json::from_str("{\"particles\": 5}").unwrap();
    let written = ConditionalSmc { lineage: Lineage::default(), ..ConditionalSmc::with_particles(5) };
    assert_eq!((read, read.threshold), (written, 1.0));
}

/// Text of a configuration names its settings.
#[test]
fn configurations_name_their_settings() {
    let rwm = Kernel::<Gaussian>::config(&Rwm::new(0.25).unwrap());
    let cis = Kernel::<Gaussian>::config(&Cis::with_candidates(7));
    let delayed = DelayedAcceptance { inner: Cis::with_candidates(7), surrogate: Gaussian::standard(1) };
    let delayed = Kernel::<Gaussian>::config(&delayed);
    assert_eq!(
        [rwm, cis, delayed],
        [
            "Rwm(Settings { scale: 0.25, shape: [] })",
            "Cis { candidates: 7 }",
            "DelayedAcceptance { inner: Cis { candidates: 7 }, surrogate: Gaussian }"
        ]
    );
}
