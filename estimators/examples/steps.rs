//! Runs a number of steps of one estimator on a target of the shape of the Pima data, for counting instructions:
//! `cargo run --release -p mcsa-estimators --example steps -- pmcsa 1000`. Without arguments it lists the estimators.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the shell")]

use std::process::ExitCode;

use faer::Mat;
use mcsa_core::{Estimator, LogDensity, Seed};
use mcsa_estimators::{Ascent, Controlled, Elbo, Moments, jsa, msc, msc_rb, pmcsa, single, snis};
use mcsa_families::{FullRank, MeanField, MomentMatched, MultivariateT};
use mcsa_kernels::Hmc;
use mcsa_models::{HierarchicalLogistic, ScalePrior};
use mcsa_optim::{Adam, Sgd};

fn target() -> HierarchicalLogistic {
    let mut stream = Seed::new(1).stream(0, 0);
    let inputs = Mat::from_fn(691, 8, |_, _| stream.normal());
    let labels: Vec<f64> =
        (0..691).map(|i| f64::from(u8::from(inputs[(i, 0)] + stream.normal() > 0.0))).collect();
    HierarchicalLogistic::new(inputs.as_ref(), &labels, ScalePrior::HalfNormal)
        .expect("finite inputs, labels 0 and 1")
}

/// Running moments of ten chains, without a learning rate.
fn moments<F: MomentMatched>(family: &F, start: Vec<f64>, steps: u64) -> Result<(), mcsa_core::Error> {
    let target = target();
    let (estimator, optimizer) = (Moments::new(pmcsa(10), 44.0), Sgd::new(1.0)?);
    let ascent = Ascent { target: &target, family, estimator, optimizer, seed: Seed::new(2) };
    let mut fit = ascent.start(start)?;
    ascent.run(&mut fit, steps).map(drop)
}

fn run<E: Estimator<HierarchicalLogistic, MeanField>>(
    estimator: E,
    steps: u64,
) -> Result<(), mcsa_core::Error> {
    let target = target();
    let family = MeanField::new(target.dim());
    let ascent = Ascent {
        target: &target,
        family: &family,
        estimator,
        optimizer: Adam::new(0.01)?,
        seed: Seed::new(2),
    };
    let mut fit = ascent.start(family.at(&[0.0; 11], &[0.5; 11])?)?;
    ascent.run(&mut fit, steps).map(drop)
}

/// Ten evaluations of the target per step, alone.
fn likelihood(steps: u64) {
    let target = target();
    let points = Mat::from_fn(target.dim(), 10, |i, j| (0.3 * (i + 7 * j) as f64).sin());
    let (mut out, mut work) = ([0.0; 10], vec![0.0; target.work_len(10)]);
    (0..steps).for_each(|_| target.log_densities(std::hint::black_box(points.as_ref()), &mut out, &mut work));
}

const NAMES: [&str; 12] = [
    "likelihood",
    "pmcsa",
    "jsa",
    "msc",
    "msc_rb",
    "snis",
    "controlled",
    "elbo_closed",
    "elbo_path",
    "hmc",
    "moments",
    "moments_t",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, steps] = &arguments[..] else {
        NAMES.iter().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Ok(steps) = steps.parse() else {
        eprintln!("`{steps}` is no number of steps");
        return ExitCode::from(2);
    };
    let hmc = || Hmc::new(0.02, 16);
    let half = Mat::from_fn(11, 11, |i, k| if i == k { 0.5 } else { 0.0 });
    let result = match name.as_str() {
        "likelihood" => {
            likelihood(steps);
            Ok(())
        }
        "pmcsa" => run(pmcsa(10), steps),
        "jsa" => run(jsa(10), steps),
        "msc" => run(msc(11), steps),
        "msc_rb" => run(msc_rb(11), steps),
        "snis" => run(snis(10), steps),
        "controlled" => run(Controlled::new(pmcsa(10)), steps),
        "elbo_closed" => run(Elbo::closed(1), steps),
        "elbo_path" => run(Elbo::path(1), steps),
        "hmc" => hmc().and_then(|hmc| run(single(hmc), steps)),
        "moments" => {
            let family = FullRank::new(11);
            family.at(&[0.0; 11], half.as_ref()).and_then(|start| moments(&family, start, steps))
        }
        "moments_t" => MultivariateT::learned(11, 2.0).and_then(|family| {
            family.at(&[0.0; 11], half.as_ref(), 8.0).and_then(|start| moments(&family, start, steps))
        }),
        _ => {
            eprintln!("no estimator is called `{name}`; start without arguments for their names");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
