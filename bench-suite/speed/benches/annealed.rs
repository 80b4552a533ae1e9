//! One step of annealed bounds, value and gradient without the optimiser: `cargo bench -p mcsa-speed --bench annealed`.
//!
//! Logistic regression with 50 000 rows and 18 columns, 8 steps of a path, 256 surrogate points, minibatches of 256.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use faer::Mat;
use mcsa_annealed::Minibatched;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::surrogate::{LogisticSurrogate, MinibatchSurrogate, PosteriorSurrogate};
use mcsa_core::{Estimator, Gradient, Parametric, Seed, batch, batch_mut};
use mcsa_estimators::{Elbo, FlowElbo};
use mcsa_families::{FullRank, MeanField};
use mcsa_models::LogisticRegression;

const DIM: usize = 18;
const STEPS: usize = 8;

fn data(rows: usize, columns: usize) -> (Mat<f64>, Vec<f64>) {
    let mut stream = Seed::new(1).stream(0, 0);
    let x = Mat::from_fn(rows, columns, |_, k| if k == 0 { 1.0 } else { stream.normal() });
    let labels = (0..rows).map(|i| f64::from(u8::from(x[(i, 1)] - x[(i, 2)] + stream.normal() > 0.0)));
    let labels = labels.collect();
    (x, labels)
}

fn direction<P, F, E>(
    criterion: &mut Criterion,
    name: &str,
    target: &P,
    family: &F,
    estimator: E,
    params: &[f64],
) where
    E: Estimator<P, F>,
{
    let mut lanes = Seed::new(2).streams(estimator.lanes(), 0);
    let mut state = estimator.init(target, family, params, &mut lanes).expect("parameters of the family");
    let (mut out, mut work) = (vec![0.0; params.len()], vec![0.0; estimator.work_len(target, family)]);
    criterion.bench_function(name, |bench| {
        bench.iter(|| {
            let params = black_box(params);
            estimator.ascent_direction(target, family, params, &mut state, &mut lanes, &mut out, &mut work)
        });
    });
}

/// The likelihood by whose time those of other machines are scaled: 691 rows, 8 columns, ten points.
fn unit(criterion: &mut Criterion) {
    let (x, labels) = data(691, 8);
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0).expect("finite data");
    let mut stream = Seed::new(3).stream(0, 0);
    let mut z = vec![0.0; 80];
    stream.normals_into(&mut z);
    let (mut out, mut work) = ([0.0; 10], vec![0.0; mcsa_core::LogDensity::work_len(&target, 10)]);
    criterion.bench_function("log_densities_691x8/10", |bench| {
        bench.iter(|| {
            mcsa_core::LogDensity::log_densities(&target, batch(black_box(&z), 8, 10), &mut out, &mut work)
        });
    });
    let mut gradients = vec![0.0; 80];
    criterion.bench_function("gradients_691x8/10", |bench| {
        bench.iter(|| {
            let gradients = batch_mut(&mut gradients, 8, 10);
            target.gradients_into(batch(black_box(&z), 8, 10), &mut out, gradients, &mut work)
        });
    });
}

fn bounds(criterion: &mut Criterion) {
    let (x, labels) = data(50_000, DIM);
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0).expect("finite data");
    let mean_field = MeanField::new(DIM);
    let base =
        mean_field.with_link(mcsa_families::Link::Exp).at(&[0.0; DIM], &[0.01; DIM]).expect("positive");
    let minibatch = |samples| Minibatched::new(256, FlowElbo::new(samples));

    let mut lane = Seed::new(4).stream(0, 0);
    let rows = LogisticSurrogate::rand(x.as_ref(), &labels, 256, 1.0, &mut lane).expect("enough rows");
    let psi = rows.initial();
    let family = Annealed::new(rows, Shape::Diagonal, STEPS);
    let params = family.at(&base, 1e-3, &psi).expect("a step size");
    direction(criterion, "sl_dais_k8_256_points_batch_256", &target, &family, minibatch(1), &params);

    let family = Annealed::new(MinibatchSurrogate::new(&target, 256).expect("rows"), Shape::Diagonal, STEPS);
    let params = family.at(&base, 1e-3, &[]).expect("a step size");
    direction(criterion, "ns_dais_k8_batch_256", &target, &family, minibatch(1), &params);

    let family = Annealed::new(PosteriorSurrogate(&target), Shape::Diagonal, STEPS);
    let params = family.at(&base, 1e-3, &[]).expect("a step size");
    direction(criterion, "dais_k8_50000_rows", &target, &family, FlowElbo::new(1), &params);

    let family = FullRank::new(DIM);
    let params = vec![-3.0; family.num_params()];
    let elbo = Minibatched::new(256, Elbo::closed(1));
    direction(criterion, "full_rank_batch_256", &target, &family, elbo.clone(), &params);
    direction(criterion, "mean_field_batch_256", &target, &mean_field, elbo, &[-3.0; 2 * DIM]);
}

criterion_group!(benches, unit, bounds);
criterion_main!(benches);
