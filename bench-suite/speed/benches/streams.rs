//! Benchmarks of random streams: long runs of one lane, and steps of few and of many lanes, each of which begins at its own
//! address.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcsa_core::{Seed, Stream};
use std::hint::black_box;

fn streams(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("streams");
    let mut numbers = vec![0.0; 1000];
    group.throughput(Throughput::Elements(1000));
    let mut stream = Seed::new(1).stream(0, 0);
    group.bench_function(BenchmarkId::new("uniforms", 1000), |bencher| {
        bencher.iter(|| numbers.iter_mut().for_each(|x| *x = stream.uniform()));
    });
    group.bench_function(BenchmarkId::new("normals", 1000), |bencher| {
        bencher.iter(|| stream.normals_into(black_box(&mut numbers)));
    });
    for lanes in [1, 10, 1000] {
        let (mut streams, mut step, mut point) = (Seed::new(2).streams(lanes, 0), 0, [0.0; 12]);
        group.throughput(Throughput::Elements(12 * lanes as u64));
        group.bench_function(BenchmarkId::new("a step of 12 normals, lanes", lanes), |bencher| {
            bencher.iter(|| {
                step += 1;
                Stream::go_to_step(&mut streams, step);
                streams.iter_mut().for_each(|stream| stream.normals_into(black_box(&mut point)));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, streams);
criterion_main!(benches);
