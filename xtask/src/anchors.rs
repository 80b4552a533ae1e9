//! Runs of other packages, in their own language, on cases that the program writes.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::terminal::{complain, say};
use crate::{interpreter, workspace};

/// Folder of the scripts, relative to the root.
const SCRIPTS: &str = "bench-suite/anchors";
/// Scripts, one per package and kind of method.
const PACKAGES: [&str; 4] = ["nutpie_nuts", "blackjax_nuts", "blackjax_pathfinder", "numpyro_guides"];
/// Seeds per method and case.
const SEEDS: &str = "5";

/// `Ok` if the arguments are `--seeds N` and names of scripts.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    parse(arguments).map(drop)
}

/// Number of seeds and scripts to run.
fn parse(arguments: &[String]) -> Result<(String, Vec<String>), String> {
    let (mut seeds, mut chosen, mut rest) = (SEEDS.to_owned(), Vec::new(), arguments.iter());
    while let Some(argument) = rest.next() {
        if argument == "--seeds" {
            let number = rest.next().filter(|number| number.parse::<u32>().is_ok_and(|number| number > 0));
            seeds = number.ok_or("--seeds takes a positive number")?.clone();
        } else if PACKAGES.contains(&argument.as_str()) {
            chosen.push(argument.clone());
        } else {
            return Err(format!("no script `{argument}`; there are {}", PACKAGES.join(", ")));
        }
    }
    if chosen.is_empty() {
        chosen.extend(PACKAGES.map(String::from));
    }
    Ok((seeds, chosen))
}

/// Makes the environment, writes the cases, checks the densities, runs the scripts and writes `rows.csv`.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let (seeds, chosen) = parse(arguments).map_err(io::Error::other)?;
    let root = workspace::root();
    let place = workspace::target().join("anchors");
    let Some(python) = interpreter::find() else {
        return say(
            "anchors: no Python 3.11 or later was found (python3, or the program that MCSA_PYTHON names).\n\
                    Nothing was run; the stored rows in bench-suite/anchors/rows.csv stay as they are.\n",
        );
    };
    fs::create_dir_all(&place)?;
    let packages = root.join(SCRIPTS).join("requirements.txt");
    let Some(python) = interpreter::environment(&python, &place, &["-r".as_ref(), packages.as_ref()])? else {
        complain("anchors: the packages of bench-suite/anchors/requirements.txt could not be installed")?;
        return Ok(ExitCode::FAILURE);
    };
    let cases = place.join("cases");
    let rows = place.join("rows.csv");
    for old in [&cases, &rows] {
        if old.is_dir() {
            fs::remove_dir_all(old)?
        } else if old.exists() {
            fs::remove_file(old)?
        }
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut export = Command::new(cargo);
    export.current_dir(&root).args([
        "run",
        "--quiet",
        "--release",
        "-p",
        "mcsa-bench-suite",
        "--bin",
        "mcsa-bench",
    ]);
    export.args(["--", "anchors", "--out"]).arg(&cases);
    let script = |name: &str, arguments: &[&Path]| {
        let mut command = Command::new(&python);
        command.current_dir(root.join(SCRIPTS)).arg(format!("{name}.py")).args(arguments);
        command
    };
    let mut steps = vec![export, script("check", &[&cases])];
    steps.extend(chosen.iter().map(|name| script(name, &[&cases, &rows, Path::new(&seeds)])));
    steps.push(script("collect", &[&rows, Path::new("rows.csv")]));
    for mut step in steps {
        if !step.status()?.success() {
            complain("anchors: stopped; bench-suite/anchors/rows.csv stays as it is")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn arguments_are_scripts_and_a_number_of_seeds() {
        assert_eq!(parse(&[]).expect("known"), ("5".into(), PACKAGES.map(String::from).to_vec()));
        let chosen = parse(&words("nutpie_nuts --seeds 2")).expect("known");
        assert_eq!(chosen, ("2".into(), vec!["nutpie_nuts".into()]));
        for line in ["--seeds", "--seeds 0", "--seeds x", "pystan"] {
            assert!(parse(&words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn every_script_is_there() {
        for name in PACKAGES.iter().chain(&["check", "collect"]) {
            assert!(workspace::root().join(SCRIPTS).join(format!("{name}.py")).is_file(), "{name}");
        }
    }
}
