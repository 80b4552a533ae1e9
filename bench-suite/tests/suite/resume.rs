//! Resuming of jobs of every kind: rows equal those of an uninterrupted run. Checkpoints that do not belong to a job, and results of
//! other code.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcsa_bench_suite::jobs::{Due, Ending, Place, Running};
use mcsa_bench_suite::store::{Outcome, Store};
use mcsa_bench_suite::task::{Job, Task};
use mcsa_core::Error;
use mcsa_data::Catalogue;

use crate::kinds::{entry, jobs, planned};
use crate::process::folder;

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

/// Runs a job until it is stored or `progress` asks it to stop.
fn run(
    job: &Job,
    store: &Store,
    checkpoint: Due,
    place: Place<'_>,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Ending, Error> {
    let catalogue = Catalogue::new(None);
    job.run(&Running { checkpoint, place, progress, ..Running::new(store, &catalogue) })
}

/// Stops at call number `calls`: the first call comes before the first step, the second at the first checkpoint.
fn stopping(calls: u64) -> impl Fn(u64) -> bool + Sync {
    let left = AtomicU64::new(calls);
    move |_| left.fetch_sub(1, Relaxed) > 1
}

fn to_end(job: &Job, folder: &Path) -> Outcome {
    let stored = run(job, &Store::new(folder), Due::Seconds(1e9), Place::BesideResults, &|_| true).unwrap();
    assert_eq!(stored, Ending::Stored);
    result(folder, job)
}

/// The result of an uninterrupted run; each test has its own folder.
fn whole(job: &Job, test: &str) -> Outcome {
    to_end(job, &folder(&format!("resume-{test}-{}", job.id())))
}

