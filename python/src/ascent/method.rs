//! Gradient estimators and kernels by name.

use mcsa::core::{Counted, Error, Estimator, Family, Gradient, Pushforward};
use mcsa::estimators::{
    Average, Controlled, Elbo, FlowElbo, ScoreClimb, ScoreWeights, Weighting, jsa, msc, msc_rb, pmcsa, rws,
    single, snis,
};
use mcsa::families::GaussianFamily;
use mcsa::kernels::{Cis, Hmc, Mala, Nuts, Repeat, Rwm};
use serde::Deserialize;

use super::family::Built;

/// A method by name, with its settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) enum Method {
    Pmcsa { chains: usize },
    PmcsaCv { chains: usize },
    Jsa { transitions: usize },
    Msc { fresh: usize },
    MscRb { fresh: usize },
    Snis { samples: usize },
    Elbo { samples: usize },
    Stl { samples: usize },
    Rws { samples: usize, step_size: f64, leapfrog: usize },
    Chivi { samples: usize },
    ChiviMax { samples: usize },
    Hmc { step_size: f64, leapfrog: usize, transitions: usize },
}

/// A kernel by name, which moves the chains of `pmcsa`.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) enum KernelName {
    Imh {},
    Cis { candidates: usize },
    Hmc { step_size: f64, leapfrog: usize },
    Mala { step_size: f64 },
    Nuts { step_size: f64 },
    RandomWalk { scale: f64 },
}

/// Target of a method, with evaluations counted.
pub(crate) type Target<'a> = Counted<&'a dyn Gradient>;

/// Visitor of an estimator, whose type only this file knows.
pub(crate) trait Visitor {
    type Out;

    fn with<'a, F: ?Sized, E: Estimator<Target<'a>, F>>(
        self,
        target: &Target<'a>,
        family: &F,
        estimator: E,
    ) -> Result<Self::Out, Error>;
}

impl Method {
    /// True if the method needs gradients.
    pub(crate) fn needs_gradient(&self, kernel: Option<&KernelName>) -> bool {
        let of_kernel = |kernel: &KernelName| {
            matches!(kernel, KernelName::Hmc { .. } | KernelName::Mala { .. } | KernelName::Nuts { .. })
        };
        let own = matches!(self, Self::Elbo { .. } | Self::Stl { .. } | Self::Rws { .. } | Self::Hmc { .. });
        own || kernel.is_some_and(of_kernel)
    }

    /// Builds the estimator and passes it to `visitor`.
    ///
    /// # Errors
    /// If a setting is invalid, method, kernel and family do not match, or `visitor` fails.
    pub(crate) fn meet<V: Visitor>(
        &self,
        kernel: Option<&KernelName>,
        target: &Target<'_>,
        built: &Built,
        visitor: V,
    ) -> Result<V::Out, Error> {
        if kernel.is_some() && !matches!(self, Self::Pmcsa { .. }) {
            return Err(Error::invalid(
                "a kernel is chosen for the method pmcsa alone; others have their own",
            ));
        }
        match (self, built) {
            (Self::Elbo { samples }, Built::Gaussian(family)) => {
                visitor.with::<dyn GaussianFamily, _>(target, &**family, Elbo::closed(*samples))
            }
            (Self::Stl { samples }, Built::Gaussian(family)) => {
                visitor.with::<dyn GaussianFamily, _>(target, &**family, Elbo::path(*samples))
            }
            (Self::Elbo { samples }, Built::Other { pushforward, .. }) => {
                visitor.with::<dyn Pushforward, _>(target, &**pushforward, FlowElbo::new(*samples))
            }
            (Self::Stl { .. }, Built::Other { .. }) => {
                Err(Error::invalid("the method stl is for Gaussian families; others take elbo"))
            }
            _ => self.meet_family(kernel, target, built.family(), visitor),
        }
    }

    fn meet_family<V: Visitor>(
        &self,
        kernel: Option<&KernelName>,
        target: &Target<'_>,
        family: &dyn Family,
        visitor: V,
    ) -> Result<V::Out, Error> {
        match (self, kernel) {
            (Self::Pmcsa { chains }, Some(kernel)) => kernel.meet(*chains, target, family, visitor),
            (Self::Pmcsa { chains }, None) => visitor.with(target, family, pmcsa(*chains)),
            (Self::PmcsaCv { chains }, _) => visitor.with(target, family, Controlled::new(pmcsa(*chains))),
            (Self::Jsa { transitions }, _) => visitor.with(target, family, jsa(*transitions)),
            (Self::Msc { fresh }, _) => visitor.with(target, family, msc(fresh + 1)),
            (Self::MscRb { fresh }, _) => visitor.with(target, family, msc_rb(fresh + 1)),
            (Self::Snis { samples }, _) => visitor.with(target, family, snis(*samples)),
            (Self::Rws { samples, step_size, leapfrog }, _) => {
                visitor.with(target, family, rws(*samples, Hmc::new(*step_size, *leapfrog)?))
            }
            (Self::Chivi { samples }, _) => {
                visitor.with(target, family, ScoreWeights::new(*samples, Weighting::ChiSquare))
            }
            (Self::ChiviMax { samples }, _) => {
                visitor.with(target, family, ScoreWeights::new(*samples, Weighting::ChiSquareByMax))
            }
            (Self::Hmc { step_size, leapfrog, transitions }, _) => {
                let kernel = Repeat { kernel: Hmc::new(*step_size, *leapfrog)?, times: *transitions };
                visitor.with(target, family, single(kernel))
            }
            (Self::Elbo { .. } | Self::Stl { .. }, _) => {
                Err(Error::invalid("the bound needs a family with gradients of its draws"))
            }
        }
    }
}

impl KernelName {
    fn meet<V: Visitor>(
        &self,
        chains: usize,
        target: &Target<'_>,
        family: &dyn Family,
        visitor: V,
    ) -> Result<V::Out, Error> {
        match *self {
            Self::Imh {} => visitor.with(target, family, pmcsa(chains)),
            Self::Cis { candidates } => {
                let kernel = Cis::with_candidates(candidates);
                visitor.with(target, family, ScoreClimb::new(kernel, chains, Average::Chains))
            }
            Self::Hmc { step_size, leapfrog } => {
                let kernel = Hmc::new(step_size, leapfrog)?;
                visitor.with(target, family, ScoreClimb::new(kernel, chains, Average::Chains))
            }
            Self::Mala { step_size } => {
                let kernel = Mala::new(step_size)?;
                visitor.with(target, family, ScoreClimb::new(kernel, chains, Average::Chains))
            }
            Self::Nuts { step_size } => {
                let kernel = Nuts::new(step_size)?;
                visitor.with(target, family, ScoreClimb::new(kernel, chains, Average::Chains))
            }
            Self::RandomWalk { scale } => {
                let kernel = Rwm::new(scale)?;
                visitor.with(target, family, ScoreClimb::new(kernel, chains, Average::Chains))
            }
        }
    }
}
