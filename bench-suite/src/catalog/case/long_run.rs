//! Moments and quantiles from stored long runs of the No-U-Turn sampler.

use mcsa_core::{Error, LogDensity, Seed};
use mcsa_diagnostics::{effective_sample_size, r_hat, standard_error};
use mcsa_kernels::{Nuts, Sampling};

use super::Case;
use super::effects::{Effects, Unscaled};
use super::margin::{LEVELS, Margin, Margins, level};
use super::truth::Truth;
use crate::catalog::Posterior;
use crate::quantile::quantile;

const STORED: &str = include_str!("../../../references/moments.csv");

/// First lines of the file of stored runs.
pub(crate) const HEAD: &str = "\
# Long runs of the No-U-Turn sampler, made by `cargo run --release -p mcsa-bench-suite -- references`. sample_size is the
# smallest effective number of draws for the mean, the variance and the quantiles at 5 % and 95 %. Quantiles at 5 %, 10 %, .., 95 %
# are given by their distances from the mean in units of the sd / 10000, and their errors in the same units. Chains move the effects
# of hierarchical models in units of their scales, and as they are where that run is too short.
case,coordinate,mean,mean_error,sd,sd_error,r_hat,sample_size,quantiles,quantile_errors";

/// Moments and quantiles of a coordinate from a long run of the No-U-Turn sampler, with their standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LongRun {
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
/// Number of fields of a line.
const FIELDS: usize = 10;
/// Unit of stored quantiles, in standard deviations.
const UNIT: f64 = 1e-4;

impl LongRun {
    /// Stored moments and margins of a case by its title.
    ///
    /// # Errors
    /// If there are none, or the file is malformed.
    pub(super) fn of(title: &str) -> Result<(Truth, Margins), Error> {
        let rows: Vec<Self> =
            records()?.into_iter().filter(|(case, _)| case == title).map(|(_, row)| row).collect();
        if rows.is_empty() {
            return Err(Error::invalid(format!("no stored moments of {title}: run `mcsa-bench references`")));
        }
        let margin =
            |row: &Self| Margin::Stored(row.quantiles[0].map(|distance| row.mean + row.sd * distance));
        let margins = Margins::each(rows.iter().map(margin).collect());
        let (means, sds) = rows.iter().map(|row| (row.mean, row.sd)).unzip();
        Ok((Truth::Moments { means, sds }, margins))
    }

    /// Stored lines of a case.
    pub(crate) fn stored_lines(title: &str) -> Vec<String> {
        let is_of = |line: &&str| line.rsplitn(FIELDS, ',').last() == Some(title);
        STORED.lines().filter(is_of).map(str::to_owned).collect()
    }

    /// Lines of the file for a case, by a long run. Chains move effects in units of their scales, and as they are if that run is too
    /// short.
    ///
    /// # Errors
    /// If a chain cannot start, or the runs are still too short at the end.
    pub(crate) fn lines(case: &Case, posterior: &dyn Posterior) -> Result<Vec<String>, Error> {
        let run = |effects: Vec<Effects>| {
            let target = Unscaled { posterior, effects };
            Self::of_target(&case.title(), Seed::new(11).named(case.kind()), &target)
        };
        match case.effects(posterior.dim()) {
            effects if effects.is_empty() => run(effects),
            effects => run(effects).or_else(|_| run(Vec::new())),
        }
    }

