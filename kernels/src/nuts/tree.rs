//! Balanced binary trees over a leapfrog trajectory.

use mcsa_core::{Gradient, Stream, borrow};

use crate::{Leapfrog, leapfrog};

/// One end of a growing trajectory, in lent memory.
pub(super) struct Edge<'a> {
    pub(super) z: &'a mut [f64],
    pub(super) momentum: &'a mut [f64],
    pub(super) gradient: &'a mut [f64],
}

/// Summary of a stretch of trajectory, in lent memory.
pub(super) struct Tree<'a> {
    /// Momentum of the first state, in the order of building.
    pub(super) first: &'a mut [f64],
    /// Momentum of the last state.
    pub(super) last: &'a mut [f64],
    /// Sum of the momenta of all states.
    pub(super) sum: &'a mut [f64],
    /// The state drawn from the stretch.
    pub(super) z: &'a mut [f64],
    /// Gradient at the drawn state.
    pub(super) gradient: &'a mut [f64],
}

/// Weight and energies of a stretch of trajectory.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    /// Log of the sum of `exp(-H)` over the states.
    pub(super) log_total: f64,
    /// Log density at the drawn state.
    pub(super) log_p: f64,
    /// Smallest `H`.
    pub(super) low: f64,
    /// Largest `H`.
    pub(super) high: f64,
}

impl Weight {
    /// Joins two adjacent stretches; the drawn state is that of `other` if `take`, else of `self`.
    pub(super) fn join(self, other: Self, take: bool) -> Self {
        let (top, bottom) = if self.log_total > other.log_total {
            (self.log_total, other.log_total)
        } else {
            (other.log_total, self.log_total)
        };
        Self {
            log_total: if top == f64::NEG_INFINITY { top } else { top + (bottom - top).exp().ln_1p() },
            log_p: if take { other.log_p } else { self.log_p },
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// True if the energy varies by more than the divergence threshold along the stretch.
    pub(super) fn diverges(self) -> bool {
        self.high - self.low > leapfrog::DIVERGENCE
    }
}

/// Generalised U-turn criterion (Betancourt 2017, App. A): whether both ends, with momenta `a` and `b`, still move apart.
/// The sum of momenta is given in two parts, `sum` and `more`.
pub(super) fn goes_on(leapfrog: &Leapfrog, a: &[f64], b: &[f64], sum: &[f64], more: &[f64]) -> bool {
    leapfrog.mass().along(a, sum, more) > 0.0 && leapfrog.mass().along(b, sum, more) > 0.0
}

/// Recursive construction of trees from one start, with counters.
pub(super) struct Walk<'a, P: ?Sized> {
    pub(super) target: &'a P,
    pub(super) leapfrog: &'a Leapfrog,
    pub(super) lane: &'a mut Stream,
    /// `H` at the start.
    pub(super) start: f64,
    pub(super) direction: f64,
    /// The sum over states of `min(1, exp(H(start) - H))`.
    pub(super) accepted: f64,
    pub(super) leapfrogs: u64,
    pub(super) diverged: bool,
    pub(super) non_finite: bool,
}

impl<P: Gradient + ?Sized> Walk<'_, P> {
    /// Length of lent memory for a tree of this depth, without that of the target.
    pub(super) fn memory(dim: usize, depth: usize) -> usize {
        5 * dim * depth
    }

    /// Extends the trajectory by `2^depth` states. `None` if a part of them makes a U-turn, diverges or ends.
    pub(super) fn build(
        &mut self,
        depth: usize,
        edge: &mut Edge<'_>,
        tree: &mut Tree<'_>,
        mut memory: &mut [f64],
    ) -> Option<Weight> {
        if depth == 0 {
            return self.leaf(edge, tree, memory);
        }
        let dim = edge.z.len();
        let [middle, first, sum, z, gradient] = std::array::from_fn(|_| borrow(&mut memory, dim));
        let mut left = Tree {
            first: &mut *tree.first,
            last: &mut *middle,
            sum: &mut *tree.sum,
            z: &mut *tree.z,
            gradient: &mut *tree.gradient,
        };
        let left_weight = self.build(depth - 1, edge, &mut left, memory)?;
        let mut right = Tree { first, last: &mut *tree.last, sum, z, gradient };
        let right_weight = self.build(depth - 1, edge, &mut right, memory)?;
        let take = self.lane.accept(right_weight.log_total - left_weight.join(right_weight, false).log_total);
        let weight = left_weight.join(right_weight, take);
        let is_whole = goes_on(self.leapfrog, tree.first, right.first, tree.sum, right.first)
            && goes_on(self.leapfrog, middle, right.last, right.sum, middle)
            && goes_on(self.leapfrog, tree.first, right.last, tree.sum, right.sum);
        tree.sum.iter_mut().zip(&*right.sum).for_each(|(sum, more)| *sum += more);
        if take {
            tree.z.copy_from_slice(right.z);
            tree.gradient.copy_from_slice(right.gradient);
        }
        self.diverged |= weight.diverges();
        (is_whole && !weight.diverges()).then_some(weight)
    }

    fn leaf(&mut self, edge: &mut Edge<'_>, tree: &mut Tree<'_>, work: &mut [f64]) -> Option<Weight> {
        let Edge { z, momentum, gradient } = edge;
        let log_p = self.leapfrog.step(self.target, self.direction, z, momentum, gradient, work);
        let energy = self.leapfrog.energy(log_p, momentum);
        self.leapfrogs += 1;
        self.accepted += leapfrog::acceptance(self.start, energy);
        self.non_finite |= energy.is_nan();
        self.diverged |= leapfrog::energy_error(self.start, energy, log_p) > leapfrog::DIVERGENCE;
        if !energy.is_finite() {
            return None;
        }
        tree.first.copy_from_slice(momentum);
        tree.last.copy_from_slice(momentum);
        tree.sum.copy_from_slice(momentum);
        tree.z.copy_from_slice(z);
        tree.gradient.copy_from_slice(gradient);
        Some(Weight { log_total: -energy, log_p, low: energy, high: energy })
    }
}
