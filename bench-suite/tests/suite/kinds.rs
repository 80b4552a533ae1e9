//! Short jobs of every kind.

use std::collections::BTreeSet;

use mcsa_bench_suite::catalog::{Ansatz, FamilyConfig};
use mcsa_bench_suite::experiment::{Experiment, PresetName};
use mcsa_bench_suite::plan::plan;
use mcsa_bench_suite::registry::{Entry, REGISTRY};
use mcsa_bench_suite::task::{Job, Metrics, Task};
use mcsa_data::Catalogue;

/// Fits of shapes in two stages after a warm fit.
pub(crate) const SHAPES: &str = "
id = 'shapes'
title = 'Shapes'
seed = 3
preset.quick = { replicates = 1, steps = 30 }
[fits]
metrics = 'reference'
start = { kind = 'warm', mean = 0.5, scale = 1.5, steps = 10 }
trace = { points = 6, spacing = 'even' }
[[fits.optimizer]]
kind = 'adam'
rate = 0.02
[[fits.schedule]]
name = 'two'
stages = [{ part = 0.4, defence = 0.5, power = 0.5 }, { part = 0.6, defence = 0.1, power = 1.0 }]
[[fits.target]]
kind = 'banana'
width = 2.0
bend = 0.5
[[fits.family]]
kind = 'affine-flow'
couplings = 2
width = 4
[[fits.method]]
kind = 'pmcsa'
chains = 4
[[fits.method]]
kind = 'jsa'
transitions = 4
[[fits.method]]
kind = 'msc-rb'
fresh = 4
[[fits.method]]
kind = 'elbo'
samples = 4
";

/// Chains of both methods, forty each.
pub(crate) const CHAINS: &str = "
id = 'chains'
title = 'Chains'
seed = 3
preset.quick = { replicates = 1, steps = 1, draws = 12 }
[fits]
metrics = { bound = { draws = 2 } }
start = { kind = 'standard' }
trace = { points = 1, spacing = 'even' }
[[fits.optimizer]]
kind = 'adam'
rate = 0.02
[[fits.target]]
kind = 'synthetic-logistic'
name = 'synthetic'
rows = 40
held_out = 10
dim = 2
rate = 0.2
correlation = 0.5
prior_scale = 1.0
seed = 1
[[fits.family]]
kind = 'mean-field'
[[fits.method]]
kind = 'hmcecs'
rows = 8
blocks = 4
chains = 40
[[fits.method]]
kind = 'nuts-cs'
points = 12
chains = 40
";

/// Methods of inference on a Student t, each within forty budgets.
fn benchmarks() -> String {
    let budgets: Vec<u64> = (300..340).collect();
    format!(
        "id = 'benchmarks'\ntitle = 'Benchmarks'\nseed = 3\n\
         preset.quick = {{ replicates = 1, steps = 40 }}\n[benchmarks]\nbudgets = {budgets:?}\n\
         [[benchmarks.case]]\nkind = 'student'\ndim = 2\nfreedom = 5.0\n\
         [[benchmarks.method]]\nkind = 'moments'\nfamily = ['full-rank', 'mixture']\n\
         [[benchmarks.method]]\nkind = 'batch-match'\nsamples = 5\n\
         [[benchmarks.method]]\nkind = 'nuts'\n"
    )
}

pub(crate) fn planned(experiment: &Experiment) -> Vec<Job> {
    let mut jobs = plan(experiment, PresetName::Quick, &Catalogue::new(None)).unwrap().jobs;
    jobs.retain(|job| job.replicate == 0);
    jobs
}

/// An experiment whose jobs take milliseconds.
pub(crate) const COST: &str = "pmcsa/tab-cost";

pub(crate) fn cost() -> Experiment {
    entry(COST).experiment().expect("it can be read")
}

pub(crate) fn cost_jobs() -> Vec<Job> {
    plan(&cost(), PresetName::Quick, &Catalogue::new(None)).expect("a plan").jobs
}

pub(crate) fn entry(id: &str) -> &'static Entry {
    REGISTRY.iter().find(|entry| entry.file.contains(id)).unwrap()
}

/// The first job of each method of an experiment, shortened.
fn of(id: &str, shorten: fn(&mut Task)) -> Vec<Job> {
    let mut jobs = planned(&entry(id).experiment().unwrap());
    jobs.iter_mut().for_each(|job| shorten(&mut job.task));
    let mut kinds = BTreeSet::new();
    jobs.retain(|job| kinds.insert(job.task.method().kind()));
    jobs
}

/// The mean field, annealed paths that learn weights and points, and naive subsampling.
fn is_quick(family: &FamilyConfig) -> bool {
    match family {
        FamilyConfig::MeanField { .. } => true,
        FamilyConfig::Annealed(annealed) => {
            [Ansatz::KmInitPm, Ansatz::Minibatch].contains(&annealed.surrogate)
        }
        _ => false,
    }
}

/// Jobs of each kind, by the name of the kind.
pub(crate) fn jobs() -> Vec<(&'static str, Vec<Job>)> {
    let fits = of("ours/gaussian", |task| {
        if let Task::Fit(fit) = task {
            (fit.steps, fit.trace.points, fit.auxiliary, fit.averaged) = (40, 5, 2, 10);
        }
    });
    let variances = of("cw/fig7", |task| {
        if let Task::Variance(variance) = task {
            variance.transitions = 40;
        }
    });
    let scatters = of("mcmc-se/fig3", |task| {
        if let Task::Scatter(scatter) = task {
            (scatter.lambdas, scatter.setting.chains, scatter.setting.length) = (4, 9, 3);
        }
    });
    let paths = of("msc/fig3-exchange-rates", |task| {
        if let Task::Fit(fit) = task {
            (fit.steps, fit.metrics) = (34, Metrics::Filters { particles: 40, filters: 3 });
        }
    });
    let bounds: Vec<Job> = planned(&entry("sl-dais/tab1").experiment().unwrap())
        .into_iter()
        .filter_map(|mut job| match &mut job.task {
            Task::Fit(fit) if is_quick(&fit.family) => {
                (fit.steps, fit.metrics) = (40, Metrics::Bound { draws: 50 });
                Some(job)
            }
            _ => None,
        })
        .collect();
    let shapes = planned(&Experiment::parse("shapes.toml", SHAPES).unwrap());
    let chains = planned(&Experiment::parse("chains.toml", CHAINS).unwrap());
    vec![
        ("fits", fits),
        ("variances", variances),
        ("scatters", scatters),
        ("paths", paths),
        ("bounds", bounds),
        ("shapes", shapes),
        ("chains", chains),
        ("benchmarks", planned(&Experiment::parse("benchmarks.toml", &benchmarks()).unwrap())),
    ]
}
