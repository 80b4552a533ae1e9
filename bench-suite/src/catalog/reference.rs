//! Reference draws from a target, to evaluate fits whose divergence has no closed form.

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, ExactDraws, LogDensity, Seed};
use mcsa_diagnostics::standard_error;
use mcsa_estimators::Draws;
use mcsa_families::{MultivariateT, Normal};
use mcsa_kernels::{Nuts, Sampling};
use mcsa_models::{Banana, EightSchools, Funnel, Gaussian, SkewNormal};

use super::{Posterior, Target};
use mcsa_data::Catalogue;

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
const DRAWS: usize = 4_000;
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
        let mut points = Mat::zeros(target.dim(), DRAWS);
        (0..DRAWS).for_each(|j| target.draw_into(&mut stream, points.col_as_slice_mut(j)));
        let log_p = densities(target, &points);
        Self { points, log_p, log_normaliser: 0.0, chains: DRAWS, region }
    }

    /// Draws by NUTS; estimates `log_normaliser` if it is `None`.
    fn by_chains(target: &dyn Posterior, seed: Seed, log_normaliser: Option<f64>) -> Result<Self, Error> {
        let run = Sampling::new(CHAINS, DRAWS / CHAINS).acceptance(0.9);
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
        let (mean, error) = reference.mean(&vec![2.0; DRAWS]);
        assert!(
            mean == 2.0 && !(error > 0.0),
            "values that do not vary have no error, or none that is known"
        );
    }
}
