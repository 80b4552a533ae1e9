//! Times of the hot paths of all crates: `cargo bench -p mcsa-speed -- FILTER`, with a part of a name as filter, such as `models` or
//! `steps/pmcsa`. Throughput is in points, chains, steps of fits, or states of particles.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_annealed::Minibatched;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::surrogate::{MinibatchSurrogate, PosteriorSurrogate};
use mcsa_core::{Address, Error, Family, Gradient, Kernel, Parametric, Seed, Stream, numeric};
use mcsa_estimators::{
    Controlled, Elbo, FlowElbo, ScoreWeights, Weighting, jsa, msc, msc_rb, pmcsa, single, snis,
};
use mcsa_families::{
    Atoms, Defence, Flow, FullRank, Gauss, GaussianFamily, Link, LowRank, MeanField, MultivariateT, Spline,
    Start, StudentT, Tail,
};
use mcsa_kernels::{Elliptical, GaussianPrior, Hmc, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm, Selection};
use mcsa_models::{
    Banana, EightSchools, Funnel, Gaussian, LogisticRegression, Mixture, SkewNormal, StockVolatility, Student,
};
use mcsa_particles::{
    Bootstrap, ConditionalSmc, FxVolatility, JointPaths, Lineage, PathKernel, Resampling, Smc, StateSpace,
    Theta, Twisted, msc_paths, smc_paths,
};
use mcsa_speed::{GOOD, adam, climb, dense_moments, logistic, moments, normals, radon, rows, sl_dais};

/// Time of a call that handles some elements.
fn time<O>(c: &mut Criterion, name: &str, elements: usize, mut call: impl FnMut() -> O) {
    let (group, name) = name.split_once('/').expect(GOOD);
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Elements(elements as u64));
    group.bench_function(name, |bench| bench.iter(&mut call));
    group.finish();
}

/// Elementary functions and reductions at typical lengths of a point and of a likelihood.
fn elementary(c: &mut Criterion) {
    type Elementwise = fn(&[f64], &mut [f64]);
    let elementwise: [(&str, Elementwise); 6] = [
        ("exp", numeric::exp_into),
        ("ln", numeric::ln_into),
        ("ln_1p_exp", numeric::ln_1p_exp_into),
        ("sigmoid", numeric::sigmoid_into),
        ("log_ndtr", numeric::log_ndtr_into),
        ("ndtr_hazard", numeric::ndtr_hazard_into),
    ];
    type Reduction = fn(&[f64]) -> f64;
    let reductions: [(&str, Reduction); 4] = [
        ("sum", numeric::sum),
        ("dot", |x| numeric::dot(x, x)),
        ("sum_log_sigmoid", numeric::sum_log_sigmoid),
        ("log_sum_exp", numeric::log_sum_exp),
    ];
    for length in [10, 691] {
        let x: Vec<f64> = (0..length).map(|i| 0.01 + ((i * 389) % 1024) as f64 * 0.004).collect();
        for (name, apply) in elementwise {
            let mut y = x.clone();
            time(c, &format!("numeric/{name} {length}"), length, || apply(black_box(&x), black_box(&mut y)));
        }
        for (name, reduce) in reductions {
            time(c, &format!("numeric/{name} {length}"), length, || reduce(black_box(&x)));
        }
    }
}

/// Log density and gradient of a model at one and ten points.
fn model<P: Gradient>(c: &mut Criterion, name: &str, target: &P) {
    for columns in [1, 10] {
        let mut stream = Seed::new(1).stream(0, 0);
        let z = Mat::from_fn(target.dim(), columns, |_, _| 0.3 * stream.normal());
        let (mut out, mut gradients) = (vec![0.0; columns], Mat::zeros(target.dim(), columns));
        let mut work = vec![0.0; target.work_len(columns)];
        time(c, &format!("models/{name} value {columns}"), columns, || {
            target.log_densities(black_box(z.as_ref()), &mut out, &mut work);
        });
        time(c, &format!("models/{name} gradient {columns}"), columns, || {
            target.gradients_into(black_box(z.as_ref()), &mut out, gradients.as_mut(), &mut work);
        });
    }
}

