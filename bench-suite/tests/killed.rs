//! Processes that are killed, threads that are many, files that are broken: the bytes are the same, or the file is named.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use mcsa::{Error, Seed};
use mcsa_bench_suite::catalog::{self, Running};
use mcsa_bench_suite::experiment::Experiment;
use mcsa_bench_suite::plan::{self, Job};
use mcsa_bench_suite::store::Store;
use rayon::prelude::*;

/// Where a child process keeps its results.
const FOLDER: &str = "MCSA_KILLED_FOLDER";
const CHECKPOINT_EVERY: u64 = 3;

fn jobs() -> Vec<Job> {
    plan::jobs(&Experiment::built_in().unwrap()[0], "smoke").unwrap()
}

/// Long enough that no process lives to its end by accident.
fn long_job() -> Job {
    Job { steps: 3_000, ..jobs().remove(1) }
}

/// A folder of its own for each test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn result(folder: &Path, job: &Job) -> Vec<u8> {
    fs::read(folder.join(&job.experiment).join(format!("{}.jsonl", job.id()))).unwrap()
}

fn run(job: &Job, folder: &Path, checkpoint_every: u64) -> Result<(), Error> {
    let store = Store::new(folder);
    catalog::run(job, &Running { store: &store, checkpoint_every, progress: &|_| true })
}

/// Not a test by itself: what a child process does. It says a line at each checkpoint.
#[test]
#[ignore = "run by `twenty_kills_change_no_byte`, in processes of its own"]
fn child() {
    let folder = std::env::var_os(FOLDER).expect("the parent says where");
    let store = Store::new(PathBuf::from(folder));
    let progress = |_| writeln!(std::io::stdout(), "checkpoint").is_ok();
    let running = Running { store: &store, checkpoint_every: CHECKPOINT_EVERY, progress: &progress };
    catalog::run(&long_job(), &running).unwrap();
}

fn spawn(folder: &Path) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(FOLDER, folder).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// A process is killed at twenty random points, between any two instructions, and resumed by the next.
#[test]
#[expect(clippy::disallowed_methods, reason = "a kill must fall anywhere, also inside a write")]
fn twenty_kills_change_no_byte() {
    let (job, whole, parts) = (long_job(), folder("alive"), folder("killed"));
    run(&job, &whole, 1_000).unwrap();
    let mut chance = Seed::new(1).stream(0, 0);
    let checkpoint = parts.join(&job.experiment).join(format!("{}.checkpoint", job.id()));
    for kill in 0..20 {
        let mut child = spawn(&parts);
        let checkpoints = 2 + chance.index(8).unwrap();
        // The reader lives until the kill: a child whose pipe breaks would end by itself.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|l| l.contains("checkpoint"));
        let seen = lines.by_ref().filter(said).take(checkpoints);
        assert_eq!(seen.count(), checkpoints, "the child lives until kill {kill}");
        std::thread::sleep(Duration::from_micros(chance.index(4_000).unwrap() as u64));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "killed, not finished");
        assert!(checkpoint.is_file());
    }
    assert!(!Store::new(&parts).holds(&job));
    let mut child = spawn(&parts);
    // Read to the end, so that the child does not wait for its reader.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().count() as u64;
    assert!(child.wait().unwrap().success());
    assert!(lines < job.steps / CHECKPOINT_EVERY, "it went on, and did not begin again");
    assert_eq!(result(&whole, &job), result(&parts, &job));
    assert!(!checkpoint.exists());
}

#[test]
fn threads_change_no_byte() {
    let jobs = jobs();
    let all = |threads: usize, every: u64| -> Vec<Vec<u8>> {
        let folder = folder(&format!("threads-{threads}"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| jobs.par_iter().try_for_each(|job| run(job, &folder, every))).unwrap();
        jobs.iter().map(|job| result(&folder, job)).collect()
    };
    let one = all(1, 1_000);
    assert_eq!(one, all(2, 64));
    assert_eq!(one, all(7, 17));
    // The twin: another seed gives other bytes in every job.
    let folder = folder("threads-other");
    for (job, bytes) in jobs.iter().zip(&one) {
        let other = Job { seed: job.seed.child(0), ..job.clone() };
        run(&other, &folder, 1_000).unwrap();
        let lines =
            |bytes: &[u8]| bytes.split(|b| *b == b'\n').skip(2).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_ne!(lines(bytes), lines(&result(&folder, &other)));
    }
}

/// A checkpoint cut anywhere, empty, or of other parts is refused with the name of the file; nothing else is written.
#[test]
fn broken_checkpoints_are_named() {
    let (job, folder) = (jobs().remove(1), folder("broken"));
    let store = Store::new(&folder);
    let once = std::sync::atomic::AtomicBool::new(true);
    let stop = |_| once.swap(false, std::sync::atomic::Ordering::Relaxed);
    catalog::run(&job, &Running { store: &store, checkpoint_every: 30, progress: &stop }).unwrap();
    let path = folder.join(&job.experiment).join(format!("{}.checkpoint", job.id()));
    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = run(&job, &folder, 1_000).unwrap_err().to_string();
        assert!(error.contains(&format!("{}.checkpoint", job.id())), "{error}");
        assert!(!store.holds(&job) && fs::read(&path).unwrap() == bytes);
    };
    let mut chance = Seed::new(2).stream(0, 0);
    for _ in 0..40 {
        refused(&whole[..chance.index(whole.len()).unwrap()]);
    }
    refused(b"");
    refused(b"\xff\xfe not text");
    // Of a fit with another number of chains, and of one without a watch.
    let other = Job { method: jobs().remove(0).method, ..job.clone() };
    let once = std::sync::atomic::AtomicBool::new(true);
    let stop = |_| once.swap(false, std::sync::atomic::Ordering::Relaxed);
    catalog::run(&other, &Running { store: &store, checkpoint_every: 30, progress: &stop }).unwrap();
    let foreign = fs::read(path.with_file_name(format!("{}.checkpoint", other.id()))).unwrap();
    refused(&foreign);
    let text = String::from_utf8(whole.clone()).unwrap();
    refused(text.replacen("\"watch\"", "\"wach\"", 1).as_bytes());
    // The twin: the whole file is taken.
    fs::write(&path, &whole).unwrap();
    run(&job, &folder, 1_000).unwrap();
    assert!(store.holds(&job));
}
