//! Score ascent by four estimators at equal cost: `cargo run --release -p mcsa-estimators --example climb`.
//!
//! The target is a Gaussian, so that the divergence between target and fit has a closed form, and its least value over
//! independent Gaussians is known.
#![expect(clippy::print_stdout, reason = "results for people")]

use faer::Mat;
use mcsa_core::{Error, Estimator, Seed};
use mcsa_estimators::{Ascent, jsa, msc, pmcsa, snis};
use mcsa_families::{GaussianFamily, MeanField, Normal, kl_gaussian};
use mcsa_models::Gaussian;
use mcsa_optim::Adam;

const DIM: usize = 10;

/// Unit variances, and a correlation of 0.3 between any two coordinates.
fn target() -> Result<Gaussian, Error> {
    let covariance = Mat::from_fn(DIM, DIM, |i, j| if i == j { 1.0 } else { 0.3 });
    Gaussian::new(vec![0.0; DIM], covariance.as_ref())
}

/// Divergence `KL(p || q)` of a fit after 0, 1000, .., 4000 steps.
fn climb<E: Estimator<Gaussian, MeanField>>(name: &str, estimator: E) -> Result<(), Error> {
    let target = target()?;
    let exact = Normal::new(target.mean().to_vec(), target.covariance().as_ref())?;
    let (family, optimizer) = (MeanField::new(DIM), Adam::new(0.003)?);
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
    let mut fit = ascent.start(family.at(&[3.0; DIM], &[2.0; DIM])?)?;
    print!("{name:>6}");
    for step in 0..5 {
        print!("{:8.3}", kl_gaussian(&exact, &family.moments(fit.params())?)?);
        if step < 4 {
            ascent.run(&mut fit, 1_000)?;
        }
    }
    println!();
    Ok(())
}

fn main() -> Result<(), Error> {
    println!(
        "KL(p || q) along the fit; no independent Gaussian is below {:.3}",
        target()?.mean_field_floor()
    );
    println!("  step       0    1000    2000    3000    4000");
    climb("pMCSA", pmcsa(10))?;
    climb("JSA", jsa(10))?;
    climb("MSC", msc(11))?;
    climb("SNIS", snis(10))
}
