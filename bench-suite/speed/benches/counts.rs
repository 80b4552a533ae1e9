//! Instructions of a step of the hottest paths, counted by valgrind, which has no AVX-512: `cargo xtask bench --counts`.
//!
//! A path runs for some steps and for twice as many; the difference has no start-up in it. Counts are compared with those of `counts.csv`,
//! of the same compiler; a rise of 3 % is a failure. With `--write` the file is written anew.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a table for the reader")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use mcsa_speed::{GOOD, paths};

/// Rise of a count that is a failure.
const RISE: f64 = 1.03;

/// Instructions of a run of this program with these steps of a path.
fn instructions(path: &str, steps: u64) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let done = valgrind.args(["--run", path, &steps.to_string()]).output();
    let done = done.map_err(|error| format!("valgrind cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let count = text.lines().filter_map(|line| line.split_once("Collected : ")).next_back();
    count.and_then(|(_, count)| count.trim().parse().ok()).ok_or(format!("valgrind printed no count: {text}"))
}

fn compiler() -> String {
    let out = Command::new("rustc").arg("--version").output();
    out.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}

/// Compares all paths; true if none takes 3 % more than before.
fn compare(file: &Path, is_written: bool) -> Result<bool, String> {
    let before = std::fs::read_to_string(file).unwrap_or_default();
    let mut lines = before.lines();
    let by_compiler = lines.next().unwrap_or_default().trim_start_matches("# ").to_owned();
    let before: BTreeMap<&str, f64> = lines
        .filter_map(|line| line.rsplit_once(','))
        .filter_map(|(name, n)| Some((name, n.parse().ok()?)))
        .collect();
    let is_same = by_compiler == compiler();
    if !is_same {
        println!("stored counts are of another compiler ({by_compiler}): nothing is compared");
    }
    let (mut text, mut holds) = (format!("# {}\n", compiler()), true);
    println!("{:<20}{:>14}{:>14}{:>8}", "path", "instructions", "stored", "ratio");
    for path in paths().into_iter().filter(|path| !path.name.ends_with("all cores")) {
        let (name, steps) = (path.name, path.steps);
        let now = (instructions(name, 2 * steps)? - instructions(name, steps)?) / steps as f64;
        let stored = before.get(name).copied().unwrap_or(f64::NAN);
        // A path without a stored count is a failure too.
        let is_more = is_same && !(now <= RISE * stored);
        let mark = if is_more { "  more" } else { "" };
        println!("{name:<20}{now:>14.0}{stored:>14.0}{:>8.3}{mark}", now / stored);
        holds &= !is_more;
        writeln!(text, "{name},{now:.0}").expect(GOOD);
    }
    if is_written {
        std::fs::write(file, text).map_err(|error| error.to_string())?;
        return Ok(true);
    }
    Ok(holds)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = words.iter().position(|word| word == "--run") {
        let path = paths().into_iter().find(|path| path.name == words[at + 1]);
        (path.expect("a path").start)()(words[at + 2].parse().expect("a number of steps"));
        return ExitCode::SUCCESS;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.csv");
    match compare(&file, words.iter().any(|word| word == "--write")) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a step takes more instructions than before");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
