//! Gradient estimators and other methods by name.

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Gradient, Kernel, Proposal, Pushforward, Reparameterised, Stream,
    numeric,
};
use mcsa_estimators::{
    Average, ChainScore, Controlled, DynEstimator, Elbo, FlowElbo, Guard, ScoreWeights, Weighting, jsa, msc,
    msc_rb, pmcsa, rws, single, snis,
};
use mcsa_families::Defence;
use mcsa_kernels::{Cis, Hmc, Mala, Nuts, Repeat, Rwm};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::FamilyConfig;

/// A method by name, with its settings.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Method {
    /// Parallel chains with one transition of independent Metropolis-Hastings each (pMCSA).
    Pmcsa { chains: usize },
    /// One chain with several transitions of independent Metropolis-Hastings (JSA).
    Jsa { transitions: usize },
    /// One chain of conditional importance sampling (MSC).
    Msc {
        /// Candidates drawn per step, without the retained one.
        fresh: usize,
    },
    /// As `Msc`, with all candidates averaged by their weights.
    MscRb { fresh: usize },
    /// As `MscRb`, with candidates drawn from the prior, a standard normal, instead of q. Only for targets with that prior.
    MscPrior { fresh: usize },
    /// Self-normalised importance sampling, without a chain.
    Snis { samples: usize },
    /// Exclusive divergence, with reparameterisation gradients.
    Elbo { samples: usize },
    /// As `Elbo`, from a fresh minibatch of the data in every step, and for pushforwards such as annealed paths. Only for metrics
    /// `bound`.
    Minibatched { samples: usize, batch: usize },
    /// Exclusive divergence, with path-derivative gradients.
    Stl { samples: usize },
    /// Self-normalised importance sampling, combined at times with a Hamiltonian chain.
    Rws { samples: usize, step_size: f64, leapfrog: usize },
    /// Chi-square divergence, by self-normalised squared weights.
    Chivi { samples: usize },
    /// Chi-square divergence, by squared weights divided by the largest.
    ChiviMax { samples: usize },
    /// Expectation propagation: sweeps over the data instead of gradient steps. Only for probit regression.
    Ep { sweeps: usize },
    /// A path drawn in every step by a particle filter without a retained path. Only for targets with paths.
    Smc { particles: usize },
    /// As `Pmcsa`, with a control variate: a regression on the scores of fresh draws.
    PmcsaCv { chains: usize },
    /// One chain of Hamiltonian Monte Carlo, with unit mass.
    Hmc {
        step_size: f64,
        leapfrog: usize,
        /// Transitions per step of the fit.
        transitions: usize,
    },
    /// Markov chains of NUTS on a coreset of the rows, drawn by sensitivities: NUTS-CS (SL-DAIS, Sec. 7). Its draws have the
    /// distribution of the coreset's posterior, an approximation. The method fits no family; its draws are measured.
    NutsCs {
        /// Number of draws of rows for the coreset; a row that is drawn several times is listed once.
        points: usize,
        chains: usize,
    },
    /// Markov chains of NUTS that conserve an energy estimated from some rows, with second-order Taylor control variates at the
    /// mode: HMCECS. It keeps a perturbed posterior exactly, whose marginal is near the posterior and not equal to it. The method
    /// fits no family; its draws are measured.
    Hmcecs {
        /// Number of rows of a chain.
        rows: usize,
        /// Number of blocks of rows, one of which is drawn anew in each step.
        blocks: usize,
        chains: usize,
    },
    /// Method of inference from the start to draws, within a budget of evaluations. Only for the section `[benchmarks]`.
    Inference { entrant: Entrant },
}

/// Views of one family with one lambda, beside its densities at arbitrary points. A method takes the view that it requires.
#[derive(Clone, Copy)]
pub struct Views<'a> {
    /// The family with an entropy in closed form, if it has one.
    pub closed: Option<&'a (dyn Reparameterised + 'a)>,
    /// The family as a pushforward of its base distribution.
    pub pushforward: Option<&'a (dyn Pushforward + 'a)>,
}

