//! Log density and gradient of the regression models, per batch: `cargo bench -p mcsa-speed --bench regression`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::cholesky_in_place;
use faer::{Mat, Par};
use mcsa_core::{Gradient, Seed, Subsampled};
use mcsa_models::{
    GaussianProcessClassification, HierarchicalLogistic, LogisticRegression, NeuralRegression,
    ProbitRegression, ScalePrior,
};

fn normals(rows: usize, columns: usize, scale: f64) -> Mat<f64> {
    let mut stream = Seed::new(1).stream(0, 0);
    Mat::from_fn(rows, columns, |_, _| scale * stream.normal())
}

fn model<P: Gradient>(criterion: &mut Criterion, name: &str, target: &P) {
    let mut group = criterion.benchmark_group(name);
    for columns in [1, 10] {
        let z = normals(target.dim(), columns, 0.3);
        let mut work = vec![0.0; target.work_len(columns)];
        let mut out = vec![0.0; columns];
        let mut gradients = Mat::zeros(target.dim(), columns);
        group.bench_function(BenchmarkId::new("value", columns), |bench| {
            bench.iter(|| target.log_densities(black_box(z.as_ref()), &mut out, &mut work));
        });
        group.bench_function(BenchmarkId::new("gradient", columns), |bench| {
            bench.iter(|| {
                target.gradients_into(black_box(z.as_ref()), &mut out, gradients.as_mut(), &mut work)
            });
        });
    }
    group.finish();
}

/// Value and gradient of 256 rows of 10000 with 18 features, scattered, and the product with their Hessian.
fn minibatch(criterion: &mut Criterion) {
    let (n, rows) = (10_000, (0..256).map(|b| b * 7919 % 10_000).collect::<Vec<usize>>());
    let target = LogisticRegression::new(normals(n, 18, 1.0).as_ref(), &labels(n), 1.0).expect("good data");
    let (z, mut out) = (normals(18, 2, 0.3), [0.0; 18]);
    let mut work = vec![0.0; target.rows_work_len(256)];
    let mut group = criterion.benchmark_group("minibatch_256");
    group.bench_function("gradient", |bench| {
        bench.iter(|| target.add_gradient_at(black_box(&rows), 40.0, z.col_as_slice(0), &mut out, &mut work));
    });
    group.bench_function("hessian_vector", |bench| {
        bench.iter(|| {
            let (z, v) = (z.col_as_slice(0), z.col_as_slice(1));
            target.add_hessian_vector_at(black_box(&rows), 40.0, z, v, &mut out, &mut work);
        });
    });
    group.finish();
}

fn labels(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| f64::from(u8::from(i * 7 % 3 == 0))).collect()
}

/// Sums of `log sigmoid` over ten columns of 691 margins: the part of a logistic likelihood that is not a matrix product.
fn margins(criterion: &mut Criterion) {
    let margins = normals(691, 10, 1.0);
    criterion.bench_function("margins_691/10", |bench| {
        bench.iter(|| {
            (0..10)
                .map(|j| mcsa_core::numeric::sum_log_sigmoid(black_box(margins.col_as_slice(j))))
                .sum::<f64>()
        });
    });
}

/// Scalar baseline for `margins`: the sums over `ln(1 + e^-x)` in a loop. The ratio of the two times is the gain from vectorising.
fn scalar_margins(criterion: &mut Criterion) {
    let margins = normals(691, 10, 1.0);
    criterion.bench_function("scalar_margins_691/10", |bench| {
        bench.iter(|| {
            let column = |j: usize| black_box(margins.col_as_slice(j)).iter().map(|x| -(-x).exp().ln_1p());
            (0..10).map(|j| column(j).sum::<f64>()).sum::<f64>()
        });
    });
}

/// Ten Cholesky factorisations of 315 rows: the part of a Gaussian process density that is not the covariance kernel.
fn factors(criterion: &mut Criterion) {
    let covariance =
        Mat::from_fn(315, 315, |i, j| if i == j { 2.0 } else { 1.0 / (1.0 + i.abs_diff(j) as f64) });
    let mut memory = Mat::zeros(315, 315);
    let mut scratch = [std::mem::MaybeUninit::uninit(); 8192];
    criterion.bench_function("factors_315/10", |bench| {
        bench.iter(|| {
            for _ in 0..10 {
                memory.copy_from(black_box(&covariance));
                let stack = MemStack::new(&mut scratch);
                cholesky_in_place(memory.as_mut(), Default::default(), Par::Seq, stack, Default::default())
                    .expect("positive definite");
            }
        });
    });
}

fn regressions(criterion: &mut Criterion) {
    for (name, rows, columns) in [("hierarchical_691x8", 691, 8), ("hierarchical_900x24", 900, 24)] {
        let target = HierarchicalLogistic::new(
            normals(rows, columns, 1.0).as_ref(),
            &labels(rows),
            ScalePrior::HalfNormal,
        )
        .expect("good data");
        model(criterion, name, &target);
    }
    let probit = ProbitRegression::new(normals(691, 9, 1.0).as_ref(), &labels(691), 1.0).expect("good data");
    model(criterion, "probit_691x9", &probit);
    let responses: Vec<f64> = (0..455).map(|i| (f64::from(i) * 0.1).sin()).collect();
    let network = NeuralRegression::new(normals(455, 13, 1.0).as_ref(), &responses, 50).expect("good data");
    model(criterion, "network_455x14x50", &network);
    let process =
        GaussianProcessClassification::new(normals(315, 34, 1.0).as_ref(), &labels(315)).expect("good data");
    model(criterion, "process_315x34", &process);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = minibatch, margins, scalar_margins, factors, regressions
}
criterion_main!(benches);
