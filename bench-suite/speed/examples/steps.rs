//! Microseconds of a step of pMCSA, and of its ten densities alone: `cargo run --release -p mcsa-speed --example steps -- CORES [NAME]`.
//!
//! `bench-suite/anchors/steps.py` compares them with the same step in JAX.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::time::Instant;

use mcsa_speed::{GOOD, paths};

/// Median time of some runs of a few steps, in microseconds a step.
#[expect(clippy::disallowed_methods, reason = "a measurement of time")]
fn microseconds(mut steps: impl FnMut(u64), count: u64) -> f64 {
    steps(count);
    let mut times: Vec<f64> = (0..11)
        .map(|_| {
            let begun = Instant::now();
            steps(count);
            begun.elapsed().as_secs_f64() * 1e6 / count as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let only = std::env::args().nth(2);
    let cores = std::env::args().nth(1).map_or(1, |word| word.parse().expect("a number of cores"));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().expect(GOOD);
    pool.install(|| {
        for path in
            paths().into_iter().filter(|path| only.as_deref().is_none_or(|name| path.name.starts_with(name)))
        {
            if let Some(densities) = path.densities {
                let [step, alone] = [path.start, densities].map(|make| microseconds(make(), 10 * path.steps));
                println!("{}\t{step}\t{alone}", path.name);
            }
        }
    });
}
