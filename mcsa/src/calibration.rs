//! Simulation-based calibration of the whole call: fits of data sets that are drawn from a model, and ranks of the true parameters.

use std::fmt;

use mcsa_core::{Error, Gradient, LogDensity, Named, Seed, Stream, same_length};
use mcsa_diagnostics::{RankBand, rank_error};
use rayon::prelude::*;

use crate::posterior::{FitResult, Options, fit, fit_density};

/// Plan of a simulation-based calibration (Talts, Betancourt, Simpson, Vehtari & Gelman 2018; Cook, Gelman & Rubin 2006).
///
/// ```text
/// z ~ prior,  y ~ p(y | z),  z_1 .. z_L ~ answer of the call on y:   rank of z among z_1 .. z_L is uniform if the answer is p(z | y)
/// ```
/// Ranks are those of every reported parameter and of the log density, which reveals an answer that ignores the data (Modrák
/// et al. 2023).
///
/// Only ranks of fits with the verdict yes are judged, by a simultaneous band at 50, 100, 200, .. data sets and at the last. The
/// level of the band is `level` divided by the number of these sizes and by the number of quantities. So a right call is found
/// wrong with probability `level` at most.
///
/// Given the data, true parameters are independent of the fit and its verdict. So ranks given yes are uniform if answers with a
/// yes are right. They describe the data sets that get a yes, and no others; the share of data sets with a no is reported beside
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Largest number of data sets.
    pub data_sets: usize,
    /// Probability of finding a right call wrong.
    pub level: f64,
    /// Error of a posterior mean, in posterior standard deviations, that the calibration has to detect.
    pub bias: f64,
    /// Wrong factor of a posterior standard deviation, up or down, that the calibration has to detect.
    pub factor: f64,
    /// Options of each fit; the seed is that of the data sets too.
    pub options: Options,
}

impl Default for Calibration {
    /// A thousand data sets, level 1 %, and the errors from which an answer counts as wrong: 0.3 standard deviations, or a factor 1.3. For
    /// eleven quantities these are seen with probability 99.8 % at 800 data sets with a yes.
    fn default() -> Self {
        Self { data_sets: 1_000, level: 0.01, bias: 0.3, factor: 1.3, options: Options::default() }
    }
}

/// Fits data sets that `simulate` draws from a model, until their ranks show that the call is right on it, or that it is wrong.
///
/// `simulate` draws parameters from the prior, on the unconstrained scale, and data given these, and returns the parameters with the
/// posterior of the data. Data sets are fitted side by side in the present thread pool of rayon, with equal bits for any number of threads.
///
/// ```
/// use mcsa::prelude::*;
/// use mcsa::{Calibration, Conclusion};
/// // A normal mean with a standard normal prior, and one datum with noise of scale 1.
/// let simulate = |stream: &mut Stream| {
///     let z = stream.normal();
///     let y = z + stream.normal();
///     let density = move |z: &[f64]| -0.5 * (z[0] * z[0] + (y - z[0]).powi(2));
///     Ok((vec![z], from_fn(1, density).with_gradient(move |z, gradient| gradient[0] = y - 2.0 * z[0])))
/// };
/// let options = mcsa::Options { draws: 1_000, starts: 10, ..mcsa::Options::seeded(1) };
/// let plan = Calibration { data_sets: 100, bias: 1.0, factor: 3.0, options, ..Calibration::default() };
/// let found = mcsa::calibrate(simulate, &plan)?;
/// println!("{found}");
/// assert_eq!(found.conclusion, Conclusion::Calibrated);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// If the plan is invalid, `simulate` returns an error, or the log density at drawn parameters is not finite, because simulator and
/// density then disagree. A fit that ends with an error is a no.
pub fn calibrate<T: Gradient>(
    simulate: impl Fn(&mut Stream) -> Result<(Vec<f64>, T), Error> + Sync,
    plan: &Calibration,
) -> Result<CalibrationResult, Error> {
    plan.run(simulate, fit)
}

