//! Benchmarks of log densities, scores and draws of each family, alone and in a defensive mixture, per evaluation: `cargo bench -p mcsa-speed --bench families`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Error, Family, FamilyProposal, Proposal, Seed, Stream};
use mcsa_families::{
    Atoms, Defence, FullRank, GaussianFamily, GaussianMixture, LowRank, MeanField, MultivariateT, Start,
    StudentT, Tail,
};

const COLUMNS: usize = 10;

fn family<F: Family>(
    criterion: &mut Criterion,
    name: &str,
    family: impl Fn(usize, &mut Stream) -> Result<(F, Vec<f64>), Error>,
) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(COLUMNS as u64));
    for dim in [10, 100, 1000] {
        let (q, params) = family(dim, &mut Seed::new(1).stream(0, 0)).expect("a good start");
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
    family(criterion, "mean_field", |dim, stream| started(MeanField::new(dim), stream));
    family(criterion, "low_rank_5", |dim, stream| started(LowRank::new(dim, 5), stream));
    family(criterion, "full_rank", |dim, stream| started(FullRank::new(dim), stream));
    family(criterion, "student_t", |dim, stream| {
        let q = StudentT::fixed(dim, 5.0)?;
        let params = q.start(&Start::jittered(), stream)?;
        Ok((q, params))
    });
    family(criterion, "student_t_learned", |dim, stream| {
        let q = StudentT::learned(dim, 1.0)?;
        let params = q.start(&Start::jittered(), 5.0, stream)?;
        Ok((q, params))
    });
    family(criterion, "multivariate_t", |dim, stream| {
        let q = MultivariateT::fixed(dim, 5.0)?;
        let params = q.start(&Start::jittered(), stream)?;
        Ok((q, params))
    });
    family(criterion, "mixture_of_3", |dim, stream| {
        let q = GaussianMixture::new(dim, 3)?;
        let params = q.start(&Start::jittered(), stream)?;
        Ok((q, params))
    });
    family(criterion, "atoms_8", |dim, stream| {
        let mut points = Mat::zeros(dim, 8);
        (0..8).for_each(|k| stream.normals_into(points.col_as_slice_mut(k)));
        Ok((Atoms::new(points)?, vec![0.0; 8]))
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = families
}
criterion_main!(benches);
