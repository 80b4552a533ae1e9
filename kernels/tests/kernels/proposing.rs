//! Kernels that propose from the proposal: memory, checkpoints, faulty densities, pinned first values.

use faer::Mat;
use mcsa_core::{ChainState, FamilyProposal, Kernel, LogDensity, Parametric, Record, Seed, from_fn};
use mcsa_families::{Drawn, Link, MeanField};
use mcsa_kernels::{
    Acceptance, Cis, Cycle, DelayedAcceptance, ExtendedSpace, Imh, Mixture, Repeat, WasteRecycling,
};
use mcsa_models::Gaussian;

const DIM: usize = 2;
const CHAINS: usize = 3;

const PARAMS: [f64; 4] = [0.3, -0.2, 0.1, 0.4];

fn family() -> MeanField {
    MeanField::new(DIM).with_link(Link::Exp)
}

/// The kernel with proposals from a pushforward, which has the distribution of the proposal of a [`Run`].
fn pushed<K>(kernel: K) -> ExtendedSpace<K, Drawn<MeanField>> {
    ExtendedSpace::new(kernel, Drawn(family()), PARAMS.to_vec()).unwrap()
}

/// A state after some steps under a shifted proposal, with the totals of its metrics.
struct Run<'a, K: Kernel<P>, P: LogDensity> {
    kernel: &'a K,
    target: &'a P,
    state: K::State,
    told: Vec<(String, f64)>,
}

impl<'a, K: Kernel<P>, P: LogDensity> Run<'a, K, P> {
    fn start(kernel: &'a K, target: &'a P) -> Self {
        let state = kernel.init(target, Mat::zeros(DIM, CHAINS)).unwrap();
        Self { kernel, target, state, told: Vec::new() }
    }

    fn steps(&mut self, steps: std::ops::Range<u64>) {
        let family = family();
        let columns = self.kernel.columns(CHAINS);
        let mut memory = vec![0.0; family.work_len(columns)];
        let mut work = vec![0.0; self.kernel.work_len(self.target, CHAINS)];
        for step in steps {
            let mut lanes = Seed::new(1).streams(CHAINS, step);
            let mut proposal = FamilyProposal::new(&family, &PARAMS, columns, &mut memory).unwrap();
            let info = self.kernel.step(self.target, &mut proposal, &mut self.state, &mut lanes, &mut work);
            info.record(&mut |metric, value| match self
                .told
                .iter_mut()
                .find(|(known, _)| known == metric.name)
            {
                Some((_, sum)) => *sum += value,
                None => self.told.push((metric.name.to_owned(), value)),
            });
        }
    }

    fn positions(&self) -> Vec<u64> {
        let chains = self.state.chains();
        let points = (0..CHAINS).flat_map(|j| chains.positions.col_as_slice(j)).chain(&chains.log_p);
        points.map(|x| x.to_bits()).collect()
    }

    fn told(&self, name: &str) -> f64 {
        self.told.iter().find(|(known, _)| known == name).unwrap().1
    }
}

macro_rules! for_every_kernel {
    (|$kernel:ident| $check:block) => {{
        let surrogate = Gaussian::new(vec![0.1; DIM], Mat::identity(DIM, DIM).as_ref()).unwrap();
        let barker = Imh { acceptance: Acceptance::Barker, sweeps: 2 };
        let $kernel = Imh::default();
        $check;
        let $kernel = barker.clone();
        $check;
        let $kernel = WasteRecycling { imh: barker.clone() };
        $check;
        let $kernel = Cis::with_candidates(4);
        $check;
        let $kernel = Repeat { kernel: Cis::with_fresh(2), times: 3 };
        $check;
        let $kernel = Cycle { first: barker.clone(), second: Cis::with_candidates(2) };
        $check;
        let $kernel = Mixture::new(0.5, Imh::default(), Cis::with_candidates(3)).unwrap();
        $check;
        let $kernel = DelayedAcceptance { inner: Imh::default(), surrogate };
        $check;
        let $kernel = pushed(Cis::with_candidates(4));
        $check;
    }};
}

#[test]
fn a_restored_state_goes_on_bit_for_bit() {
    let target = Gaussian::standard(DIM);
    for_every_kernel!(|kernel| {
        let (mut whole, mut parts) = (Run::start(&kernel, &target), Run::start(&kernel, &target));
        whole.steps(1..30);
        parts.steps(1..11);
        parts.state = serde_json::from_str(&serde_json::to_string(&parts.state).unwrap()).unwrap();
        parts.kernel.check(&target, CHAINS, &parts.state).unwrap();
        parts.steps(11..30);
        assert_eq!(whole.positions(), parts.positions());
        assert!(parts.kernel.check(&target, CHAINS + 1, &parts.state).is_err());
        assert!(parts.kernel.check(&Gaussian::standard(DIM + 1), CHAINS, &parts.state).is_err());
    });
}

