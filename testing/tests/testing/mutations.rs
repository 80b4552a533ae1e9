//! Mutation tests of this crate: kernels with one deliberate mistake each, and the check that must detect it.
//!
//! The correct variants of all mutants pass every check; so do the production kernels, in the tests of `mcsa-kernels`. Exact checks
//! raise no false alarm; the statistical ones do with a probability of at most 1e-4 for the crate, a quarter of it at quick settings.

#![expect(clippy::print_stdout, reason = "the reports on mutants are what this suite is for")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use faer::{Mat, MatRef};
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Proposal, Seed, Stream, batch_mut, bits, one,
};
use mcsa_kernels::{Cycle, Imh, Repeat};
use mcsa_models::{Banana, Gaussian};
use mcsa_testing::{
    Chain, Check, Finite, FiniteProposal, Invariance, Report, Shifted, Spread, Step, Trial, closed, judge,
    transition_matrix, transition_matrix_along,
};
use serde::{Deserialize, Serialize};

use crate::banana;

/// The mistake of independent Metropolis-Hastings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slip {
    None,
    StaleLogQ,
    MissingRatio,
    StaleLogP,
    SharedProposal,
    FirstLane,
    OutOfTheLog,
    CloudOfProposals,
    HiddenCounter,
    /// Barker's rule, which leaves the target invariant too.
    OtherRule,
    /// No mistake: pseudo-marginal Metropolis-Hastings (Andrieu and Roberts 2009), which evaluates only `p(z) w`, where the noise `w` is
    /// 0.4 or 1.6 with equal probabilities. The estimate of the retained point is kept.
    Noise,
    /// The same, but chains start from a fresh estimate instead of a retained one.
    FreshNoise,
}

const NOISE: [f64; 2] = [0.4, 1.6];

/// State of the kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Memory {
    chains: Ensemble,
    /// A number per chain: log q of its position, which a correct kernel must not store, NaN before the first step; or the log of its
    /// noise.
    #[serde(with = "bits::vector")]
    kept: Vec<f64>,
    /// The points of the cloud; without columns, the chains are the cloud.
    #[serde(with = "bits::matrix")]
    points: Mat<f64>,
}

impl ChainState for Memory {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }

    fn points(&self) -> MatRef<'_, f64> {
        if self.points.ncols() == 0 { self.chains.positions.as_ref() } else { self.points.as_ref() }
    }
}

/// Independent Metropolis-Hastings.
struct Independent {
    slip: Slip,
    calls: AtomicU64,
}

impl Independent {
    fn with(slip: Slip) -> Self {
        Self { slip, calls: AtomicU64::new(0) }
    }

    fn is_noisy(&self) -> bool {
        matches!(self.slip, Slip::Noise | Slip::FreshNoise)
    }
}

impl<P: LogDensity> Kernel<P> for Independent {
    type State = Memory;
    type Info = ();

    fn columns(&self, chains: usize) -> usize {
        chains
    }

    fn work_len(&self, target: &P, _: usize) -> usize {
        target.work_len(1)
    }

    /// Without random numbers, the noise of a start is its mean.
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Memory, Error> {
        let kept = vec![if self.is_noisy() { 0.0 } else { f64::NAN }; positions.ncols()];
        let points = Mat::zeros(positions.nrows(), 0);
        Ok(Memory { chains: Ensemble::new(target, positions)?, kept, points })
    }

