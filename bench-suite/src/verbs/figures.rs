//! The verb `figures`: runs jobs, draws figures, checks claims, and writes the report.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use mcsa_core::Error;
use rayon::prelude::*;

use super::{Exit, Selection, threads};
use crate::experiment::PresetName;
use crate::forecast::{Forecast, span};
use crate::interrupt::{Interrupt, command_line};
use crate::notice::{tell, warn};
use crate::plan::{Job, plan};
use crate::provenance::{Provenance, Run};
use crate::registry::Entry;
use crate::report;
use crate::runner::Runner;
use crate::store::{Journal, Store, sweep};

/// Run jobs without results, draw every figure, check every claim, and write `report/index.html`.
///
/// A path that ends in `.toml` is an experiment of your own, in the form of `bench-suite/examples/my_experiment.toml`: it gets
/// the standard figures and tables, and its claims are checked.
///
/// Results are stored under a name made of everything that determines them: jobs with a result are not run again, an
/// interrupted run continues where it stopped, and results of other code are computed again.
#[derive(Debug, Clone, Args)]
pub struct Figures {
    #[command(flatten)]
    selection: Selection,
    /// Number of jobs run in parallel; by default one per processor. Results do not depend on it.
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = threads())]
    jobs: usize,
    /// Run all jobs, including those with results.
    #[arg(long)]
    force: bool,
    /// Run nothing: draw existing results. Results of other code are then shown as stale.
    #[arg(long, conflicts_with = "force")]
    no_run: bool,
    /// Only list the experiments, with the number of jobs in each preset.
    #[arg(long)]
    list: bool,
}

/// Number of failures that are shown individually.
const SHOWN: usize = 20;

impl Figures {
    /// Runs the verb.
    ///
    /// # Errors
    /// If an experiment is unknown, the folder of `--out` cannot be written, a job fails, or a file cannot be written.
    /// Figures are drawn from successful jobs nevertheless. Nothing is drawn if the program is asked to end before all jobs
    /// have run.
    pub fn run(&self, interrupt: &Interrupt, out: &mut impl Write) -> Result<(), Exit> {
        let entries = self.selection.entries()?;
        if self.list {
            return self.list(&entries, out);
        }
        self.selection.check_out()?;
        let errors = if self.no_run { Vec::new() } else { self.run_missing(&entries, interrupt, out)? };
        // Print failures before anything else can go wrong.
        for error in errors.iter().take(SHOWN) {
            writeln!(out, "failed: {error}")?;
        }
        if errors.len() > SHOWN {
            writeln!(out, "failed: {} jobs more", errors.len() - SHOWN)?;
        }
        if let Some(code) = interrupt.code() {
            // Jobs that were run again with `--force` need not be run once more.
            let command = command_line(&["--force"]);
            return Err(Exit::Interrupted { code, said: format!("interrupted; to go on: {command}") });
        }
        interrupt.release();
        let cards = self.selection.cards(&entries)?;
        let page = report::write(&self.selection.report(), &cards)?;
        super::claims::summary(&cards, out)?;
        writeln!(out, "written: {}", page.display())?;
        match errors.len() {
            0 => Ok(()),
            count => {
                Err(Error::invalid(format!("{count} jobs failed; the figures are of the others")).into())
            }
        }
    }

