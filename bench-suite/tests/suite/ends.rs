//! End of the program after signals, closed pipes and lost results.
#![cfg(unix)]

use std::fs;
use std::io::PipeWriter;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use mcsa_bench_suite::interrupt::Interrupt;
use mcsa_bench_suite::provenance::Journal;
use mcsa_bench_suite::runner::Runner;
use mcsa_bench_suite::store::Store;
use mcsa_data::Catalogue;

use crate::kinds::{COST, cost_jobs};
use crate::process::{made_folder as folder, program, wait_until, words};

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

/// Returns true if the program catches TERM: before that, a signal would end it without a message.
fn is_listening(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << 14) != 0
}

/// What the program says after a signal that ends it.
#[cfg(target_os = "linux")]
fn ended_by(signal: &str, arguments: &[&str]) -> Output {
    let child = program(arguments).spawn().expect("it starts");
    wait_until("the program", || is_listening(&child));
    send(signal, &child);
    child.wait_with_output().expect("it ends")
}

/// A pipe that nobody reads.
fn closed() -> PipeWriter {
    std::io::pipe().expect("a pipe").1
}

/// An endless fit is asked to end: with a file for its checkpoint it can be resumed by the command that it prints.
#[test]
#[cfg(target_os = "linux")]
fn a_fit_that_is_interrupted_says_how_to_go_on() {
    let folder = folder("ends a fit");
    let file = folder.join("its checkpoint").display().to_string();
    let endless =
        ["fit", "--model", "standard-gaussian", "--set", "steps=1000000000000", "--checkpoint", &file];
    let mut steps = Vec::new();
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let Output { status, stdout, stderr } = ended_by(signal, &endless);
        let said = words(&stderr);
        assert_eq!((status.code(), stdout.len()), (Some(code), 0), "{said}");
        let last = said.lines().last().expect("a line");
        let step = last.split("interrupted at step ").nth(1).and_then(|rest| rest.split(' ').next());
        steps.push(step.and_then(|step| step.parse::<u64>().ok()).expect("a step"));
        let command = last.split("to go on: ").nth(1).expect("a command");
        assert!(command.ends_with(&format!("--checkpoint '{file}'")), "{command}");
        assert!(fs::metadata(&file).expect("a checkpoint").len() > 0);
    }
    assert!(steps[1] > steps[0] && steps[0] > 0, "it went on: {steps:?}");
    // Without a file the fit is lost, and the program says so.
    let Output { status, stderr, .. } = ended_by("-TERM", &endless[..5]);
    assert!(status.code() == Some(143) && words(&stderr).contains("--checkpoint FILE"), "{}", words(&stderr));
}

/// A fit that ends leaves no checkpoint, and a checkpoint is refused for other arguments, with the difference named.
#[test]
fn a_checkpoint_is_used_up_by_its_fit_alone() {
    let folder = folder("ends-used-up");
    let (file, out) = (folder.join("c").display().to_string(), folder.join("fit.json").display().to_string());
    let fit = ["fit", "--model", "banana", "--set", "steps=20", "--checkpoint", &file, "--out", &out];
    fs::write(&file, "{}").expect("it is written");
    let Output { status, stderr, .. } = program(&fit).output().expect("it starts");
    assert!(status.code() == Some(2) && words(&stderr).contains(&file), "{}", words(&stderr));
    fs::remove_file(&file).expect("it is there");
    assert!(program(&fit).status().expect("it starts").success());
    assert!(Path::new(&out).is_file() && !Path::new(&file).exists());
}

/// Interrupted `figures` keeps completed results, draws nothing, and prints the command without `--force`.
#[test]
fn figures_that_are_interrupted_draw_nothing() {
    let folder = folder("ends-figures");
    let out = folder.display().to_string();
    let figures = ["figures", "cw/fig7-conditional-variance", "--preset", "quick", "--force", "--out", &out];
    let child = program(&figures).spawn().expect("it starts");
    let results = || {
        let files = fs::read_dir(folder.join("results/cw/fig7-conditional-variance"));
        let files = files.into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_some_and(|ending| ending == "jsonl")).count()
    };
    wait_until("the program", || results() > 0);
    send("-INT", &child);
    let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
    let said = words(&stderr);
    assert_eq!(status.code(), Some(130), "{said}");
    let last = said.lines().last().expect("a line");
    assert!(last.contains("interrupted; to go on: ") && last.contains(" --preset quick --out "), "{said}");
    assert!(!last.contains("--force"), "{last}");
    assert!(!folder.join("report/index.html").exists(), "nothing is drawn");
    assert!((1..576).contains(&results()), "what ran is kept");
}

/// A closed pipe is not a failure.
#[test]
fn a_reader_who_has_gone_is_no_failure() {
    for arguments in [
        &["fit", "--list-models"][..],
        &["fit", "--model", "standard-gaussian", "--set", "steps=1"],
        &["figures", "--list"],
        &["data", "list"],
        &["theory", "--claim", "000-T1", "--json"],
    ] {
        let Output { status, stderr, .. } = program(arguments).stdout(closed()).output().expect("it starts");
        assert_eq!((status.code(), words(&stderr).as_str()), (Some(0), ""), "{arguments:?}");
    }
    // Errors keep their exit codes if the error stream is closed.
    let status = program(&["fit", "--model", "no-such-model"]).stderr(closed()).status().expect("it starts");
    assert_eq!(status.code(), Some(2));
}

/// No further job begins if results cannot be written.
#[test]
fn a_run_ends_when_its_results_are_lost() {
    let jobs = cost_jobs();
    let out = folder("ends-lost");
    let place = out.join(COST);
    fs::create_dir_all(place.parent().expect("a folder of its paper")).expect("a folder");
    fs::write(place, "a file in place of a folder").expect("a file");
    let (store, catalogue) = (Store::new(&out), Catalogue::new(None));
    let (journal, interrupt) = (Journal::default(), Interrupt::default());
    let jobs: Vec<_> = jobs.iter().take(3).collect();
    let runner =
        Runner { store: &store, catalogue: &catalogue, threads: 1, journal: &journal, interrupt: &interrupt };
    let ran = runner.run(&jobs).expect("threads");
    assert_eq!((ran.jobs, ran.errors.len()), (1, 1), "{:?}", ran.errors);
}

/// Code of a child process, not a test: ignores requests to stop.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn deaf() {
    let _interrupt = Interrupt::listen().expect("signals");
    loop {
        std::thread::park();
    }
}

/// Two signals at once count as one, as `timeout` sends them; a later one ends the program at once.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a person presses a key twice, and not in the same moment")]
fn a_second_signal_ends_at_once() {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.args(["--exact", "ends::deaf", "--ignored"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    wait_until("the program", || is_listening(&child));
    send("-TERM", &child);
    send("-TERM", &child);
    std::thread::sleep(Interrupt::GRACE / 2);
    assert_eq!(child.try_wait().expect("a child"), None, "it was asked, not ended");
    std::thread::sleep(2 * Interrupt::GRACE);
    assert_eq!(child.try_wait().expect("a child"), None, "it still is");
    send("-INT", &child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