fn models(c: &mut Criterion) {
    let full = |dim: usize| {
        Gaussian::random_wishart(dim, 5.0 * dim as f64, &mut Seed::new(4).stream(0, 0)).expect(GOOD)
    };
    model(c, "gaussian_diagonal_100", &Gaussian::standard(100));
    model(c, "gaussian_full_10", &full(10));
    model(c, "gaussian_full_100", &full(100));
    model(c, "skew_normal", &SkewNormal::msc());
    model(c, "student_10", &Student::new(vec![0.0; 10], vec![1.0; 10], 5.0).expect(GOOD));
    model(c, "banana", &Banana::new(1.5, 0.4).expect(GOOD));
    model(c, "funnel_10", &Funnel::new(10, 3.0).expect(GOOD));
    model(c, "mixture_2", &Mixture::modes(2, 4.0, 0.3).expect(GOOD));
    model(c, "eight_schools_centred", &EightSchools::centred());
    model(c, "eight_schools_non_centred", &EightSchools::non_centred());
    model(c, "radon", &radon());
    model(c, "stock_volatility", &StockVolatility::new(normals(2610)).expect(GOOD));
    model(c, "fx_volatility", &FxVolatility::new(normals(119), Theta::default()).expect(GOOD));
    model(c, "hierarchical_logistic_691x8", &logistic(691, 8));
}

/// Log densities, scores and draws at some points.
fn density<F: Family>(c: &mut Criterion, name: &str, q: &F, params: &[f64], columns: usize) {
    let mut work = vec![0.0; q.work_len(columns)];
    let mut lanes = Seed::new(1).streams(columns, 1);
    let (mut z, mut log_q) = (Mat::zeros(q.dim(), columns), vec![0.0; columns]);
    let mut gradient = vec![0.0; q.num_params()];
    q.sample_into(params, &mut lanes, z.as_mut(), &mut log_q, &mut work);
    time(c, &format!("families/{name} log_prob"), columns, || {
        q.log_probs(black_box(params), z.as_ref(), &mut log_q, &mut work);
    });
    time(c, &format!("families/{name} score"), columns, || {
        q.add_scores(black_box(params), z.as_ref(), &log_q, &mut gradient, &mut work);
    });
    time(c, &format!("families/{name} draw"), columns, || {
        q.sample_into(black_box(params), &mut lanes, z.as_mut(), &mut log_q, &mut work);
    });
}

/// A family in growing dimensions.
fn family<F: Family>(
    c: &mut Criterion,
    name: &str,
    family: impl Fn(usize, &mut Stream) -> Result<(F, Vec<f64>), Error>,
) {
    for dim in [10, 100, 1000] {
        let (q, params) = family(dim, &mut Seed::new(1).stream(0, 0)).expect(GOOD);
        density(c, &format!("{name} {dim}"), &q, &params, 10);
    }
}

/// A Gaussian family with jittered initial parameters.
fn started<G: GaussianFamily>(q: G, stream: &mut Stream) -> Result<(G, Vec<f64>), Error> {
    let params = Start::jittered().draw(&q, stream)?;
    Ok((q, params))
}

fn families(c: &mut Criterion) {
    family(c, "mean_field", |dim, stream| started(MeanField::new(dim), stream));
    family(c, "low_rank_5", |dim, stream| started(LowRank::new(dim, 5), stream));
    family(c, "full_rank", |dim, stream| started(FullRank::new(dim), stream));
    family(c, "student_t", |dim, stream| {
        Ok((StudentT::fixed(dim, 5.0)?, started(MeanField::new(dim), stream)?.1))
    });
    family(c, "student_t_learned", |dim, stream| {
        let (q, mut params) = (StudentT::learned(dim, 1.0)?, started(MeanField::new(dim), stream)?.1);
        params.push(q.law.param(5.0)?);
        Ok((q, params))
    });
    family(c, "multivariate_t", |dim, stream| {
        Ok((MultivariateT::fixed(dim, 5.0)?, started(FullRank::new(dim), stream)?.1))
    });
    family(c, "mixture_of_3", |dim, stream| {
        let q = mcsa_families::Mixture::new(MeanField::new(dim), 3)?;
        let mut part = || started(MeanField::new(dim), stream).map(|(_, params)| params);
        let params = q.at(&[1.0; 3], &[part()?, part()?, part()?])?;
        Ok((q, params))
    });
    family(c, "atoms_8", |dim, stream| {
        let mut points = Mat::zeros(dim, 8);
        (0..8).for_each(|k| stream.normals_into(points.col_as_slice_mut(k)));
        Ok((Atoms::new(points)?, vec![0.0; 8]))
    });
    let flow = |hidden: &[usize]| Flow::real_nvp(10, Gauss, 6, hidden).expect(GOOD);
    let spline = Flow::neural_spline(10, Gauss, 6, &[64], Spline::default()).expect(GOOD);
    for (name, q) in
        [("real_nvp_64", flow(&[64])), ("real_nvp_64_64", flow(&[64, 64])), ("neural_spline_64", spline)]
    {
        let params: Vec<f64> = (0..q.num_params()).map(|k| 0.1 * (1.3 * k as f64).sin()).collect();
        [1, 100].into_iter().for_each(|n| density(c, &format!("{name} {n}"), &q, &params, n));
        let name = format!("flow_elbo {name}");
        timed(c, &name, climb(&Gaussian::standard(10), &q, FlowElbo::new(100), adam(), params));
    }
}