    /// Given the point, the noise of a retained estimate is size-biased: 0.4 and 1.6 have probabilities 0.2 and 0.8.
    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Memory, Error> {
        let mut state = self.init(target, positions)?;
        for (log_w, lane) in state.kept.iter_mut().zip(lanes).filter(|_| self.is_noisy()) {
            let kept = if self.slip == Slip::FreshNoise { [0.0; 2] } else { NOISE.map(f64::ln) };
            *log_w = NOISE[lane.choose(&kept).unwrap_or(0)].ln();
        }
        Ok(state)
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Memory,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) {
        let (slip, dim, chains) = (self.slip, target.dim(), state.chains.len());
        let mut proposed = Mat::zeros(dim, chains);
        for j in 0..chains {
            let (mut z, mut log_q, mut log_q_here) = (vec![0.0; dim], [0.0], [0.0]);
            let lane = if slip == Slip::FirstLane { 0 } else { j };
            let lane = &mut lanes[lane..=lane];
            if slip == Slip::SharedProposal && j > 0 {
                z.copy_from_slice(proposed.col_as_slice(0));
                proposal.log_probs(one(&z), &mut log_q);
            } else {
                proposal.sample_into(lane, batch_mut(&mut z, dim, 1), &mut log_q);
            }
            proposed.col_as_slice_mut(j).copy_from_slice(&z);
            let log_p = target.log_density(&z, work);
            proposal.log_probs(one(state.chains.positions.col_as_slice(j)), &mut log_q_here);
            if slip == Slip::StaleLogQ && !state.kept[j].is_nan() {
                log_q_here[0] = state.kept[j];
            }
            let (mut from, mut to) = (state.chains.log_p[j] - log_q_here[0], log_p - log_q[0]);
            let mut keeps = [log_q_here[0], log_q[0]];
            if self.is_noisy() {
                keeps = [state.kept[j], NOISE[lane[0].index(2).unwrap_or(0)].ln()];
                (from, to) = (from + keeps[0], to + keeps[1]);
            }
            let log_alpha = match slip {
                Slip::MissingRatio => log_p - state.chains.log_p[j],
                Slip::OutOfTheLog => (to.exp() / from.exp()).ln(),
                Slip::OtherRule => -(from - to).exp().ln_1p(),
                _ => to - from,
            };
            let skip = slip == Slip::HiddenCounter && self.calls.fetch_add(1, Relaxed).is_multiple_of(7);
            if lane[0].accept(log_alpha) && !skip {
                let kept = state.chains.log_p[j];
                state.chains.place(j, &z, if slip == Slip::StaleLogP { kept } else { log_p });
                state.kept[j] = keeps[1];
            } else {
                state.kept[j] = keeps[0];
            }
        }
        if slip == Slip::CloudOfProposals {
            state.points = proposed;
        }
    }
}

/// Gaussian random walk with its acceptance ratio raised to a power.
fn powered(power: f64) -> Step<impl Fn(&mut Chain<'_>, &mut dyn Proposal, &mut Stream) + Send + Sync> {
    Step::new(move |chain, _, lane| {
        let z: Vec<f64> = chain.position().iter().map(|x| x + lane.normal()).collect();
        let log_p = chain.log_p_at(&z);
        if lane.accept(power * (log_p - chain.log_p())) {
            chain.move_to(&z, log_p);
        }
    })
}

/// Gibbs sampling of a standard normal, one random coordinate per step, with this conditional variance of the first.
fn gibbs(variance: f64) -> Step<impl Fn(&mut Chain<'_>, &mut dyn Proposal, &mut Stream) + Send + Sync> {
    Step::new(move |chain, _, lane| {
        let mut z = chain.position().to_vec();
        let i = lane.index(z.len()).unwrap_or(0);
        z[i] = if i == 0 { variance.sqrt() } else { 1.0 } * lane.normal();
        let log_p = chain.log_p_at(&z);
        chain.move_to(&z, log_p);
    })
}

/// Number of statistical reports on correct kernels over which the level is split.
const REPORTS: usize = 5;
const LIMIT: usize = 1_000_000;

const CLOSED: &str = "closed form";
const INVARIANT: &str = "pi K = pi";
const TWO_CHAINS: &str = "pi K = pi, two chains";
const MOVING: &str = "pi K = pi, proposal moves";
const CLOUD: &str = "pi C = pi";
const STORED: &str = "stored log p";
const TWO_SAMPLES: &str = "two samples";
const MEANS: &str = "means";
const RANK: &str = "rank";
const CONSTANTS: &str = "constants do not matter";
const LABELS: &str = "labels do not matter";
const REPLAY: &str = "replay";

