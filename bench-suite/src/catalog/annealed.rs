//! Annealed paths by name, and families as pushforwards that are fitted to a logistic regression.

use mcsa_core::{Counted, Error, LogDensity, Pushforward, Seed, Separable, Surrogate};
use mcsa_families::dais::{Annealed, Shape, Slope};
use mcsa_families::{FullRank, Link, MeanField};
use mcsa_models::surrogate::{LogisticSurrogate, MinibatchSurrogate, NeuralSurrogate, PosteriorSurrogate};
use serde::{Deserialize, Serialize};

use super::rows::LogisticRows;

/// Annealed paths with their settings: DAIS, NS-DAIS or SL-DAIS by the surrogate (see [`Annealed`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnealedConfig {
    /// Number K of steps.
    pub steps: usize,
    /// True if the base is a Gaussian with a dense factor; else its coordinates are independent.
    #[serde(default)]
    pub full_rank: bool,
    /// Largest step size.
    pub longest: f64,
    /// Step size at the start of the fit.
    pub step_size: f64,
    /// True if kappa is a share of the largest step size; else kappa itself is a parameter, as published.
    #[serde(default)]
    pub scaled: bool,
    /// True if the mass starts at the curvature of the log posterior at the mean of the base; else at 1, as published. Only for
    /// targets whose base is fitted first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub curved: bool,
    /// Surrogate posterior.
    pub surrogate: Ansatz,
    /// Number of points or rows of the surrogate; 0 if it has none.
    #[serde(default)]
    pub points: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Surrogate posterior by its name in (SL-DAIS, Sec. 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ansatz {
    /// The posterior itself (DAIS).
    Posterior,
    /// The posterior of a minibatch, drawn once per path (NS-DAIS).
    Minibatch,
    /// Random rows with learned weights.
    Rand,
    /// Random covariates with two learned weights each.
    RandPm,
    /// Rows of a coreset with learned weights.
    CsInit,
    /// Covariates of a coreset with two learned weights each.
    CsInitPm,
    /// Rows and weights of a coreset; nothing is learned.
    CsFix,
    /// Centres of clusters, learned, with two learned weights each.
    KmInitPm,
    /// Centres of clusters with two learned weights each.
    KmFixPm,
    /// A neural network.
    Nn,
}

impl Ansatz {
    /// Name in files.
    pub(crate) fn key(self) -> String {
        // A variant without fields is written as a string.
        serde_json::to_value(self).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
    }

    /// Name in figures and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Posterior => "DAIS",
            Self::Minibatch => "NS-DAIS",
            Self::Rand => "RAND",
            Self::RandPm => "RAND±",
            Self::CsInit => "CS-INIT",
            Self::CsInitPm => "CS-INIT±",
            Self::CsFix => "CS-FIX",
            Self::KmInitPm => "KM-INIT±",
            Self::KmFixPm => "KM-FIX±",
            Self::Nn => "NN",
        }
    }
}

/// Lambda of a full-rank Gaussian with the exponential link, mean 0 and independent coordinates of this scale.
pub(crate) fn full_rank_at(dim: usize, scale: f64) -> Result<Vec<f64>, Error> {
    let diagonal = |i, j| if i == j { scale } else { 0.0 };
    let factor = faer::Mat::from_fn(dim, dim, diagonal);
    FullRank::new(dim).with_link(Link::Exp).at(&vec![0.0; dim], factor.as_ref())
}

/// Pushforward with its parameters at the start of a fit.
pub(crate) struct Pushed<'a> {
    pub(crate) family: Moved<'a>,
    pub(crate) params: Vec<f64>,
}

/// Family as a pushforward; one along a surrogate counts the terms of the surrogate likelihood.
pub(crate) enum Moved<'a> {
    /// Family without a surrogate.
    Alone(Box<dyn Pushforward + 'a>),
    /// Annealed paths.
    Guided {
        /// The paths.
        paths: Box<dyn Guided + 'a>,
        /// Rows or points of the surrogate.
        rows: usize,
    },
}

/// Pushforward along a surrogate.
pub(crate) trait Guided: Pushforward {
    /// Gradients of the surrogate, and products with its second derivatives.
    fn evaluations(&self) -> u64;
}

impl<S: Surrogate> Guided for Annealed<Counted<S>> {
    fn evaluations(&self) -> u64 {
        let counts = self.surrogate.counts();
        counts.gradient + counts.hessian_vector
    }
}

impl<'a> Moved<'a> {
    pub(crate) fn pushforward(&self) -> &(dyn Pushforward + 'a) {
        match self {
            Self::Alone(family) => &**family,
            Self::Guided { paths, .. } => &**paths,
        }
    }

    /// Terms of the surrogate likelihood that were evaluated.
    pub(crate) fn terms(&self) -> u64 {
        match self {
            Self::Alone(_) => 0,
            Self::Guided { paths, rows } => paths.evaluations() * *rows as u64,
        }
    }
}