#[test]
fn cached_densities_are_those_of_the_positions() {
    let target = Gaussian::standard(DIM);
    for_every_kernel!(|kernel| {
        let mut run = Run::start(&kernel, &target);
        run.steps(1..50);
        let chains = run.state.chains();
        for j in 0..CHAINS {
            let log_p = target.log_density(chains.positions.col_as_slice(j), &mut [0.0; DIM]);
            assert_eq!(chains.log_p[j].to_bits(), log_p.to_bits());
        }
        assert!(run.told("acceptance") > 0.0);
    });
}

#[test]
fn a_step_allocates_nothing() {
    let target = Gaussian::standard(DIM);
    let family = MeanField::new(DIM);
    let params = [0.0; 4];
    for_every_kernel!(|kernel| {
        let mut state = Kernel::<Gaussian>::init(&kernel, &target, Mat::zeros(DIM, CHAINS)).unwrap();
        let columns = Kernel::<Gaussian>::columns(&kernel, CHAINS);
        let mut memory = vec![0.0; family.work_len(columns)];
        let mut work = vec![0.0; kernel.work_len(&target, CHAINS)];
        let mut lanes = Seed::new(1).streams(CHAINS, 1);
        let mut steps = |count: u64| {
            for _ in 0..count {
                let mut proposal = FamilyProposal::new(&family, &params, columns, &mut memory).unwrap();
                kernel.step(&target, &mut proposal, &mut state, &mut lanes, &mut work);
            }
        };
        steps(1);
        assert_eq!(allocation_counter::measure(|| steps(20)).count_total, 0);
    });
}

/// A pushforward that has a density at every point proposes as its family does, once chains have a draw: then positions
/// have the same bits.
#[test]
fn draws_with_a_density_are_proposals_of_the_guide() {
    fn check<K>(kernel: &K)
    where
        K: Kernel<Gaussian> + Clone,
        ExtendedSpace<K, Drawn<MeanField>>: Kernel<Gaussian>,
    {
        let target = Gaussian::standard(DIM);
        let extended = pushed(kernel.clone());
        let (mut extended, mut guided) = (Run::start(&extended, &target), Run::start(kernel, &target));
        extended.steps(1..2);
        let chains = &extended.state.chains().positions;
        assert!((0..CHAINS).all(|j| chains[(0, j)] != 0.0), "a chain without a draw accepts the first");
        guided.state.chains_mut().copy_from(extended.state.chains());
        extended.steps(2..40);
        guided.steps(2..40);
        assert_eq!(extended.positions(), guided.positions());
        assert_eq!(extended.state.points(), guided.state.points());
        let weights = extended.state.weights().into_iter().zip(guided.state.weights());
        for (found, expected) in weights.flat_map(|(a, b)| a.iter().zip(b)) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
        assert!(guided.told("acceptance") > 0.0);
    }
    check(&Imh::default());
    check(&Imh { acceptance: Acceptance::Barker, sweeps: 2 });
    check(&Cis::with_candidates(4));
}

/// A target on a half plane, with NaN beyond a line.
fn faulty() -> impl LogDensity {
    from_fn(DIM, |z| match z[0] {
        x if x > 1.0 => f64::NAN,
        x if x > 0.9 => f64::INFINITY,
        x if x < -0.5 => f64::NEG_INFINITY,
        x => -x * x,
    })
}

#[test]
fn nan_infinity_and_the_outside_are_never_moved_to() {
    let target = faulty();
    for_every_kernel!(|kernel| {
        let mut run = Run::start(&kernel, &target);
        run.steps(1..200);
        assert!(run.state.chains().log_p.iter().all(|log_p| log_p.is_finite()));
        assert!(run.told("non_finite") > 0.0, "they are counted");
        assert!(run.told("acceptance") > 0.0, "others are accepted");
    });
}

#[test]
fn a_chain_outside_the_support_enters_it() {
    for kernel in [Imh::default(), Imh { acceptance: Acceptance::Barker, sweeps: 1 }] {
        let target = faulty();
        let mut run = Run::start(&kernel, &target);
        run.state.chains_mut().positions.fill(-3.0);
        run.state.chains_mut().log_p.fill(f64::NEG_INFINITY);
        run.steps(1..50);
        assert!(run.state.chains().log_p.iter().all(|log_p| log_p.is_finite()));
    }
}

/// The chains of waste recycling are those of the kernel inside, and its cloud is finite where proposals are not.
#[test]
fn recycled_chains_are_those_of_the_kernel_inside() {
    let target = faulty();
    for imh in [Imh::default(), Imh { acceptance: Acceptance::Barker, sweeps: 3 }] {
        let recycled = WasteRecycling { imh: imh.clone() };
        let (mut inside, mut outside) = (Run::start(&imh, &target), Run::start(&recycled, &target));
        for step in 1..40 {
            inside.steps(step..step + 1);
            outside.steps(step..step + 1);
            let (points, weights) = (outside.state.points(), outside.state.weights().unwrap());
            assert_eq!((points.ncols(), weights.len()), (2 * CHAINS * imh.sweeps, points.ncols()));
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            assert!((0..points.ncols()).all(|k| points.col(k).iter().all(|x| x.is_finite())));
        }
        assert_eq!(inside.positions(), outside.positions());
        assert_eq!(inside.told, outside.told);
        let error = recycled.init(&target, Mat::zeros(DIM + 1, 1)).map(drop).unwrap_err().to_string();
        assert_eq!(error, "WasteRecycling: Imh: a starting point has length 3, expected 2");
    }
}