/// Four atoms on a grid, so that a kernel can move along coordinates.
fn grid(weights: [f64; 4]) -> Finite {
    let atoms = Mat::from_fn(2, 4, |i, k| ((k >> i) & 1) as f64);
    Finite::new(atoms, weights.iter().map(|w| w.ln()).collect()).expect("positive weights")
}

const P: [f64; 4] = [1.0, 4.0, 2.0, 3.0];
const Q: [f64; 4] = [1.0, 2.0, 3.0, 6.0];
const R: [f64; 4] = [2.0, 1.0, 2.0, 1.0];

fn named(law: &'static str, check: Result<Check, Error>) -> Check {
    match check {
        Ok(check) => Check { law, ..check },
        Err(error) => Check::refused(law, error),
    }
}

fn exactly<K: Kernel<Finite>>(kernel: &K, closed: Option<Mat<f64>>, reversible: bool) -> Vec<Check> {
    let (target, mut q, mut r) = (grid(P), FiniteProposal::new(grid(Q)), FiniteProposal::new(grid(R)));
    let mut alone = |chains| transition_matrix(kernel, &target, &mut q, target.atoms(), chains, LIMIT);
    let (one, two) = (alone(1), alone(2));
    let moving = transition_matrix_along(kernel, &target, &mut [&mut q, &mut r], target.atoms(), 1, LIMIT);
    let mut checks = vec![
        named(TWO_CHAINS, two.map(|two| two.keeps_target())),
        named(MOVING, moving.map(|moving| moving.keeps_target())),
    ];
    match one {
        Err(error) => checks.push(Check::refused(INVARIANT, error)),
        Ok(one) => {
            checks.extend(one.report("").checks);
            checks.extend(reversible.then(|| one.is_reversible()));
            checks.extend(closed.map(|closed| one.equals(&closed)));
        }
    }
    checks
}

