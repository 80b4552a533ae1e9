//! One step of each estimator with the optimiser, as made by the loop: `cargo bench -p mcsa-speed --bench steps`.
//!
//! The target has the shape of the Pima data: 691 rows, 8 inputs, a hierarchical prior, so 11 dimensions. `likelihood` is
//! the cost of ten evaluations of the target alone; a step should cost little more.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Estimator, LogDensity, Seed};
use mcsa_estimators::{
    Ascent, Controlled, Elbo, Moments, ScoreWeights, Weighting, jsa, msc, msc_rb, pmcsa, single, snis,
};
use mcsa_families::{
    Defence, FullRank, GaussianMixture, LowRank, MeanField, MomentMatched, MultivariateT, Tail,
};
use mcsa_kernels::Hmc;
use mcsa_models::{HierarchicalLogistic, ScalePrior};
use mcsa_optim::{Adam, Sgd};

const STEPS: u64 = 200;

fn target() -> HierarchicalLogistic {
    let mut stream = Seed::new(1).stream(0, 0);
    let inputs = Mat::from_fn(691, 8, |_, _| stream.normal());
    let labels: Vec<f64> =
        (0..691).map(|i| f64::from(u8::from(inputs[(i, 0)] + stream.normal() > 0.0))).collect();
    HierarchicalLogistic::new(inputs.as_ref(), &labels, ScalePrior::HalfNormal)
        .expect("finite inputs, labels 0 and 1")
}

fn step<E>(criterion: &mut Criterion, name: &str, estimator: E)
where
    E: Estimator<HierarchicalLogistic, MeanField>,
{
    let target = target();
    let family = MeanField::new(target.dim());
    let optimizer = Adam::new(0.01).expect("a positive rate");
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(2) };
    let start = family.at(&[0.0; 11], &[0.5; 11]).expect("positive scales");
    let mut fit = ascent.start(start).expect("shapes fit");
    ascent.run(&mut fit, 2_000).expect("a finite fit");
    let mut group = criterion.benchmark_group("pima_shape");
    group.throughput(Throughput::Elements(STEPS));
    group.bench_function(name, |bench| {
        bench.iter(|| ascent.run(&mut fit, STEPS).expect("a finite fit"));
    });
    group.finish();
}

/// Running moments of ten chains, without a learning rate.
fn moments<F: MomentMatched>(criterion: &mut Criterion, name: &str, family: &F, start: Vec<f64>) {
    let target = target();
    let (estimator, optimizer) = (Moments::new(pmcsa(10), 44.0), Sgd::new(1.0).expect("a positive rate"));
    let ascent = Ascent { target: &target, family, estimator, optimizer, seed: Seed::new(2) };
    let mut fit = ascent.start(start).expect("shapes fit");
    ascent.run(&mut fit, 2_000).expect("a finite fit");
    let mut group = criterion.benchmark_group("pima_shape");
    group.throughput(Throughput::Elements(STEPS));
    group.bench_function(name, |bench| {
        bench.iter(|| ascent.run(&mut fit, STEPS).expect("a finite fit"));
    });
    group.finish();
}

/// The step of the family alone, in `dim` dimensions with ten points.
fn matching<F: MomentMatched>(criterion: &mut Criterion, name: &str, family: &F, start: &[f64]) {
    let points = Mat::from_fn(family.dim(), 10, |i, j| (0.3 * (i + 7 * j) as f64).sin());
    let (mut params, mut matched) = (start.to_vec(), start.to_vec());
    let mut work = vec![0.0; family.work_len(10)];
    criterion.benchmark_group("match_moments").bench_function(name, |bench| {
        bench.iter(|| {
            let points = std::hint::black_box(points.as_ref());
            family.match_moments(&params, 0.01, points, &[0.1; 10], &mut matched, &mut work);
            std::mem::swap(&mut params, &mut matched);
        });
    });
}

fn running(criterion: &mut Criterion) {
    let half = Mat::from_fn(11, 11, |i, k| if i == k { 0.5 } else { 0.0 });
    let full = FullRank::new(11);
    let start = full.at(&[0.0; 11], half.as_ref()).expect("a factor");
    matching(criterion, "full_rank/11", &full, &start);
    moments(criterion, "moments_full_rank/10", &full, start);
    let t = MultivariateT::learned(11, 2.0).expect("a floor");
    let start = t.at(&[0.0; 11], half.as_ref(), 8.0).expect("a factor");
    matching(criterion, "multivariate_t/11", &t, &start);
    moments(criterion, "moments_t/10", &t, start);
    let low = LowRank::new(11, 2);
    let start = low.at(&[0.0; 11], &[0.5; 11], Mat::from_fn(11, 2, |i, k| (i + k) as f64 / 11.0).as_ref());
    matching(criterion, "low_rank_2/11", &low, &start.expect("scales"));
    let mixture = GaussianMixture::new(11, 2).expect("components");
    let (means, scales) = (Mat::from_fn(11, 2, |_, k| k as f64), Mat::full(11, 2, 0.5));
    let start = mixture.at(&[0.5; 2], means.as_ref(), scales.as_ref()).expect("scales");
    matching(criterion, "mixture_2/11", &mixture, &start);
}

fn likelihood(criterion: &mut Criterion) {
    let target = target();
    let mut group = criterion.benchmark_group("pima_shape");
    group.throughput(Throughput::Elements(STEPS));
    for columns in [1, 10] {
        let points = Mat::from_fn(target.dim(), columns, |i, j| (0.3 * (i + 7 * j) as f64).sin());
        let (mut out, mut work) = (vec![0.0; columns], vec![0.0; target.work_len(columns)]);
        group.bench_function(format!("likelihood/{columns}"), |bench| {
            bench.iter(|| {
                for _ in 0..STEPS {
                    target.log_densities(std::hint::black_box(points.as_ref()), &mut out, &mut work);
                }
            });
        });
    }
    group.finish();
}

fn steps(criterion: &mut Criterion) {
    step(criterion, "pmcsa/10", pmcsa(10));
    step(criterion, "jsa/10", jsa(10));
    step(criterion, "msc/10", msc(11));
    step(criterion, "msc_rb/10", msc_rb(11));
    step(criterion, "snis/10", snis(10));
    step(criterion, "chi_square/10", ScoreWeights::new(10, Weighting::ChiSquare));
    let defence = Defence::new(0.01, Tail::cauchy(11)).expect("a share");
    step(criterion, "pmcsa_defended/10", pmcsa(10).guarded(defence));
    step(criterion, "pmcsa_controlled/10", Controlled::new(pmcsa(10)));
    step(criterion, "elbo_closed/1", Elbo::closed(1));
    step(criterion, "elbo_path/1", Elbo::path(1));
    step(criterion, "elbo_path/10", Elbo::path(10));
    step(criterion, "hmc_16/1", single(Hmc::new(0.02, 16).expect("a step size")));
}

criterion_group!(benches, likelihood, running, steps);
criterion_main!(benches);
