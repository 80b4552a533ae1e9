//! Laws that every kernel keeps, each over one table of kernels: what is cached, restored, placed from outside, refused, and pinned.

use std::collections::BTreeMap;

use faer::{Mat, mat};
use mcsa_core::{
    ChainState, Columns, Error, FamilyProposal, Gradient, Kernel, LogDensity, Parametric, Record, Seed,
    Stream,
};
use mcsa_families::{Drawn, Link, MeanField};
use mcsa_kernels::{
    Acceptance, Cis, Cycle, DelayedAcceptance, Elliptical, ExtendedSpace, GaussianPrior, Hmc, Imh, Leapfrog,
    Mala, Mass, Mixture, Nuts, Repeat, Rwm, Selection, WasteRecycling,
};
use mcsa_models::{Banana, Gaussian};
use mcsa_testing::{Report, Shifted, Spread, Trial};

use crate::targets::{banana, banana_in, edge, funnel};

/// Parameters of the proposal.
pub(crate) const PARAMS: [f64; 4] = [0.3, -0.2, 0.1, 0.4];

/// The family of the proposal, which kernels that move from the chain do not use.
pub(crate) fn family() -> MeanField {
    MeanField::new(2).with_link(Link::Exp)
}

/// The kernel with proposals from a pushforward, which has the distribution of the proposal of a [`Run`].
fn pushed<K>(kernel: K) -> ExtendedSpace<K, Drawn<MeanField>> {
    ExtendedSpace::new(kernel, Drawn(family()), PARAMS.to_vec()).unwrap()
}

pub(crate) fn hmc(eps: f64, steps: usize, selection: Selection) -> Hmc {
    Hmc::with(Leapfrog::new(eps, Mass::unit()).unwrap(), steps, selection).unwrap()
}

/// Calls `check(name, kernel, argument)` for every kernel that moves from the chain.
macro_rules! each_local {
    ($check:expr, $argument:expr) => {
        $check("Rwm", &Rwm::with(0.7, vec![1.0, 2.0]).unwrap(), $argument);
        $check("Elliptical", &Elliptical::new(GaussianPrior::standard(2)), $argument);
        $check("Mala", &Mala::new(0.6).unwrap(), $argument);
        $check("Hmc", &hmc(0.5, 4, Selection::EndPoint), $argument);
        $check("Hmc", &hmc(0.5, 4, Selection::Multinomial), $argument);
        $check("Nuts", &Nuts::with(Leapfrog::new(0.5, Mass::unit()).unwrap(), 5).unwrap(), $argument);
    };
}

/// Calls `check(name, kernel, argument)` for every kernel.
macro_rules! each_kernel {
    ($check:expr, $argument:expr) => {
        each_local!($check, $argument);
        let barker = Imh { acceptance: Acceptance::Barker, sweeps: 2 };
        $check("Imh", &Imh::default(), $argument);
        $check("Imh", &barker, $argument);
        $check("WasteRecycling", &WasteRecycling { imh: barker.clone() }, $argument);
        $check("Cis", &Cis::with_candidates(4), $argument);
        $check("Repeat", &Repeat { kernel: Cis::with_fresh(2), times: 3 }, $argument);
        $check("Cycle", &Cycle { first: barker, second: Cis::with_candidates(2) }, $argument);
        let second = Cis::with_candidates(3);
        $check("Mixture", &Mixture::new(0.5, Imh::default(), second).unwrap(), $argument);
        let surrogate = Gaussian::new(vec![0.1; 2], Mat::identity(2, 2).as_ref()).unwrap();
        $check("DelayedAcceptance", &DelayedAcceptance { inner: Imh::default(), surrogate }, $argument);
        $check("ExtendedSpace", &pushed(Cis::with_candidates(4)), $argument);
    };
}

/// Chains of a kernel with the totals of its metrics. Lent memory is filled with NaN.
pub(crate) struct Run<'a, K: Kernel<P>, P: LogDensity> {
    pub(crate) kernel: &'a K,
    pub(crate) target: &'a P,
    pub(crate) state: K::State,
    pub(crate) totals: BTreeMap<&'static str, f64>,
    first_lane: u64,
}

