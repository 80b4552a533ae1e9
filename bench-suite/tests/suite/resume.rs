//! Resuming of jobs from disk, and results of other code.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcsa_bench_suite::experiment::PresetName;
use mcsa_bench_suite::jobs::{Due, Running};
use mcsa_bench_suite::plan::plan;
use mcsa_bench_suite::registry::REGISTRY;
use mcsa_bench_suite::store::{Outcome, Store};
use mcsa_bench_suite::task::{Job, Task};
use mcsa_core::Error;
use mcsa_data::Catalogue;

use crate::process::folder;

fn job() -> Job {
    let experiment = REGISTRY[0].experiment().unwrap();
    let mut job = plan(&experiment, PresetName::Quick, &Catalogue::new(None)).unwrap().jobs.remove(0);
    if let Task::Fit(fit) = &mut job.task {
        fit.steps = STEPS;
    }
    job
}

const STEPS: u64 = 200;

fn fresh(store: &Store, job: &Job) -> Outcome {
    store.fresh(job).unwrap().expect("a result")
}

/// A result without its seconds, the only part that may differ.
fn timeless(mut outcome: Outcome) -> Outcome {
    (outcome.ended.seconds, outcome.ended.measuring, outcome.ended.judging) = (0.0, 0.0, 0.0);
    for row in &mut outcome.rows {
        assert!(row.values.remove("seconds").is_some());
    }
    outcome
}

fn run(
    job: &Job,
    store: &Store,
    checkpoint_every: u64,
    go_on: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), Error> {
    let catalogue = Catalogue::new(None);
    let checkpoint = Due::Steps(checkpoint_every);
    job.run(&Running { checkpoint, progress: go_on, ..Running::new(store, &catalogue) }).map(drop)
}

/// A checkpoint of another job under this job's name is set aside, and the job begins anew.
#[test]
fn a_checkpoint_of_another_fit_is_set_aside() {
    let job = job();
    let (folder, whole) = (folder("foreign"), folder("not-foreign"));
    let store = Store::new(&folder);
    let first = AtomicU64::new(1);
    run(&job, &store, 37, &|_| first.swap(0, Relaxed) == 1).unwrap();
    let mut other = job.clone();
    other.replicate = 1;
    other.seed = job.seed.child(1);
    fs::rename(store.checkpoint_path(&job), store.checkpoint_path(&other)).unwrap();
    run(&other, &store, 37, &|_| true).unwrap();
    run(&other, &Store::new(&whole), 1_000, &|_| true).unwrap();
    let [here, there] = [&folder, &whole].map(|folder| timeless(fresh(&Store::new(folder), &other)));
    assert_eq!(here, there);
    assert!(store.checkpoint_path(&other).with_extension("checkpoint.bad").is_file());
}

/// A checkpoint that is cut anywhere, empty, or inconsistent is set aside, and its job begins anew.
#[test]
fn broken_checkpoints_are_set_aside() {
    let (job, folder, begun) = (job(), folder("broken"), folder("begun"));
    let store = Store::new(&folder);
    let first = AtomicU64::new(1);
    run(&job, &store, 37, &|_| first.swap(0, Relaxed) == 1).unwrap();
    run(&job, &Store::new(&begun), 1_000, &|_| true).unwrap();
    let path = store.checkpoint_path(&job);
    let (whole, aside) = (fs::read(&path).unwrap(), path.with_extension("checkpoint.bad"));
    let text = String::from_utf8(whole.clone()).unwrap();
    let cuts = [0, 1, 40, whole.len() / 2, whole.len() - 1].map(|length| whole[..length].to_vec());
    let others = [b"\xff\xfe not text".to_vec(), text.replacen("\"watch\"", "\"wach\"", 1).into_bytes()];
    for bytes in cuts.into_iter().chain(others) {
        fs::write(&path, &bytes).unwrap();
        run(&job, &store, 1_000, &|_| true).unwrap();
        assert_eq!(timeless(fresh(&store, &job)), timeless(fresh(&Store::new(&begun), &job)));
        assert_eq!(fs::read(&aside).unwrap(), bytes, "it is kept");
        fs::remove_file(&aside).unwrap();
        store.remove(&job);
    }
    // Counterexample: the complete file is accepted.
    fs::write(&path, &whole).unwrap();
    run(&job, &store, 1_000, &|_| true).unwrap();
    assert!(store.holds(&job) && !aside.exists());
}

/// A result of other code is recognised, does not count as present, and its checkpoints are not resumed.
#[test]
fn other_code_is_stale() {
    let job = job();
    let folder = folder("stale");
    let (ours, theirs) = (Store::new(&folder), Store::of_code(&folder, "0123456789abcdef"));
    assert_eq!(ours.fresh(&job).unwrap(), None);
    let first = AtomicU64::new(1);
    run(&job, &theirs, 37, &|_| first.swap(0, Relaxed) == 1).unwrap();
    assert!(ours.checkpoint::<serde_json::Value>(&job).unwrap().is_none());
    assert!(theirs.checkpoint::<serde_json::Value>(&job).unwrap().is_some());
    run(&job, &theirs, 1_000, &|_| true).unwrap();
    assert!(theirs.holds(&job) && !ours.holds(&job));
    assert_eq!(ours.others(&job.experiment).of(&job).collect::<Vec<_>>(), ["0123456789abcdef"]);
    assert!(ours.by_code("0123456789abcdef", &job).unwrap().is_some());
    run(&job, &ours, 1_000, &|_| true).unwrap();
    assert!(ours.holds(&job));
}

/// A fit that cannot continue is a result: it is stored with its reason, and does not stop others.
#[test]
fn a_fit_that_diverges_is_kept() {
    let mut job = job();
    if let Task::Fit(fit) = &mut job.task {
        fit.optimizer = toml::from_str("kind = 'sgd'\nrate = 1e300").unwrap();
    }
    let folder = folder("diverged");
    let store = Store::new(&folder);
    run(&job, &store, 1_000, &|_| true).unwrap();
    let outcome = fresh(&store, &job);
    assert!(outcome.ended.failure.as_ref().unwrap().starts_with("diverged at step 1"), "{outcome:?}");
    assert_eq!(outcome.rows[0].step, 0);
}

/// The frequency of measurements changes neither the end nor the cost of a fit.
#[test]
fn measuring_more_often_changes_nothing() {
    let last = |points| {
        let mut job = job();
        if let Task::Fit(fit) = &mut job.task {
            fit.trace.points = points;
        }
        let store = Store::new(folder(&format!("points-{points}")));
        run(&job, &store, 1_000, &|_| true).unwrap();
        let outcome = timeless(fresh(&store, &job));
        (outcome.rows.last().unwrap().clone(), outcome.ended)
    };
    assert_eq!(last(2), last(60));
}