/// If all weights vanish the retained point stays with the whole weight, and the chain is counted.
#[test]
fn vanished_weights_keep_the_retained_point() {
    let kernel = Cis::with_candidates(4);
    let nowhere = from_fn(DIM, |_| f64::NEG_INFINITY);
    let mut run = Run::start(&kernel, &nowhere);
    let before = run.positions();
    run.steps(1..11);
    assert_eq!(run.positions(), before);
    assert_eq!(run.told("vanished"), 10.0 * CHAINS as f64);
    let weights = run.state.weights().unwrap();
    assert_eq!(weights.iter().filter(|&&w| w > 0.0).count(), CHAINS);
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
}

#[test]
fn impossible_configurations_are_refused() {
    let target = Gaussian::standard(DIM);
    let refused = |result: Result<(), mcsa_core::Error>| result.unwrap_err().to_string();
    let start = || Mat::zeros(DIM, CHAINS);
    assert_eq!(
        refused(Cis { candidates: 1 }.init(&target, start()).map(drop)),
        "Cis: candidates is 1, expected at least 2, the retained point included"
    );
    let idle = Imh { sweeps: 0, ..Imh::default() };
    assert_eq!(refused(idle.init(&target, start()).map(drop)), "Imh: sweeps is 0, expected at least 1");
    let idle = Repeat { kernel: Imh::default(), times: 0 };
    assert_eq!(refused(idle.init(&target, start()).map(drop)), "Repeat: times is 0, expected at least 1");
    assert!(Mixture::new(f64::NAN, Imh::default(), Imh::default()).is_err());
    assert!(Mixture::new(1.5, Imh::default(), Imh::default()).is_err());
    let nan = Mat::from_fn(DIM, CHAINS, |_, j| if j == 1 { f64::NAN } else { 0.0 });
    let error = refused(Imh::default().init(&target, nan).map(drop));
    assert_eq!(error, "Imh: a starting point[0] is NaN, expected a finite number");
    let error = refused(Imh::default().init(&target, Mat::zeros(DIM + 1, 1)).map(drop));
    assert_eq!(error, "Imh: a starting point has length 3, expected 2");
}

/// Weight metrics of a step: the mean weight has mean Z, at the lambda of the step and independent of the chains. Weights
/// of `N(0, 1)` under a proposal of twice the scale lie below 2 per dimension, so that 5 standard errors of 4000 steps are
/// below 0.1: false alarm below 1e-5. The largest weight is below `log w* = 2 log 2`, and close to it.
#[test]
fn a_step_tells_mean_and_largest_weight() {
    fn told<K: Kernel<Gaussian>>(kernel: &K, scale: f64) -> (f64, f64) {
        let (target, family) = (Gaussian::standard(DIM), MeanField::new(DIM));
        let params = family.at(&[0.0; DIM], &[scale; DIM]).unwrap();
        let mut state = kernel.init(&target, Mat::zeros(DIM, CHAINS)).unwrap();
        let columns = kernel.columns(CHAINS);
        let mut memory = vec![0.0; family.work_len(columns)];
        let mut work = vec![0.0; kernel.work_len(&target, CHAINS)];
        let (mut mean, mut top) = (0.0, f64::NEG_INFINITY);
        for step in 0..4_000 {
            let mut lanes = Seed::new(6).streams(CHAINS, step);
            let mut proposal = FamilyProposal::new(&family, &params, columns, &mut memory).unwrap();
            let info = kernel.step(&target, &mut proposal, &mut state, &mut lanes, &mut work);
            info.record(&mut |metric, value| match metric.name {
                "log_weight_mean" => mean += value.exp() / 4_000.0,
                "log_weight_top" => top = top.max(value),
                _ => {}
            });
        }
        (mean, top)
    }
    let log_w_star = 2.0 * 2.0_f64.ln();
    for (mean, top) in [
        told(&Imh::default(), 2.0),
        told(&Imh { sweeps: 3, ..Imh::default() }, 2.0),
        told(&Cis::with_candidates(4), 2.0),
    ] {
        assert!((mean - 1.0).abs() < 0.1, "{mean}");
        assert!(top <= log_w_star + 1e-12 && top > log_w_star - 0.1, "{top}");
    }
    // The twin: under a proposal that is too narrow weights are not bounded.
    assert!(told(&Imh::default(), 0.8).1 > 0.8_f64.ln() * -2.0 + 1.0);
}
