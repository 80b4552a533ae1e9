//! Rates of wrong decisions of the stopping rule: false stops and false refusals.
//!
//! ```text
//! cargo run --release -p mcsa-estimators --example false_stops -- parameters [seeds] [steps] [words] [first seed]
//! cargo run --release -p mcsa-estimators --example false_stops -- targets    [seeds] [steps] [words] [first seed]
//! ```
//! `parameters`: a standard Gaussian fitted with 2 to 2,000 parameters, from the optimum and from far away, under
//! `Stationary::to(0.2)`. `targets`: six targets, four methods, four rates, under `Stationary::to(0.1)`. With `words`, only
//! rows whose name contains them are run; rows are independent of each other.
//!
//! The averaged iterate is compared with the known optimum of the inclusive divergence, in the rule's units. A stop is
//! false if the worst error of a parameter is above the claimed accuracy. A refusal is a run that spent all its steps; the
//! last column has the rule's obstacles. The table also counts refusals whose average had errors below the accuracy, which
//! could have been accepted.
#![expect(clippy::print_stdout, reason = "a table for people")]

use std::collections::BTreeMap;
use std::ops::Range;

use faer::Mat;
use mcsa_core::{
    Ensemble, Error, Estimator, Family, Kernel, LogDensity, Proposal, Seed, Stream, batch, batch_mut,
};
use mcsa_estimators::{Accuracy, Ascent, Average, ChainScore, Outcome, Run, Stationary, jsa, msc_rb, pmcsa};
use mcsa_families::{Defence, FullRank, MeanField, Tail};
use mcsa_models::{Gaussian, GroundTruth, LogisticRegression, SkewNormal, Student};
use mcsa_optim::Adam;
use mcsa_optim::deterministic::{Lbfgs, Quadrature, inclusive_optimum};

/// A fit whose optimum is known.
struct Trial<'a, F> {
    target: &'a (dyn LogDensity + 'static),
    family: &'a F,
    optimum: Vec<f64>,
    units: Vec<f64>,
    start: Vec<f64>,
    accuracy: f64,
    rate: f64,
    steps: u64,
}

/// A run: its outcome, the worst error of its average in units, and whether k-hat was low.
struct Fitted {
    outcome: Outcome,
    error: f64,
    light: bool,
}

fn stated(outcome: &Outcome) -> Option<&Accuracy> {
    match outcome {
        Outcome::Converged(accuracy)
        | Outcome::BudgetSpent { accuracy: Some(accuracy) }
        | Outcome::StationaryButStuck { accuracy, .. } => Some(accuracy),
        _ => None,
    }
}

impl<F: Family> Trial<'_, F> {
    fn run<E: Estimator<dyn LogDensity, F>>(&self, estimator: E, seed: Seed) -> Result<Fitted, Error> {
        let optimizer = Adam::new(self.rate)?;
        let ascent = Ascent { target: self.target, family: self.family, estimator, optimizer, seed };
        let mut fit = ascent.start(self.start.clone())?;
        let outcome = ascent.run(&mut fit, Run::of(self.steps).until(Stationary::to(self.accuracy)?))?;
        let error = stated(&outcome).map_or(f64::NAN, |accuracy| {
            let pairs = accuracy.average.iter().zip(&self.optimum).zip(&self.units);
            pairs.map(|((average, optimum), unit)| (average - optimum).abs() / unit).fold(0.0, f64::max)
        });
        Ok(Fitted { outcome, error, light: ascent.health(&fit)?.has_light_tails() })
    }
}

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

