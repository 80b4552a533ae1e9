//! Archive of results: one small compressed file for each experiment, from which the report is drawn without running anything.
//!
//! An archived result carries the fingerprint of the code that computed it, its date and its vector unit. Numbers keep six
//! significant digits and seconds three; whole numbers are exact. Results are found by the name of their job, so that runs of
//! any presets and any number of sittings add up, and a job is never there twice. A file has the lines of the
//! [`store`](crate::store), compressed by zlib.
//!
//! A replicate that later code computes again, with the same numbers, confirms the other replicates of its task by the same
//! earlier code. They then count as results of the later code. Two kinds of results confirm no others. Results that depend on
//! `mcsa::fit` do not, because its verdict has branches that another run does not take. Results that consist of times alone do
//! not either.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use mcsa_core::{Error, counted};
use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};
use rayon::prelude::*;
use serde_json::Value;

use crate::experiment::Experiment;
use crate::plan::plan;
use crate::store::{Head, LONGEST, Outcome, Reason, Row, Store, code_of, lines, read_lines, write_whole};
use crate::task::{Job, Task};
use mcsa_data::Catalogue;

/// Archived results of an experiment, by the ids of their jobs.
pub(crate) type Kept = BTreeMap<String, (Head, Vec<Row>)>;

/// A folder of archived experiments.
#[derive(Debug, Clone)]
pub struct Archive {
    folder: PathBuf,
}

/// Counts of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Added {
    /// Results that were not archived before.
    pub new: usize,
    /// Results that replaced those of other code.
    pub renewed: usize,
    /// Results of earlier code that were confirmed by a replicate of their task computed again.
    pub confirmed: usize,
    /// Results that left the archive because no preset has their jobs any more.
    pub dropped: usize,
    /// Results in the archive now.
    pub all: usize,
}

impl std::fmt::Display for Added {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { new, renewed, confirmed, dropped, all } = self;
        write!(
            f,
            "{} added to the archive, {renewed} renewed, {confirmed} confirmed, {dropped} dropped, {all} there",
            counted(new, "result")
        )
    }
}

impl Archive {
    /// Archive in a folder, which is created by the first addition.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Archive of the repository, `bench-suite/results`.
    pub fn of_repository() -> Self {
        Self::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("results"))
    }

    /// File of an experiment.
    pub fn path(&self, experiment: &str) -> PathBuf {
        self.folder.join(format!("{experiment}.z"))
    }

    /// Archived results of an experiment; none if there is no file.
    pub(crate) fn read(&self, experiment: &str) -> Result<Kept, Error> {
        let path = self.path(experiment);
        let failed = |reason: String| Error::invalid(format!("cannot use {}: {reason}", path.display()));
        match mcsa_core::file::read(&path, LONGEST) {
            Ok(bytes) => unpacked(&bytes).map_err(failed),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Adds the stored results of jobs of an experiment. A result of this code replaces one of other code; where the store has
    /// only results of other code, the newest is added unless the job is archived already. Unusable files are left out.
    ///
    /// Results of jobs that no preset has any more are dropped, unless data are absent, without which it is not known.
    pub fn add(
        &self,
        experiment: &Experiment,
        jobs: &[Job],
        store: &Store,
        catalogue: &Catalogue,
    ) -> Result<Added, Error> {
        let (mut all, others) = (self.read(&experiment.id)?, store.others(&experiment.id));
        let found = |job: &Job| {
            let codes = [code_of(job)].into_iter().chain(others.of(job));
            codes.filter_map(|code| Some((code_of(job) == code, kept(store, code, job)?))).next()
        };
        let (mut added, mut repeats) = (Added::default(), Vec::new());
        let found = jobs.par_iter().filter_map(|job| Some((job, found(job)?))).collect::<Vec<_>>();
        for (job, (is_ours, kept)) in found {
            match all.get(&kept.0.id) {
                None => added.new += 1,
                Some((known, rows)) if known.code != kept.0.code && is_ours => {
                    added.renewed += 1;
                    let (before, code) = (known.version().to_owned(), kept.0.code.clone());
                    repeats.push(Repeat {
                        task: &job.task,
                        before,
                        code,
                        agrees: agree((known, rows), (&kept.0, &kept.1)),
                    });
                }
                Some(_) => continue,
            }
            all.insert(kept.0.id.clone(), kept);
        }
        let (mut planned, mut is_whole) = (BTreeMap::new(), true);
        for preset in experiment.presets.keys() {
            let plan = plan(experiment, *preset, catalogue)?;
            is_whole &= plan.absent.is_empty();
            planned.extend(plan.jobs.into_iter().map(|job| (job.id(), job.task)));
        }
        repeats.retain(|repeat| !repeat.task.has_call());
        added.confirmed = confirm(&mut all, &planned, &repeats);
        if is_whole {
            let before = all.len();
            all.retain(|id, _| planned.contains_key(id));
            added.dropped = before - all.len();
        }
        added.all = all.len();
        if added.new + added.renewed + added.dropped > 0 {
            let path = self.path(&experiment.id);
            let failed = |reason| Error::invalid(format!("cannot write {}: {reason}", path.display()));
            write_whole(&path, &packed(&all).map_err(failed)?)?;
        }
        Ok(added)
    }
}

/// A replicate of a task that was run again by later code.
struct Repeat<'a> {
    task: &'a Task,
    /// Code of the earlier result, or that which confirmed it.
    before: String,
    code: String,
    agrees: bool,
}

