//! Actions of the verbs that hand over to cargo or to bench-suite.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::steps::{self, Manner, Step};
use crate::terminal::say;
use crate::{sweep, workspace};

pub(crate) fn anything(_: &[String]) -> Result<(), String> {
    Ok(())
}

pub(crate) fn nothing(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => Ok(()),
        [first, ..] => Err(format!("this verb takes no arguments, not even `{first}`")),
    }
}

pub(crate) fn manner_of_steps(arguments: &[String]) -> Result<(), String> {
    match arguments.iter().find(|argument| !["--keep-going", "--skip-missing"].contains(&argument.as_str())) {
        None => Ok(()),
        Some(other) => Err(format!("`{other}`? the options are --keep-going and --skip-missing")),
    }
}

pub(crate) fn test(arguments: &[String]) -> io::Result<ExitCode> {
    match arguments {
        [only] if only == "--slurm" => return test_slurm(),
        [first, rest @ ..] if first == "--backends" => return crate::backends::run(rest),
        _ => {}
    }
    steps::run(&test_steps(arguments), Manner { keep_going: true, skip_missing: false })
}

/// Runs the test of a sweep under Slurm, unless Slurm is not installed.
fn test_slurm() -> io::Result<ExitCode> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| {
        std::env::split_paths(&paths).chain(["/usr/sbin".into()]).any(|folder| folder.join(name).is_file())
    };
    if let Some(name) = ["munged", "slurmctld", "slurmd", "sbatch"].into_iter().find(|name| !is_there(name)) {
        return say(&format!(
            "skipped: {name} is not installed. On Debian, as root:\n\
             apt-get install --no-install-recommends munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins\n"
        ));
    }
    let test = ["test", "-p", "mcsa-bench-suite", "--test", "suite", "--"];
    let only = ["slurm::", "--ignored", "--nocapture", "--test-threads=1"].map(String::from);
    Step::cargo("slurm", &test).and(&only).hand_over()
}

pub(crate) fn ci(arguments: &[String]) -> io::Result<ExitCode> {
    let mut all = vec![
        Step::cargo("fmt", &["fmt", "--all", "--check"]).needs("rustfmt"),
        Step::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
            .needs("clippy"),
        Step::cargo("rustdoc", &["doc", "--workspace", "--no-deps"]).with("RUSTDOCFLAGS", "-D warnings"),
    ];
    all.extend(test_steps(&[]));
    let given = |option: &str| arguments.iter().any(|argument| argument == option);
    let manner = Manner { keep_going: given("--keep-going"), skip_missing: given("--skip-missing") };
    steps::run(&all, manner)
}

fn test_steps(arguments: &[String]) -> Vec<Step> {
    let tests = Step::cargo("test", &["test", "--workspace", "--exclude", "mcsa-speed", "--no-fail-fast"])
        .and(arguments);
    vec![Step::tidy(), tests]
}

