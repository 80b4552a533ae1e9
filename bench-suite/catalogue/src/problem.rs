//! Built targets, the evaluators of their fits, and reference draws.

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, ExactDraws, Gradient, LogDensity, Seed, Separable, Stream};
use mcsa_data::Catalogue;
use mcsa_diagnostics::standard_error;
use mcsa_estimators::Draws;
use mcsa_families::{GaussianFamily, MultivariateT, Normal, kl_gaussian};
use mcsa_kernels::{Nuts, Sampling};
use mcsa_models as models;
use mcsa_models::{Banana, EightSchools, Funnel, Gaussian, SkewNormal};
use serde::{Deserialize, Serialize};

use super::Target;

/// A target with the evaluator of its fits.
pub struct Problem {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Evaluator of fits.
    pub evaluator: Box<dyn Evaluator>,
    /// The same target with a likelihood term for each datum, if it has such terms.
    pub likelihood: Option<Likelihood>,
}

/// A target with a likelihood term for each datum, and the data.
pub struct Likelihood {
    /// The target.
    pub target: Arc<dyn Separable>,
    /// The data.
    pub observed: Vec<f64>,
}

impl Problem {
    /// A target with its evaluator, without likelihood terms.
    pub(super) fn new(posterior: Arc<dyn Posterior>, evaluator: impl Evaluator + 'static) -> Self {
        Self { posterior, evaluator: Box::new(evaluator), likelihood: None }
    }

    /// Adds the likelihood terms of the target.
    #[must_use]
    pub(super) fn of_data(self, target: Arc<dyn Separable>, observed: Vec<f64>) -> Self {
        Self { likelihood: Some(Likelihood { target, observed }), ..self }
    }
}

/// Metrics: names with values.
pub type Measures = Vec<(&'static str, f64)>;

/// Evaluator of the approximation at lambda. It has its own random stream and sees no chain, so that measuring cannot change
/// a fit.
pub trait Evaluator: Send + Sync {
    /// Metrics of the family at the parameters `params`.
    ///
    /// # Errors
    /// If the metrics cannot be computed, for instance because a covariance has no Cholesky factor.
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], stream: Stream)
    -> Result<Measures, Error>;

    /// Vectors at the end of a fit; by default none.
    fn vectors(&self, _family: &dyn GaussianFamily, _params: &[f64]) -> Vec<(Vector, Vec<f64>)> {
        Vec::new()
    }
}

/// Exact inclusive and exclusive divergence between a Gaussian family and a Gaussian target.
pub(super) struct Divergence {
    target: Normal,
    variances: Vec<f64>,
    floor: f64,
    /// `log det` of the target's covariance.
    log_volume: f64,
}

impl Divergence {
    pub(super) fn new(target: &models::Gaussian) -> Result<Self, Error> {
        if target.dim() == 0 {
            return Err(Error::parameter("dim", 0.0, "at least 1"));
        }
        let variances: Vec<f64> = (0..target.dim()).map(|i| target.variance(i)).collect();
        let floor = target.mean_field_floor();
        let covariance = target.covariance();
        let normal = Normal::new(target.mean().to_vec(), covariance.as_ref())?;
        let log_volume = variances.iter().map(|variance| variance.ln()).sum::<f64>() - 2.0 * floor;
        Ok(Self { target: normal, variances, floor, log_volume })
    }
}

impl Evaluator for Divergence {
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], _: Stream) -> Result<Measures, Error> {
        let (mean, variances) = (family.mean(params), family.variances(params)?);
        let inclusive = if family.num_params() == 2 * family.dim() {
            let terms = mean.iter().zip(&variances).enumerate().map(|(i, (m, v))| {
                let square = (self.target.mean()[i] - m).powi(2);
                (self.variances[i] + square) / v - 1.0 + v.ln()
            });
            0.5 * (terms.sum::<f64>() - self.log_volume)
        } else {
            kl_gaussian(&self.target, &family.moments(params)?)?
        };
        Ok(vec![("kl", inclusive), ("kl_floor", self.floor)])
    }
}

/// Mean and scale of the first coordinate; for targets in one dimension.
pub(super) struct Moments;

