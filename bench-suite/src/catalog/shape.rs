//! Families by name, beyond those of `Approximation`; each can begin at a Gaussian with independent coordinates.

use faer::Mat;
use mcsa_core::{Error, Family, Pushforward, Reparameterised, Stream};
use mcsa_families::{
    Activation, Affine, Coupling, CouplingMap, Drawn, Fixed, FixedBase, Flow, FullRank, Gauss, Layer, Mask,
    MeanField, MultivariateT, Spline,
};
use serde::{Deserialize, Serialize};

/// A family by name, with its settings. Each can begin at given means and standard deviations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Shape {
    /// Gaussian with independent coordinates.
    MeanField,
    /// Gaussian with a dense covariance factor.
    FullRank,
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
}

/// A family with its initial parameters.
pub struct Shaped {
    /// The family, with densities at arbitrary points.
    pub family: Box<dyn Family>,
    /// The family as a pushforward of its base distribution.
    pub pushforward: Box<dyn Pushforward>,
    /// Initial parameters.
    pub params: Vec<f64>,
}

impl Shape {
    /// Every name with its settings and a description.
    pub const ALL: [(&'static str, &'static str, &'static str); 5] = [
        ("mean-field", "", "independent Gaussians"),
        ("full-rank", "", "a Gaussian"),
        ("student-t", "freedom = 5.0", "a Student t"),
        ("affine-flow", "couplings = 4, width = 16", "affine couplings and a matrix"),
        ("spline-flow", "couplings = 2, width = 16, freedom = 5.0", "spline couplings and a matrix"),
    ];

    /// Name used in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MeanField => "mean-field",
            Self::FullRank => "full-rank",
            Self::StudentT { .. } => "student-t",
            Self::AffineFlow { .. } => "affine-flow",
            Self::SplineFlow { .. } => "spline-flow",
        }
    }

    /// The family, with parameters that give it these means and standard deviations and independent coordinates. `stream`
    /// initialises hidden weights of networks, which do not change the initial distribution.
    ///
    /// # Errors
    /// If a setting or a number is invalid.
    pub fn around(&self, mean: &[f64], deviations: &[f64], stream: &mut Stream) -> Result<Shaped, Error> {
        let dim = mean.len();
        let diagonal = || Mat::from_fn(dim, dim, |i, j| if i == j { deviations[i] } else { 0.0 });
        match *self {
            Self::MeanField => {
                let family = MeanField::new(dim);
                Ok(closed(family, family.at(mean, deviations)?))
            }
            Self::FullRank => {
                let family = FullRank::new(dim);
                Ok(closed(family, family.at(mean, diagonal().as_ref())?))
            }
            Self::StudentT { freedom } => {
                let family = MultivariateT::fixed(dim, freedom)?;
                Ok(closed(family, family.at(mean, diagonal().as_ref())?))
            }
            Self::AffineFlow { couplings, width, freedom } => {
                let map = CouplingMap::Affine(Affine::default());
                flow(map, couplings, width, freedom, mean, deviations, stream)
            }
            Self::SplineFlow { couplings, width, freedom } => {
                let map = CouplingMap::Spline(Spline::default());
                flow(map, couplings, width, freedom, mean, deviations, stream)
            }
        }
    }
}

/// A family that has an entropy in closed form.
fn closed(family: impl Reparameterised + Copy + 'static, params: Vec<f64>) -> Shaped {
    Shaped { family: Box::new(family), pushforward: Box::new(Drawn(family)), params }
}

fn flow(
    map: CouplingMap,
    couplings: usize,
    width: usize,
    freedom: Option<f64>,
    mean: &[f64],
    deviations: &[f64],
    stream: &mut Stream,
) -> Result<Shaped, Error> {
    let coupling =
        |mask| Layer::Coupling(Coupling { mask, hidden: vec![width], activation: Activation::Tanh, map });
    let masks = Mask::alternating(mean.len()).take(couplings);
    let layers: Vec<Layer> = masks.map(coupling).chain([Layer::Linear]).collect();
    match freedom {
        None => placed(Flow::new(mean.len(), Gauss, layers)?, mean, deviations, stream),
        Some(freedom) => {
            placed(Flow::new(mean.len(), Fixed::new(freedom)?, layers)?, mean, deviations, stream)
        }
    }
}

fn placed<B: FixedBase + 'static>(
    flow: Flow<B>,
    mean: &[f64],
    deviations: &[f64],
    stream: &mut Stream,
) -> Result<Shaped, Error> {
    let params = flow.start_at(mean, deviations, stream)?;
    Ok(Shaped { family: Box::new(flow.clone()), pushforward: Box::new(flow), params })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_listing_says_begins_where_it_should() {
        for (name, settings, _) in Shape::ALL {
            let settings = settings.split(", ").collect::<Vec<_>>().join("\n");
            let shape: Shape = toml::from_str(&format!("kind = {name:?}\n{settings}")).unwrap();
            assert_eq!(shape.kind(), name);
            let mut stream = mcsa_core::Seed::new(1).stream(0, 0);
            let Shaped { family, params, .. } = shape.around(&[1.0, -2.0], &[0.5, 2.0], &mut stream).unwrap();
            assert_eq!(family.check(&params), Ok(()));
            let mut work = vec![0.0; family.work_len(1)];
            let mut at = |z: [f64; 2]| family.log_prob(&params, &z, &mut work);
            let top = at([1.0, -2.0]);
            assert!(top > at([1.1, -2.0]) && top > at([1.0, -1.9]), "{name}");
            assert!((at([1.5, -2.0]) - at([1.0, 0.0])).abs() < 1e-9, "{name}");
        }
    }
}
