//! Joint fits of a path as long as the exchange rates, ten particles: `cargo bench -p mcsa-speed --bench paths`.
//!
//! Throughput is in steps: one of conditional SMC, the scores in lambda and theta, and Adam.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcsa_core::{Estimator, Seed};
use mcsa_estimators::{Ascent, Joint, msc_paths, smc_paths};
use mcsa_families::Twisted;
use mcsa_models::{FxVolatility, Theta};
use mcsa_optim::Adam;

const RETURNS: usize = 119;
/// Number of steps of the published fits.
const STEPS: u64 = 2_000;

fn model() -> FxVolatility {
    let theta = Theta { mu: -0.5, atanh_phi: 1.2, log_sigma: -1.0, log_beta: -7.0 };
    let mut returns = vec![0.0; RETURNS];
    let empty = FxVolatility::new(returns.clone(), theta).expect("finite");
    empty.simulate_into(&mut Seed::new(1).stream(0, 0), &mut [0.0; RETURNS + 1], &mut returns);
    FxVolatility::new(returns, theta).expect("finite")
}

fn fit<E: Estimator<FxVolatility, Twisted>>(criterion: &mut Criterion, name: &str, estimator: E) {
    let target = model();
    let optimizer = Adam::new(0.1).expect("a positive rate");
    let ascent = Ascent { target: &target, family: &Twisted, estimator, optimizer, seed: Seed::new(2) };
    let mut start = vec![0.0; 2 * (RETURNS + 1) + 4];
    start[RETURNS + 1..2 * (RETURNS + 1)].fill(0.5);
    let mut group = criterion.benchmark_group("joint fit of 119 returns");
    group.sample_size(10).throughput(Throughput::Elements(STEPS));
    group.bench_function(name, |bench| {
        bench.iter(|| {
            let mut fit = ascent.start(start.clone()).expect("shapes fit");
            ascent.run(&mut fit, STEPS).expect("a finite fit")
        });
    });
    group.finish();
}

fn paths(criterion: &mut Criterion) {
    fit(criterion, "msc/10", Joint { climb: msc_paths(10) });
    fit(criterion, "smc/10", Joint { climb: smc_paths(10).expect("particles") });
}

criterion_group!(benches, paths);
criterion_main!(benches);