/// Estimator of a method, for any target and any family.
pub type AnyEstimator<'a> = DynEstimator<'a, dyn Gradient + 'a, dyn Family + 'a>;

/// A kernel by name, which moves the chains of `pmcsa` in place of independent Metropolis-Hastings.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum KernelConfig {
    /// Independent Metropolis-Hastings with proposals from q.
    Imh {},
    /// Conditional importance sampling with candidates from q.
    Cis {
        /// Number of candidates, the retained point included.
        candidates: usize,
    },
    /// Hamiltonian Monte Carlo.
    Hmc { step_size: f64, leapfrog: usize },
    /// Metropolis-adjusted Langevin algorithm.
    Mala { step_size: f64 },
    /// No-U-turn sampler.
    Nuts { step_size: f64 },
    /// Random-walk Metropolis.
    RandomWalk {
        /// Standard deviation of a proposal.
        scale: f64,
    },
}

impl KernelConfig {
    /// The estimator with this number of chains.
    pub fn build<'a>(&self, chains: usize) -> Result<AnyEstimator<'a>, Error> {
        fn score<'a, K: Kernel<dyn Gradient + 'a> + 'a>(kernel: K, chains: usize) -> AnyEstimator<'a> {
            DynEstimator::new(ChainScore::new(kernel, chains, Average::Chains))
        }
        Ok(match *self {
            Self::Imh {} => DynEstimator::new(pmcsa(chains)),
            Self::Cis { candidates } => score(Cis::with_candidates(candidates), chains),
            Self::Hmc { step_size, leapfrog } => score(Hmc::new(step_size, leapfrog)?, chains),
            Self::Mala { step_size } => score(Mala::new(step_size)?, chains),
            Self::Nuts { step_size } => score(Nuts::new(step_size)?, chains),
            Self::RandomWalk { scale } => score(Rwm::new(scale)?, chains),
        })
    }

    /// Returns true if the kernel needs gradients of the target.
    pub fn needs_gradient(&self) -> bool {
        matches!(self, Self::Hmc { .. } | Self::Mala { .. } | Self::Nuts { .. })
    }
}

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
            Self::Inference { entrant } => entrant.kind(),
            _ => self.into(),
        }
    }

    /// Budget `N` of the papers: draws, chains, transitions, fresh candidates, particles or rows per step, or number of sweeps.
    /// It is 0 for [`Method::Inference`], whose budgets belong to the task.
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

    /// Returns true if the method needs gradients of the target.
    pub fn needs_gradient(&self) -> bool {
        matches!(self, Self::Elbo { .. } | Self::Stl { .. } | Self::Rws { .. } | Self::Hmc { .. })
    }

    /// Number of chains of a method whose draws are measured, without a fit; `None` for other methods.
    pub fn sampling(&self) -> Option<usize> {
        match *self {
            Self::NutsCs { chains, .. } | Self::Hmcecs { chains, .. } => Some(chains),
            _ => None,
        }
    }

    /// The estimator of the method. With a guard its chains move by guarded proposals.
    pub fn build<'a>(
        &self,
        Views { closed, pushforward }: Views<'a>,
        guard: Option<Defence>,
    ) -> Result<AnyEstimator<'a>, Error> {
        if guard.is_some() && !self.fits_any_family() {
            return Err(Error::invalid(format!("{} does not fit every family", self.kind())));
        }
        let no = |reason: &str| Err(Error::invalid(reason));
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
                (None, None) => return no("the bound needs a family with gradients of its draws"),
            },
            Self::Stl { samples } => match closed {
                Some(family) => DynEstimator::on(Elbo::path(samples), family),
                None => return no("the method stl is for Gaussian families; others take elbo"),
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
            Self::Ep { .. } => return no("ep has no direction: it is for fits of probit regression"),
            Self::Smc { .. } => return no("smc draws paths: it is for fits of the family twisted"),
            Self::Minibatched { .. } => {
                return no("minibatches need rows of data: they are for metrics of the bound");
            }
            Self::Inference { .. } => {
                return no("the method is for runs within budgets, in the section [benchmarks]");
            }
            Self::NutsCs { .. } | Self::Hmcecs { .. } => {
                return no("the method is a sampler, whose draws are measured without a fit");
            }
        })
    }
}

