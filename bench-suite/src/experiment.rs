//! An experiment, as written in its file.

use std::collections::BTreeMap;

use mcsa::{Error, Seed};
use mcsa_families::Link;
use mcsa_optim::Adam;
use serde::{Deserialize, Serialize};

/// What `experiments/*.toml` holds: a target, a family, methods to compare, and presets of effort.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// Its name, which is also that of its folder of results.
    pub name: String,
    /// What a reader sees above its figure.
    pub title: String,
    /// The number from which every job's seed is derived.
    pub seed: u64,
    /// Steps of a job, unless the preset says otherwise.
    pub steps: u64,
    /// Steps between two rows.
    pub record_every: u64,
    /// What is fitted.
    pub target: Target,
    /// What fits it.
    pub family: Family,
    /// What moves lambda.
    pub optimizer: Optimizer,
    /// What is compared.
    #[serde(rename = "method")]
    pub methods: Vec<Method>,
    /// How much to run.
    #[serde(rename = "preset")]
    pub presets: BTreeMap<String, Preset>,
}

/// A target by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Target {
    /// Mean `1, -1, 1, ..`, standard deviations from 0.5 to 2, all pairs equally correlated.
    Gaussian {
        /// The dimension.
        dim: usize,
        /// The correlation of each pair.
        correlation: f64,
    },
}

/// A family by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Family {
    /// Independent Gaussians.
    MeanField {
        /// How a scale is parameterised.
        link: Link,
    },
}

/// An estimator by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Estimator {
    /// Parallel chains.
    Pmcsa {
        /// How many.
        chains: usize,
    },
    /// One chain.
    Jsa {
        /// Transitions per step.
        transitions: usize,
    },
}

/// An optimiser by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Optimizer {
    /// Adam with its constants.
    Adam(Adam),
}

/// One of the methods compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Method {
    /// Its name in legends and tables.
    pub label: String,
    /// What estimates the direction.
    pub estimator: Estimator,
}

/// How much to run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Preset {
    /// Independent repetitions of each method.
    pub replicates: u64,
    /// Steps of a job, if not the experiment's.
    pub steps: Option<u64>,
}

impl Experiment {
    /// Reads the text of an experiment file.
    ///
    /// # Errors
    /// If it is malformed or names something unknown; the message says where.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let experiment: Self = toml::from_str(text).map_err(|error| Error::invalid(error.to_string()))?;
        let at_least_one = |name, value: usize| match value {
            0 => Err(Error::parameter(name, 0.0, "at least 1").within(experiment.name.clone())),
            _ => Ok(()),
        };
        at_least_one("record-every", usize::from(experiment.record_every > 0))?;
        at_least_one("the number of methods", experiment.methods.len())?;
        Ok(experiment)
    }

    /// The experiments that come with the program.
    ///
    /// # Errors
    /// If one is malformed, which the tests exclude.
    pub fn built_in() -> Result<Vec<Self>, Error> {
        [include_str!("../experiments/gaussian.toml")].into_iter().map(Self::parse).collect()
    }

    /// The effort of a preset.
    ///
    /// # Errors
    /// If there is none of this name; the message lists those there are.
    pub fn preset(&self, name: &str) -> Result<&Preset, Error> {
        self.presets.get(name).ok_or_else(|| {
            let known: Vec<_> = self.presets.keys().map(String::as_str).collect();
            Error::invalid(format!("{}: no preset {name:?}; there are {}", self.name, known.join(", ")))
        })
    }

    /// The root of all its randomness.
    pub fn seed(&self) -> Seed {
        Seed::new(self.seed).named(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_program_can_be_read() {
        for experiment in Experiment::built_in().unwrap() {
            assert!(experiment.preset("smoke").is_ok(), "{}", experiment.name);
            assert!(experiment.preset("quick").is_ok(), "{}", experiment.name);
        }
    }

    #[test]
    fn a_misspelt_line_is_named() {
        let text = include_str!("../experiments/gaussian.toml");
        let error = Experiment::parse(&text.replace("record-every", "record-evry")).unwrap_err().to_string();
        assert!(error.contains("record-evry") && error.contains("line"), "{error}");
        let error = Experiment::parse(&text.replace("\"pmcsa\"", "\"pmsca\"")).unwrap_err().to_string();
        assert!(error.contains("pmsca"), "{error}");
        let error = Experiment::parse(&text.replace("rate = 0.01", "rate = -1")).unwrap_err().to_string();
        assert!(error.contains("rate is -1, expected positive and finite"), "{error}");
    }
}