/// [`calibrate`] with fits by the log density alone.
///
/// # Errors
/// As [`calibrate`].
pub fn calibrate_density<T: LogDensity>(
    simulate: impl Fn(&mut Stream) -> Result<(Vec<f64>, T), Error> + Sync,
    plan: &Calibration,
) -> Result<CalibrationResult, Error> {
    plan.run(simulate, fit_density)
}

/// A call that fits a posterior: [`fit()`] or [`fit_density`].
type Call<T> = fn(&T, &Options) -> Result<FitResult, Error>;

/// Number of draws with equal weights among which a true value is ranked; fewer if their effective sample size is.
const DRAWS: usize = 99;
/// Number of data sets at the first look; it doubles from look to look.
const FIRST: usize = 50;
/// Probability with which the errors that are not to be missed would have been seen, where a call counts as calibrated.
const POWER: f64 = 0.95;

impl Calibration {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If `data_sets` is 0, `level` is not between 0 and 1, `bias` is not positive and finite, `factor` is not finite and above
    /// 1, or the options are invalid. If the options name a checkpoint file, which all fits would share.
    pub fn check(&self) -> Result<(), Error> {
        let rules = [
            ("data_sets", self.data_sets as f64, self.data_sets > 0, "at least 1"),
            ("level", self.level, 0.0 < self.level && self.level < 1.0, "between 0 and 1"),
            ("bias", self.bias, self.bias > 0.0 && self.bias.is_finite(), "positive and finite"),
            (
                "factor",
                self.factor,
                self.factor > 1.0 && self.factor.is_finite(),
                "greater than 1 and finite",
            ),
        ];
        let broken = rules.into_iter().find(|(.., holds, _)| !holds);
        let checked = match broken {
            Some((name, value, _, expected)) => Err(Error::parameter(name, value, expected)),
            None if self.options.checkpoint.is_some() => {
                Err(Error::invalid("options.checkpoint: the fits of a calibration share no file"))
            }
            None => self.options.check(),
        };
        checked.map_err(|error| error.within("Calibration"))
    }

    /// Numbers of data sets at which ranks are judged.
    pub fn looks(&self) -> Vec<usize> {
        let doubled = std::iter::successors(Some(FIRST), |look| look.checked_mul(2));
        doubled.take_while(|look| *look < self.data_sets).chain([self.data_sets]).collect()
    }

    fn run<T: LogDensity>(
        &self,
        simulate: impl Fn(&mut Stream) -> Result<(Vec<f64>, T), Error> + Sync,
        call: Call<T>,
    ) -> Result<CalibrationResult, Error> {
        self.check()?;
        let mut fits = Vec::new();
        let mut looks = self.looks().into_iter();
        loop {
            let look = looks.next().unwrap_or(self.data_sets);
            let fresh = (fits.len()..look).into_par_iter();
            let fresh = fresh.map(|number| self.data_set(number as u64, &simulate, call));
            fits.extend(fresh.collect::<Result<Vec<_>, _>>()?);
            let found = self.judge(&fits)?;
            if found.conclusion != Conclusion::Open || look == self.data_sets {
                return Ok(found);
            }
        }
    }

    /// Draws data set `number`, fits it, and ranks its true parameters.
    ///
    /// # Errors
    /// If `simulate` returns an error, or the log density at the drawn parameters is not finite.
    pub fn data_set<T: LogDensity>(
        &self,
        number: u64,
        simulate: impl Fn(&mut Stream) -> Result<(Vec<f64>, T), Error>,
        call: Call<T>,
    ) -> Result<Ranked, Error> {
        let seed = Seed::new(self.options.seed).named("calibration").child(number);
        let place = |error: Error| error.within(format!("data set {number}"));
        let (truth, target) = simulate(&mut seed.named("data").stream(0, 0)).map_err(place)?;
        same_length("parameters", target.dim(), truth.len()).map_err(place)?;
        let log_p = target.log_density(&truth, &mut vec![0.0; target.work_len(1)]);
        if !log_p.is_finite() {
            let reason = format!(
                "the log density at the parameters it was drawn from is {log_p}: simulator and density disagree"
            );
            return Err(place(Error::invalid(reason)));
        }
        let number = (seed.stream(0, 0).uniform() * 2.0_f64.powi(53)) as u64;
        let options = Options { seed: number, ..self.options.clone() };
        let ranked = call(&target, &options).and_then(|fitted| {
            Ranked::of(&truth, log_p, &target, &fitted, &mut seed.named("ranks").stream(0, 0))
        });
        Ok(ranked.unwrap_or_else(|error| Ranked { no: Some(error.to_string()), ..Ranked::default() }))
    }