pub(crate) fn tidy(_: &[String]) -> io::Result<ExitCode> {
    let clean = crate::tidy::check(&workspace::root())?;
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn bench(arguments: &[String]) -> io::Result<ExitCode> {
    match arguments {
        [only] if only == "--counts" => return crate::counts::regenerate(),
        [first, second] if first == "--counts" && second == "--check" => return crate::counts::compare(),
        _ => {}
    }
    Step::cargo("bench", &["bench", "-p", "mcsa-speed", "--"]).and(after_dashes(arguments)).hand_over()
}

pub(crate) fn theory(arguments: &[String]) -> io::Result<ExitCode> {
    theory_step(arguments).hand_over()
}

/// Command of the verb `theory`. It runs at the root, where the page is written; with `--instance` or `--replay` it runs
/// in the user's current directory, so that the path of the file resolves.
fn theory_step(arguments: &[String]) -> Step {
    let manifest = workspace::root().join("Cargo.toml").display().to_string();
    let start = ["run", "--release", "--manifest-path", &manifest, "-p", "mcsa-bench-suite"];
    let step = Step::cargo("theory", &start).and(&["--bin", "mcsa-bench", "--", "theory"].map(String::from));
    let step = step.and(after_dashes(arguments));
    let names = |argument: &str, name: &str| {
        argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let reads = |argument: &String| names(argument, "--instance") || names(argument, "--replay");
    if arguments.iter().any(reads) { step.here() } else { step }
}

pub(crate) fn figures(arguments: &[String]) -> io::Result<ExitCode> {
    match swept(arguments).map_err(io::Error::other)? {
        Some(request) => sweep::run(&request),
        None => suite("figures", arguments),
    }
}

/// The sweep that the arguments of `figures` ask for, if they do.
pub(crate) fn swept(arguments: &[String]) -> Result<Option<sweep::Request>, String> {
    let here = std::env::current_dir().map_err(|error| format!("no current directory: {error}"))?;
    let named = std::env::var_os("MCSA_DATA").filter(|name| !name.is_empty());
    let data = named.map_or_else(|| workspace::root().join("data"), |name| here.join(name));
    sweep::read(arguments, &here, Some(data))
}

pub(crate) fn claims(arguments: &[String]) -> io::Result<ExitCode> {
    suite("claims", arguments)
}

pub(crate) fn fit(arguments: &[String]) -> io::Result<ExitCode> {
    suite("fit", arguments)
}

pub(crate) fn data(arguments: &[String]) -> io::Result<ExitCode> {
    suite("data", arguments)
}

fn suite(verb: &'static str, arguments: &[String]) -> io::Result<ExitCode> {
    suite_step(verb, arguments, std::env::var_os("MCSA_DATA").filter(|name| !name.is_empty())).hand_over()
}

/// Command of a verb of bench-suite. It runs in the user's current directory so that paths resolve; the data folder defaults
/// to the one at the root.
fn suite_step(verb: &'static str, arguments: &[String], named: Option<OsString>) -> Step {
    let manifest = workspace::root().join("Cargo.toml").display().to_string();
    let start = ["run", "--quiet", "--release", "--manifest-path", &manifest, "-p", "mcsa-bench-suite"];
    let step = Step::cargo(verb, &start).and(&["--bin", "mcsa-bench", "--", verb].map(String::from));
    let folder = named.unwrap_or_else(|| workspace::root().join("data").into());
    step.and(after_dashes(arguments)).with("MCSA_DATA", folder).here()
}

/// The arguments without a leading `--`.
fn after_dashes(arguments: &[String]) -> &[String] {
    match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_read_where_the_user_is() {
        let place = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            theory_step(&arguments).directory()
        };
        assert_eq!(place(&["--instance", "x.json"]), std::env::current_dir().ok());
        assert_eq!(place(&["--instance=x.json"]), std::env::current_dir().ok());
        assert_eq!(place(&["--replay", "x.json"]), std::env::current_dir().ok());
        assert_eq!(place(&["--claim", "000-T1"]), Some(workspace::root()));
    }

    #[test]
    fn data_is_looked_for_where_the_user_says() {
        let arguments = ["import", "sml", "x.csv"].map(String::from);
        let step = suite_step("data", &arguments, Some("elsewhere".into()));
        assert!(step.title().ends_with("-- data import sml x.csv"), "{}", step.title());
        assert_eq!(step.variable("MCSA_DATA"), Some("elsewhere".into()));
        let at_the_root = workspace::root().join("data").into_os_string();
        assert_eq!(suite_step("data", &[], None).variable("MCSA_DATA"), Some(at_the_root));
    }

    #[test]
    fn leading_dashes_end_our_own_options() {
        let arguments = ["--", "--quick"].map(String::from);
        assert_eq!(after_dashes(&arguments), &arguments[1..]);
        assert_eq!(after_dashes(&arguments[1..]), &arguments[1..]);
        assert!(after_dashes(&[]).is_empty());
    }
}
