//! Methods by name.

use mcsa::{Counted, Error, Estimator};
use mcsa_estimators::{
    Controlled, Elbo, ScoreWeights, Weighting, jsa, msc, msc_rb, pmcsa, rws, single, snis,
};
use mcsa_families::Gaussian;
use mcsa_kernels::{Hmc, Repeat};
use serde::{Deserialize, Serialize};

use super::Posterior;
use super::prior::FromPrior;

/// An estimator by name, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Method {
    /// Parallel chains, one transition each.
    Pmcsa {
        /// How many chains.
        chains: usize,
    },
    /// One chain, several transitions.
    Jsa {
        /// Transitions per step.
        transitions: usize,
    },
    /// One chain, conditional importance sampling.
    Msc {
        /// Candidates drawn anew in every step; the retained one is not counted.
        fresh: usize,
    },
    /// The same, all candidates averaged by their weights.
    MscRb {
        /// Candidates drawn anew in every step; the retained one is not counted.
        fresh: usize,
    },
    /// The same with candidates from the prior, a standard normal, in place of q: only for targets with that prior.
    MscPrior {
        /// Candidates drawn anew in every step; the retained one is not counted.
        fresh: usize,
    },
    /// Self-normalised importance sampling, no chain.
    Snis {
        /// Draws per step.
        samples: usize,
    },
    /// The exclusive divergence, by reparameterisation.
    Elbo {
        /// Draws per step.
        samples: usize,
    },
    /// The same with the path derivative.
    Stl {
        /// Draws per step.
        samples: usize,
    },
    /// Self-normalised importance sampling, and once in a while a Hamiltonian chain.
    Rws {
        /// Draws per step.
        samples: usize,
        /// The length of a leapfrog step.
        step_size: f64,
        /// Leapfrog steps per transition.
        leapfrog: usize,
    },
    /// The chi-square divergence, by self-normalised squared weights.
    Chivi {
        /// Draws per step.
        samples: usize,
    },
    /// The same, by squares of weights over the largest.
    ChiviMax {
        /// Draws per step.
        samples: usize,
    },
    /// Expectation propagation: no direction, but sweeps over data. Only for probit regression.
    Ep {
        /// Passes over the data.
        sweeps: usize,
    },
    /// A path drawn anew in every step by a filter that retains none. Only for paths.
    Smc {
        /// Particles.
        particles: usize,
    },
    /// Parallel chains, less the regression on the scores of fresh draws.
    PmcsaCv {
        /// How many chains.
        chains: usize,
    },
    /// One chain of Hamiltonian Monte Carlo, with unit mass.
    Hmc {
        /// The length of a leapfrog step.
        step_size: f64,
        /// Leapfrog steps per transition.
        leapfrog: usize,
        /// Transitions per step of the fit.
        transitions: usize,
    },
}

/// What a method fits: any posterior, counted.
pub type CountedTarget<'a> = Counted<&'a dyn Posterior>;

/// What it fits with: any Gaussian family, counted.
pub type CountedFamily<'a> = Counted<&'a dyn Gaussian>;

/// Something to be done with an estimator whose type only the catalogue knows.
pub trait WithEstimator<'a> {
    /// What comes of it.
    type Out;

    /// Does it.
    ///
    /// # Errors
    /// As the implementation says.
    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(
        self,
        estimator: E,
    ) -> Result<Self::Out, Error>;
}

