//! Benchmarks of one step of each rule, per parameter: `cargo bench -p mcsa-speed --bench optimizers`. The throughput counts parameters.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcsa_core::Optimizer;
use mcsa_optim::{
    AdaGrad, Adam, Averaged, Averaging, Clip, Clipped, Dog, Momentum, Nesterov, RmsProp, Schedule, Sgd,
};

fn rule<O: Optimizer>(criterion: &mut Criterion, name: &str, rule: O) {
    let mut group = criterion.benchmark_group(name);
    for num_params in [100, 10_000] {
        let direction: Vec<f64> = (0..num_params).map(|k| (k as f64).sin()).collect();
        let (mut state, mut params) = (rule.init(num_params), vec![0.0; num_params]);
        group.throughput(Throughput::Elements(num_params as u64));
        group.bench_function(BenchmarkId::from_parameter(num_params), |bench| {
            bench.iter(|| rule.ascend(&mut state, &mut params, black_box(&direction)));
        });
    }
    group.finish();
}

fn optimizers(criterion: &mut Criterion) {
    let power = || Schedule::power(0.1, 10.0, 0.7).expect("good constants");
    let sgd = || Sgd::new(1e-6).expect("a good rate");
    rule(criterion, "sgd", sgd());
    rule(criterion, "sgd_power", Sgd::new(power()).expect("a good rate"));
    rule(criterion, "momentum", Momentum::new(1e-6).expect("a good rate"));
    rule(criterion, "nesterov", Nesterov::new(1e-6).expect("a good rate"));
    rule(criterion, "adam", Adam::new(1e-6).expect("a good rate"));
    rule(criterion, "rms_prop", RmsProp::new(1e-6).expect("a good rate"));
    rule(criterion, "ada_grad", AdaGrad::new(1e-6).expect("a good rate"));
    rule(criterion, "dog", Dog::default());
    let clip = Clip::norm(1.0).expect("a good bound");
    rule(criterion, "clipped_norm_sgd", Clipped { clip, optimizer: sgd() });
    let clip = Clip::value(0.5).expect("a good bound");
    rule(criterion, "clipped_value_sgd", Clipped { clip, optimizer: sgd() });
    rule(criterion, "averaged_sgd", Averaged { averaging: Averaging::all(), optimizer: sgd() });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(200)).measurement_time(std::time::Duration::from_millis(500));
    targets = optimizers
}
criterion_main!(benches);
