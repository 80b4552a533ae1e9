//! Command-line tool of the workspace: `cargo xtask <verb>`.
//!
//! Every verb starts cargo, the program of bench-suite, or another tool. The tool uses no crate of the workspace, so that it runs when
//! a library does not compile. Exit codes: 0 success, 1 a failed check, 2 a wrong command line; otherwise that of the started program.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, CommandFactory, Parser, Subcommand};

mod python;
mod steps;
mod sweep;

use steps::Step;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Tool of the mcsa workspace")]
#[command(
    after_help = "Besides these, `fit`, `claims`, `data` and `theory` start the program of bench-suite, \
                        built in release mode; `cargo xtask fit --help` prints its help."
)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run the experiments, draw the figures, judge the claims: report/index.html
    #[command(after_help = sweep::HELP)]
    Figures(Rest),
    /// Run `cargo test --workspace`: unit, law, claim and doc tests
    Test {
        /// Test a sweep under Slurm on this machine instead: a task and a node are killed. Needs root, and the Debian packages munge
        /// slurmctld slurmd slurm-client slurm-wlm-basic-plugins
        #[arg(long)]
        slurm: bool,
        #[command(flatten)]
        rest: Rest,
    },
    /// Run what every commit has to pass: format, clippy, rustdoc, tests
    Ci(steps::Manner),
    /// Measure speed with the criterion benches
    Bench {
        /// Count the instructions of the hottest steps instead, and compare them with stored ones. Needs valgrind
        #[arg(long)]
        counts: bool,
        #[command(flatten)]
        rest: Rest,
    },
    /// Build the Python package and run its tests; with --wheel, build a wheel and try it. Needs Python 3.11 and the network
    Python(Rest),
    /// Run samplers and guides of Python packages on our targets. Needs Python 3.11 and the network
    Anchors(python::Anchors),
    /// Fit posteriors that others wrote by the Python package and by nutpie. Needs Python 3.11, a C++ compiler and the network
    Strangers(Rest),
    /// Build the book with mdBook
    Book(Rest),
    #[command(external_subcommand)]
    Suite(Vec<String>),
}

/// Arguments for the program that a verb starts.
#[derive(Args)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    run(Line::parse().verb).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "xtask: {error}"); // nothing is left to do when stderr is closed too
        ExitCode::FAILURE
    })
}

fn run(verb: Verb) -> io::Result<ExitCode> {
    match verb {
        Verb::Figures(Rest { arguments }) => match sweep::Request::read(&arguments)? {
            Some(request) => sweep::submit(&request),
            None => replace(suite("figures").args(arguments)),
        },
        Verb::Test { slurm: true, .. } => test_slurm(),
        Verb::Test { rest, .. } => steps::run(&[test_step(&rest.arguments)], steps::Manner::default()),
        Verb::Ci(manner) => {
            let rustdoc = Step::new("rustdoc", "doc --workspace --no-deps", None);
            let mut steps = vec![
                Step::new("fmt", "fmt --all --check", Some("rustfmt")),
                Step::new("clippy", "clippy --workspace --all-targets -- -D warnings", Some("clippy")),
                Step { variable: Some(("RUSTDOCFLAGS", "-D warnings")), ..rustdoc },
                test_step(&[]),
            ];
            if has_target(WEB) {
                steps.push(Step::new("web", &format!("check -p mcsa --locked --target {WEB}"), None));
            }
            steps::run(&steps, manner)
        }
        Verb::Bench { counts, rest } => {
            let bench = if counts { "counts" } else { "speed" };
            let bench = ["bench", "-p", "mcsa-speed", "--bench", bench, "--"];
            replace(at_root(&cargo()).args(bench).args(rest.arguments))
        }
        Verb::Python(rest) => python::test(&rest.arguments),
        Verb::Anchors(anchors) => python::anchors(&anchors),
        Verb::Strangers(rest) => python::strangers(&rest.arguments),
        Verb::Book(rest) => book("mdbook", &rest.arguments),
        Verb::Suite(words) => match words.split_first() {
            Some((verb, rest)) if ["fit", "claims", "data", "theory"].contains(&verb.as_str()) => {
                replace(suite(verb).args(rest))
            }
            _ => {
                let unknown = format!("no verb `{}`; `cargo xtask --help` lists them", words.join(" "));
                Line::command().error(clap::error::ErrorKind::InvalidSubcommand, unknown).exit()
            }
        },
    }
}