impl Evaluator for Moments {
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], _: Stream) -> Result<Measures, Error> {
        Ok(vec![("mean", family.mean(params)[0]), ("scale", family.variances(params)?[0].sqrt())])
    }
}

/// Estimate of the log marginal likelihood by importance sampling from `q`.
///
/// ```text
/// log 1/S sum_s p(z_s) / q(z_s),   z_s ~ q,   S = 4096
/// ```
/// Markov's inequality bounds how far it can exceed the truth: by `t` nats with probability at most `exp(-t)`.
pub(super) struct LogEvidence {
    pub(super) target: std::sync::Arc<dyn Posterior>,
}

const DRAWS: usize = 4096;

impl Evaluator for LogEvidence {
    fn measure(
        &self,
        family: &dyn GaussianFamily,
        params: &[f64],
        stream: Stream,
    ) -> Result<Measures, Error> {
        Ok(vec![("log_z", Draws::of(&*self.target, family, params, stream, DRAWS)?.log_evidence())])
    }
}

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

/// Membership in the region.
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
    ///
    /// # Errors
    /// If the target can be sampled neither exactly nor by chains.
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
            _ => {
                let reason = format!(
                    "there are no reference draws of {}, so no fit of it is measured by them",
                    self.kind()
                );
                Err(Error::invalid(reason))
            }
        }
    }
}

/// Vector of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
}

impl Vector {
    const ALL: [Self; 6] =
        [Self::Means, Self::LogScales, Self::DrawsX, Self::DrawsY, Self::Weight, Self::WeightDensity];

    /// The vector with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vector| vector.name() == name)
    }

    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Means => "means",
            Self::LogScales => "log_scales",
            Self::DrawsX => "draws_x",
            Self::DrawsY => "draws_y",
            Self::Weight => "weight",
            Self::WeightDensity => "weight_density",
        }
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;
    use mcsa_data::Catalogue;

    use super::super::Target;
    use super::*;

    #[derive(serde::Deserialize)]
    struct One {
        target: Target,
    }

    fn target(text: &str) -> Target {
        toml::from_str::<One>(&format!("target = {{ kind = {text} }}")).unwrap().target
    }

    /// Prior and terms add up to the log density of the target that is fitted.
    #[test]
    fn terms_are_those_of_the_target() {
        let (catalogue, seed) = (Catalogue::found(None), Seed::new(3));
        let rows =
            "rows = 30, held_out = 5, dim = 3, rate = 0.3, correlation = 0.2, prior_scale = 1.0, seed = 1";
        for text in [
            "\"eight-schools\"",
            "\"radon\"",
            "\"stock-volatility\", data = \"sp500_close_2007_2017\"",
            "\"hierarchical-logistic\", data = \"pima\", standardised = false",
            "\"logistic\", data = \"pima\", standardised = true, prior_scale = 1.0",
            &format!("\"synthetic-logistic\", name = \"synthetic\", {rows}"),
            "\"subset-logistic\", data = \"covtype\", rows = 50, held_out = 5, prior_scale = 1.0, seed = 1",
            "\"probit\", data = \"ionosphere\"",
            "\"probit\", data = \"ionosphere\", complete = true",
            "\"neural-regression\", data = \"yacht\", hidden = 5",
        ] {
            let problem = target(text).build(&catalogue, seed).unwrap();
            let found = problem.likelihood.unwrap();
            assert_eq!(found.observed.len(), found.target.num_data());
            let dim = problem.posterior.dim();
            let z: Vec<f64> = (0..dim).map(|i| 0.3 - 0.1 * (i % 9) as f64).collect();
            let mut work = vec![0.0; problem.posterior.work_len(1).max(found.target.work_len(1))];
            let rows: Vec<usize> = (0..found.observed.len()).collect();
            let sum =
                found.target.log_prior(&z, &mut work) + found.target.log_likelihood_at(&rows, &z, &mut work);
            let whole = problem.posterior.log_density(&z, &mut work);
            assert!((sum - whole).abs() < 1e-9 * whole.abs().max(1.0), "{text}: {sum} {whole}");
        }
        let without = target("\"skew-normal\"").build(&catalogue, seed).unwrap();
        assert!(without.likelihood.is_none());
    }

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
