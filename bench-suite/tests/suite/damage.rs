//! Robustness to damaged files, full disks and killed processes: no number is wrong, and no other result is lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use mcsa_bench_suite::experiment::PresetName;
use mcsa_bench_suite::jobs::{Due, Running};
use mcsa_bench_suite::plan::plan;
use mcsa_bench_suite::provenance::{Journal, Provenance, Run};
use mcsa_bench_suite::results::Results;
use mcsa_bench_suite::store::{Ended, Row, Store, code_of, write_whole};
use mcsa_bench_suite::task::Job;
use mcsa_data::Catalogue;

use crate::kinds::{COST as ID, cost as experiment, cost_jobs as jobs, entry};
use crate::process::{self, folder};

fn rows(count: u64) -> Vec<Row> {
    (0..count).map(|step| Row::new(step, [("kl", 0.5 * step as f64)])).collect()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn gathered(store: &Store) -> Results {
    Results::gather(experiment(), PresetName::Quick, store, &Catalogue::new(None)).expect("a plan")
}

/// However a result is damaged, it is not used, its file is named with the reason, and other results are unaffected.
#[test]
fn no_damaged_result_is_used() {
    let (folder, jobs) = (folder("damage-results"), jobs());
    let store = Store::new(&folder);
    for job in &jobs[..3] {
        store.save(job, &rows(5), &Ended::default()).expect("a place");
    }
    let path = store.result_path(&jobs[0]);
    let whole = fs::read_to_string(&path).expect("a text");
    assert!(path.file_name().is_some_and(|name| name.to_string_lossy().contains(code_of(&jobs[0]))));
    let lines: Vec<&str> = whole.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let others = fs::read_to_string(store.result_path(&jobs[1])).expect("a text");
    let other_lines: Vec<&str> = others.lines().collect();
    let foreign = Store::of_code(&folder, "0123456789abcdef");
    foreign.save(&jobs[0], &rows(5), &Ended::default()).expect("a place");
    let stale = fs::read_to_string(foreign.result_path(&jobs[0])).expect("a text");
    let damages = [
        ("a line deleted", joined(&[&lines[..2], &lines[3..]].concat()), "checksum"),
        ("a line doubled", joined(&[&lines[..3], &lines[2..]].concat()), "checksum"),
        ("a number changed", whole.replacen("1.5", "1.25", 1), "checksum"),
        ("lines swapped", joined(&[&lines[..1], &[lines[2], lines[1]], &lines[3..]].concat()), "checksum"),
        ("an end that failed", whole.replacen("\"failure\":null", "\"failure\":\"x\"", 1), "checksum"),
        ("emptied", String::new(), "empty"),
        ("cut after a line", joined(&lines[..lines.len() - 1]), "cut short"),
        ("cut within a line", whole[..whole.len() - 7].to_owned(), "cut short"),
        ("the head alone", joined(&lines[..1]), "cut short"),
        ("a last line of another file", joined(&[&lines[..3], &other_lines[3..]].concat()), "checksum"),
        ("rows under another head", joined(&[&lines[..1], &other_lines[1..]].concat()), "checksum"),
        ("another job", others.clone(), "another job"),
        ("other code", stale, "0123456789abcdef"),
        ("another schema", "{\"version\":2}\n{\"rows\":[]}\n".to_owned(), "earlier version"),
    ];
    let refused = |what: &str, bytes: &[u8], reason: &str| {
        fs::write(&path, bytes).expect("a file");
        assert!(!store.holds(&jobs[0]), "{what}");
        let error = store.fresh(&jobs[0]).expect_err(what).to_string();
        assert!(error.contains(&jobs[0].id()) && error.contains(reason), "{what}: {error}");
        let evidence = gathered(&store);
        assert_eq!((evidence.outcomes.len(), evidence.missing), (2, jobs.len() - 2), "{what}");
        assert_eq!(evidence.bad, [error], "{what}");
    };
    for (what, text, reason) in &damages {
        refused(what, text.as_bytes(), reason);
    }
    refused("not UTF-8", &[&whole.as_bytes()[..40], b"\xff", &whole.as_bytes()[41..]].concat(), "UTF-8");
    // Counterexample: the unchanged bytes.
    fs::write(&path, &whole).expect("a file");
    assert!(store.holds(&jobs[0]) && gathered(&store).bad.is_empty());
}

/// A bad file is kept: it is renamed, never removed.
#[test]
fn a_bad_file_is_set_aside() {
    let (folder, jobs) = (folder("damage-aside"), jobs());
    let store = Store::new(&folder);
    for text in ["first", "second"] {
        write_whole(&store.result_path(&jobs[0]), text.as_bytes()).expect("a place");
        let aside = store.set_aside(&jobs[0]).expect("renamed");
        assert_eq!(fs::read_to_string(aside).expect("a text"), text);
        assert_eq!(store.fresh(&jobs[0]).expect("nothing"), None);
    }
    assert_eq!(names(&folder.join(ID)).len(), 2);
}

/// Results of two code versions coexist; those of other versions are shown only if there are none of ours, and only of one
/// version.
#[test]
fn versions_do_not_mix() {
    let (folder, jobs) = (folder("damage-versions"), jobs());
    let [ours, older, other] =
        [code_of(&jobs[0]), "0123456789abcdef", "fedcba9876543210"].map(|code| Store::of_code(&folder, code));
    older.save(&jobs[0], &rows(1), &Ended::default()).expect("a place");
    for job in &jobs[..2] {
        other.save(job, &rows(2), &Ended::default()).expect("a place");
    }
    older.save(&jobs[5], &rows(1), &Ended::default()).expect("a place");
    older.save(&jobs[6], &rows(1), &Ended::default()).expect("a place");
    let evidence = gathered(&ours);
    assert!(evidence.is_stale && evidence.stale == 4 && evidence.missing == jobs.len() - 4);
    assert_eq!(evidence.outcomes.iter().map(|outcome| outcome.rows.len()).collect::<Vec<_>>(), [1, 1, 1]);
    ours.save(&jobs[0], &rows(3), &Ended::default()).expect("a place");
    let evidence = gathered(&ours);
    assert!(!evidence.is_stale && evidence.stale == 3);
    assert_eq!(evidence.outcomes.iter().map(|outcome| outcome.rows.len()).collect::<Vec<_>>(), [3]);
    for (store, count) in [(&ours, 3), (&older, 1), (&other, 2)] {
        let found = store.fresh(&jobs[0]).expect("whole").expect("there");
        assert_eq!(found.rows.len(), count, "nothing was overwritten");
    }
}

/// A checkpoint that cannot be written gives a warning; no temporary file is left.
#[test]
fn a_job_outlives_its_checkpoint() {
    let (folder, job) = (folder("damage-checkpoint"), jobs().remove(0));
    let store = Store::new(&folder);
    // A directory in its place refuses every file, for any user.
    let block = |_| fs::create_dir_all(store.checkpoint_path(&job).join("x")).is_ok();
    let warned = std::sync::Mutex::new(Vec::new());
    let warn = |said: &str| warned.lock().expect("no panic").push(said.to_owned());
    let catalogue = Catalogue::new(None);
    let (checkpoint, running) = (Due::Steps(4_000), Running::new(&store, &catalogue));
    job.run(&Running { checkpoint, progress: &block, warn: &warn, ..running }).expect("the job goes on");
    let warned = warned.into_inner().expect("no panic");
    assert!(warned.len() == 1 && warned[0].contains("the job goes on"), "{warned:?}");
    assert!(store.holds(&job));
    let left = names(&folder.join(ID));
    assert_eq!(left.len(), 2, "{left:?}");
    // A result that cannot be written is an error that names job and file.
    let path = store.result_path(&job);
    fs::remove_file(&path).expect("it was there");
    fs::create_dir_all(path.join("x")).expect("a folder");
    let error = store.save(&job, &rows(1), &Ended::default()).expect_err("no place").to_string();
    assert!(error.contains("replicate 0") && error.contains(&job.id()), "{error}");
    assert_eq!(names(&folder.join(ID)), left, "no temporary file is left");
}

/// An unreadable line loses only itself; every process has its own file.
#[test]
fn a_manifest_loses_no_more_than_a_line() {
    let (folder, jobs) = (folder("damage-manifest"), jobs());
    let store = Store::new(&folder);
    let begun = |count: usize| {
        let (journal, start) =
            (Journal::default(), Provenance::of(&experiment(), PresetName::Quick, count, 1));
        journal.begin(&start, &store, ID, "the file").map(|()| journal)
    };
    let journal = begun(2).expect("a place");
    let own = || {
        let path = folder.join(ID).join("manifest");
        names(&path).into_iter().map(|name| path.join(name)).collect::<Vec<_>>()
    };
    assert_eq!(own().len(), 1);
    jobs[..2].iter().for_each(|job| journal.ended(job));
    // The state after a kill at this point.
    let (runs, warnings) = Run::all(&store, ID);
    assert_eq!((runs.len(), runs[0].jobs, warnings.len()), (1, 2, 0));
    let error = mcsa_core::Error::invalid("no space").within(format!("{ID}, a target, replicate 0"));
    journal.end(ID, &[error, mcsa_core::Error::invalid("of another experiment")]);
    let run = Run::all(&store, ID).0.remove(0);
    assert!(run.errors.len() == 1 && run.errors[0].contains("no space"));
    // A bad byte, a line cut short by a kill, and a second process in the same second.
    let path = own().remove(0);
    let mut bytes = fs::read(&path).expect("a file");
    let second = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 5;
    bytes[second] = 0xff;
    bytes.extend(b"{\"job\":{\"id\":");
    fs::write(&path, &bytes).expect("a file");
    let (runs, warnings) = Run::all(&store, ID);
    assert_eq!(runs[0].jobs, 1);
    assert!(warnings.len() == 2 && warnings[0].contains("line 2"), "{warnings:?}");
    assert_eq!(fs::read_to_string(folder.join(ID).join("experiment.toml")).expect("frozen"), "the file");
    // A process does not overwrite its own manifest.
    assert!(begun(3).is_err() || own().len() == 2);
}

/// Code and messages of the experiment's figures.
fn drawn(arguments: &[&str], out: &Path) -> (i32, String) {
    let out = out.display().to_string();
    process::said(&[&["figures", ID, "--preset", "quick", "--out", &out], arguments].concat())
}

/// Bad files affect only their own jobs: the figures are drawn from the others, and a run replaces them.
#[test]
fn a_bad_file_costs_its_own_job() {
    let (out, jobs) = (folder("damage-one"), jobs());
    let store = Store::new(out.join("results"));
    for job in &jobs {
        let values = [("p_evaluations", 1e5), ("p_gradients", 0.0), ("seconds", 1.0)];
        let row = Row::new(10_000, values);
        store.save(job, &[row], &Ended::default()).expect("a place");
    }
    let whole = |job: &Job| fs::read(store.result_path(job)).expect("a file");
    let [first, second] = [whole(&jobs[0]), whole(&jobs[1])];
    fs::write(store.result_path(&jobs[0]), &first[..first.len() / 2]).expect("a file");
    fs::write(store.result_path(&jobs[1]), [b"\xff".as_slice(), &second[1..]].concat()).expect("a file");
    let (code, words) = drawn(&["--no-run"], &out);
    assert!(code == 0 && jobs[..2].iter().all(|job| words.contains(&job.id())), "{words}");
    let page = fs::read_to_string(out.join("report/pmcsa.html")).expect("a page");
    assert!(page.contains("2 files or lines cannot be used") && page.contains("is not text in UTF-8"));
    assert!(page.contains(&format!("2 of {} jobs have not been run", jobs.len())));
    let (code, words) = drawn(&[], &out);
    assert!(code == 0 && words.contains(&format!("{} jobs, 2 to run", jobs.len())), "{words}");
    assert!(words.contains("renamed to") && words.contains(".bad, and the job is run again"), "{words}");
    assert!(jobs.iter().all(|job| store.holds(job)));
    let results = out.join("results").join(ID);
    assert_eq!(names(&results).iter().filter(|name| name.ends_with(".bad")).count(), 2);
    let run = Run::all(&store, ID).0.remove(0);
    assert_eq!((run.jobs, run.start.planned), (2, 2));
}

/// A disk that accepts small files and refuses others: every lost job is named, and no file is left behind.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_nothing() {
    let out = folder("damage-full");
    let experiment = entry("ours/gaussian").experiment().expect("it can be read");
    let jobs = plan(&experiment, PresetName::Quick, &Catalogue::new(None)).expect("a plan").jobs;
    let store = Store::new(out.join("results"));
    jobs[1..].iter().for_each(|job| store.save(job, &rows(1), &Ended::default()).expect("a place"));
    // No file may be larger than 4 KiB: the initial write test passes, a complete result does not.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_mcsa-bench"), "figures", "ours/gaussian"]);
    let output = command.args(["--preset", "quick", "--out"]).arg(&out).output().expect("it starts");
    let said = process::words(&output.stdout) + &process::words(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let lost = format!("failed: {}: the result is lost: cannot write", jobs[0].title());
    assert!(said.contains(&lost) && said.contains("File too large"), "{said}");
    for folder in [out.join("results/ours/gaussian"), out.join("report"), out.join("results")] {
        let names = names(&folder);
        assert!(!names.iter().any(|name| name.ends_with("tmp")), "{names:?}");
        let is_empty = |name: &&String| {
            fs::metadata(folder.join(name)).is_ok_and(|file| file.is_file() && file.len() == 0)
        };
        assert_eq!(names.iter().find(is_empty), None);
    }
    let run = Run::all(&store, "ours/gaussian").0.remove(0);
    assert!(run.jobs == 0 && run.errors.len() == 1, "{run:?}");
}
