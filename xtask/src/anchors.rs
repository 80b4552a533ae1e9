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

/// Runs that are asked for.
#[derive(Debug, PartialEq)]
struct Runs {
    seeds: String,
    /// Scripts to run.
    scripts: Vec<String>,
    /// Titles of the cases; all if there is none.
    cases: Vec<String>,
    /// Names of the methods; all of the scripts if there is none.
    methods: Vec<String>,
}

/// `Ok` if the arguments are `--seeds N`, `--case TITLE`, `--method NAME` and names of scripts.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    parse(arguments).map(drop)
}

fn parse(arguments: &[String]) -> Result<Runs, String> {
    let mut runs = Runs { seeds: SEEDS.to_owned(), scripts: vec![], cases: vec![], methods: vec![] };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut text = || rest.next().cloned().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--seeds" => {
                let is_number = |text: &String| text.parse::<u32>().is_ok_and(|number| number > 0);
                runs.seeds = text().ok().filter(is_number).ok_or("--seeds takes a positive number")?;
            }
            "--case" => runs.cases.push(text()?),
            "--method" => runs.methods.push(text()?),
            script if PACKAGES.contains(&script) => runs.scripts.push(argument.clone()),
            _ => return Err(format!("no script `{argument}`; there are {}", PACKAGES.join(", "))),
        }
    }
    if runs.scripts.is_empty() {
        runs.scripts.extend(PACKAGES.map(String::from));
    }
    Ok(runs)
}

/// Makes the environment, writes the cases, checks the densities, runs the scripts and writes `rows.csv`.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let runs = parse(arguments).map_err(io::Error::other)?;
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
    for case in &runs.cases {
        export.args(["--only", case]);
    }
    let script = |name: &str, arguments: &[&Path]| {
        let mut command = Command::new(&python);
        command.current_dir(root.join(SCRIPTS)).arg(format!("{name}.py")).args(arguments);
        command
    };
    let mut steps = vec![export, script("check", &[&cases])];
    steps.extend(runs.scripts.iter().map(|name| {
        let mut run = script(name, &[&cases, &rows, Path::new(&runs.seeds)]);
        run.args(&runs.methods);
        run
    }));
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
        let all = Runs {
            seeds: "5".into(),
            scripts: PACKAGES.map(String::from).into(),
            cases: vec![],
            methods: vec![],
        };
        assert_eq!(parse(&[]).expect("known"), all);
        let chosen = parse(&words("nutpie_nuts --seeds 2 --case radon --method NUTS")).expect("known");
        assert_eq!((chosen.seeds.as_str(), chosen.scripts), ("2", words("nutpie_nuts")));
        assert_eq!((chosen.cases, chosen.methods), (words("radon"), words("NUTS")));
        for line in ["--seeds", "--seeds 0", "--seeds x", "--case", "--method", "pystan"] {
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
