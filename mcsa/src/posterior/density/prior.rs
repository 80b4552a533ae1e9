//! Prior and likelihood apart: draws of the prior as starts, and what they could have missed.

use std::fmt;

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Error, ExactDraws, Gradient, LogDensity, Named, bits, borrow, same_length};
use serde::{Deserialize, Serialize};

use crate::posterior::rule::RULE;
use crate::posterior::start::mode_search::ModeSearch;
use crate::posterior::{FitState, Target};

/// Posterior of a prior with exact draws and a likelihood: [`fit`](crate::fit()) then also begins ascents at draws of the prior, and reports
/// what these could have missed.
///
/// ```
/// use mcsa::{Options, Posterior};
/// use mcsa::prelude::*;
/// let coin = from_fn(1, |z| 6.0 * z[0] - 8.0 * z[0].exp().ln_1p());
/// let posterior = Posterior::new(mcsa::models::Gaussian::standard(1), coin)?;
/// let fitted = mcsa::fit_density(&posterior, &Options::seeded(1))?;
/// assert!(fitted.verdict.is_yes() && fitted.prior.is_some());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Posterior<P, L> {
    prior: P,
    likelihood: L,
    /// Whether reports have the names and scales of the prior.
    names_of_prior: bool,
}

impl<P: ExactDraws, L: LogDensity> Posterior<P, L> {
    /// The posterior of this prior and the log likelihood `likelihood`, a function of the same coordinates. Reports have the names and scales
    /// of the prior if it has any, else those of the likelihood.
    ///
    /// # Errors
    /// If the dimensions differ.
    pub fn new(prior: P, likelihood: L) -> Result<Self, Error> {
        same_length("dimension of the likelihood", prior.dim(), likelihood.dim())
            .map_err(|error| error.within("Posterior"))?;
        let origin = vec![0.0; prior.dim()];
        let [mut named, mut plain] = [(); 2].map(|()| Named::default());
        prior.constrain(&origin, &mut named);
        plain.vector("z", origin);
        Ok(Self { prior, likelihood, names_of_prior: named.names() != plain.names() })
    }
}

impl<P: ExactDraws, L: LogDensity> LogDensity for Posterior<P, L> {
    fn dim(&self) -> usize {
        self.prior.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.dim().max(1) * columns.max(1)
            + columns
            + self.prior.work_len(columns).max(self.likelihood.work_len(columns))
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.prior.log_density(z, work) + self.likelihood.log_density(z, work)
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], mut work: &mut [f64]) {
        let of_prior = borrow(&mut work, out.len());
        self.prior.log_densities(z, of_prior, work);
        self.likelihood.log_densities(z, out, work);
        out.iter_mut().zip(&*of_prior).for_each(|(out, log_prior)| *out += log_prior);
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        match self.names_of_prior {
            true => self.prior.constrain(z, out),
            false => self.likelihood.constrain(z, out),
        }
    }

    fn prior(&self) -> Option<&dyn ExactDraws> {
        Some(&self.prior)
    }
}

impl<P: ExactDraws + Gradient, L: Gradient> Gradient for Posterior<P, L> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let of_prior = borrow(&mut work, z.len());
        let log_prior = self.prior.gradient_into(z, of_prior, work);
        let log_likelihood = self.likelihood.gradient_into(z, gradient, work);
        gradient.iter_mut().zip(&*of_prior).for_each(|(slope, of_prior)| *slope += of_prior);
        log_prior + log_likelihood
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (dim, columns) = z.shape();
        let slopes = borrow(&mut work, dim * columns);
        let of_prior = borrow(&mut work, columns);
        let mut slopes = mcsa_core::batch_mut(slopes, dim, columns);
        self.prior.gradients_into(z, of_prior, slopes.as_mut(), work);
        self.likelihood.gradients_into(z, out, gradients.as_mut(), work);
        gradients += &slopes;
        out.iter_mut().zip(&*of_prior).for_each(|(out, log_prior)| *out += log_prior);
    }
}

