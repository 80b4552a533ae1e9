//! Resuming jobs of every kind, stopped at every checkpoint or by signals: rows equal those of an uninterrupted run.

mod jobs;
#[cfg(unix)]
mod signals;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcsa_bench_suite::jobs::{Due, Ending, Place, Running};
use mcsa_bench_suite::store::{Outcome, Store};
use mcsa_bench_suite::task::{Job, Task};
use mcsa_data::Catalogue;

use self::jobs::{entry, jobs, planned};

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kinds").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// A result without its seconds, the only part that may differ.
fn result(folder: &Path, job: &Job) -> Outcome {
    let mut outcome = Store::new(folder).fresh(job).unwrap().expect("a result");
    (outcome.ended.seconds, outcome.ended.measuring, outcome.ended.judging) = (0.0, 0.0, 0.0);
    for row in &mut outcome.rows {
        let _ = row.values.remove("seconds");
    }
    outcome
}

/// Bitwise equality, under which NaN equals NaN.
fn same(a: &Outcome, b: &Outcome) -> bool {
    let rows = |outcome: &Outcome| serde_json::to_string(&outcome.rows).unwrap();
    let ended = |outcome: &Outcome| serde_json::to_string(&outcome.ended).unwrap();
    rows(a) == rows(b) && ended(a) == ended(b) && !a.rows.is_empty()
}

/// The result of an uninterrupted run; each test has its own folder.
fn whole(job: &Job, test: &str) -> Outcome {
    let folder = folder(&format!("{test}-{}", job.id()));
    let (store, catalogue) = (Store::new(&folder), Catalogue::new(None));
    assert_eq!(job.run(&Running::new(&store, &catalogue)).unwrap(), Ending::Stored);
    result(&folder, job)
}

/// Runs a job and stops it at its first checkpoint, again and again. Returns the number of runs and the work that they report.
fn in_parts(job: &Job, store: &Store, steps: u64) -> (u64, u64) {
    let (catalogue, done, mut runs) = (Catalogue::new(None), AtomicU64::new(0), 0);
    loop {
        // The first call reports the work of earlier runs; the second, at the first checkpoint, stops the run.
        let calls = AtomicU64::new(0);
        let progress = |work| {
            let call = calls.fetch_add(1, Relaxed);
            done.fetch_add(if call == 0 { 0 } else { work }, Relaxed);
            call == 0
        };
        let checkpoint = Due::Steps(steps);
        let running = Running { checkpoint, progress: &progress, ..Running::new(store, &catalogue) };
        runs += 1;
        assert!(runs <= 6, "{}: it begins again and again", job.task.title());
        if job.run(&running).unwrap() == Ending::Stored {
            return (runs, done.into_inner());
        }
        assert!(!store.holds(job));
    }
}

/// The result of an interrupted job is that of an uninterrupted one; another seed has another.
fn is_unchanged(job: &Job, parts: &Path) -> bool {
    let other = Job { seed: job.seed.child(0), ..job.clone() };
    let (expected, other) = (whole(job, "whole"), whole(&other, "whole"));
    same(&expected, &result(parts, job)) && !same(&expected, &other)
}

#[test]
fn every_kind_goes_on_from_its_checkpoints() {
    for (kind, jobs) in jobs() {
        for job in jobs {
            let parts = folder("parts");
            let (runs, work) = in_parts(&job, &Store::new(&parts), 7);
            let name = job.task.title();
            assert_eq!(runs, 6, "{kind}, {name}: 36 to 40 steps, seven a run");
            assert_eq!(work, job.task.work(), "{kind}, {name}: no work twice");
            assert!(is_unchanged(&job, &parts), "{kind}, {name}");
        }
    }
}

