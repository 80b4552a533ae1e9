//! Mutation testing of one crate: a random sample of the changes that `cargo mutants` lists, tried with the tests of this crate.

use std::io;
use std::process::{Command, ExitCode};

use crate::fuzz::Dice;
use crate::terminal::{complain, say};
use crate::workspace;

/// A request of the user.
#[derive(Debug, PartialEq)]
struct Request {
    krate: String,
    sample: usize,
    seed: u64,
    only_list: bool,
}

/// `Ok` if the arguments are understood.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    parse(arguments).map(drop)
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request { krate: String::new(), sample: 150, seed: 24, only_list: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut word = |name: &str| rest.next().ok_or_else(|| format!("{name} takes a value"));
        let number = |word: &String| word.parse().map_err(|_| format!("`{word}` is no whole number"));
        match argument.as_str() {
            "--crate" => request.krate = word("--crate")?.clone(),
            "--sample" => request.sample = number(word("--sample")?)? as usize,
            "--seed" => request.seed = number(word("--seed")?)?,
            "--list" => request.only_list = true,
            other => return Err(format!("no argument `{other}`")),
        }
    }
    if request.krate.is_empty() {
        return Err("--crate names the crate, such as kernels".into());
    }
    Ok(request)
}

/// Draws the sample and tries it, or prints it.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let Request { krate, sample, seed, only_list } = parse(arguments).map_err(io::Error::other)?;
    let package = format!("mcsa-{krate}");
    let listed = mutants(&["--list", "--package", &package]).output()?;
    if !listed.status.success() {
        complain("mutants: not run: `cargo install cargo-mutants --locked` brings the tool")?;
        return Ok(ExitCode::FAILURE);
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    let drawn = drawn(text.lines().collect(), sample, &mut Dice(seed));
    if only_list {
        return say(&format!("{}\n", drawn.join("\n")));
    }
    let mut trial = mutants(&["--package", &package, "--test-package", &package, "--output", "target"]);
    trial.args(drawn.iter().map(|name| format!("--re=^{}$", escaped(name))));
    Ok(if trial.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn mutants(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root()).arg("mutants").args(arguments);
    command
}

/// Random elements, without repetition.
fn drawn<'a>(mut all: Vec<&'a str>, count: usize, dice: &mut Dice) -> Vec<&'a str> {
    let count = count.min(all.len());
    for place in 0..count {
        let other = place + dice.below(all.len() - place);
        all.swap(place, other);
    }
    all.truncate(count);
    all
}

/// Regular expression that matches this text alone.
fn escaped(text: &str) -> String {
    let escape = |letter: char| match letter {
        letter if letter.is_ascii_punctuation() => format!("\\{letter}"),
        letter => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_crate() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let request = parse(&words("--crate kernels --sample 7 --list")).expect("known");
        assert_eq!(request, Request { krate: "kernels".into(), sample: 7, seed: 24, only_list: true });
        for line in ["", "--sample 7", "--crate", "--crate a --seed x", "kernels"] {
            assert!(check(&words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn a_sample_is_random_and_without_repetition() {
        let names: Vec<String> = (0..50).map(|k| k.to_string()).collect();
        let all = || names.iter().map(String::as_str).collect::<Vec<_>>();
        let mut sample = drawn(all(), 20, &mut Dice(1));
        assert_eq!(sample, drawn(all(), 20, &mut Dice(1)));
        assert_ne!(sample, drawn(all(), 20, &mut Dice(2)));
        sample.sort_unstable();
        sample.dedup();
        assert_eq!((sample.len(), drawn(all(), 60, &mut Dice(1)).len()), (20, 50));
    }

    #[test]
    fn a_name_matches_itself_alone() {
        assert_eq!(escaped("a.rs:1:2: replace + with -"), "a\\.rs\\:1\\:2\\: replace \\+ with \\-");
    }
}
