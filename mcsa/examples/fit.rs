//! Posterior of one's own in one call: weighted draws, moments, evidence, and a verdict.
//!
//! A logistic regression of (dose, patients, responses), given by closures for log density and gradient.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use mcsa::Options;
use mcsa::prelude::*;

const TRIALS: [(f64, f64, f64); 4] =
    [(-0.9, 40.0, 4.0), (-0.3, 40.0, 13.0), (0.1, 40.0, 22.0), (0.7, 40.0, 35.0)];

fn main() -> Result<(), Error> {
    let logit = |z: &[f64], dose: f64| z[0] + z[1] * dose;
    let target = from_fn(2, |z| {
        let log_likelihood = |(dose, n, y)| y * logit(z, dose) - n * logit(z, dose).exp().ln_1p();
        TRIALS.map(log_likelihood).iter().sum::<f64>() - 0.02 * (z[0] * z[0] + z[1] * z[1])
    })
    .with_gradient(|z, gradient| {
        gradient.copy_from_slice(&[-0.04 * z[0], -0.04 * z[1]]);
        for (dose, n, y) in TRIALS {
            let residual = y - n / (1.0 + (-logit(z, dose)).exp());
            gradient[0] += residual;
            gradient[1] += residual * dose;
        }
    });
    let options = Options { progress: true, checkpoint: Some("fit.state".into()), ..Options::seeded(1) };
    println!("{}", mcsa::fit(&target, &options)?);
    Ok(())
}
