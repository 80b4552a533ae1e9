//! Posterior of one's own: HMC chains, a full-rank Gaussian, progress, checkpoint, resume.
//!
//! A logistic regression of (dose, patients, responses), given by closures for log density and gradient. If the program is
//! interrupted and started again, it continues from its checkpoint, and the result is the same to the last bit.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

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
    let warm = Sampling::new(10, 0).run(&Hmc::new(0.1, 8)?, &target, Seed::new(1))?;
    let (family, estimator) = (FullRank::new(2), ChainScore::new(warm.kernel, 10, Average::Chains));
    let (optimizer, seed) = (Adam::new(0.01)?, Seed::new(2));
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed };
    let start = family.at(&[0.0, 0.0], Mat::identity(2, 2).as_ref())?;
    let mut fit = ascent.resume_or("own_posterior.fit", || ascent.start_at(start, warm.positions))?;
    let run = Run::to(20_000).until(Stationary::to(0.1)?).progress().checkpoint("own_posterior.fit", 1_000);
    println!("{}", ascent.run(&mut fit, run)?);
    // The answer: draws of q, their weights for p, and equally weighted points. k-hat judges the tail of the weights alone: a
    // Gaussian's tail is lighter than that of a logistic posterior, which here costs few of the draws.
    let draws = ascent.draws(&fit, 4_000)?;
    println!(
        "k-hat {:.2}: {}; effective sample size {:.0}",
        draws.shape,
        draws.tail_weight(),
        draws.sample_size
    );
    let points = draws.resampled(1_000, &mut Seed::new(3).stream(0, 0))?;
    println!("mean of 1000 points: {:.2?}; of all draws: {:.2?}", mean(&points), draws.moments().0);
    Ok(())
}

fn mean(points: &Mat<f64>) -> Vec<f64> {
    (0..points.nrows()).map(|i| points.row(i).iter().sum::<f64>() / points.ncols() as f64).collect()
}
