//! Sequence of checks, each a command, with a final table of outcomes and times.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::{tidy, workspace};

/// One check: a cargo command, or the house rules, which run in this process.
pub(crate) struct Step {
    name: &'static str,
    work: Work,
    component: Option<&'static str>,
}

enum Work {
    Tidy,
    Cargo { arguments: Vec<String>, environment: Option<(&'static str, OsString)>, here: bool },
}

/// Outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Pass,
    Fail,
    /// The rustup component it needs is not installed; counts as a failure, since nothing was checked, unless steps may be skipped.
    Missing(&'static str),
    NotRun,
}

impl Step {
    pub(crate) fn cargo(name: &'static str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().copied().map(String::from).collect();
        Self { name, work: Work::Cargo { arguments, environment: None, here: false }, component: None }
    }

    pub(crate) fn tidy() -> Self {
        Self { name: "tidy", work: Work::Tidy, component: None }
    }

    /// Appends arguments.
    pub(crate) fn and(mut self, more: &[String]) -> Self {
        if let Work::Cargo { arguments, .. } = &mut self.work {
            arguments.extend_from_slice(more);
        }
        self
    }

    /// Sets an environment variable for the command.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        if let Work::Cargo { environment, .. } = &mut self.work {
            *environment = Some((variable, value.into()));
        }
        self
    }

    /// Runs the command in the user's current directory instead of the root: for commands that take paths.
    pub(crate) fn here(mut self) -> Self {
        if let Work::Cargo { here, .. } = &mut self.work {
            *here = true;
        }
        self
    }

    /// Declares the rustup component that the step requires.
    pub(crate) fn needs(mut self, component: &'static str) -> Self {
        self.component = Some(component);
        self
    }

    /// Runs this step alone and returns the exit code of its command.
    pub(crate) fn hand_over(&self) -> io::Result<ExitCode> {
        let Some(mut command) = self.command() else {
            return Ok(run_tidy()?.into());
        };
        replace_by(&mut command)
    }

    /// Working directory of the command.
    #[cfg(test)]
    pub(crate) fn directory(&self) -> Option<std::path::PathBuf> {
        self.command()?.get_current_dir().map(Into::into)
    }

    /// Value of an environment variable that was set for the command.
    #[cfg(test)]
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let command = self.command()?;
        let found = command.get_envs().find(|(variable, _)| *variable == name)?;
        found.1.map(Into::into)
    }

    fn run(&self) -> io::Result<Outcome> {
        let Some(mut command) = self.command() else {
            return run_tidy();
        };
        if let Some(component) = self.component
            && !self.is_installed()?
        {
            return Ok(Outcome::Missing(component));
        }
        Ok(if command.status()?.success() { Outcome::Pass } else { Outcome::Fail })
    }

    /// Returns true if `cargo <subcommand> --version` succeeds.
    fn is_installed(&self) -> io::Result<bool> {
        let Work::Cargo { arguments, .. } = &self.work else {
            return Ok(true);
        };
        let mut probe = cargo();
        probe.args(arguments.first()).arg("--version");
        Ok(probe.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
    }

    fn command(&self) -> Option<Command> {
        let Work::Cargo { arguments, environment, here } = &self.work else {
            return None;
        };
        let mut command = cargo();
        if *here && let Ok(place) = std::env::current_dir() {
            command.current_dir(place);
        }
        command.args(arguments).envs(environment.iter().map(|(variable, value)| (variable, value)));
        Some(command)
    }

    pub(crate) fn title(&self) -> String {
        match &self.work {
            Work::Tidy => "house rules".into(),
            Work::Cargo { arguments, .. } => format!("cargo {}", arguments.join(" ")),
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        if outcome == Outcome::Pass { Self::SUCCESS } else { Self::FAILURE }
    }
}

fn run_tidy() -> io::Result<Outcome> {
    Ok(if tidy::check(&workspace::root())? { Outcome::Pass } else { Outcome::Fail })
}

/// The cargo that started this program, with the root as its working directory.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

/// Handling of steps that do not pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Manner {
    /// True if the remaining steps run after a failure.
    pub(crate) keep_going: bool,
    /// True if a step whose component is not installed is skipped instead of failing.
    pub(crate) skip_missing: bool,
}

