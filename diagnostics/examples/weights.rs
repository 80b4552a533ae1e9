//! Diagnostics of importance weights and of chains: `cargo run --release -p mcsa-diagnostics --example weights`.
//!
//! Draws of a standard normal are weighted for normals of other scales. Weights for a narrow target are bounded; for a target of
//! more than root two times the scale they have no variance, and k-hat shows it.
#![expect(clippy::print_stdout, reason = "results for people")]

use mcsa_core::Seed;
use mcsa_diagnostics::{Pareto, effective_sample_size, importance_sample_size, r_hat};

const DRAWS: usize = 4_000;

fn main() {
    println!("scale of p   k-hat   reliable   draws worth");
    for scale in [0.7, 1.0, 1.2, 1.5, 2.0_f64] {
        let mut stream = Seed::new(1).stream(0, 0);
        let log_weight = |z: f64| 0.5 * z * z * (1.0 - 1.0 / (scale * scale)) - scale.ln();
        let log_weights: Vec<f64> = (0..DRAWS).map(|_| log_weight(stream.normal())).collect();
        let pareto = Pareto::of(&log_weights);
        let worth = importance_sample_size(&log_weights);
        println!("{scale:10.1} {:7.2} {:>10} {worth:13.0}", pareto.shape, pareto.is_reliable());
    }

    // Chains that remember their past: x' = a x + noise, with standard normal law at every time.
    println!("\nmemory a   R-hat   draws worth, of 4 chains of 1000");
    for memory in [0.0, 0.5, 0.9, 0.99_f64] {
        let noise = (1.0 - memory * memory).sqrt();
        let chain = |lane: u64| -> Vec<f64> {
            let mut stream = Seed::new(2).stream(lane, 0);
            let mut x = stream.normal();
            let mut step = |_| {
                x = memory * x + noise * stream.normal();
                x
            };
            (0..1_000).map(&mut step).collect()
        };
        let chains: Vec<Vec<f64>> = (0..4).map(chain).collect();
        println!("{memory:8.2} {:7.3} {:13.0}", r_hat(&chains), effective_sample_size(&chains));
    }
}
