//! Exact invariance along one leapfrog orbit.
//!
//! With the momentum given, the randomness of a Hamiltonian kernel is discrete, and its chain moves along one orbit of the
//! leapfrog: states `s_k`, of weight `exp(-H_k)`. The production code is run along every branch of its decisions from every
//! state, with either sign of the momentum; the weight carried into `s_0` must equal the weight of `s_0`. No false alarms.

use std::collections::BTreeMap;

use faer::Mat;
use mcsa_core::{ChainState, Gradient, Kernel, Stream, enumerate};
use mcsa_kernels::{GradientEnsemble, Hmc, Leapfrog, Mass, Nuts, Selection};
use proptest::prelude::*;

use super::targets::{Banana, Edge, Funnel, Pit, correlated};
use super::twins::{Careless, Flaw};

/// A state of an orbit.
pub(crate) struct State {
    pub(crate) z: Vec<f64>,
    pub(crate) p: Vec<f64>,
    pub(crate) energy: f64,
}

pub(crate) type Orbit = BTreeMap<i32, State>;

/// The states `s_-reach .. s_reach` of the orbit through `(z, p)`, as far as it goes.
pub(crate) fn orbit<P: Gradient>(target: &P, leapfrog: &Leapfrog, reach: i32, z: &[f64], p: &[f64]) -> Orbit {
    let mut states = Orbit::new();
    let mut work = vec![0.0; target.work_len(1)];
    for direction in [1, -1] {
        let (mut z, mut p, mut gradient) = (z.to_vec(), p.to_vec(), vec![0.0; z.len()]);
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

/// The relative difference between the weight carried into `s_0` and its own.
pub(crate) fn imbalance(
    states: &Orbit,
    mut transition: impl FnMut(&[f64], &[f64], &mut [Stream]) -> Vec<f64>,
) -> f64 {
    let mut inflow = 0.0;
    for (&from, state) in states {
        for sign in [1.0, -1.0] {
            let into = row(states, from, sign, &mut transition);
            inflow += 0.5 * into.get(&0).unwrap_or(&0.0) * (states[&0].energy - state.energy).exp();
        }
    }
    (inflow - 1.0).abs()
}

/// A kernel's step as a function of position and momentum.
pub(crate) fn moved<'a, P: Gradient, K: Kernel<P, State = GradientEnsemble>>(
    kernel: &'a K,
    target: &'a P,
    mut step: impl FnMut(&mut GradientEnsemble, &[f64], &mut [Stream], &mut [f64]) + 'a,
) -> impl FnMut(&[f64], &[f64], &mut [Stream]) -> Vec<f64> + 'a {
    let mut work = vec![0.0; kernel.work_len(target, 1)];
    move |z, p, lanes| {
        let mut state = kernel.init(target, Mat::from_fn(z.len(), 1, |i, _| z[i])).unwrap();
        step(&mut state, p, lanes, &mut work);
        state.chains().positions.col_as_slice(0).to_vec()
    }
}

pub(crate) fn leapfrog(eps: f64, dim: usize) -> Leapfrog {
    Leapfrog::new(eps, Mass::diagonal([0.7, 1.9][..dim].to_vec()).unwrap()).unwrap()
}

/// Positions and momenta at which orbits start.
pub(crate) const STARTS: [([f64; 2], [f64; 2]); 3] =
    [([0.4, -0.8], [0.9, 0.3]), ([-1.3, 0.5], [0.2, -2.0]), ([0.1, 0.1], [-1.5, 1.0])];

fn hmc_imbalance<P: Gradient>(target: &P, eps: f64, steps: usize, selection: Selection) -> f64 {
    let dim = target.dim();
    let hmc = Hmc::with(leapfrog(eps, dim), steps, selection).unwrap();
    let at = |(z, p): ([f64; 2], [f64; 2])| {
        let states = orbit(target, hmc.leapfrog(), steps as i32, &z[..dim], &p[..dim]);
        imbalance(
            &states,
            moved(&hmc, target, |state, p, lanes, work| {
                hmc.transition(target, state, p, lanes, work);
            }),
        )
    };
    STARTS.into_iter().map(at).fold(0.0, f64::max)
}