impl<'a, K: Kernel<P>, P: LogDensity> Run<'a, K, P> {
    pub(crate) fn new(kernel: &'a K, target: &'a P, starts: Mat<f64>) -> Self {
        let state = kernel.init(target, starts).unwrap();
        Self { kernel, target, state, totals: BTreeMap::new(), first_lane: 0 }
    }

    /// This run from another state.
    pub(crate) fn from(&self, state: K::State) -> Self {
        Self { state, totals: BTreeMap::new(), ..*self }
    }

    pub(crate) fn steps(&mut self, steps: std::ops::Range<u64>) {
        let (chains, family) = (self.state.chains().len(), family());
        let columns = self.kernel.columns(chains);
        let mut memory = vec![f64::NAN; family.work_len(columns)];
        let mut work = vec![f64::NAN; self.kernel.work_len(self.target, chains)];
        for step in steps {
            let lane = |j| Seed::new(21).stream(self.first_lane + j, step);
            let mut lanes: Vec<Stream> = (0..chains as u64).map(lane).collect();
            let mut proposal = FamilyProposal::new(&family, &PARAMS, columns, &mut memory).unwrap();
            let info = self.kernel.step(self.target, &mut proposal, &mut self.state, &mut lanes, &mut work);
            info.record(&mut |metric, value| *self.totals.entry(metric.name).or_insert(0.0) += value);
        }
    }

    /// The sum of a metric over all steps; 0 if no step recorded it.
    pub(crate) fn total(&self, name: &str) -> f64 {
        self.totals.get(name).copied().unwrap_or(0.0)
    }
}

pub(crate) fn start(chains: usize) -> Mat<f64> {
    Mat::from_fn(2, chains, |i, j| 0.3 * i as f64 - 0.2 * j as f64)
}

/// Constants, labels and replay do not matter.
#[test]
fn runs_that_must_agree_do() {
    fn check<K>(name: &str, kernel: &K, target: &Banana)
    where
        K: Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
    {
        let (mut proposal, trial) = (Spread::around(target, Seed::new(2), 1.4), Trial::new(kernel, target));
        let labels = trial.ignores_labels(&mut proposal);
        // A mixture chooses its kernel for all chains by the first lane, so that labels matter.
        assert_eq!(labels.holds(), name != "Mixture", "{name}: {labels}");
        let checks = vec![trial.ignores_constants(&mut proposal, 2048.0), trial.replays(&mut proposal)];
        let report = Report::new(name, checks);
        assert!(report.holds(), "{report}");
    }
    each_kernel!(check, &Banana::new(1.5, 0.4).unwrap());
}

/// A restored state goes on as the state itself, in all its parts; a chain has the same bits alone and in company.
pub(crate) fn chains_go_on<K: Kernel<P>, P: LogDensity>(name: &str, kernel: &K, target: &P) {
    let text = |state: &K::State| serde_json::to_string(state).unwrap();
    let mut run = Run::new(kernel, target, start(3));
    run.steps(0..10);
    let before = text(&run.state);
    let mut restored = run.from(serde_json::from_str(&before).unwrap());
    kernel.check(target, 3, &restored.state).unwrap();
    kernel.verify(target, &restored.state).unwrap();
    run.steps(10..20);
    restored.steps(10..20);
    assert!(text(&run.state) == text(&restored.state) && text(&run.state) != before, "{name}");
    for j in 0..if name == "Mixture" { 0 } else { 3 } {
        let mut alone = Run::new(kernel, target, start(3).as_ref().subcols(j, 1).to_owned());
        alone.first_lane = j as u64;
        alone.steps(0..20);
        let (a, b) = (run.state.chains(), alone.state.chains());
        assert_eq!(a.positions.as_ref().column(j), b.positions.as_ref().column(0), "{name}");
        assert_eq!(a.log_p[j], b.log_p[0], "{name}");
    }
}

#[test]
fn chains_go_on_as_they_were() {
    each_kernel!(chains_go_on, &banana());
}

