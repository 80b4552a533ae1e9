//! Rates of wrong decisions of the stopping rule, for standard Gaussians fitted by ten chains from the optimum:
//! `cargo run --release -p mcsa-estimators --example false_stops -- [seeds] [steps]`.
//!
//! The averaged iterate is compared with the known optimum of the inclusive divergence, in the rule's units. A stop is false if the
//! worst error of a parameter is above the required accuracy of 0.2.
#![expect(clippy::print_stdout, reason = "a table for people")]

use faer::Mat;
use mcsa_core::{Error, Family, Seed, batch, batch_mut};
use mcsa_estimators::{Ascent, Outcome, Run, Stationary, pmcsa};
use mcsa_families::{FullRank, MeanField};
use mcsa_models::Gaussian;
use mcsa_optim::Adam;

const ACCURACY: f64 = 0.2;

/// `E_q[score^2]^(-1/2)` at the optimum, from draws of q.
fn units<F: Family>(family: &F, optimum: &[f64]) -> Vec<f64> {
    let (dim, draws) = (family.dim(), 4_000);
    let (mut z, mut log_q, mut work) = (vec![0.0; dim], [0.0], vec![0.0; family.work_len(1)]);
    let mut lane = [Seed::new(78).stream(0, 0)];
    let (mut square, mut score) = (vec![0.0; optimum.len()], vec![0.0; optimum.len()]);
    for _ in 0..draws {
        family.sample_into(optimum, &mut lane, batch_mut(&mut z, dim, 1), &mut log_q, &mut work);
        score.fill(0.0);
        family.add_scores(optimum, batch(&z, dim, 1), &[1.0], &mut score, &mut work);
        square.iter_mut().zip(&score).for_each(|(square, score)| *square += score * score);
    }
    square.iter().map(|square| (square / f64::from(draws)).sqrt().recip()).collect()
}

/// Fits from the optimum, one per seed, and prints a row of the table.
fn row<F: Family>(family: &F, optimum: &[f64], kind: &str, seeds: u64, steps: u64) -> Result<(), Error> {
    let (target, units) = (Gaussian::standard(family.dim()), units(family, optimum));
    let (mut stopped, mut wrong, mut worst) = (Vec::new(), 0, 0.0_f64);
    for replicate in 0..seeds {
        let (optimizer, seed) = (Adam::new(0.01)?, Seed::new(79).named(kind).child(replicate));
        let ascent = Ascent { target: &target, family, estimator: pmcsa(10), optimizer, seed };
        let mut fit = ascent.start(optimum.to_vec())?;
        let run = Run::of(steps).until(Stationary::to(ACCURACY)?);
        if let Outcome::Converged(accuracy) = ascent.run(&mut fit, run)? {
            let errors = accuracy.average.iter().zip(optimum).zip(&units);
            let error = errors.map(|((average, optimum), unit)| (average - optimum).abs() / unit);
            let error = error.fold(0.0, f64::max);
            stopped.push(accuracy.step);
            wrong += usize::from(error > ACCURACY);
            worst = worst.max(error);
        }
    }
    stopped.sort_unstable();
    let median = stopped.get(stopped.len() / 2).map_or_else(|| "-".into(), ToString::to_string);
    let count = format!("{}/{seeds}", stopped.len());
    println!("{:>10} {kind:11} {count:>7} {median:>12} {wrong:>6} {worst:>12.3}", optimum.len());
    Ok(())
}

fn main() -> Result<(), Error> {
    let number = |k: usize, default| std::env::args().nth(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (seeds, steps) = (number(1, 4), number(2, 30_000));
    println!("parameters family      stopped  median step  false  worst error");
    for (means, full) in [(1, 1), (14, 6), (45, 12), (100, 18), (300, 33), (1000, 62)] {
        let family = MeanField::new(means);
        row(&family, &family.at(&vec![0.0; means], &vec![1.0; means])?, "mean-field", seeds, steps)?;
        let family = FullRank::new(full);
        let factor = Mat::<f64>::identity(full, full);
        row(&family, &family.at(&vec![0.0; full], factor.as_ref())?, "full-rank", seeds, steps)?;
    }
    Ok(())
}
