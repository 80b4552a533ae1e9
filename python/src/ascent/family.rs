//! Variational families by name.

use mcsa::core::{Error, Family, Pushforward, Seed, Stream};
use mcsa::faer::Mat;
use mcsa::families::{
    Activation, Affine, Coupling, CouplingMap, Drawn, Fixed, FixedBase, Flow, FullRank, Gauss,
    GaussianFamily, Layer, LowRank, Mask, MeanField, MultivariateT, Spline,
};
use serde::Deserialize;

/// A family by name, with its settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) enum FamilyName {
    MeanField {},
    FullRank {},
    LowRank { rank: usize },
    StudentT { freedom: f64 },
    AffineFlow { couplings: usize, width: usize, freedom: Option<f64> },
    SplineFlow { couplings: usize, width: usize, freedom: Option<f64> },
}

/// A family in some dimension.
pub(crate) enum Built {
    Gaussian(Box<dyn GaussianFamily>),
    Other { family: Box<dyn Family>, pushforward: Box<dyn Pushforward> },
}

impl Built {
    /// The family, with densities at arbitrary points.
    pub(crate) fn family(&self) -> &dyn Family {
        match self {
            Self::Gaussian(family) => &**family,
            Self::Other { family, .. } => &**family,
        }
    }
}

impl FamilyName {
    /// The family, and parameters that give it these means and scales and independent coordinates.
    ///
    /// # Errors
    /// If a setting or a number is invalid.
    pub(crate) fn build(&self, mean: &[f64], scale: &[f64], seed: Seed) -> Result<(Built, Vec<f64>), Error> {
        let dim = mean.len();
        let diagonal = Mat::from_fn(dim, dim, |i, j| if i == j { scale[i] } else { 0.0 });
        let mut stream = seed.named("start").stream(0, 0);
        match *self {
            Self::MeanField {} => {
                let family = MeanField::new(dim);
                Ok((Built::Gaussian(Box::new(family)), family.at(mean, scale)?))
            }
            Self::FullRank {} => {
                let family = FullRank::new(dim);
                Ok((Built::Gaussian(Box::new(family)), family.at(mean, diagonal.as_ref())?))
            }
            Self::LowRank { rank } => {
                // A factor of zero would be a saddle point.
                let factor = Mat::from_fn(dim, rank, |i, _| 0.1 * scale[i] * stream.normal());
                let family = LowRank::new(dim, rank);
                Ok((Built::Gaussian(Box::new(family)), family.at(mean, scale, factor.as_ref())?))
            }
            Self::StudentT { freedom } => {
                let family = MultivariateT::fixed(dim, freedom)?;
                let params = family.at(mean, diagonal.as_ref())?;
                let pushforward = Box::new(Drawn(family));
                Ok((Built::Other { family: Box::new(family), pushforward }, params))
            }
            Self::AffineFlow { couplings, width, freedom } => {
                let map = CouplingMap::Affine(Affine::default());
                flow(map, couplings, width, freedom, (mean, scale), &mut stream)
            }
            Self::SplineFlow { couplings, width, freedom } => {
                let map = CouplingMap::Spline(Spline::default());
                flow(map, couplings, width, freedom, (mean, scale), &mut stream)
            }
        }
    }
}

fn flow(
    map: CouplingMap,
    couplings: usize,
    width: usize,
    freedom: Option<f64>,
    at: (&[f64], &[f64]),
    stream: &mut Stream,
) -> Result<(Built, Vec<f64>), Error> {
    let dim = at.0.len();
    let coupling =
        |mask| Layer::Coupling(Coupling { mask, hidden: vec![width], activation: Activation::Tanh, map });
    let layers: Vec<Layer> =
        Mask::alternating(dim).take(couplings).map(coupling).chain([Layer::Linear]).collect();
    match freedom {
        None => around(Flow::new(dim, Gauss, layers)?, at, stream),
        Some(freedom) => around(Flow::new(dim, Fixed::new(freedom)?, layers)?, at, stream),
    }
}

fn around<B: FixedBase + 'static>(
    flow: Flow<B>,
    (mean, scale): (&[f64], &[f64]),
    stream: &mut Stream,
) -> Result<(Built, Vec<f64>), Error> {
    let params = flow.start_at(mean, scale, stream)?;
    Ok((Built::Other { family: Box::new(flow.clone()), pushforward: Box::new(flow) }, params))
}
