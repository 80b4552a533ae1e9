//! Elementary functions and reductions per slice, at typical lengths of a point and of a likelihood, and log density and gradient
//! of each model, for batches of one and ten points: `cargo bench -p mcsa-speed --bench models`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Gradient, Seed, numeric};
use mcsa_models::{
    Banana, EightSchools, Funnel, Gaussian, Mixture, Radon, SkewNormal, StockVolatility, Student,
};
use mcsa_particles::{FxVolatility, Theta};

const GOOD: &str = "constants of this file are valid";

/// Times are per batch.
fn model<P: Gradient>(criterion: &mut Criterion, name: &str, target: &P) {
    let mut group = criterion.benchmark_group(name);
    for columns in [1, 10] {
        let mut stream = Seed::new(1).stream(0, 0);
        let z = Mat::from_fn(target.dim(), columns, |_, _| 0.3 * stream.normal());
        let mut gradients = Mat::zeros(target.dim(), columns);
        let mut work = vec![0.0; target.work_len(columns)];
        let mut out = vec![0.0; columns];
        group.bench_function(BenchmarkId::new("value", columns), |bench| {
            bench.iter(|| target.log_densities(black_box(z.as_ref()), &mut out, &mut work));
        });
        group.bench_function(BenchmarkId::new("gradient", columns), |bench| {
            bench.iter(|| {
                target.gradients_into(black_box(z.as_ref()), &mut out, gradients.as_mut(), &mut work);
            });
        });
    }
    group.finish();
}

fn radon() -> Radon {
    let mut stream = Seed::new(2).stream(0, 0);
    let (mut county, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..919 {
        county.push(row % 85);
        x.push(if stream.uniform() < 0.17 { 1.0 } else { 0.0 });
        y.push(1.2 + 0.85 * stream.normal());
    }
    Radon::new(85, county, x, y).expect(GOOD)
}

fn zoo(criterion: &mut Criterion) {
    let mut stream = Seed::new(3).stream(0, 0);
    let mut normals = |length| {
        let mut normals = vec![0.0; length];
        stream.normals_into(&mut normals);
        normals
    };
    let (stocks, returns) = (normals(2610), normals(119));
    let full = |dim: usize| {
        Gaussian::random_wishart(dim, 5.0 * dim as f64, &mut Seed::new(4).stream(0, 0)).expect(GOOD)
    };
    model(criterion, "gaussian_diagonal_100", &Gaussian::standard(100));
    model(criterion, "gaussian_full_10", &full(10));
    model(criterion, "gaussian_full_100", &full(100));
    model(criterion, "skew_normal", &SkewNormal::msc());
    model(criterion, "student_10", &Student::new(vec![0.0; 10], vec![1.0; 10], 5.0).expect(GOOD));
    model(criterion, "banana", &Banana::new(1.5, 0.4).expect(GOOD));
    model(criterion, "funnel_10", &Funnel::new(10, 3.0).expect(GOOD));
    model(criterion, "mixture_2", &Mixture::modes(2, 4.0, 0.3).expect(GOOD));
    model(criterion, "eight_schools_centred", &EightSchools::centred());
    model(criterion, "eight_schools_non_centred", &EightSchools::non_centred());
    model(criterion, "radon", &radon());
    model(criterion, "stock_volatility", &StockVolatility::new(stocks).expect(GOOD));
    model(criterion, "fx_volatility", &FxVolatility::new(returns, Theta::default()).expect(GOOD));
}

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

criterion_group!(benches, elementary, zoo);
criterion_main!(benches);
