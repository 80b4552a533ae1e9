//! Fits of models with local latent points to the evidence lower bound.

use mcsa_annealed::{LocalFamily, LocalMinibatch, LocalMinibatched};
use mcsa_core::{Error, Parametric, Pushforward, from_fn};
use mcsa_estimators::{Draws, FlowElbo};
use mcsa_families::{Drawn, Link, MeanField};
use mcsa_models::LocalRobustRegression;

use super::bounded::Bounded;
use super::path::mean_and_error;
use super::{Done, Running};
use crate::catalog::{FamilyConfig, Method};
use crate::task::{Fit, Job};

/// Draws at a time: each has a local point for every datum.
const AT_ONCE: usize = 50;

impl Fit {
    /// Runs a fit of a robust regression: Semi-DAIS, or a mean-field Gaussian for the weights with all local latents integrated out,
    /// which uses all rows in each step.
    pub(super) fn run_local(
        &self,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<Done>, Error> {
        let model = self.target.local_rows(running.catalogue, job.seed)?;
        let (globals, (mean, scale)) = (model.num_globals(), self.start.place().unwrap_or((0.0, 1.0)));
        let (means, scales) = (vec![mean; globals], vec![scale; globals]);
        let (run, seed) = (Bounded::new(self, job, running)?, job.seed.named("measure"));
        match (&self.family, &self.method) {
            (FamilyConfig::SemiAnnealed(config), &Method::Minibatched { samples, batch }) => {
                let family = config.family(model.clone());
                let params = family.at(&means, &scales, scale, config.step_size)?;
                let estimator = LocalMinibatched { batch, elbo: FlowElbo::new(samples) };
                let rows: Vec<usize> = (0..model.num_data()).collect();
                let measure = |params: &[f64]| {
                    let (target, part) = (LocalMinibatch::new(&model, &rows)?, family.on(&rows));
                    let mut values = measured(draws, |lane, count| {
                        Ok(Draws::pushed(&target, &part, params, seed.stream(lane, 0), count)?.log_ratios())
                    })?;
                    let sizes = part.step_sizes(params, &mut vec![0.0; part.work_len(1)]);
                    values.extend([
                        ("zero_steps", sizes.zero as f64),
                        ("longest_steps", sizes.longest as f64),
                        ("still", f64::from(u8::from(sizes.is_still()))),
                    ]);
                    Ok(values)
                };
                run.finish((&model, &family, estimator), params, &measure)
            }
            (
                FamilyConfig::MeanField { .. },
                Method::Minibatched { samples, .. } | Method::Elbo { samples },
            ) => {
                let family = Drawn(MeanField::new(globals).with_link(Link::Exp));
                let params = family.0.at(&means, &scales)?;
                let target = from_fn(globals, |theta| integrated(&model, theta, &mut [])).with_gradient(
                    |theta, gradient| {
                        integrated(&model, theta, gradient);
                    },
                );
                let measure = |params: &[f64]| {
                    measured(draws, |lane, count| {
                        Ok(Draws::pushed(&target, &family, params, seed.stream(lane, 0), count)?.log_ratios())
                    })
                };
                run.finish((&target, &family, FlowElbo::new(*samples)), params, &measure)
            }
            (family, method) => {
                Err(Error::invalid(format!("{} in {} has no local points", method.kind(), family.kind())))
            }
        }
    }
}

/// `log p(theta, y)` with all local latents integrated out; writes its gradient unless that is empty.
fn integrated(model: &LocalRobustRegression, theta: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut log_p = model.add_prior_gradient(theta, gradient);
    for row in 0..model.num_data() {
        let term = model.term(row, theta);
        log_p += term.log_integral();
        if !gradient.is_empty() {
            let of_square = -0.5 * (term.shape + 0.5) / (term.shape + 0.5 * term.square);
            model.add_theta_gradient(row, theta, of_square, 1.0, gradient);
        }
    }
    log_p
}

/// Bound from this many draws, some at a time, each lot with a lane of its own.
fn measured(
    draws: usize,
    log_ratios: impl Fn(u64, usize) -> Result<Vec<f64>, Error>,
) -> Result<Vec<(&'static str, f64)>, Error> {
    let mut all = Vec::with_capacity(draws);
    while all.len() < draws {
        all.extend(log_ratios((all.len() / AT_ONCE) as u64, AT_ONCE.min(draws - all.len()))?);
    }
    let (bound, error) = mean_and_error(&all);
    Ok(vec![("elbo", bound), ("elbo_error", error)])
}
