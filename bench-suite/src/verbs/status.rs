//! Status of a sweep: jobs that are done, running, failed and missing, and the forecast of what is left.

use std::collections::HashSet;
use std::io::Write;

use rayon::prelude::*;

use super::{Exit, Planned};
use crate::forecast::{Forecast, span};
use crate::notice::warn;
use crate::plan::Job;
use crate::provenance::Run;
use crate::store::Store;

/// Number of processes that are shown individually.
const SHOWN: usize = 32;

/// Prints a line for each experiment and for each process that is alive.
///
/// A job is done if it has a complete result of this code; running if a process that is alive has begun it (see
/// [`Run::is_alive`]); failed if it ended with an error and has no result; missing otherwise.
pub(super) fn tell(
    plans: Vec<Planned<'_>>,
    store: &Store,
    forecast: &Forecast,
    out: &mut impl Write,
) -> Result<(), Exit> {
    let mut table =
        vec![["experiment", "jobs", "done", "running", "failed", "missing", "left"].map(String::from)];
    let (mut sums, mut rest, mut processes) = ([0; 5], Vec::new(), Vec::new());
    for (_, experiment, plan) in plans {
        if plan.jobs.is_empty() {
            continue;
        }
        let (runs, warnings) = Run::all(store, &experiment.id);
        warnings.iter().for_each(|warning| warn(warning));
        let alive: Vec<&Run> = runs.iter().filter(|run| run.is_alive(store, &experiment.id)).collect();
        let begun: HashSet<&String> = alive.iter().flat_map(|run| &run.begun).collect();
        let errors: Vec<&String> = runs.iter().flat_map(|run| &run.errors).collect();
        let all = plan.jobs.len();
        let left: Vec<Job> = plan.jobs.into_par_iter().filter(|job| !store.holds(job)).collect();
        let (running, others): (Vec<&Job>, Vec<&Job>) =
            left.iter().partition(|job| begun.contains(&job.id()));
        let is_failed = |job: &&&Job| {
            let title = job.title();
            errors.iter().any(|error| error.starts_with(&title))
        };
        let failed = others.iter().filter(is_failed).count();
        let counts = [all, all - left.len(), running.len(), failed, others.len() - failed];
        let seconds = forecast.of(&left.iter().collect::<Vec<_>>()).map(|estimate| estimate.seconds);
        table.push(line(&experiment.id, counts, seconds));
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        rest.push(seconds);
        for run in alive {
            let part = run.start.shard.map_or_else(String::new, |shard| format!(", shard {shard}"));
            let [done, planned] = [run.finished.len(), run.start.planned];
            let (id, writer) = (&experiment.id, &run.start.writer);
            processes.push(format!("  {writer}{part}: {id}, {done} of {planned} jobs"));
        }
    }
    table.push(line("all", sums, rest.into_iter().sum()));
    let width = table.iter().map(|[name, ..]| name.len()).max().unwrap_or(0);
    for [name, others @ ..] in &table {
        write!(out, "{name:width$}")?;
        others.iter().try_for_each(|cell| write!(out, "  {cell:>8}"))?;
        writeln!(out)?;
    }
    writeln!(out, "left: forecast of the time of one processor; running jobs count whole")?;
    writeln!(out, "{} processes alive, by experiment", processes.len())?;
    processes.iter().take(SHOWN).try_for_each(|process| writeln!(out, "{process}"))?;
    if processes.len() > SHOWN {
        writeln!(out, "  and {} more", processes.len() - SHOWN)?;
    }
    Ok(())
}

fn line(name: &str, counts: [usize; 5], left: Option<f64>) -> [String; 7] {
    let [all, done, running, failed, missing] = counts.map(|count| count.to_string());
    let left = left.map_or_else(|| "unknown".to_owned(), span);
    [name.to_owned(), all, done, running, failed, missing, left]
}
