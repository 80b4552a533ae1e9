//! The subcommand `theory`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use mcsa::Error;
use mcsa_theory::claims::{self, Claim, Effort, Judgement};
use rayon::prelude::*;

use super::{listing, page};
use crate::instance;
use crate::store::write_whole;
use crate::text;
use crate::verbs::threads;

/// Try every claim of the papers about bias, variance and rates, and show what became of it.
///
/// A claim holds, is tight (held, with a case within a thousandth of refuting it) or is violated; then the case that
/// refutes it is shown, and what is true instead. Writes a page, `theory.html`, beside the figures.
///
/// Exit codes: 0 all tried, 1 a correction fell or a check could not refute, 2 the command line or an instance was not
/// understood.
#[derive(Debug, Args)]
pub struct Command {
    /// Only this claim, such as 000-T1, and all that is known of it; may be repeated.
    #[arg(long = "claim", value_name = "ID", value_parser = ids(), hide_possible_values = true)]
    pub claims: Vec<String>,
    /// Try a hundred thousand cases for each statement; minutes instead of seconds.
    #[arg(long)]
    pub long: bool,
    /// Print everything that was found as JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Instead, work out the finite problem that this file asks about (`-` is the standard input) and print it as JSON.
    ///
    /// The file holds `{"pi": ["1/2", "1/2"], "q": ["1/4", "3/4"], "s": ["1", "-1"], "n": [1, 2, 3], "candidates": [2, 3]}`:
    /// target, guide and scalar score per atom as numbers or fractions, numbers of transitions, states or chains, and
    /// numbers of candidates with the retained one. Vectors of the answer have an entry per start atom; `bias` is signed.
    ///
    /// w, wstar, r, kl, chi2_pearson, chi2_neyman: weights pi/q, the largest, 1 - 1/wstar, and divergences of pi from q;
    /// mu, sigma2: mean and variance of s under pi; imh: Metropolis, with tv = TV(K^n, pi), t = T_n(w), lambda_n =
    /// lambda(w)^n and kn_s = K^n s by n; reject counts a proposal of the atom itself as accepted; barker, cis: reject_index
    /// is how often the retained index is kept, tv1 and tv2 are after one step and two, rb_ the weighted average, full_ the
    /// selected candidate, snis_ as many independent draws; avg_: mean under pi; estimators: by N, from pi (stationary) or
    /// from an atom (fixed), of one chain (seq), N chains (par) or N candidates (cis), var = diag + cov; bounds: by N and
    /// claim, with L = 2 max |s| in 000 and 003 and L = max |s| in 001. Null is infinite, or too long to sum.
    ///
    /// Exact in fractions up to 64 transitions and 2000 vectors of counts, in doubles beyond; 15 digits.
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub instance: Option<PathBuf>,
    /// Where the page is written; not with --claim, for it shows all.
    #[arg(long, value_name = "DIR", default_value = "report")]
    pub report: PathBuf,
    /// Claims tried at once; by default one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads())]
    pub threads: Option<usize>,
}

/// The names of all claims: an unknown one is answered with those near it.
fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(claims::all().iter().map(|claim| claim.id).collect::<Vec<_>>())
}

/// Answers the question in a file. One that is not understood is told on the standard error, with exit code 2.
fn work_out(path: &Path, out: &mut impl Write) -> Result<ExitCode, Error> {
    let answer = text::read(path)
        .and_then(|text| instance::answer(&text).map_err(|error| error.within(path.display().to_string())));
    match answer {
        Ok(answer) => {
            let said = writeln!(out, "{answer}").and_then(|()| out.flush());
            said.map_err(|error| Error::invalid(format!("cannot write: {error}")))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            // Nothing is left to do when the standard error is gone too.
            let _ = writeln!(std::io::stderr(), "mcsa-bench: {error}");
            Ok(ExitCode::from(2))
        }
    }
}

impl Command {
    /// Does it, telling `out`, with colours if that is a terminal.
    ///
    /// # Errors
    /// If `out` refuses, the threads cannot be started or the page cannot be written.
    pub fn run(&self, out: &mut impl Write, is_terminal: bool) -> Result<ExitCode, Error> {
        if let Some(path) = &self.instance {
            return work_out(path, out);
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
        let mut say = |text: &str| {
            let said = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            said.map_err(|error| Error::invalid(format!("cannot write: {error}")))
        };
        say(&text)?;
        if self.claims.is_empty() {
            let path = self.report.join("theory.html");
            write_whole(&path, page::page(&judgements).as_bytes())?;
            if !self.json {
                say(&format!("written: {}\n", path.display()))?;
            }
        }
        let is_sound = judgements.iter().all(Judgement::is_sound);
        Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Tries claims side by side; each has seeds of its own, and the order is kept.
    fn judge(&self, chosen: &[Claim]) -> Result<Vec<Judgement>, Error> {
        let threads = self.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool =
            pool.map_err(|error| Error::invalid(format!("cannot start {threads} threads: {error}")))?;
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
