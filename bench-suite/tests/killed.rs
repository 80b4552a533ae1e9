//! Robustness to killed processes, numbers of threads, and broken files: rows are unchanged, or the file is named.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use mcsa_bench_suite::experiment::PresetName;
use mcsa_bench_suite::kinds::{Due, Running};
use mcsa_bench_suite::plan::plan;
use mcsa_bench_suite::registry::REGISTRY;
use mcsa_bench_suite::store::{Outcome, Store};
use mcsa_bench_suite::task::{Job, Task};
use mcsa_core::{Error, Seed};
use mcsa_data::Catalogue;
use rayon::prelude::*;

/// Variable with the folder for the results of a child process.
const FOLDER: &str = "MCSA_KILLED_FOLDER";
const CHECKPOINT_EVERY: u64 = 3;

/// One job of each method, with `steps` steps.
fn jobs(steps: u64) -> Vec<Job> {
    let experiment = REGISTRY[0].experiment().unwrap();
    let mut jobs = plan(&experiment, PresetName::Quick, &Catalogue::new(None)).unwrap().jobs;
    jobs.retain(|job| job.replicate == 0);
    jobs.truncate(4);
    for job in &mut jobs {
        if let Task::Fit(fit) = &mut job.task {
            fit.steps = steps;
        }
    }
    jobs
}

/// Long enough that no process ends before it is killed.
const LONG: u64 = 3_000;

fn long_job() -> Job {
    jobs(LONG).remove(1)
}

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// A result without its seconds, the only part that may differ.
fn result(folder: &Path, job: &Job) -> Outcome {
    let mut outcome = Store::new(folder).fresh(job).unwrap().expect("a result");
    (outcome.ended.seconds, outcome.ended.measuring, outcome.ended.judging) = (0.0, 0.0, 0.0);
    for row in &mut outcome.rows {
        assert!(row.values.remove("seconds").is_some());
    }
    outcome
}

fn run_with(
    job: &Job,
    folder: &Path,
    every: u64,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), Error> {
    let (store, catalogue) = (Store::new(folder), Catalogue::new(None));
    let checkpoint = Due::Steps(every);
    job.run(&Running { checkpoint, progress, ..Running::new(&store, &catalogue) }).map(drop)
}

fn run(job: &Job, folder: &Path, every: u64) -> Result<(), Error> {
    run_with(job, folder, every, &|_| true)
}

/// Code of a child process, not a test. It prints a line at each checkpoint.
#[test]
#[ignore = "run by `twenty_kills_change_no_row`, in processes of its own"]
fn child() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the parent says where"));
    let progress = |_| writeln!(std::io::stdout(), "checkpoint").is_ok();
    run_with(&long_job(), &folder, CHECKPOINT_EVERY, &progress).unwrap();
}

fn spawn(folder: &Path) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(FOLDER, folder).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// A process is killed at twenty random times, between any two instructions, and resumed by the next.
#[test]
#[expect(clippy::disallowed_methods, reason = "a kill must fall anywhere, also inside a write")]
fn twenty_kills_change_no_row() {
    let (job, whole, parts) = (long_job(), folder("alive"), folder("killed"));
    run(&job, &whole, 1_000).unwrap();
    let mut chance = Seed::new(1).stream(0, 0);
    let checkpoint = Store::new(&parts).checkpoint_path(&job);
    for kill in 0..20 {
        let mut child = spawn(&parts);
        // The first line precedes all steps, the second the first checkpoint, which is there before the third.
        let checkpoints = 3 + chance.index(7).unwrap();
        // The reader lives until the kill, because a child whose pipe breaks would end.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|l| l.contains("checkpoint"));
        let seen = lines.by_ref().filter(said).take(checkpoints);
        assert_eq!(seen.count(), checkpoints, "the child lives until kill {kill}");
        std::thread::sleep(Duration::from_micros(chance.index(4_000).unwrap() as u64));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "killed, not finished");
        assert!(checkpoint.is_file(), "kill {kill}");
    }
    assert!(!Store::new(&parts).holds(&job));
    let mut child = spawn(&parts);
    // Read to the end, so that the child does not wait for its reader.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().count() as u64;
    assert!(child.wait().unwrap().success());
    assert!(lines < LONG / CHECKPOINT_EVERY, "it went on, and did not begin again");
    assert_eq!(result(&whole, &job), result(&parts, &job));
    let left: Vec<_> = fs::read_dir(checkpoint.parent().unwrap()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the result alone is left: {left:?}");
}

#[test]
fn threads_change_no_row() {
    let jobs = jobs(120);
    let all = |threads: usize, every: u64| -> Vec<Outcome> {
        let folder = folder(&format!("threads-{threads}"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| jobs.par_iter().try_for_each(|job| run(job, &folder, every))).unwrap();
        jobs.iter().map(|job| result(&folder, job)).collect()
    };
    let one = all(1, 1_000);
    assert_eq!(one, all(2, 64));
    assert_eq!(one, all(7, 17));
    // Counterexample: another seed gives other rows in every job.
    let folder = folder("threads-other");
    for (job, outcome) in jobs.iter().zip(&one) {
        let other = Job { seed: job.seed.child(0), ..job.clone() };
        run(&other, &folder, 1_000).unwrap();
        assert_ne!(outcome.rows, result(&folder, &other).rows);
    }
}

/// A checkpoint that is cut anywhere, empty, or inconsistent is set aside, and its job begins anew: its rows are as without
/// the checkpoint.
#[test]
fn broken_checkpoints_are_set_aside() {
    let (jobs, folder) = (jobs(120), folder("broken"));
    let job = &jobs[1];
    let store = Store::new(&folder);
    let interrupted = |job: &Job| {
        let once = std::sync::atomic::AtomicBool::new(true);
        let stop = |_| once.swap(false, std::sync::atomic::Ordering::Relaxed);
        run_with(job, &folder, 30, &stop).unwrap();
        let path = store.checkpoint_path(job);
        fs::read(&path).map(|bytes| (path, bytes)).unwrap()
    };
    let (path, whole) = interrupted(job);
    let begun = self::folder("begun");
    run(job, &begun, 1_000).unwrap();
    let expected = result(&begun, job);
    let aside = path.with_extension("checkpoint.bad");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        run(job, &folder, 1_000).unwrap();
        assert_eq!(result(&folder, job), expected);
        assert_eq!(fs::read(&aside).unwrap(), bytes, "it is kept");
        fs::remove_file(&aside).unwrap();
        store.remove(job);
    };
    let mut chance = Seed::new(2).stream(0, 0);
    for _ in 0..12 {
        refused(&whole[..chance.index(whole.len()).unwrap()]);
    }
    refused(b"");
    refused(b"\xff\xfe not text");
    // A checkpoint of a fit with another kernel, and one without a watch.
    let method = |job: &Job| match &job.task {
        Task::Fit(fit) => fit.method.clone(),
        other => panic!("{}", other.title()),
    };
    let other = jobs.iter().find(|other| method(other) != method(job)).unwrap();
    refused(&interrupted(other).1);
    let text = String::from_utf8(whole.clone()).unwrap();
    refused(text.replacen("\"watch\"", "\"wach\"", 1).as_bytes());
    // Counterexample: the complete file is accepted.
    fs::write(&path, &whole).unwrap();
    run(job, &folder, 1_000).unwrap();
    assert!(store.holds(job) && !aside.exists());
}