/// What draws of the prior show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PriorLook {
    /// Number of draws.
    pub draws: usize,
    /// Log evidence by them, the log of their mean likelihood.
    #[serde(with = "bits::scalar")]
    pub log_evidence: f64,
    /// Its standard error.
    #[serde(with = "bits::scalar")]
    pub error: f64,
}

impl PriorLook {
    /// Largest probability under the prior of a region that all draws miss with probability 5 %: `1 - 0.05^(1/n)`.
    pub fn unseen(&self) -> f64 {
        -((0.05_f64).ln() / self.draws as f64).exp_m1()
    }
}

impl fmt::Display for PriorLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.unseen();
        let Self { draws, log_evidence, error } = self;
        write!(
            f,
            "{draws} draws of the prior are starts too: with 95 % one of them lies in any region with {percent:.1e} % of the prior"
        )?;
        match *error <= RULE.evidence_error {
            true => write!(f, "; log evidence by them {log_evidence:.2} +- {error:.2}"),
            false => Ok(()),
        }
    }
}

/// Share of the budget that draws of the prior take.
const SHARE: u64 = 10;
/// Draws of a batch.
const BATCH: usize = 1_000;
/// Draws at which ascents begin.
const BEST: usize = 20;

impl FitState {
    /// Draws the prior, once, if there is one, and begins ascents at the draws whose log density exceeds `log_q` most.
    pub(crate) fn look_from_prior(
        &mut self,
        target: &Target<'_>,
        search: &mut ModeSearch,
        log_q: &mut dyn FnMut(&[f64]) -> f64,
    ) -> Result<(), Error> {
        let Some(prior) = target.density().inner().prior().filter(|_| self.prior.is_none()) else {
            return Ok(());
        };
        let (dim, seed) = (target.dim(), self.seed().named("prior"));
        let (mut ratios, mut best) = (Vec::new(), Vec::<(f64, Vec<f64>)>::new());
        let mut work = vec![0.0; target.density().work_len(BATCH).max(prior.work_len(BATCH))];
        let (mut log_p, mut log_prior) = (vec![0.0; BATCH], vec![0.0; BATCH]);
        let spare = self.left().saturating_sub(self.for_verdict(target, 0)) / 2;
        let wanted = (self.budget() / SHARE).min(spare) as usize;
        let mut z = Mat::zeros(dim, BATCH);
        for batch in 0..(wanted / BATCH) as u64 {
            for j in 0..BATCH {
                prior.draw_into(&mut seed.stream(j as u64, batch), z.col_as_slice_mut(j));
            }
            target.density().log_densities(z.as_ref(), &mut log_p, &mut work);
            if target.gate().is_closed() {
                break;
            }
            prior.log_densities(z.as_ref(), &mut log_prior, &mut work);
            for j in 0..BATCH {
                ratios.push(log_p[j] - log_prior[j]);
                let over = log_p[j] - log_q(z.col_as_slice(j));
                if !over.is_nan() && (best.len() < BEST || over > best[BEST - 1].0) {
                    let place = best.partition_point(|(other, _)| *other >= over);
                    best.insert(place, (over, z.col_as_slice(j).to_vec()));
                    best.truncate(BEST);
                }
            }
        }
        if ratios.is_empty() {
            return Ok(());
        }
        let (top, count) = (ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max), ratios.len() as f64);
        let mean = ratios.iter().map(|ratio| (ratio - top).exp()).sum::<f64>() / count;
        let size = mcsa_diagnostics::importance_sample_size(&ratios);
        let error = (1.0 / size - 1.0 / count).max(0.0).sqrt();
        self.prior = Some(PriorLook { draws: ratios.len(), log_evidence: top + mean.ln(), error });
        let starts: Vec<Vec<f64>> = best.into_iter().map(|(_, z)| z).collect();
        match self.trusted_gradient(target) {
            Some(gradient) => search.advance_from(target.shared(gradient), &starts),
            None => starts
                .iter()
                .try_for_each(|start| search.advance_from_by_density(target.density(), start).map(drop)),
        }
    }
}
