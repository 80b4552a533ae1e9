//! Jobs: one replicate of a task.

use mcsa_core::Seed;
use serde::{Deserialize, Serialize};

use super::Task;

/// Everything that determines one result. Two equal jobs have bit-identical rows, except for seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the experiment when its jobs were named, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeded_as: Option<String>,
    /// The task.
    pub task: Task,
    /// SHA-256 of the data; `None` if there are none, or if a synthetic stand-in is used.
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
        let text = match &self.seeded_as {
            Some(name) => {
                serde_json::to_string(&Self { experiment: name.clone(), seeded_as: None, ..self.clone() })
            }
            None => serde_json::to_string(self),
        };
        let text = text.unwrap_or_default();
        format!("{:032x}", fnv(text.as_bytes()))
    }

    /// Description of the job: experiment, target, method, replicate.
    pub fn title(&self) -> String {
        let origin = if self.is_stand_in() { "SYNTHETIC " } else { "" };
        format!("{}, {origin}{}, replicate {}", self.experiment, self.task.title(), self.replicate)
    }

    /// Returns true if the data are a synthetic stand-in of a data set.
    pub fn is_stand_in(&self) -> bool {
        self.data.is_none() && self.task.target().data().is_some()
    }
}

/// 128-bit FNV-1a hash (Fowler, Noll & Vo): for names; not cryptographic.
fn fnv(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A renamed experiment keeps the names of its jobs.
    #[test]
    fn a_job_is_named_as_it_was() {
        let entry = &crate::registry::REGISTRY[0];
        let experiment = entry.experiment().unwrap();
        let catalogue = mcsa_data::Catalogue::new(None);
        let plan = crate::plan::plan(&experiment, crate::experiment::PresetName::Quick, &catalogue).unwrap();
        let job = &plan.jobs[0];
        assert_eq!((job.experiment.as_str(), job.seeded_as.as_deref()), ("ours/gaussian", Some("gaussian")));
        let old = Job { experiment: "gaussian".into(), seeded_as: None, ..job.clone() };
        assert_eq!((job.id(), job.seed), (old.id(), Seed::new(1).named("gaussian").child(0)));
        assert_ne!(Job { seeded_as: None, ..job.clone() }.id(), old.id());
    }

    /// Published test vectors of FNV-1a, 128 bits.
    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(fnv(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
