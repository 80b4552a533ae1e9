//! Families of any shape by name, begun where a Gaussian with independent coordinates is.

use faer::Mat;
use mcsa::{Error, Family, Pushforward, Reparameterised, Stream};
use mcsa_families::{
    Activation, Affine, Coupling, CouplingMap, Drawn, Fixed, FixedBase, Flow, FullRank, Gauss, Layer, Mask,
    MeanField, MultivariateT, Spline,
};
use serde::{Deserialize, Serialize};

/// A family by name, with its settings. Each can begin at a mean and standard deviations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Shape {
    /// Independent Gaussians.
    MeanField,
    /// A Gaussian with a dense factor.
    FullRank,
    /// The Student t with a dense factor.
    StudentT {
        /// The degrees of freedom.
        freedom: f64,
    },
    /// Affine couplings, alternating, then a matrix.
    AffineFlow {
        /// How many couplings.
        couplings: usize,
        /// Hidden units of each network, in one layer.
        width: usize,
        /// The degrees of freedom of the base; it is Gaussian without them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freedom: Option<f64>,
    },
    /// The same with rational-quadratic splines.
    SplineFlow {
        /// How many couplings.
        couplings: usize,
        /// Hidden units of each network, in one layer.
        width: usize,
        /// The degrees of freedom of the base; it is Gaussian without them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        freedom: Option<f64>,
    },
}

/// A family, and its params where it begins.
pub struct Shaped {
    /// The family, to be asked for densities anywhere.
    pub family: Box<dyn Family>,
    /// The same, pushed forward from its noise.
    pub pushforward: Box<dyn Pushforward>,
    /// Where it begins.
    pub params: Vec<f64>,
}

impl Shape {
    /// Every name, its settings, and what stands behind it.
    pub const ALL: [(&'static str, &'static str, &'static str); 5] = [
        ("mean-field", "", "independent Gaussians"),
        ("full-rank", "", "a Gaussian"),
        ("student-t", "freedom = 5.0", "a Student t"),
        ("affine-flow", "couplings = 4, width = 16", "affine couplings and a matrix"),
        ("spline-flow", "couplings = 2, width = 16, freedom = 5.0", "spline couplings and a matrix"),
    ];

    /// The name, as files write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MeanField => "mean-field",
            Self::FullRank => "full-rank",
            Self::StudentT { .. } => "student-t",
            Self::AffineFlow { .. } => "affine-flow",
            Self::SplineFlow { .. } => "spline-flow",
        }
    }

    /// The family, and its params at these means and deviations of independent coordinates; `stream` is for hidden weights, which
    /// change nothing there.
    ///
    /// # Errors
    /// If a setting or a number is impossible.
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

/// A family with a closed entropy.
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
            let mut stream = mcsa::Seed::new(1).stream(0, 0);
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
