//! Benchmarks of flows in ten dimensions, at a hundred points and one: `cargo bench -p mcsa-speed --bench flows`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Error, Family, Parametric, Pushforward, Seed};
use mcsa_families::{Flow, FullRank, Gauss, Spline};

const DIM: usize = 10;
const COUPLINGS: usize = 6;

fn each<F: Family>(criterion: &mut Criterion, name: &str, q: &F) {
    let params: Vec<f64> = (0..q.num_params()).map(|k| 0.1 * (1.3 * k as f64).sin()).collect();
    let mut group = criterion.benchmark_group(name);
    for columns in [1, 100] {
        group.throughput(Throughput::Elements(columns as u64));
        let mut work = vec![0.0; q.work_len(columns)];
        let mut lanes = Seed::new(1).streams(columns, 1);
        let mut z = Mat::zeros(DIM, columns);
        let mut log_q = vec![0.0; columns];
        let mut gradient = vec![0.0; q.num_params()];
        q.sample_into(&params, &mut lanes, z.as_mut(), &mut log_q, &mut work);
        group.bench_function(BenchmarkId::new("log_prob", columns), |bench| {
            bench.iter(|| q.log_probs(black_box(&params), z.as_ref(), &mut log_q, &mut work));
        });
        group.bench_function(BenchmarkId::new("score", columns), |bench| {
            bench.iter(|| q.add_scores(black_box(&params), z.as_ref(), &log_q, &mut gradient, &mut work));
        });
        group.bench_function(BenchmarkId::new("draw", columns), |bench| {
            bench.iter(|| q.sample_into(black_box(&params), &mut lanes, z.as_mut(), &mut log_q, &mut work));
        });
    }
    group.finish();
}

fn push(criterion: &mut Criterion, name: &str, q: &Flow) {
    let params: Vec<f64> = (0..q.num_params()).map(|k| 0.1 * (1.3 * k as f64).sin()).collect();
    let columns = 100;
    let mut work = vec![0.0; q.work_len(columns)];
    let (mut noise, mut z) = (Mat::zeros(DIM, columns), Mat::zeros(DIM, columns));
    q.sample_noise_into(&mut Seed::new(1).streams(columns, 1), noise.as_mut());
    let (mut log_q, mut gradient) = (vec![0.0; columns], vec![0.0; params.len()]);
    criterion.bench_function(&format!("{name}/push/{columns}"), |bench| {
        bench.iter(|| q.push(black_box(&params), noise.as_ref(), z.as_mut(), &mut log_q, &mut work));
    });
    criterion.bench_function(&format!("{name}/push gradient/{columns}"), |bench| {
        bench.iter(|| {
            q.add_push_gradients(
                black_box(&params),
                noise.as_ref(),
                z.as_ref(),
                &log_q,
                &mut gradient,
                &mut work,
            );
        });
    });
}

fn flows(criterion: &mut Criterion) {
    let real_nvp = |hidden: &[usize]| Flow::real_nvp(DIM, Gauss, COUPLINGS, hidden);
    let spline = || Flow::neural_spline(DIM, Gauss, COUPLINGS, &[64], Spline::default());
    let mut all = || -> Result<(), Error> {
        let (one, two) = (real_nvp(&[64])?, real_nvp(&[64, 64])?);
        each(criterion, "real_nvp_64", &one);
        push(criterion, "real_nvp_64", &one);
        each(criterion, "real_nvp_64_64", &two);
        push(criterion, "real_nvp_64_64", &two);
        each(criterion, "neural_spline_64", &spline()?);
        each(criterion, "full_rank", &FullRank::new(DIM));
        Ok(())
    };
    all().expect("flows that can be built");
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(40).warm_up_time(std::time::Duration::from_millis(200)).measurement_time(std::time::Duration::from_millis(600));
    targets = flows
}
criterion_main!(benches);
