//! Cost of a step without its estimator: loop, record and stopping rule, with a direction of no cost.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Ensemble, Error, Estimator, Metric, Parametric, Record, Seed, Stream};
use mcsa_estimators::{Ascent, Run, Stationary, pmcsa};
use mcsa_families::MeanField;
use mcsa_models::Gaussian;
use mcsa_optim::{Adam, Sgd};

/// An estimator of no cost: ten chains of which all but one move, a direction of ones, and the usual metrics of a kernel.
struct Free;

#[derive(Default)]
struct Told;

impl Record for Told {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        for metric in [
            Metric::ACCEPTANCE,
            Metric::MAX_WEIGHT,
            Metric::ESS,
            Metric::NON_FINITE,
            Metric::LOG_WEIGHT_TOP,
            Metric::LOG_WEIGHT_MEAN,
        ] {
            sink(metric, black_box(0.5));
        }
    }
}

impl Estimator<Gaussian, MeanField> for Free {
    type State = Ensemble;
    type Info = Told;
    fn num_params(&self, _: &Gaussian, family: &MeanField) -> usize {
        family.num_params()
    }
    fn check_params(&self, _: &Gaussian, family: &MeanField, params: &[f64]) -> Result<(), Error> {
        family.check(params)
    }
    fn lanes(&self) -> usize {
        10
    }
    fn work_len(&self, _: &Gaussian, _: &MeanField) -> usize {
        0
    }
    fn init(&self, target: &Gaussian, _: &MeanField, _: &[f64], _: &mut [Stream]) -> Result<Ensemble, Error> {
        Ensemble::new(target, Mat::zeros(10, 10))
    }
    fn check(&self, _: &Gaussian, _: &MeanField, _: &Ensemble) -> Result<(), Error> {
        Ok(())
    }
    fn chains<'s>(&self, state: &'s Ensemble) -> Option<&'s Ensemble> {
        Some(state)
    }
    fn ascent_direction(
        &self,
        _: &Gaussian,
        _: &MeanField,
        _: &[f64],
        state: &mut Ensemble,
        _: &mut [Stream],
        direction: &mut [f64],
        _: &mut [f64],
    ) -> Result<Told, Error> {
        (1..10).for_each(|j| state.positions[(0, j)] += 1.0);
        // Of alternating signs, so that lambda does not drift.
        let sign = if state.positions[(0, 1)] % 2.0 == 0.0 { 1.0 } else { -1.0 };
        direction.fill(sign);
        Ok(Told)
    }
}

const STEPS: u64 = 20_000;

fn watching(c: &mut Criterion) {
    let mut group = c.benchmark_group("20 params, 10 chains");
    group.throughput(Throughput::Elements(STEPS)).sample_size(10);
    let (target, family) = (Gaussian::standard(10), MeanField::new(10));
    let seed = Seed::new(1);
    let rule = Stationary::to(1e-9).expect("a positive accuracy");
    let optimizer = Sgd::new(1e-3).expect("a positive rate");
    let free = Ascent { target: &target, family: &family, estimator: Free, optimizer, seed };
    let optimizer = Adam::new(0.01).expect("a positive rate");
    let real = Ascent { target: &target, family: &family, estimator: pmcsa(10), optimizer, seed };
    let start = vec![0.5; 20];
    macro_rules! bench {
        ($name:literal, $ascent:ident) => {
            for ruled in [false, true] {
                let name = if ruled { "with a rule" } else { "watched" };
                group.bench_function(BenchmarkId::new($name, name), |b| {
                    b.iter(|| {
                        let mut fit = $ascent.start(start.clone()).expect("parts that fit");
                        if ruled {
                            $ascent.run(&mut fit, Run::of(STEPS).until(rule))
                        } else {
                            $ascent.run(&mut fit, STEPS)
                        }
                    });
                });
            }
        };
    }
    bench!("a free direction", free);
    bench!("pmcsa", real);
    group.finish();
}

criterion_group!(benches, watching);
criterion_main!(benches);