/// Runs the steps in order and prints the table.
pub(crate) fn run(steps: &[Step], manner: Manner) -> io::Result<ExitCode> {
    let passes = |outcome: Outcome| match outcome {
        Outcome::Missing(_) => manner.skip_missing,
        outcome => outcome == Outcome::Pass,
    };
    let mut rows = Vec::new();
    let mut stopped = false;
    for step in steps {
        if stopped {
            rows.push((step.name, Duration::ZERO, Outcome::NotRun));
            continue;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "\n== {}: {}", step.name, step.title())?;
        out.flush()?; // the child writes to the same place
        drop(out);
        #[expect(clippy::disallowed_methods, reason = "the closing table tells how long each step took")]
        let start = Instant::now();
        let outcome = step.run()?;
        rows.push((step.name, start.elapsed(), outcome));
        stopped = !passes(outcome) && !manner.keep_going;
    }
    io::stdout().write_all(table(&rows).as_bytes())?;
    let all_passed = rows.iter().all(|(_, _, outcome)| passes(*outcome));
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(rows: &[(&str, Duration, Outcome)]) -> String {
    let mut text = format!("\n{:<9}{:>9}   outcome\n", "step", "time");
    for (name, time, outcome) in rows {
        let time = match outcome {
            Outcome::NotRun | Outcome::Missing(_) => "-".into(),
            _ => format!("{:.1} s", time.as_secs_f64()),
        };
        let outcome = match outcome {
            Outcome::Pass => "pass".into(),
            Outcome::Fail => "FAIL".into(),
            Outcome::NotRun => "not run".into(),
            Outcome::Missing(component) => {
                format!("NOT CHECKED: {component} is missing; `rustup component add {component}`")
            }
        };
        text += &format!("{name:<9}{time:>9}   {outcome}\n");
    }
    text
}

/// Replaces this process by the command, so that the command alone receives terminal signals and its exit code is returned.
#[cfg(unix)]
fn replace_by(command: &mut Command) -> io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Runs the command and returns its exit code.
#[cfg(not(unix))]
fn replace_by(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_how_each_step_ended() {
        let text = table(&[
            ("fmt", Duration::ZERO, Outcome::Missing("rustfmt")),
            ("clippy", Duration::from_millis(1250), Outcome::Pass),
            ("rustdoc", Duration::from_secs(3), Outcome::Fail),
            ("tidy", Duration::ZERO, Outcome::NotRun),
        ]);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert!(lines[0].ends_with("`rustup component add rustfmt`"));
        assert_eq!(lines[1], "clippy       1.2 s   pass");
        assert_eq!(lines[2], "rustdoc      3.0 s   FAIL");
        assert_eq!(lines[3], "tidy             -   not run");
    }

    #[test]
    fn arguments_and_environment_reach_the_command() {
        let step = Step::cargo("doc", &["doc"]).and(&["-v".into()]).with("RUSTDOCFLAGS", "-D warnings");
        let command = step.command().expect("a cargo step");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["doc", "-v"]);
        assert_eq!(command.get_envs().count(), 1);
        assert_eq!(step.title(), "cargo doc -v");
    }

    #[test]
    fn a_command_works_at_the_root_or_here() {
        assert_eq!(Step::cargo("run", &["run"]).directory(), Some(workspace::root()));
        assert_eq!(Step::cargo("run", &["run"]).here().directory(), std::env::current_dir().ok());
    }

    #[test]
    fn a_subcommand_that_does_not_exist_is_missing() {
        let step = Step::cargo("odd", &["no-such-subcommand"]).needs("odd-component");
        assert_eq!(step.run().expect("cargo runs"), Outcome::Missing("odd-component"));
        let code = |skip_missing| {
            run(std::slice::from_ref(&step), Manner { keep_going: true, skip_missing }).expect("cargo runs")
        };
        assert_eq!(format!("{:?}", code(true)), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(format!("{:?}", code(false)), format!("{:?}", ExitCode::FAILURE));
    }
}
