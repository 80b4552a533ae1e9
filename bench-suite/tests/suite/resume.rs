//! Resuming of jobs from disk, and results of other code.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcsa_bench_suite::experiment::PresetName;
use mcsa_bench_suite::kinds::{Due, Running};
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

fn files(folder: &Path, job: &Job) -> Vec<String> {
    let entries = fs::read_dir(folder.join(&job.experiment)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_interrupted_job_ends_with_the_same_rows_and_counts() {
    let job = job();
    let (whole, parts) = (folder("whole"), folder("parts"));
    run(&job, &Store::new(&whole), 1_000, &|_| true).unwrap();
    let store = Store::new(&parts);
    let steps = AtomicU64::new(0);
    let mut runs = 0;
    while !store.holds(&job) {
        // Interrupted at every checkpoint; the first call reports the steps of earlier runs.
        let first = AtomicU64::new(1);
        let go_on = |made| {
            let is_first = first.swap(0, Relaxed) == 1;
            steps.fetch_add(if is_first { 0 } else { made }, Relaxed);
            is_first
        };
        run(&job, &store, 37, &go_on).unwrap();
        runs += 1;
    }
    assert_eq!(runs, STEPS.div_ceil(37));
    assert_eq!(steps.load(Relaxed), job.task.work());
    assert_eq!(files(&whole, &job), files(&parts, &job), "and no checkpoint is left");
    let (whole, parts) = (fresh(&Store::new(&whole), &job), fresh(&store, &job));
    assert_eq!(timeless(whole.clone()), timeless(parts));
    // One chain: an evaluation for its start, and one for each step.
    assert_eq!(whole.ended.counts["p_evaluations"], 1 + STEPS);
    assert_eq!(whole.rows.last().unwrap().step, STEPS);
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
    assert_eq!(files(&folder, &other).iter().filter(|name| name.ends_with(".checkpoint.bad")).count(), 1);
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
