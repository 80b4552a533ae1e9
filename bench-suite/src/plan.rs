//! Jobs of an experiment.

use std::collections::BTreeMap;

use mcsa_core::{Error, Seed};
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, PresetName};
use crate::kinds::Task;
use mcsa_data::Catalogue;

/// Everything that determines one result. Two equal jobs have bit-identical rows, except for seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name of the experiment.
    pub experiment: String,
    /// The task.
    pub task: Task,
    /// SHA-256 of the data, if there are any.
    pub data: Option<String>,
    /// Number of the replicate, from 0.
    pub replicate: u64,
    /// Seed of the job's randomness.
    pub seed: Seed,
}

impl Job {
    /// Name of the job: a hash of its canonical text, 32 hexadecimal digits.
    pub fn id(&self) -> String {
        // A struct of numbers and strings can always be serialised.
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{:032x}", fnv(text.as_bytes()))
    }

    /// Description of the job: experiment, target, method, replicate.
    pub fn title(&self) -> String {
        format!("{}, {}, replicate {}", self.experiment, self.task.title(), self.replicate)
    }
}

/// 128-bit FNV-1a hash (Fowler, Noll & Vo): for names; not cryptographic.
fn fnv(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// Jobs of an experiment at a preset.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Every replicate of every task whose data are available.
    pub jobs: Vec<Job>,
    /// Absent data sets, each with instructions to obtain it.
    pub absent: BTreeMap<String, String>,
}

/// Plans an experiment at a preset.
///
/// Replicate `r` has one seed under every method, so that comparisons between methods are paired, including their data
/// splits.
///
/// # Errors
/// If a setting is unknown, or a data set is present but cannot be read.
pub fn plan(experiment: &Experiment, preset: PresetName, catalogue: &Catalogue) -> Result<Plan, Error> {
    if experiment.is_exhibit() {
        return Ok(Plan { jobs: Vec::new(), absent: BTreeMap::new() });
    }
    let effort = experiment.preset(preset)?;
    let (mut digests, mut absent) = (BTreeMap::new(), BTreeMap::new());
    let tasks = Task::all(experiment, effort)?;
    for name in tasks.iter().filter_map(|task| task.target().data()) {
        if digests.contains_key(name) || absent.contains_key(name) {
            continue;
        }
        match catalogue.digest(name) {
            Ok(digest) => drop(digests.insert(name.to_owned(), digest)),
            Err(error) if error.is_absent() => drop(absent.insert(name.to_owned(), error.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    let is_there = |task: &&Task| task.target().data().is_none_or(|name| digests.contains_key(name));
    let tasks: Vec<&Task> = tasks.iter().filter(is_there).collect();
    let job = |replicate, task: &Task| Job {
        experiment: experiment.id.clone(),
        task: task.clone(),
        data: task.target().data().and_then(|name| digests.get(name).cloned()),
        replicate,
        seed: experiment.seed().child(replicate),
    };
    let repeated = |r: u64| tasks.iter().filter(move |task| r < effort.replicates_of(task));
    let jobs = (0..effort.replicates).flat_map(|r| repeated(r).map(move |task| (r, *task)));
    let jobs = jobs.map(|(replicate, task)| job(replicate, task)).collect();
    Ok(Plan { jobs, absent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::REGISTRY;
    use std::collections::HashSet;

    #[test]
    fn every_job_has_its_own_name() {
        let catalogue = Catalogue::new(None);
        let mut names = HashSet::new();
        for entry in &REGISTRY {
            let experiment = entry.experiment().unwrap();
            let plan = plan(&experiment, PresetName::Quick, &catalogue).unwrap();
            assert_eq!(plan.jobs.is_empty(), experiment.is_exhibit(), "{}", experiment.id);
            if experiment.is_exhibit() {
                continue;
            }
            assert!(plan.jobs.iter().all(|job| names.insert(job.id())), "{}", experiment.id);
            let mut other = plan.jobs[0].clone();
            other.data = Some("other bytes".into());
            assert!(!names.contains(&other.id()));
        }
    }

    #[test]
    fn some_tasks_have_fewer_replicates() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("k000-tab2-logistic")).unwrap();
        let mut experiment = entry.experiment().unwrap();
        let preset = experiment.presets.get_mut(&PresetName::Quick).unwrap();
        (preset.replicates, preset.methods) = (4, Some(vec!["pmcsa".into(), "jsa".into()]));
        preset.fewer = [("jsa".to_owned(), 3), ("jsa on pima".to_owned(), 0)].into();
        let jobs = plan(&experiment, PresetName::Quick, &Catalogue::new(None)).unwrap().jobs;
        let count = |kind: &str, set: &str| {
            jobs.iter().filter(|j| j.task.method().kind() == kind && j.task.target().label() == set).count()
        };
        assert_eq!([count("pmcsa", "pima"), count("jsa", "pima")], [4, 0]);
        assert_eq!(count("jsa", "german_credit_numeric"), 3);
    }

    /// Published test vectors of FNV-1a, 128 bits.
    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(fnv(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
