//! Division of jobs among processes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::task::Job;

/// Shard `K/N` of the jobs of a sweep, `1 <= K <= N`: the part that one of N processes runs.
///
/// The shard of a job is a hash of its id: it does not depend on other jobs, on results, or on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    count: u64,
}

/// Most shards of a sweep.
const MOST: u64 = 1_000_000;

impl Shard {
    /// Returns true if a job is in this shard.
    pub fn has(&self, job: &Job) -> bool {
        // The first 32 bits of the id as a fraction of 1, times the number of shards.
        let start = u64::from_str_radix(&job.id()[..8], 16).unwrap_or(0);
        (start * self.count) >> 32 == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.parse::<u64>().ok();
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
    use crate::plan::plan;
    use crate::registry::REGISTRY;
    use mcsa_data::Catalogue;

    /// Every job is in one shard, and no shard has twice its share.
    #[test]
    fn shards_divide_the_jobs() {
        let jobs = plan(&REGISTRY[0].experiment().unwrap(), PresetName::Default, &Catalogue::new(None))
            .unwrap()
            .jobs;
        let shards: Vec<Shard> = (1..=8).map(|k| format!("{k}/8").parse().unwrap()).collect();
        let shares = shards.iter().map(|shard| jobs.iter().filter(|job| shard.has(job)).count());
        let shares: Vec<usize> = shares.collect();
        assert_eq!(shares.iter().sum::<usize>(), jobs.len());
        assert!(
            jobs.len() > 200 && shares.iter().all(|share| *share > 0 && *share < jobs.len() / 4),
            "{shares:?}"
        );
        for job in &jobs {
            assert_eq!(shards.iter().filter(|shard| shard.has(job)).count(), 1);
        }
    }

    #[test]
    fn a_shard_is_k_of_n() {
        assert_eq!("3/8".parse::<Shard>().unwrap().to_string(), "3/8");
        for wrong in ["0/8", "9/8", "3", "3/", "-1/8", "1/0", "1/10000000", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
