//! Variational families by name; each can begin at a Gaussian with independent coordinates.

use std::sync::Arc;

use faer::Mat;
use mcsa_annealed::Surrogate;
use mcsa_annealed::dais::{Annealed, Shape, Slope};
use mcsa_annealed::surrogate::{
    LogisticSurrogate, MinibatchSurrogate, NeuralSurrogate, PosteriorSurrogate, SubsetSurrogate,
};
use mcsa_core::{
    Counted, Error, Family, LogDensity, Pushforward, Reparameterised, Seed, Separable, Stream, fits_in_memory,
};
use mcsa_families::{
    Affine, Bnaf, Coupling, CouplingMap, Drawn, Fixed, Flow, FullRank, Gauss, GaussianFamily, Layer, Link,
    LowRank, Mask, MeanField, MultivariateT, Spline,
};
use mcsa_models::{Factor, WeightsPrior};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::processes::SemiConfig;
use super::regression::LabelledRows;
use crate::is_default;

/// A variational family by name, with its settings.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FamilyConfig {
    /// Gaussian with independent coordinates, the family of the papers.
    MeanField {
        #[serde(default = "softplus")]
        link: Link,
    },
    /// Gaussian with a dense covariance factor.
    FullRank,
    /// Gaussian with a covariance that is diagonal plus low rank.
    LowRank { rank: usize },
    /// Student t with a dense factor.
    StudentT { freedom: f64 },
    /// Flow of alternating affine coupling layers, followed by a matrix.
    AffineFlow {
        couplings: usize,
        width: usize,
        /// Degrees of freedom of the base distribution; if absent, the base is Gaussian.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freedom: Option<f64>,
    },
    /// As `AffineFlow`, with rational-quadratic splines.
    SplineFlow {
        couplings: usize,
        width: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freedom: Option<f64>,
    },
    /// Block neural autoregressive flow, followed by location and scale, for metrics of the bound (see [`Bnaf`]).
    BlockNeural {
        networks: usize,
        depth: usize,
        /// Units per coordinate in each hidden layer.
        width: usize,
    },
    /// Annealed paths along a surrogate posterior, for metrics of the bound.
    Annealed(AnnealedConfig),
    /// Annealed paths for local latent points, for targets that have such points and metrics of the bound.
    SemiAnnealed(SemiConfig),
    /// Markov chain with Gaussian steps, twisted in each state (MSC): a family of paths, for metrics of filters.
    Twisted,
}

fn softplus() -> Link {
    Link::Softplus
}

/// A family in some dimension.
pub struct BuiltFamily {
    /// The family, with densities at arbitrary points.
    pub family: Box<dyn Family>,
    /// The family as a pushforward of its base distribution.
    pub pushforward: Box<dyn Pushforward>,
    start: Box<Start>,
}

type Start = dyn Fn(&[f64], &[f64], &mut Stream) -> Result<Vec<f64>, Error> + Send + Sync;

impl BuiltFamily {
    /// Parameters that give the family these means and standard deviations and independent coordinates. `stream` initialises
    /// hidden weights of networks, which do not change the initial distribution, and a low-rank factor, which is small and not
    /// zero, because zero is a saddle point.
    pub fn around(&self, mean: &[f64], deviations: &[f64], stream: &mut Stream) -> Result<Vec<f64>, Error> {
        (self.start)(mean, deviations, stream)
    }
}

impl FamilyConfig {
    /// Name used in files.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Name, with the settings in which annealed paths usually differ.
    pub fn title(&self) -> String {
        match self {
            Self::Annealed(annealed) => annealed.title(),
            Self::SemiAnnealed(semi) => format!("semi-annealed, {} steps", semi.steps),
            _ => self.kind().to_owned(),
        }
    }

    /// The family in `dim` dimensions, if it is Gaussian.
    pub fn gaussian(&self, dim: usize) -> Option<Box<dyn GaussianFamily>> {
        match *self {
            Self::MeanField { link } => Some(Box::new(MeanField::new(dim).with_link(link))),
            Self::FullRank => Some(Box::new(FullRank::new(dim))),
            Self::LowRank { rank } => Some(Box::new(LowRank::new(dim, rank))),
            _ => None,
        }
    }

    /// Returns true if draws have a density that is known at these draws alone, which metrics of the bound suffice with.
    pub fn is_pushforward(&self) -> bool {
        matches!(self, Self::Annealed(_) | Self::BlockNeural { .. })
    }