/// A judgement and a rung are rows of whole fits, of which an interruption costs one at most.
#[test]
fn judgements_and_rungs_go_on_after_each_row() {
    let first = |id: &str| planned(&entry(id).experiment().unwrap()).remove(0);
    for mut job in [first("ours/fit-verdict"), first("ours/fit-ladder")] {
        match &mut job.task {
            Task::Judgement(judgement) => (judgement.runs, judgement.evaluations) = (4, 400),
            Task::Rung(rung) => (rung.runs, rung.evaluations) = (4, 400),
            other => panic!("{}", other.title()),
        }
        let parts = folder("rows-of-fits");
        assert_eq!(in_parts(&job, &Store::new(&parts), 1).0, 4, "{}", job.task.title());
        assert!(is_unchanged(&job, &parts), "{}", job.task.title());
    }
}

/// The health of a fit is estimated in pieces: stopped within them again and again, a fit has the result of an uninterrupted one, and no
/// draw is evaluated twice.
#[test]
fn a_health_goes_on_from_its_checkpoints() {
    let catalogue = Catalogue::new(None);
    let jobs = jobs();
    let (_, jobs) = jobs.iter().find(|(kind, _)| *kind == "fits").unwrap();
    for job in jobs {
        let (parts, expected) = (folder("health"), whole(job, "health"));
        let (store, mut done) = (Store::new(&parts), vec![0]);
        loop {
            // Stretches of 1, 2, 4, .. steps or draws, if they are fast.
            let calls = AtomicU64::new(0);
            let progress = |_| calls.fetch_add(1, Relaxed) < 7;
            let checkpoint = Due::Seconds(1e9);
            let running = Running { checkpoint, progress: &progress, ..Running::new(&store, &catalogue) };
            if job.run(&running).unwrap() == Ending::Stored {
                break;
            }
            let state: serde_json::Value = store.checkpoint(job).unwrap().unwrap();
            done.push(state["log"]["judged"].as_str().unwrap().len() / 16);
        }
        let name = job.task.title();
        assert!(done.is_sorted() && done.iter().filter(|&&draws| draws > 0).count() > 4, "{name}: {done:?}");
        assert!(expected.ended.health.as_ref().is_some_and(|health| health.draws == 1_000), "{name}");
        assert!(same(&expected, &result(&parts, job)), "{name}");
    }
}

/// A run that is asked to stop between two checkpoints writes one and stops, instead of waiting until one is due.
#[test]
fn a_wish_to_stop_is_obeyed_at_once() {
    let catalogue = Catalogue::new(None);
    for (kind, jobs) in jobs() {
        let (job, parts) = (&jobs[0], folder("obeyed"));
        let store = Store::new(&parts);
        let calls = AtomicU64::new(0);
        let progress = |_| calls.fetch_add(1, Relaxed) == 0;
        let checkpoint = Due::Seconds(1e9);
        let running = Running { checkpoint, progress: &progress, ..Running::new(&store, &catalogue) };
        assert_eq!(job.run(&running).unwrap(), Ending::Interrupted, "{kind}");
        assert!(store.checkpoint::<serde_json::Value>(job).unwrap().is_some(), "{kind}");
        assert_eq!(job.run(&Running::new(&store, &catalogue)).unwrap(), Ending::Stored);
        assert!(same(&result(&parts, job), &whole(job, "obeyed")), "{kind}");
    }
}

/// If checkpoints are due by time, one is saved at the end of the first stretch after it is due, in every phase of a job.
#[test]
fn a_checkpoint_is_kept_when_its_time_has_come() {
    let catalogue = Catalogue::new(None);
    for (kind, jobs) in jobs() {
        let store = Store::new(folder("due"));
        for (seconds, is_due) in [(0.0, true), (1e9, false)] {
            let looks = AtomicU64::new(0);
            let progress = |_| {
                // The first call comes before the first step, the second at the end of the stretch after which the first
                // checkpoint is saved.
                let is_kept = store.checkpoint::<serde_json::Value>(&jobs[0]).unwrap().is_some();
                assert_eq!(is_kept, is_due && looks.fetch_add(1, Relaxed) >= 2, "{kind}");
                true
            };
            let checkpoint = Due::Seconds(seconds);
            let running = Running { checkpoint, progress: &progress, ..Running::new(&store, &catalogue) };
            assert_eq!(jobs[0].run(&running).unwrap(), Ending::Stored);
            assert!(!is_due || looks.load(Relaxed) > 4, "{kind}: {looks:?} looks");
        }
    }
}

