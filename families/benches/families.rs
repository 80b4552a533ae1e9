//! Log densities, scores and draws of each family, per evaluation: `cargo bench -p mcsa-families`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa::Seed;
use mcsa_families::{FullRank, Gaussian, LowRank, MeanField, Start};

const COLUMNS: usize = 10;

fn family<F: Gaussian>(criterion: &mut Criterion, name: &str, family: impl Fn(usize) -> F) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(COLUMNS as u64));
    for dim in [10, 100, 1000] {
        let q = family(dim);
        let params = Start::jittered().draw(&q, &mut Seed::new(1).stream(0, 0)).expect("a good start");
        let mut work = vec![0.0; q.work_len(COLUMNS)];
        let mut lanes = Seed::new(1).streams(COLUMNS, 1);
        let mut z = Mat::zeros(dim, COLUMNS);
        let mut log_q = [0.0; COLUMNS];
        let mut gradient = vec![0.0; q.num_params()];
        q.sample_into(&params, &mut lanes, z.as_mut(), &mut log_q, &mut work);
        group.bench_function(BenchmarkId::new("log_prob", dim), |bench| {
            bench.iter(|| q.log_probs(black_box(&params), z.as_ref(), &mut log_q, &mut work));
        });
        group.bench_function(BenchmarkId::new("score", dim), |bench| {
            bench.iter(|| q.add_scores(black_box(&params), z.as_ref(), &log_q, &mut gradient, &mut work));
        });
        group.bench_function(BenchmarkId::new("draw", dim), |bench| {
            bench.iter(|| q.sample_into(black_box(&params), &mut lanes, z.as_mut(), &mut log_q, &mut work));
        });
    }
    group.finish();
}

fn families(criterion: &mut Criterion) {
    family(criterion, "mean_field", MeanField::new);
    family(criterion, "low_rank_5", |dim| LowRank::new(dim, 5));
    family(criterion, "full_rank", FullRank::new);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = families
}
criterion_main!(benches);