    /// Returns true if the family is Gaussian.
    pub fn is_gaussian(&self) -> bool {
        matches!(self, Self::MeanField { .. } | Self::FullRank | Self::LowRank { .. })
    }

    /// An error for a size whose parameters or paths do not fit in memory.
    fn check_size(&self, dim: usize) -> Result<(), Error> {
        match *self {
            Self::LowRank { rank } => fits_in_memory("rank", rank, dim),
            Self::AffineFlow { couplings, width, .. } | Self::SplineFlow { couplings, width, .. } => {
                fits_in_memory("width", width, dim)
                    .and_then(|()| fits_in_memory("couplings", couplings, width.saturating_mul(SPLINE * dim)))
            }
            Self::BlockNeural { networks, depth, width } => {
                let layer = width.saturating_mul(width).saturating_mul(dim * dim);
                fits_in_memory("depth", depth, layer)
                    .and_then(|()| fits_in_memory("networks", networks, depth.saturating_mul(layer)))
            }
            _ => Ok(()),
        }
    }

    /// The family in `dim` dimensions.
    pub fn build(&self, dim: usize) -> Result<BuiltFamily, Error> {
        self.check_size(dim)?;
        let diagonal = |d: &[f64]| Mat::from_fn(d.len(), d.len(), |i, j| if i == j { d[i] } else { 0.0 });
        match *self {
            Self::MeanField { link } => {
                let family = MeanField::new(dim).with_link(link);
                Ok(closed(family, move |mean, deviations, _| family.at(mean, deviations)))
            }
            Self::FullRank => {
                let family = FullRank::new(dim);
                Ok(closed(family, move |mean, d, _| family.at(mean, diagonal(d).as_ref())))
            }
            Self::LowRank { rank } => {
                let family = LowRank::new(dim, rank);
                Ok(closed(family, move |mean, d, stream| {
                    let factor = Mat::from_fn(dim, rank, |i, _| 0.1 * d[i] * stream.normal());
                    family.at(mean, d, factor.as_ref())
                }))
            }
            Self::StudentT { freedom } => {
                let family = MultivariateT::fixed(dim, freedom)?;
                Ok(closed(family, move |mean, d, _| family.at(mean, diagonal(d).as_ref())))
            }
            Self::AffineFlow { couplings, width, freedom } => {
                flow(CouplingMap::Affine(Affine::default()), couplings, width, freedom, dim)
            }
            Self::SplineFlow { couplings, width, freedom } => {
                flow(CouplingMap::Spline(Spline::default()), couplings, width, freedom, dim)
            }
            Self::Annealed(_) | Self::SemiAnnealed(_) | Self::BlockNeural { .. } => Err(Error::invalid(
                format!("{} has no density at arbitrary points; metrics are \"bound\"", self.kind()),
            )),
            Self::Twisted => {
                Err(Error::invalid("twisted is a family of paths, which only metrics of filters measure"))
            }
        }
    }

    /// The family as a pushforward for this regression, at means and standard deviations that all coordinates share. `seed` draws
    /// the points of a surrogate, and hidden weights.
    pub fn pushed<'a, W: WeightsPrior, L: Factor>(
        &self,
        rows: &'a LabelledRows<W, L>,
        place: (f64, f64),
        seed: Seed,
    ) -> Result<Pushed<'a>, Error> {
        let dim = rows.model.dim();
        self.check_size(dim)?;
        let (mean, deviations, mut stream) = (vec![place.0; dim], vec![place.1; dim], seed.stream(0, 0));
        let (family, params): (Arc<dyn Pushforward + 'a>, _) = match *self {
            Self::Annealed(ref annealed) => return annealed.build(rows, place, seed),
            Self::BlockNeural { networks, depth, width } => {
                let family = Bnaf::block_neural(dim, Gauss, networks, &vec![width; depth])?;
                let params = family.start_at(&mean, &deviations, &mut stream)?;
                (Arc::new(family), params)
            }
            _ => {
                let built = self.build(dim)?;
                let params = built.around(&mean, &deviations, &mut stream)?;
                (built.pushforward.into(), params)
            }
        };
        Ok(Pushed { family, params, terms: Box::new(|| 0) })
    }
}

