//! No-U-turn kernel (NUTS).

use mcsa_core::{ChainState, Error, Gradient, Metric, Record, Stream, borrow, fits_in_memory, numeric};

use crate::leapfrog::{self, leapfrog_kernel};
use crate::{GradientEnsemble, Leapfrog, Mass};

/// No-U-turn sampler: a trajectory doubles until it turns back, and the chain moves to one of its states.
///
/// ```text
/// p ~ N(0, M);  double in a direction drawn by a coin until the ends of some sub-tree stop moving apart:
///     v_first . (p_first + .. + p_last) <= 0   or   v_last . (p_first + .. + p_last) <= 0,    v = M^-1 p
/// inside a new half: one of its states with probability proportional to exp(-H);
/// this one instead of the old one with probability min(1, W_new / W_old),   W = sum of exp(-H)
/// ```
///
/// Hoffman & Gelman 2014 with multinomial weights, biased progressive sampling and the generalised U-turn criterion
/// (Betancourt 2017, App. A), and Stan's two further checks across the halves of each tree. Invariant for p at every step
/// size and depth limit. Chains run one after the other; a chain takes at most `2^max_depth - 1` gradients.
///
/// Unlike Stan, a divergence is an energy that varies by more than 1000 *between the states of a tree*, not against the
/// start. Then the criterion does not depend on which state of the tree was the start, as the proof of invariance requires.
///
/// Numerics: a trajectory ends before a density of `-inf`, `+inf` or NaN, or an overflow. A chain that starts outside the
/// support moves to the first state inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Nuts {
    leapfrog: Leapfrog,
    max_depth: usize,
}

leapfrog_kernel!(Nuts, NutsInfo, |kernel| kernel, |leapfrog| Self { leapfrog, ..*kernel });

/// Metrics of one step of [`Nuts`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NutsInfo {
    /// Acceptance probability `min(1, exp(H(start) - H))`, averaged over the states a chain visited, the start excluded,
    /// then over chains.
    pub acceptance: f64,
    /// Number of accepted doublings, averaged over chains.
    pub depth: f64,
    /// Leapfrog steps, summed over chains.
    pub leapfrogs: u64,
    /// Chains that moved.
    pub moved: u64,
    /// Trajectories whose energy error exceeded 1000.
    pub divergences: u64,
    /// Trajectories that ended at a NaN, an overflow or a density of `+inf`.
    pub non_finite: u64,
}

impl Record for NutsInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::ACCEPTANCE, self.acceptance);
        sink(Metric::mean("depth"), self.depth);
        sink(Metric::sum("leapfrogs"), self.leapfrogs as f64);
        sink(Metric::MOVED, self.moved as f64);
        sink(Metric::DIVERGENCES, self.divergences as f64);
        sink(Metric::NON_FINITE, self.non_finite as f64);
    }
}