fn guarded<'a, K: Kernel<dyn Gradient + 'a> + 'a>(
    score: ChainScore<K>,
    guard: Option<Defence>,
) -> AnyEstimator<'a> {
    match guard {
        None => DynEstimator::new(score),
        Some(guard) => DynEstimator::new(score.guarded(guard)),
    }
}

/// Method of approximate inference with its settings, from the start to draws.
///
/// No method receives the moments of the target. Starts, warm-up and weighted draws are part of the budget.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Entrant {
    /// Running moments of parallel chains, about as many as dimensions, from Laplace's approximation.
    Moments { family: Moment },
    /// Score ascent of the mean field with parallel chains and Adam, as in pMCSA.
    Pmcsa {
        chains: usize,
        rate: f64,
        /// True: from Laplace's approximation. False: from a round normal.
        #[serde(default)]
        laplace: bool,
    },
    /// Score ascent of a flow with parallel chains, from Laplace's approximation, with a rate that falls like `t^(-1/2)`.
    Flow { family: FamilyConfig, chains: usize, rate: f64 },
    /// Exclusive divergence with Adam.
    Elbo {
        family: FamilyConfig,
        samples: usize,
        rate: f64,
        #[serde(default)]
        laplace: bool,
    },
    /// Batch and match of a Gaussian (Cai et al. 2024).
    BatchMatch {
        samples: usize,
        #[serde(default)]
        laplace: bool,
    },
    /// Pathfinder from as many starts as the budget allows, at most twenty (Zhang et al. 2022).
    Pathfinder,
    /// The No-U-Turn sampler, about half of whose evaluations are warm-up.
    Nuts,
    /// `mcsa::fit`, with its verdict.
    Fit,
}

/// Family of running moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Moment {
    /// Independent Gaussian coordinates.
    MeanField,
    /// Gaussian with a diagonal covariance and ten factors.
    LowRank,
    /// Gaussian.
    FullRank,
    /// Student t with learned degrees of freedom.
    StudentT,
    /// Mixture of such Student t, one for each mode that is found, at least four.
    Mixture,
}

impl Moment {
    /// The families of one part, from the smallest.
    pub const OF_ONE_PART: [Self; 4] = [Self::MeanField, Self::LowRank, Self::FullRank, Self::StudentT];

    /// Name of the family in files.
    pub fn kind(self) -> &'static str {
        self.into()
    }
}

impl Entrant {
    /// Name of the method and its family in files: a key of tables and presets.
    pub fn kind(&self) -> &'static str {
        let is_flow = |family: &FamilyConfig| !family.is_gaussian();
        match self {
            Self::Moments { family: Moment::MeanField } => "moments-mean-field",
            Self::Moments { family: Moment::LowRank } => "moments-low-rank",
            Self::Moments { family: Moment::FullRank } => "moments-full-rank",
            Self::Moments { family: Moment::StudentT } => "moments-student-t",
            Self::Moments { family: Moment::Mixture } => "moments-mixture",
            Self::Pmcsa { .. } => "pmcsa-adam",
            Self::Flow { .. } => "pmcsa-flow",
            Self::Elbo { family, .. } if is_flow(family) => "elbo-flow",
            Self::Elbo { family: FamilyConfig::MeanField { .. }, .. } => "elbo-mean-field",
            Self::Elbo { family: FamilyConfig::LowRank { .. }, .. } => "elbo-low-rank",
            Self::Elbo { .. } => "elbo-full-rank",
            Self::BatchMatch { .. } => "batch-match",
            Self::Pathfinder => "pathfinder",
            Self::Nuts => "nuts",
            Self::Fit => "fit",
        }
    }

    /// Kind, with the settings that are numbers, and the start.
    pub fn title(&self) -> String {
        let (name, from) = (self.kind(), |laplace: bool| if laplace { ", from Laplace" } else { "" });
        match self {
            Self::Pmcsa { chains, rate, laplace } => {
                format!("{name} ({chains} chains, rate {rate}{})", from(*laplace))
            }
            Self::Flow { chains, rate, .. } => format!("{name} ({chains} chains, rate {rate})"),
            Self::Elbo { samples, rate, laplace, .. } => {
                format!("{name} ({samples} draws, rate {rate}{})", from(*laplace))
            }
            Self::BatchMatch { samples, laplace } => format!("{name} ({samples} draws{})", from(*laplace)),
            _ => name.to_owned(),
        }
    }

    /// Cost of an evaluation relative to that of running moments: for estimates of time, not for results.
    pub fn effort(&self) -> u64 {
        match self {
            Self::Flow { .. } => 20,
            Self::Elbo { .. } | Self::BatchMatch { .. } => 4,
            Self::Nuts | Self::Pathfinder => 3,
            _ => 1,
        }
    }
}

