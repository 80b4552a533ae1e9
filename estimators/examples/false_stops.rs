//! How often the stopping rule is wrong: `cargo run --release -p mcsa-bench-suite --example false_stops -- [seeds] [steps]`.
//!
//! Each row fits one target by one method at one rate from many seeds under `Stationary::to(0.1)`, and compares the averaged
//! iterate with the known inclusive optimum: the target's means and variances. Errors are in the rule's own
//! units; a stop is false if the worst parameter's error is above the accuracy that was claimed.
#![expect(clippy::print_stdout, reason = "a table for people")]

use std::collections::BTreeMap;

use mcsa::{Error, Estimator, Family, LogDensity, Seed};
use mcsa_bench_suite::catalog::correlated_gaussian as gaussian;
use mcsa_estimators::{Ascent, Outcome, Stationary, jsa, msc_rb, pmcsa};
use mcsa_families::{Defence, MeanField, Tail};
use mcsa_models::{Gaussian, GroundTruth, LogisticRegression, SkewNormal, Student};
use mcsa_optim::Adam;
use mcsa_optim::deterministic::{Lbfgs, Quadrature, inclusive_optimum};
use rayon::prelude::*;

/// A target with the means and variances at which the inclusive divergence of independent Gaussians is least.
struct Case {
    name: &'static str,
    target: Box<dyn LogDensity>,
    mean: Vec<f64>,
    scale: Vec<f64>,
}

impl Case {
    fn known<P: GroundTruth + 'static>(name: &'static str, target: P) -> Result<Self, Error> {
        let missing = || Error::invalid(format!("{name} has no variance"));
        let (mean, covariance) =
            (target.mean().ok_or_else(missing)?, target.covariance().ok_or_else(missing)?);
        let scale = (0..mean.len()).map(|i| covariance[(i, i)].sqrt()).collect();
        Ok(Self { name, target: Box::new(target), mean, scale })
    }
}

/// Two weights of a logistic regression on twelve data, its optimum by quadrature.
fn logistic() -> Result<Case, Error> {
    let mut stream = Seed::new(5).stream(0, 0);
    let x = faer::Mat::from_fn(12, 2, |_, j| if j == 0 { 1.0 } else { stream.normal() });
    let labels: Vec<f64> =
        (0..12).map(|i| f64::from(u8::from(x[(i, 1)] + 0.5 > 0.3 * stream.normal()))).collect();
    let target = LogisticRegression::new(x.as_ref(), &labels, 2.0)?;
    let side = 301;
    let nodes = faer::Mat::from_fn(2, side * side, |i, k| {
        let along = if i == 0 { k % side } else { k / side };
        16.0 * along as f64 / (side - 1) as f64 - 6.0
    });
    let mut log_p = vec![0.0; nodes.ncols()];
    let mut work = vec![0.0; target.work_len(nodes.ncols())];
    target.log_densities(nodes.as_ref(), &mut log_p, &mut work);
    let p = Quadrature::on_grid(nodes.as_ref(), &log_p)?;
    let family = MeanField::new(2);
    let peak = inclusive_optimum(&Lbfgs::default(), &p, &family, &[0.0; 4])?.converged()?;
    let scale = peak.point[2..].iter().map(|rho| family.link.scale(*rho)).collect();
    Ok(Case { name: "logistic, 2", target: Box::new(target), mean: peak.point[..2].to_vec(), scale })
}

/// One fit: how it ended, the worst error in units if it stopped, and whether k-hat of the last guide was low.
struct Fitted {
    outcome: Outcome,
    error: f64,
    light: bool,
}

fn fit<E: Estimator<dyn LogDensity, MeanField>>(
    case: &Case,
    estimator: E,
    rate: f64,
    rule: &Stationary,
    seed: Seed,
    steps: u64,
) -> Result<Fitted, Error> {
    let family = MeanField::new(case.mean.len());
    let ascent = Ascent {
        target: case.target.as_ref(),
        family: &family,
        estimator,
        optimizer: Adam::new(rate)?,
        seed,
    };
    let start = family.at(&vec![0.0; case.mean.len()], &vec![1.0; case.mean.len()])?;
    let mut fit = ascent.start(start)?;
    let outcome = ascent.run_until(rule, &mut fit, steps, &mut [])?;
    let average = match &outcome {
        Outcome::Converged(accuracy) => accuracy.average.clone(),
        _ => vec![f64::NAN; family.num_params()],
    };
    let optimum = family.at(&case.mean, &case.scale)?;
    let dim = case.mean.len();
    let error = |j: usize| {
        let scale = case.scale[j % dim];
        let slope =
            |rho: f64| (family.link.scale(rho + 1e-5).ln() - family.link.scale(rho - 1e-5).ln()) / 2e-5;
        let unit = if j < dim { scale } else { 1.0 / (std::f64::consts::SQRT_2 * slope(optimum[j])) };
        ((average[j] - optimum[j]) / unit).abs()
    };
    let error = (0..2 * dim).map(error).fold(0.0, f64::max);
    Ok(Fitted { outcome, error, light: ascent.health(&fit)?.has_light_tails() })
}

