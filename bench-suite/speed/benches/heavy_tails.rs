//! Benchmarks of heavy tails, mixtures and the Gaussian, per evaluation: `cargo bench -p mcsa-speed --bench heavy_tails`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{At, Family, Guide, Seed};
use mcsa_families::{Defence, FullRank, GaussianMixture, MeanField, MultivariateT, StudentT, Tail};

const COLUMNS: usize = 10;

fn family<F: Family>(criterion: &mut Criterion, name: &str, family: impl Fn(usize) -> F) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(COLUMNS as u64));
    for dim in [10, 100] {
        let q = family(dim);
        let params: Vec<f64> = (0..q.num_params()).map(|k| 0.1 * (k as f64).sin()).collect();
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
        let (defence, mut memory) = (Defence::new(0.01, Tail::cauchy(dim)).expect("a share"), [0.0; COLUMNS]);
        group.bench_function(BenchmarkId::new("defended draw", dim), |bench| {
            bench.iter(|| {
                let mut guide = At::new(&q, black_box(&params), COLUMNS, &mut work).expect("good params");
                let mut guide = defence.around(&mut guide, COLUMNS, &mut memory).expect("enough memory");
                guide.sample_into(&mut lanes, z.as_mut(), &mut log_q);
            });
        });
    }
    group.finish();
}

fn families(criterion: &mut Criterion) {
    family(criterion, "mean_field", MeanField::new);
    family(criterion, "student_t", |dim| StudentT::fixed(dim, 4.0).expect("four degrees"));
    family(criterion, "student_t_learned", |dim| StudentT::learned(dim, 1.0).expect("a floor"));
    family(criterion, "mixture_of_3", |dim| GaussianMixture::new(dim, 3).expect("three components"));
    family(criterion, "full_rank", FullRank::new);
    family(criterion, "multivariate_t", |dim| MultivariateT::fixed(dim, 4.0).expect("four degrees"));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(200)).measurement_time(std::time::Duration::from_millis(500));
    targets = families
}
criterion_main!(benches);
