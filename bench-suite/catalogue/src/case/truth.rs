//! Truths of cases: moments, margins, long runs.

use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};

use mcsa_core::numeric::scalar::{erfc, ln_gamma};
use mcsa_core::{Error, LogDensity, Seed};
use mcsa_diagnostics::{effective_sample_size, quantile, r_hat, standard_error};
use mcsa_kernels::{Nuts, Sampling};
use mcsa_models::{Gaussian, GroundTruth, Mixture};

use super::Case;
use super::posteriors::{Effects, scale, unscaled};
use crate::Posterior;

/// Moments of a target.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// Mean and standard deviation of each coordinate.
    Moments {
        /// The means.
        means: Vec<f64>,
        /// The standard deviations.
        sds: Vec<f64>,
    },
    /// The density has no integral, or no variance.
    None,
}

impl Truth {
    /// Moments of a target that has them in closed form.
    pub(super) fn of(target: &impl GroundTruth) -> Self {
        let (Some(means), Some(covariance)) = (target.mean(), target.covariance()) else { return Self::None };
        Self::Moments { sds: (0..means.len()).map(|i| covariance[(i, i)].sqrt()).collect(), means }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Line {
    /// `N(0, 1)` that is `exp(height)` times as high beyond 1.
    Step { height: f64 },
    /// Constant: improper.
    Flat,
    /// `(1 + z^2)^(-1/2)`: improper, by a logarithm.
    LogTail,
    /// Student t.
    Student { freedom: f64 },
}

/// Mass of the standard normal law beyond 1.
const BEYOND: f64 = 0.158_655_253_931_457_05;

impl Line {
    /// Log density and its slope; at the step the slope is that of the normal density.
    pub(super) fn at(self, z: f64) -> (f64, f64) {
        match self {
            Self::Step { height } => (-0.5 * (z * z + TAU.ln()) + if z > 1.0 { height } else { 0.0 }, -z),
            Self::Flat => (0.0 * z, 0.0),
            Self::LogTail => (-0.5 * (z * z).ln_1p(), -z / (1.0 + z * z)),
            Self::Student { freedom: nu } => {
                let log_peak = ln_gamma(0.5 * (nu + 1.0)) - ln_gamma(0.5 * nu) - 0.5 * (nu * PI).ln();
                (log_peak - 0.5 * (nu + 1.0) * (z * z / nu).ln_1p(), -(nu + 1.0) * z / (nu + z * z))
            }
        }
    }

    /// Mean and standard deviation, if they exist.
    pub(super) fn moments(self) -> Option<(f64, f64)> {
        match self {
            Self::Step { height } => {
                // Mass and density of the standard normal law beyond 1, and at 1.
                let (beyond, at, lift) = (BEYOND, (-0.5_f64).exp() / TAU.sqrt(), height.exp());
                let mass = 1.0 - beyond + lift * beyond;
                let mean = at * (lift - 1.0) / mass;
                let square = (1.0 - beyond - at + lift * (beyond + at)) / mass;
                Some((mean, (square - mean * mean).sqrt()))
            }
            Self::Student { freedom } if freedom > 2.0 => Some((0.0, (freedom / (freedom - 2.0)).sqrt())),
            Self::Flat | Self::LogTail | Self::Student { .. } => None,
        }
    }

    /// Log normaliser, unless the density is improper.
    pub(super) fn log_normaliser(self) -> Option<f64> {
        match self {
            Self::Step { height } => Some((1.0 + height.exp_m1() * BEYOND).ln()),
            Self::Student { .. } => Some(0.0),
            Self::Flat | Self::LogTail => None,
        }
    }
}

/// Number of quantiles of a margin.
pub const LEVELS: usize = 19;

/// Level of quantile `k`: 5 %, 10 %, .., 95 %.
pub(super) fn level(k: usize) -> f64 {
    (k + 1) as f64 / (LEVELS + 1) as f64
}

/// Quantiles at 5 %, 10 %, .., 95 % of each coordinate. They are computed by each call, because each is a search.
pub type Margins = Box<dyn Fn() -> Vec<[f64; LEVELS]> + Send + Sync>;

/// Mixture of normal distributions: weight, mean and standard deviation of each. The weights need not add up to one.
pub(super) type Normals = Vec<[f64; 3]>;

pub(super) const STANDARD: [[f64; 3]; 1] = [[1.0, 0.0, 1.0]];

/// Margins of `dim` coordinates, of which the last is that of all further ones.
pub(super) fn margins(distinct: Vec<Normals>, dim: usize) -> Margins {
    Box::new(move || {
        let distinct: Vec<_> = distinct.iter().map(|normals| quantiles(normals)).collect();
        (0..dim).map(|i| distinct[i.min(distinct.len() - 1)]).collect()
    })
}

pub(super) fn of_mixture(target: &Mixture) -> Margins {
    let node = |i: usize| {
        move |(k, part): (usize, &Gaussian)| [target.weight(k), part.mean()[i], part.variance(i).sqrt()]
    };
    let margin = |i: usize| target.components().iter().enumerate().map(node(i)).collect();
    margins((0..target.dim()).map(margin).collect(), target.dim())
}

/// Nodes of the trapezoidal rule for `z | t ~ N(mean, sd^2)`, `t` with this density on `[from, to]`.
fn mixed(
    [from, to]: [f64; 2],
    nodes: usize,
    log_density: impl Fn(f64) -> f64,
    given: impl Fn(f64) -> (f64, f64),
) -> Normals {
    let node = |k: usize| {
        let t = from + (to - from) * k as f64 / nodes as f64;
        let (mean, sd) = given(t);
        [log_density(t).exp(), mean, sd]
    };
    (0..=nodes).map(node).collect()
}

fn log_normal(t: f64) -> f64 {
    -0.5 * t * t
}

/// `N(0, exp(v))` with `v ~ N(0, scale^2)`.
pub(super) fn funnel(scale: f64) -> Normals {
    mixed([-9.0, 9.0], 800, log_normal, |t| (0.0, (0.5 * scale * t).exp()))
}

/// `N(bend (x^2 - width^2), 1)` with `x ~ N(0, width^2)`.
pub(super) fn banana(width: f64, bend: f64) -> Normals {
    mixed([-9.0, 9.0], 4_000, log_normal, |t| (bend * width * width * (t * t - 1.0), 1.0))
}

/// Student t: `N(0, nu / c)` with `c` chi-squared, in the logarithm of `c / nu`.
pub(super) fn student(freedom: f64) -> Normals {
    let half = 0.5 * freedom;
    let log_constant = half * half.ln() - ln_gamma(half);
    let log_density = |t: f64| log_constant + half * (t - t.exp());
    let reach = 40.0 / half.min(1.0) + 10.0;
    mixed([-reach, 8.0], (64.0 * (reach + 8.0)) as usize, log_density, |t| (0.0, (-0.5 * t).exp()))
}

/// Skew normal: `location + scale (slope |t| + sqrt(1 - slope^2) e)` with normal `t` and `e`, `slope = slant / sqrt(1 + slant^2)`.
pub(super) fn skew_normal(location: f64, scale: f64, slant: f64) -> Normals {
    let slope = slant / slant.hypot(1.0);
    // The rule counts the end at 0 half.
    let log_half = |t: f64| log_normal(t) - if t == 0.0 { 2.0_f64.ln() } else { 0.0 };
    let sd = scale * (1.0 - slope * slope).sqrt();
    mixed([0.0, 9.0], 4_000, log_half, |t| (location + scale * slope * t, sd))
}

/// Quantiles of a mixture of normal distributions, by bisection to rounding.
fn quantiles(nodes: &[[f64; 3]]) -> [f64; LEVELS] {
    let total: f64 = nodes.iter().map(|node| node[0]).sum();
    let end = |sign: f64| {
        let ends = nodes.iter().filter(|node| node[0] > 0.0).map(|[_, mean, sd]| mean + sign * 10.0 * sd);
        ends.fold(-sign * f64::INFINITY, |a, b| if sign > 0.0 { a.max(b) } else { a.min(b) })
    };
    let cdf = |x: f64| 0.5 * erfc(-x * FRAC_1_SQRT_2);
    let below = |x: f64| nodes.iter().map(|[weight, mean, sd]| weight * cdf((x - mean) / sd)).sum::<f64>();
    // In the inverse hyperbolic sine, so that heavy tails cost no more steps.
    let ends = (end(-1.0).asinh(), end(1.0).asinh());
    std::array::from_fn(|k| {
        let (mut low, mut high) = ends;
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if below(middle.sinh()) < level(k) * total { low = middle } else { high = middle }
        }
        (0.5 * (low + high)).sinh()
    })
}

const STORED: &str = include_str!("../../../references/moments.csv");

/// First lines of the file of stored runs.
pub const HEAD: &str = "\
# Long runs of the No-U-Turn sampler, made by `cargo run --release -p mcsa-bench-suite -- references`. sample_size is the
# smallest effective number of draws for the mean, the variance and the quantiles at 5 % and 95 %. Quantiles at 5 %, 10 %, .., 95 %
# are given by their distances from the mean in units of the sd / 10000, and their errors in the same units. Chains move the effects
# of hierarchical models in units of their scales, and as they are where that run is too short.
case,coordinate,mean,mean_error,sd,sd_error,r_hat,sample_size,quantiles,quantile_errors";

/// Moments and quantiles of a coordinate from a long run of the No-U-Turn sampler, with their standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongRun {
    mean: f64,
    mean_error: f64,
    sd: f64,
    sd_error: f64,
    r_hat: f64,
    /// Smallest effective sample size for the mean, the variance and the outer quantiles.
    size: f64,
    /// Quantiles and their errors, as distances from the mean in standard deviations.
    quantiles: [[f64; LEVELS]; 2],
}