    fn of_target(title: &str, seed: Seed, target: &Unscaled<'_>) -> Result<Vec<String>, Error> {
        let sampling = Sampling::new(CHAINS, STRETCH).acceptance(0.9);
        let mut sample = sampling.run(&Nuts::new(0.1)?, target, seed)?;
        let mut coordinates = vec![vec![Vec::new(); CHAINS]; target.dim()];
        for stretch in 1..=STRETCHES as u64 {
            target.scale_each(&mut sample.draws);
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
        let (variance, of_variance) = moment(&squares(chains, mean));
        let sd = variance.sqrt();
        let mut sorted = chains.concat();
        let mut distance = |level: f64| (quantile(&mut sorted, level) - mean) / sd;
        let quantiles = std::array::from_fn(|k| distance(level(k)));
        // Half the distance between the quantiles at one standard error of the level on either side.
        let errors = std::array::from_fn(|k| {
            let (p, x) = (level(k), mean + sd * quantiles[k]);
            let off = (p * (1.0 - p) / effective_sample_size(&below(chains, x))).sqrt();
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

fn squares(chains: &[Vec<f64>], mean: f64) -> Vec<Vec<f64>> {
    chains.iter().map(|chain| chain.iter().map(|z| (z - mean).powi(2)).collect()).collect()
}

/// Indicators of the values up to `x`.
fn below(chains: &[Vec<f64>], x: f64) -> Vec<Vec<f64>> {
    chains.iter().map(|chain| chain.iter().map(|z| f64::from(*z <= x)).collect()).collect()
}

/// Smallest effective sample size for the mean, the variance and the quantiles at 5 % and 95 %.
fn size(chains: &[Vec<f64>]) -> f64 {
    let (mean, _) = moment(chains);
    let mut all = chains.concat();
    let mut tail = |level: f64| effective_sample_size(&below(chains, quantile(&mut all, level)));
    let sizes = [
        effective_sample_size(chains),
        effective_sample_size(&squares(chains, mean)),
        tail(0.05),
        tail(0.95),
    ];
    // Written so that NaN is the smallest.
    sizes.into_iter().fold(f64::INFINITY, |least, size| if size >= least { least } else { size })
}

/// Line `at` of the file: the title of a case and a row. Titles contain commas: the last nine fields are numbers.
fn record(at: usize, line: &str) -> Result<(String, LongRun), Error> {
    let refuse = || Error::invalid(format!("references/moments.csv, line {}: malformed", at + 1));
    let fields: Vec<&str> = line.rsplitn(FIELDS, ',').collect();
    let [errors, quantiles, size, r_hat, sd_error, sd, mean_error, mean, _, title] = fields[..] else {
        return Err(refuse());
    };
    let number = |text: &str| text.parse::<f64>().map_err(|_| refuse());
    let list = |text: &str| {
        let numbers: Vec<f64> = text.split(' ').map(number).collect::<Result<_, _>>()?;
        <[f64; LEVELS]>::try_from(numbers).map(|list| list.map(|number| UNIT * number)).map_err(|_| refuse())
    };
    let known = LongRun {
        mean: number(mean)?,
        mean_error: number(mean_error)?,
        sd: number(sd)?,
        sd_error: number(sd_error)?,
        r_hat: number(r_hat)?,
        size: number(size)?,
        quantiles: [list(quantiles)?, list(errors)?],
    };
    Ok((title.to_owned(), known))
}

/// Rows of the file with the titles of their cases.
fn records() -> Result<Vec<(String, LongRun)>, Error> {
    let lines = STORED.lines().enumerate().skip(HEAD.lines().count());
    lines.map(|(at, line)| record(at, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_case_without_a_run_is_told_how_to_get_one() {
        assert!(LongRun::of("no such case").unwrap_err().to_string().contains("mcsa-bench references"));
    }

    /// A long run of a Student t with five degrees of freedom: moments and quantiles within 5 of their errors, false alarm below 1e-4
    /// for 42 numbers; a median moved by a tenth is not.
    #[test]
    fn a_long_run_finds_what_is_known() {
        let target = mcsa_models::Student::new(vec![1.0, -2.0], vec![1.0, 10.0], 5.0).unwrap();
        let target = Unscaled { posterior: &target, effects: Vec::new() };
        let lines = LongRun::of_target("known", Seed::new(11).named("known"), &target).unwrap();
        let exact = Margins::each(vec![Margin::student(5.0)]).quantiles()[0];
        let sd = (5.0_f64 / 3.0).sqrt();
        for (line, (location, scale)) in lines.iter().zip([(1.0, 1.0), (-2.0, 10.0)]) {
            let known = record(0, line).unwrap().1;
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