/// Replaces the proposal by a standard normal at every lambda: the prior of the probit regression, as in the column "MSC
/// (prior)" of (MSC, Tab. 1). Scores are still those of the family.
///
/// The [`Proposal`] of the family is not wrapped but replaced: proposals do not adapt to the fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct FromPrior;

impl Guard for FromPrior {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn work_len(&self, _: usize) -> usize {
        0
    }

    fn guarded(
        &self,
        proposal: &mut dyn Proposal,
        _: usize,
        _: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Proposal),
    ) -> Result<(), Error> {
        run(&mut Prior { dim: proposal.dim() });
        Ok(())
    }
}

/// `N(0, I)`.
struct Prior {
    dim: usize,
}

impl Proposal for Prior {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        let peak = -0.5 * self.dim as f64 * std::f64::consts::TAU.ln();
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = peak - 0.5 * numeric::dot(z.column(j), z.column(j));
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        let per_lane = z.ncols() / lanes.len();
        for (j, lane) in (0..z.ncols()).map(|j| (j, j / per_lane)) {
            lanes[lane].normals_into(z.column_mut(j));
        }
        self.log_probs(z.as_ref(), log_q);
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::{Family, Parametric, Seed, batch, batch_mut};
    use mcsa_families::MeanField;

    use super::*;

    #[test]
    fn what_the_listing_says_can_be_read() {
        for (name, settings, _) in Method::ALL {
            let settings = settings.split(", ").collect::<Vec<_>>().join("\n");
            let method: Method = toml::from_str(&format!("kind = {name:?}\n{settings}")).unwrap();
            assert_eq!(method.kind(), name);
        }
    }

    /// Densities equal those of the family at mean 0 and scale 1, and each lane draws its own columns.
    #[test]
    fn it_is_the_standard_normal() {
        let (family, mut z, mut log_q) = (MeanField::new(3), [0.0; 12], [0.0; 4]);
        let mut inner = Prior { dim: 3 };
        let mut draw = |lanes: &mut [Stream], z: &mut [f64], log_q: &mut [f64]| {
            let columns = log_q.len();
            let run = &mut |proposal: &mut dyn Proposal| {
                proposal.sample_into(lanes, batch_mut(z, 3, columns), log_q)
            };
            FromPrior.guarded(&mut inner, columns, &mut [], run).unwrap();
        };
        draw(&mut Seed::new(1).streams(2, 0), &mut z, &mut log_q);
        let params = family.at(&[0.0; 3], &[1.0; 3]).unwrap();
        let (mut expected, mut work) = ([0.0; 4], vec![0.0; family.work_len(4)]);
        family.log_probs(&params, batch(&z, 3, 4), &mut expected, &mut work);
        assert!(log_q.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-13));
        let (mut alone, mut log_alone) = ([0.0; 6], [0.0; 2]);
        draw(&mut [Seed::new(1).stream(1, 0)], &mut alone, &mut log_alone);
        assert_eq!((alone, log_alone), ([z[6], z[7], z[8], z[9], z[10], z[11]], [log_q[2], log_q[3]]));
    }
}