/// A family that has an entropy in closed form.
fn closed(
    family: impl Reparameterised + Copy + 'static,
    start: impl Fn(&[f64], &[f64], &mut Stream) -> Result<Vec<f64>, Error> + Send + Sync + 'static,
) -> BuiltFamily {
    BuiltFamily { family: Box::new(family), pushforward: Box::new(Drawn(family)), start: Box::new(start) }
}

fn flow(
    map: CouplingMap,
    couplings: usize,
    width: usize,
    freedom: Option<f64>,
    dim: usize,
) -> Result<BuiltFamily, Error> {
    let coupling = |mask| Layer::Coupling(Coupling { mask, hidden: vec![width], map });
    let masks = Mask::alternating(dim).take(couplings);
    let layers: Vec<Layer> = masks.map(coupling).chain([Layer::Linear]).collect();
    let flow = match freedom {
        None => Flow::new(dim, Gauss, layers)?,
        Some(freedom) => Flow::new(dim, Fixed::new(freedom)?, layers)?,
    };
    let (family, pushforward) = (Box::new(flow.clone()), Box::new(flow.clone()));
    let start =
        move |mean: &[f64], deviations: &[f64], stream: &mut Stream| flow.start_at(mean, deviations, stream);
    Ok(BuiltFamily { family, pushforward, start: Box::new(start) })
}

/// Most parameters of a unit of a spline for a coordinate.
const SPLINE: usize = 32;

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
    #[serde(default, skip_serializing_if = "is_default")]
    pub curved: bool,
    /// Surrogate posterior.
    pub surrogate: Ansatz,
    /// Number of points or rows of the surrogate; 0 if it has none.
    #[serde(default)]
    pub points: usize,
}

/// Surrogate posterior by its name in (SL-DAIS, Sec. 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Ansatz {
    /// The posterior itself (DAIS).
    Posterior,
    /// The posterior of a minibatch, drawn once per path (NS-DAIS).
    Minibatch,
    /// Random rows with learned weights: of any regression of labels.
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

/// Lambda of a full-rank Gaussian with the exponential link and independent coordinates, all of this mean and scale.
pub fn full_rank_at(dim: usize, (mean, scale): (f64, f64)) -> Result<Vec<f64>, Error> {
    let diagonal = |i, j| if i == j { scale } else { 0.0 };
    let factor = faer::Mat::from_fn(dim, dim, diagonal);
    FullRank::new(dim).with_link(Link::Exp).at(&vec![mean; dim], factor.as_ref())
}

/// A family as a pushforward, with its parameters at the start of a fit.
pub struct Pushed<'a> {
    /// The pushforward.
    pub family: Arc<dyn Pushforward + 'a>,
    /// Parameters at the start of a fit.
    pub params: Vec<f64>,
    /// Terms of the likelihood of a surrogate that were evaluated.
    pub terms: Box<dyn Fn() -> u64 + 'a>,
}

impl AnnealedConfig {
    /// Name of the ansatz, steps and points.
    pub fn title(&self) -> String {
        let base = if self.full_rank { ", full-rank" } else { "" };
        let points = if self.points > 0 { format!(", {} points", self.points) } else { String::new() };
        format!("{}, {} steps{points}{base}", self.surrogate.name(), self.steps)
    }

    /// Refuses settings that do not fit together.
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
    pub fn family<S: Surrogate>(&self, surrogate: S) -> Annealed<S> {
        let shape = if self.full_rank { Shape::Lower } else { Shape::Diagonal };
        let slope = if self.scaled { Slope::Scaled } else { Slope::Plain };
        Annealed { longest: self.longest, slope, ..Annealed::new(surrogate, shape, self.steps) }
    }

