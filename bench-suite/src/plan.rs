//! Jobs of an experiment, and their division among processes.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use mcsa_core::Error;

use crate::experiment::{Experiment, PresetName};
pub use crate::task::Job;
use crate::task::Task;
use mcsa_data::Catalogue;

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
    let tasks = experiment.tasks(effort)?;
    for target in tasks.iter().map(Task::target) {
        let Some(name) = target.data() else { continue };
        let key = (name.to_owned(), target.stands_in());
        if digests.contains_key(&key) || absent.contains_key(name) {
            continue;
        }
        match target.digest(catalogue) {
            Ok(digest) => drop(digests.insert(key, digest)),
            Err(error) if error.is_absent() => drop(absent.insert(name.to_owned(), error.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    let digest = |task: &Task| {
        let target = task.target();
        target.data().map_or(Some(None), |name| digests.get(&(name.to_owned(), target.stands_in())).cloned())
    };
    let tasks: Vec<(&Task, Option<String>)> =
        tasks.iter().filter_map(|task| Some((task, digest(task)?))).collect();
    let job = |replicate, (task, data): &(&Task, Option<String>)| Job {
        experiment: experiment.id.clone(),
        seeded_as: experiment.seeded_as.clone(),
        task: (*task).clone(),
        data: data.clone(),
        replicate,
        seed: experiment.seed().child(replicate),
    };
    let repeated = |r: u64| tasks.iter().filter(move |(task, _)| r < effort.replicates_of(task));
    let jobs = (0..effort.replicates).flat_map(|r| repeated(r).map(move |task| (r, task)));
    let jobs = jobs.map(|(replicate, task)| job(replicate, task)).collect();
    Ok(Plan { jobs, absent })
}

/// Shard `K/N` of the jobs of a sweep, `1 <= K <= N`: the part that one of N processes runs.
///
/// The shard of a job is a hash of its id: it does not depend on other jobs, on results, or on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    count: u64,
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::REGISTRY;
    use crate::task::Task;
    use std::collections::HashSet;

    #[test]
    fn every_job_has_its_own_name() {
        let catalogue = Catalogue::new(None);
        let mut names = HashSet::new();
        for entry in &REGISTRY {
            let experiment = entry.experiment().unwrap();
            let plan = plan(&experiment, PresetName::Quick, &catalogue).unwrap();
            if plan.jobs.is_empty() {
                assert!(experiment.is_exhibit() || !plan.absent.is_empty(), "{}", experiment.id);
                continue;
            }
            assert!(!experiment.is_exhibit(), "{}", experiment.id);
            assert!(plan.jobs.iter().all(|job| names.insert(job.id())), "{}", experiment.id);
            let mut other = plan.jobs[0].clone();
            other.data = Some("other bytes".into());
            assert!(!names.contains(&other.id()));
        }
    }

    /// That set is for comparison with published tables alone.
    #[test]
    fn boston_is_in_no_quick_preset() {
        let catalogue = Catalogue::new(None);
        let on_boston = |preset| {
            let experiments = REGISTRY.iter().map(|entry| entry.experiment().unwrap());
            let experiments = experiments.filter(|experiment| experiment.presets.contains_key(&preset));
            let jobs = experiments.flat_map(|experiment| plan(&experiment, preset, &catalogue).unwrap().jobs);
            jobs.filter(|job| job.task.target().data() == Some("boston")).count()
        };
        assert_eq!(on_boston(PresetName::Quick), 0);
        assert!(on_boston(PresetName::Default) > 0);
    }

    #[test]
    fn some_tasks_have_fewer_replicates() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcmc-se/tab2-logistic")).unwrap();
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

    /// The kind of a stand-in is part of the name of a job: results on it are not those of an imported set.
    #[test]
    fn jobs_know_their_origin() {
        let experiment = "id = 'x'\ntitle = 'x'\nreproduces = []\nseed = 3\n".to_owned()
            + &["quick", "default", "paper"]
                .map(|name| format!("[preset.{name}]\nreplicates = 1\nsteps = 3\n"))
                .concat()
            + "[fits]\nstart = { kind = 'standard' }\ntrace = { points = 1, spacing = 'even' }\n\
               [[fits.optimizer]]\nkind = 'adam'\nrate = 0.1\n\
               [[fits.target]]\nkind = 'subset-logistic'\ndata = ['susy', 'pima']\nrows = 20\nheld_out = 10\nprior_scale = 1.0\n\
               seed = 1\n[[fits.family]]\nkind = 'mean-field'\n[[fits.method]]\nkind = 'pmcsa'\nchains = 2\n";
        let experiment = Experiment::parse("x.toml", &experiment).unwrap();
        let plan = plan(&experiment, PresetName::Quick, &Catalogue::new(None)).unwrap();
        assert!(plan.absent.is_empty());
        let [absent, carried] = &plan.jobs[..] else { panic!("two jobs") };
        assert!(absent.is_stand_in() && absent.title().starts_with("x, SYNTHETIC susy"));
        assert!(!carried.is_stand_in() && carried.title().starts_with("x, pima"));
        let imported = Job { data: Some("digest".into()), ..absent.clone() };
        assert!(imported.id() != absent.id() && !imported.is_stand_in());
        assert!(matches!(&absent.task, Task::Fit(fit) if fit.target.stands_in()));
    }

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