impl AnnealedConfig {
    /// Name of the ansatz, steps and points.
    pub fn title(&self) -> String {
        let base = if self.full_rank { ", full-rank" } else { "" };
        let points = if self.points > 0 { format!(", {} points", self.points) } else { String::new() };
        format!("{}, {} steps{points}{base}", self.surrogate.name(), self.steps)
    }

    /// Refuses settings that do not fit together.
    ///
    /// # Errors
    /// If so; the message names them.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::invalid(reason).within("annealed"));
        let has_points = !matches!(self.surrogate, Ansatz::Posterior | Ansatz::Nn);
        match (has_points, self.points) {
            (true, 0) => refuse(format!("{} needs points", self.surrogate.name())),
            (false, 1..) => refuse(format!("{} has no points", self.surrogate.name())),
            _ => Ok(()),
        }
    }

    /// The paths along a surrogate.
    pub(crate) fn family<S: Surrogate>(&self, surrogate: S) -> Annealed<S> {
        let shape = if self.full_rank { Shape::Lower } else { Shape::Diagonal };
        let slope = if self.scaled { Slope::Scaled } else { Slope::Plain };
        Annealed { longest: self.longest, slope, ..Annealed::new(surrogate, shape, self.steps) }
    }

    /// The paths along this surrogate, and their parameters at the start of a fit.
    pub(super) fn along<S: Surrogate>(
        &self,
        surrogate: S,
        psi: &[f64],
        (mean, scale): (f64, f64),
    ) -> Result<(Annealed<S>, Vec<f64>), Error> {
        let dim = surrogate.dim();
        let family = self.family(surrogate);
        let mut base = if self.full_rank {
            full_rank_at(dim, scale)?
        } else {
            MeanField::new(dim).with_link(Link::Exp).at(&vec![0.0; dim], &vec![scale; dim])?
        };
        base[..dim].fill(mean);
        let params = family.at(&base, self.step_size, psi)?;
        Ok((family, params))
    }

    fn with<'a, S: Surrogate + 'a>(
        &self,
        surrogate: S,
        rows: usize,
        psi: &[f64],
        place: (f64, f64),
    ) -> Result<Pushed<'a>, Error> {
        let (family, params) = self.along(Counted::new(surrogate), psi, place)?;
        Ok(Pushed { family: Moved::Guided { paths: Box::new(family), rows }, params })
    }

    /// The paths for this regression, whose base begins at a mean and standard deviation that all coordinates share.
    pub(super) fn build<'a>(
        &self,
        rows: &'a LogisticRows,
        place: (f64, f64),
        seed: Seed,
    ) -> Result<Pushed<'a>, Error> {
        self.check()?;
        if self.curved {
            return Err(Error::invalid("curved is for targets whose base is fitted first").within("annealed"));
        }
        let model = &rows.model;
        match self.surrogate {
            Ansatz::Posterior => self.with(PosteriorSurrogate(model), model.num_data(), &[], place),
            Ansatz::Minibatch => {
                self.with(MinibatchSurrogate::new(model, self.points)?, self.points, &[], place)
            }
            Ansatz::Nn => {
                let surrogate = NeuralSurrogate::new(model.dim(), rows.prior_scale)?;
                let psi = surrogate.initial(&mut seed.stream(0, 0));
                self.with(surrogate, 0, &psi, place)
            }
            _ => {
                let surrogate = self.weighted(rows, seed)?;
                let (psi, points) = (surrogate.initial(), surrogate.num_points());
                self.with(surrogate, points, &psi, place)
            }
        }
    }

    /// The surrogate of an ansatz with weighted points.
    ///
    /// # Errors
    /// If the ansatz has no points.
    fn weighted(&self, rows: &LogisticRows, seed: Seed) -> Result<LogisticSurrogate, Error> {
        let LogisticRows { train, prior_scale, .. } = rows;
        let make = match self.surrogate {
            Ansatz::Posterior | Ansatz::Minibatch | Ansatz::Nn => {
                return Err(Error::invalid(format!("{} has no weighted points", self.surrogate.name())));
            }
            Ansatz::Rand => LogisticSurrogate::rand,
            Ansatz::RandPm => LogisticSurrogate::rand_pm,
            Ansatz::CsInit => LogisticSurrogate::cs_init,
            Ansatz::CsInitPm => LogisticSurrogate::cs_init_pm,
            Ansatz::CsFix => LogisticSurrogate::cs_fix,
            Ansatz::KmInitPm => LogisticSurrogate::km_init_pm,
            Ansatz::KmFixPm => LogisticSurrogate::km_fix_pm,
        };
        let surrogate = make(train.x.as_ref(), &train.y, self.points, *prior_scale, &mut seed.stream(0, 0))?;
        // Two weights of a point that start equal would draw the first paths to even odds.
        surrogate.with_class_rate(train.y.iter().sum::<f64>() / train.rows() as f64)
    }
}
