//! Chains of three kernels on a bent target, with their diagnostics: `cargo run --release -p mcsa-kernels --example chains`.
//!
//! Each kernel is warmed up and then draws from the target; the exact means are zero. The random walk needs no gradient, the others do.
#![expect(clippy::print_stdout, reason = "results for people")]

use mcsa_core::{Error, Seed};
use mcsa_kernels::{Hmc, Nuts, Rwm, Sampling};
use mcsa_models::Banana;

fn main() -> Result<(), Error> {
    let target = Banana::new(1.0, 0.3)?;
    let plan = Sampling::new(4, 2_000);
    println!("--- random walk ---\n{}", plan.run(&Rwm::new(1.0)?, &target, Seed::new(1))?);
    println!("--- HMC, 8 steps ---\n{}", plan.run(&Hmc::new(0.3, 8)?, &target, Seed::new(1))?);
    let nuts = plan.run(&Nuts::new(0.3)?, &target, Seed::new(1))?;
    println!("--- NUTS ---\n{nuts}");
    for (i, (mean, error)) in nuts.mean().iter().zip(nuts.standard_errors()).enumerate() {
        println!("mean of coordinate {i} by NUTS: {mean:.3} +- {error:.3}");
    }
    Ok(())
}