    /// Judges the ranks of data sets.
    ///
    /// # Errors
    /// If the data sets have different parameters, or the level is not between 0 and 1.
    pub fn judge(&self, fits: &[Ranked]) -> Result<CalibrationResult, Error> {
        let yes: Vec<&Ranked> = fits.iter().filter(|fit| fit.no.is_none()).collect();
        let names = yes.first().map_or_else(Vec::new, |first| first.names.clone());
        if let Some(other) = yes.iter().find(|fit| fit.names != names || fit.ranks.len() != names.len()) {
            let reason = format!("the parameters of data sets differ: {:?} and {names:?}", other.names);
            return Err(Error::invalid(reason).within("Calibration"));
        }
        let ranks: Vec<Vec<f64>> =
            (0..names.len()).map(|i| yes.iter().map(|fit| fit.ranks[i]).collect()).collect();
        let share = (self.looks().len() * names.len().max(1)) as f64;
        let band = RankBand::new(yes.len(), self.level / share)?;
        let errors = [(self.bias, 1.0), (0.0, self.factor), (0.0, self.factor.recip())];
        let power = errors.map(|(bias, factor)| band.power(bias, factor)).into_iter().fold(1.0, f64::min);
        let is_outside = ranks.iter().any(|ranks| !band.holds(ranks));
        let conclusion = match () {
            () if is_outside => Conclusion::Wrong,
            () if power >= POWER => Conclusion::Calibrated,
            () => Conclusion::Open,
        };
        let noes = fits.iter().filter_map(|fit| fit.no.clone()).collect();
        Ok(CalibrationResult { plan: self.clone(), names, ranks, noes, band, power, conclusion })
    }
}

/// Ranks of the true values of one data set, and the verdict on its fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranked {
    /// Names of the quantities: the reported parameters, and `log density`.
    pub names: Vec<String>,
    /// Rank of the true value of each among draws, between 0 and 1; none if the fit ended with an error.
    pub ranks: Vec<f64>,
    /// The verdict in words if it is no, or the error.
    pub no: Option<String>,
}

impl Ranked {
    /// Ranks of true values among draws with equal weights.
    ///
    /// ```text
    /// u = (#{z_j < z} + U (#{z_j = z} + 1)) / (L + 1),   U uniform:   uniform for every L, also with ties
    /// ```
    fn of(
        truth: &[f64],
        log_p: f64,
        target: &impl LogDensity,
        fitted: &FitResult,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        let draws = &fitted.draws;
        let copies = draws.copies(DRAWS.min(draws.sample_size as usize).max(1), stream)?;
        let mut named = Named::default();
        let points = copies.iter().map(|&j| draws.points.col_as_slice(j));
        for z in std::iter::once(truth).chain(points) {
            named.next_point();
            target.constrain(z, &mut named);
        }
        let (width, values) = (named.names().len(), named.values());
        let mut ranks: Vec<f64> = (0..width)
            .map(|i| rank(values[i], values[width..].iter().skip(i).step_by(width).copied(), stream))
            .collect();
        ranks.push(rank(log_p, copies.iter().map(|&j| draws.log_p[j]), stream));
        let names = named.names().iter().cloned().chain(["log density".to_owned()]).collect();
        let no = (!fitted.verdict.is_yes()).then(|| fitted.verdict.to_string());
        Ok(Self { names, ranks, no })
    }
}

