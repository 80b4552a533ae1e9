//! Jobs of an experiment.

use std::collections::BTreeMap;

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
}
