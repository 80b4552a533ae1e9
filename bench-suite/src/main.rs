//! `mcsa-bench`: runs the experiments and draws their figures.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to its user")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use mcsa::Error;
use mcsa_bench_suite::catalog::{self, Running};
use mcsa_bench_suite::data;
use mcsa_bench_suite::experiment::Experiment;
use mcsa_bench_suite::figures;
use mcsa_bench_suite::plan::{self, Job};
use mcsa_bench_suite::store::{Outcome, Store, write_whole};
use mcsa_bench_suite::theory;
use rayon::prelude::*;

/// Runs the experiments of Markov chain score ascent and draws their figures.
///
/// Results are kept under a name made of everything that determines them: what has been run is not run again, and
/// an interrupted run goes on where it stopped.
#[derive(Parser)]
#[command(name = "mcsa-bench", version)]
struct Program {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run what has not been run, then draw every figure.
    Figures(Choice),
    /// Run what has not been run.
    Run(Choice),
    /// List the experiments with their presets.
    List,
    Data(data::Command),
    Theory(theory::Command),
}

#[derive(Args)]
struct Choice {
    /// How much to run: smoke (seconds), quick (minutes) or full (as the papers).
    #[arg(long, default_value = "quick")]
    preset: String,
    /// Only the experiment of this name; `list` shows them.
    #[arg(long)]
    only: Option<String>,
    /// Where results are kept.
    #[arg(long, default_value = "results")]
    results: PathBuf,
    /// Where figures are drawn.
    #[arg(long, default_value = "report")]
    report: PathBuf,
    /// Jobs run at once; by default one per processor. Results do not depend on it.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    let result = match Program::parse().verb {
        Verb::List => list().map(done),
        Verb::Data(command) => command.run(&mut std::io::stdout()).map(done),
        Verb::Run(choice) => choice.run().map(drop).map(done),
        Verb::Figures(choice) => choice.figures().map(done),
        Verb::Theory(command) => command.run(&mut std::io::stdout()),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("mcsa-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

fn list() -> Result<(), Error> {
    for experiment in Experiment::built_in()? {
        println!("{:12} {}", experiment.name, experiment.title);
        for (name, preset) in &experiment.presets {
            let steps = preset.steps.unwrap_or(experiment.steps);
            let methods = experiment.methods.len();
            println!("{:14}{name}: {methods} methods x {} replicates x {steps} steps", "", preset.replicates);
        }
    }
    Ok(())
}

impl Choice {
    fn experiments(&self) -> Result<Vec<Experiment>, Error> {
        let mut all = Experiment::built_in()?;
        if let Some(only) = &self.only {
            all.retain(|experiment| experiment.name == *only);
            if all.is_empty() {
                return Err(Error::invalid(format!("no experiment {only:?}; `mcsa-bench list` shows them")));
            }
        }
        Ok(all)
    }

    /// Runs what is missing and returns everything.
    fn run(&self) -> Result<Vec<(Experiment, Vec<Outcome>)>, Error> {
        let threads = self.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool =
            pool.map_err(|error| Error::invalid(format!("cannot start {threads} threads: {error}")))?;
        let store = Store::new(&self.results);
        let mut outcomes = Vec::new();
        for experiment in self.experiments()? {
            let jobs = plan::jobs(&experiment, &self.preset)?;
            let missing: Vec<&Job> = jobs.iter().filter(|job| !store.holds(job)).collect();
            println!("{}: {} jobs, {} to run", experiment.name, jobs.len(), missing.len());
            let bar = ProgressBar::new(missing.iter().map(|job| job.steps).sum());
            if let Ok(style) =
                ProgressStyle::with_template("{bar:40} {percent:>3} %  {per_sec} steps  {eta} left")
            {
                bar.set_style(style);
            }
            let progress = |steps| {
                bar.inc(steps);
                true
            };
            let running = Running { store: &store, checkpoint_every: 1_000, progress: &progress };
            pool.install(|| missing.par_iter().try_for_each(|job| catalog::run(job, &running)))?;
            bar.finish_and_clear();
            let kept = jobs.iter().map(|job| store.outcome(job)).collect::<Result<_, _>>()?;
            outcomes.push((experiment, kept));
        }
        Ok(outcomes)
    }

    fn figures(&self) -> Result<(), Error> {
        for (experiment, outcomes) in self.run()? {
            let place =
                |error: &dyn std::fmt::Display| Error::invalid(format!("{}: {error}", experiment.name));
            let drawing =
                figures::descent(&experiment, &self.preset, &outcomes).draw().map_err(|e| place(&e))?;
            let path = self.report.join(&experiment.name).with_extension("svg");
            write_whole(&path, drawing.svg.as_bytes())?;
            println!("drawn: {}", path.display());
            let path = path.with_extension("png");
            write_whole(&path, &drawing.png(300.0).map_err(|e| place(&e))?)?;
            println!("drawn: {}", path.display());
        }
        Ok(())
    }
}