fn rank(truth: f64, draws: impl Iterator<Item = f64>, stream: &mut Stream) -> f64 {
    let (mut below, mut equal, mut all) = (0.0, 1.0, 1.0);
    for draw in draws {
        all += 1.0;
        below += if draw < truth { 1.0 } else { 0.0 };
        equal += if draw == truth { 1.0 } else { 0.0 };
    }
    (below + stream.uniform() * equal) / all
}

/// Conclusion from ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// No quantity leaves the band, and the errors of the plan would have been seen with probability 95 %.
    Calibrated,
    /// A quantity leaves the band.
    Wrong,
    /// No quantity leaves the band, but there are too few data sets to see the errors of the plan.
    Open,
}

/// Ranks of data sets with a yes, and what they show.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationResult {
    /// The plan.
    pub plan: Calibration,
    /// Names of the quantities.
    pub names: Vec<String>,
    /// Ranks of each quantity, one for each data set with a yes.
    pub ranks: Vec<Vec<f64>>,
    /// The verdict as text, or the error of the fit, for each data set without a yes.
    pub noes: Vec<String>,
    /// The band of the distribution function of the ranks of each quantity.
    pub band: RankBand,
    /// Probability with which the errors of the plan, each alone and in one quantity, would have left the band; the smallest of them.
    pub power: f64,
    /// The conclusion.
    pub conclusion: Conclusion,
}

/// Bars of a histogram, from one eighth to eight.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Number of bars.
const CELLS: usize = 20;

/// The table of quantities, with histograms of their ranks, and the conclusion in words.
impl fmt::Display for CalibrationResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (yes, noes) = (self.band.count, self.noes.len());
        let all = yes + noes;
        writeln!(
            f,
            "{all} data sets from the prior: {yes} got a yes, {noes} a no ({:.1} %)",
            100.0 * noes as f64 / all.max(1) as f64
        )?;
        if let Some(first) = self.noes.first() {
            writeln!(f, "The first no: {first}")?;
        }
        writeln!(f, "{:>16} {:>8} {:>8}  ranks given yes; ▄ is uniform", "", "bias, sd", "sd ratio")?;
        for (name, ranks) in self.names.iter().zip(&self.ranks) {
            let (bias, factor) = rank_error(ranks);
            let out = if self.band.holds(ranks) { "" } else { "  outside the band" };
            writeln!(f, "{name:>16} {bias:>8.2} {factor:>8.2}  {}{out}", histogram(ranks))?;
        }
        let Calibration { level, bias, factor, .. } = self.plan;
        let power = format!(
            "an error of {bias} sd or of an sd by a factor {factor} would be seen with probability {:.0} %",
            100.0 * self.power
        );
        let level = (1e6 * level).round() / 1e4;
        match self.conclusion {
            Conclusion::Calibrated => write!(f, "Calibrated: all ranks are in their bands, and {power}"),
            Conclusion::Wrong => write!(f, "Wrong: ranks leave their band (false alarm at most {level} %)"),
            Conclusion::Open => write!(f, "Open: all ranks are in their bands, but {power}"),
        }
    }
}

/// Numbers of ranks in equal cells; a bar of half the height is the number of uniform ranks.
fn histogram(ranks: &[f64]) -> String {
    let mut counts = [0_usize; CELLS];
    ranks.iter().for_each(|rank| counts[((rank * CELLS as f64) as usize).min(CELLS - 1)] += 1);
    let height = |count: usize| 4.0 * (count * CELLS) as f64 / ranks.len().max(1) as f64;
    counts.iter().map(|count| BARS[(height(*count).round() as usize).clamp(1, 8) - 1]).collect()
}

#[cfg(test)]
mod tests {
    use mcsa_core::from_fn;

    use super::*;

    type Drawn = (Vec<f64>, Box<dyn Gradient>);

    /// A normal mean with a standard normal prior and two data, whose noise has scale 1, and is taken to have scale `taken`.
    fn simulator(taken: f64) -> impl Fn(&mut Stream) -> Result<Drawn, Error> + Sync {
        move |stream| {
            let z = stream.normal();
            let y = z + 0.5_f64.sqrt() * stream.normal();
            let precision = 2.0 / (taken * taken);
            let density = move |z: &[f64]| -0.5 * (z[0] * z[0] + precision * (y - z[0]).powi(2));
            let gradient = move |z: &[f64], out: &mut [f64]| out[0] = precision * (y - z[0]) - z[0];
            Ok((vec![z], Box::new(from_fn(1, density).with_gradient(gradient))))
        }
    }

