//! Exact transition matrices by enumeration, and their laws: invariance, detailed balance, unbiased clouds, closed forms.

use std::collections::BTreeMap;

use faer::{Mat, MatRef};
use mcsa_core::{
    ChainState, Columns, Error, Kernel, LogDensity, Proposal, Record, Stream, each_branch, same_length,
};

use super::finite::{normalised, position};
use super::largest;
use crate::{Check, Report};

/// Exact transition matrix of a kernel on finitely many points, with its metrics and its cloud.
///
/// The cloud is the set of weighted points that the kernel offers for averages after a step
/// ([`ChainState::points`](mcsa_core::ChainState::points)).
///
/// With `n` atoms and `N` chains a joint state is a number in `0..n^N`: chain `j` is at the atom given by digit `j` in base `n`,
/// the first chain being the lowest digit.
#[derive(Debug, Clone)]
pub struct Transition {
    /// The number of atoms.
    pub atoms: usize,
    /// The number of chains.
    pub chains: usize,
    /// `K`: row `z` is the distribution of the joint state after the steps, from joint state `z`.
    pub matrix: Mat<f64>,
    /// `pi`: the target on joint states, a product over chains.
    pub target: Vec<f64>,
    /// The target on atoms.
    pub marginal: Vec<f64>,
    /// Row `z`, column `a`: expected weight of atom `a` in the cloud of the last step, from joint state `z`.
    pub cloud: Mat<f64>,
    /// Expected outer product of the atoms' weights in the cloud, for each joint state.
    pub cloud_moments: Vec<Mat<f64>>,
    /// Number of branches run, over all joint states.
    pub branches: usize,
    /// Largest difference between a stored and a recomputed log density of a chain.
    pub(crate) stale: f64,
    records: BTreeMap<&'static str, Vec<f64>>,
}

/// Exact transition matrix of a kernel: runs it along every branch of a scripted stream, from every joint state of `chains` chains
/// on the columns of `atoms`.
///
/// The kernel is the production code, unchanged; it must decide through [`Stream::accept`](mcsa_core::Stream::accept)
/// and [`Stream::choose`](mcsa_core::Stream::choose) and propose from a proposal that does so too, such as
/// [`FiniteProposal`](crate::FiniteProposal). Lent memory is filled with NaN before each run. Auxiliary variables of a kernel are
/// drawn at the start of each branch, by [`Kernel::start`].
///
/// ```
/// use mcsa_kernels::Imh;
/// use mcsa_testing::{Finite, FiniteProposal, closed, transition_matrix};
/// let target = Finite::on_line(&[1.0, 2.0, 1.0]).unwrap();
/// let mut proposal = FiniteProposal::new(Finite::on_line(&[1.0, 1.0, 2.0]).unwrap());
/// let found = transition_matrix(&Imh::default(), &target, &mut proposal, target.atoms(), 1, 1000).unwrap();
/// assert!(found.report("imh").holds());
/// assert!(found.equals(&closed::imh(&[1.0, 2.0, 1.0], &[1.0, 1.0, 2.0])).holds());
/// ```
///
/// # Errors
/// If a start has more than `limit` branches or there are more than `limit` joint states, the atoms have another dimension than the
/// target, there is no chain, or the kernel refuses a start, draws from a continuous distribution, does not replay, or leaves the
/// atoms.
pub fn transition_matrix<P: LogDensity + ?Sized, K: Kernel<P>>(
    kernel: &K,
    target: &P,
    proposal: &mut dyn Proposal,
    atoms: MatRef<'_, f64>,
    chains: usize,
    limit: usize,
) -> Result<Transition, Error> {
    transition_matrix_along(kernel, target, &mut [proposal], atoms, chains, limit)
}

