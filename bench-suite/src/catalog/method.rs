//! Gradient estimators and other methods by name.

use mcsa_core::{Error, Family, Gradient, Kernel, Pushforward, Reparameterised};
use mcsa_estimators::{
    Controlled, DynEstimator, Elbo, FlowElbo, ScoreClimb, ScoreWeights, Weighting, jsa, msc, msc_rb, pmcsa,
    rws, single, snis,
};
use mcsa_families::Defence;
use mcsa_kernels::{Hmc, Repeat};
use serde::{Deserialize, Serialize};

use super::Entrant;
use super::prior::FromPrior;

/// A method by name, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Method {
    /// Parallel chains with one transition of independent Metropolis-Hastings each (pMCSA).
    Pmcsa {
        /// Number of chains.
        chains: usize,
    },
    /// One chain with several transitions of independent Metropolis-Hastings (JSA).
    Jsa {
        /// Transitions per step.
        transitions: usize,
    },
    /// One chain of conditional importance sampling (MSC).
    Msc {
        /// Candidates drawn per step, without the retained one.
        fresh: usize,
    },
    /// As `Msc`, with all candidates averaged by their weights.
    MscRb {
        /// Candidates drawn per step, without the retained one.
        fresh: usize,
    },
    /// As `MscRb`, with candidates drawn from the prior, a standard normal, instead of q. Only for targets with that prior.
    MscPrior {
        /// Candidates drawn per step, without the retained one.
        fresh: usize,
    },
    /// Self-normalised importance sampling, without a chain.
    Snis {
        /// Draws per step.
        samples: usize,
    },
    /// Exclusive divergence, with reparameterisation gradients.
    Elbo {
        /// Draws per step.
        samples: usize,
    },
    /// As `Elbo`, from a fresh minibatch of the data in every step, and for pushforwards such as annealed paths. Only for metrics
    /// `bound`.
    Minibatched {
        /// Draws per step, which share the minibatch.
        samples: usize,
        /// Rows of a minibatch.
        batch: usize,
    },
    /// Exclusive divergence, with path-derivative gradients.
    Stl {
        /// Draws per step.
        samples: usize,
    },
    /// Self-normalised importance sampling, combined at times with a Hamiltonian chain.
    Rws {
        /// Draws per step.
        samples: usize,
        /// Step size of the leapfrog integrator.
        step_size: f64,
        /// Leapfrog steps per transition.
        leapfrog: usize,
    },
    /// Chi-square divergence, by self-normalised squared weights.
    Chivi {
        /// Draws per step.
        samples: usize,
    },
    /// Chi-square divergence, by squared weights divided by the largest.
    ChiviMax {
        /// Draws per step.
        samples: usize,
    },
    /// Expectation propagation: sweeps over the data instead of gradient steps. Only for probit regression.
    Ep {
        /// Number of passes over the data.
        sweeps: usize,
    },
    /// A path drawn in every step by a particle filter without a retained path. Only for targets with paths.
    Smc {
        /// Number of particles.
        particles: usize,
    },
    /// As `Pmcsa`, with a control variate: a regression on the scores of fresh draws.
    PmcsaCv {
        /// Number of chains.
        chains: usize,
    },
    /// One chain of Hamiltonian Monte Carlo, with unit mass.
    Hmc {
        /// Step size of the leapfrog integrator.
        step_size: f64,
        /// Leapfrog steps per transition.
        leapfrog: usize,
        /// Transitions per step of the fit.
        transitions: usize,
    },
    /// Markov chains of NUTS on a coreset of the rows, drawn by sensitivities: NUTS-CS (SL-DAIS, Sec. 7). Its draws have the
    /// distribution of the coreset's posterior, an approximation. No fit: its draws are measured.
    NutsCs {
        /// Number of draws of a row; rows that are drawn several times are listed once.
        points: usize,
        /// Number of chains, each with its own warm-up.
        chains: usize,
    },
    /// Markov chains of NUTS that conserve an energy estimated from some rows, with second-order Taylor control variates at the
    /// mode: HMCECS. It keeps a perturbed posterior exactly, whose marginal is near the posterior and not equal to it. No fit: its
    /// draws are measured.
    Hmcecs {
        /// Number of rows of a chain.
        rows: usize,
        /// Number of blocks of rows, one of which is drawn anew in each step.
        blocks: usize,
        /// Number of chains, each with its own warm-up.
        chains: usize,
    },
    /// Method of inference from the start to draws, within a budget of evaluations. Only for the section `[benchmarks]`.
    Inference {
        /// The method.
        entrant: Entrant,
    },
}

/// Views of one family with one lambda. A method takes the view that it requires.
#[derive(Clone, Copy)]
pub struct Views<'a> {
    /// The family with densities at arbitrary points.
    pub family: &'a (dyn Family + 'a),
    /// The family with an entropy in closed form, if it has one.
    pub closed: Option<&'a (dyn Reparameterised + 'a)>,
    /// The family as a pushforward of its base distribution.
    pub pushforward: Option<&'a (dyn Pushforward + 'a)>,
}