/// Target of programs for browsers, on which `mcsa` builds: `rustup target add wasm32-unknown-unknown`.
const WEB: &str = "wasm32-unknown-unknown";

/// True if the standard library of a target is installed.
fn has_target(target: &str) -> bool {
    let folder = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    folder.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_dir())
}

fn test_step(arguments: &[String]) -> Step {
    let mut step = Step::new("test", "test --workspace --exclude mcsa-speed --no-fail-fast", None);
    step.arguments.extend_from_slice(arguments);
    step
}

/// Runs the test of a sweep under Slurm, unless Slurm is not installed.
fn test_slurm() -> io::Result<ExitCode> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| {
        std::env::split_paths(&paths).chain(["/usr/sbin".into()]).any(|folder| folder.join(name).is_file())
    };
    if let Some(name) = ["munged", "slurmctld", "slurmd", "sbatch"].iter().find(|name| !is_there(name)) {
        return print(&format!(
            "skipped: {name} is not installed; `cargo xtask test --help` lists the packages"
        ));
    }
    let test =
        ["test", "-p", "mcsa-bench-suite", "--test", "suite", "--", "slurm::", "--ignored", "--nocapture"];
    replace(at_root(&cargo()).args(test).arg("--test-threads=1"))
}

/// Builds the book; `program` is mdBook.
fn book(program: &str, arguments: &[String]) -> io::Result<ExitCode> {
    match at_root(program).args(["build", "docs/book"]).args(arguments).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => print(
            "mdBook is not installed (`cargo install mdbook`); the chapters are in docs/book/src/SUMMARY.md",
        ),
        ended => Ok(if ended?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
    }
}

/// Command that builds the program of bench-suite and starts it in the user's folder. The data folder is by default that of the root.
fn suite(verb: &str) -> Command {
    let mut command = Command::new(cargo());
    command.args(["run", "--quiet", "--release", "--manifest-path"]).arg(root().join("Cargo.toml"));
    command.args(["-p", "mcsa-bench-suite", "--bin", "mcsa-bench", "--", verb]);
    command.env("MCSA_DATA", data());
    command
}

/// Folder of imported data sets.
fn data() -> PathBuf {
    let named = std::env::var_os("MCSA_DATA").filter(|name| !name.is_empty());
    named.map_or_else(|| root().join("data"), PathBuf::from)
}

/// The cargo that started this program.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

fn at_root(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in a folder of the workspace")
}

/// Folder of what is built.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn print(text: &str) -> io::Result<ExitCode> {
    writeln!(io::stdout(), "{text}").map(|()| ExitCode::SUCCESS)
}

/// Replaces this process by the command, which then alone receives signals of the terminal.
#[cfg(unix)]
fn replace(command: &mut Command) -> io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Runs the command and returns its exit code.
#[cfg(not(unix))]
fn replace(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb(line: &str) -> Result<Verb, clap::Error> {
        let words = ["cargo xtask"].into_iter().chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.verb)
    }

    #[test]
    fn arguments_reach_the_program_unchanged() {
        for (line, expected) in [
            ("figures a --preset quick --slurm 4 -- --time=5", "a --preset quick --slurm 4 -- --time=5"),
            ("figures --slurm 4 a", "--slurm 4 a"),
            ("figures -- --help", "--help"),
        ] {
            let Ok(Verb::Figures(Rest { arguments })) = verb(line) else { panic!("{line} was not read") };
            assert_eq!(arguments.join(" "), expected);
        }
        assert!(
            matches!(verb("theory --claim x"), Ok(Verb::Suite(words)) if words.join(" ") == "theory --claim x")
        );
        assert!(matches!(verb("test --slurm"), Ok(Verb::Test { slurm: true, .. })));
        for line in ["", "ci --keepgoing", "anchors --seeds 0", "anchors pystan"] {
            assert!(verb(line).is_err(), "{line}");
        }
    }

    #[test]
    fn without_mdbook_nothing_fails() {
        assert_eq!(book("no-such-mdbook", &[]).expect("a message"), ExitCode::SUCCESS);
    }
}