impl Nuts {
    /// A kernel with this step size, unit mass and at most 10 doublings, as in Stan.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn new(step_size: f64) -> Result<Self, Error> {
        Self::with(Leapfrog::new(step_size, Mass::unit()).map_err(|error| error.within("Nuts"))?, 10)
    }

    /// A kernel with this integrator and at most `max_depth` doublings.
    ///
    /// # Errors
    /// If `max_depth` is not in `1..=30`.
    pub fn with(leapfrog: Leapfrog, max_depth: usize) -> Result<Self, Error> {
        if !(1..=30).contains(&max_depth) {
            return Err(Error::parameter("max_depth", max_depth as f64, "in 1..=30").within("Nuts"));
        }
        Ok(Self { leapfrog, max_depth })
    }

    /// The integrator.
    pub fn leapfrog(&self) -> &Leapfrog {
        &self.leapfrog
    }

    /// `Ok` if the vectors of all doublings fit in memory.
    fn fits(&self, dim: usize, _: usize) -> Result<(), Error> {
        fits_in_memory("doublings", self.max_depth, 5 * dim)
    }

    fn memory(&self, dim: usize, chains: usize) -> usize {
        // Edges and the whole tree, then five vectors per doubling but the last.
        chains + 13 * dim + 5 * dim * (self.max_depth - 1)
    }

    /// A step with given momenta, one column per chain. Its remaining randomness is discrete (coins for the directions, and
    /// acceptances between halves of trees), so tests can enumerate it.
    ///
    /// # Panics
    /// As [`Kernel::step`](mcsa_core::Kernel::step), or if the number of momenta differs from dimension times chains.
    pub fn transition<P: Gradient + ?Sized>(
        &self,
        target: &P,
        state: &mut GradientEnsemble,
        momenta: &[f64],
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> NutsInfo {
        let (dim, chains) = (target.dim(), state.chains().len());
        assert_eq!(lanes.len(), chains, "a lane per chain");
        assert_eq!(momenta.len(), dim * chains, "a momentum per chain");
        let scratch = borrow(&mut work, chains);
        state.refresh(target, scratch, work);
        let mut info = NutsInfo::default();
        for (j, lane) in lanes.iter_mut().enumerate() {
            self.chain(target, state, j, &momenta[j * dim..][..dim], lane, work, &mut info);
        }
        info.acceptance /= chains.max(1) as f64;
        info.depth /= chains.max(1) as f64;
        info
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one chain's share of `transition`, which has nothing to bundle"
    )]
    fn chain<P: Gradient + ?Sized>(
        &self,
        target: &P,
        state: &mut GradientEnsemble,
        j: usize,
        momentum: &[f64],
        lane: &mut Stream,
        mut work: &mut [f64],
        info: &mut NutsInfo,
    ) {
        let dim = momentum.len();
        let leapfrog = &self.leapfrog;
        let start = leapfrog::start_energy(leapfrog.energy(state.log_p(j), momentum));
        let mut edges: [Edge<'_>; 2] = std::array::from_fn(|_| {
            let [z, p, g] = std::array::from_fn(|_| borrow(&mut work, dim));
            z.copy_from_slice(state.position(j));
            p.copy_from_slice(momentum);
            g.copy_from_slice(state.gradient(j));
            Edge { z, momentum: p, gradient: g }
        });
        // `joint`: the momentum at the end of the old trajectory on the side that grows.
        let [sum, joint, first, last, more, z, gradient] = std::array::from_fn(|_| borrow(&mut work, dim));
        sum.copy_from_slice(momentum);
        let mut tree = Tree { first, last, sum: more, z, gradient };
        let mut whole = Weight { log_total: -start, log_p: state.log_p(j), low: start, high: start };
        let (mut depth, mut moved) = (0, false);
        let (accepted, leapfrogs, diverged, non_finite) = (0.0, 0, false, false);
        let mut walk =
            Walk { target, leapfrog, lane, start, direction: 1.0, accepted, leapfrogs, diverged, non_finite };
        while depth < self.max_depth {
            let side = walk.lane.choose(&[0.0; 2]).unwrap_or(0);
            walk.direction = [-1.0, 1.0][side];
            joint.copy_from_slice(edges[side].momentum);
            let Some(new) = walk.build(depth, &mut edges[side], &mut tree, work) else {
                break;
            };
            depth += 1;
            let take = walk.lane.accept(new.log_total - whole.log_total);
            whole = whole.join(new, take);
            if take {
                state.place(j, tree.z, new.log_p, tree.gradient);
                moved = true;
            }
            let far = &*edges[1 - side].momentum;
            let is_whole = goes_on(leapfrog, far, tree.first, sum, tree.first)
                && goes_on(leapfrog, joint, tree.last, tree.sum, joint)
                && goes_on(leapfrog, far, tree.last, sum, tree.sum);
            sum.iter_mut().zip(&*tree.sum).for_each(|(sum, more)| *sum += more);
            walk.diverged |= start.is_finite() && whole.diverges();
            if !is_whole || whole.diverges() {
                break;
            }
        }
        info.acceptance += walk.accepted / walk.leapfrogs.max(1) as f64;
        info.depth += f64::from(depth as u32);
        info.leapfrogs += walk.leapfrogs;
        info.moved += u64::from(moved);
        info.divergences += u64::from(walk.diverged);
        info.non_finite += u64::from(walk.non_finite);
    }
}

/// One end of a growing trajectory, in lent memory.
struct Edge<'a> {
    z: &'a mut [f64],
    momentum: &'a mut [f64],
    gradient: &'a mut [f64],
}

/// Summary of a stretch of trajectory, in lent memory.
struct Tree<'a> {
    /// Momentum of the first state, in the order of building.
    first: &'a mut [f64],
    /// Momentum of the last state.
    last: &'a mut [f64],
    /// Sum of the momenta of all states.
    sum: &'a mut [f64],
    /// The state drawn from the stretch.
    z: &'a mut [f64],
    /// Gradient at the drawn state.
    gradient: &'a mut [f64],
}

/// Weight and energies of a stretch of trajectory.
#[derive(Clone, Copy)]
struct Weight {
    /// Log of the sum of `exp(-H)` over the states.
    log_total: f64,
    /// Log density at the drawn state.
    log_p: f64,
    /// Smallest `H`.
    low: f64,
    /// Largest `H`.
    high: f64,
}

impl Weight {
    /// Joins two adjacent stretches; the drawn state is that of `other` if `take`, else of `self`.
    fn join(self, other: Self, take: bool) -> Self {
        Self {
            log_total: numeric::log_add_exp(self.log_total, other.log_total),
            log_p: if take { other.log_p } else { self.log_p },
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// True if the energy varies by more than the divergence threshold along the stretch.
    fn diverges(self) -> bool {
        self.high - self.low > leapfrog::DIVERGENCE
    }
}

/// Generalised U-turn criterion (Betancourt 2017, App. A): whether both ends, with momenta `a` and `b`, still move apart.
/// The sum of momenta is given in two parts, `sum` and `more`.
fn goes_on(leapfrog: &Leapfrog, a: &[f64], b: &[f64], sum: &[f64], more: &[f64]) -> bool {
    leapfrog.mass().along(a, sum, more) > 0.0 && leapfrog.mass().along(b, sum, more) > 0.0
}

/// Recursive construction of trees from one start, with counters.
struct Walk<'a, P: ?Sized> {
    target: &'a P,
    leapfrog: &'a Leapfrog,
    lane: &'a mut Stream,
    /// `H` at the start.
    start: f64,
    direction: f64,
    /// The sum over states of `min(1, exp(H(start) - H))`.
    accepted: f64,
    leapfrogs: u64,
    diverged: bool,
    non_finite: bool,
}

impl<P: Gradient + ?Sized> Walk<'_, P> {
    /// Extends the trajectory by `2^depth` states. `None` if a part of them makes a U-turn, diverges or ends.
    fn build(
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