impl<'a> Views<'a> {
    /// Views of a family that has an entropy in closed form.
    pub fn closed<F: Reparameterised>(family: &'a F) -> Self {
        Self { family, closed: Some(family), pushforward: None }
    }
}

/// Estimator of a method, for any target and any family.
pub type AnyEstimator<'a> = DynEstimator<'a, dyn Gradient + 'a, dyn Family + 'a>;

impl Method {
    /// Every name with its settings and a description.
    pub const ALL: [(&'static str, &'static str, &'static str); 18] = [
        ("pmcsa", "chains = 10", "parallel chains of independent Metropolis-Hastings (pMCSA)"),
        ("jsa", "transitions = 10", "one chain, several transitions (JSA)"),
        ("msc", "fresh = 10", "one chain of conditional importance sampling (MSC)"),
        ("msc-rb", "fresh = 10", "the same, candidates averaged by weight (MSC)"),
        ("msc-prior", "fresh = 9", "the same, candidates from a standard normal prior (MSC)"),
        ("snis", "samples = 10", "self-normalised importance sampling"),
        ("elbo", "samples = 10", "the evidence bound, reparameterised, closed-form entropy"),
        ("minibatched", "samples = 1, batch = 256", "the same on minibatches of the data (SL-DAIS)"),
        ("stl", "samples = 10", "the same with the path derivative"),
        (
            "rws",
            "samples = 10, step_size = 0.1, leapfrog = 16",
            "importance sampling, every fifth time a Hamiltonian step (CW)",
        ),
        ("chivi", "samples = 10", "the chi-square divergence, squared weights over their sum"),
        ("chivi-max", "samples = 10", "the same, squared weights over the largest"),
        ("ep", "sweeps = 2", "expectation propagation, of probit regression (MSC)"),
        ("smc", "particles = 10", "a path from a filter without a retained one, along paths (MSC)"),
        ("pmcsa-cv", "chains = 10", "pmcsa with control variates"),
        ("hmc", "step_size = 0.1, leapfrog = 16, transitions = 1", "one chain of Hamiltonian Monte Carlo"),
        ("nuts-cs", "points = 64, chains = 4", "chains of NUTS on a coreset of the rows (SL-DAIS)"),
        ("hmcecs", "rows = 64, blocks = 8, chains = 4", "chains of NUTS on some rows at a time (SL-DAIS)"),
    ];

    /// Names of the methods for metrics of filters, of the bound alone, and of those that are no fits.
    pub const ELSEWHERE: [&'static str; 4] = ["smc", "minibatched", "nuts-cs", "hmcecs"];

    /// Name used in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pmcsa { .. } => "pmcsa",
            Self::Jsa { .. } => "jsa",
            Self::Msc { .. } => "msc",
            Self::MscRb { .. } => "msc-rb",
            Self::MscPrior { .. } => "msc-prior",
            Self::Snis { .. } => "snis",
            Self::Elbo { .. } => "elbo",
            Self::Minibatched { .. } => "minibatched",
            Self::Stl { .. } => "stl",
            Self::Rws { .. } => "rws",
            Self::Chivi { .. } => "chivi",
            Self::ChiviMax { .. } => "chivi-max",
            Self::Ep { .. } => "ep",
            Self::Smc { .. } => "smc",
            Self::PmcsaCv { .. } => "pmcsa-cv",
            Self::Hmc { .. } => "hmc",
            Self::NutsCs { .. } => "nuts-cs",
            Self::Hmcecs { .. } => "hmcecs",
            Self::Inference { entrant } => entrant.kind(),
        }
    }

    /// Budget `N` of the papers: draws, chains, transitions, fresh candidates, particles or rows per step, or number of sweeps.
    pub fn budget(&self) -> usize {
        match *self {
            Self::Pmcsa { chains } | Self::PmcsaCv { chains } => chains,
            Self::Jsa { transitions } => transitions,
            Self::Msc { fresh } | Self::MscRb { fresh } | Self::MscPrior { fresh } => fresh,
            Self::Ep { sweeps } => sweeps,
            Self::Smc { particles } => particles,
            Self::Snis { samples }
            | Self::Elbo { samples }
            | Self::Minibatched { samples, .. }
            | Self::Stl { samples }
            | Self::Rws { samples, .. }
            | Self::Chivi { samples }
            | Self::ChiviMax { samples } => samples,
            Self::Hmc { transitions, .. } => transitions,
            Self::NutsCs { points: rows, .. } | Self::Hmcecs { rows, .. } => rows,
            Self::Inference { .. } => 0,
        }
    }

