//! Amortised score climbing (MSC, section 3.5): a latent factor per datum, one encoder for all data, and the model's parameters, learned
//! together from a chain per datum.
//!
//! The model is probabilistic principal component analysis, whose largest evidence is known. The encoder is a Gaussian whose mean is
//! linear in the datum, so it can be exact. After 10,000 steps both methods are within a nat of the largest evidence, from 507 below it.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use mcsa::estimators::{Joint, ScanScore};
use mcsa::families::Amortised;
use mcsa::kernels::Acceptance;
use mcsa::models::FactorAnalysis;
use mcsa::optim::Schedule;
use mcsa::prelude::*;

const ROWS: usize = 500;

fn main() -> Result<(), Error> {
    let mut stream = Seed::new(1).stream(0, 0);
    let mut data = Mat::zeros(3, ROWS);
    for j in 0..ROWS {
        let factor = stream.normal();
        for (i, loading) in [1.0, -0.6, 0.4].into_iter().enumerate() {
            data[(i, j)] = 0.3 + loading * factor + 0.5 * stream.normal();
        }
    }
    let model = FactorAnalysis::new(data.clone(), 1)?;
    let gaussian = MeanField::new(1);
    let family = Amortised::new(gaussian, data)?;
    let encoder = family.same_for_all(&gaussian.at(&[0.0], &[1.0])?)?;
    // Loadings, centre and log scale.
    let theta = [0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0];
    println!(
        "log evidence at the start {:.2}, the largest {:.2}",
        model.log_evidence(&theta)?,
        model.largest_log_evidence()?
    );

    // 25 data a step; one candidate beside the state of each chain (conditional importance sampling is Barker's rule then), or JSA.
    for (name, acceptance) in [("MSC", Acceptance::Barker), ("JSA", Acceptance::Metropolis)] {
        let ascent = Ascent {
            target: &model,
            family: &family,
            estimator: Joint { climb: ScanScore { batch: 25, acceptance } },
            optimizer: Adam::new(Schedule::power(1.0, 300.0, 0.7)?)?,
            seed: Seed::new(2),
        };
        let mut fit = ascent.start([&encoder[..], &theta].concat())?;
        for steps in [500, 2_000, 10_000] {
            ascent.run(&mut fit, steps)?;
            let learned = &fit.params()[encoder.len()..];
            println!("{name}, {steps} steps: log evidence {:.2}", model.log_evidence(learned)?);
        }
    }
    Ok(())
}
