//! Presets: amounts of computation.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::Task;
use crate::catalog::{FamilyConfig, Method, Start};
use crate::grid::Placed;

/// Most replicates that a file may ask for: each is a job in memory before the first one runs.
const MOST: u64 = 10_000;

/// A number of replicates whose jobs fit in memory.
fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let replicates = u64::deserialize(deserializer)?;
    let refuse = || serde::de::Error::custom(format!("replicates: at most {MOST}, not {replicates}"));
    if replicates <= MOST { Ok(replicates) } else { Err(refuse()) }
}

/// Amount of computation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Preset {
    /// Independent repetitions of each job, at most 10,000 in a file.
    #[serde(deserialize_with = "bounded")]
    pub replicates: u64,
    /// Steps of a fit; transitions behind a variance; parameters of a scatter.
    pub steps: u64,
    /// Draws of each chain of methods whose draws are measured without a fit, after a warm-up of half as many steps.
    #[serde(default)]
    pub draws: u64,
    /// Only targets with these labels.
    pub targets: Option<Vec<String>>,
    /// Only methods of these kinds.
    pub methods: Option<Vec<String>>,
    /// Only methods with these budgets.
    pub budgets: Option<Vec<usize>>,
    /// Fewer replicates for some kinds of methods, `hmc = 5`, or for one on one target, `"hmc on pima" = 0`, or for annealed paths with
    /// some surrogate, `posterior = 3`.
    #[serde(default)]
    pub fewer: BTreeMap<String, u64>,
    /// Further initial parameters; each gives its own fits.
    #[serde(default)]
    pub also_from: Vec<Placed<Start>>,
    /// Use only every n-th optimiser of the file, beginning with the first.
    pub stride: Option<usize>,
    /// Number of auxiliary sets of chains beside each fit, from which the variance of its direction is measured; 0 if absent.
    #[serde(default)]
    pub auxiliary: u64,
}

impl Preset {
    /// Keys of a task in `fewer`: method and target, method, and the surrogate of annealed paths; the first that is listed counts.
    pub(crate) fn keys_of(task: &Task) -> Vec<String> {
        let kind = task.method().kind();
        let mut keys = vec![format!("{kind} on {}", task.target().label()), kind.to_owned()];
        if let Task::Benchmark(benchmark) = task {
            let title = benchmark.target.title();
            keys.splice(..0, [format!("{kind} on {title}"), title]);
        }
        if let Some(FamilyConfig::Annealed(annealed)) = task.fit().map(|fit| &fit.family) {
            keys.push(annealed.surrogate.key());
        }
        keys
    }

    /// Number of replicates of a task.
    pub(crate) fn replicates_of(&self, task: &Task) -> u64 {
        let fewer = Self::keys_of(task).iter().find_map(|key| self.fewer.get(key)).copied();
        fewer.map_or(self.replicates, |fewer| fewer.min(self.replicates))
    }

    /// Returns true if the preset includes this target and this method.
    pub(crate) fn admits(&self, target: &str, method: &Method) -> bool {
        let among = |names: &Option<Vec<String>>, name: &str| {
            names.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
        };
        let has_budget = self.budgets.as_ref().is_none_or(|budgets| budgets.contains(&method.budget()));
        among(&self.targets, target) && among(&self.methods, method.kind()) && has_budget
    }
}