fn in_short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::BudgetSpent { accuracy: Some(accuracy) } => {
            accuracy.obstacle.map_or_else(String::new, |o| format!("{o:?}").to_lowercase())
        }
        Outcome::StationaryButStuck { .. } => "stuck".into(),
        Outcome::Converged(_) => "converged".into(),
        other => other.to_string(),
    }
}

const ACCURACY: f64 = 0.1;

fn main() -> Result<(), Error> {
    let argument =
        |k: usize, default: u64| std::env::args().nth(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (seeds, steps) = (argument(1, 20), argument(2, 50_000));
    let cases = [
        Case::known(
            "Gaussian, 5",
            Gaussian::diagonal(vec![1.0, -1.0, 0.0, 2.0, 0.5], vec![0.5, 1.0, 2.0, 1.0, 1.5])?,
        )?,
        Case::known("correlated 0.2, 10", gaussian(10, 0.2)?)?,
        Case::known("correlated 0.5, 10", gaussian(10, 0.5)?)?,
        Case::known("skew normal, 1", SkewNormal::msc())?,
        Case::known("Student 5, 3", Student::new(vec![0.0; 3], vec![1.0; 3], 5.0)?)?,
        logistic()?,
    ];
    println!(
        "accuracy {ACCURACY}, {seeds} seeds, at most {steps} steps; false: worst error above the accuracy claimed"
    );
    println!(
        "{:20} {:14} {:>6} {:>8} {:>8} {:>6} {:>8} {:>7} {:>11}  not stopped because",
        "target", "method", "rate", "stopped", "steps", "false", "above 2x", "worst", "low k-hat"
    );
    let rule = Stationary::to(ACCURACY)?;
    let mut totals = BTreeMap::<String, [usize; 5]>::new();
    for case in &cases {
        let dim = case.mean.len();
        for method in ["pmcsa 10", "jsa 10", "msc-rb 10", "pmcsa, defended"] {
            for rate in [0.003, 0.01, 0.03, 0.1] {
                let one = |replicate: u64| {
                    let seed = Seed::new(77).named(case.name).child(replicate);
                    match method {
                        "pmcsa 10" => fit(case, pmcsa(10), rate, &rule, seed, steps),
                        "jsa 10" => fit(case, jsa(10), rate, &rule, seed, steps),
                        "msc-rb 10" => fit(case, msc_rb(10), rate, &rule, seed, steps),
                        _ => {
                            let defence = Defence::new(0.1, Tail::student(dim, 3.0)?)?;
                            fit(case, pmcsa(10).guarded(defence), rate, &rule, seed, steps)
                        }
                    }
                };
                let fits = (0..seeds).into_par_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
                let stopped: Vec<&Fitted> =
                    fits.iter().filter(|f| matches!(f.outcome, Outcome::Converged(_))).collect();
                let mut lengths: Vec<u64> = stopped
                    .iter()
                    .filter_map(|f| match &f.outcome {
                        Outcome::Converged(accuracy) => Some(accuracy.step),
                        _ => None,
                    })
                    .collect();
                lengths.sort_unstable();
                let above = |factor: f64, light: Option<bool>| {
                    let counts =
                        |f: &&&Fitted| f.error > factor * ACCURACY && light.is_none_or(|l| f.light == l);
                    stopped.iter().filter(counts).count()
                };
                let light = stopped.iter().filter(|f| f.light).count();
                let worst = stopped.iter().map(|f| f.error / ACCURACY).fold(0.0, f64::max);
                let mut reasons = BTreeMap::<String, usize>::new();
                for f in fits.iter().filter(|f| !matches!(f.outcome, Outcome::Converged(_))) {
                    *reasons.entry(in_short(&f.outcome)).or_default() += 1;
                }
                let reasons: Vec<String> = reasons.iter().map(|(r, n)| format!("{n} {r}")).collect();
                println!(
                    "{:20} {:14} {:>6} {:>8} {:>8} {:>6} {:>8} {:>7.2} {:>11}  {}",
                    case.name,
                    method,
                    rate,
                    format!("{}/{}", stopped.len(), fits.len()),
                    lengths.get(lengths.len() / 2).map_or_else(|| "-".into(), ToString::to_string),
                    above(1.0, None),
                    above(2.0, None),
                    worst,
                    format!("{}: {} false", light, above(1.0, Some(true))),
                    reasons.join(", ")
                );
                let row = [fits.len(), stopped.len(), above(1.0, None), light, above(1.0, Some(true))];
                for key in [format!("rate {rate}"), case.name.to_owned(), method.to_owned(), "all".into()] {
                    totals.entry(key).or_default().iter_mut().zip(row).for_each(|(total, row)| *total += row);
                }
            }
        }
    }
    println!();
    for (what, [fits, stopped, wrong, light, light_wrong]) in totals {
        println!(
            "{what:20} {fits:5} fits, {stopped:5} stopped, {wrong:4} of these false; with low k-hat {light:5}, {light_wrong:4} false"
        );
    }
    Ok(())
}