/// Chains of a long run, and draws of each in one stretch; stretches are added until the run is long enough.
const CHAINS: usize = 8;
const STRETCH: usize = 2_500;
const STRETCHES: usize = 40;
/// Least effective sample size of a long run, and greatest R-hat.
const SIZE: f64 = 10_000.0;
const R_HAT: f64 = 1.01;
const FIELDS: usize = 10;
/// Unit of stored quantiles, in standard deviations.
const UNIT: f64 = 1e-4;

impl LongRun {
    /// Stored moments and margins of a case by its title.
    pub(super) fn of(title: &str) -> Result<(Truth, Margins), Error> {
        let rows: Vec<Self> =
            records()?.into_iter().filter(|(case, _)| *case == title).map(|(_, row)| row).collect();
        if rows.is_empty() {
            return Err(Error::invalid(format!("no stored moments of {title}: run `mcsa-bench references`")));
        }
        let quantiles = |row: &Self| row.quantiles[0].map(|distance| row.mean + row.sd * distance);
        let quantiles: Vec<_> = rows.iter().map(quantiles).collect();
        let (means, sds) = rows.iter().map(|row| (row.mean, row.sd)).unzip();
        Ok((Truth::Moments { means, sds }, Box::new(move || quantiles.clone())))
    }

    /// Stored lines of a case.
    pub fn stored_lines(title: &str) -> Vec<String> {
        let is_of = |line: &&str| line.rsplitn(FIELDS, ',').last() == Some(title);
        STORED.lines().filter(is_of).map(str::to_owned).collect()
    }

