//! Jobs on disk: interrupted, resumed, malformed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcsa::Error;
use mcsa_bench_suite::catalog::{self, Running};
use mcsa_bench_suite::experiment::Experiment;
use mcsa_bench_suite::plan::{self, Job};
use mcsa_bench_suite::store::Store;

fn job() -> Job {
    let experiment = &Experiment::built_in().unwrap()[0];
    plan::jobs(experiment, "smoke").unwrap().remove(0)
}

/// A folder of its own for each test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn run(
    job: &Job,
    store: &Store,
    checkpoint_every: u64,
    go_on: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), Error> {
    catalog::run(job, &Running { store, checkpoint_every, progress: go_on })
}

fn files(folder: &Path, job: &Job) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder.join(&job.experiment))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn an_interrupted_job_ends_with_the_same_bytes() {
    let job = job();
    let (whole, parts) = (folder("whole"), folder("parts"));
    run(&job, &Store::new(&whole), 1_000, &|_| true).unwrap();
    let store = Store::new(&parts);
    let steps = AtomicU64::new(0);
    let mut runs = 0;
    while !store.holds(&job) {
        // Interrupted at every checkpoint; what a run is told first are the steps made before it.
        let first = AtomicU64::new(1);
        let go_on = |made| {
            let is_first = first.swap(0, Relaxed) == 1;
            steps.fetch_add(if is_first { 0 } else { made }, Relaxed);
            is_first
        };
        run(&job, &store, 37, &go_on).unwrap();
        runs += 1;
    }
    assert_eq!(runs, job.steps.div_ceil(37));
    assert_eq!(steps.load(Relaxed), job.steps);
    assert_eq!(files(&whole, &job), files(&parts, &job), "and no checkpoint is left");
    let rows = store.outcome(&job).unwrap().rows;
    assert_eq!(rows.len() as u64, 1 + job.steps / job.record_every);
}

#[test]
fn malformed_files_are_named_with_their_line() {
    let job = job();
    let folder = folder("malformed");
    let store = Store::new(&folder);
    run(&job, &store, 1_000, &|_| true).unwrap();
    let path = folder.join(&job.experiment).join(format!("{}.jsonl", job.id()));
    let text = fs::read_to_string(&path).unwrap();

    let broken: Vec<&str> =
        text.lines().enumerate().map(|(k, l)| if k == 3 { &l[..l.len() / 2] } else { l }).collect();
    fs::write(&path, broken.join("\n")).unwrap();
    let error = store.outcome(&job).unwrap_err().to_string();
    assert!(error.contains("line 4") && error.contains(&job.id()), "{error}");

    fs::write(&path, text.replacen("\"replicate\":0", "\"replicate\":9", 1)).unwrap();
    let error = store.outcome(&job).unwrap_err().to_string();
    assert!(error.contains("another job"), "{error}");

    fs::remove_file(&path).unwrap();
    fs::write(path.with_extension("checkpoint"), "{\"fit\":").unwrap();
    let error = run(&job, &store, 1_000, &|_| true).unwrap_err().to_string();
    assert!(error.contains("delete it to start the job again"), "{error}");
}

/// A checkpoint is refused by a job whose chains are another number, though a name collision would be needed to meet it.
#[test]
fn a_checkpoint_of_another_fit_is_refused() {
    let job = job();
    let folder = folder("foreign");
    let store = Store::new(&folder);
    let first = AtomicU64::new(1);
    run(&job, &store, 37, &|_| first.swap(0, Relaxed) == 1).unwrap();
    let mut other = job.clone();
    other.replicate = 1;
    other.seed = job.seed.child(1);
    let at = |job: &Job| folder.join(&job.experiment).join(format!("{}.checkpoint", job.id()));
    fs::rename(at(&job), at(&other)).unwrap();
    let error = run(&other, &store, 37, &|_| true).unwrap_err().to_string();
    assert!(error.contains("the fit was started with seed"), "{error}");
    assert!(error.contains(&format!("{}.checkpoint", other.id())), "{error}");
}
