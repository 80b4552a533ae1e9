//! The verb `figures`: runs jobs, draws figures, checks claims, and writes the report.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use mcsa_core::{Error, counted, file::sweep};
use rayon::prelude::*;

use super::{Exit, Planned, Selection, threads};
use crate::archive::Archive;
use crate::experiment::Experiment;
use crate::interrupt::{Interrupt, command_line, tell, warn};
use crate::plan::{Job, Shard, plan};
use crate::provenance::{Journal, Provenance, Run};
use crate::registry::Entry;
use crate::report;
use crate::runner::{Runner, span};
use crate::store::Store;

/// Run jobs without results, draw every figure, check every claim, and write `report/index.html`.
///
/// A path that ends in `.toml` is an experiment of your own, in the form of `bench-suite/examples/my_experiment.toml`: it gets
/// the standard figures and tables, and its claims are checked.
///
/// Results are stored under a name made of everything that determines them: jobs with a result are not run again, an
/// interrupted run continues where it stopped, and results of an older version are computed again.
#[derive(Debug, Clone, Args)]
pub struct Figures {
    #[command(flatten)]
    selection: Selection,
    /// Number of jobs run in parallel; by default one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads(), conflicts_with = "archive")]
    jobs: Option<usize>,
    /// Run all jobs, including those with results.
    #[arg(long, conflicts_with = "archive")]
    force: bool,
    /// Run nothing: draw existing results. Those of an older version are marked.
    #[arg(long, conflicts_with = "force")]
    no_run: bool,
    /// Run one of N parts of the jobs, `K/N` with K from 1 to N. Processes on one or many hosts that share `--out` then divide the
    /// jobs of the same arguments; a job is in one part, whatever else has run.
    #[arg(long, value_name = "K/N", requires = "no_draw", conflicts_with_all = ["force", "no_run"])]
    shard: Option<Shard>,
    /// Run only jobs whose title, `experiment, target by method, replicate 0`, or settings in JSON contain this text; of several
    /// texts, all.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["shard", "no_run", "archive"])]
    only: Vec<String>,
    /// Run only the first N replicates of each task: runs with larger N add to them.
    #[arg(long, value_name = "N", conflicts_with_all = ["shard", "no_run", "archive"], value_parser = clap::value_parser!(u64).range(1..))]
    replicates: Option<u64>,
    /// Add the results to the archive of the repository, `bench-suite/results/`, from which `--archive` draws.
    #[arg(long, conflicts_with_all = ["archive", "shard", "status"])]
    keep: bool,
    /// Draw nothing: only run the jobs. `--no-run` draws later.
    #[arg(long, conflicts_with = "no_run")]
    no_draw: bool,
    /// Only count the jobs that are done, failed and missing.
    #[arg(long, conflicts_with_all = ["force", "no_run"])]
    status: bool,
    /// Only list the experiments, with the number of jobs in each preset.
    #[arg(long, conflicts_with_all = ["status", "keep", "force", "no_run", "only", "replicates"])]
    list: bool,
}

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
        if self.status {
            return self.status(&entries, out);
        }
        self.selection.check_out()?;
        if !self.no_draw {
            super::check_outputs(&[("the page", Some(&self.selection.report().join("index.html")))])?;
        }
        let draws_alone = self.no_run || self.selection.archive;
        let errors = if draws_alone { Vec::new() } else { self.run_missing(&entries, interrupt, out)? };
        // Print failures before anything else can go wrong.
        for error in errors.iter().take(SHOWN) {
            writeln!(out, "failed: {error}")?;
        }
        if errors.len() > SHOWN {
            writeln!(out, "failed: {} more", counted(errors.len() - SHOWN, "job"))?;
        }
        if let Some(code) = interrupt.code() {
            // Jobs that were run again with `--force` need not be run once more.
            let command = command_line(&["--force"]);
            return Err(Exit::Interrupted { code, said: format!("interrupted; to go on: {command}") });
        }
        interrupt.release();
        if self.keep {
            self.add_to_archive(&entries, out)?;
        }
        if !self.no_draw {
            let cards = self.selection.cards(&entries)?;
            let page = report::write(&self.selection.report(), &cards)?;
            super::claims::summary(&cards, out)?;
            writeln!(out, "written: {}", page.display())?;
        }
        match errors.len() {
            0 => Ok(()),
            count => {
                let others = if self.no_draw { "" } else { "; the figures are of the others" };
                Err(Error::invalid(format!("{} failed{others}", counted(count, "job"))).into())
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
        let mut missing: Vec<(&Entry, Experiment, Vec<Job>)> = Vec::new();
        let chosen = self.chosen(entries)?;
        if !self.only.is_empty() && chosen.iter().all(|(_, _, plan)| plan.jobs.is_empty()) {
            let texts = self.only.join(" and ");
            return Err(Exit::Usage(Error::invalid(format!("--only: no job contains {texts}"))));
        }
        for (entry, experiment, plan) in chosen {
            let all = plan.jobs.len();
            let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            plan.absent.iter().for_each(|(name, reason)| reasons.entry(reason).or_default().push(name));
            for (reason, names) in reasons {
                writeln!(out, "{}: without {}: {reason}", experiment.id, names.join(", "))?;
            }
            sweep(&store.folder(&experiment.id));
            if self.force {
                plan.jobs.iter().for_each(|job| store.remove(job));
            }
            let jobs: Vec<Job> = plan.jobs.into_par_iter().filter(|job| !is_stored(&store, job)).collect();
            let part = self.shard.map_or_else(String::new, |shard| format!(" in shard {shard}"));
            writeln!(out, "{}: {}{part}, {} to run", experiment.id, counted(all, "job"), jobs.len())?;
            missing.push((entry, experiment, jobs));
        }
        missing.retain(|(_, _, jobs)| !jobs.is_empty());
        let jobs: Vec<&Job> = missing.iter().flat_map(|(_, _, jobs)| jobs).collect();
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        tell(&format!("{} on {}", counted(jobs.len(), "job"), counted(self.threads(), "thread")));
        let journal = Journal::default();
        for (entry, experiment, jobs) in &missing {
            let start = Provenance::of(experiment, preset, jobs.len(), self.threads());
            let start = Provenance { shard: self.shard.map(|shard| shard.to_string()), ..start };
            journal.begin(&start, &store, &experiment.id, &entry.text)?;
        }
        let runner = Runner {
            store: &store,
            catalogue: &catalogue,
            threads: self.threads(),
            journal: &journal,
            interrupt,
        };
        let ran = runner.run(&jobs)?;
        missing.iter().for_each(|(_, experiment, _)| journal.end(&experiment.id, &ran.errors));
        let (jobs, threads) = (counted(ran.jobs, "job"), counted(ran.threads, "thread"));
        writeln!(out, "{jobs} on {threads}: {}", span(ran.seconds))?;
        Ok(ran.errors)
    }

    /// Adds the stored results of the preset to the archive.
    fn add_to_archive(&self, entries: &[Entry], out: &mut impl Write) -> Result<(), Exit> {
        let (archive, store) = (Archive::of_repository(), self.selection.store());
        for (entry, experiment, plan) in self.selection.plans(entries)? {
            if plan.jobs.is_empty() || entry.is_of_user() {
                continue;
            }
            let added = archive.add(&experiment, &plan.jobs, &store, &self.selection.catalogue())?;
            writeln!(out, "{}: {added}", experiment.id)?;
        }
        Ok(())
    }

    /// Plans with the jobs of `--only`, `--replicates` and `--shard` alone.
    fn chosen<'e>(&self, entries: &'e [Entry]) -> Result<Vec<Planned<'e>>, Error> {
        let mut plans = self.selection.plans(entries)?;
        plans.iter_mut().for_each(|(_, _, plan)| plan.jobs.retain(|job| self.is_chosen(job)));
        Ok(plans)
    }

    /// Returns true if a job is among those of `--only`, `--replicates` and `--shard`.
    fn is_chosen(&self, job: &Job) -> bool {
        let words = format!("{}\n{}", job.title(), serde_json::to_string(&job.task).unwrap_or_default());
        self.replicates.is_none_or(|count| job.replicate < count)
            && self.shard.is_none_or(|shard| shard.has(job))
            && self.only.iter().all(|text| words.contains(text.as_str()))
    }

    fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or_else(all)
    }

    /// Prints for each experiment how many jobs have a result, how many have none and failed, and how many are left besides.
    fn status(&self, entries: &[Entry], out: &mut impl Write) -> Result<(), Exit> {
        let store = self.selection.store();
        let line = |name: &str, [all, done, failed]: [usize; 3]| {
            format!(
                "{name:40} {all:>8} jobs {done:>8} done {failed:>8} failed {:>8} missing",
                all - done - failed
            )
        };
        let mut sums = [0; 3];
        for (_, experiment, plan) in self.chosen(entries)? {
            let (runs, warnings) = Run::all(&store, &experiment.id);
            warnings.iter().for_each(|warning| warn(warning));
            let errors: Vec<&String> = runs.iter().flat_map(|run| &run.errors).collect();
            let left: Vec<&Job> = plan.jobs.par_iter().filter(|job| !store.holds(job)).collect();
            let is_failed = |job: &&&Job| {
                let title = job.title();
                errors.iter().any(|error| error.starts_with(&title))
            };
            let counts =
                [plan.jobs.len(), plan.jobs.len() - left.len(), left.iter().filter(is_failed).count()];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            writeln!(out, "{}", line(&experiment.id, counts))?;
        }
        writeln!(out, "{}", line("all", sums))?;
        Ok(())
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
                writeln!(
                    out,
                    "    {name:8} {}, {}, {steps} steps",
                    counted(jobs, "job"),
                    counted(replicates, "replicate")
                )?;
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
