//! Benchmarks of draws, densities and their gradients of autoregressive flows, per point: `cargo bench -p mcsa-speed --bench flows_autoregressive`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Family, Parametric, Pushforward, Seed};
use mcsa_families::{Flow, Gauss};

const COLUMNS: usize = 10;

/// A flow at initial parameters, with noise and its image.
struct Bench<F> {
    flow: F,
    dim: usize,
    params: Vec<f64>,
    noise: Mat<f64>,
    z: Mat<f64>,
    log_q: [f64; COLUMNS],
    gradient: Vec<f64>,
    work: Vec<f64>,
}

impl<const INVERTIBLE: bool> Bench<Flow<Gauss, INVERTIBLE>> {
    fn new(flow: Flow<Gauss, INVERTIBLE>) -> Self {
        let dim = flow.dim();
        let mut stream = Seed::new(1).stream(0, 0);
        let params = flow.start_at(&vec![0.0; dim], &vec![1.0; dim], &mut stream).expect("a good start");
        let noise = Mat::from_fn(dim, COLUMNS, |_, _| stream.normal());
        let (gradient, work) = (vec![0.0; params.len()], vec![0.0; flow.work_len(COLUMNS)]);
        Self { flow, dim, params, z: noise.clone(), noise, log_q: [0.0; COLUMNS], gradient, work }
    }

    fn pushed(&mut self, criterion: &mut Criterion, name: &str) {
        let Self { flow, dim, params, noise, z, log_q, gradient, work } = self;
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(COLUMNS as u64));
        group.bench_function(BenchmarkId::new("push", *dim), |bench| {
            bench.iter(|| flow.push(black_box(params), noise.as_ref(), z.as_mut(), log_q, work));
        });
        group.bench_function(BenchmarkId::new("push_gradient", *dim), |bench| {
            bench.iter(|| {
                let (noise, z) = (noise.as_ref(), z.as_ref());
                flow.add_push_gradients(black_box(params), noise, z, log_q, gradient, work);
            });
        });
        group.finish();
    }
}

impl<F: Family> Bench<F> {
    fn judged(&mut self, criterion: &mut Criterion, name: &str) {
        let Self { flow, dim, params, z, log_q, gradient, work, .. } = self;
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(COLUMNS as u64));
        group.bench_function(BenchmarkId::new("log_prob", *dim), |bench| {
            bench.iter(|| flow.log_probs(black_box(params), z.as_ref(), log_q, work));
        });
        group.bench_function(BenchmarkId::new("score", *dim), |bench| {
            bench.iter(|| flow.add_scores(black_box(params), z.as_ref(), log_q, gradient, work));
        });
        group.finish();
    }
}

fn flows(criterion: &mut Criterion) {
    for dim in [10, 50] {
        let hidden = &[64, 64];
        let maf = Flow::masked_autoregressive(dim, Gauss, 2, hidden).expect("a good config");
        let mut maf = Bench::new(maf);
        maf.pushed(criterion, "maf");
        maf.judged(criterion, "maf");
        let iaf = Flow::inverse_autoregressive(dim, Gauss, 2, hidden).expect("a good config");
        let mut iaf = Bench::new(iaf);
        iaf.pushed(criterion, "iaf");
        iaf.judged(criterion, "iaf");
        Bench::new(Flow::block_neural(dim, Gauss, 1, &[8, 8]).expect("a good config"))
            .pushed(criterion, "bnaf");
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = flows
}
criterion_main!(benches);
