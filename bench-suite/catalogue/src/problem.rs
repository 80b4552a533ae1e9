//! Built targets, the evaluators of their fits, and reference draws.

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, ExactDraws, Gradient, LogDensity, Seed, Stream};
use mcsa_data::Catalogue;
use mcsa_diagnostics::standard_error;
use mcsa_estimators::Draws;
use mcsa_families::{GaussianFamily, MultivariateT, Normal, kl_gaussian};
use mcsa_kernels::{Nuts, Sampling};
use mcsa_models::{Banana, EightSchools, Funnel, Gaussian, SkewNormal};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use super::Target;
use super::regression::{PLACES, density};

/// A target with the evaluator of its fits.
pub struct Problem {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Evaluator of fits.
    pub evaluator: Evaluator,
    /// Index of the first network weight among the coordinates, if there are weights.
    pub(super) first_weight: Option<usize>,
}

/// Metrics: names with values.
pub type Measures = Vec<(&'static str, f64)>;

/// Metrics of a family at the parameters lambda. An evaluator has its own random stream and sees no chain, so that measuring cannot change
/// a fit. It is an error if a metric cannot be computed, for instance because a covariance has no Cholesky factor.
pub type Evaluator =
    Box<dyn Fn(&dyn GaussianFamily, &[f64], Stream) -> Result<Measures, Error> + Send + Sync>;

impl Problem {
    pub(super) fn new(
        posterior: Arc<dyn Posterior>,
        evaluator: impl Fn(&dyn GaussianFamily, &[f64], Stream) -> Result<Measures, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { posterior, evaluator: Box::new(evaluator), first_weight: None }
    }

    /// Exact inclusive divergence between a Gaussian family and a Gaussian target.
    pub(super) fn gaussian(target: Gaussian) -> Result<Self, Error> {
        if target.dim() == 0 {
            return Err(Error::parameter("dim", 0.0, "at least 1"));
        }
        let variances: Vec<f64> = (0..target.dim()).map(|i| target.variance(i)).collect();
        let floor = target.mean_field_floor();
        let normal = Normal::new(target.mean().to_vec(), target.covariance().as_ref())?;
        // `log det` of the target's covariance.
        let log_volume = variances.iter().map(|variance| variance.ln()).sum::<f64>() - 2.0 * floor;
        let of_mean_field = move |mean: &[f64], own: &[f64], centre: &[f64]| {
            let terms = mean.iter().zip(own).enumerate().map(|(i, (m, v))| {
                let square = (centre[i] - m).powi(2);
                (variances[i] + square) / v - 1.0 + v.ln()
            });
            0.5 * (terms.sum::<f64>() - log_volume)
        };
        Ok(Self::new(Arc::new(target), move |family, params, _| {
            let inclusive = match family.num_params() == 2 * family.dim() {
                true => of_mean_field(family.mean(params), &family.variances(params)?, normal.mean()),
                false => kl_gaussian(&normal, &family.moments(params)?)?,
            };
            Ok(vec![("kl", inclusive), ("kl_floor", floor)])
        }))
    }

    /// Mean and scale of the first coordinate; for targets in one dimension.
    pub(super) fn moments(target: Arc<dyn Posterior>) -> Self {
        Self::new(target, |family, params, _| {
            Ok(vec![("mean", family.mean(params)[0]), ("scale", family.variances(params)?[0].sqrt())])
        })
    }

    /// Estimate of the log marginal likelihood by importance sampling from `q`.
    ///
    /// ```text
    /// log 1/S sum_s p(z_s) / q(z_s),   z_s ~ q,   S = 4096
    /// ```
    /// Markov's inequality bounds how far it can exceed the truth: by `t` nats with probability at most `exp(-t)`.
    pub(super) fn evidence(target: impl Posterior + 'static) -> Self {
        let target = Arc::new(target);
        Self::new(target.clone(), move |family, params, stream| {
            Ok(vec![("log_z", Draws::of(&*target, family, params, stream, DRAWS)?.log_evidence())])
        })
    }

    /// Vectors at the end of a fit with these means: those of network weights.
    pub fn vectors(&self, mean: &[f64]) -> Vec<(Vector, Vec<f64>)> {
        let weights = |first: usize| {
            [(Vector::Weight, PLACES.to_vec()), (Vector::WeightDensity, density(&mean[first..]))]
        };
        self.first_weight.into_iter().flat_map(weights).collect()
    }
}

const DRAWS: usize = 4096;

/// Requirements on a target: gradients, for the methods that need them. Used behind a
/// pointer, with a virtual call per batch.
pub trait Posterior: Gradient {}

impl<P: Gradient> Posterior for P {}

/// Reference draws from a target with their densities and the normaliser.
pub struct Reference {
    /// One draw per column: independent draws if the target can be sampled exactly, otherwise four chains of NUTS, one after
    /// the other.
    pub points: Mat<f64>,
    /// Unnormalised `log p` of each draw.
    pub log_p: Vec<f64>,
    /// `log Z`: exact, or by importance sampling from a Student t with the moments of the draws.
    pub log_normaliser: f64,
    /// Number of chains of equal length; equals the number of draws if these are independent.
    chains: usize,
    /// Region of the target that a fit may miss, such as the smaller mode, if one is defined.
    region: Option<Region>,
}

type Region = Arc<dyn Fn(&[f64]) -> bool + Send + Sync>;

/// Number of draws: gives a standard error of 0.02 if `log p - log q` has standard deviation one.
const REFERENCE_DRAWS: usize = 4_000;
const CHAINS: usize = 4;

impl Reference {
    /// Fraction of the points in the region; `None` if no region is defined.
    pub fn share(&self, points: &Mat<f64>) -> Option<f64> {
        let region = self.region.as_ref()?;
        let inside = (0..points.ncols()).filter(|&j| region(points.col_as_slice(j))).count();
        Some(inside as f64 / points.ncols() as f64)
    }

    /// Mean over the draws with its standard error, which accounts for autocorrelation within chains.
    pub fn mean(&self, values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if self.chains == values.len() {
            let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            return (mean, square.sqrt() / values.len() as f64);
        }
        let chains: Vec<&[f64]> = values.chunks_exact(values.len() / self.chains).collect();
        (mean, standard_error(&chains))
    }

    fn exact(target: &impl ExactDraws, seed: Seed, region: Option<Region>) -> Self {
        let mut stream = seed.stream(0, 0);
        let mut points = Mat::zeros(target.dim(), REFERENCE_DRAWS);
        (0..REFERENCE_DRAWS).for_each(|j| target.draw_into(&mut stream, points.col_as_slice_mut(j)));
        let log_p = densities(target, &points);
        Self { points, log_p, log_normaliser: 0.0, chains: REFERENCE_DRAWS, region }
    }

    /// Draws by NUTS; estimates `log_normaliser` if it is `None`.
    fn by_chains(target: &dyn Posterior, seed: Seed, log_normaliser: Option<f64>) -> Result<Self, Error> {
        let run = Sampling::new(CHAINS, REFERENCE_DRAWS / CHAINS).acceptance(0.9);
        let starts = Mat::zeros(target.dim(), CHAINS);
        let points = run.run_from(&Nuts::new(0.1)?, target, starts, seed)?.draws;
        let log_p = densities(target, &points);
        let log_normaliser = match log_normaliser {
            Some(known) => known,
            None => evidence(target, &points, seed.named("evidence"))?,
        };
        Ok(Self { points, log_p, log_normaliser, chains: CHAINS, region: None })
    }
}

fn densities(target: &(impl LogDensity + ?Sized), points: &Mat<f64>) -> Vec<f64> {
    let mut log_p = vec![0.0; points.ncols()];
    target.log_densities(points.as_ref(), &mut log_p, &mut vec![0.0; target.work_len(points.ncols())]);
    log_p
}

/// `log Z` by importance sampling from a Student t with five degrees of freedom and the moments of the draws.
fn evidence(target: &dyn Posterior, points: &Mat<f64>, seed: Seed) -> Result<f64, Error> {
    const FRESH: usize = 20_000;
    let (dim, draws) = (points.nrows(), points.ncols() as f64);
    let mean: Vec<f64> = (0..dim).map(|i| points.row(i).iter().sum::<f64>() / draws).collect();
    let centred = Mat::from_fn(dim, points.ncols(), |i, j| points[(i, j)] - mean[i]);
    let covariance = &centred * centred.transpose();
    let covariance = Mat::from_fn(dim, dim, |i, k| covariance[(i, k)] / draws);
    let normal = Normal::new(mean, covariance.as_ref())?;
    let family = MultivariateT::fixed(dim, 5.0)?;
    let params = family.at(normal.mean(), normal.factor())?;
    Ok(Draws::of(target, &family, &params, seed.stream(0, 0), FRESH)?.log_evidence())
}

impl Target {
    /// Reference draws of the target with the data split of the replicate; they do not depend on method and family.
    pub fn reference(&self, catalogue: &Catalogue, seed: Seed) -> Result<Reference, Error> {
        let draws = seed.named("reference");
        match self {
            Self::CorrelatedGaussian { dim, correlation } => {
                Ok(Reference::exact(&super::correlated_gaussian(*dim, *correlation)?, draws, None))
            }
            Self::StandardGaussian { dim } => Ok(Reference::exact(&Gaussian::standard(*dim), draws, None)),
            Self::SkewNormal => Ok(Reference::exact(&SkewNormal::msc(), draws, None)),
            Self::Banana { width, bend } => Ok(Reference::exact(&Banana::new(*width, *bend)?, draws, None)),
            Self::Funnel { dim, scale } => Ok(Reference::exact(&Funnel::new(*dim, *scale)?, draws, None)),
            Self::Moons { .. } | Self::Modes { .. } => {
                let target = Arc::new(self.mixture()?);
                let (inner, half) = (target.clone(), target.components().len() / 2);
                let length = inner.work_len(1);
                let region = move |z: &[f64]| inner.nearest(z, &mut vec![0.0; length]) >= half;
                Ok(Reference::exact(&*target, draws, Some(Arc::new(region))))
            }
            Self::EightSchools => {
                let (log_evidence, _) = EightSchools::non_centred().log_evidence(1e-10);
                Reference::by_chains(&EightSchools::non_centred(), draws, Some(log_evidence))
            }
            Self::HierarchicalLogistic { .. }
            | Self::Logistic { .. }
            | Self::SyntheticLogistic { .. }
            | Self::SubsetLogistic { .. } => {
                Reference::by_chains(&*self.build(catalogue, seed)?.posterior, draws, None)
            }
            _ => Err(self.is_no("target with reference draws")),
        }
    }
}

/// Vector of a row.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Vector {
    /// Mean of each coordinate under q.
    Means,
    /// Log standard deviation of each coordinate under q.
    LogScales,
    /// First coordinate of draws of q.
    DrawsX,
    /// Second coordinate of draws of q.
    DrawsY,
    /// Places at which [`Vector::WeightDensity`] is evaluated.
    Weight,
    /// Density of the means of network weights.
    WeightDensity,
    /// Ranks of true parameters, and of their log density, among draws.
    Ranks,
}

impl Vector {
    /// Name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the evidence estimated from chains of eight schools with the exact one. Weights of 20 000 draws of a nearby t
    /// vary by less than 100 %, so that the error is below 0.01; the test allows six times that.
    #[test]
    fn the_evidence_that_is_found_is_the_exact_one() {
        let target = EightSchools::non_centred();
        let reference = Reference::by_chains(&target, Seed::new(5), None).unwrap();
        let (exact, _) = target.log_evidence(1e-10);
        assert!((reference.log_normaliser - exact).abs() < 0.06, "{} {exact}", reference.log_normaliser);
        let (mean, error) = reference.mean(&vec![2.0; REFERENCE_DRAWS]);
        assert!(
            mean == 2.0 && !(error > 0.0),
            "values that do not vary have no error, or none that is known"
        );
    }
}