    /// The paths along a surrogate of this many rows, with their parameters at the start of a fit.
    fn with<'a, S: Surrogate + 'a>(
        &self,
        surrogate: S,
        rows: usize,
        psi: &[f64],
        place: (f64, f64),
    ) -> Result<Pushed<'a>, Error> {
        let dim = surrogate.sizes().dim;
        let family = Arc::new(self.family(Counted::new(surrogate)));
        let base = match self.full_rank {
            true => full_rank_at(dim, place)?,
            false => MeanField::new(dim).with_link(Link::Exp).at(&vec![place.0; dim], &vec![place.1; dim])?,
        };
        let params = family.at(&base, self.step_size, psi)?;
        let counted = family.clone();
        // Gradients of the surrogate, and products with its second derivatives.
        let evaluations =
            move || counted.surrogate.counts().gradient + counted.surrogate.counts().hessian_vector;
        Ok(Pushed { family, params, terms: Box::new(move || evaluations() * rows as u64) })
    }

    /// The paths for this regression, whose base begins at a mean and standard deviation that all coordinates share.
    fn build<'a, W: WeightsPrior, L: Factor>(
        &self,
        rows: &'a LabelledRows<W, L>,
        place: (f64, f64),
        seed: Seed,
    ) -> Result<Pushed<'a>, Error> {
        self.check()?;
        if self.curved {
            return Err(Error::invalid("curved is for targets whose base is fitted first").within("annealed"));
        }
        let LabelledRows { model, train, prior_scale, .. } = rows;
        fits_in_memory("steps", self.steps, 4 * model.dim())?;
        let mut stream = seed.stream(0, 0);
        let scale = prior_scale.ok_or_else(|| {
            let name = <&str>::from(self.surrogate);
            let known = "posterior, minibatch and rand are for any regression";
            Error::invalid(format!(
                "surrogate {name:?} is for logistic regressions with a normal prior; {known}"
            ))
        });
        let make = match self.surrogate {
            Ansatz::Posterior => return self.with(PosteriorSurrogate(model), model.num_data(), &[], place),
            Ansatz::Minibatch => {
                return self.with(MinibatchSurrogate::new(model, self.points)?, self.points, &[], place);
            }
            Ansatz::Rand if prior_scale.is_none() => {
                let surrogate = SubsetSurrogate::random(model, self.points, &mut stream)?;
                let psi = surrogate.initial();
                return self.with(surrogate, self.points, &psi, place);
            }
            Ansatz::Nn => {
                let surrogate = NeuralSurrogate::new(model.dim(), scale?)?;
                let psi = surrogate.initial(&mut stream);
                return self.with(surrogate, 0, &psi, place);
            }
            Ansatz::Rand => LogisticSurrogate::rand,
            Ansatz::RandPm => LogisticSurrogate::rand_pm,
            Ansatz::CsInit => LogisticSurrogate::cs_init,
            Ansatz::CsInitPm => LogisticSurrogate::cs_init_pm,
            Ansatz::CsFix => LogisticSurrogate::cs_fix,
            Ansatz::KmInitPm => LogisticSurrogate::km_init_pm,
            Ansatz::KmFixPm => LogisticSurrogate::km_fix_pm,
        };
        let surrogate = make(train.x.as_ref(), &train.y, self.points, scale?, &mut stream)?;
        // Two weights of a point that start equal would draw the first paths to even odds.
        let surrogate = surrogate.with_class_rate(train.y.iter().sum::<f64>() / train.rows() as f64)?;
        let (psi, points) = (surrogate.initial(), surrogate.num_points());
        self.with(surrogate, points, &psi, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_begins_around_a_point() {
        for (name, settings) in [
            ("mean-field", ""),
            ("full-rank", ""),
            ("low-rank", "rank = 1"),
            ("student-t", "freedom = 5.0"),
            ("affine-flow", "couplings = 4\nwidth = 16"),
            ("spline-flow", "couplings = 2\nwidth = 16\nfreedom = 5.0"),
        ] {
            let shape: FamilyConfig = toml::from_str(&format!("kind = {name:?}\n{settings}")).unwrap();
            assert_eq!(shape.kind(), name);
            let mut stream = mcsa_core::Seed::new(1).stream(0, 0);
            let shaped = shape.build(2).unwrap();
            let params = shaped.around(&[1.0, -2.0], &[0.5, 2.0], &mut stream).unwrap();
            let family = shaped.family;
            assert_eq!(family.check(&params), Ok(()));
            let mut work = vec![0.0; family.work_len(1)];
            let mut at = |z: [f64; 2]| family.log_prob(&params, &z, &mut work);
            let top = at([1.0, -2.0]);
            assert!(top > at([1.1, -2.0]) && top > at([1.0, -1.9]), "{name}");
            let is_diagonal = name != "low-rank";
            assert!(!is_diagonal || (at([1.5, -2.0]) - at([1.0, 0.0])).abs() < 1e-9, "{name}");
            assert_eq!(shape.gaussian(2).is_some(), shape.is_gaussian(), "{name}");
        }
    }
}