/// True if results have the same numbers, times apart, and other numbers than times, or the same failure.
fn agree((head, archived): (&Head, &[Row]), (now, again): (&Head, &[Row])) -> bool {
    let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { rounded(x, 6).to_bits() };
    let short = |values: &[f64]| values.iter().map(|x| bits(*x)).collect::<Vec<_>>();
    let numbers = |row: &Row| {
        let values = row.values.iter().filter(|(name, _)| **name != "seconds");
        let values: Vec<_> = values.map(|(name, value)| (*name, short(&[*value]))).collect();
        (row.step, values, row.vectors.iter().map(|(name, all)| (*name, short(all))).collect::<Vec<_>>())
    };
    let is_time = |row: &Row| row.vectors.is_empty() && row.values.keys().all(|name| *name == "seconds");
    let says_something = now.ended.failure.is_some() || !again.iter().all(is_time);
    let is_same = archived.iter().map(numbers).eq(again.iter().map(numbers));
    says_something && is_same && head.ended.failure == now.ended.failure
}

/// Confirms results whose task was repeated with the same numbers, and takes back what a repeat with other numbers contradicts; the number
/// of those confirmed.
fn confirm(all: &mut Kept, tasks: &BTreeMap<String, Task>, repeats: &[Repeat<'_>]) -> usize {
    let mut count = 0;
    for (id, (head, _)) in all {
        let of_task = repeats.iter().filter(|repeat| tasks.get(id) == Some(repeat.task));
        let bears = |repeat: &&Repeat<'_>| {
            repeat.code != head.code && [&*repeat.before, &*repeat.code].contains(&head.version())
        };
        let of_task: Vec<_> = of_task.filter(bears).collect();
        let Some(Repeat { code, .. }) = of_task.first() else { continue };
        if of_task.iter().all(|repeat| repeat.agrees) {
            head.confirmed = Some(code.clone());
            count += 1;
        } else if head.confirmed.as_ref() == Some(code) {
            head.confirmed = None;
        }
    }
    count
}

/// Stored result of a job by code with a given fingerprint.
fn kept(store: &Store, code: &str, job: &Job) -> Option<(Head, Vec<Row>)> {
    let Outcome { rows, ended, unit, .. } = store.by_code(code, job).ok()??;
    let written = fs::metadata(store.path_by(code, job)).and_then(|data| data.modified()).ok()?;
    let date = Some(day(written));
    let head = Head { id: job.id(), code: code.to_owned(), confirmed: None, unit, date, job: None, ended };
    Some((head, rows))
}

/// Largest size of an uncompressed file, in bytes: a damaged one must not fill the memory.
const LIMIT: usize = 1 << 30;

fn packed(all: &Kept) -> Result<Vec<u8>, Reason> {
    let mut all: Vec<(Head, Vec<Row>)> = all.values().cloned().collect();
    for (head, rows) in &mut all {
        let mut ended = serde_json::to_value(&head.ended).map_err(|error| error.to_string())?;
        shorten(&mut ended);
        head.ended = serde_json::from_value(ended).map_err(|error| error.to_string())?;
        for row in rows {
            row.values.iter_mut().for_each(|(name, value)| {
                *value = rounded(*value, if *name == "seconds" { 3 } else { 6 });
            });
            row.vectors.values_mut().flatten().for_each(|value| *value = rounded(*value, 6));
        }
    }
    Ok(compress_to_vec_zlib(lines(&all)?.as_bytes(), 9))
}

