//! Benchmarks of log densities, scores and draws of each family, alone and in a defensive mixture, per evaluation, and of flows
//! in ten dimensions at a hundred points and one: `cargo bench -p mcsa-speed --bench families`.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Error, Family, FamilyProposal, Parametric, Proposal, Pushforward, Seed, Stream};
use mcsa_families::{
    Atoms, Defence, Flow, FullRank, Gauss, GaussianFamily, GaussianMixture, LowRank, MeanField,
    MultivariateT, Spline, Start, StudentT, Tail,
};

/// Log densities, scores and draws at `columns` points.
fn each<F: Family>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    q: &F,
    params: &[f64],
    columns: usize,
    id: usize,
) {
    group.throughput(Throughput::Elements(columns as u64));
    let mut work = vec![0.0; q.work_len(columns)];
    let mut lanes = Seed::new(1).streams(columns, 1);
    let mut z = Mat::zeros(q.dim(), columns);
    let mut log_q = vec![0.0; columns];
    let mut gradient = vec![0.0; q.num_params()];
    q.sample_into(params, &mut lanes, z.as_mut(), &mut log_q, &mut work);
    group.bench_function(BenchmarkId::new("log_prob", id), |bench| {
        bench.iter(|| q.log_probs(black_box(params), z.as_ref(), &mut log_q, &mut work));
    });
    group.bench_function(BenchmarkId::new("score", id), |bench| {
        bench.iter(|| q.add_scores(black_box(params), z.as_ref(), &log_q, &mut gradient, &mut work));
    });
    group.bench_function(BenchmarkId::new("draw", id), |bench| {
        bench.iter(|| q.sample_into(black_box(params), &mut lanes, z.as_mut(), &mut log_q, &mut work));
    });
}

/// A family in growing dimensions, alone and in a defensive mixture.
fn family<F: Family>(
    criterion: &mut Criterion,
    name: &str,
    family: impl Fn(usize, &mut Stream) -> Result<(F, Vec<f64>), Error>,
) {
    const COLUMNS: usize = 10;
    let mut group = criterion.benchmark_group(name);
    for dim in [10, 100, 1000] {
        let (q, params) = family(dim, &mut Seed::new(1).stream(0, 0)).expect("a good start");
        each(&mut group, &q, &params, COLUMNS, dim);
        let (mut z, mut log_q) = (Mat::zeros(dim, COLUMNS), [0.0; COLUMNS]);
        let (mut work, mut lanes) = (vec![0.0; q.work_len(COLUMNS)], Seed::new(1).streams(COLUMNS, 1));
        let (defence, mut memory) = (Defence::new(0.01, Tail::cauchy(dim)).expect("a share"), [0.0; COLUMNS]);
        group.bench_function(BenchmarkId::new("defended draw", dim), |bench| {
            bench.iter(|| {
                let mut proposal =
                    FamilyProposal::new(&q, black_box(&params), COLUMNS, &mut work).expect("good params");
                let mut proposal =
                    defence.around(&mut proposal, COLUMNS, &mut memory).expect("enough memory");
                proposal.sample_into(&mut lanes, z.as_mut(), &mut log_q);
            });
        });
    }
    group.finish();
}

/// A Gaussian family with jittered initial parameters.
fn started<G: GaussianFamily>(q: G, stream: &mut Stream) -> Result<(G, Vec<f64>), Error> {
    let params = Start::jittered().draw(&q, stream)?;
    Ok((q, params))
}

fn families(criterion: &mut Criterion) {
    let jittered = Start::jittered();
    family(criterion, "mean_field", |dim, stream| started(MeanField::new(dim), stream));
    family(criterion, "low_rank_5", |dim, stream| started(LowRank::new(dim, 5), stream));
    family(criterion, "full_rank", |dim, stream| started(FullRank::new(dim), stream));
    family(criterion, "student_t", |dim, stream| {
        let q = StudentT::fixed(dim, 5.0)?;
        q.start(&jittered, stream).map(|params| (q, params))
    });
    family(criterion, "student_t_learned", |dim, stream| {
        let q = StudentT::learned(dim, 1.0)?;
        q.start(&jittered, 5.0, stream).map(|params| (q, params))
    });
    family(criterion, "multivariate_t", |dim, stream| {
        let q = MultivariateT::fixed(dim, 5.0)?;
        q.start(&jittered, stream).map(|params| (q, params))
    });
    family(criterion, "mixture_of_3", |dim, stream| {
        let q = GaussianMixture::new(dim, 3)?;
        q.start(&jittered, stream).map(|params| (q, params))
    });
    family(criterion, "atoms_8", |dim, stream| {
        let mut points = Mat::zeros(dim, 8);
        (0..8).for_each(|k| stream.normals_into(points.col_as_slice_mut(k)));
        Ok((Atoms::new(points)?, vec![0.0; 8]))
    });
}

const DIM: usize = 10;

fn flow<F: Family>(criterion: &mut Criterion, name: &str, q: &F) {
    let params: Vec<f64> = (0..q.num_params()).map(|k| 0.1 * (1.3 * k as f64).sin()).collect();
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(40)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    [1, 100].into_iter().for_each(|columns| each(&mut group, q, &params, columns, columns));
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
            let (params, noise, z) = (black_box(&params), noise.as_ref(), z.as_ref());
            q.add_push_gradients(params, noise, z, &log_q, &mut gradient, &mut work);
        });
    });
}

fn flows(criterion: &mut Criterion) {
    const COUPLINGS: usize = 6;
    for (name, hidden) in [("real_nvp_64", &[64][..]), ("real_nvp_64_64", &[64, 64])] {
        let q = Flow::real_nvp(DIM, Gauss, COUPLINGS, hidden).expect("a flow that can be built");
        flow(criterion, name, &q);
        push(criterion, name, &q);
    }
    let spline = Flow::neural_spline(DIM, Gauss, COUPLINGS, &[64], Spline::default());
    flow(criterion, "neural_spline_64", &spline.expect("a flow that can be built"));
    flow(criterion, "full_rank_10", &FullRank::new(DIM));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = families, flows
}
criterion_main!(benches);