/// Measuring a row may take long: a stretch ends after each.
#[test]
fn a_row_is_followed_by_a_look() {
    let catalogue = Catalogue::new(None);
    for (kind, jobs) in jobs() {
        let work_of_step = match &jobs[0].task {
            _ if ["paths", "bounds"].contains(&kind) => continue,
            Task::Fit(fit) if fit.schedule.is_some() || kind == "gaps" => 4 * fit.method.effort(),
            Task::Fit(fit) => fit.method.effort(),
            _ => continue,
        };
        let (store, told) = (Store::new(folder("rows")), Mutex::new(vec![0]));
        let progress = |work| {
            let mut told = told.lock().unwrap();
            let so_far = told[told.len() - 1] + work;
            told.push(so_far);
            true
        };
        let running = Running { progress: &progress, ..Running::new(&store, &catalogue) };
        assert_eq!(jobs[0].run(&running).unwrap(), Ending::Stored);
        let (told, all) = (told.into_inner().unwrap(), jobs[0].task.work());
        let outcome = store.fresh(&jobs[0]).unwrap().expect("a result");
        assert!(outcome.rows.len() >= 6, "{kind}");
        for row in &outcome.rows {
            let left = (jobs[0].task.length() - row.step) * work_of_step;
            assert!(told.contains(&(all - left)), "{kind}: no look at step {}: {told:?}", row.step);
        }
    }
}

/// A checkpoint in its own file; a checkpoint of another job, of other code, or cut in half is refused with its name and
/// advice.
#[test]
fn a_checkpoint_in_a_file_belongs_to_its_job() {
    let catalogue = Catalogue::new(None);
    let (jobs, place) = (jobs().remove(0).1, folder("file"));
    let (store, file) = (Store::new(&place), place.join("a.checkpoint"));
    let calls = AtomicU64::new(0);
    let progress = |_| calls.fetch_add(1, Relaxed) == 0;
    let (checkpoint, at) = (Due::Steps(7), Place::File(&file));
    let running = Running { checkpoint, place: at, progress: &progress, ..Running::new(&store, &catalogue) };
    assert_eq!(jobs[0].run(&running).unwrap(), Ending::Interrupted);
    let text = fs::read_to_string(&file).unwrap();
    let on = Running { place: at, ..Running::new(&store, &catalogue) };
    let refused = |job: &Job, text: &str, said: &str| {
        fs::write(&file, text).unwrap();
        let error = job.run(&on).unwrap_err().to_string();
        assert!(error.contains("a.checkpoint") && error.contains(said), "{error}");
    };
    refused(&jobs[1], &text, "of another fit: task.fit.method");
    refused(&jobs[0], &text[..text.len() / 2], "delete it to start anew");
    refused(&jobs[0], &text.replacen("\"code\":\"", "\"code\":\"0", 1), "its checksum differs");
    refused(&jobs[0], "", "not a file of format `mcsa job 1`");
    fs::remove_file(&file).unwrap();
    let (other, calls) = (Store::of_code(&place, "other"), AtomicU64::new(0));
    let progress = |_| calls.fetch_add(1, Relaxed) == 0;
    let by_other = Running { checkpoint, place: at, progress: &progress, ..Running::new(&other, &catalogue) };
    assert_eq!(jobs[0].run(&by_other).unwrap(), Ending::Interrupted);
    refused(&jobs[0], &fs::read_to_string(&file).unwrap(), "another version");
    fs::write(&file, &text).unwrap();
    assert_eq!(jobs[0].run(&on).unwrap(), Ending::Stored);
    assert!(same(&result(&place, &jobs[0]), &whole(&jobs[0], "file")));
}