    /// Lines of the file for a case, by a long run. Chains move effects in units of their scales, and as they are if that run is too
    /// short.
    pub fn lines(case: &Case, posterior: &dyn Posterior) -> Result<Vec<String>, Error> {
        let run = |effects: &[Effects]| {
            Self::of_target(&case.title(), Seed::new(11).named(case.kind()), (posterior, effects))
        };
        match &case.effects(posterior.dim())[..] {
            [] => run(&[]),
            effects => run(effects).or_else(|_| run(&[])),
        }
    }

    fn of_target(
        title: &str,
        seed: Seed,
        (posterior, effects): (&dyn Posterior, &[Effects]),
    ) -> Result<Vec<String>, Error> {
        let target = &unscaled(posterior, effects);
        let sampling = Sampling::new(CHAINS, STRETCH).acceptance(0.9);
        let mut sample = sampling.run(&Nuts::new(0.1)?, target, seed)?;
        let mut coordinates = vec![vec![Vec::new(); CHAINS]; target.dim()];
        for stretch in 1..=STRETCHES as u64 {
            for j in 0..sample.draws.ncols() {
                scale(effects, sample.draws.col_as_slice_mut(j));
            }
            for (i, chains) in coordinates.iter_mut().enumerate() {
                chains.iter_mut().zip(sample.coordinate(i)).for_each(|(all, more)| all.extend(more));
            }
            let is_long = |chains: &Vec<Vec<f64>>| size(chains) >= SIZE && r_hat(chains) < R_HAT;
            if coordinates.iter().all(is_long) {
                let line = |(i, chains): (usize, &Vec<Vec<f64>>)| {
                    format!("{title},{i},{}", Self::of_chains(chains).fields())
                };
                return Ok(coordinates.iter().enumerate().map(line).collect());
            }
            let next = sampling.warm_up(0);
            sample = next.run_from(&sample.kernel, target, sample.positions, seed.child(stretch))?;
        }
        let least = coordinates.iter().map(|chains| size(chains)).fold(f64::INFINITY, f64::min);
        Err(Error::invalid(format!("{title}: an effective sample size of {least:.0} is too small")))
    }

