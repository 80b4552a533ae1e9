//! Time to 1000 effective draws: a fit in one call against NUTS with warm-up, on raw inputs, one after the other on one core. Prints medians
//! over seeds. `cargo run --release -p mcsa-bench-suite --example fit_speed -- [SEEDS]`, 5 by default.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]
#![expect(clippy::disallowed_methods, reason = "the time it takes is the answer")]

use std::ops::ControlFlow;
use std::time::Instant;

use mcsa::posterior::{FitState, Options, Stage, Target};
use mcsa_core::{Error, Gradient, Seed};
use mcsa_data::{Catalogue, Dataset, Scaling};
use mcsa_kernels::{Nuts, Sampling};
use mcsa_models::{EightSchools, HierarchicalLogistic, ProbitRegression, ScalePrior};

/// Effective draws that are asked for.
const DRAWS: f64 = 1_000.0;

/// Milliseconds of NUTS until the smallest effective sample size is reached, with its warm-up; of a fit until its climb begins; until
/// the draws are as many, without the verdict and its ascents, or the whole call where chains are the answer; and of the whole call with
/// 4000 draws and the verdict.
type Times = [f64; 4];

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn nuts(target: &dyn Gradient, seed: u64) -> Result<f64, Error> {
    let run = |draws| {
        let start = Instant::now();
        let sample = Sampling::new(4, draws).run(&Nuts::new(0.1)?, target, Seed::new(seed))?;
        Ok::<_, Error>((milliseconds(start), sample))
    };
    let (all, sample) = run(500)?;
    let (warm_up, _) = run(0)?;
    let effective = sample.sample_sizes().into_iter().fold(f64::INFINITY, f64::min);
    Ok(warm_up + (all - warm_up) * DRAWS / effective)
}

fn fit(target: &dyn Gradient, seed: u64) -> Result<Times, Error> {
    let counted = Target::with_gradient(&target);
    let mut fitting = FitState::new(&Options::seeded(seed))?;
    let start = Instant::now();
    let (mut starts, mut climbed) = (0.0, None);
    fitting.run(&counted, &mut |fitting| {
        match fitting.stage {
            Stage::Start => starts = milliseconds(start),
            Stage::Verdict => {
                let _ = climbed.get_or_insert_with(|| milliseconds(start));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    let fitted = fitting.finish(&counted)?;
    let whole = milliseconds(start);
    // A state that was read makes its draws again.
    let text = serde_json::to_string(&fitting).map_err(|error| Error::invalid(error.to_string()))?;
    let read: FitState = serde_json::from_str(&text).map_err(|error| Error::invalid(error.to_string()))?;
    let start = Instant::now();
    let _ = read.finish(&counted)?;
    let draws = match fitted.sampled {
        Some(_) => whole,
        None => climbed.unwrap_or(whole) + milliseconds(start) * DRAWS / fitted.draws.sample_size,
    };
    Ok([nuts(target, seed)?, starts, draws, whole])
}

fn median(times: &[Times], which: usize) -> f64 {
    let mut sorted: Vec<f64> = times.iter().map(|times| times[which]).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn load(name: &str) -> Result<Dataset, Error> {
    Ok(Catalogue::new(None).load(name)?)
}

fn main() -> Result<(), Error> {
    let seeds = std::env::args().nth(1).and_then(|seeds| seeds.parse().ok()).unwrap_or(5_u64).max(1);
    let hierarchical = |name: &str, standardised: bool| {
        let mut data = load(name)?;
        for k in 0..if standardised { data.x.ncols() } else { 0 } {
            let column = data.x.col_as_slice_mut(k);
            let scaling = Scaling::of(column);
            column.iter_mut().for_each(|x| *x = scaling.apply(*x));
        }
        HierarchicalLogistic::new(data.x.as_ref(), &data.y, ScalePrior::HalfNormal)
    };
    let probit = load("pima")?.with_ones(0);
    let targets: [(&str, Box<dyn Gradient>); 6] = [
        ("pima, hierarchical logistic", Box::new(hierarchical("pima", false)?)),
        ("the same, standardised", Box::new(hierarchical("pima", true)?)),
        ("german, hierarchical logistic", Box::new(hierarchical("german_credit_numeric", false)?)),
        ("the same, standardised", Box::new(hierarchical("german_credit_numeric", true)?)),
        ("eight schools, non-centred", Box::new(EightSchools::non_centred())),
        ("pima, probit", Box::new(ProbitRegression::new(probit.x.as_ref(), &probit.y, 1.0)?)),
    ];
    println!(
        "medians over {seeds} seeds, ms   NUTS  starts  to {DRAWS} draws  ratio  4000 draws and verdict  ratio"
    );
    for (name, target) in targets {
        let times = (0..seeds).map(|seed| fit(&*target, seed)).collect::<Result<Vec<_>, _>>()?;
        let [nuts, starts, draws, whole] = [0, 1, 2, 3].map(|which| median(&times, which));
        println!(
            "{name:30} {nuts:7.1} {starts:7.1} {draws:14.1} {:6.1} {whole:23.1} {:6.1}",
            nuts / draws,
            nuts / whole
        );
    }
    Ok(())
}
