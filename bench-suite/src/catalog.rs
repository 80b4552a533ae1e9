//! From names to types: the only place that matches on them.

use std::f64::consts::{LN_2, TAU};

use faer::Mat;
use mcsa::{Error, Estimator};
use mcsa_estimators::{Ascent, jsa, pmcsa};
use mcsa_families::MeanField;
use mcsa_models::Gaussian;

use crate::experiment;
use crate::job::{self, Metrics};
use crate::plan::Job;
use crate::store::Store;

/// How a job is run, beyond what determines its result.
pub struct Running<'a> {
    /// Where results and checkpoints go.
    pub store: &'a Store,
    /// Steps between two checkpoints.
    pub checkpoint_every: u64,
    /// Told the steps made since the last call; returns whether to go on.
    pub progress: &'a (dyn Fn(u64) -> bool + Sync),
}

/// Runs a job and keeps its rows.
///
/// # Errors
/// If the job's parts do not fit each other, the fit diverges, or the disk refuses.
pub fn run(job: &Job, running: &Running<'_>) -> Result<(), Error> {
    let experiment::Target::Gaussian { dim, correlation } = job.target;
    let target = gaussian(dim, correlation)?;
    let experiment::Family::MeanField { link } = job.family;
    let family = MeanField::new(dim).with_link(link);
    let initial = family.at(&vec![0.0; dim], &vec![LN_2; dim])?;
    let floor = target.mean_field_floor();
    let divergence =
        |params: &[f64]| vec![("kl", inclusive_divergence(&target, &family, params)), ("kl_floor", floor)];
    let result = match job.method.estimator {
        experiment::Estimator::Pmcsa { chains } => {
            climb(job, &target, &family, pmcsa(chains), initial, &divergence, running)
        }
        experiment::Estimator::Jsa { transitions } => {
            climb(job, &target, &family, jsa(transitions), initial, &divergence, running)
        }
    };
    let place = format!("{}, {}, replicate {}", job.experiment, job.method.label, job.replicate);
    result.map_err(|error| error.within(place))
}

fn climb<E: Estimator<Gaussian, MeanField>>(
    job: &Job,
    target: &Gaussian,
    family: &MeanField,
    estimator: E,
    initial: Vec<f64>,
    metrics: &Metrics<'_>,
    running: &Running<'_>,
) -> Result<(), Error> {
    let experiment::Optimizer::Adam(adam) = &job.optimizer;
    let ascent = Ascent { target, family, estimator, optimizer: adam.clone(), seed: job.seed };
    job::run(job, &ascent, initial, metrics, running)
}

/// The target named `gaussian`: mean `1, -1, 1, ..`, standard deviations spread geometrically from 0.5 to 2, every pair
/// with the same correlation.
///
/// # Errors
/// If the correlation makes no covariance: it must lie in `(-1/(dim - 1), 1)`.
pub fn gaussian(dim: usize, correlation: f64) -> Result<Gaussian, Error> {
    let scale = |i: usize| 0.5 * 4.0_f64.powf(i as f64 / (dim.max(2) - 1) as f64);
    let mean = (0..dim).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let entry = |i, j| scale(i) * scale(j) * if i == j { 1.0 } else { correlation };
    Gaussian::new(mean, Mat::from_fn(dim, dim, entry).as_ref())
}

/// `KL(p || q) = -E_p[log q] - H(p)`, exactly.
fn inclusive_divergence(target: &Gaussian, family: &MeanField, params: &[f64]) -> f64 {
    let (mean, rho) = params.split_at(family.dim);
    let surprise = mean.iter().zip(rho).enumerate().map(|(i, (m, &rho))| {
        let (variance, scale) = (target.variance(i), family.link.scale(rho));
        let spread = (variance + (target.mean()[i] - m).powi(2)) / (scale * scale);
        0.5 * (spread + TAU.ln()) + scale.ln()
    });
    surprise.sum::<f64>() - target.entropy()
}