impl Method {
    /// Every name, its settings, and what stands behind it.
    pub const ALL: [(&'static str, &'static str, &'static str); 15] = [
        ("pmcsa", "chains = 10", "parallel chains of independent Metropolis-Hastings (pMCSA)"),
        ("jsa", "transitions = 10", "one chain, several transitions (JSA)"),
        ("msc", "fresh = 10", "one chain of conditional importance sampling (MSC)"),
        ("msc-rb", "fresh = 10", "the same, candidates averaged by weight (MSC)"),
        ("msc-prior", "fresh = 9", "the same, candidates from a standard normal prior (MSC)"),
        ("snis", "samples = 10", "self-normalised importance sampling"),
        ("elbo", "samples = 10", "the evidence bound, reparameterised, closed-form entropy"),
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
    ];

    /// The one method that fits nothing but paths.
    pub const ALONG_PATHS: &'static str = "smc";

    /// The name, as files write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pmcsa { .. } => "pmcsa",
            Self::Jsa { .. } => "jsa",
            Self::Msc { .. } => "msc",
            Self::MscRb { .. } => "msc-rb",
            Self::MscPrior { .. } => "msc-prior",
            Self::Snis { .. } => "snis",
            Self::Elbo { .. } => "elbo",
            Self::Stl { .. } => "stl",
            Self::Rws { .. } => "rws",
            Self::Chivi { .. } => "chivi",
            Self::ChiviMax { .. } => "chivi-max",
            Self::Ep { .. } => "ep",
            Self::Smc { .. } => "smc",
            Self::PmcsaCv { .. } => "pmcsa-cv",
            Self::Hmc { .. } => "hmc",
        }
    }

    /// The papers' `N`: draws, chains, transitions, fresh candidates or particles per step; sweeps.
    pub fn budget(&self) -> usize {
        match *self {
            Self::Pmcsa { chains } | Self::PmcsaCv { chains } => chains,
            Self::Jsa { transitions } => transitions,
            Self::Msc { fresh } | Self::MscRb { fresh } | Self::MscPrior { fresh } => fresh,
            Self::Ep { sweeps } => sweeps,
            Self::Smc { particles } => particles,
            Self::Snis { samples }
            | Self::Elbo { samples }
            | Self::Stl { samples }
            | Self::Rws { samples, .. }
            | Self::Chivi { samples }
            | Self::ChiviMax { samples } => samples,
            Self::Hmc { transitions, .. } => transitions,
        }
    }

    /// How much a step costs, in evaluations of the target: for estimates of time, not for results.
    pub fn effort(&self) -> u64 {
        let evaluations = match *self {
            Self::Hmc { leapfrog, transitions, .. } => 2 * (leapfrog + 1) * transitions,
            Self::Elbo { samples } | Self::Stl { samples } => 2 * samples,
            Self::Rws { samples, leapfrog, .. } => samples + (leapfrog + 1) / 3,
            _ => self.budget(),
        };
        evaluations as u64 + 4
    }

    /// Turns the name into an estimator and hands it over.
    ///
    /// # Errors
    /// If a setting is impossible, or `visitor` fails.
    pub fn meet<'a, V: WithEstimator<'a>>(&self, visitor: V) -> Result<V::Out, Error> {
        match *self {
            Self::Pmcsa { chains } => visitor.with(pmcsa(chains)),
            Self::Jsa { transitions } => visitor.with(jsa(transitions)),
            Self::Msc { fresh } => visitor.with(msc(fresh + 1)),
            Self::MscRb { fresh } => visitor.with(msc_rb(fresh + 1)),
            Self::MscPrior { fresh } => visitor.with(msc_rb(fresh + 1).guarded(FromPrior)),
            Self::Ep { .. } => Err(Error::invalid(
                "expectation propagation has no direction: it is for [fits] of probit regression",
            )),
            Self::Smc { .. } => Err(Error::invalid("a filter draws paths: it is for [paths]")),
            Self::Snis { samples } => visitor.with(snis(samples)),
            Self::Elbo { samples } => visitor.with(Elbo::closed(samples)),
            Self::Stl { samples } => visitor.with(Elbo::path(samples)),
            Self::Rws { samples, step_size, leapfrog } => {
                visitor.with(rws(samples, Hmc::new(step_size, leapfrog)?))
            }
            Self::Chivi { samples } => visitor.with(ScoreWeights::new(samples, Weighting::ChiSquare)),
            Self::ChiviMax { samples } => visitor.with(ScoreWeights::new(samples, Weighting::ChiSquareByMax)),
            Self::PmcsaCv { chains } => visitor.with(Controlled::new(pmcsa(chains))),
            Self::Hmc { step_size, leapfrog, transitions } => {
                let kernel = Repeat { kernel: Hmc::new(step_size, leapfrog)?, times: transitions };
                visitor.with(single(kernel))
            }
        }
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
