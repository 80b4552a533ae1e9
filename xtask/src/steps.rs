//! Sequence of cargo commands, with a final table of outcomes and times.

use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A cargo command, with a variable of its environment, and the rustup component that it needs.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<String>,
    pub(crate) variable: Option<(&'static str, &'static str)>,
    pub(crate) component: Option<&'static str>,
}

/// Outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Pass,
    Fail,
    /// The rustup component that the step needs is not installed.
    Missing(&'static str),
    NotRun,
}

/// Handling of steps that do not pass.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Manner {
    /// Run the remaining steps after a failure
    #[arg(long)]
    keep_going: bool,
    /// Skip a step whose rustup component is not installed
    #[arg(long)]
    skip_missing: bool,
}

impl Step {
    /// Step of a line of words.
    pub(crate) fn new(name: &'static str, line: &str, component: Option<&'static str>) -> Self {
        let arguments = line.split(' ').map(String::from).collect();
        Self { name, arguments, variable: None, component }
    }

    fn run(&self) -> io::Result<Outcome> {
        if let Some(component) = self.component {
            let mut probe = command(&self.arguments[..1]);
            probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            if !probe.status()?.success() {
                return Ok(Outcome::Missing(component));
            }
        }
        let ended = command(&self.arguments).envs(self.variable).status()?;
        Ok(if ended.success() { Outcome::Pass } else { Outcome::Fail })
    }
}

fn command(arguments: &[String]) -> Command {
    let mut command = crate::at_root(&crate::cargo());
    command.args(arguments);
    command
}

/// Runs the steps in order and prints the table.
pub(crate) fn run(steps: &[Step], manner: Manner) -> io::Result<ExitCode> {
    let passes = |outcome: Outcome| match outcome {
        Outcome::Missing(_) => manner.skip_missing,
        outcome => outcome == Outcome::Pass,
    };
    let mut rows: Vec<(&str, Duration, Outcome)> = Vec::new();
    for step in steps {
        if !manner.keep_going && rows.iter().any(|(.., outcome)| !passes(*outcome)) {
            rows.push((step.name, Duration::ZERO, Outcome::NotRun));
            continue;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "\n== {}: cargo {}", step.name, step.arguments.join(" "))?;
        out.flush()?; // the child writes to the same place
        drop(out);
        #[expect(clippy::disallowed_methods, reason = "the closing table has the time of each step")]
        let start = Instant::now();
        let outcome = step.run()?;
        rows.push((step.name, start.elapsed(), outcome));
    }
    io::stdout().write_all(table(&rows).as_bytes())?;
    let all_passed = rows.iter().all(|(.., outcome)| passes(*outcome));
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(rows: &[(&str, Duration, Outcome)]) -> String {
    let mut text = format!("\n{:<9}{:>9}   outcome\n", "step", "time");
    for (name, time, outcome) in rows {
        let seconds = format!("{:.1} s", time.as_secs_f64());
        let (time, outcome) = match outcome {
            Outcome::Pass => (seconds, "pass".into()),
            Outcome::Fail => (seconds, "FAIL".into()),
            Outcome::NotRun => ("-".into(), "not run".into()),
            Outcome::Missing(component) => (
                "-".into(),
                format!("NOT CHECKED: {component} is missing; `rustup component add {component}`"),
            ),
        };
        text += &format!("{name:<9}{time:>9}   {outcome}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_outcome_of_each_step() {
        let text = table(&[
            ("fmt", Duration::ZERO, Outcome::Missing("rustfmt")),
            ("clippy", Duration::from_millis(1250), Outcome::Pass),
            ("rustdoc", Duration::from_secs(3), Outcome::Fail),
            ("test", Duration::ZERO, Outcome::NotRun),
        ]);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert!(lines[0].ends_with("`rustup component add rustfmt`"));
        assert_eq!(lines[1], "clippy       1.2 s   pass");
        assert_eq!(lines[2], "rustdoc      3.0 s   FAIL");
        assert_eq!(lines[3], "test             -   not run");
    }

    #[test]
    fn a_missing_component_fails_unless_it_may_be_skipped() {
        let step = Step::new("odd", "no-such-subcommand", Some("odd-component"));
        assert_eq!(step.run().expect("cargo starts"), Outcome::Missing("odd-component"));
        for (skip_missing, expected) in [(true, ExitCode::SUCCESS), (false, ExitCode::FAILURE)] {
            let manner = Manner { skip_missing, ..Manner::default() };
            assert_eq!(run(std::slice::from_ref(&step), manner).expect("cargo starts"), expected);
        }
    }
}
