//! Fit of a posterior without a choice of method: `fit --auto`.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use mcsa::posterior::{FitState, Options, Stage, Target};
use mcsa_core::{Error, Seed, counted};
use mcsa_data::Catalogue;

use super::auto_report::{draws, report, stages};
use super::{CHECKPOINT, Exit, check_outputs, remove_checkpoint};
use crate::catalog::{self, Posterior};
use crate::interrupt::{Interrupt, command_line};
use crate::store::write_whole;

/// Arguments of `fit --auto`.
#[derive(Debug, Clone, Args)]
pub(super) struct Auto {
    /// Fit the posterior without a choice of method, and judge the result: starts, climb, weighted draws, verdict. Prints a table;
    /// `--out FILE` has all of it as JSON. Exit code 3 if the verdict is no. `--set` takes `model.*` and `options.*` (`options.draws=1000`,
    /// `options.starts=50`, `options.share=0.3`).
    #[arg(long = "auto", conflicts_with = "method")]
    pub(super) is_asked: bool,
    /// Largest number of evaluations of the model, draws and verdict included; by default a million.
    #[arg(long, value_name = "EVALUATIONS", requires = "is_asked")]
    budget: Option<u64>,
    /// Largest time in seconds, draws and verdict included.
    #[arg(long, value_name = "SECONDS", requires = "is_asked")]
    seconds: Option<f64>,
    /// File for the weighted draws: a column for each parameter, then log_p, log_q and log_weight.
    #[arg(long, value_name = "FILE", requires = "is_asked")]
    draws: Option<PathBuf>,
    /// Use the density alone.
    #[arg(long, requires = "is_asked")]
    no_gradient: bool,
}

impl Auto {
    /// The options with those of the arguments.
    pub(super) fn options(&self, options: Options, seed: u64, checkpoint: Option<PathBuf>) -> Options {
        let evaluations = self.budget.unwrap_or(options.evaluations);
        let seconds = self.seconds.or(options.seconds);
        Options { seed, evaluations, seconds, checkpoint, progress: true, ..options }
    }

    /// Runs the fit, prints the result and writes the files.
    pub(super) fn run(
        &self,
        model: &catalog::Target,
        options: &Options,
        catalogue: &Catalogue,
        file: Option<&Path>,
        interrupt: &Interrupt,
        out: &mut impl Write,
    ) -> Result<(), Exit> {
        let checkpoint = options.checkpoint.as_deref();
        check_outputs(&[("--out", file), ("--draws", self.draws.as_deref()), (CHECKPOINT, checkpoint)])?;
        let problem = model.build(catalogue, Seed::new(options.seed)).map_err(Exit::Usage)?;
        let posterior: &dyn Posterior = &*problem.posterior;
        let target = match self.no_gradient {
            true => Target::density_only(&posterior),
            false => Target::with_gradient(&posterior),
        };
        let fitting = match &options.checkpoint {
            Some(path) => FitState::resume_or(path, &target, options),
            None => FitState::new(options),
        };
        let mut fitting = fitting.map_err(Exit::Usage)?;
        let mut after = |_: &FitState| match interrupt.code() {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        };
        fitting.run(&target, &mut after).map_err(|error: Error| error.within("fit"))?;
        if fitting.stage != Stage::Done {
            let said = match &options.checkpoint {
                Some(_) => format!("interrupted in {fitting}; to go on: {}", command_line(&[])),
                None => format!(
                    "interrupted in {fitting}: nothing is kept, which `--checkpoint FILE` would change"
                ),
            };
            return Err(Exit::Interrupted { code: interrupt.code().unwrap_or(130), said });
        }
        let fitted = fitting.finish(&target)?;
        interrupt.release();
        if let Some(path) = &self.draws {
            write_whole(path, draws(posterior, &fitted.draws).as_bytes())?;
        }
        if let Some(path) = file {
            let text = report(model, &fitting, &fitted, self.draws.as_deref(), !self.no_gradient)?;
            write_whole(path, text.as_bytes())?;
        }
        write!(out, "{}\n{fitted}\n", stages(&fitting))?;
        out.flush()?;
        if let Some(path) = &options.checkpoint {
            remove_checkpoint(path);
        }
        match fitted.verdict.objections.len() {
            0 => Ok(()),
            count => Err(Exit::Objected(format!("the verdict is no: {}", counted(count, "objection")))),
        }
    }
}
