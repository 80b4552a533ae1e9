//! Moments from stored long runs of the No-U-Turn sampler.

use mcsa_core::{Error, Seed};
use mcsa_kernels::{Nuts, Sampling};

use super::truth::Truth;
use crate::catalog::Posterior;

const STORED: &str = include_str!("../../../references/moments.csv");

/// First line of the file of stored runs.
pub(crate) const HEAD: &str = "case,coordinate,mean,mean_error,sd,sd_error,r_hat";

/// Moments of a coordinate from a long run of the No-U-Turn sampler, with their standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LongRun {
    mean: f64,
    mean_error: f64,
    sd: f64,
    sd_error: f64,
    r_hat: f64,
}

/// Chains and draws of a long run.
const RUN: (usize, usize) = (8, 3_000);

impl LongRun {
    /// Stored moments of a case by its title.
    ///
    /// # Errors
    /// If there are none, or the file is malformed.
    pub(super) fn of(title: &str) -> Result<Truth, Error> {
        let rows: Vec<Self> =
            records()?.into_iter().filter(|(case, _)| case == title).map(|(_, row)| row).collect();
        if rows.is_empty() {
            return Err(Error::invalid(format!("no stored moments of {title}: run `mcsa-bench references`")));
        }
        let (means, sds) = rows.iter().map(|row| (row.mean, row.sd)).unzip();
        Ok(Truth::Moments { means, sds })
    }

    /// Lines of the file for a case with this title, by a long run.
    ///
    /// # Errors
    /// If a chain cannot start.
    pub(crate) fn lines(title: &str, kind: &str, posterior: &dyn Posterior) -> Result<Vec<String>, Error> {
        let (chains, draws) = RUN;
        let sampling = Sampling::new(chains, draws).acceptance(0.9);
        let sample = sampling.run(&Nuts::new(0.1)?, posterior, Seed::new(11).named(kind))?;
        let r_hats = sample.r_hat();
        let lines = (0..sample.draws.nrows()).map(|i| {
            let values = sample.coordinate(i);
            let (mean, error) = moment(&values);
            let squares: Vec<Vec<f64>> =
                values.iter().map(|chain| chain.iter().map(|z| (z - mean).powi(2)).collect()).collect();
            let (variance, of_variance) = moment(&squares);
            let sd = variance.sqrt();
            let of_sd = 0.5 * of_variance / sd;
            format!("{title},{i},{mean:.6e},{error:.1e},{sd:.6e},{of_sd:.1e},{:.4}", r_hats[i])
        });
        Ok(lines.collect())
    }
}

/// Mean of all chains, with its standard error.
fn moment(chains: &[Vec<f64>]) -> (f64, f64) {
    let count: usize = chains.iter().map(Vec::len).sum();
    (chains.iter().flatten().sum::<f64>() / count as f64, mcsa_diagnostics::standard_error(chains))
}

/// Rows of the file with the titles of their cases. Titles contain commas: the last six fields are numbers.
fn records() -> Result<Vec<(String, LongRun)>, Error> {
    let record = |(at, line): (usize, &str)| {
        let refuse = || Error::invalid(format!("references/moments.csv, line {}: malformed", at + 2));
        let mut fields: Vec<&str> = line.rsplitn(7, ',').collect();
        let [r_hat, sd_error, sd, mean_error, mean, _, title] = fields[..] else { return Err(refuse()) };
        fields.clear();
        let number = |text: &str| text.parse::<f64>().map_err(|_| refuse());
        let known = LongRun {
            mean: number(mean)?,
            mean_error: number(mean_error)?,
            sd: number(sd)?,
            sd_error: number(sd_error)?,
            r_hat: number(r_hat)?,
        };
        Ok((title.to_owned(), known))
    };
    STORED.lines().skip(1).enumerate().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chains agree, and errors are small beside the limits of a wrong answer: 0.3 sd, and a factor 1.3.
    #[test]
    fn stored_runs_are_long_enough() {
        let records = records().unwrap();
        assert!(records.len() > 100 && STORED.starts_with(HEAD));
        for (case, known) in records {
            assert!(known.r_hat < 1.01, "{case}: {}", known.r_hat);
            assert!(
                known.mean_error < 0.03 * known.sd && known.sd_error < 0.05 * known.sd,
                "{case}: {known:?}"
            );
        }
    }

    #[test]
    fn a_case_without_a_run_is_told_how_to_get_one() {
        assert!(LongRun::of("no such case").unwrap_err().to_string().contains("mcsa-bench references"));
    }
}
