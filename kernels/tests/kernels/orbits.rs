//! Exact invariance along one leapfrog orbit.
//!
//! With the momentum given, the randomness of a Hamiltonian kernel is discrete, and its chain moves along one orbit of the
//! leapfrog: states `s_k`, of weight `exp(-H_k)`. The production code is run along every branch of its decisions from every
//! state, with either sign of the momentum; the weight carried into `s_0` must equal the weight of `s_0`. No false alarms.

use std::collections::BTreeMap;

use faer::Mat;
use mcsa_core::{ChainState, Gradient, Kernel, Stream, enumerate};
use mcsa_kernels::{GradientEnsemble, Hmc, Leapfrog, Mass, Nuts, Selection};

use crate::targets::{banana, correlated, edge, funnel, pit};

/// A state of an orbit.
pub(crate) struct State {
    pub(crate) z: Vec<f64>,
    pub(crate) p: Vec<f64>,
    pub(crate) energy: f64,
}

pub(crate) type Orbit = BTreeMap<i32, State>;

/// Position and momentum at which an orbit starts; in one dimension the second coordinates are left out.
pub(crate) type Start = ([f64; 2], [f64; 2]);

pub(crate) const STARTS: [Start; 3] =
    [([0.4, -0.8], [0.9, 0.3]), ([-1.3, 0.5], [0.2, -2.0]), ([0.1, 0.1], [-1.5, 1.0])];

/// Smooth targets, and one that ends at an edge.
pub(crate) fn targets() -> Vec<Box<dyn Gradient>> {
    let edge = edge(0.6, f64::NEG_INFINITY);
    vec![Box::new(banana()), Box::new(funnel()), Box::new(correlated()), Box::new(edge)]
}

pub(crate) fn leapfrog(eps: f64, dim: usize) -> Leapfrog {
    Leapfrog::new(eps, Mass::diagonal([0.7, 1.9][..dim].to_vec()).unwrap()).unwrap()
}

/// The states `s_-reach .. s_reach` of the orbit from a start, as far as it goes.
pub(crate) fn orbit(target: &dyn Gradient, leapfrog: &Leapfrog, reach: i32, (z, p): Start) -> Orbit {
    let (mut states, dim) = (Orbit::new(), target.dim());
    let mut work = vec![0.0; target.work_len(1)];
    for direction in [1, -1] {
        let (mut z, mut p, mut gradient) = (z[..dim].to_vec(), p[..dim].to_vec(), vec![0.0; dim]);
        let mut log_p = target.gradient_into(&z, &mut gradient, &mut work);
        for k in 0..=reach {
            let energy = leapfrog.mass().kinetic(&p) - log_p;
            if !energy.is_finite() {
                break;
            }
            states.insert(direction * k, State { z: z.clone(), p: p.clone(), energy });
            log_p = leapfrog.step(target, f64::from(direction), &mut z, &mut p, &mut gradient, &mut work);
        }
    }
    states
}

/// Transition probabilities from a state: the production code along every branch.
pub(crate) fn row(
    states: &Orbit,
    from: i32,
    sign: f64,
    transition: &mut impl FnMut(&[f64], &[f64], &mut [Stream]) -> Vec<f64>,
) -> BTreeMap<i32, f64> {
    let p: Vec<f64> = states[&from].p.iter().map(|p| sign * p).collect();
    let mut row = BTreeMap::new();
    for branch in enumerate(1, 1 << 20, |lanes| transition(&states[&from].z, &p, lanes)).unwrap() {
        let near = |state: &State| state.z.iter().zip(&branch.outcome).all(|(a, b)| (a - b).abs() < 1e-9);
        if let Some((&to, _)) = states.iter().find(|(_, state)| near(state)) {
            *row.entry(to).or_insert(0.0) += branch.probability;
        }
    }
    row
}

/// The largest relative difference, over the starts, between the weight carried into `s_0` and its own.
fn imbalance(
    target: &dyn Gradient,
    leapfrog: &Leapfrog,
    reach: i32,
    mut transition: impl FnMut(&[f64], &[f64], &mut [Stream]) -> Vec<f64>,
) -> f64 {
    let mut at = |start| {
        let (states, mut inflow) = (orbit(target, leapfrog, reach, start), 0.0);
        for (&from, state) in &states {
            for sign in [1.0, -1.0] {
                let into = row(&states, from, sign, &mut transition);
                inflow += 0.5 * into.get(&0).unwrap_or(&0.0) * (states[&0].energy - state.energy).exp();
            }
        }
        (inflow - 1.0_f64).abs()
    };
    STARTS.into_iter().map(&mut at).fold(0.0, f64::max)
}

