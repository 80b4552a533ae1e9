//! Division of jobs among processes.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use mcsa_core::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::forecast::Forecast;
use crate::store::{CODE, write_once};
use crate::task::Job;

/// Shard `K/N` of the jobs of a sweep, `1 <= K <= N`: the part that one of N processes runs.
///
/// Every job is in exactly one shard, which is a pure function of the ids of all jobs and of the forecast of their times:
///
/// ```text
/// in the order of decreasing time, equal times in the order of ids:  job -> shard with the least total time so far
/// ```
/// The largest total exceeds the mean by at most one job (Graham, 1969). Jobs that have a result count too, so that a shard is
/// the same before and after an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

/// Most shards of a sweep.
const MOST: usize = 1_000_000;

/// Seconds that a job costs beside its work: without them, jobs of forecast 0 would all be in one shard.
const OVERHEAD: f64 = 2e-3;

impl Shard {
    /// The only shard of an undivided sweep.
    pub fn whole() -> Self {
        Self { number: 1, count: 1 }
    }

    /// Jobs of the shard, longest first.
    pub fn of<'j>(&self, jobs: &[&'j Job], forecast: &Forecast) -> Vec<&'j Job> {
        let seconds = |job: &Job| forecast.seconds(&job.task).unwrap_or(job.task.work() as f64);
        let times: Vec<(f64, String)> = jobs.iter().map(|job| (seconds(job), job.id())).collect();
        let shares = divide(&times, self.count);
        shares.into_iter().filter(|(_, shard)| shard + 1 == self.number).map(|(job, _)| jobs[job]).collect()
    }
}

/// Seconds of the longest of `count` shards, by a forecast.
pub fn longest(jobs: &[&Job], forecast: &Forecast, count: usize) -> f64 {
    let seconds = |job: &&Job| forecast.seconds(&job.task).unwrap_or(job.task.work() as f64);
    let times: Vec<(f64, String)> = jobs.iter().map(|job| (seconds(job), job.id())).collect();
    let mut sums = vec![0.0; count];
    divide(&times, count).into_iter().for_each(|(job, shard)| sums[shard] += times[job].0);
    sums.into_iter().fold(0.0, f64::max)
}

/// Indices of jobs by decreasing time, each with its shard, from 0.
pub(crate) fn divide(times: &[(f64, String)], count: usize) -> Vec<(usize, usize)> {
    let time = |k: usize| match times[k].0 {
        time if time.is_finite() && time > 0.0 => time + OVERHEAD,
        _ => OVERHEAD,
    };
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| time(b).total_cmp(&time(a)).then_with(|| times[a].1.cmp(&times[b].1)));
    // Bits of positive numbers are ordered as the numbers are.
    let mut loads: BTreeSet<(u64, usize)> = (0..count).map(|shard| (0.0_f64.to_bits(), shard)).collect();
    let place = |job: usize| {
        let (load, shard) = loads.pop_first()?;
        loads.insert(((f64::from_bits(load) + time(job)).to_bits(), shard));
        Some((job, shard))
    };
    order.into_iter().filter_map(place).collect()
}

/// The forecast on which all processes of a sweep agree: that in the file of these jobs and this code; if there is none, `ours`,
/// which is then written there.
///
/// # Errors
/// If the file can neither be written nor read.
pub fn agreed(
    folder: &Path,
    jobs: &[&Job],
    ours: impl FnOnce() -> Result<Forecast, Error>,
) -> Result<Forecast, Error> {
    let path = file(folder, jobs);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(_) => {
            let text = serde_json::to_string(&ours()?).map_err(|error| place(&path, &error))?;
            write_once(&path, text.as_bytes())?
        }
    };
    serde_json::from_slice(&bytes).map_err(|error| place(&path, &error))
}

/// File of the forecast for these jobs and this code.
fn file(folder: &Path, jobs: &[&Job]) -> PathBuf {
    let mut ids: Vec<String> = jobs.iter().map(|job| job.id()).collect();
    ids.sort_unstable();
    let mut hash = Sha256::new();
    ids.iter().for_each(|id| hash.update(id));
    let name: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("{name}.{CODE}.json"))
}

