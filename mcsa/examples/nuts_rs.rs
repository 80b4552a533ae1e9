//! Densities and steps of another crate, `nuts-rs`: a density of it is fitted in one call, and its step is judged.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::collections::HashMap;

use mcsa::core::LogDensity;
use mcsa::models::Banana;
use mcsa::prelude::*;
use mcsa::testing::{Step, judge};
use nuts_rs::rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use nuts_rs::{
    Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings,
    StepSizeAdaptMethod,
};

/// A density of `nuts-rs` as a target. An evaluation may change it, so each is made with a copy.
struct OfNutsRs<F>(F);

impl<F: CpuLogpFunc + Clone + Send + Sync> LogDensity for OfNutsRs<F> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.gradient_into(z, &mut work[..z.len()], &mut [])
    }
}

impl<F: CpuLogpFunc + Clone + Send + Sync> Gradient for OfNutsRs<F> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        // An error after which its sampler goes on is a point without mass.
        let failed = |error: F::LogpError| if error.is_recoverable() { f64::NEG_INFINITY } else { f64::NAN };
        self.0.clone().logp(z, gradient).unwrap_or_else(failed)
    }
}

/// A target as a density of `nuts-rs`.
#[derive(Clone)]
struct ForNutsRs<P>(P);

#[derive(Debug)]
struct NoMass;

impl std::error::Error for NoMass {}

impl std::fmt::Display for NoMass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the log density is not finite")
    }
}

impl LogpError for NoMass {
    fn is_recoverable(&self) -> bool {
        true
    }
}

impl<P: Gradient> HasDims for ForNutsRs<P> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::new()
    }
}

impl<P: Gradient> CpuLogpFunc for ForNutsRs<P> {
    type LogpError = NoMass;
    type FlowParameters = ();
    type ExpandedVector = ();

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn logp(&mut self, z: &[f64], gradient: &mut [f64]) -> Result<f64, NoMass> {
        let log_p = self.0.gradient_into(z, gradient, &mut vec![0.0; self.0.work_len(1)]);
        Some(log_p).filter(|log_p| log_p.is_finite()).ok_or(NoMass)
    }

    fn expand_vector<R: Rng + ?Sized>(&mut self, _: &mut R, _: &[f64]) -> Result<(), CpuMathError> {
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let banana = Banana::new(1.5, 0.4)?;
    println!("{}", mcsa::fit(&OfNutsRs(ForNutsRs(banana)), &mcsa::Options::seeded(1))?);

    // A chain begun anew for each step takes its scales from the gradient at the present point, and so is not invariant. In use a chain
    // keeps the scales that it has after its warm-up.
    let mut settings = DiagNutsSettings { num_tune: 0, ..DiagNutsSettings::default() };
    settings.adapt_options.step_size_settings.adapt_options.method = StepSizeAdaptMethod::Fixed(0.5);
    let step = Step::new(|at, _, stream| {
        let mut random = ChaCha8Rng::seed_from_u64((stream.uniform() * 2.0_f64.powi(53)) as u64);
        let math = CpuMath::new(ForNutsRs(banana));
        let moved = settings.new_chain(0, math, &mut random).and_then(|mut chain| {
            chain.set_position(at.position())?;
            chain.draw()
        });
        if let Ok((z, _)) = moved {
            let log_p = at.log_p_at(&z);
            at.move_to(&z, log_p);
        }
    });
    println!("{}", judge(1e-4).quick().of(&step, &banana));
    Ok(())
}