fn nuts_imbalance<P: Gradient>(target: &P, eps: f64, max_depth: usize) -> f64 {
    let dim = target.dim();
    let nuts = Nuts::with(leapfrog(eps, dim), max_depth).unwrap();
    let at = |(z, p): ([f64; 2], [f64; 2])| {
        let states = orbit(target, nuts.leapfrog(), (1 << max_depth) - 1, &z[..dim], &p[..dim]);
        imbalance(
            &states,
            moved(&nuts, target, |state, p, lanes, work| {
                nuts.transition(target, state, p, lanes, work);
            }),
        )
    };
    STARTS.into_iter().map(at).fold(0.0, f64::max)
}

const EDGE: Edge = Edge { edge: 0.6, beyond: f64::NEG_INFINITY };
const HOLE: Edge = Edge { edge: 0.6, beyond: f64::NAN };
const PEAK: Edge = Edge { edge: 0.6, beyond: f64::INFINITY };

#[test]
fn hmc_keeps_the_weights_of_an_orbit() {
    for selection in [Selection::Multinomial, Selection::EndPoint] {
        for (eps, steps) in [(0.3, 1), (0.3, 5), (1.1, 2), (0.7, 8)] {
            let worst = hmc_imbalance(&Banana, eps, steps, selection)
                .max(hmc_imbalance(&Funnel, eps, steps, selection))
                .max(hmc_imbalance(&correlated(), eps, steps, selection))
                .max(hmc_imbalance(&EDGE, eps, steps, selection))
                .max(hmc_imbalance(&HOLE, eps, steps, selection))
                .max(hmc_imbalance(&PEAK, eps, steps, selection));
            assert!(worst < 1e-11, "{selection:?} {eps} {steps}: {worst}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn an_orbit_of_any_step_size_and_length_keeps_its_weights(eps in 0.05..0.8f64, steps in 1..7_usize) {
        for selection in [Selection::Multinomial, Selection::EndPoint] {
            prop_assert!(hmc_imbalance(&Banana, eps, steps, selection) < 1e-10);
            prop_assert!(hmc_imbalance(&EDGE, eps, steps, selection) < 1e-10);
        }
        prop_assert!(nuts_imbalance(&Banana, eps, 2) < 1e-10);
        prop_assert!(nuts_imbalance(&EDGE, eps, 2) < 1e-10);
    }
}

#[test]
fn nuts_keeps_the_weights_of_an_orbit() {
    for (eps, max_depth) in [(0.3, 1), (0.25, 3), (0.6, 3), (1.1, 3)] {
        let worst = nuts_imbalance(&Banana, eps, max_depth)
            .max(nuts_imbalance(&Funnel, eps, max_depth))
            .max(nuts_imbalance(&correlated(), eps, max_depth))
            .max(nuts_imbalance(&EDGE, eps, max_depth))
            .max(nuts_imbalance(&HOLE, eps, max_depth));
        assert!(worst < 1e-11, "{eps} {max_depth}: {worst}");
    }
}

/// A pit whose depth is about the threshold: some states of an orbit see an energy error of 1000 and others
/// do not.
#[test]
fn a_divergence_is_the_same_from_all_states() {
    for depth in [999.9, 1000.0, 1000.1] {
        let pit = Pit { place: 0.9, half_width: 0.2, depth };
        for eps in [0.2, 0.3, 0.45] {
            assert!(nuts_imbalance(&pit, eps, 3) < 1e-11);
            assert!(hmc_imbalance(&pit, eps, 6, Selection::Multinomial) < 1e-11);
        }
    }
}

#[test]
fn careless_twins_are_caught() {
    let imbalance_of = |flaw| {
        let twin = Careless { leapfrog: leapfrog(0.7, 2), steps: 3, flaw };
        let states = orbit(&Banana, &twin.leapfrog, 6, &STARTS[0].0, &STARTS[0].1);
        // The kernel provides the state alone.
        let hmc = Hmc::with(leapfrog(0.7, 2), 3, Selection::EndPoint).unwrap();
        imbalance(
            &states,
            moved(&hmc, &Banana, |state, p, lanes, _| twin.transition(&Banana, state, p, lanes)),
        )
    };
    assert!(imbalance_of(None) < 1e-12);
    for flaw in [Flaw::NoTest, Flaw::NoHalfKick, Flaw::KineticSign, Flaw::AlwaysForward] {
        assert!(imbalance_of(Some(flaw)) > 1e-3, "{flaw:?}");
    }
}