    fn plan(data_sets: usize) -> Calibration {
        let options = Options { draws: 1_000, starts: 5, ..Options::seeded(7) };
        Calibration { data_sets, level: 1e-4, bias: 1.0, factor: 4.0, options }
    }

    /// Counterexample: noise of a third of the scale is caught at the first look. False alarm 1e-4.
    #[test]
    fn a_conjugate_model_passes_and_wrong_noise_is_caught_early() {
        let right = calibrate(simulator(1.0), &plan(50)).unwrap();
        assert_eq!(right.conclusion, Conclusion::Calibrated, "{right}");
        assert_eq!(right.names, ["z[0]", "log density"]);
        let wrong = calibrate(simulator(1.0 / 3.0), &plan(1_000)).unwrap();
        assert_eq!(
            (wrong.conclusion, wrong.band.count + wrong.noes.len()),
            (Conclusion::Wrong, 50),
            "{wrong}"
        );
        assert!(wrong.to_string().contains("outside the band"), "{wrong}");
    }

    /// Even ranks of one quantity: open while they are few, calibrated when an error of 0.3 would be seen. Counterexample: their squares.
    #[test]
    fn even_ranks_are_calibrated_and_their_squares_are_not() {
        let even = |count: u32, power: f64| -> Vec<Ranked> {
            let rank = |i: u32| ((f64::from(i) + 0.5) / f64::from(count)).powf(power);
            let names = vec!["a".to_owned()];
            (0..count).map(|i| Ranked { names: names.clone(), ranks: vec![rank(i)], no: None }).collect()
        };
        let judged = |count, power| Calibration::default().judge(&even(count, power)).unwrap().conclusion;
        assert_eq!(judged(50, 1.0), Conclusion::Open);
        assert_eq!(judged(800, 1.0), Conclusion::Calibrated);
        assert_eq!(judged(800, 2.0), Conclusion::Wrong);
        let with_no =
            [even(9, 1.0), vec![Ranked { no: Some("budget".into()), ..Ranked::default() }]].concat();
        let found = Calibration::default().judge(&with_no).unwrap().to_string();
        assert!(
            found.starts_with(
                "10 data sets from the prior: 9 got a yes, 1 a no (10.0 %)\nThe first no: budget"
            )
        );
        let other = Ranked { names: vec!["b".into()], ranks: vec![0.5], no: None };
        assert!(Calibration::default().judge(&[even(1, 1.0), vec![other]].concat()).is_err());
    }

    /// Ties leave the rank uniform between its ends.
    #[test]
    fn ranks_lie_between_their_ends() {
        let mut stream = Seed::new(1).stream(0, 0);
        let found = rank(2.0, [1.0, 2.0, 2.0, 3.0].into_iter(), &mut stream);
        assert!((0.2..0.8).contains(&found), "{found}");
        assert!(rank(0.0, [1.0; 9].into_iter(), &mut stream) < 0.1);
    }

    #[test]
    fn faults_of_plan_and_simulator_are_named() {
        let error = |plan: Calibration| calibrate(simulator(1.0), &plan).unwrap_err().to_string();
        assert!(error(Calibration { factor: 1.0, ..plan(10) }).starts_with("Calibration: factor is 1"));
        let options = Options { checkpoint: Some("fit".into()), ..Options::default() };
        assert!(error(Calibration { options, ..plan(10) }).contains("share no file"));
        let outside = |_: &mut Stream| Ok((vec![1.0], from_fn(1, |_| f64::NEG_INFINITY)));
        let error = calibrate_density(outside, &plan(1)).unwrap_err().to_string();
        assert!(error.contains("data set 0: the log density") && error.contains("-inf"), "{error}");
    }
}