    fn of_chains(chains: &[Vec<f64>]) -> Self {
        let (mean, mean_error) = moment(chains);
        let (variance, of_variance) = moment(&each(chains, |z| (z - mean).powi(2)));
        let sd = variance.sqrt();
        let mut sorted = chains.concat();
        let mut distance = |level: f64| (quantile(&mut sorted, level) - mean) / sd;
        let quantiles = std::array::from_fn(|k| distance(level(k)));
        // Half the distance between the quantiles at one standard error of the level on either side.
        let errors = std::array::from_fn(|k| {
            let (p, x) = (level(k), mean + sd * quantiles[k]);
            let off = (p * (1.0 - p) / size_below(chains, x)).sqrt();
            0.5 * (distance(p + off) - distance(p - off))
        });
        Self {
            mean,
            mean_error,
            sd,
            sd_error: 0.5 * of_variance / sd,
            r_hat: r_hat(chains),
            size: size(chains),
            quantiles: [quantiles, errors],
        }
    }

    fn fields(&self) -> String {
        let list = |numbers: [f64; LEVELS]| numbers.map(|number| format!("{:.0}", number / UNIT)).join(" ");
        let [quantiles, errors] = self.quantiles.map(list);
        format!(
            "{:.6e},{:.1e},{:.6e},{:.1e},{:.4},{:.0},{quantiles},{errors}",
            self.mean, self.mean_error, self.sd, self.sd_error, self.r_hat, self.size
        )
    }
}

/// Mean of all chains, with its standard error.
fn moment(chains: &[Vec<f64>]) -> (f64, f64) {
    let count: usize = chains.iter().map(Vec::len).sum();
    (chains.iter().flatten().sum::<f64>() / count as f64, standard_error(chains))
}

fn each(chains: &[Vec<f64>], of: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    chains.iter().map(|chain| chain.iter().map(|z| of(*z)).collect()).collect()
}

/// Effective sample size of the indicators of the values up to `x`.
fn size_below(chains: &[Vec<f64>], x: f64) -> f64 {
    effective_sample_size(&each(chains, |z| f64::from(z <= x)))
}

/// Smallest effective sample size for the mean, the variance and the quantiles at 5 % and 95 %.
fn size(chains: &[Vec<f64>]) -> f64 {
    let (mean, _) = moment(chains);
    let mut all = chains.concat();
    let mut tail = |level: f64| size_below(chains, quantile(&mut all, level));
    let of_variance = effective_sample_size(&each(chains, |z| (z - mean).powi(2)));
    let sizes = [effective_sample_size(chains), of_variance, tail(0.05), tail(0.95)];
    // Written so that NaN is the smallest.
    sizes.into_iter().fold(f64::INFINITY, |least, size| if size >= least { least } else { size })
}

/// A line of the file: the title of a case and a row. Titles contain commas: the last nine fields are numbers.
fn record(line: &str) -> Option<(&str, LongRun)> {
    let fields: Vec<&str> = line.rsplitn(FIELDS, ',').collect();
    let [errors, quantiles, ref numbers @ .., _, title] = fields[..] else { return None };
    let number = |text: &&str| text.parse::<f64>().ok();
    let numbers: Vec<f64> = numbers.iter().rev().map(number).collect::<Option<_>>()?;
    let [mean, mean_error, sd, sd_error, r_hat, size] = numbers[..] else { return None };
    let list = |text: &str| {
        let numbers: Vec<f64> = text.split(' ').map(|text| number(&text)).collect::<Option<_>>()?;
        Some(<[f64; LEVELS]>::try_from(numbers).ok()?.map(|number| UNIT * number))
    };
    let quantiles = [list(quantiles)?, list(errors)?];
    Some((title, LongRun { mean, mean_error, sd, sd_error, r_hat, size, quantiles }))
}

