//! `mcsa-bench`: runs the experiments, draws their figures and checks their claims.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mcsa_bench_suite::interrupt::Interrupt;
use mcsa_bench_suite::theory;
use mcsa_bench_suite::verbs::{Anchors, Claims, Exit, Figures, FitModel, References, WriteRates};

/// Runs the experiments of Markov chain score ascent, draws their figures and checks their claims.
///
/// Exit codes: 0 success, 1 failure, 2 the command line was not understood, 3 the verdict of `fit --auto` is no, 130 or 143
/// interrupted by INT (Ctrl-C) or TERM: `figures` and `fit` then print how to continue. If the reader of the output closes it, the program ends with code 0.
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
    Data(mcsa_data::Command),
    Theory(theory::Command),
    References(References),
    Rates(WriteRates),
    Anchors(Anchors),
}

/// Standard output that records whether its reader has closed it.
struct Out {
    inner: std::io::Stdout,
    is_closed: bool,
}

impl Out {
    fn seen<T>(&mut self, done: std::io::Result<T>) -> std::io::Result<T> {
        self.is_closed |= done.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        done
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.inner.write(bytes);
        self.seen(done)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.inner.flush();
        self.seen(done)
    }
}

fn main() -> ExitCode {
    let mut out = Out { inner: std::io::stdout(), is_closed: false };
    let (code, said) = match run(Program::parse().verb, &mut out) {
        Ok(code) => return code,
        Err(_) if out.is_closed => return ExitCode::SUCCESS,
        Err(Exit::Failed(error)) => (1, error.to_string()),
        Err(Exit::Usage(error)) => (2, error.to_string()),
        Err(Exit::Objected(said)) => (3, said),
        Err(Exit::Interrupted { code, said }) => (code, said),
    };
    // Nothing can be done if the standard error stream is closed too.
    let _ = writeln!(std::io::stderr(), "mcsa-bench: {said}");
    ExitCode::from(code)
}

fn run(verb: Verb, out: &mut Out) -> Result<ExitCode, Exit> {
    match verb {
        Verb::Figures(verb) => verb.run(&Interrupt::listen()?, out)?,
        Verb::Claims(verb) => verb.run(out)?,
        Verb::Fit(verb) => verb.run(&Interrupt::listen()?, out)?,
        Verb::Data(verb) => verb.run(out)?,
        Verb::References(verb) => verb.run(out)?,
        Verb::Rates(verb) => verb.run(out)?,
        Verb::Anchors(verb) => verb.run(out)?,
        Verb::Theory(verb) => {
            let is_terminal = out.inner.is_terminal();
            return verb.run(out, is_terminal);
        }
    }
    Ok(ExitCode::SUCCESS)
}