fn place(path: &Path, error: &serde_json::Error) -> Error {
    Error::invalid(format!("cannot use {}: {error}; delete it if no process runs", path.display()))
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.parse::<usize>().ok();
        match text.split_once('/').map(|(number, count)| (read(number), read(count))) {
            Some((Some(number), Some(count))) if (1..=count).contains(&number) && count <= MOST => {
                Ok(Self { number, count })
            }
            _ => Err(format!("a shard is K/N with 1 <= K <= N <= {MOST}, as in 3/8")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::forecast::Cost;
    use crate::plan::plan;
    use crate::registry::REGISTRY;
    use mcsa_data::Catalogue;

    fn jobs() -> Vec<Job> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-cost")).unwrap();
        plan(&entry.experiment().unwrap(), PresetName::Default, &Catalogue::new(None)).unwrap().jobs
    }

    fn shard(text: &str) -> Shard {
        text.parse().unwrap()
    }

    #[test]
    fn every_job_is_in_one_shard_whatever_their_order() {
        let jobs = jobs();
        let (there, mut back): (Vec<&Job>, Vec<&Job>) = (jobs.iter().collect(), jobs.iter().collect());
        back.reverse();
        let mut ids = Vec::new();
        for k in 1..=7 {
            let shard = shard(&format!("{k}/7"));
            let of = |jobs: &[&Job]| {
                shard.of(jobs, &Forecast::default()).iter().map(|job| job.id()).collect::<Vec<_>>()
            };
            assert_eq!(of(&there), of(&back));
            ids.extend(of(&there));
        }
        assert_eq!(ids.len(), jobs.len());
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), jobs.len());
        // Counterexample: other jobs are divided in another way.
        let some = shard("1/7").of(&there[1..], &Forecast::default());
        assert_ne!(some, shard("1/7").of(&there, &Forecast::default()));
    }

    /// The largest total is below the mean plus the longest job; in turn, without order, it would not be.
    #[test]
    fn shards_are_balanced() {
        let times: Vec<(f64, String)> = (0..400_u32)
            .map(|k| (f64::from(1 + k * k % 97) * if k % 8 == 0 { 50.0 } else { 1.0 }, format!("{k:04}")))
            .collect();
        let total: f64 = times.iter().map(|(time, _)| time).sum();
        let largest = |shares: &[(usize, usize)]| {
            let mut sums = [0.0; 8];
            shares.iter().for_each(|&(job, shard)| sums[shard] += times[job].0);
            sums.into_iter().fold(0.0, f64::max)
        };
        assert!(largest(&divide(&times, 8)) < 1.01 * total / 8.0);
        let in_turn: Vec<(usize, usize)> = (0..400).map(|job| (job, job % 8)).collect();
        assert!(largest(&in_turn) > 3.0 * total / 8.0);
        let nothing: Vec<(f64, String)> = (0..80).map(|k| (f64::NAN, format!("{k:04}"))).collect();
        let shares = divide(&nothing, 8);
        assert!((0..8).all(|shard| shares.iter().filter(|(_, of)| *of == shard).count() == 10));
    }

    /// Two processes with different forecasts both use that of the first.
    #[test]
    fn processes_agree_on_a_forecast() {
        let jobs = jobs();
        let jobs: Vec<&Job> = jobs.iter().collect();
        let folder = std::env::temp_dir().join(format!("mcsa-agreed-{}", std::process::id()));
        let forecast = |seconds: f64| {
            let mut forecast = Forecast::default();
            let cost = Cost { seconds, work: 1.0, ..Cost::default() };
            forecast.add(&jobs[0].task, &cost);
            forecast
        };
        let first = agreed(&folder, &jobs, || Ok(forecast(0.1))).unwrap();
        let second = agreed(&folder, &jobs, || Ok(forecast(7.0))).unwrap();
        assert_eq!(first.seconds(&jobs[1].task), second.seconds(&jobs[1].task));
        // Counterexample: another plan has its own.
        let other = agreed(&folder, &jobs[1..], || Ok(forecast(7.0))).unwrap();
        assert_ne!(first.seconds(&jobs[1].task), other.seconds(&jobs[1].task));
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_shard_is_k_of_n() {
        assert_eq!(shard("3/8").to_string(), "3/8");
        for wrong in ["0/8", "9/8", "3", "3/", "-1/8", "1/0", "1/10000000", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
