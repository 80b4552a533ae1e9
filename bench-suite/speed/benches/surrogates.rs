//! Surrogate posteriors and paths that follow them, per call: `cargo bench -p mcsa-speed --bench surrogates`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Parametric, Pushforward, Seed, Surrogate};
use mcsa_families::dais::{Annealed, Shape};
use mcsa_models::surrogate::{Clusters, LogisticSurrogate, NeuralSurrogate};

fn normals(rows: usize, columns: usize) -> Mat<f64> {
    let mut stream = Seed::new(1).stream(0, 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

fn steps(criterion: &mut Criterion, name: &str, surrogate: &dyn Surrogate, psi: &[f64]) {
    let mut group = criterion.benchmark_group(name);
    let d = surrogate.dim();
    let (z, u) = (vec![0.1; d], vec![0.2; d]);
    let (mut memory, mut tape) = (vec![0.0; surrogate.memory_len()], vec![0.0; surrogate.tape_len()]);
    let (mut work, mut gradient) = (vec![0.0; surrogate.work_len()], vec![0.0; d]);
    let (mut product, mut bar) = (vec![0.0; d], vec![0.0; psi.len()]);
    group.bench_function("prepare", |bench| {
        bench.iter(|| surrogate.prepare(black_box(psi), &[], &mut memory))
    });
    group.bench_function("gradient", |bench| {
        bench.iter(|| {
            surrogate.gradient_into(psi, &memory, black_box(&z), &mut gradient, &mut tape, &mut work)
        });
    });
    group.bench_function("add_second", |bench| {
        bench.iter(|| {
            let (z, u) = (black_box(&z), black_box(&u));
            surrogate.add_second(psi, &memory, &tape, z, u, 1e-3, &mut product, &mut bar, &mut work)
        });
    });
    group.finish();
}

fn surrogates(criterion: &mut Criterion) {
    let x = normals(256, 18);
    let labels: Vec<f64> = (0..256).map(|i| f64::from(u8::from(i * 7 % 3 == 0))).collect();
    let weights = vec![200.0; 256];
    let rows = LogisticSurrogate::from_rows(x.as_ref(), &labels, &weights, 1.0).expect("finite data");
    let points = LogisticSurrogate::from_points(x.as_ref(), &weights, &weights, 1.0).expect("finite data");
    let learned = points.clone().with_learned_points();
    steps(criterion, "rows_256x18", &rows, &rows.initial());
    steps(criterion, "points_256x18", &points, &points.initial());
    steps(criterion, "learned_points_256x18", &learned, &learned.initial());
    let network = NeuralSurrogate::new(18, 1.0).expect("a dimension");
    let psi = network.initial(&mut Seed::new(2).stream(0, 0));
    steps(criterion, "network_18", &network, &psi);
}

/// Value and gradient of one path of eight steps (SL-DAIS with a mean-field base), without the end of the bound.
fn paths(criterion: &mut Criterion) {
    let (x, labels) = (normals(5000, 18), (0..5000).map(|i| f64::from(i % 2)).collect::<Vec<_>>());
    let mut stream = Seed::new(3).stream(0, 0);
    let surrogate = LogisticSurrogate::rand(x.as_ref(), &labels, 256, 1.0, &mut stream).expect("finite data");
    let psi = surrogate.initial();
    let family = Annealed::new(surrogate, Shape::Diagonal, 8);
    let base: Vec<f64> = (0..36).map(|i| if i < 18 { 0.0 } else { -3.0 }).collect();
    let params = family.at(&base, 1e-3, &psi).expect("a base of 18 dimensions");
    let noise = Mat::from_fn(family.noise_dim(), 1, |_, _| stream.normal());
    let (mut z, mut cotangents) = (Mat::zeros(18, 1), Mat::zeros(18, 1));
    let (mut log_q, mut gradient) = ([0.0], vec![0.0; params.len()]);
    let mut work = vec![0.0; family.work_len(1)];
    criterion.bench_function("path_256x18/8", |bench| {
        bench.iter(|| {
            family.push_and_add_gradients(
                black_box(&params),
                noise.as_ref(),
                z.as_mut(),
                &mut log_q,
                cotangents.as_mut(),
                &mut |z, weights, mut cotangents| {
                    weights[0] = -1.0;
                    cotangents.copy_from(z);
                    true
                },
                &mut gradient,
                &mut work,
            );
        });
    });
}

/// One Lloyd iteration with 256 centres on 10 000 rows.
fn clusters(criterion: &mut Criterion) {
    let x = normals(10_000, 18);
    let centres = normals(256, 18);
    criterion.bench_function("lloyd_10000x18/256", |bench| {
        bench.iter(|| Clusters::lloyd(black_box(x.as_ref()), centres.as_ref(), 1));
    });
}

criterion_group!(benches, surrogates, paths, clusters);
criterion_main!(benches);
