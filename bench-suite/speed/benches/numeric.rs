//! Benchmarks of elementary functions and reductions, per slice, at typical lengths of a point and of a likelihood.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcsa_core::numeric;
use std::hint::black_box;

type Elementwise = (&'static str, fn(&[f64], &mut [f64]));
type Reduction = (&'static str, fn(&[f64]) -> f64);

const ELEMENTWISE: [Elementwise; 6] = [
    ("exp", numeric::exp_into),
    ("ln", numeric::ln_into),
    ("ln_1p_exp", numeric::ln_1p_exp_into),
    ("sigmoid", numeric::sigmoid_into),
    ("log_ndtr", numeric::log_ndtr_into),
    ("ndtr_hazard", numeric::ndtr_hazard_into),
];

const REDUCTIONS: [Reduction; 4] = [
    ("sum", numeric::sum),
    ("dot", |x| numeric::dot(x, x)),
    ("sum_log_sigmoid", numeric::sum_log_sigmoid),
    ("log_sum_exp", numeric::log_sum_exp),
];

fn points(length: usize) -> Vec<f64> {
    (0..length).map(|i| 0.01 + ((i * 389) % 1024) as f64 * 0.004).collect()
}

fn elementary(criterion: &mut Criterion) {
    for length in [10, 691] {
        let x = points(length);
        let mut group = criterion.benchmark_group("numeric");
        group.throughput(Throughput::Elements(length as u64));
        for (name, apply) in ELEMENTWISE {
            let mut y = x.clone();
            group.bench_with_input(BenchmarkId::new(name, length), &x, |bencher, x| {
                bencher.iter(|| apply(black_box(x), black_box(&mut y)));
            });
        }
        for (name, reduce) in REDUCTIONS {
            group.bench_with_input(BenchmarkId::new(name, length), &x, |bencher, x| {
                bencher.iter(|| reduce(black_box(x)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, elementary);
criterion_main!(benches);