/// Runs all seeds on all cores; results in the order of seeds.
fn each_seed<T: Send>(
    seeds: &Range<u64>,
    one: impl Fn(u64) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = |thread: usize| seeds.clone().skip(thread).step_by(threads).map(&one).collect::<Vec<_>>();
    let shares: Vec<Vec<Result<T, Error>>> = std::thread::scope(|scope| {
        let share = &share;
        let started: Vec<_> = (0..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        started.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let mut shares: Vec<_> = shares.into_iter().map(Vec::into_iter).collect();
    (0..).take(seeds.clone().count()).filter_map(|k: usize| shares[k % threads].next()).collect()
}

fn obstacle(outcome: &Outcome) -> String {
    match outcome {
        Outcome::BudgetSpent { accuracy: Some(accuracy) } => {
            accuracy.obstacle.map_or_else(|| "between looks".into(), |o| format!("{o:?}").to_lowercase())
        }
        Outcome::StationaryButStuck { .. } => "stuck".into(),
        other => other.to_string(),
    }
}

const COLUMNS: &str = "  stopped    steps  false  above 2x  worst  low k-hat (false)   not stopped because";

/// Prints a row; returns runs, stops, false stops, stops with a low k-hat, false ones among them.
fn report(name: &str, fits: &[Fitted], accuracy: f64) -> [usize; 5] {
    let stopped: Vec<&Fitted> = fits.iter().filter(|f| matches!(f.outcome, Outcome::Converged(_))).collect();
    let steps = |f: &&Fitted| match &f.outcome {
        Outcome::Converged(accuracy) => Some(accuracy.step),
        _ => None,
    };
    let mut lengths: Vec<u64> = stopped.iter().filter_map(steps).collect();
    lengths.sort_unstable();
    let above = |factor: f64, light: Option<bool>| {
        let counts = |f: &&&Fitted| f.error > factor * accuracy && light.is_none_or(|l| f.light == l);
        stopped.iter().filter(counts).count()
    };
    let light = stopped.iter().filter(|f| f.light).count();
    let worst = stopped.iter().map(|f| f.error / accuracy).fold(0.0, f64::max);
    let mut reasons = BTreeMap::<String, usize>::new();
    for f in fits.iter().filter(|f| !matches!(f.outcome, Outcome::Converged(_))) {
        *reasons.entry(obstacle(&f.outcome)).or_default() += 1;
    }
    let reasons: Vec<String> = reasons.iter().map(|(r, n)| format!("{n} {r}")).collect();
    let refused = fits.iter().filter(|f| !matches!(f.outcome, Outcome::Converged(_)));
    let right = refused.filter(|f| f.error <= accuracy).count();
    println!(
        "{name} {:>9} {:>8} {:>6} {:>9} {:>6.2} {:>18} {:>15}   {}",
        format!("{}/{}", stopped.len(), fits.len()),
        lengths.get(lengths.len() / 2).map_or_else(|| "-".into(), ToString::to_string),
        above(1.0, None),
        above(2.0, None),
        worst,
        format!("{} ({})", light, above(1.0, Some(true))),
        right,
        reasons.join(", ")
    );
    [fits.len(), stopped.len(), above(1.0, None), light, above(1.0, Some(true))]
}

type Totals = BTreeMap<String, [usize; 5]>;

fn add(totals: &mut Totals, keys: &[String], row: [usize; 5]) {
    for key in keys {
        totals.entry(key.clone()).or_default().iter_mut().zip(row).for_each(|(total, row)| *total += row);
    }
}

/// A target with the means and scales that minimise the inclusive divergence of independent Gaussians.
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

/// Means of alternating signs, scales from 1/2 to 2, one correlation for all pairs.
fn correlated(dim: usize, correlation: f64) -> Result<Gaussian, Error> {
    let scale = |i: usize| 0.5 * 4.0_f64.powf(i as f64 / (dim.max(2) - 1) as f64);
    let mean = (0..dim).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let entry = |i, j| scale(i) * scale(j) * if i == j { 1.0 } else { correlation };
    Gaussian::new(mean, Mat::from_fn(dim, dim, entry).as_ref())
}

/// Two weights of a logistic regression on twelve data, its optimum by quadrature.
fn logistic() -> Result<Case, Error> {
    let mut stream = Seed::new(5).stream(0, 0);
    let x = Mat::from_fn(12, 2, |_, j| if j == 0 { 1.0 } else { stream.normal() });
    let labels: Vec<f64> =
        (0..12).map(|i| f64::from(u8::from(x[(i, 1)] + 0.5 > 0.3 * stream.normal()))).collect();
    let target = LogisticRegression::new(x.as_ref(), &labels, 2.0)?;
    let side = 301;
    let nodes = Mat::from_fn(2, side * side, |i, k| {
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

fn targets(seeds: &Range<u64>, steps: u64, words: &str) -> Result<Totals, Error> {
    let cases = [
        Case::known(
            "Gaussian, 5",
            Gaussian::diagonal(vec![1.0, -1.0, 0.0, 2.0, 0.5], vec![0.5, 1.0, 2.0, 1.0, 1.5])?,
        )?,
        Case::known("correlated 0.2, 10", correlated(10, 0.2)?)?,
        Case::known("correlated 0.5, 10", correlated(10, 0.5)?)?,
        Case::known("skew normal, 1", SkewNormal::msc())?,
        Case::known("Student 5, 3", Student::new(vec![0.0; 3], vec![1.0; 3], 5.0)?)?,
        logistic()?,
    ];
    let mut totals = Totals::new();
    println!("{:44} {COLUMNS}", "target, method, rate");
    for case in &cases {
        let dim = case.mean.len();
        let family = MeanField::new(dim);
        let optimum = family.at(&case.mean, &case.scale)?;
        let start = family.at(&vec![0.0; dim], &vec![1.0; dim])?;
        let units = units(&family, &optimum);
        for method in ["pmcsa 10", "jsa 10", "msc-rb 10", "pmcsa, defended"] {
            for rate in [0.003, 0.01, 0.03, 0.1] {
                let name = format!("{:20} {method:16} {rate:<6}", case.name);
                if !name.contains(words) {
                    continue;
                }
                let (optimum, units, start) = (optimum.clone(), units.clone(), start.clone());
                let target = case.target.as_ref();
                let trial =
                    Trial { target, family: &family, optimum, units, start, accuracy: 0.1, rate, steps };
                let fits = each_seed(seeds, |replicate| {
                    let seed = Seed::new(77).named(case.name).child(replicate);
                    match method {
                        "pmcsa 10" => trial.run(pmcsa(10), seed),
                        "jsa 10" => trial.run(jsa(10), seed),
                        "msc-rb 10" => trial.run(msc_rb(10), seed),
                        _ => {
                            let defence = Defence::new(0.1, Tail::student(dim, 3.0)?)?;
                            trial.run(pmcsa(10).guarded(defence), seed)
                        }
                    }
                })?;
                let row = report(&name, &fits, trial.accuracy);
                let keys = [format!("rate {rate}"), case.name.into(), method.into(), "all".into()];
                add(&mut totals, &keys, row);
            }
        }
    }
    Ok(totals)
}

/// Estimator with draws of a standard Gaussian of this correlation from step to step: a chain whose mixing does not depend on q.
struct Autoregressive(f64);

impl<P: LogDensity + ?Sized> Kernel<P> for Autoregressive {
    type State = Ensemble;
    type Info = ();
    fn columns(&self, chains: usize) -> usize {
        chains
    }
    fn work_len(&self, _: &P, _: usize) -> usize {
        0
    }
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Ensemble, Error> {
        Ensemble::new(target, positions)
    }
    fn step(&self, _: &P, _: &mut dyn Proposal, chains: &mut Ensemble, lanes: &mut [Stream], _: &mut [f64]) {
        let noise = (1.0 - self.0 * self.0).sqrt();
        for (j, lane) in lanes.iter_mut().enumerate() {
            let place = chains.positions.col_as_slice_mut(j);
            place.iter_mut().for_each(|z| *z = self.0 * *z + noise * lane.normal());
        }
    }
}

/// From the optimum, and from three standard deviations off with scales twice too large.
fn sized<F: Family>(
    family: &F,
    at: impl Fn(f64, f64) -> Result<Vec<f64>, Error>,
    kind: &str,
    (seeds, steps, words): (&Range<u64>, u64, &str),
    totals: &mut Totals,
) -> Result<(), Error> {
    let target = Gaussian::standard(family.dim());
    let optimum = at(0.0, 1.0)?;
    let units = units(family, &optimum);
    for (start, params) in [("optimum", optimum.clone()), ("far", at(3.0, 2.0)?)] {
        for chains in ["exact", "slow", "pmcsa 10"] {
            // In many dimensions proposals from this start are never accepted.
            if start == "far" && chains == "pmcsa 10" {
                continue;
            }
            let name = format!("{:>6} {kind:11} {chains:9} {start:8}", optimum.len());
            if !name.contains(words) {
                continue;
            }
            let (optimum, units, start) = (optimum.clone(), units.clone(), params.clone());
            let (accuracy, rate) = (0.2, 0.01);
            let trial = Trial { target: &target, family, optimum, units, start, accuracy, rate, steps };
            let fits = each_seed(seeds, |replicate| {
                let seed = Seed::new(79).named(&name).child(replicate);
                match chains {
                    "pmcsa 10" => trial.run(pmcsa(10), seed),
                    _ => {
                        let kernel = Autoregressive(if chains == "slow" { 0.95 } else { 0.0 });
                        trial.run(ChainScore::new(kernel, 10, Average::Chains), seed)
                    }
                }
            })?;
            let row = report(&name, &fits, trial.accuracy);
            add(totals, &[name[14 + 5..].trim().to_owned(), "all".into()], row);
        }
    }
    Ok(())
}

fn parameters(seeds: &Range<u64>, steps: u64, words: &str) -> Result<Totals, Error> {
    let mut totals = Totals::new();
    println!("{:37} {COLUMNS}", "parameters, family, chains, start");
    for (means, full) in [(1, 1), (5, 3), (14, 6), (45, 12), (100, 18), (300, 33), (1000, 62)] {
        let family = MeanField::new(means);
        let at = |mean, scale| family.at(&vec![mean; means], &vec![scale; means]);
        sized(&family, at, "mean-field", (seeds, steps, words), &mut totals)?;
        let family = FullRank::new(full);
        let factor = |scale| Mat::from_fn(full, full, |i, j| if i == j { scale } else { 0.0 });
        let at = |mean, scale| family.at(&vec![mean; full], factor(scale).as_ref());
        sized(&family, at, "full-rank", (seeds, steps, words), &mut totals)?;
    }
    Ok(totals)
}

fn main() -> Result<(), Error> {
    let argument = |k: usize| std::env::args().nth(k);
    let number = |k: usize, default: u64| argument(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let words = argument(4).unwrap_or_default();
    let first = number(5, 0);
    let seeds = |default| first..first + number(2, default);
    let totals = match argument(1).as_deref() {
        Some("targets") => targets(&seeds(20), number(3, 50_000), &words)?,
        Some("parameters") | None => parameters(&seeds(8), number(3, 30_000), &words)?,
        Some(other) => return Err(Error::invalid(format!("{other}: expected `parameters` or `targets`"))),
    };
    println!();
    for (what, [fits, stopped, wrong, light, light_wrong]) in totals {
        println!(
            "{what:24} {fits:5} fits, {stopped:5} stopped, {wrong:4} of these false; with low k-hat {light:5}, {light_wrong:4} false"
        );
    }
    Ok(())
}
