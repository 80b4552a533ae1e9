//! Command-line tool for maintenance of the workspace: `cargo xtask <verb>`.
//!
//! Every verb either spawns cargo (`figures --slurm` also sbatch) or reads the text of the repository. The crate has no dependencies, neither of the
//! workspace nor external, so that a fresh clone builds it in seconds and it still runs when a library is broken.
//!
//! Exit codes: 0 success, 1 a check failed, 2 the command line was not understood. `bench`, `figures` and `theory` return the
//! exit code of the program they start.

use std::ffi::OsString;
use std::process::ExitCode;

mod actions;
mod anchors;
mod audit;
mod backends;
mod book;
mod command_line;
mod counts;
mod fuzz;
mod interpreter;
mod mutants;
mod python;
mod release;
mod steps;
mod sweep;
mod terminal;
mod tidy;
mod verbs;
mod workspace;

use command_line::Request;
use terminal::{complain, say};

fn main() -> ExitCode {
    let arguments: Result<Vec<String>, _> = std::env::args_os().skip(1).map(OsString::into_string).collect();
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(other) => {
            let _ = complain(&format!("the argument {} is not text in UTF-8", other.display()));
            return ExitCode::from(2);
        }
    };
    let outcome = match command_line::parse(&arguments) {
        Ok(Request::Overview) => say(&verbs::overview()),
        Ok(Request::Help(verb)) => say(&verb.help()),
        Ok(Request::Run(verb, rest)) => (verb.run)(rest),
        Err(complaint) => complain(&complaint).map(|()| ExitCode::from(2)),
    };
    outcome.unwrap_or_else(|error| {
        let _ = complain(&error.to_string()); // nothing is left to do when stderr is gone too
        ExitCode::FAILURE
    })
}