/// The cached density is that of the position, and what a kernel keeps beside it changes nothing; after a move from outside, nothing
/// of the old place is used.
#[test]
fn what_is_cached_is_true() {
    fn check<K: Kernel<P>, P: LogDensity>(name: &str, kernel: &K, target: &P) {
        let mut run = Run::new(kernel, target, start(3));
        let mut forgetful = Run::new(kernel, target, start(3));
        for step in 0..30 {
            // The noise of a chain on an extended space is drawn again after a move.
            if name != "ExtendedSpace" {
                forgetful.state.chains_mut();
            }
            run.steps(step..step + 1);
            forgetful.steps(step..step + 1);
            assert_eq!(run.state.chains(), forgetful.state.chains(), "{name}");
        }
        for j in 0..3 {
            let log_p = crate::targets::log_p(target, run.state.chains().positions.col_as_slice(j));
            assert_eq!(run.state.chains().log_p[j].to_bits(), log_p.to_bits(), "{name}");
        }
        assert!(run.total("acceptance") > 0.0, "{name}");
        let mut fresh = Run::new(kernel, target, mat![[1.5, 0.1, 0.0], [-0.5, 0.2, 1.0]]);
        run.state.chains_mut().copy_from(fresh.state.chains());
        run.steps(5..8);
        fresh.steps(5..8);
        assert_eq!(run.state.chains(), fresh.state.chains(), "{name}");
    }
    each_kernel!(check, &banana());
}

pub(crate) fn allocates_nothing<K: Kernel<P>, P: LogDensity>(name: &str, kernel: &K, target: &P) {
    let (family, columns) = (family(), kernel.columns(3));
    let mut state = kernel.init(target, start(3)).unwrap();
    let mut memory = vec![0.0; family.work_len(columns)];
    let mut work = vec![0.0; kernel.work_len(target, 3)];
    let mut lanes = Seed::new(1).streams(3, 1);
    let mut steps = |count: u64| {
        for _ in 0..count {
            let mut proposal = FamilyProposal::new(&family, &PARAMS, columns, &mut memory).unwrap();
            kernel.step(target, &mut proposal, &mut state, &mut lanes, &mut work);
        }
    };
    steps(1);
    assert_eq!(allocation_counter::measure(|| steps(20)).count_total, 0, "{name}");
}

#[test]
fn a_step_allocates_nothing() {
    each_kernel!(allocates_nothing, &banana());
}

#[test]
fn chains_never_enter_where_there_is_no_density() {
    fn check<K: Kernel<P>, P: LogDensity>(name: &str, kernel: &K, (target, beyond): (&P, f64)) {
        let mut run = Run::new(kernel, target, start(3));
        run.steps(0..200);
        let (chains, totals) = (run.state.chains(), &run.totals);
        assert!((0..3).all(|j| chains.positions[(0, j)] <= 0.5 && chains.log_p[j].is_finite()), "{name}");
        assert!(run.total("acceptance") > 20.0, "{name}: {totals:?}");
        let faults = run.total("non_finite");
        assert_eq!(faults > 10.0, beyond != f64::NEG_INFINITY, "{name}: {totals:?}");
        assert_eq!(run.total("divergences"), 0.0, "{name}: {totals:?}");
        // All weights of a step may vanish.
        let mut others = totals.iter().filter(|(name, _)| **name != "log_weight_mean");
        assert!(others.all(|(_, total)| total.is_finite()), "{name}: {totals:?}");
    }
    for beyond in [f64::NEG_INFINITY, f64::NAN, f64::INFINITY] {
        each_kernel!(check, (&edge(0.5, beyond), beyond));
    }
}

/// A chain outside the support enters it, and one at a NaN too, unless the kernel follows a gradient.
#[test]
fn a_chain_without_a_density_comes_in() {
    fn check<K: Kernel<P>, P: LogDensity>(name: &str, kernel: &K, (target, beyond): (&P, f64)) {
        let mut run = Run::new(kernel, target, mat![[0.6], [0.0]]);
        assert!(!run.state.chains().log_p[0].is_finite());
        run.steps(0..50);
        let needs_density = matches!(name, "Mala" | "Hmc" | "Nuts");
        let comes_in = !(beyond.is_nan() && needs_density);
        assert_eq!(run.state.chains().log_p[0].is_finite(), comes_in, "{name}");
        assert_eq!(run.total("divergences"), 0.0, "{name}");
        if run.totals.contains_key("moved") {
            assert_eq!(run.total("moved") > 0.0, comes_in, "{name}");
        }
    }
    for beyond in [f64::NEG_INFINITY, f64::NAN] {
        each_kernel!(check, (&edge(0.5, beyond), beyond));
    }
}

