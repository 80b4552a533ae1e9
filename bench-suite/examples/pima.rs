//! Parallel score ascent compared with exact inference: hierarchical logistic regression of the Pima data, inputs
//! standardised, nine in ten rows for training. Prints means over splits, and for the first five splits the predictions from
//! NUTS. `cargo run --release -p mcsa-bench-suite --example pima -- [SPLITS]`, 100 by default.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]
#![expect(clippy::disallowed_methods, reason = "the time it takes is one of the answers")]

use std::time::Instant;

use faer::Mat;
use mcsa_core::{Error, LogDensity, Seed};
use mcsa_data::{Catalogue, Dataset, Share, Split, Standardised};
use mcsa_estimators::{Ascent, pmcsa};
use mcsa_families::{GaussianFamily, MeanField};
use mcsa_kernels::{Nuts, Sampling};
use mcsa_models::{
    HierarchicalLogistic, Logistic, ScalePrior, accuracy, log_odds_from_draws, log_odds_from_moments,
    log_predictive_density,
};
use mcsa_optim::Adam;
use rayon::prelude::*;

const STEPS: u64 = 10_000;
/// Number of coordinates before the weights: the logarithms of two scales.
const SCALES: usize = 2;

struct Problem {
    model: HierarchicalLogistic,
    test: Dataset,
}

fn problem(data: &Dataset, seed: Seed) -> Result<Problem, Error> {
    let told = |error: &dyn std::fmt::Display| Error::invalid(error.to_string());
    let split = Split::new(data, Share::Nearest(0.9), seed).map_err(|error| told(&error))?;
    let Standardised { train, test, .. } = Standardised::new(&split).map_err(|error| told(&error))?;
    let model = HierarchicalLogistic::new(train.x.as_ref(), &train.y, ScalePrior::HalfNormal)?;
    // The column of the intercept follows the inputs.
    Ok(Problem { model, test: test.with_ones_last() })
}

/// Accuracy and mean log predictive density on the held-out rows.
fn scores(test: &Dataset, odds: &[f64]) -> [f64; 2] {
    [accuracy(odds, &test.y), log_predictive_density(odds, &test.y)]
}

fn by_ascent(Problem { model, test }: &Problem, seed: Seed) -> Result<[f64; 2], Error> {
    let family = MeanField::new(model.dim());
    let ascent =
        Ascent { target: model, family: &family, estimator: pmcsa(10), optimizer: Adam::new(0.01)?, seed };
    let mut fit = ascent.start(family.at(&vec![0.0; model.dim()], &vec![1.0; model.dim()])?)?;
    ascent.run(&mut fit, STEPS)?;
    let (mean, variances) = (family.mean(fit.params()), family.variances(fit.params())?);
    let mut odds = vec![0.0; test.rows()];
    log_odds_from_moments::<Logistic>(test.x.as_ref(), &mean[SCALES..], &variances[SCALES..], &mut odds);
    Ok(scores(test, &odds))
}

fn by_nuts(Problem { model, test }: &Problem, seed: Seed) -> Result<[f64; 2], Error> {
    let run = Sampling::new(4, 2_000).acceptance(0.9);
    let sample = run.run_from(&Nuts::new(0.1)?, model, Mat::zeros(model.dim(), 4), seed)?;
    let draws = sample.draws.subrows(SCALES, model.dim() - SCALES);
    let mut odds = vec![0.0; test.rows()];
    log_odds_from_draws::<Logistic>(test.x.as_ref(), draws, &mut odds);
    Ok(scores(test, &odds))
}

fn main() -> Result<(), Error> {
    let splits = std::env::args().nth(1).and_then(|splits| splits.parse().ok()).unwrap_or(100_u64);
    let pima = Catalogue::new(None).load("pima").map_err(|error| Error::invalid(error.to_string()))?;
    let start = Instant::now();
    let all: Vec<[f64; 2]> = (0..splits)
        .into_par_iter()
        .map(|k| by_ascent(&problem(&pima, Seed::new(1).child(k))?, Seed::new(2).child(k)))
        .collect::<Result<_, _>>()?;
    let seconds = start.elapsed().as_secs_f64();
    for (k, name) in ["accuracy", "log predictive density"].into_iter().enumerate() {
        let n = all.len() as f64;
        let mean = all.iter().map(|s| s[k]).sum::<f64>() / n;
        let square = all.iter().map(|s| (s[k] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        println!("{name}: {mean:.4}, standard error {:.4}, over {n} splits", (square / n).sqrt());
    }
    let threads = rayon::current_num_threads();
    println!("{splits} fits of {STEPS} steps: {seconds:.1} s on {threads} threads");
    let both = (0..5.min(splits)).into_par_iter().map(|k| {
        let problem = problem(&pima, Seed::new(1).child(k))?;
        Ok((by_ascent(&problem, Seed::new(2).child(k))?, by_nuts(&problem, Seed::new(3).child(k))?))
    });
    for (k, (ours, exact)) in both.collect::<Result<Vec<_>, Error>>()?.iter().enumerate() {
        println!(
            "split {k}: accuracy {:.4}, NUTS {:.4}; log predictive density {:.4}, NUTS {:.4}",
            ours[0], exact[0], ours[1], exact[1]
        );
    }
    Ok(())
}