/// Exact transition matrix of several steps, one per proposal, as of [`transition_matrix`].
///
/// Lambda moves between steps, so a kernel must not use what it stored of an older proposal: the product of the steps leaves the
/// target invariant for all proposals. A stale log q is detected only here.
///
/// # Errors
/// In the cases of [`transition_matrix`]; also if there is no proposal.
pub fn transition_matrix_along<P: LogDensity + ?Sized, K: Kernel<P>>(
    kernel: &K,
    target: &P,
    proposals: &mut [&mut dyn Proposal],
    atoms: MatRef<'_, f64>,
    chains: usize,
    limit: usize,
) -> Result<Transition, Error> {
    same_length("an atom", target.dim(), atoms.nrows())?;
    if chains == 0 || proposals.is_empty() {
        return Err(Error::invalid("a transition needs a chain and a proposal"));
    }
    let n = atoms.ncols();
    let states = u32::try_from(chains).ok().and_then(|chains| n.checked_pow(chains)).unwrap_or(usize::MAX);
    if states > limit {
        return Err(Error::invalid(format!("{states} joint states are more than the limit of {limit}")));
    }
    let mut log_p = vec![0.0; n];
    let mut target_work = vec![0.0; target.work_len(n.max(chains))];
    target.log_densities(atoms, &mut log_p, &mut target_work);
    let marginal = normalised(&log_p);
    let digits = |state: usize| (0..chains).map(move |j| state / n.pow(j as u32) % n);
    let mut found = Transition {
        atoms: n,
        chains,
        matrix: Mat::zeros(states, states),
        target: (0..states).map(|state| digits(state).map(|a| marginal[a]).product()).collect(),
        marginal,
        cloud: Mat::zeros(states, n),
        cloud_moments: Vec::with_capacity(states),
        branches: 0,
        stale: 0.0,
        records: BTreeMap::new(),
    };
    let mut work = vec![0.0; kernel.work_len(target, chains)];
    let mut weights = vec![0.0; n];
    for from in 0..states {
        let places: Vec<usize> = digits(from).collect();
        let starts = Mat::from_fn(target.dim(), chains, |i, j| atoms[(i, places[j])]);
        let mut moments = Mat::<f64>::zeros(n, n);
        let run = |lanes: &mut [Stream]| {
            let mut state = kernel.start(target, starts.clone(), lanes)?;
            let mut info = K::Info::default();
            for proposal in proposals.iter_mut() {
                work.fill(f64::NAN);
                info = kernel.step(target, *proposal, &mut state, lanes, &mut work);
            }
            Ok((state, info))
        };
        found.branches += each_branch(chains, limit, run, |probability, outcome: Result<_, Error>| {
            let (state, info) = outcome?;
            found.matrix[(from, joint_state(&state, atoms)?)] += probability;
            found.stale = found.stale.max(staleness(target, &state, &mut target_work));
            cloud_weights(&state, atoms, &mut weights)?;
            for a in 0..n {
                found.cloud[(from, a)] += probability * weights[a];
                for b in 0..n {
                    moments[(a, b)] += probability * weights[a] * weights[b];
                }
            }
            let records = &mut found.records;
            info.record(&mut |metric, value| {
                records.entry(metric.name).or_insert_with(|| vec![0.0; states])[from] += probability * value;
            });
            Ok(())
        })?;
        found.cloud_moments.push(moments);
    }
    Ok(found)
}

fn joint_state<S: ChainState>(state: &S, atoms: MatRef<'_, f64>) -> Result<usize, Error> {
    let positions = state.chains().positions.as_ref();
    (0..positions.ncols()).rev().try_fold(0, |joint, j| {
        let atom = position(atoms, positions.column(j)).ok_or_else(left)?;
        Ok(joint * atoms.ncols() + atom)
    })
}

fn left() -> Error {
    Error::invalid("the kernel left the atoms: propose from a proposal on the atoms")
}

fn cloud_weights<S: ChainState>(state: &S, atoms: MatRef<'_, f64>, weights: &mut [f64]) -> Result<(), Error> {
    weights.fill(0.0);
    let points = state.points();
    for j in 0..points.ncols() {
        let weight = state.weights().map_or(1.0 / points.ncols() as f64, |weights| weights[j]);
        // A candidate of weight zero need not be an atom.
        if weight != 0.0 {
            weights[position(atoms, points.column(j)).ok_or_else(left)?] += weight;
        }
    }
    Ok(())
}

