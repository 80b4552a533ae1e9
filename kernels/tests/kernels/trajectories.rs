//! No-U-turn kernel against its definition on the states of an orbit, without recursion on points.

use std::collections::BTreeMap;

use mcsa_core::Gradient;
use mcsa_kernels::{Leapfrog, Nuts};
use proptest::prelude::*;

use crate::orbits::{Orbit, STARTS, Start, leapfrog, moved, orbit, row, targets};
use crate::targets::{banana, correlated, pit};

type Law = BTreeMap<i32, f64>;

/// The definition in indices of states: U-turns of stretches of an orbit, and the distribution of the next state.
struct Definition<'a> {
    states: &'a Orbit,
    leapfrog: &'a Leapfrog,
    max_depth: usize,
    /// True unless sub-trees of a new half are not checked, which is a deviation from the definition.
    looks_inside: bool,
}

impl Definition<'_> {
    fn sum(&self, from: i32, to: i32) -> Vec<f64> {
        let dim = self.states[&0].p.len();
        (0..dim).map(|i| (from..=to).map(|k| self.states[&k].p[i]).sum()).collect()
    }

    /// True if the momenta at `a` and `b` still point along the sum of those in `from..=to`.
    fn apart(&self, a: i32, b: i32, from: i32, to: i32) -> bool {
        let sum = self.sum(from, to);
        let along = |k: i32| {
            let mut velocity = vec![0.0; sum.len()];
            self.leapfrog.mass().drift(1.0, &self.states[&k].p, &mut velocity);
            velocity.iter().zip(&sum).map(|(v, s)| v * s).sum::<f64>()
        };
        along(a) > 0.0 && along(b) > 0.0
    }

    fn spread(&self, from: i32, to: i32) -> f64 {
        let energies = || (from..=to).map(|k| self.states[&k].energy);
        energies().fold(f64::MIN, f64::max) - energies().fold(f64::MAX, f64::min)
    }

    fn stops(&self, from: i32, to: i32) -> bool {
        if self.spread(from, to) > 1000.0 {
            return true;
        }
        let middle = from + (to - from + 1) / 2;
        !(self.apart(from, to, from, to)
            && self.apart(from, middle, from, middle)
            && self.apart(middle - 1, to, middle - 1, to))
    }

    fn breaks(&self, from: i32, to: i32) -> bool {
        if (from..=to).any(|k| !self.states.contains_key(&k)) {
            return true;
        }
        if from == to || !self.looks_inside {
            return false;
        }
        let middle = from + (to - from + 1) / 2;
        self.stops(from, to) || self.breaks(from, middle - 1) || self.breaks(middle, to)
    }

    fn weight(&self, k: i32) -> f64 {
        (self.states[&0].energy - self.states[&k].energy).exp()
    }

    fn total(&self, from: i32, to: i32) -> f64 {
        (from..=to).map(|k| self.weight(k)).sum()
    }

    /// Adds `probability` times the distribution of the final state, given that the tree is `from..=to` and the drawn state
    /// has distribution `law`.
    fn grow(&self, (from, to): (i32, i32), law: &Law, depth: usize, probability: f64, out: &mut Law) {
        if depth == self.max_depth {
            return settle(law, probability, out);
        }
        let length = 1 << depth;
        for (first, last) in [(from - length, from - 1), (to + 1, to + length)] {
            if self.breaks(first, last) {
                settle(law, probability / 2.0, out);
                continue;
            }
            let new = self.total(first, last);
            let take = (new / self.total(from, to)).min(1.0);
            let mut law: Law = law.iter().map(|(&k, p)| (k, (1.0 - take) * p)).collect();
            law.extend((first..=last).map(|k| (k, take * self.weight(k) / new)));
            let (from, to) = (from.min(first), to.max(last));
            if self.stops(from, to) {
                settle(&law, probability / 2.0, out);
            } else {
                self.grow((from, to), &law, depth + 1, probability / 2.0, out);
            }
        }
    }

    fn row(&self, from: i32) -> Law {
        let mut out = Law::new();
        self.grow((from, from), &Law::from([(from, 1.0)]), 0, 1.0, &mut out);
        out
    }
}

fn settle(law: &Law, probability: f64, out: &mut Law) {
    law.iter().for_each(|(&k, p)| *out.entry(k).or_insert(0.0) += probability * p);
}

fn distance(a: &Law, b: &Law) -> f64 {
    let keys = a.keys().chain(b.keys());
    keys.map(|k| (a.get(k).unwrap_or(&0.0) - b.get(k).unwrap_or(&0.0)).abs()).fold(0.0, f64::max)
}

/// The largest difference between the rows of the code and of the definition.
fn difference(target: &dyn Gradient, eps: f64, max_depth: usize, looks_inside: bool, start: Start) -> f64 {
    let nuts = Nuts::with(leapfrog(eps, target.dim()), max_depth).unwrap();
    let leapfrog = nuts.leapfrog();
    let states = orbit(target, leapfrog, (1 << max_depth) - 1, start);
    let mut transition = moved(&nuts, target, |state, p, lanes, work| {
        nuts.transition(target, state, p, lanes, work);
    });
    let definition = Definition { states: &states, leapfrog, max_depth, looks_inside };
    distance(&row(&states, 0, 1.0, &mut transition), &definition.row(0))
}

fn worst(at: impl FnMut(Start) -> f64) -> f64 {
    STARTS.into_iter().map(at).fold(0.0, f64::max)
}

proptest! {
    /// From random starts, so that each of the checks across halves is decisive in some cases.
    #[test]
    fn nuts_is_what_its_definition_says_from_anywhere(
        z in [-1.5..1.5f64, -1.5..1.5f64],
        p in [-2.0..2.0f64, -2.0..2.0f64],
        eps in 0.1..0.8f64,
    ) {
        prop_assert!(difference(&banana(), eps, 3, true, (z, p)) < 1e-9);
        prop_assert!(difference(&correlated(), eps, 3, true, (z, p)) < 1e-9);
    }
}

/// The last target is a pit about as deep as the divergence threshold: some states of an orbit see an energy error of 1000 and
/// others do not.
#[test]
fn nuts_is_what_its_definition_says() {
    let mut targets = targets();
    targets.push(Box::new(pit(1000.0)));
    for (eps, max_depth) in [(0.2, 3), (0.45, 3), (0.8, 3), (1.1, 2)] {
        for (k, target) in targets.iter().enumerate() {
            let found = worst(|start| difference(target.as_ref(), eps, max_depth, true, start));
            assert!(found < 1e-12, "target {k}, {eps} {max_depth}: {found}");
        }
    }
}

/// The twin: a U-turn check of the new half as a whole only gives a different kernel.
#[test]
fn the_new_half_is_checked_inside() {
    assert!(worst(|start| difference(&banana(), 0.8, 3, false, start)) > 1e-3);
}
