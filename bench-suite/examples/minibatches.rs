//! From how many rows on minibatches win: a logistic regression on SYNTHETIC rows by the call, by Laplace's approximation, and by bounds on
//! minibatches. `RAYON_NUM_THREADS=1 cargo run --release -p mcsa-bench-suite --example minibatches -- docs/gallery/minibatches.png`.
//!
//! A bound is done with the first number of steps, of doubled ones, whose q has all means within 0.1 standard deviations of those of the call
//! and all standard deviations within a factor 1.2, for most seeds.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]
#![expect(clippy::disallowed_methods, reason = "the time it takes is the answer")]

use std::time::Instant;

use faer::Mat;
use mcsa::Options;
use mcsa_annealed::Minibatched;
use mcsa_annealed::dais::{Annealed, Shape, Slope};
use mcsa_annealed::surrogate::LogisticSurrogate;
use mcsa_core::{Error, Estimator, Pushforward, Seed};
use mcsa_estimators::{Ascent, Draws, Elbo, FlowElbo};
use mcsa_families::{Drawn, FullRank, Link, MeanField};
use mcsa_models::LogisticRegression;
use mcsa_optim::deterministic::{Laplace, Lbfgs};
use mcsa_optim::{Adam, Averaged, Averaging, Schedule};
use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

const DIM: usize = 10;
const BATCH: usize = 256;
/// Steps of an annealed path, and rows that guide it.
const PATH: usize = 4;
const POINTS: usize = 256;
/// Least and greatest number of steps.
const STEPS: [u64; 2] = [250, 1 << 20];
const SEEDS: u64 = 3;
/// First rates of Adam. The best for each number of rows counts, which favours minibatches.
const RATES: [f64; 4] = [0.001, 0.003, 0.01, 0.03];

struct Rows {
    x: Mat<f64>,
    labels: Vec<f64>,
    target: LogisticRegression,
}

type Moments = (Vec<f64>, Vec<f64>);

/// Evaluations of all rows, and seconds.
type Work = [f64; 2];

/// Rows of correlated features; the logits have noise that the model lacks.
fn rows(count: usize) -> Result<Rows, Error> {
    let mut stream = Seed::new(1).stream(0, 0);
    let mut x = Mat::zeros(count, DIM);
    let mut labels = Vec::with_capacity(count);
    for i in 0..count {
        let common = stream.normal();
        (0..DIM).for_each(|k| x[(i, k)] = 0.7 * common + 0.7 * stream.normal());
        labels.push(f64::from(u8::from(x[(i, 0)] - x[(i, 1)] + stream.normal() > 0.0)));
    }
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0)?;
    Ok(Rows { x, labels, target })
}

fn timed<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(f64, T), Error> {
    let begun = Instant::now();
    let done = work()?;
    Ok((begun.elapsed().as_secs_f64(), done))
}

fn is_near(found: &Moments, truth: &Moments) -> bool {
    let near = |a: &f64, b: &f64, sd: &f64| (a - b).abs() <= 0.1 * sd;
    found.0.iter().zip(&truth.0).zip(&truth.1).all(|((a, b), sd)| near(a, b, sd))
        && found.1.iter().zip(&truth.1).all(|(a, b)| (a / b).ln().abs() <= 1.2_f64.ln())
}

/// Steps, first rate of Adam and seed of an ascent.
type Plan = (u64, f64, u64);

/// The average of lambda over the last third of the steps. The rate falls tenfold after each of the thirds before.
fn ascend<F: ?Sized, E: Estimator<LogisticRegression, F>>(
    rows: &Rows,
    (family, start): (&F, Vec<f64>),
    estimator: E,
    (steps, rate, seed): Plan,
) -> Result<Vec<f64>, Error> {
    let rate = Schedule::drops(rate, 0.1, vec![steps / 3, 2 * steps / 3])?;
    let averaging = Averaging::tail(2 * steps / 3 + 1)?;
    let optimizer = Averaged { averaging, optimizer: Adam::new(rate)? };
    let ascent = Ascent { target: &rows.target, family, estimator, optimizer, seed: Seed::new(seed) };
    let mut fit = ascent.start(start)?;
    ascent.run(&mut fit, steps)?;
    Ok(fit.optimizer().average().unwrap_or(fit.params()).to_vec())
}

fn full_rank(rows: &Rows, plan: Plan) -> Result<(FullRank, Vec<f64>), Error> {
    let family = FullRank::new(DIM).with_link(Link::Exp);
    let factor = Mat::from_fn(DIM, DIM, |i, j| if i == j { 0.1 } else { 0.0 });
    let start = family.at(&[0.0; DIM], factor.as_ref())?;
    let params = ascend(rows, (&family, start), Minibatched::new(BATCH, Elbo::closed(1)), plan)?;
    Ok((family, params))
}

/// SL-DAIS from the mean field of as many steps.
fn sl_dais(rows: &Rows, plan: Plan) -> Result<(Annealed<LogisticSurrogate>, Vec<f64>), Error> {
    let mean_field = MeanField::new(DIM).with_link(Link::Exp);
    let start = mean_field.at(&[0.0; DIM], &[0.1; DIM])?;
    let base = ascend(rows, (&mean_field, start), Minibatched::new(BATCH, Elbo::closed(1)), plan)?;
    let mut stream = Seed::new(plan.2).named("rows").stream(0, 0);
    let surrogate = LogisticSurrogate::rand(rows.x.as_ref(), &rows.labels, POINTS, 1.0, &mut stream)?;
    let psi = surrogate.initial();
    // Step sizes are in units of the parameters: the first is a third of a standard deviation of the mean field, the greatest two.
    let sd = (base[DIM..].iter().sum::<f64>() / DIM as f64).exp();
    let path = Annealed::new(surrogate, Shape::Diagonal, PATH);
    let family = Annealed { slope: Slope::Scaled, longest: 2.0 * sd, ..path };
    let start = family.at(&base, sd / 3.0, &psi)?;
    let params = ascend(rows, (&family, start), Minibatched::new(BATCH, FlowElbo::new(1)), plan)?;
    Ok((family, params))
}

