//! One transition of the random walk, gradient and elliptical kernels on a standard Gaussian, per chain.
//!
//! The target costs `O(d)`, so that the cost of the kernel itself is visible. Hamiltonian trajectories have 8 leapfrog steps.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::Mat;
use mcsa_core::{Address, Gradient, Kernel, LogDensity, Seed};
use mcsa_kernels::{Elliptical, GaussianPrior, Hmc, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm, Selection};

struct Standard(usize);

impl LogDensity for Standard {
    fn dim(&self) -> usize {
        self.0
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    }
}

impl Gradient for Standard {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        self.log_density(z, work)
    }
}

fn transition<K: Kernel<Standard>>(c: &mut Criterion, name: &str, kernel: impl Fn(usize) -> K) {
    let mut group = c.benchmark_group(name);
    for dim in [10, 100] {
        for chains in [1, 10, 100] {
            let (target, kernel) = (Standard(dim), kernel(dim));
            let start = Mat::from_fn(dim, chains, |i, j| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
            let mut state = kernel.init(&target, start).expect("the start fits the target");
            let mut work = vec![0.0; kernel.work_len(&target, chains)];
            let (mut lanes, mut step) = (Seed::new(1).streams(chains, 0), 0);
            group.throughput(Throughput::Elements(chains as u64));
            group.bench_function(BenchmarkId::new(format!("d={dim}"), format!("N={chains}")), |b| {
                b.iter(|| {
                    step += 1;
                    for (lane, stream) in (0..).zip(&mut lanes) {
                        stream.go_to(Address::of(lane, step));
                    }
                    kernel.step(&target, &mut NoProposal { dim }, &mut state, &mut lanes, &mut work)
                });
            });
        }
    }
    group.finish();
}

fn transitions(c: &mut Criterion) {
    let hmc = |selection| {
        let leapfrog = Leapfrog::new(0.2, Mass::unit()).expect("a positive step");
        Hmc::with(leapfrog, 8, selection).expect("eight steps")
    };
    transition(c, "rwm", |dim| Rwm::new(2.38 / (dim as f64).sqrt()).expect("a positive scale"));
    transition(c, "mala", |_| Mala::new(0.5).expect("a positive step"));
    transition(c, "hmc end point", |_| hmc(Selection::EndPoint));
    transition(c, "hmc multinomial", |_| hmc(Selection::Multinomial));
    transition(c, "nuts", |_| Nuts::new(0.2).expect("a positive step"));
    transition(c, "elliptical", |dim| Elliptical::new(GaussianPrior::standard(dim)));
}

criterion_group!(benches, transitions);
criterion_main!(benches);
