//! Build and tests of the Python package, and runs of other packages on cases that the program writes.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Runs of other packages.
#[derive(Debug, clap::Args)]
pub(crate) struct Anchors {
    /// Seeds per method and case
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Only the case of this title; repeatable
    #[arg(long = "case", value_name = "TITLE")]
    cases: Vec<String>,
    /// Only the method of this name in rows.csv; repeatable
    #[arg(long = "method", value_name = "NAME")]
    methods: Vec<String>,
    /// Only these scripts of bench-suite/anchors
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(PACKAGES))]
    scripts: Vec<String>,
}

/// Scripts, one per package and kind of method.
const PACKAGES: [&str; 4] = ["nutpie_nuts", "blackjax_nuts", "blackjax_pathfinder", "numpyro_guides"];
const NO_PYTHON: &str =
    "no Python 3.11 or later was found (python3, or the program that MCSA_PYTHON names); nothing was done";

/// Installs the package into an environment of its own and runs its tests; `arguments` go to pytest.
pub(crate) fn test(arguments: &[String]) -> io::Result<ExitCode> {
    let Some(python) = interpreter() else { return crate::print(NO_PYTHON) };
    if arguments.iter().any(|given| given == "--wheel") {
        return wheel(&python);
    }
    let folder = crate::root().join("python");
    let package = format!("{}[test]", folder.display());
    let wanted = ["--upgrade".as_ref(), "--force-reinstall".as_ref(), package.as_ref()];
    let python = environment(&python, &crate::target().join("python"), &wanted)?;
    let mut tests = Command::new(python);
    // Not from the folder of the sources, which have no compiled part.
    tests.current_dir(folder.join("tests")).args(["-m", "pytest", "-q", "--rootdir=..", "."]).args(arguments);
    succeeds(&mut tests).map(|()| ExitCode::SUCCESS)
}

/// Builds a wheel for the stable interface of Python 3.11 and later, and fits by it in a new environment whose path has no compiler.
fn wheel(python: &OsString) -> io::Result<ExitCode> {
    let (place, wheels) = (crate::target().join("python"), crate::target().join("wheels"));
    let builder = environment(python, &place, &["pip".as_ref()])?;
    let mut build = Command::new(builder);
    build.args(["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]).arg(&wheels);
    succeeds(build.arg(crate::root().join("python")).env("CARGO_TARGET_DIR", place.join("build")))?;
    let entries =
        fs::read_dir(&wheels)?.collect::<Result<Vec<_>, _>>()?.into_iter().map(|entry| entry.path());
    let built: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "whl")).collect();
    let Some(wheel) = built.iter().max_by_key(|path| path.metadata().and_then(|file| file.modified()).ok())
    else {
        return Err(io::Error::other(format!("no wheel in {}", wheels.display())));
    };
    let fresh = crate::target().join("wheel-check");
    if fresh.exists() {
        fs::remove_dir_all(&fresh)?;
    }
    let inside = environment(python, &fresh, &[wheel.as_ref()])?;
    let fit = "import mcsa; result = mcsa.fit(mcsa.models.eight_schools(), seed=1); print(result); assert result.ok";
    succeeds(Command::new(inside).current_dir(&fresh).env("PATH", "").args(["-c", fit]))?;
    crate::print(&format!("{}: built and tried", wheel.display()))
}

/// Writes the cases, checks the densities in Python, runs the scripts and replaces their rows in `rows.csv`.
pub(crate) fn anchors(runs: &Anchors) -> io::Result<ExitCode> {
    let Some(python) = interpreter() else { return crate::print(NO_PYTHON) };
    let (place, folder) = (crate::target().join("anchors"), crate::root().join("bench-suite/anchors"));
    let python = environment(&python, &place, &["-r".as_ref(), folder.join("requirements.txt").as_ref()])?;
    let [cases, rows] = ["cases", "rows.csv"].map(|name| place.join(name));
    for old in [fs::remove_dir_all(&cases), fs::remove_file(&rows)] {
        old.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
    }
    let only = runs.cases.iter().flat_map(|title| ["--only", title]);
    succeeds(crate::suite("anchors").arg("--out").arg(&cases).args(only))?;
    let script = |name: &str, arguments: &[&Path]| {
        let mut command = Command::new(&python);
        command.current_dir(&folder).arg(format!("{name}.py")).args(arguments);
        command
    };
    succeeds(&mut script("check", &[&cases]))?;
    let all = PACKAGES.map(String::from);
    for name in if runs.scripts.is_empty() { &all[..] } else { &runs.scripts } {
        succeeds(script(name, &[&cases, &rows, runs.seeds.to_string().as_ref()]).args(&runs.methods))?;
    }
    succeeds(&mut script("collect", &[&rows, "rows.csv".as_ref()])).map(|()| ExitCode::SUCCESS)
}

/// Fits posteriors that others wrote; `arguments` go to `run.py`, which puts rows beside it. Targets of inference_gym need old versions of
/// JAX and NumPy, and so an environment of their own.
pub(crate) fn strangers(arguments: &[String]) -> io::Result<ExitCode> {
    let Some(python) = interpreter() else { return crate::print(NO_PYTHON) };
    let folder = crate::root().join("bench-suite/strangers");
    let name = if arguments.iter().any(|given| given == "--gym") { "gym" } else { "strangers" };
    let place = crate::target().join(name);
    let requirements = folder.join(format!("requirements-{name}.txt"));
    let package = crate::root().join("python");
    let all = ["--no-deps".as_ref(), "-r".as_ref(), requirements.as_ref(), package.as_ref()];
    let python = environment(&python, &place, &all)?;
    let mut run = Command::new(python);
    run.arg(folder.join("run.py")).arg("--build").arg(place.join("programs")).args(arguments);
    succeeds(&mut run).map(|()| ExitCode::SUCCESS)
}

/// Python of at least version 3.11, with the module that makes environments.
fn interpreter() -> Option<OsString> {
    let named = std::env::var_os("MCSA_PYTHON").filter(|name| !name.is_empty());
    let names = match named {
        Some(name) => vec![name],
        None => ["python3", "python3.11", "python3.12", "python3.13", "python"].map(OsString::from).into(),
    };
    let probe = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    let suits = |name: &OsString| {
        let mut command = Command::new(name);
        command.args(["-c", probe]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    names.into_iter().find(suits)
}

/// Python of a virtual environment below `place`, after `pip install` with these arguments.
fn environment(python: &OsString, place: &Path, arguments: &[&OsStr]) -> io::Result<PathBuf> {
    fs::create_dir_all(place)?;
    let folder = place.join("venv");
    let inside = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !inside.exists() {
        succeeds(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    }
    let mut install = Command::new(&inside);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(arguments);
    // Where the package of `python` is built, so that the next build is short.
    succeeds(install.env("CARGO_TARGET_DIR", place.join("build"))).map(|()| inside)
}

fn succeeds(command: &mut Command) -> io::Result<()> {
    if command.status()?.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("this command failed: {command:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_there() {
        for name in PACKAGES.iter().chain(&["check", "collect"]) {
            assert!(crate::root().join("bench-suite/anchors").join(format!("{name}.py")).is_file(), "{name}");
        }
    }
}