fn unpacked(bytes: &[u8]) -> Result<Kept, Reason> {
    let text = decompress_to_vec_zlib_with_limit(bytes, LIMIT);
    let text = text.map_err(|error| format!("it cannot be decompressed: {error}"))?;
    let text = std::str::from_utf8(&text).map_err(|error| error.to_string())?;
    Ok(read_lines(text)?.into_iter().map(|kept| (kept.0.id.clone(), kept)).collect())
}

/// A number at some significant digits; whole numbers are exact.
fn rounded(value: f64, digits: usize) -> f64 {
    if !value.is_finite() || (value.fract() == 0.0 && value.abs() < 1e15) {
        return value;
    }
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

fn shorten(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short = number.as_f64().map(|number| rounded(number, 6));
            if let Some(short) = short.and_then(serde_json::Number::from_f64) {
                *number = short;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(shorten),
        Value::Object(all) => all.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Day of a time in the proleptic Gregorian calendar, UTC (Hinnant, "chrono-compatible low-level date algorithms").
fn day(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    // Days since 1 March of the year 0; eras have 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::store::Ended;

    #[test]
    fn days_are_those_of_the_calendar() {
        let of = |seconds: u64| day(UNIX_EPOCH + Duration::from_secs(seconds));
        let found = [0, 86_399, 951_782_400, 951_868_800, 1_735_689_599, 1_767_225_600].map(of);
        let days = ["1970-01-01", "1970-01-01", "2000-02-29", "2000-03-01", "2024-12-31", "2026-01-01"];
        assert_eq!(found, days);
    }

    /// Times alone say nothing, a failure does; NaN is NaN.
    #[test]
    fn results_agree_by_other_numbers_than_times_or_by_their_failure() {
        let head = |failure: Option<&str>| Head {
            id: "aa".into(),
            code: "c".into(),
            confirmed: None,
            unit: "avx2".into(),
            date: None,
            job: None,
            ended: Ended { failure: failure.map(String::from), ..Ended::default() },
        };
        let rows = |kl: f64, seconds: f64| vec![Row::new(1, [("kl", kl), ("seconds", seconds)])];
        let [fine, failed, other] = [None, Some("NaN"), Some("out of memory")].map(head);
        for kl in [1.0 / 3.0, f64::NAN] {
            assert!(agree((&fine, &rows(kl, 1.0)), (&fine, &rows(kl, 2.0))));
            assert!(!agree((&fine, &rows(kl, 1.0)), (&fine, &rows(0.333334, 1.0))));
        }
        let times = [Row::new(1, [("seconds", 1.0)])];
        assert!(!agree((&fine, &times), (&fine, &times)));
        assert!(agree((&failed, &[]), (&failed, &[])));
        assert!(!agree((&failed, &[]), (&other, &[])) && !agree((&fine, &[]), (&failed, &[])));
    }

    #[test]
    fn numbers_keep_six_digits_and_whole_ones_all() {
        let found = [1.0 / 3.0, -1_234_567.25, 123_456_789.0, 1.25e-9, 0.0].map(|value| rounded(value, 6));
        assert_eq!(found, [0.333333, -1_234_570.0, 123_456_789.0, 1.25e-9, 0.0]);
        assert!(rounded(f64::NAN, 6).is_nan());
    }

    /// Rounded numbers stay as they are when a file is written again; a file cut short is an error.
    #[test]
    fn what_is_packed_is_unpacked() {
        let [id, code, unit] = ["aa", "c", "avx2"].map(String::from);
        let ended = Ended { seconds: 2.0 / 3.0, ..Ended::default() };
        let date = Some("2026-01-31".into());
        let head = Head { id, code, confirmed: None, unit, date, job: None, ended };
        let rows = vec![Row::new(10, [("kl", 1.0 / 3.0), ("seconds", 0.123456)])];
        let bytes = packed(&[("aa".to_owned(), (head, rows))].into()).unwrap();
        let read = unpacked(&bytes).unwrap();
        let (head, rows) = &read["aa"];
        assert_eq!(rows[0], Row::new(10, [("kl", 0.333333), ("seconds", 0.123)]));
        assert_eq!(head.ended.seconds, 0.666667);
        assert_eq!(packed(&read).unwrap(), bytes);
        assert!(unpacked(&bytes[..bytes.len() - 9]).unwrap_err().contains("decompressed"));
    }
}
