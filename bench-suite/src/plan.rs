//! From an experiment to its jobs.

use mcsa::{Error, Seed};
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, Family, Method, Optimizer, Target};

/// Everything that determines one result. Two equal jobs have the same rows, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The experiment's name.
    pub experiment: String,
    /// What is fitted.
    pub target: Target,
    /// What fits it.
    pub family: Family,
    /// What estimates the direction, with its label.
    pub method: Method,
    /// What moves lambda.
    pub optimizer: Optimizer,
    /// How many steps.
    pub steps: u64,
    /// Steps between two rows.
    pub record_every: u64,
    /// Which repetition, from 0.
    pub replicate: u64,
    /// Where its chance comes from.
    pub seed: Seed,
}

impl Job {
    /// The job's name: a hash of its canonical text, 32 hexadecimal digits.
    pub fn id(&self) -> String {
        // A struct of numbers and strings always has a text.
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{:032x}", fnv(text.as_bytes()))
    }
}

/// The 128-bit FNV-1a hash (Fowler, Noll & Vo): for names, not for secrets.
fn fnv(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// The jobs of an experiment at a preset: every replicate of every method.
///
/// Replicate `r` has the same seed under every method: comparisons are paired.
///
/// # Errors
/// If there is no such preset.
pub fn jobs(experiment: &Experiment, preset: &str) -> Result<Vec<Job>, Error> {
    let effort = experiment.preset(preset)?;
    let replicates = 0..effort.replicates;
    Ok(replicates
        .flat_map(|replicate| experiment.methods.iter().map(move |method| (replicate, method)))
        .map(|(replicate, method)| Job {
            experiment: experiment.name.clone(),
            target: experiment.target.clone(),
            family: experiment.family.clone(),
            method: method.clone(),
            optimizer: experiment.optimizer.clone(),
            steps: effort.steps.unwrap_or(experiment.steps),
            record_every: experiment.record_every,
            replicate,
            seed: experiment.seed().child(replicate),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_job_has_its_own_name() {
        let experiment = &Experiment::built_in().unwrap()[0];
        let jobs = jobs(experiment, "quick").unwrap();
        let names: HashSet<_> = jobs.iter().map(Job::id).collect();
        assert_eq!(names.len(), 20 * experiment.methods.len());
        let longer = Job { steps: jobs[0].steps + 1, ..jobs[0].clone() };
        assert!(!names.contains(&longer.id()));
    }

    /// Published test vectors of FNV-1a, 128 bits.
    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(fnv(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