fn staleness<P: LogDensity + ?Sized, S: ChainState>(target: &P, state: &S, work: &mut [f64]) -> f64 {
    let chains = state.chains();
    // A difference of infinities is NaN: as stale as possible.
    largest(chains.log_p.iter().enumerate().map(|(j, stored)| {
        let fresh = target.log_density(chains.positions.as_ref().column(j), work);
        if fresh.to_bits() == stored.to_bits() { 0.0 } else { (fresh - stored).abs() }
    }))
}

impl Transition {
    /// Exact transition matrix of a move that decides through streams and is not a [`Kernel`]: `run` maps a state,
    /// numbered below `target.len()`, to another. The states are the atoms of one chain, and the cloud is the
    /// state itself.
    ///
    /// ```
    /// use mcsa_testing::Transition;
    /// let flip = Transition::of_states(&[0.5, 0.5], 1, 10, |z, lanes| {
    ///     if lanes[0].accept(0.25_f64.ln()) { 1 - z } else { z }
    /// });
    /// assert!(flip.unwrap().keeps_target().holds());
    /// ```
    ///
    /// # Errors
    /// If a start has more than `limit` branches, or `run` draws from a continuous distribution, does not replay, or returns no
    /// state.
    pub fn of_states(
        target: &[f64],
        lanes: usize,
        limit: usize,
        mut run: impl FnMut(usize, &mut [Stream]) -> usize,
    ) -> Result<Self, Error> {
        let n = target.len();
        let mut matrix = Mat::<f64>::zeros(n, n);
        let mut branches = 0;
        for from in 0..n {
            branches += each_branch(
                lanes,
                limit,
                |lanes| run(from, lanes),
                |probability, to| {
                    if to >= n {
                        return Err(left());
                    }
                    matrix[(from, to)] += probability;
                    Ok(())
                },
            )?;
        }
        let total: f64 = target.iter().sum();
        let target: Vec<f64> = target.iter().map(|p| p / total).collect();
        let moment = |z: usize| Mat::from_fn(n, n, |a, b| if a == b { matrix[(z, a)] } else { 0.0 });
        Ok(Self {
            atoms: n,
            chains: 1,
            cloud: matrix.clone(),
            cloud_moments: (0..n).map(moment).collect(),
            matrix,
            marginal: target.clone(),
            target,
            branches,
            stale: 0.0,
            records: BTreeMap::new(),
        })
    }

    /// Mean of a metric in the last step, for each start; `None` if the kernel records none of this name.
    pub fn mean_record(&self, name: &str) -> Option<&[f64]> {
        self.records.get(name).map(Vec::as_slice)
    }

    /// Exact mean of a statistic averaged over the cloud, `E[sum_j w_j s(z_j) | z]`, for each start; its
    /// distance to the target's mean is the bias of a score estimator.
    pub fn cloud_means(&self, statistic: &[f64]) -> Vec<f64> {
        assert_eq!(statistic.len(), self.atoms, "a value per atom");
        (0..self.states()).map(|z| (0..self.atoms).map(|a| self.cloud[(z, a)] * statistic[a]).sum()).collect()
    }

    /// Exact variance of a statistic averaged over the cloud, for each start.
    pub fn cloud_variances(&self, statistic: &[f64]) -> Vec<f64> {
        let square = |moments: &Mat<f64>| {
            let pairs = (0..self.atoms).flat_map(|a| (0..self.atoms).map(move |b| (a, b)));
            pairs.map(|(a, b)| statistic[a] * moments[(a, b)] * statistic[b]).sum::<f64>()
        };
        let means = self.cloud_means(statistic);
        means.iter().zip(&self.cloud_moments).map(|(mean, moments)| square(moments) - mean * mean).collect()
    }

    /// Number of joint states.
    pub fn states(&self) -> usize {
        self.target.len()
    }
}

/// Tolerance for the rounding of a sum of branch probabilities.
const ROUNDING: f64 = 1e-12;