#[test]
fn absurd_steps_are_counted_and_rejected() {
    fn check<K: Kernel<P>, P: Gradient>(name: &str, kernel: &K, target: &P) {
        let mut run = Run::new(kernel, target, start(2));
        let before = run.state.chains().clone();
        run.steps(0..20);
        assert_eq!(*run.state.chains(), before, "{name}");
        let (divergences, totals) = (run.total("divergences"), &run.totals);
        assert!(divergences > 0.0 && divergences + run.total("non_finite") >= 30.0, "{name}: {totals:?}");
    }
    let (rwm, target) = (Rwm::new(f64::MAX).unwrap(), edge(9.0, f64::NEG_INFINITY));
    let mut run = Run::new(&rwm, &target, start(2));
    run.steps(0..20);
    assert!(run.total("moved") == 0.0 && run.total("non_finite") > 10.0, "{:?}", run.totals);
    check("Mala", &Mala::new(40.0).unwrap(), &funnel());
    check("Hmc", &hmc(40.0, 5, Selection::EndPoint), &funnel());
    check("Hmc", &hmc(40.0, 5, Selection::Multinomial), &funnel());
    check("Nuts", &Nuts::new(40.0).unwrap(), &funnel());
}

#[test]
fn foreign_states_and_shapes_are_refused() {
    fn check<K: Kernel<P>, P: LogDensity>(name: &str, kernel: &K, (target, other): (&P, &P)) {
        let state = kernel.init(target, start(3)).unwrap();
        assert!(kernel.check(target, 3, &state).is_ok() && kernel.check(other, 3, &state).is_err(), "{name}");
        let error = kernel.check(target, 2, &state).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("chains has length 3, expected 2"), "{error}");
        assert!(kernel.init(target, Mat::zeros(3, 1)).is_err(), "{name}");
        assert!(kernel.init(target, mat![[f64::NAN], [0.0]]).is_err(), "{name}");
    }
    each_kernel!(check, (&banana_in(2), &banana_in(3)));
    let three = Mass::diagonal(vec![1.0; 3]).unwrap();
    let leapfrog = Leapfrog::new(0.1, three.clone()).unwrap();
    let error = Nuts::with(leapfrog.clone(), 5).unwrap().init(&banana(), start(1)).unwrap_err().to_string();
    assert_eq!(error, "Nuts: mass has length 3, expected 2");
    assert!(Hmc::with(leapfrog, 2, Selection::EndPoint).unwrap().init(&banana(), start(1)).is_err());
    assert!(Mala::with(0.1, three).unwrap().init(&banana(), start(1)).is_err());
    assert!(Rwm::with(0.1, vec![1.0; 3]).unwrap().init(&banana(), start(1)).is_err());
    assert!(Elliptical::new(GaussianPrior::standard(3)).init(&banana(), start(1)).is_err());
}

#[test]
fn no_chains_and_no_coordinates_are_fine() {
    fn check<K: Kernel<P>, P: LogDensity>(_: &str, kernel: &K, target: &P) {
        Run::new(kernel, target, Mat::zeros(2, 0)).steps(0..2);
    }
    each_local!(check, &Gaussian::standard(2));
    fn point<K: Kernel<Gaussian>>(kernel: &K) {
        let target = Gaussian::standard(0);
        let mut run = Run::new(kernel, &target, Mat::zeros(0, 2));
        run.steps(0..2);
        assert_eq!(run.state.chains().log_p, [0.0, 0.0]);
    }
    point(&Rwm::new(1.0).unwrap());
    point(&Mala::new(1.0).unwrap());
    point(&hmc(1.0, 2, Selection::Multinomial));
    point(&Nuts::new(1.0).unwrap());
    point(&Elliptical::new(GaussianPrior::standard(0)));
}

