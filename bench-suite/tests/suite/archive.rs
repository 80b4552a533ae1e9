//! Archive of results: runs in any sittings add up, no job is there twice, results of other code are marked, damage is named.

use std::collections::BTreeSet;
use std::fs;

use mcsa_bench_suite::archive::Archive;
use mcsa_bench_suite::claims::Verdict;
use mcsa_bench_suite::experiment::PresetName;
use mcsa_bench_suite::registry::REGISTRY;
use mcsa_bench_suite::report::ExperimentSection;
use mcsa_bench_suite::results::Results;
use mcsa_bench_suite::store::{Ended, Row, Store, code_of};
use mcsa_bench_suite::task::Job;
use mcsa_data::Catalogue;

use crate::kinds::{COST as ID, cost as experiment, cost_jobs as jobs, entry};
use crate::process::folder;

/// Stores a result of a job whose numbers tell it from all others.
fn save(store: &Store, job: &Job, value: f64) {
    let rows: Vec<Row> = [0, 10].map(|step| Row::new(step, [("kl", value + step as f64 / 3.0)])).into();
    store.save(job, &rows, &Ended { seconds: 1.0 / 3.0, ..Ended::default() }).expect("a place");
}

fn archived(archive: &Archive) -> Results {
    Results::archived(experiment(), PresetName::Quick, archive, &Catalogue::new(None)).expect("an archive")
}

#[test]
fn sittings_add_up_without_duplicates() {
    let (folder, jobs, catalogue) = (folder("archive-sittings"), jobs(), Catalogue::new(None));
    let [first, second, all] = ["first", "second", "all"].map(|name| Store::new(folder.join(name)));
    let (once, twice) = (Archive::new(folder.join("once")), Archive::new(folder.join("twice")));
    for (k, job) in jobs.iter().enumerate() {
        save(&all, job, k as f64 + 0.1);
        save(if k % 3 == 0 { &first } else { &second }, job, k as f64 + 0.1);
    }
    let add =
        |archive: &Archive, store: &Store| archive.add(&experiment(), &jobs, store, &catalogue).unwrap();
    assert_eq!(add(&once, &all).new, jobs.len());
    let added = [add(&twice, &second), add(&twice, &first)];
    assert_eq!(added[0].new + added[1].new, jobs.len());
    let bytes = |archive: &Archive| fs::read(archive.path(ID)).unwrap();
    assert_eq!(bytes(&once), bytes(&twice));
    // Once more changes nothing.
    let again = add(&twice, &all);
    assert_eq!((again.new, again.renewed, again.dropped, again.all), (0, 0, 0, jobs.len()));
    assert_eq!(bytes(&once), bytes(&twice));
    let found = archived(&once);
    assert_eq!((found.outcomes.len(), found.missing, found.has_stale()), (jobs.len(), 0, false));
    let ids: BTreeSet<String> = found.outcomes.iter().map(|outcome| outcome.job.id()).collect();
    assert_eq!(ids.len(), jobs.len());
    let value = found.outcomes[1].rows[1].values["kl"];
    assert!((value - (1.1 + 10.0 / 3.0)).abs() < 1e-5 * value, "{value}");
}

/// A result of other code is shown and marked, and replaced by one of this code; that one is not replaced.
#[test]
fn results_of_other_code_are_marked_until_they_are_renewed() {
    let (folder, jobs, catalogue) = (folder("archive-stale"), jobs(), Catalogue::new(None));
    let (store, other) = (Store::new(&folder), Store::of_code(&folder, "0123456789abcdef"));
    let archive = Archive::new(folder.join("archive"));
    let add = || archive.add(&experiment(), &jobs, &store, &catalogue).unwrap();
    jobs.iter().enumerate().for_each(|(k, job)| save(&other, job, k as f64));
    assert_eq!(add().new, jobs.len());
    let stale = archived(&archive);
    assert!(stale.has_stale() && !stale.is_stale && stale.outcomes.len() == jobs.len());
    assert!(stale.outcomes.iter().all(|of| of.code == "0123456789abcdef" && of.date.is_some()));
    let card = ExperimentSection::new(entry(ID), stale, None, Vec::new()).unwrap();
    assert!(card.findings.iter().all(|(_, finding)| !finding.reason.contains("of an older version")));
    jobs.iter().for_each(|job| save(&store, job, 1e3));
    assert_eq!((add().renewed, add().renewed), (jobs.len(), 0));
    let fresh = archived(&archive);
    // Counterexample of the mark: results of this code.
    assert!(!fresh.has_stale() && fresh.outcomes.iter().all(|of| of.code == code_of(&of.job)));
    assert_eq!(fresh.outcomes[0].rows[0].values["kl"], 1e3);
}