/// Runs a job and stops it at its first checkpoint, again and again. Returns the number of runs and the work that they report.
fn in_parts(job: &Job, store: &Store, steps: u64) -> (u64, u64) {
    let (done, mut runs) = (AtomicU64::new(0), 0);
    loop {
        // The first call reports the work of earlier runs; the second stops the run.
        let calls = AtomicU64::new(0);
        let progress = |work| {
            let call = calls.fetch_add(1, Relaxed);
            done.fetch_add(if call == 0 { 0 } else { work }, Relaxed);
            call == 0
        };
        runs += 1;
        assert!(runs <= 6, "{}: it begins again and again", job.task.title());
        if run(job, store, Due::Steps(steps), Place::BesideResults, &progress).unwrap() == Ending::Stored {
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
            let parts = folder("resume-parts");
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
        let parts = folder("resume-rows-of-fits");
        assert_eq!(in_parts(&job, &Store::new(&parts), 1).0, 4, "{}", job.task.title());
        assert!(is_unchanged(&job, &parts), "{}", job.task.title());
    }
}

/// The health of a fit is estimated in pieces: stopped within them again and again, a fit has the result of an uninterrupted one, and no
/// draw is evaluated twice.
#[test]
fn a_health_goes_on_from_its_checkpoints() {
    let (_, fits) = jobs().into_iter().find(|(kind, _)| *kind == "fits").unwrap();
    for job in &fits {
        let (parts, expected) = (folder("resume-health"), whole(job, "health"));
        let (store, mut done) = (Store::new(&parts), vec![0]);
        // Stretches of 1, 2, 4, .. steps or draws, if they are fast.
        while run(job, &store, Due::Seconds(1e9), Place::BesideResults, &stopping(8)).unwrap()
            != Ending::Stored
        {
            let state: serde_json::Value = store.checkpoint(job).unwrap().unwrap();
            done.push(state["log"]["judged"].as_str().unwrap().len() / 16);
        }
        let name = job.task.title();
        assert!(done.is_sorted() && done.iter().filter(|&&draws| draws > 0).count() > 4, "{name}: {done:?}");
        assert!(expected.ended.health.as_ref().is_some_and(|health| health.draws == 1_000), "{name}");
        assert!(same(&expected, &result(&parts, job)), "{name}");
    }
}

/// A run that is asked to stop between two checkpoints writes one and stops. If checkpoints are due by time, one is saved at the end of
/// the first stretch after it is due, in every phase of a job.
#[test]
fn stops_and_due_checkpoints_do_not_wait() {
    for (kind, jobs) in jobs() {
        let (job, parts) = (&jobs[0], folder("resume-stopped"));
        let store = Store::new(&parts);
        let is_kept = || store.checkpoint::<serde_json::Value>(job).unwrap().is_some();
        let ended = run(job, &store, Due::Seconds(1e9), Place::BesideResults, &stopping(2)).unwrap();
        assert!(ended == Ending::Interrupted && is_kept(), "{kind}");
        assert!(same(&to_end(job, &parts), &whole(job, "stopped")), "{kind}");
        for (seconds, is_due) in [(0.0, true), (1e9, false)] {
            let looks = AtomicU64::new(0);
            // The second call comes at the end of the stretch after which the first checkpoint is saved.
            let progress = |_| {
                assert_eq!(is_kept(), is_due && looks.fetch_add(1, Relaxed) >= 2, "{kind}");
                true
            };
            store.remove(job);
            let ended = run(job, &store, Due::Seconds(seconds), Place::BesideResults, &progress).unwrap();
            assert!(
                ended == Ending::Stored && (!is_due || looks.load(Relaxed) > 4),
                "{kind}: {looks:?} looks"
            );
        }
    }
}

/// Measuring a row may take long: a stretch ends after each.
#[test]
fn a_row_is_followed_by_a_look() {
    for (kind, jobs) in jobs() {
        let work_of_step = match &jobs[0].task {
            _ if ["paths", "bounds"].contains(&kind) => continue,
            Task::Fit(fit) if fit.schedule.is_some() => 4 * fit.method.effort(),
            Task::Fit(fit) => fit.method.effort(),
            _ => continue,
        };
        let (store, told) = (Store::new(folder("resume-rows")), Mutex::new(vec![0]));
        let progress = |work| {
            let mut told = told.lock().unwrap();
            let so_far = told[told.len() - 1] + work;
            told.push(so_far);
            true
        };
        run(&jobs[0], &store, Due::Seconds(1e9), Place::BesideResults, &progress).unwrap();
        let (told, all) = (told.into_inner().unwrap(), jobs[0].task.work());
        let outcome = store.fresh(&jobs[0]).unwrap().expect("a result");
        assert!(outcome.rows.len() >= 6, "{kind}");
        for row in &outcome.rows {
            let left = (jobs[0].task.length() - row.step) * work_of_step;
            assert!(told.contains(&(all - left)), "{kind}: no look at step {}: {told:?}", row.step);
        }
    }
}

/// A fit of forty steps.
fn a_fit() -> Job {
    jobs().remove(0).1.remove(0)
}

/// A checkpoint in its own file; a checkpoint of another job, of other code, or cut in half is an error with its name and
/// advice.
#[test]
fn a_checkpoint_in_a_file_belongs_to_its_job() {
    let (job, place) = (a_fit(), folder("resume-file"));
    let (store, file) = (Store::new(&place), place.join("a.checkpoint"));
    run(&job, &store, Due::Steps(7), Place::File(&file), &stopping(2)).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let on = |job: &Job| run(job, &store, Due::Seconds(1e9), Place::File(&file), &|_| true);
    let refused = |job: &Job, text: &str, said: &str| {
        fs::write(&file, text).unwrap();
        let error = on(job).unwrap_err().to_string();
        assert!(error.contains("a.checkpoint") && error.contains(said), "{error}");
    };
    refused(&jobs().remove(0).1[1], &text, "of another fit: task.fit.method");
    refused(&job, &text[..text.len() / 2], "delete it to start anew");
    refused(&job, &text.replacen("\"code\":\"", "\"code\":\"0", 1), "its checksum differs");
    refused(&job, "", "not a file of format `mcsa job 1`");
    fs::remove_file(&file).unwrap();
    let other = Store::of_code(&place, "other");
    run(&job, &other, Due::Steps(7), Place::File(&file), &stopping(2)).unwrap();
    refused(&job, &fs::read_to_string(&file).unwrap(), "another version");
    fs::write(&file, &text).unwrap();
    assert_eq!(on(&job).unwrap(), Ending::Stored);
    assert!(same(&result(&place, &job), &whole(&job, "file")));
}

/// A checkpoint beside the results that is cut anywhere, empty, inconsistent or of another job is set aside, and the job begins anew.
#[test]
fn broken_checkpoints_are_set_aside() {
    let (job, place) = (a_fit(), folder("resume-broken"));
    let store = Store::new(&place);
    run(&job, &store, Due::Steps(7), Place::BesideResults, &stopping(2)).unwrap();
    let path = store.checkpoint_path(&job);
    let (whole_state, aside) = (fs::read(&path).unwrap(), path.with_extension("checkpoint.bad"));
    let text = String::from_utf8(whole_state.clone()).unwrap();
    let cuts = [0, 1, 40, text.len() / 2, text.len() - 1].map(|length| whole_state[..length].to_vec());
    let other = Job { replicate: 1, seed: job.seed.child(1), ..job.clone() };
    run(&other, &store, Due::Steps(7), Place::BesideResults, &stopping(2)).unwrap();
    let others = [
        b"\xff\xfe not text".to_vec(),
        text.replacen("\"watch\"", "\"wach\"", 1).into_bytes(),
        fs::read(store.checkpoint_path(&other)).unwrap(),
    ];
    let expected = whole(&job, "broken");
    for bytes in cuts.into_iter().chain(others) {
        fs::write(&path, &bytes).unwrap();
        assert!(same(&to_end(&job, &place), &expected));
        assert_eq!(fs::read(&aside).unwrap(), bytes, "it is kept");
        fs::remove_file(&aside).unwrap();
        store.remove(&job);
    }
    // Counterexample: the complete file is accepted.
    fs::write(&path, &whole_state).unwrap();
    assert!(same(&to_end(&job, &place), &expected) && !aside.exists());
}

/// A result of other code is recognised, does not count as present, and its checkpoints are not resumed.
#[test]
fn other_code_is_stale() {
    let (job, place) = (a_fit(), folder("resume-stale"));
    let (ours, theirs) = (Store::new(&place), Store::of_code(&place, "0123456789abcdef"));
    assert_eq!(ours.fresh(&job).unwrap(), None);
    run(&job, &theirs, Due::Steps(7), Place::BesideResults, &stopping(2)).unwrap();
    assert!(ours.checkpoint::<serde_json::Value>(&job).unwrap().is_none());
    assert!(theirs.checkpoint::<serde_json::Value>(&job).unwrap().is_some());
    run(&job, &theirs, Due::Seconds(1e9), Place::BesideResults, &|_| true).unwrap();
    assert!(theirs.holds(&job) && !ours.holds(&job));
    to_end(&job, &place);
    assert!(ours.holds(&job));
}

/// A fit that cannot continue is a result: it is stored with its reason, and does not stop others.
#[test]
fn a_fit_that_diverges_is_kept() {
    let mut job = a_fit();
    if let Task::Fit(fit) = &mut job.task {
        fit.optimizer = toml::from_str("kind = 'sgd'\nrate = 1e300").unwrap();
    }
    let outcome = whole(&job, "diverged");
    assert!(outcome.ended.failure.as_ref().unwrap().starts_with("diverged at step 1"), "{outcome:?}");
    assert_eq!(outcome.rows[0].step, 0);
}

/// The frequency of measurements changes neither the end nor the cost of a fit.
#[test]
fn measuring_more_often_changes_nothing() {
    let last = |points| {
        let mut job = a_fit();
        if let Task::Fit(fit) = &mut job.task {
            // The variance over auxiliary chains is that of the stretch since the last row.
            (fit.trace.points, fit.auxiliary) = (points, 1);
        }
        let outcome = whole(&job, &format!("points-{points}"));
        (outcome.rows.last().unwrap().clone(), outcome.ended)
    };
    assert_eq!(last(2), last(30));
}
