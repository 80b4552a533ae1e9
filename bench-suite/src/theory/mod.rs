//! The subcommand `theory`: checks the papers' claims on bias, variance and rates and shows them in a terminal, as JSON and as a
//! page, or solves one finite problem.

mod listing;
mod page;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use mcsa_core::Error;
use mcsa_theory::claims::{self, Claim, Effort, Judgement};
use rayon::prelude::*;

use crate::instance;
use crate::report::{assemble, navigation_of_theory};
use crate::runner::pool;
use crate::store::write_whole;
use crate::text;
use crate::verbs::{Exit, threads};

/// Check every claim of the papers about bias, variance and rates, and show the results.
///
/// A claim holds, is tight (it holds, and a case comes within a thousandth of refuting it) or is violated; then the refuting
/// case is shown, and the corrected statement. Writes a page, `theory.html`, into the report, whose other pages link to it.
///
/// Exit codes: 0 all claims were checked, 1 a correction failed or a check was unable to refute, 2 the command line or an
/// instance was not understood.
#[derive(Debug, Args)]
pub struct Command {
    /// Only this claim, such as 000-T1, with all details; may be repeated.
    #[arg(long = "claim", value_name = "ID", value_parser = ids(), hide_possible_values = true)]
    pub claims: Vec<String>,
    /// Check a hundred thousand cases for each statement; takes minutes instead of seconds.
    #[arg(long)]
    pub long: bool,
    /// Print all results as JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Instead, solve the finite problem in this file (`-` is the standard input) and print the solution as JSON.
    ///
    /// The file holds `{"pi": ["1/2", "1/2"], "q": ["1/4", "3/4"], "s": ["1", "-1"], "n": [1, 2, 3], "candidates": [2, 3]}`:
    /// target, proposal and scalar score of each atom as numbers or fractions; numbers of transitions, states or chains; and
    /// numbers of candidates including the retained one. Vectors of the answer have one entry per start atom; `bias` is
    /// signed.
    ///
    /// w, wstar, r, kl, chi2_pearson, chi2_neyman: weights pi/q, the largest weight, 1 - 1/wstar, and divergences of pi from
    /// q; mu, sigma2: mean and variance of s under pi; imh: Metropolis, with tv = TV(K^n, pi), t = T_n(w), lambda_n =
    /// lambda(w)^n and kn_s = K^n s for each n; reject counts a proposal of the atom itself as accepted; barker, cis:
    /// reject_index is the probability that the retained index is kept, tv1 and tv2 are after one step and two, rb_ is the
    /// weighted average, full_ the selected candidate, snis_ as many independent draws; avg_: mean under pi; estimators: for
    /// each N, from pi (stationary) or from an atom (fixed), of one chain (seq), N chains (par) or N candidates (cis), var =
    /// diag + cov. Null means infinite, or too many terms to sum.
    ///
    /// Exact in fractions up to 64 transitions and 2000 vectors of counts, in doubles beyond; printed with 15 digits.
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub instance: Option<PathBuf>,
    /// Folder of the page; not with --claim, because the page shows all claims.
    #[arg(long, value_name = "DIR", default_value = "report")]
    pub report: PathBuf,
    /// Number of claims checked in parallel; by default one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads())]
    pub threads: Option<usize>,
}

/// Parser of claim ids: the error for an unknown id names the closest ones.
fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(claims::all().iter().map(|claim| claim.id).collect::<Vec<_>>())
}

impl Command {
    /// Runs the command and prints to `out`, with colours if it is a terminal.
    ///
    /// # Errors
    /// If `out` cannot be written, the threads cannot be started or the page cannot be written.
    pub fn run(&self, out: &mut impl Write, is_terminal: bool) -> Result<ExitCode, Exit> {
        if let Some(path) = &self.instance {
            let place = |error: Error| error.within(path.display().to_string());
            let answer = text::read(path).and_then(|text| instance::answer(&text).map_err(place));
            writeln!(out, "{}", answer.map_err(Exit::Usage)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let path = self.report.join("theory.html");
        if self.claims.is_empty() {
            let place = |error| Error::invalid(format!("--report {}: {error}", path.display()));
            mcsa_core::file::check(&path).map_err(place)?;
        }
        let is_chosen =
            |claim: &Claim| self.claims.is_empty() || self.claims.iter().any(|id| *id == claim.id);
        let chosen: Vec<Claim> = claims::all().into_iter().filter(is_chosen).collect();
        let judgements = self.judge(&chosen)?;
        let text = if self.json {
            let json = serde_json::to_string_pretty(&judgements);
            json.map_err(|error| Error::invalid(format!("cannot write JSON: {error}")))? + "\n"
        } else {
            let colours = is_terminal && std::env::var_os("NO_COLOR").is_none();
            listing::listing(&judgements, colours, !self.claims.is_empty())
        };
        out.write_all(text.as_bytes())?;
        if self.claims.is_empty() {
            let page = page::page(&judgements, &navigation_of_theory(&self.report));
            write_whole(&path, page.as_bytes())?;
            assemble(&self.report)?;
            if !self.json {
                writeln!(out, "written: {}", path.display())?;
            }
        }
        let is_sound = judgements.iter().all(Judgement::is_sound);
        Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Checks claims in parallel; each has its own seeds, and the order is kept.
    fn judge(&self, chosen: &[Claim]) -> Result<Vec<Judgement>, Error> {
        let pool = pool(self.threads.unwrap_or(0))?;
        let effort = if self.long { Effort::LONG } else { Effort::USUAL };
        let bar = ProgressBar::new(chosen.len() as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} claims  {msg}") {
            bar.set_style(style);
        }
        let judged = pool.install(|| {
            let each = chosen.par_iter().with_max_len(1).map(|claim| {
                let judgement = claim.examine(effort);
                bar.set_message(claim.id);
                bar.inc(1);
                judgement
            });
            each.collect()
        });
        bar.finish_and_clear();
        Ok(judged)
    }
}