/// A replicate that is run again with the same numbers confirms the others of its task; one with other numbers does not, and takes back
/// what another confirmed.
#[test]
fn a_replicate_run_again_confirms_the_others_of_its_task() {
    let (folder, jobs, catalogue) = (folder("archive-confirmed"), jobs(), Catalogue::new(None));
    let (store, other) = (Store::new(&folder), Store::of_code(&folder, "0123456789abcdef"));
    let archive = Archive::new(folder.join("archive"));
    let add = || archive.add(&experiment(), &jobs, &store, &catalogue).unwrap();
    jobs.iter().for_each(|job| save(&other, job, 1.0 / 7.0));
    add();
    let of = |replicate: u64| jobs.iter().filter(move |job| job.replicate == replicate);
    let (tasks, all) = (of(0).count(), jobs.len());
    assert!(tasks >= 2 && of(1).count() == tasks);
    // The first task has other numbers.
    of(0).enumerate().for_each(|(k, job)| save(&store, job, if k == 0 { 2.0 } else { 1.0 / 7.0 }));
    let (added, found) = (add(), archived(&archive));
    let first = &of(0).next().unwrap().task;
    let stale = |found: &Results| found.outcomes.iter().filter(|of| of.is_stale()).count();
    let others = all - jobs.iter().filter(|job| job.task == *first).count();
    assert_eq!((added.renewed, added.confirmed), (tasks, others - (tasks - 1)));
    assert_eq!(stale(&found), all - others - 1);
    assert!(found.outcomes.iter().all(|of| !of.is_stale() || of.job.task == *first));
    // The second task is contradicted by its next replicate.
    save(&store, of(1).nth(1).unwrap(), 3.0);
    let (added, found) = (add(), archived(&archive));
    assert_eq!((added.renewed, added.confirmed), (1, 0));
    let second = &of(0).nth(1).unwrap().task;
    let of_second = jobs.iter().filter(|job| job.task == *second).count();
    assert_eq!(stale(&found), all - others - 1 + of_second - 2);
}

#[test]
fn a_damaged_archive_is_named() {
    let (folder, jobs, catalogue) = (folder("archive-damage"), jobs(), Catalogue::new(None));
    let (store, archive) = (Store::new(&folder), Archive::new(folder.join("archive")));
    save(&store, &jobs[0], 1.0);
    archive.add(&experiment(), &jobs, &store, &catalogue).unwrap();
    assert_eq!(archived(&archive).missing, jobs.len() - 1);
    let path = archive.path(ID);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    let error =
        Results::archived(experiment(), PresetName::Quick, &archive, &catalogue).unwrap_err().to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
    // An absent file is an empty archive.
    fs::remove_file(&path).unwrap();
    assert_eq!(archived(&archive).missing, jobs.len());
}

/// Size of the repository's archive, in bytes.
const BUDGET: u64 = 6_000_000;

/// The archive of the repository can be read, is small, and every disagreement of its results, those of the preset `default` or longer
/// ones, has a cause or is listed as open.
#[test]
fn every_disagreement_of_the_archive_has_a_cause() {
    let (archive, catalogue) = (Archive::of_repository(), Catalogue::new(None));
    let (mut size, mut judged, mut unexplained) = (0, 0, Vec::new());
    for entry in &REGISTRY {
        let experiment = entry.experiment().unwrap();
        let Ok(data) = fs::metadata(archive.path(&experiment.id)) else { continue };
        size += data.len();
        let gather = |preset| Results::archived(experiment.clone(), preset, &archive, &catalogue).unwrap();
        let has_paper = experiment.published.is_some() && experiment.presets.contains_key(&PresetName::Paper);
        let (results, longer) = (gather(PresetName::Default), has_paper.then(|| gather(PresetName::Paper)));
        for claim in entry.claims(&results.experiment).unwrap() {
            let finding = claim.find_by_longest(&results, longer.as_ref());
            judged += usize::from(finding.verdict != Verdict::TooLittle);
            if claim.reason.is_none() && finding.verdict.is_at_odds() {
                unexplained
                    .push(format!("{}: {}: {}", results.experiment.id, claim.sentence, finding.reason));
            }
        }
    }
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    assert!(size <= BUDGET, "{size} bytes");
    assert!(judged > 50, "{judged}");
}

/// A claim on a data set that is not of the preset `default` is checked by longer fits; without them there is too little.
#[test]
fn claims_are_checked_at_the_published_length() {
    let entry = entry("pmcsa/tab-neural-regression");
    let (archive, catalogue) = (Archive::of_repository(), Catalogue::new(None).of_archive());
    let gather =
        |preset| Results::archived(entry.experiment().unwrap(), preset, &archive, &catalogue).unwrap();
    let (default, mut paper) = (gather(PresetName::Default), gather(PresetName::Paper));
    let claims = entry.claims(&default.experiment).unwrap();
    let claim = claims.iter().find(|claim| claim.sentence.starts_with("On sml")).expect("a claim");
    let by_longest = claim.find_by_longest(&default, Some(&paper));
    assert_eq!(by_longest.verdict, Verdict::Agree, "{}", by_longest.reason);
    assert!(by_longest.reason.ends_with("by fits of the preset paper"), "{}", by_longest.reason);
    assert_eq!(claim.find_by_longest(&default, None).verdict, Verdict::TooLittle);
    // Of the published length, but undecided.
    let claim = claims.iter().find(|claim| claim.sentence.ends_with("by 0.2 nats.")).expect("a claim");
    assert_eq!(claim.find(&default).verdict, Verdict::Disagree);
    assert_eq!(claim.find_by_longest(&default, Some(&paper)).verdict, Verdict::TooLittle);
    // Without longer results of its methods the others decide.
    paper.outcomes.clear();
    assert_eq!(claim.find_by_longest(&default, Some(&paper)).verdict, Verdict::Disagree);
}
