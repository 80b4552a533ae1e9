//! Fuzzing of every format that the program reads: a loop of mutations on stable Rust, each input in a process of its own.
//!
//! An input is a finding if the program panics, is ended by a signal (as it is beyond 4 GB of memory or 10 s of one core), or
//! takes a minute. Findings are kept below `target/fuzz`; those that were mended are in `bench-suite/fuzz`, whose files are read
//! unchanged first.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::sweep::hash;
use crate::terminal::{complain, say};
use crate::workspace;

mod format;
mod mutation;
mod table;

use format::Format;
pub(crate) use mutation::Dice;

/// Longest wait for the program on one input; a busy machine may need it for 10 s of one core.
const LIMIT: Duration = Duration::from_secs(60);

/// A request of the user.
#[derive(Debug, PartialEq)]
struct Request {
    seconds: u64,
    seed: u64,
    program: Option<PathBuf>,
    formats: Vec<Format>,
}

/// `Ok` if the arguments are understood.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    parse(arguments).map(drop)
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request { seconds: 60, seed: 1, program: None, formats: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = |name: &str| {
            let word = rest.next().and_then(|word| word.parse().ok());
            word.ok_or_else(|| format!("{name} takes a whole number"))
        };
        match argument.as_str() {
            "--seconds" => request.seconds = number("--seconds")?,
            "--seed" => request.seed = number("--seed")?,
            "--program" => {
                let file = rest.next().ok_or("--program takes a file")?;
                let here = std::env::current_dir().map_err(|error| error.to_string())?;
                request.program = Some(here.join(file));
            }
            name => {
                let known = Format::ALL.into_iter().find(|format| format.name() == name);
                let names = Format::ALL.map(Format::name).join(", ");
                request.formats.push(known.ok_or_else(|| format!("no format `{name}`; there are {names}"))?);
            }
        }
    }
    if request.formats.is_empty() {
        request.formats.extend(Format::ALL);
    }
    Ok(request)
}

/// One format with its inputs and the time spent on it.
struct Turn {
    format: Format,
    corpus: Vec<Vec<u8>>,
    dice: Dice,
    round: usize,
    refused: usize,
    spent: Duration,
}

impl Turn {
    /// Next input: those of the corpus unchanged, then changed ones.
    fn input(&mut self) -> Vec<u8> {
        let Self { format, corpus, dice, round, .. } = self;
        *round += 1;
        let (one, other) = (dice.below(corpus.len()), dice.below(corpus.len()));
        let unread = corpus.get(*round - 1).cloned();
        unread.unwrap_or_else(|| format.mutated(&corpus[one], &corpus[other], dice))
    }

    fn has_unread(&self) -> bool {
        self.round < self.corpus.len()
    }
}

/// Format with the least time so far; when the time is over, of those alone whose corpus was not read to its end.
fn next(turns: &mut [Turn], is_over: bool) -> Option<&mut Turn> {
    turns.iter_mut().filter(|turn| !is_over || turn.has_unread()).min_by_key(|turn| turn.spent)
}

