//! `mcsa-bench`: runs the experiments, draws their figures and judges their claims.
#![expect(clippy::print_stderr, reason = "a program speaks to its user")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mcsa_bench_suite::data;
use mcsa_bench_suite::theory;
use mcsa_bench_suite::verbs::{Claims, Exit, Figures, FitModel};

/// Runs the experiments of Markov chain score ascent, draws their figures and judges their claims.
///
/// Exit codes: 0 done, 1 failed, 2 the command line was not understood.
#[derive(Parser)]
#[command(name = "mcsa-bench", version)]
struct Program {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Figures(Figures),
    Claims(Claims),
    Fit(FitModel),
    Data(data::Command),
    Theory(theory::Command),
}

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    let result = match Program::parse().verb {
        Verb::Figures(verb) => verb.run(&mut out),
        Verb::Claims(verb) => verb.run(&mut out),
        Verb::Fit(verb) => verb.run(&mut out),
        Verb::Data(verb) => verb.run(&mut out).map_err(Exit::Failed),
        Verb::Theory(verb) => match verb.run(&mut out) {
            Ok(code) => return code,
            Err(error) => Err(Exit::Failed(error)),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Exit::Failed(error)) => {
            eprintln!("mcsa-bench: {error}");
            ExitCode::FAILURE
        }
        Err(Exit::Usage(error)) => {
            eprintln!("mcsa-bench: {error}");
            ExitCode::from(2)
        }
    }
}
