//! One transition of each kernel, and particle methods: `cargo bench -p mcsa-speed --bench kernels`.
//!
//! Random walk, gradient and elliptical kernels move chains of a standard Gaussian, whose density costs `O(d)`, so that the cost of
//! the kernel itself is visible; Hamiltonian trajectories have 8 leapfrog steps. Particle methods are on a series as long as the
//! exchange rates: one step of conditional SMC, a filter of ten thousand particles, and joint fits of a path with ten particles.
//! Throughput is in chains, in particle states (particles times length of the series), and for fits in steps: one of conditional
//! SMC, the scores in lambda and theta, and Adam.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Address, Estimator, Gradient, Kernel, LogDensity, Seed};
use mcsa_estimators::Ascent;
use mcsa_kernels::{Elliptical, GaussianPrior, Hmc, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm, Selection};
use mcsa_optim::Adam;
use mcsa_particles::{
    Bootstrap, ConditionalSmc, FxVolatility, JointPaths, Lineage, PathKernel, Resampling, Smc, StateSpace,
    Theta, Twisted, msc_paths, smc_paths,
};

struct Standard(usize);

impl LogDensity for Standard {
    fn dim(&self) -> usize {
        self.0
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    }
}

impl Gradient for Standard {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        self.log_density(z, work)
    }
}

fn transition<K: Kernel<Standard>>(c: &mut Criterion, name: &str, kernel: impl Fn(usize) -> K) {
    let mut group = c.benchmark_group(name);
    for dim in [10, 100] {
        for chains in [1, 10, 100] {
            let (target, kernel) = (Standard(dim), kernel(dim));
            let start = Mat::from_fn(dim, chains, |i, j| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
            let mut state = kernel.init(&target, start).expect("the start fits the target");
            let mut work = vec![0.0; kernel.work_len(&target, chains)];
            let (mut lanes, mut step) = (Seed::new(1).streams(chains, 0), 0);
            group.throughput(Throughput::Elements(chains as u64));
            group.bench_function(BenchmarkId::new(format!("d={dim}"), format!("N={chains}")), |b| {
                b.iter(|| {
                    step += 1;
                    for (lane, stream) in (0..).zip(&mut lanes) {
                        stream.go_to(Address::of(lane, step));
                    }
                    kernel.step(&target, &mut NoProposal { dim }, &mut state, &mut lanes, &mut work)
                });
            });
        }
    }
    group.finish();
}

fn transitions(c: &mut Criterion) {
    let hmc = |selection| {
        let leapfrog = Leapfrog::new(0.2, Mass::unit()).expect("a positive step");
        Hmc::with(leapfrog, 8, selection).expect("eight steps")
    };
    transition(c, "rwm", |dim| Rwm::new(2.38 / (dim as f64).sqrt()).expect("a positive scale"));
    transition(c, "mala", |_| Mala::new(0.5).expect("a positive step"));
    transition(c, "hmc end point", |_| hmc(Selection::EndPoint));
    transition(c, "hmc multinomial", |_| hmc(Selection::Multinomial));
    transition(c, "nuts", |_| Nuts::new(0.2).expect("a positive step"));
    transition(c, "elliptical", |dim| Elliptical::new(GaussianPrior::standard(dim)));
}

const RETURNS: usize = 119;
/// Number of steps of the published fits.
const STEPS: u64 = 2_000;

fn model() -> FxVolatility {
    let theta = Theta { mu: -0.5, atanh_phi: 1.2, log_sigma: -1.0, log_beta: -7.0 };
    let mut returns = vec![0.0; RETURNS];
    let empty = FxVolatility::new(returns.clone(), theta).expect("finite");
    empty.simulate_into(&mut Seed::new(1).stream(0, 0), &mut [0.0; RETURNS + 1], &mut returns);
    FxVolatility::new(returns, theta).expect("finite")
}

fn particles(c: &mut Criterion) {
    let model = model();
    let states = model.states();
    let params: Vec<f64> = (0..2 * (RETURNS + 1)).map(|k| 0.1 * (k as f64).sin()).collect();
    let mut memory = vec![0.0; Twisted.proposal_len(&states)];

    let mut group = c.benchmark_group("conditional smc, 10 particles");
    group.throughput(Throughput::Elements(10 * states.num_states() as u64));
    for lineage in [Lineage::Traced, Lineage::Ancestors, Lineage::Backward] {
        for resampling in Resampling::ALL {
            let kernel = ConditionalSmc { resampling, lineage, ..ConditionalSmc::with_particles(10) };
            let mut paths = kernel.init(&states, Mat::zeros(RETURNS + 1, 1)).expect("a path");
            let mut work = vec![0.0; kernel.work_len(&states)];
            let mut lanes = Seed::new(2).streams(1, 0);
            let mut step = 0;
            group.bench_function(BenchmarkId::new(format!("{lineage:?}"), format!("{resampling:?}")), |b| {
                b.iter(|| {
                    step += 1;
                    lanes[0].go_to(Address::of(0, step));
                    let mut proposal = Twisted.proposal(&states, &params, &mut memory);
                    kernel.step(&states, &mut proposal, &mut paths, &mut lanes, &mut work)
                });
            });
        }
    }
    group.finish();

    let mut group = c.benchmark_group("filter, 10000 particles");
    group.sample_size(20).throughput(Throughput::Elements(10_000 * states.num_states() as u64));
    for resampling in Resampling::ALL {
        let smc = Smc::new(10_000, resampling, 1.0).expect("possible");
        let mut work = vec![0.0; smc.work_len(&states)];
        let mut lane = Seed::new(3).stream(0, 0);
        group.bench_function(BenchmarkId::new("bootstrap", format!("{resampling:?}")), |b| {
            b.iter(|| smc.log_evidence(&states, &mut Bootstrap(&states), &mut lane, &mut work));
        });
        group.bench_function(BenchmarkId::new("twisted", format!("{resampling:?}")), |b| {
            b.iter(|| {
                let mut proposal = Twisted.proposal(&states, &params, &mut memory);
                smc.log_evidence(&states, &mut proposal, &mut lane, &mut work)
            });
        });
    }
    group.finish();
}

fn fit<E: Estimator<FxVolatility, Twisted>>(criterion: &mut Criterion, name: &str, estimator: E) {
    let target = model();
    let optimizer = Adam::new(0.1).expect("a positive rate");
    let ascent = Ascent { target: &target, family: &Twisted, estimator, optimizer, seed: Seed::new(2) };
    let mut start = vec![0.0; 2 * (RETURNS + 1) + 4];
    start[RETURNS + 1..2 * (RETURNS + 1)].fill(0.5);
    let mut group = criterion.benchmark_group("joint fit of 119 returns");
    group.sample_size(10).throughput(Throughput::Elements(STEPS));
    group.bench_function(name, |bench| {
        bench.iter(|| {
            let mut fit = ascent.start(start.clone()).expect("shapes fit");
            ascent.run(&mut fit, STEPS).expect("a finite fit")
        });
    });
    group.finish();
}

fn paths(criterion: &mut Criterion) {
    fit(criterion, "msc/10", JointPaths { climb: msc_paths(10) });
    fit(criterion, "smc/10", JointPaths { climb: smc_paths(10).expect("particles") });
}

criterion_group!(benches, transitions, particles, paths);
criterion_main!(benches);
