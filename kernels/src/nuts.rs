//! No-U-turn kernel (NUTS).

mod tree;

use faer::Mat;
use mcsa_core::{ChainState, Error, Gradient, Kernel, Metric, Proposal, Record, Stream, borrow};
use serde::{Deserialize, Serialize};

use self::tree::{Edge, Tree, Walk, Weight, goes_on};
use crate::leapfrog;
use crate::{Accepts, GradientEnsemble, Leapfrog, Mass, Tunable};

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
///
/// ```
/// use mcsa_core::{ChainState, Kernel, Seed};
/// use mcsa_kernels::{Nuts, NoProposal};
/// let (target, nuts) = (mcsa_models::Gaussian::standard(2), Nuts::new(0.3)?);
/// let mut state = nuts.init(&target, faer::Mat::zeros(2, 1))?;
/// let (mut lanes, mut work) = (Seed::new(1).streams(1, 0), vec![0.0; nuts.work_len(&target, 1)]);
/// let info = nuts.step(&target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
/// assert!(info.depth >= 2.0 && info.acceptance > 0.9);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings", into = "Settings")]
pub struct Nuts {
    leapfrog: Leapfrog,
    max_depth: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    step_size: f64,
    #[serde(default)]
    mass: Mass,
    #[serde(default = "max_depth")]
    max_depth: usize,
}

/// Stan's limit of the depth.
fn max_depth() -> usize {
    10
}

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

impl Accepts for NutsInfo {
    fn acceptance(&self) -> f64 {
        self.acceptance
    }
}

impl TryFrom<Settings> for Nuts {
    type Error = Error;

    fn try_from(Settings { step_size, mass, max_depth }: Settings) -> Result<Self, Error> {
        let leapfrog = Leapfrog::new(step_size, mass).map_err(|error| error.within("Nuts"))?;
        Self::with(leapfrog, max_depth)
    }
}

impl From<Nuts> for Settings {
    fn from(Nuts { leapfrog, max_depth }: Nuts) -> Self {
        Self { step_size: leapfrog.step_size(), mass: leapfrog.mass().clone(), max_depth }
    }
}

impl Nuts {
    /// A kernel with this step size, unit mass and at most 10 doublings.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn new(step_size: f64) -> Result<Self, Error> {
        Self::try_from(Settings { step_size, mass: Mass::unit(), max_depth: max_depth() })
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

    /// The largest number of doublings.
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// A step with given momenta, one column per chain. Its remaining randomness is discrete (coins for the directions, and
    /// acceptances between halves of trees), so tests can enumerate it.
    ///
    /// # Panics
    /// As [`Kernel::step`], or if the number of momenta differs from dimension times chains.
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

impl Tunable for Nuts {
    fn step_size(&self) -> f64 {
        self.leapfrog.step_size()
    }

    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error> {
        let leapfrog = self.leapfrog.tuned(step_size, mass).map_err(|error| error.within("Nuts"))?;
        Self::with(leapfrog, self.max_depth)
    }
}

impl<P: Gradient + ?Sized> Kernel<P> for Nuts {
    type State = GradientEnsemble;
    type Info = NutsInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn columns(&self, _: usize) -> usize {
        0
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        let own = 13 * target.dim() + Walk::<P>::memory(target.dim(), self.max_depth - 1);
        (target.dim() + 1) * chains + own + target.work_len(chains.max(1))
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<GradientEnsemble, Error> {
        let state = GradientEnsemble::new(target, positions).map_err(|error| error.within("Nuts"))?;
        self.leapfrog.mass().check(target.dim()).map_err(|error| error.within("Nuts"))?;
        Ok(state)
    }

    fn check(&self, target: &P, chains: usize, state: &GradientEnsemble) -> Result<(), Error> {
        let mass = self.leapfrog.mass().check(target.dim());
        mass.and_then(|()| state.check(target.dim(), chains)).map_err(|error| error.within("Nuts"))
    }

    fn step(
        &self,
        target: &P,
        _: &mut dyn Proposal,
        state: &mut GradientEnsemble,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> NutsInfo {
        let dim = target.dim();
        let momenta = borrow(&mut work, dim * lanes.len());
        for (j, lane) in lanes.iter_mut().enumerate() {
            self.leapfrog.mass().momentum_into(lane, &mut momenta[j * dim..][..dim]);
        }
        self.transition(target, state, momenta, lanes, work)
    }
}
