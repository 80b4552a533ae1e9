//! Nanoseconds per transition and chain of the kernels that propose from the guide.
//!
//! The line `nothing` draws from the guide and evaluates its density, without target and accept decisions.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    Address, At, BlockFamily, Blocks, BlocksAt, Columns, ColumnsMut, Guide, Kernel, LogDensity, Parametric,
    Seed, Stream, batch_mut,
};
use mcsa_families::MeanField;
use mcsa_kernels::{Acceptance, Cis, Cycle, DelayedAcceptance, Imh, Mixture, RandomScan, Repeat, Restart};
use mcsa_models::Gaussian;

/// A target of no cost, so that only the kernel's own cost is measured.
struct Flat(usize);

impl LogDensity for Flat {
    fn dim(&self) -> usize {
        self.0
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * z[0] * z[0]
    }
}

fn bench<P: LogDensity, K: Kernel<P>>(c: &mut Criterion, name: &str, target: &P, kernel: &K) {
    let mut group = c.benchmark_group(name);
    let dim = target.dim();
    let family = MeanField::new(dim);
    let params = family.at(&vec![0.0; dim], &vec![1.0; dim]).unwrap();
    for chains in [1, 10, 100] {
        let seed = Seed::new(1);
        let mut lanes = seed.streams(chains, 0);
        let columns = kernel.columns(chains);
        let mut memory = vec![0.0; family.work_len(columns)];
        let mut work = vec![0.0; kernel.work_len(target, chains)];
        let mut state = kernel.init(target, Mat::zeros(dim, chains)).unwrap();
        let mut step = 0;
        group.throughput(Throughput::Elements(chains as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("d{dim} N{chains}")), |b| {
            b.iter(|| {
                step += 1;
                for (lane, stream) in lanes.iter_mut().enumerate() {
                    stream.go_to(Address::of(lane as u64, step));
                }
                let mut guide = At::new(&family, &params, columns, &mut memory).unwrap();
                kernel.step(target, &mut guide, &mut state, &mut lanes, &mut work)
            });
        });
    }
    group.finish();
}

/// A thousand data whose latent points are standard normal, under target and guide alike.
struct Latent(usize);

impl Latent {
    fn densities(z: MatRef<'_, f64>, out: &mut [f64]) {
        for (j, out) in out.iter_mut().enumerate() {
            *out = -0.5 * mcsa_core::numeric::dot(z.column(j), z.column(j));
        }
    }
}

impl Blocks for Latent {
    fn num_blocks(&self) -> usize {
        1_000
    }
    fn block_dim(&self) -> usize {
        self.0
    }
    fn log_blocks(&self, _: &[usize], z: MatRef<'_, f64>, out: &mut [f64], _: &mut [f64]) {
        Self::densities(z, out);
    }
}

impl Parametric for Latent {
    fn dim(&self) -> usize {
        self.0
    }
    fn num_params(&self) -> usize {
        0
    }
}

impl BlockFamily for Latent {
    fn num_blocks(&self) -> usize {
        1_000
    }
    fn log_blocks(&self, _: &[f64], _: &[usize], z: MatRef<'_, f64>, log_q: &mut [f64], _: &mut [f64]) {
        Self::densities(z, log_q);
    }
    fn sample_blocks_into(
        &self,
        _: &[f64],
        _: &[usize],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            lane.normals_into(z.column_mut(j));
        }
        Self::densities(z.as_ref(), log_q);
    }
    fn add_block_scores(
        &self,
        _: &[f64],
        _: &[usize],
        _: MatRef<'_, f64>,
        _: &[f64],
        _: &mut [f64],
        _: &mut [f64],
    ) {
    }
}

/// Time per visited datum; the batch size takes the place of the number of chains.
fn scan(c: &mut Criterion, dim: usize) {
    let mut group = c.benchmark_group("random scan");
    for batch in [1, 10, 100] {
        let kernel = RandomScan { batch, acceptance: Acceptance::Metropolis, restart: Restart::Never };
        let (target, family) = (Latent(dim), Latent(dim));
        let mut guide = BlocksAt::new(&family, &[], batch, &mut []).unwrap();
        let mut state = kernel.init(&target, Mat::zeros(dim, 1_000)).unwrap();
        let mut lanes = Seed::new(1).streams(batch, 0);
        let mut work = vec![0.0; kernel.work_len(&target)];
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("d{dim} N{batch}")), |b| {
            b.iter(|| kernel.step(&target, &mut guide, &mut state, &mut lanes, &mut work));
        });
    }
    group.finish();
}

fn guide_alone(c: &mut Criterion, dim: usize) {
    let mut group = c.benchmark_group("nothing");
    let family = MeanField::new(dim);
    let params = family.at(&vec![0.0; dim], &vec![1.0; dim]).unwrap();
    for chains in [1, 10, 100] {
        let mut lanes = Seed::new(1).streams(chains, 0);
        let mut memory = vec![0.0; family.work_len(chains)];
        let (mut points, mut log_q) = (vec![0.0; dim * chains], vec![0.0; chains]);
        let mut step = 0;
        group.throughput(Throughput::Elements(chains as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("d{dim} N{chains}")), |b| {
            b.iter(|| {
                step += 1;
                for (lane, stream) in lanes.iter_mut().enumerate() {
                    stream.go_to(Address::of(lane as u64, step));
                }
                let mut guide = At::new(&family, &params, chains, &mut memory).unwrap();
                guide.sample_into(&mut lanes, batch_mut(&mut points, dim, chains), &mut log_q);
                guide.log_probs(mcsa_core::batch(&points, dim, chains), &mut log_q);
            });
        });
    }
    group.finish();
}

fn proposing(c: &mut Criterion) {
    for dim in [10, 100] {
        guide_alone(c, dim);
        bench(c, "imh on a flat target", &Flat(dim), &Imh::default());
        let target = Gaussian::standard(dim);
        bench(c, "imh", &target, &Imh::default());
        bench(c, "imh 10 sweeps", &target, &Imh { sweeps: 10, ..Imh::default() });
        bench(c, "imh repeated 10 times", &target, &Repeat { kernel: Imh::default(), times: 10 });
        bench(c, "cis 10 candidates", &target, &Cis::with_candidates(10));
        bench(c, "cycle", &target, &Cycle { first: Imh::default(), second: Cis::with_candidates(2) });
        let half = Mixture::new(0.5, Imh::default(), Cis::with_candidates(2)).unwrap();
        bench(c, "mixture", &target, &half);
        scan(c, dim);
        let delayed = DelayedAcceptance { inner: Imh::default(), surrogate: Gaussian::standard(dim) };
        bench(c, "delayed acceptance of imh", &target, &delayed);
    }
}

criterion_group!(benches, proposing);
criterion_main!(benches);