    /// Cost of a step in evaluations of the target: for estimates of time, not for results.
    pub fn effort(&self) -> u64 {
        let evaluations = match *self {
            Self::Hmc { leapfrog, transitions, .. } => 2 * (leapfrog + 1) * transitions,
            Self::Elbo { samples } | Self::Stl { samples } => 2 * samples,
            Self::Rws { samples, leapfrog, .. } => samples + (leapfrog + 1) / 3,
            // A trajectory of NUTS has about eight steps.
            Self::NutsCs { .. } | Self::Hmcecs { .. } => 16,
            _ => self.budget(),
        };
        evaluations as u64 + 4
    }

    /// Returns true if families that are not Gaussian, and schedules, can be fitted by the method.
    pub fn fits_any_family(&self) -> bool {
        matches!(self, Self::Pmcsa { .. } | Self::Jsa { .. } | Self::MscRb { .. } | Self::Elbo { .. })
    }

    /// Number of chains of a method whose draws are measured, without a fit; `None` for other methods.
    pub fn sampling(&self) -> Option<usize> {
        match *self {
            Self::NutsCs { chains, .. } | Self::Hmcecs { chains, .. } => Some(chains),
            _ => None,
        }
    }

    /// The estimator of the method. With a guard its chains move by guarded proposals.
    ///
    /// # Errors
    /// If a setting is invalid, the family lacks a view that the method requires, or the method takes no guard.
    pub fn build<'a>(
        &self,
        Views { family: _, closed, pushforward }: Views<'a>,
        guard: Option<Defence>,
    ) -> Result<AnyEstimator<'a>, Error> {
        if guard.is_some() && !self.fits_any_family() {
            return Err(Error::invalid(format!("{} does not fit every family", self.kind())));
        }
        Ok(match *self {
            Self::Pmcsa { chains } => guarded(pmcsa(chains), guard),
            Self::Jsa { transitions } => guarded(jsa(transitions), guard),
            Self::Msc { fresh } => DynEstimator::new(msc(fresh + 1)),
            Self::MscRb { fresh } => guarded(msc_rb(fresh + 1), guard),
            Self::MscPrior { fresh } => DynEstimator::new(msc_rb(fresh + 1).guarded(FromPrior)),
            Self::Snis { samples } => DynEstimator::new(snis(samples)),
            Self::Elbo { samples } => match (closed, pushforward) {
                (Some(family), _) => DynEstimator::on(Elbo::closed(samples), family),
                (None, Some(family)) => DynEstimator::on(FlowElbo::new(samples), family),
                (None, None) => {
                    return Err(Error::invalid("the bound needs a family with gradients of its draws"));
                }
            },
            Self::Stl { samples } => match closed {
                Some(family) => DynEstimator::on(Elbo::path(samples), family),
                None => {
                    return Err(Error::invalid("the method stl is for Gaussian families; others take elbo"));
                }
            },
            Self::Rws { samples, step_size, leapfrog } => {
                DynEstimator::new(rws(samples, Hmc::new(step_size, leapfrog)?))
            }
            Self::Chivi { samples } => DynEstimator::new(ScoreWeights::new(samples, Weighting::ChiSquare)),
            Self::ChiviMax { samples } => {
                DynEstimator::new(ScoreWeights::new(samples, Weighting::ChiSquareByMax))
            }
            Self::PmcsaCv { chains } => DynEstimator::new(Controlled::new(pmcsa(chains))),
            Self::Hmc { step_size, leapfrog, transitions } => {
                let kernel = Repeat { kernel: Hmc::new(step_size, leapfrog)?, times: transitions };
                DynEstimator::new(single(kernel))
            }
            Self::Ep { .. } => {
                return Err(Error::invalid("ep has no direction: it is for fits of probit regression"));
            }
            Self::Smc { .. } => {
                return Err(Error::invalid("smc draws paths: it is for fits of the family twisted"));
            }
            Self::Minibatched { .. } => {
                return Err(Error::invalid(
                    "minibatches need rows of data: they are for metrics of the bound",
                ));
            }
            Self::Inference { .. } => {
                return Err(Error::invalid(
                    "the method is for runs within budgets, in the section [benchmarks]",
                ));
            }
            Self::NutsCs { .. } | Self::Hmcecs { .. } => {
                return Err(Error::invalid(
                    "the method is a sampler, whose draws are measured without a fit",
                ));
            }
        })
    }
}

fn guarded<'a, K: Kernel<dyn Gradient + 'a> + 'a>(
    climb: ScoreClimb<K>,
    guard: Option<Defence>,
) -> AnyEstimator<'a> {
    match guard {
        None => DynEstimator::new(climb),
        Some(guard) => DynEstimator::new(climb.guarded(guard)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_listing_says_can_be_read() {
        for (name, settings, _) in Method::ALL {
            let settings = settings.split(", ").collect::<Vec<_>>().join("\n");
            let method: Method = toml::from_str(&format!("kind = {name:?}\n{settings}")).unwrap();
            assert_eq!(method.kind(), name);
        }
    }
}