#[test]
fn impossible_step_sizes_and_lengths_are_refused() {
    for eps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Hmc::new(eps, 1).is_err() && Nuts::new(eps).is_err() && Mala::new(eps).is_err(), "{eps}");
    }
    let refused = |result: Result<Hmc, Error>| result.unwrap_err().to_string();
    assert_eq!(refused(Hmc::new(0.1, 0)), "Hmc: steps is 0, expected at least 1");
    assert!(refused(Hmc::new(-0.1, 1)).starts_with("Hmc: step_size is -0.1"));
    let leapfrog = Leapfrog::new(0.1, Mass::unit()).unwrap();
    assert!([0, 31].iter().all(|&depth| Nuts::with(leapfrog.clone(), depth).is_err()));
    // The states of a trajectory are kept, unless its end alone is a candidate.
    for (selection, fits) in [(Selection::Multinomial, false), (Selection::EndPoint, true)] {
        let long = Hmc::with(leapfrog.clone(), usize::MAX, selection).unwrap();
        assert_eq!(long.init(&banana(), start(1)).is_ok(), fits, "{selection:?}");
    }
}

/// Text of a configuration names its settings.
#[test]
fn configurations_name_their_settings() {
    let rwm = Kernel::<Gaussian>::config(&Rwm::new(0.25).unwrap());
    assert_eq!(rwm, "Rwm { scale: 0.25, shape: [] }");
    let delayed = DelayedAcceptance { inner: Cis::with_candidates(7), surrogate: Gaussian::standard(1) };
    let delayed = Kernel::<Gaussian>::config(&delayed);
    assert_eq!(delayed, "DelayedAcceptance { inner: Cis { candidates: 7 }, surrogate: Gaussian }");
}

/// Two chains at `Seed::new(1)` after three steps: positions chain by chain, then densities, to ten digits, as other processors may
/// round differently. They may be changed in a commit that says so. Steps of the other kernels are compared with textbooks.
const FIRST_NUMBERS: [&str; 3] = [
    "-0.705166147936 0.0939474161397 0.719616184609 -0.435533435116 -0.260592944539 -0.500059101288",
    "0.786353199742 0.931539031672 0.0633313687872 0.286756719415 -0.50284374976 -0.0425470792245",
    "-0.658065104166 -1.40009650045 -0.921390215652 1.48803318151 -1.52325712093 -0.990052687187",
];

#[test]
fn the_first_numbers_are_pinned() {
    fn numbers<P: Gradient, K: Kernel<P>>(kernel: &K, target: &P) -> Vec<f64> {
        let mut state = kernel.init(target, mat![[0.5, -1.0], [0.2, 1.0]]).unwrap();
        let mut work = vec![0.0; kernel.work_len(target, 2)];
        for step in 0..3 {
            let mut lanes = Seed::new(1).streams(2, step);
            kernel.step(target, &mut mcsa_kernels::NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
        }
        let chains = state.chains();
        (0..2).flat_map(|j| chains.positions.col_as_slice(j)).chain(&chains.log_p).copied().collect()
    }
    let (target, mass) = (banana(), Mass::diagonal(vec![0.7, 1.9]).unwrap());
    let leapfrog = || Leapfrog::new(0.4, mass.clone()).unwrap();
    let found = [
        numbers(&Hmc::with(leapfrog(), 4, Selection::EndPoint).unwrap(), &target),
        numbers(&Hmc::with(leapfrog(), 4, Selection::Multinomial).unwrap(), &target),
        numbers(&Nuts::with(leapfrog(), 5).unwrap(), &target),
    ];
    for (found, expected) in found.iter().zip(FIRST_NUMBERS) {
        let expected: Vec<f64> = expected.split(' ').map(|number| number.parse().unwrap()).collect();
        let is_same = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-10 * expected.abs();
        assert!(found.len() == 6 && found.iter().zip(&expected).all(is_same), "found {found:?}");
    }
}
