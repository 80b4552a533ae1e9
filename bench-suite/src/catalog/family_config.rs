//! Variational families by name; each can begin at a Gaussian with independent coordinates.

use faer::Mat;
use mcsa_core::{Error, Family, LogDensity, Pushforward, Reparameterised, Seed, Stream};
use mcsa_families::{
    Activation, Affine, Bnaf, Coupling, CouplingMap, Drawn, Fixed, FixedBase, Flow, FullRank, Gauss,
    GaussianFamily, Layer, Link, LowRank, Mask, MeanField, MultivariateT, Spline,
};
use serde::{Deserialize, Serialize};

use super::annealed::{AnnealedConfig, Moved, Pushed};
use super::local_regression::SemiConfig;
use super::rows::LogisticRows;

/// A variational family by name, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum FamilyConfig {
    /// Gaussian with independent coordinates, the family of the papers.
    MeanField {
        /// Map from parameters to scales.
        #[serde(default = "softplus")]
        link: Link,
    },
    /// Gaussian with a dense covariance factor.
    FullRank,
    /// Gaussian with a covariance that is diagonal plus low rank.
    LowRank {
        /// Rank of the low-rank part.
        rank: usize,
    },
    /// Student t with a dense factor.
    StudentT {
        /// Degrees of freedom.
        freedom: f64,
    },
    /// Flow of alternating affine coupling layers, followed by a matrix.
    AffineFlow {
        /// Number of coupling layers.
        couplings: usize,
        /// Hidden units of each network, in one layer.
        width: usize,
        /// Degrees of freedom of the base distribution; if absent, the base is Gaussian.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freedom: Option<f64>,
    },
    /// As `AffineFlow`, with rational-quadratic splines.
    SplineFlow {
        /// Number of coupling layers.
        couplings: usize,
        /// Hidden units of each network, in one layer.
        width: usize,
        /// Degrees of freedom of the base distribution; if absent, the base is Gaussian.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freedom: Option<f64>,
    },
    /// Block neural autoregressive flow, followed by location and scale, for metrics of the bound (see [`Bnaf`]).
    BlockNeural {
        /// Number of networks.
        networks: usize,
        /// Hidden layers of each network.
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

/// Parameters at given means and standard deviations.
type Start = dyn Fn(&[f64], &[f64], &mut Stream) -> Result<Vec<f64>, Error>;

impl BuiltFamily {
    /// Parameters that give the family these means and standard deviations and independent coordinates. `stream` initialises
    /// hidden weights of networks, which do not change the initial distribution, and a low-rank factor, which is small and not
    /// zero, because zero is a saddle point.
    ///
    /// # Errors
    /// If a number is invalid.
    pub fn around(&self, mean: &[f64], deviations: &[f64], stream: &mut Stream) -> Result<Vec<f64>, Error> {
        (self.start)(mean, deviations, stream)
    }
}

impl FamilyConfig {
    /// Every name with its settings and a description, but for those of paths and of flows without a density at arbitrary points.
    pub const ALL: [(&'static str, &'static str, &'static str); 6] = [
        ("mean-field", "", "independent Gaussians"),
        ("full-rank", "", "a Gaussian"),
        ("low-rank", "rank = 1", "a Gaussian with a diagonal plus low-rank covariance"),
        ("student-t", "freedom = 5.0", "a Student t"),
        ("affine-flow", "couplings = 4, width = 16", "affine couplings and a matrix"),
        ("spline-flow", "couplings = 2, width = 16, freedom = 5.0", "spline couplings and a matrix"),
    ];

    /// Name used in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MeanField { .. } => "mean-field",
            Self::FullRank => "full-rank",
            Self::LowRank { .. } => "low-rank",
            Self::StudentT { .. } => "student-t",
            Self::AffineFlow { .. } => "affine-flow",
            Self::SplineFlow { .. } => "spline-flow",
            Self::BlockNeural { .. } => "block-neural",
            Self::Annealed(_) => "annealed",
            Self::SemiAnnealed(_) => "semi-annealed",
            Self::Twisted => "twisted",
        }
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

    /// The family in `dim` dimensions.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn build(&self, dim: usize) -> Result<BuiltFamily, Error> {
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
    ///
    /// # Errors
    /// If a setting is invalid.
    pub(crate) fn pushed<'a>(
        &self,
        rows: &'a LogisticRows,
        place: (f64, f64),
        seed: Seed,
    ) -> Result<Pushed<'a>, Error> {
        let dim = rows.model.dim();
        let (mean, deviations, mut stream) = (vec![place.0; dim], vec![place.1; dim], seed.stream(0, 0));
        match *self {
            Self::Annealed(ref annealed) => annealed.build(rows, place, seed),
            Self::BlockNeural { networks, depth, width } => {
                let family = Bnaf::block_neural(dim, Gauss, networks, &vec![width; depth])?;
                let params = family.start_at(&mean, &deviations, &mut stream)?;
                Ok(Pushed { family: Moved::Alone(Box::new(family)), params })
            }
            _ => {
                let built = self.build(dim)?;
                let params = built.around(&mean, &deviations, &mut stream)?;
                Ok(Pushed { family: Moved::Alone(built.pushforward), params })
            }
        }
    }
}

/// A family that has an entropy in closed form.
fn closed(
    family: impl Reparameterised + Copy + 'static,
    start: impl Fn(&[f64], &[f64], &mut Stream) -> Result<Vec<f64>, Error> + 'static,
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
    let coupling =
        |mask| Layer::Coupling(Coupling { mask, hidden: vec![width], activation: Activation::Tanh, map });
    let masks = Mask::alternating(dim).take(couplings);
    let layers: Vec<Layer> = masks.map(coupling).chain([Layer::Linear]).collect();
    match freedom {
        None => Ok(of_flow(Flow::new(dim, Gauss, layers)?)),
        Some(freedom) => Ok(of_flow(Flow::new(dim, Fixed::new(freedom)?, layers)?)),
    }
}

fn of_flow<B: FixedBase + 'static>(flow: Flow<B>) -> BuiltFamily {
    let (family, pushforward) = (Box::new(flow.clone()), Box::new(flow.clone()));
    let start =
        move |mean: &[f64], deviations: &[f64], stream: &mut Stream| flow.start_at(mean, deviations, stream);
    BuiltFamily { family, pushforward, start: Box::new(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_listing_says_begins_where_it_should() {
        for (name, settings, _) in FamilyConfig::ALL {
            let settings = settings.split(", ").collect::<Vec<_>>().join("\n");
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