/// Moments of 2,000 draws of q.
fn moments<F: Pushforward + ?Sized>(rows: &Rows, family: &F, params: &[f64]) -> Result<Moments, Error> {
    let draws = Draws::pushed(&rows.target, family, params, Seed::new(9).stream(0, 0), 2_000)?;
    let (mean, variance) = Draws::of_chains(draws.points, draws.log_p, 2_000.0)?.moments();
    Ok((mean, variance.into_iter().map(f64::sqrt).collect()))
}

/// Work of the first number of steps whose q is near the posterior for most seeds with one of the rates, with evaluations of `terms`
/// rows a step; infinite if there is none.
fn until_near(
    terms: usize,
    rows: &Rows,
    truth: &Moments,
    fit: impl Fn(Plan) -> Result<(f64, Moments), Error>,
) -> Result<Work, Error> {
    let mut steps = STEPS[0];
    while steps <= STEPS[1] {
        for rate in RATES {
            let (mut near, mut times) = (0, Vec::new());
            for seed in 1..=SEEDS {
                let (seconds, found) = fit((steps, rate, seed))?;
                near += u64::from(is_near(&found, truth));
                times.push(seconds);
            }
            if 2 * near > SEEDS {
                times.sort_by(f64::total_cmp);
                println!("  {steps} steps, rate {rate}");
                return Ok([
                    (steps * terms as u64) as f64 / rows.labels.len() as f64,
                    times[times.len() / 2],
                ]);
            }
        }
        steps *= 2;
    }
    Ok([f64::INFINITY; 2])
}

/// Works of the bound of a dense Gaussian and of SL-DAIS.
fn by_minibatches(rows: &Rows, truth: &Moments) -> Result<[Work; 2], Error> {
    let dense = until_near(BATCH, rows, truth, |plan| {
        let (seconds, (family, params)) = timed(|| full_rank(rows, plan))?;
        Ok((seconds, moments(rows, &Drawn(family), &params)?))
    })?;
    let paths = until_near(2 * BATCH + 2 * PATH * POINTS, rows, truth, |plan| {
        let (seconds, (family, params)) = timed(|| sl_dais(rows, plan))?;
        Ok((seconds, moments(rows, &family, &params)?))
    })?;
    Ok([dense, paths])
}

/// The call and its work, and that of Laplace's approximation from the point 0: infinite if it is not near.
fn by_all_rows(rows: &Rows) -> Result<(Moments, [Work; 2]), Error> {
    let (seconds, fitted) = timed(|| mcsa::fit(&rows.target, &Options::seeded(1)))?;
    let (truth, count) = (fitted.moments(), fitted.evaluations);
    assert!(fitted.verdict.is_yes(), "{}", fitted.verdict);
    let call = [(count.density + count.gradient) as f64, seconds];
    let (seconds, (laplace, gradients)) = timed(|| {
        let peak = Lbfgs::default().mode(&rows.target, &[0.0; DIM])?.converged()?;
        Ok((Laplace::at(&rows.target, &peak.point)?.gaussian, peak.evaluations))
    })?;
    let found = (laplace.mean.clone(), laplace.scales());
    let passes = (gradients + DIM as u64) as f64;
    let laplace = if is_near(&found, &truth) { [passes, seconds] } else { [f64::INFINITY; 2] };
    Ok((truth, [call, laplace]))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("the path of the picture is missing")?;
    const NAMES: [&str; 4] =
        ["`mcsa::fit`, with its verdict", "Laplace", "dense Gaussian, minibatches", "SL-DAIS"];
    let mut lines = [[(); 2]; 4].map(|parts| parts.map(|()| Vec::new()));
    for count in [1_000, 10_000, 100_000] {
        let rows = rows(count)?;
        let (truth, [call, laplace]) = by_all_rows(&rows)?;
        let [dense, paths] = by_minibatches(&rows, &truth)?;
        for ((name, line), work) in NAMES.iter().zip(&mut lines).zip([call, laplace, dense, paths]) {
            println!("{count} rows, {name}: {:.1} passes, {:.3} s", work[0], work[1]);
            line.iter_mut().zip(work).for_each(|(line, work)| line.push((count as f64, work)));
        }
    }
    let panel = |part: usize, label: &str| {
        let panel = Panel::new(Axis::log("Rows"), Axis::log(label));
        NAMES.iter().zip(&lines).enumerate().fold(panel, |panel, (k, (name, line))| {
            let layers = [Layer::line(line[part].clone()), Layer::points(line[part].clone())];
            layers.into_iter().fold(panel, |panel, layer| {
                panel.with(layer.styled(Style::series(k)).named(name.replace('`', "")))
            })
        })
    };
    let mut figure = Figure::new(vec![panel(0, "Evaluations of all rows"), panel(1, "Seconds")]);
    (figure.columns, figure.shares_legend) = (2, true);
    std::fs::write(path, figure.shaped(0.8).draw()?.png(150.0)?)?;
    Ok(())
}