    fn run_missing(
        &self,
        entries: &[Entry],
        interrupt: &Interrupt,
        out: &mut impl Write,
    ) -> Result<Vec<Error>, Exit> {
        let (store, catalogue, preset) =
            (self.selection.store(), self.selection.catalogue(), self.selection.preset);
        let mut missing: Vec<(&Entry, Vec<Job>)> = Vec::new();
        for entry in entries {
            let experiment = entry.experiment()?;
            let plan = plan(&experiment, preset, &catalogue)?;
            let all = plan.jobs.len();
            for (name, reason) in &plan.absent {
                writeln!(out, "{}: without {name}: {reason}", experiment.id)?;
            }
            sweep(&store.folder(&experiment.id));
            if self.force {
                plan.jobs.iter().for_each(|job| store.remove(job));
            }
            let jobs: Vec<Job> = plan.jobs.into_par_iter().filter(|job| !is_stored(&store, job)).collect();
            writeln!(out, "{}: {all} jobs, {} to run", experiment.id, jobs.len())?;
            missing.push((entry, jobs));
        }
        let jobs: Vec<&Job> = missing.iter().flat_map(|(_, jobs)| jobs).collect();
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let forecast = self.forecast(entries, &jobs, interrupt)?;
        let journal = Arc::new(Journal::default());
        let store = store.with_journal(&journal);
        for (entry, jobs) in missing.iter().filter(|(_, jobs)| !jobs.is_empty()) {
            let experiment = entry.experiment()?;
            let start = Provenance::of(&experiment, preset, jobs.len(), self.threads());
            start.begin(&journal, &store, &experiment.id, &entry.text)?;
        }
        let (store, catalogue, forecast) = (&store, &catalogue, &forecast);
        let runner = Runner { store, catalogue, threads: self.jobs, forecast, interrupt };
        let ran = runner.run(&jobs)?;
        for (entry, _) in missing.iter().filter(|(_, jobs)| !jobs.is_empty()) {
            Run::end(&journal, &entry.experiment()?.id, &ran.errors);
        }
        writeln!(out, "{} jobs on {} threads: {}", ran.jobs, ran.threads, span(ran.seconds))?;
        if jobs.iter().all(|job| store.result_path(job).is_file()) {
            // Every task has a result now, which predicts its time better than a short version does.
            let _ = std::fs::remove_dir_all(self.selection.timing());
        }
        Ok(ran.errors)
    }

    fn threads(&self) -> usize {
        match self.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Estimates the time of the jobs and prints it: from results of any preset and, before runs of the preset `paper`, from
    /// short versions of tasks that have no result.
    fn forecast(&self, entries: &[Entry], jobs: &[&Job], interrupt: &Interrupt) -> Result<Forecast, Exit> {
        let (store, catalogue) = (self.selection.store(), self.selection.catalogue());
        let mut kept = Vec::new();
        for entry in entries {
            let experiment = entry.experiment()?;
            for &preset in experiment.presets.keys() {
                // Two replicates suffice to estimate the time.
                let jobs = plan(&experiment, preset, &catalogue)?.jobs;
                kept.extend(jobs.into_iter().filter(|job| job.replicate < 2));
            }
        }
        let mut forecast = Forecast::of_stored(&store, &kept);
        if self.selection.preset == PresetName::Paper && jobs.iter().any(|job| !forecast.knows(&job.task)) {
            forecast.calibrate(jobs, &catalogue, &self.selection.timing(), interrupt);
        }
        match forecast.of(jobs) {
            Some(estimate) => tell(&format!("{} jobs: {}", jobs.len(), estimate.told(self.threads()))),
            None => tell(&format!(
                "{} jobs, none of which has been timed: how long is told along the way",
                jobs.len()
            )),
        }
        Ok(forecast)
    }

    fn list(&self, entries: &[Entry], out: &mut impl Write) -> Result<(), Exit> {
        let catalogue = self.selection.catalogue();
        for entry in entries {
            let experiment = entry.experiment()?;
            writeln!(out, "{}: {}", experiment.id, experiment.title)?;
            if entry.is_of_user() {
                writeln!(out, "    user experiment, {}", entry.file)?;
            }
            if !experiment.also.is_empty() {
                writeln!(out, "    also called {}", experiment.also.join(", "))?;
            }
            if !experiment.reproduces.is_empty() {
                writeln!(out, "    {}", experiment.reproduces.join("; "))?;
            }
            if experiment.is_exhibit() {
                writeln!(out, "    no jobs: computed when it is drawn")?;
                continue;
            }
            for (&preset, effort) in &experiment.presets {
                let plan = plan(&experiment, preset, &catalogue)?;
                let (jobs, replicates, steps) = (plan.jobs.len(), effort.replicates, effort.steps);
                let name = preset.name();
                writeln!(out, "    {name:8} {jobs} jobs, {replicates} replicates, {steps} steps")?;
            }
        }
        if self.selection.ids.is_empty() {
            writeln!(out, "An experiment of your own: the path of a file, `figures my_experiment.toml`")?;
        }
        Ok(())
    }
}

/// Returns true if there is a complete result of a job. An unusable file is set aside, and the job counts as not run.
fn is_stored(store: &Store, job: &Job) -> bool {
    let error = match store.fresh(job) {
        Ok(found) => return found.is_some(),
        Err(error) => error,
    };
    let done = match store.set_aside(job) {
        Ok(aside) => format!("renamed to {}", aside.display()),
        Err(error) => error.to_string(),
    };
    warn(&format!("{error}; {done}, and the job is run again"));
    false
}