/// Rows of the file with the titles of their cases.
fn records() -> Result<Vec<(&'static str, LongRun)>, Error> {
    let malformed = |at| Error::invalid(format!("references/moments.csv, line {}: malformed", at + 1));
    let lines = STORED.lines().enumerate().skip(HEAD.lines().count());
    lines.map(|(at, line)| record(line).ok_or_else(|| malformed(at))).collect()
}

#[cfg(test)]
mod tests {
    use mcsa_core::{ExactDraws, Seed};
    use mcsa_models::{Banana, Funnel, SkewNormal, Student};

    use super::*;

    #[test]
    fn moments_are_those_of_the_density() {
        for line in [Line::Step { height: 0.0 }, Line::Step { height: 3.0 }, Line::Student { freedom: 9.0 }] {
            let mut sums = [0.0; 3];
            for k in -400_000..400_000 {
                let z = (f64::from(k) + 0.5) * 1e-3;
                let density = line.at(z).0.exp();
                (0..3).for_each(|power| sums[power as usize] += density * z.powi(power));
            }
            let mean = sums[1] / sums[0];
            let sd = (sums[2] / sums[0] - mean * mean).sqrt();
            let (expected, deviation) = line.moments().unwrap();
            assert!((mean - expected).abs() < 1e-6 && (sd - deviation).abs() < 1e-5, "{line:?} {mean} {sd}");
            let log_z = line.log_normaliser().unwrap();
            assert!(((sums[0] * 1e-3).ln() - log_z).abs() < 1e-6, "{line:?} {log_z}");
        }
    }

    /// Shares of 40,000 exact draws below each quantile, within 6 standard errors; with the quantiles moved by a twentieth of the
    /// spread they are off.
    fn follows(target: &impl ExactDraws, margins: &Margins) {
        let (dim, draws) = (target.dim(), 40_000);
        let mut z = vec![0.0; dim];
        let quantiles = margins();
        let (mut below, mut moved) = (vec![[0.0_f64; LEVELS]; dim], vec![[0.0_f64; LEVELS]; dim]);
        let mut stream = Seed::new(8).stream(0, 0);
        for _ in 0..draws {
            target.draw_into(&mut stream, &mut z);
            for (i, z) in z.iter().enumerate() {
                let step = 0.05 * (quantiles[i][18] - quantiles[i][0]);
                for k in 0..LEVELS {
                    below[i][k] += f64::from(*z <= quantiles[i][k]);
                    moved[i][k] += f64::from(*z <= quantiles[i][k] + step);
                }
            }
        }
        assert_eq!(quantiles.len(), dim);
        for i in 0..dim {
            let off = |counts: &[f64; LEVELS], k: usize| {
                let p = level(k);
                (counts[k] / f64::from(draws) - p).abs() / (p * (1.0 - p) / f64::from(draws)).sqrt()
            };
            assert!((0..LEVELS).all(|k| off(&below[i], k) < 6.0), "coordinate {i}: {:?}", below[i]);
            assert!((0..LEVELS).any(|k| off(&moved[i], k) > 6.0), "coordinate {i}: {:?}", moved[i]);
        }
    }

    #[test]
    fn exact_draws_have_these_quantiles() {
        let normal = |sd: f64| vec![[1.0, 0.0, sd]];
        follows(&Funnel::new(2, 3.0).unwrap(), &margins(vec![normal(3.0), funnel(3.0)], 2));
        follows(&Banana::new(2.0, 0.5).unwrap(), &margins(vec![normal(2.0), banana(2.0, 0.5)], 2));
        for freedom in [1.0, 5.0] {
            let target = Student::new(vec![0.0; 2], vec![1.0; 2], freedom).unwrap();
            follows(&target, &margins(vec![student(freedom)], 2));
        }
        let skewed = SkewNormal::new(0.5, 2.0, 5.0).unwrap();
        follows(&skewed, &margins(vec![skew_normal(0.5, 2.0, 5.0)], 1));
        let mixture = Mixture::scattered(7, 10.0, 1.3, &mut Seed::new(2).stream(0, 0)).unwrap();
        follows(&mixture, &of_mixture(&mixture));
    }