impl Transition {
    /// Law `K 1 = 1`: every row sums to one.
    pub fn rows_sum_to_one(&self) -> Check {
        let mass = |z: usize| (0..self.states()).map(|y| self.matrix[(z, y)]).sum::<f64>();
        worst("rows sum to 1", (0..self.states()).map(|z| ((mass(z) - 1.0).abs(), state(z))))
    }

    /// Law of invariance, `pi K = pi`; for several chains `pi` is the product of the targets.
    pub fn keeps_target(&self) -> Check {
        let mass = |y: usize| (0..self.states()).map(|z| self.target[z] * self.matrix[(z, y)]).sum::<f64>();
        worst("pi K = pi", (0..self.states()).map(|y| ((mass(y) - self.target[y]).abs(), state(y))))
    }

    /// Law of detailed balance, `pi(z) K(z, y) = pi(y) K(y, z)`.
    pub fn is_reversible(&self) -> Check {
        let flow = |z: usize, y: usize| self.target[z] * self.matrix[(z, y)];
        let pairs = (0..self.states()).flat_map(|z| (0..z).map(move |y| (z, y)));
        worst(
            "detailed balance",
            pairs.map(|(z, y)| ((flow(z, y) - flow(y, z)).abs(), format!("states {y}, {z}"))),
        )
    }

    /// Law of the cloud: started from the target, the expected weights of the cloud are the target's probabilities, so that
    /// averages over the cloud are unbiased in stationarity. For a cloud of weighted candidates this is the Rao-Blackwell property.
    pub fn cloud_keeps_target(&self) -> Check {
        let mean = |a: usize| (0..self.states()).map(|z| self.target[z] * self.cloud[(z, a)]).sum::<f64>();
        worst("pi C = pi", (0..self.atoms).map(|a| ((mean(a) - self.marginal[a]).abs(), format!("atom {a}"))))
    }

    /// Law of the cache: the log densities stored in the state equal those of the target.
    pub fn stores_the_density(&self) -> Check {
        Check::exact("stored log p", self.stale, ROUNDING, "")
    }

    /// Equality with a closed form, in the rows of states with positive target probability.
    pub fn equals(&self, closed: &Mat<f64>) -> Check {
        assert_eq!(
            (closed.nrows(), closed.ncols()),
            (self.states(), self.states()),
            "a matrix on joint states"
        );
        let support = (0..self.states()).filter(|&z| self.target[z] > 0.0);
        let cells = support.flat_map(|z| (0..self.states()).map(move |y| (z, y)));
        worst(
            "closed form",
            cells.map(|(z, y)| ((self.matrix[(z, y)] - closed[(z, y)]).abs(), format!("{z} -> {y}"))),
        )
    }

    /// Equality of a metric's mean with its closed form, at starts with positive target probability.
    pub fn record_equals(&self, name: &str, closed: &[f64]) -> Check {
        match self.mean_record(name) {
            None => Check::refused("record", Error::invalid(format!("nothing is recorded as {name:?}"))),
            Some(found) => {
                let starts = (0..self.states()).filter(|&z| self.target[z] > 0.0);
                worst("record", starts.map(|z| ((found[z] - closed[z]).abs(), format!("{name} from {z}"))))
            }
        }
    }

    /// Report on the laws of every kernel: rows, invariance, the cloud and the stored densities.
    pub fn report(&self, title: &str) -> Report {
        let laws = [
            self.rows_sum_to_one(),
            self.keeps_target(),
            self.cloud_keeps_target(),
            self.stores_the_density(),
        ];
        Report::new(format!("{title}, {} branches", self.branches), laws.into())
    }
}

fn state(z: usize) -> String {
    format!("state {z}")
}

fn worst(law: &'static str, errors: impl Iterator<Item = (f64, String)>) -> Check {
    let larger = |a: &(f64, String), b: &(f64, String)| a.0.is_nan() || a.0 >= b.0;
    let found = errors.reduce(|a, b| if larger(&a, &b) { a } else { b });
    let (error, place) = found.unwrap_or_default();
    Check::exact(law, error, ROUNDING, place)
}