/// A kernel's step as a function of position and momentum.
pub(crate) fn moved<'a, K: Kernel<dyn Gradient + 'a, State = GradientEnsemble>>(
    kernel: &'a K,
    target: &'a (dyn Gradient + 'a),
    mut step: impl FnMut(&mut GradientEnsemble, &[f64], &mut [Stream], &mut [f64]) + 'a,
) -> impl FnMut(&[f64], &[f64], &mut [Stream]) -> Vec<f64> + 'a {
    let mut work = vec![0.0; kernel.work_len(target, 1)];
    move |z, p, lanes| {
        let mut state = kernel.init(target, Mat::from_fn(z.len(), 1, |i, _| z[i])).unwrap();
        step(&mut state, p, lanes, &mut work);
        state.chains().positions.col_as_slice(0).to_vec()
    }
}

fn hmc_imbalance(target: &dyn Gradient, eps: f64, steps: usize, selection: Selection) -> f64 {
    let hmc = Hmc::with(leapfrog(eps, target.dim()), steps, selection).unwrap();
    let step = moved(&hmc, target, |state, p, lanes, work| {
        hmc.transition(target, state, p, lanes, work);
    });
    imbalance(target, hmc.leapfrog(), steps as i32, step)
}

fn nuts_imbalance(target: &dyn Gradient, eps: f64, max_depth: usize) -> f64 {
    let nuts = Nuts::with(leapfrog(eps, target.dim()), max_depth).unwrap();
    let step = moved(&nuts, target, |state, p, lanes, work| {
        nuts.transition(target, state, p, lanes, work);
    });
    imbalance(target, nuts.leapfrog(), (1 << max_depth) - 1, step)
}

#[test]
fn kernels_keep_the_weights_of_an_orbit() {
    let broken = [f64::NAN, f64::INFINITY].map(|beyond| edge(0.6, beyond));
    let mut targets = targets();
    targets.extend(broken.into_iter().map(|target| Box::new(target) as Box<dyn Gradient>));
    for (k, target) in targets.iter().enumerate() {
        for (eps, steps) in [(0.3, 1), (0.3, 5), (1.1, 2), (0.7, 8)] {
            for selection in [Selection::Multinomial, Selection::EndPoint] {
                let found = hmc_imbalance(target.as_ref(), eps, steps, selection);
                assert!(found < 1e-11, "target {k}, {selection:?} {eps} {steps}: {found}");
            }
        }
        for (eps, max_depth) in [(0.3, 1), (0.25, 3), (0.6, 3), (1.1, 3)] {
            let found = nuts_imbalance(target.as_ref(), eps, max_depth);
            assert!(found < 1e-11, "target {k}, {eps} {max_depth}: {found}");
        }
    }
}

/// A pit whose depth is about the threshold: some states of an orbit see an energy error of 1000 and others
/// do not.
#[test]
fn a_divergence_is_the_same_from_all_states() {
    for depth in [999.9, 1000.0, 1000.1] {
        for eps in [0.2, 0.3, 0.45] {
            assert!(nuts_imbalance(&pit(depth), eps, 3) < 1e-11);
            assert!(hmc_imbalance(&pit(depth), eps, 6, Selection::Multinomial) < 1e-11);
        }
    }
}

/// The twin: the end of a trajectory without a test.
#[test]
fn a_move_without_a_test_is_caught() {
    let (target, leapfrog) = (banana(), leapfrog(0.7, 2));
    let found = imbalance(&target, &leapfrog, 6, |z, p, _| {
        let (mut z, mut p, mut gradient) = (z.to_vec(), p.to_vec(), vec![0.0; 2]);
        target.gradient_into(&z, &mut gradient, &mut []);
        for _ in 0..3 {
            leapfrog.step(&target, 1.0, &mut z, &mut p, &mut gradient, &mut []);
        }
        z
    });
    assert!(found > 1e-3, "{found}");
}
