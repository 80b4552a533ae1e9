//! Model of one's own: Poisson regression of counts, tested by the conformance suite, then sampled by NUTS and fitted.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use mcsa::prelude::*;
use mcsa::testing::model::{self, Case};

/// Poisson regression `y_t ~ Poisson(exp(z_0 + z_1 t))` with priors `z_i ~ N(0, 2^2)`.
struct Counts {
    times: Vec<f64>,
    counts: Vec<f64>,
    /// Factor of the likelihood's gradient: 1, or another number to show what the suite finds for a wrong gradient.
    slope: f64,
}

impl LogDensity for Counts {
    fn dim(&self) -> usize {
        2
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let term = |(t, y): (&f64, &f64)| y * (z[0] + z[1] * t) - (z[0] + z[1] * t).exp();
        let log_likelihood: f64 = self.times.iter().zip(&self.counts).map(term).sum();
        log_likelihood - (z[0] * z[0] + z[1] * z[1]) / 8.0
    }
}

impl Gradient for Counts {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&[-z[0] / 4.0, -z[1] / 4.0]);
        for (t, y) in self.times.iter().zip(&self.counts) {
            let residual = self.slope * (y - (z[0] + z[1] * t).exp());
            gradient[0] += residual;
            gradient[1] += residual * t;
        }
        self.log_density(z, work)
    }
}

fn counts(slope: f64) -> Counts {
    Counts {
        times: vec![-1.0, -0.6, -0.2, 0.2, 0.6, 1.0],
        counts: vec![1.0, 3.0, 2.0, 6.0, 9.0, 14.0],
        slope,
    }
}

fn main() -> Result<(), Error> {
    // The suite compares densities, gradients and batches; a wrong gradient is named with its place.
    println!("{}", model::report_gradient(&Case::new(counts(1.0))));
    let wrong = model::check_gradient(&Case::new(counts(1.01)));
    println!("with a gradient 1 % too large: {}", wrong.expect_err("it is wrong"));

    let target = counts(1.0);
    let sample = Sampling::new(4, 1_000).run(&Nuts::new(0.1)?, &target, Seed::new(1))?;
    println!("\n{sample}");

    let family = FullRank::new(2);
    let (estimator, optimizer) = (pmcsa(16), Adam::new(0.005)?);
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(2) };
    let mut fit = ascent.start(family.at(&[1.0, 1.0], Mat::identity(2, 2).as_ref())?)?;
    ascent.run(&mut fit, 5_000)?;
    let (mean, variance) = ascent.draws(&fit, 4_000)?.moments();
    println!("\nfit: mean {mean:.3?}, variance {variance:.3?}");
    println!("NUTS: mean {:.3?}, variance {:.3?}", sample.mean(), sample.variance());
    Ok(())
}