/// Steps on a standard Gaussian, whose density costs `O(d)`, so that the cost of a kernel itself is visible.
fn kernel<K: Kernel<Gaussian>>(c: &mut Criterion, name: &str, kernel: impl Fn(usize) -> K) {
    for (dim, chains) in [(10, 1), (10, 10), (10, 100), (100, 1), (100, 10), (100, 100)] {
        let (target, kernel) = (Gaussian::standard(dim), kernel(dim));
        let start = Mat::from_fn(dim, chains, |i, j| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
        let mut state = kernel.init(&target, start).expect(GOOD);
        let mut work = vec![0.0; kernel.work_len(&target, chains)];
        let (mut lanes, mut step) = (Seed::new(1).streams(chains, 0), 0);
        time(c, &format!("kernels/{name} d={dim} N={chains}"), chains, || {
            step += 1;
            (0..).zip(&mut lanes).for_each(|(lane, stream)| stream.go_to(Address::of(lane, step)));
            kernel.step(&target, &mut NoProposal { dim }, &mut state, &mut lanes, &mut work)
        });
    }
}

fn kernels(c: &mut Criterion) {
    let hmc = |selection| Hmc::with(Leapfrog::new(0.2, Mass::unit()).expect(GOOD), 8, selection).expect(GOOD);
    kernel(c, "rwm", |dim| Rwm::new(2.38 / (dim as f64).sqrt()).expect(GOOD));
    kernel(c, "mala", |_| Mala::new(0.5).expect(GOOD));
    kernel(c, "hmc end point", |_| hmc(Selection::EndPoint));
    kernel(c, "hmc multinomial", |_| hmc(Selection::Multinomial));
    kernel(c, "nuts", |_| Nuts::new(0.2).expect(GOOD));
    kernel(c, "elliptical", |dim| Elliptical::new(GaussianPrior::standard(dim)));
}

const RETURNS: usize = 119;

/// One step of conditional SMC, a filter of ten thousand particles, and joint fits of a path, on a series as long as the exchange rates.
fn particles(c: &mut Criterion) {
    let theta = Theta { mu: -0.5, atanh_phi: 1.2, log_sigma: -1.0, log_beta: -7.0 };
    let mut returns = vec![0.0; RETURNS];
    let empty = FxVolatility::new(returns.clone(), theta).expect(GOOD);
    empty.simulate_into(&mut Seed::new(1).stream(0, 0), &mut [0.0; RETURNS + 1], &mut returns);
    let model = FxVolatility::new(returns, theta).expect(GOOD);
    let states = model.states();
    let params: Vec<f64> = (0..2 * (RETURNS + 1)).map(|k| 0.1 * (k as f64).sin()).collect();
    let mut memory = vec![0.0; Twisted.proposal_len(&states)];
    for resampling in Resampling::ALL {
        for lineage in [Lineage::Traced, Lineage::Ancestors, Lineage::Backward] {
            let kernel = ConditionalSmc { resampling, lineage, ..ConditionalSmc::with_particles(10) };
            let mut paths = kernel.init(&states, Mat::zeros(RETURNS + 1, 1)).expect(GOOD);
            let (mut work, mut lanes) = (vec![0.0; kernel.work_len(&states)], Seed::new(2).streams(1, 0));
            let (name, mut step) = (format!("particles/conditional {lineage:?} {resampling:?}"), 0);
            time(c, &name, 10 * states.num_states(), || {
                step += 1;
                lanes[0].go_to(Address::of(0, step));
                let mut proposal = Twisted.proposal(&states, &params, &mut memory);
                kernel.step(&states, &mut proposal, &mut paths, &mut lanes, &mut work)
            });
        }
        let smc = Smc::new(10_000, resampling, 1.0).expect(GOOD);
        let (mut work, mut lane) = (vec![0.0; smc.work_len(&states)], Seed::new(3).stream(0, 0));
        let all = 10_000 * states.num_states();
        time(c, &format!("particles/bootstrap filter {resampling:?}"), all, || {
            smc.log_evidence(&states, &mut Bootstrap(&states), &mut lane, &mut work)
        });
        time(c, &format!("particles/twisted filter {resampling:?}"), all, || {
            let mut proposal = Twisted.proposal(&states, &params, &mut memory);
            smc.log_evidence(&states, &mut proposal, &mut lane, &mut work)
        });
    }
    let mut start = vec![0.0; 2 * (RETURNS + 1) + 4];
    start[RETURNS + 1..2 * (RETURNS + 1)].fill(0.5);
    let msc = JointPaths { climb: msc_paths(10) };
    timed(c, "msc paths", climb(&model, &Twisted, msc, adam(), start.clone()));
    let smc = JointPaths { climb: smc_paths(10).expect(GOOD) };
    timed(c, "smc paths", climb(&model, &Twisted, smc, adam(), start));
}

/// Steps as made by the loop: one should cost little more than its evaluations of the target.
fn timed(c: &mut Criterion, name: &str, mut steps: impl FnMut(u64)) {
    time(c, &format!("steps/{name}"), 20, || steps(20));
}

fn steps(c: &mut Criterion) {
    let defence = Defence::new(0.01, Tail::cauchy(11)).expect(GOOD);
    macro_rules! estimators {
        ($($name:literal: $estimator:expr,)*) => {
            $(timed(c, $name, mcsa_speed::steps(logistic(691, 8), $estimator));)*
        };
    }
    estimators! {
        "pmcsa 10": pmcsa(10),
        "jsa 10": jsa(10),
        "msc 10": msc(11),
        "msc_rb 10": msc_rb(11),
        "snis 10": snis(10),
        "chi_square 10": ScoreWeights::new(10, Weighting::ChiSquare),
        "pmcsa_defended 10": pmcsa(10).guarded(defence),
        "pmcsa_controlled 10": Controlled::new(pmcsa(10)),
        "elbo_closed 1": Elbo::closed(1),
        "elbo_path 1": Elbo::path(1),
        "elbo_path 10": Elbo::path(10),
        "hmc_16 1": single(Hmc::new(0.02, 16).expect(GOOD)),
    }
    timed(c, "moments full_rank", dense_moments());
    let half = Mat::from_fn(11, 11, |i, k| if i == k { 0.5 } else { 0.0 });
    let t = MultivariateT::learned(11, 2.0).expect(GOOD);
    let start = t.at(&[0.0; 11], half.as_ref(), 8.0).expect(GOOD);
    timed(c, "moments multivariate_t", moments(t, start));
    let (low, factor) = (LowRank::new(11, 2), Mat::from_fn(11, 2, |i, k| (i + k) as f64 / 11.0));
    let start = low.at(&[0.0; 11], &[0.5; 11], factor.as_ref()).expect(GOOD);
    timed(c, "moments low_rank_2", moments(low, start));
    let mixture = mcsa_families::Mixture::new(MeanField::new(11), 2).expect(GOOD);
    let parts = [0.0, 1.0].map(|mean| mixture.component().at(&[mean; 11], &[0.5; 11]).expect(GOOD));
    let start = mixture.at(&[0.5; 2], &parts).expect(GOOD);
    timed(c, "moments mixture_2", moments(mixture, start));
}

/// Steps of annealed bounds: logistic regression with 50 000 rows and 18 columns, 8 steps of a path, 256 surrogate points,
/// minibatches of 256.
fn annealed(c: &mut Criterion) {
    const DIM: usize = 18;
    timed(c, "sl_dais_k8_256_points_batch_256", sl_dais());
    let (x, labels) = rows(50_000, DIM);
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0).expect(GOOD);
    let mean_field = MeanField::new(DIM);
    let base = mean_field.with_link(Link::Exp).at(&[0.0; DIM], &[0.01; DIM]).expect(GOOD);
    let family = Annealed::new(MinibatchSurrogate::new(&target, 256).expect(GOOD), Shape::Diagonal, 8);
    let params = family.at(&base, 1e-3, &[]).expect(GOOD);
    let minibatch = Minibatched::new(256, FlowElbo::new(1));
    timed(c, "ns_dais_k8_batch_256", climb(&target, &family, minibatch, adam(), params));
    let family = Annealed::new(PosteriorSurrogate(&target), Shape::Diagonal, 8);
    let params = family.at(&base, 1e-3, &[]).expect(GOOD);
    timed(c, "dais_k8_50000_rows", climb(&target, &family, FlowElbo::new(1), adam(), params));
    let (full, elbo) = (FullRank::new(DIM), Minibatched::new(256, Elbo::closed(1)));
    let params = vec![-3.0; full.num_params()];
    timed(c, "full_rank_batch_256", climb(&target, &full, elbo.clone(), adam(), params));
    timed(c, "mean_field_batch_256", climb(&target, &mean_field, elbo, adam(), vec![-3.0; 2 * DIM]));
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = elementary, models, families, kernels, particles, steps, annealed
}
criterion_main!(benches);