/// Runs the loop until the time is over, with equal shares of it for all formats.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let Request { seconds, seed, program, formats } = parse(arguments).map_err(io::Error::other)?;
    let Some(program) = program.map_or_else(built, |program| Ok(Some(program)))? else {
        return Ok(ExitCode::FAILURE);
    };
    let place = workspace::target().join("fuzz");
    fs::create_dir_all(place.join("data"))?;
    let mut found = 0;
    let mut turns = Vec::new();
    for format in formats {
        let corpus = format.corpus(&program, &place)?;
        let dice = Dice(seed ^ hash(format.name().as_bytes()));
        if corpus.is_empty() {
            found += usize::from(cfg!(unix));
            complain(&format!("fuzz: {}: no input to begin with", format.name()))?;
        } else {
            turns.push(Turn { format, corpus, dice, round: 0, refused: 0, spent: Duration::ZERO });
        }
    }
    let (start, until) = (now(), Duration::from_secs(seconds));
    while let Some(turn) = next(&mut turns, start.elapsed() > until) {
        let before = now();
        let (format, round, input) = (turn.format, turn.round, turn.input());
        if let Some(command) = format.command(&program, &place, &input)? {
            let (fault, code) = judged(command)?;
            turn.refused += usize::from(!matches!(code, Some(0 | 3))); // 3: read, and the answer is no
            if let Some(fault) = fault {
                found += 1;
                let file = place.join(format!("found-{}-{seed}-{round}", format.name()));
                fs::write(&file, &input)?;
                complain(&format!("fuzz: {}: {fault}; kept as {}", format.name(), file.display()))?;
            }
        }
        turn.spent += before.elapsed();
    }
    for Turn { format, round, refused, spent, .. } in &turns {
        let (name, seconds) = (format.name(), spent.as_secs());
        say(&format!("{name:<11}{round:>7} inputs, {refused:>7} not accepted, {seconds:>5} s\n"))?;
    }
    say(&format!("seed {seed}, {} s: {found} findings\n", start.elapsed().as_secs()))?;
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the program in release mode; `None` if that fails.
fn built() -> io::Result<Option<PathBuf>> {
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(workspace::root());
    build.args(["build", "--release", "-p", "mcsa-bench-suite", "--bin", "mcsa-bench"]);
    let name = format!("mcsa-bench{}", std::env::consts::EXE_SUFFIX);
    Ok(build.status()?.success().then(|| workspace::target().join("release").join(name)))
}

/// Fault of a run, if there is one, and its exit code.
fn judged(mut command: Command) -> io::Result<(Option<String>, Option<i32>)> {
    let start = now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok((Some(format!("no end after {} s", LIMIT.as_secs())), None));
        }
        #[expect(clippy::disallowed_methods, reason = "standard Rust has no wait with a limit of time")]
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    Ok((fault(status), status.code()))
}

/// Fault that an end shows: a panic, an end by a signal, an unknown code.
fn fault(status: ExitStatus) -> Option<String> {
    match status.code() {
        Some(0..=3) => None,
        Some(101) => Some("it panicked".into()),
        Some(code) => Some(format!("exit code {code}")),
        None => Some(format!("{status}")),
    }
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "the loop has a limit of time, and so has each input")]
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_times_seeds_and_formats() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let request = parse(&words("--seconds 5 --seed 7 replay table")).expect("known");
        assert_eq!((request.seconds, request.seed), (5, 7));
        assert_eq!(request.formats, [Format::Replay, Format::Table]);
        assert_eq!(parse(&[]).expect("known").formats, Format::ALL);
        for line in ["--seconds", "--seconds soon", "picture", "--program"] {
            assert!(check(&words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn slow_formats_get_as_much_time_as_fast_ones() {
        let turn = |format, inputs: usize| {
            let corpus = vec![b"1".to_vec(); inputs];
            Turn { format, corpus, dice: Dice(1), round: 0, refused: 0, spent: Duration::ZERO }
        };
        let mut turns = [turn(Format::Replay, 1), turn(Format::Flow, 2)];
        for _ in 0..110 {
            let turn = next(&mut turns, false).expect("time is left");
            turn.input();
            turn.spent += Duration::from_millis(if turn.format == Format::Flow { 10 } else { 1 });
        }
        assert!(turns[0].round.abs_diff(100) <= 10 && turns[1].round.abs_diff(10) <= 1);
        assert!(next(&mut turns, true).is_none());
        let mut late = [turn(Format::Replay, 1), turn(Format::Flow, 2)];
        let all = std::iter::from_fn(|| next(&mut late, true).map(Turn::input)).count();
        assert_eq!(all, 3);
    }

    #[test]
    #[cfg(unix)]
    fn panics_signals_and_strange_codes_are_faults() {
        let ended = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            judged(command).expect("it starts").0
        };
        assert_eq!(ended("exit 0"), None);
        assert_eq!(ended("exit 2"), None);
        for script in ["exit 101", "exit 134", "kill -ABRT $$"] {
            assert!(ended(script).is_some(), "{script}");
        }
    }
}