    /// Quartiles of the Cauchy distribution are -1 and 1; those of the normal distribution are known.
    #[test]
    fn quantiles_of_known_distributions() {
        let cauchy = quantiles(&student(1.0));
        assert!((cauchy[4] + 1.0).abs() < 1e-9 && (cauchy[14] - 1.0).abs() < 1e-9, "{cauchy:?}");
        let normal = quantiles(&[[0.3, 2.0, 3.0]]);
        assert!((normal[18] - 2.0 - 3.0 * 1.644_853_626_951_472_7).abs() < 1e-10, "{normal:?}");
    }

    /// The chains agree, and errors are small beside the limits of a wrong answer: 0.3 sd, and a factor 1.3.
    #[test]
    fn stored_runs_are_long_enough() {
        let records = records().unwrap();
        assert!(records.len() > 100 && STORED.starts_with(HEAD) && STORED.len() < 400_000);
        for (case, known) in records {
            assert!(known.r_hat < R_HAT, "{case}: {known:?}");
            assert!(
                known.mean_error < 0.03 * known.sd && known.sd_error < 0.05 * known.sd,
                "{case}: {known:?}"
            );
            let [quantiles, errors] = known.quantiles;
            assert!(quantiles.is_sorted() && errors.iter().all(|error| *error < 0.05), "{case}: {known:?}");
            assert!(known.size >= SIZE, "{case}: {known:?}");
        }
    }

    /// A long run of a Student t with five degrees of freedom: moments and quantiles within 5 of their errors, false alarm below 1e-4
    /// for 42 numbers; a median moved by a tenth is not.
    #[test]
    fn a_long_run_finds_what_is_known() {
        let target = Student::new(vec![1.0, -2.0], vec![1.0, 10.0], 5.0).unwrap();
        let lines = LongRun::of_target("known", Seed::new(11).named("known"), (&target, &[])).unwrap();
        let exact = quantiles(&student(5.0));
        let sd = (5.0_f64 / 3.0).sqrt();
        for (line, (location, scale)) in lines.iter().zip([(1.0, 1.0), (-2.0, 10.0)]) {
            let known = record(line).unwrap().1;
            assert!((known.mean - location).abs() < 5.0 * known.mean_error, "{known:?}");
            assert!((known.sd - scale * sd).abs() < 5.0 * known.sd_error, "{known:?}");
            let [quantiles, errors] = known.quantiles;
            for (k, exact) in exact.iter().enumerate() {
                let found = (known.mean + known.sd * quantiles[k] - location) / scale;
                assert!((found - exact).abs() / sd < 5.0 * errors[k] + UNIT, "{k}: {known:?}");
            }
            assert!(0.1 / sd > 5.0 * errors[9]);
        }
    }

    /// Eight chains of 5000 independent normal numbers: errors are those of independent draws, and a line is read as it was
    /// written. Chains that stay where they are are too short.
    #[test]
    fn summaries_of_independent_chains() {
        let mut streams = Seed::new(5).streams(8, 0);
        let chain =
            |stream: &mut mcsa_core::Stream| (0..5_000).map(|_| 3.0 + 2.0 * stream.normal()).collect();
        let mut chains: Vec<Vec<f64>> = streams.iter_mut().map(chain).collect();
        let known = LongRun::of_chains(&chains);
        assert!((known.mean - 3.0).abs() < 0.05 && (known.sd - 2.0).abs() < 0.05, "{known:?}");
        let [quantiles, errors] = known.quantiles;
        assert!((quantiles[18] - 1.645).abs() < 0.05 && quantiles[9].abs() < 0.05, "{known:?}");
        // sqrt(p (1 - p) / n) / density: 0.0063 for the median, 0.0106 at 95 %.
        assert!((errors[9] / 0.0063 - 1.0).abs() < 0.3, "{known:?}");
        assert!((errors[18] / 0.0106 - 1.0).abs() < 0.3, "{known:?}");
        assert!(known.size > 30_000.0 && known.r_hat < 1.001, "{known:?}");
        assert_eq!(known.fields().split(',').count(), 8);
        // Every value is repeated ten times.
        for chain in &mut chains {
            (0..5_000).for_each(|t| chain[t] = chain[t - t % 10]);
        }
        assert!(size(&chains) < 6_000.0);
    }
}