fn through_json<S: Serialize + serde::de::DeserializeOwned>(state: &S) -> Result<S, Error> {
    let text = serde_json::to_string(state).map_err(|error| Error::invalid(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| Error::invalid(error.to_string()))
}

/// Exact, statistical and metamorphic checks of a kernel that proposes from its proposal.
fn guided<K>(name: &str, kernel: &K, closed: Option<Mat<f64>>, reversible: bool) -> Report
where
    K: Kernel<Finite> + Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
{
    let mut report = walking(name, kernel, reversible);
    report.checks.extend(exactly(kernel, closed, reversible));
    report
}

/// Statistical and metamorphic checks of a kernel without a proposal.
fn walking<K>(name: &str, kernel: &K, reversible: bool) -> Report
where
    K: Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
{
    let target = banana();
    let judge = Invariance { reversible, seed: Seed::new(3), ..judge(0.25e-4 / REPORTS as f64).quick() };
    let (trial, proposal) = (Trial::new(kernel, &target), &mut Spread::around(&target, Seed::new(2), 1.4));
    let mut report = Report { title: name.into(), ..judge.of(kernel, &target) };
    report.checks.extend([
        trial.ignores_constants(proposal, 2048.0),
        trial.ignores_labels(proposal),
        trial.replays(proposal),
        trial.restores(proposal, through_json),
    ]);
    println!("{report}");
    report
}

#[test]
fn every_mutant_is_caught() {
    let imh = closed::imh(&P, &Q);
    let caught = |report: &Report, law: &str| assert!(report.on(law).unwrap().fails(), "{law}: {report}");
    for (slip, name, law) in [
        (Slip::StaleLogQ, "stale log q", MOVING),
        (Slip::MissingRatio, "missing q ratio", INVARIANT),
        (Slip::StaleLogP, "stale log p", STORED),
        (Slip::SharedProposal, "chains share a proposal", TWO_CHAINS),
        (Slip::FirstLane, "chains share a stream", LABELS),
        (Slip::OutOfTheLog, "weights out of the log", CONSTANTS),
        (Slip::CloudOfProposals, "averages proposals", CLOUD),
        (Slip::HiddenCounter, "hidden counter", REPLAY),
        (Slip::OtherRule, "another rule", CLOSED),
    ] {
        let report = guided(name, &Independent::with(slip), Some(imh.clone()), true);
        caught(&report, law);
        assert!(slip != Slip::OtherRule || report.on(INVARIANT).unwrap().holds(), "{report}");
    }
    caught(&guided("starts fresh", &Independent::with(Slip::FreshNoise), None, true), INVARIANT);
    let report = walking("no accept test", &powered(0.0), true);
    [MEANS, TWO_SAMPLES, RANK].iter().for_each(|law| caught(&report, law));
}

#[test]
fn every_right_kernel_passes() {
    let estimate = || Independent::with(Slip::Noise);
    let reports: [Report; REPORTS] = [
        guided("imh", &Independent::with(Slip::None), Some(closed::imh(&P, &Q)), true),
        guided("estimate", &estimate(), None, true),
        walking("walk", &powered(1.0), true),
        guided("repeat", &Repeat { kernel: estimate(), times: 2 }, None, true),
        guided("cycle", &Cycle { first: Imh::default(), second: estimate() }, None, false),
    ];
    for report in &reports {
        assert!(!report.fails() && report.on(TWO_SAMPLES).unwrap().holds(), "{report}");
    }
}

/// Slightly wrong kernels at default settings, on a standard normal in three dimensions, and their correct variants, of which the
/// false-alarm probability is 1e-4 for all. Seven reports of about a second each.
#[test]
fn subtle_mutants_are_caught_at_defaults() {
    let target = Gaussian::standard(3);
    let share = judge(1e-4 / 3.0);
    let estimate = |slip| share.of(&Independent::with(slip), &target);
    for (name, wrong) in [
        ("stale log q", share.of(&Independent::with(Slip::StaleLogQ), &target)),
        ("walk, ratio to the power 0.98", share.of(&powered(0.98), &target)),
        ("gibbs, one variance 5% too large", share.of(&gibbs(1.05), &target)),
        ("estimate, starts fresh", estimate(Slip::FreshNoise)),
    ] {
        assert!(wrong.on(MEANS).unwrap().fails(), "{name}: {wrong}");
    }
    for right in [share.of(&powered(1.0), &target), share.of(&gibbs(1.0), &target), estimate(Slip::Noise)] {
        println!("{right}");
        assert!(right.holds(), "{right}");
    }
}

/// The error of `means` that a report on Gibbs sampling would have detected.
fn stated(judge: Invariance) -> f64 {
    let report = judge.of(&gibbs(1.0), &Gaussian::standard(2));
    report.on(MEANS).and_then(|means| means.power.as_ref()).expect("a power").size
}

/// Stated power against simulation. A stated error is detected with a probability of at least 0.9, because other statistics
/// shift too: for 100 seeds at least 78 times, 4 standard errors fewer. Half the error is detected clearly less often, and with
/// four times the draws the stated error is half as large.
#[test]
fn stated_power_is_kept() {
    let target = Gaussian::standard(2);
    let small = |seed: u64| {
        let seed = Seed::new(21).child(seed);
        Invariance { draws: 1_024, steps: 8, path: 1, reversible: false, seed, ..judge(0.01) }
    };
    let error = stated(small(1_000));
    let seen = |error: f64| {
        let wide = gibbs((1.0 + error).powi(2));
        (0..100).filter(|seed| small(*seed).of(&wide, &target).on(MEANS).unwrap().fails()).count()
    };
    let (whole, half) = (seen(error), seen(0.5 * error));
    println!("stated {error:.4}: seen {whole} of 100, half of it {half}");
    assert!(whole >= 78 && half <= 60, "{error}: {whole}, {half}");
    let more = stated(Invariance { draws: 4_096, ..small(1_001) });
    assert!((more / error - 0.5).abs() < 0.06, "{more} {error}");
}
