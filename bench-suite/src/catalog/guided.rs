//! Annealed paths on regressions with a known evidence, with the value of what guides them.

use std::sync::Arc;

use faer::{Mat, MatRef};
use mcsa_core::{Error, LogDensity, Pushforward, Seed, Surrogate};
use mcsa_data::Catalogue;
use mcsa_families::dais::{Annealed, Dais};
use mcsa_models::surrogate::{LogisticSurrogate, PosteriorSurrogate, QuadraticSurrogate};
use mcsa_theory::dais::{LinearDais, Normal, Quadratic};

use super::synthetic_linear::LinearRows;
use super::{AnnealedConfig, Ansatz, LogisticRows, Target};

/// A regression whose evidence is known: in closed form, or by quadrature in few dimensions.
pub(crate) enum Known {
    /// Linear regression with known noise.
    Linear(LinearRows),
    /// Logistic regression.
    Logistic(LogisticRows),
}

/// Guide density of a path.
pub(crate) enum Guide {
    /// The posterior itself.
    Posterior,
    /// The prior of a linear regression with a quadratic log likelihood, whose numbers are psi.
    Quadratic,
    /// The prior of a logistic regression with weighted points.
    Points(LogisticSurrogate),
}

/// A family of annealed paths with its parameters at the start of a fit.
pub(crate) struct Guided<'a> {
    pub(crate) family: Arc<dyn Pushforward + 'a>,
    pub(crate) params: Vec<f64>,
    pub(crate) guide: Guide,
    chain: Box<Chain<'a>>,
}

/// Chain at a lambda.
type Chain<'a> = dyn Fn(&[f64]) -> Result<Dais, Error> + 'a;

impl Known {
    /// The regression of a target.
    ///
    /// # Errors
    /// If the target is no regression with a normal prior, a setting is invalid, or data cannot be loaded.
    pub(crate) fn of(target: &Target, catalogue: &Catalogue, seed: Seed) -> Result<Self, Error> {
        match target {
            Target::SyntheticLinear { .. } => target.linear_rows().map(Self::Linear),
            _ => target.logistic_rows(catalogue, seed).map(Self::Logistic),
        }
    }
}

impl AnnealedConfig {
    /// The paths on this regression, whose base begins at a mean and standard deviation that all coordinates share.
    ///
    /// # Errors
    /// If a setting is invalid, or parts of the gap are not known for the ansatz.
    pub(crate) fn guided<'a>(
        &self,
        known: &'a Known,
        place: (f64, f64),
        seed: Seed,
    ) -> Result<Guided<'a>, Error> {
        self.check()?;
        match (known, self.surrogate) {
            (Known::Linear(rows), Ansatz::Posterior) => {
                Ok(guided(self.along(PosteriorSurrogate(&rows.model), &[], place)?, Guide::Posterior))
            }
            (Known::Linear(rows), Ansatz::Rand) => {
                let surrogate = rows.random(self.points, seed)?;
                let psi = surrogate.initial();
                Ok(guided(self.along(surrogate, &psi, place)?, Guide::Quadratic))
            }
            (Known::Linear(_), other) => {
                Err(Error::invalid(format!("{} is no surrogate of a linear regression", other.name())))
            }
            (Known::Logistic(rows), Ansatz::Posterior) => {
                Ok(guided(self.along(PosteriorSurrogate(&rows.model), &[], place)?, Guide::Posterior))
            }
            (Known::Logistic(rows), _) => {
                let surrogate = self.weighted(rows, seed)?;
                let psi = surrogate.initial();
                Ok(guided(self.along(surrogate.clone(), &psi, place)?, Guide::Points(surrogate)))
            }
        }
    }
}

fn guided<'a, S: Surrogate + 'a>((family, params): (Annealed<S>, Vec<f64>), guide: Guide) -> Guided<'a> {
    let family = Arc::new(family);
    let at = family.clone();
    Guided { family, params, guide, chain: Box::new(move |params| at.chain(params)) }
}

impl LinearRows {
    /// Quadratic log likelihood of `count` random rows, each with the weight of `rows / count` rows, as a surrogate whose numbers
    /// are learned.
    fn random(&self, count: usize, seed: Seed) -> Result<QuadraticSurrogate, Error> {
        let all = self.x.nrows();
        if count > all {
            return Err(Error::invalid(format!("{count} points of {all} rows")));
        }
        let (mut stream, mut order) = (seed.stream(0, 0), (0..all).collect::<Vec<usize>>());
        for k in 0..count {
            order.swap(k, k + stream.index(all - k).unwrap_or(0));
        }
        let x = Mat::from_fn(count, self.x.ncols(), |i, k| self.x[(order[i], k)]);
        let y: Vec<f64> = order[..count].iter().map(|&row| self.y[row]).collect();
        let weights = vec![all as f64 / count as f64; count];
        let Quadratic { slope, curvature, .. } = Quadratic::regression(&x, &y, &weights, self.noise);
        QuadraticSurrogate::new(&slope, curvature.as_ref(), vec![0.0; slope.len()], self.prior_scale)
    }
}

impl Guided<'_> {
    /// Parameters psi of the surrogate in lambda.
    pub(crate) fn psi<'p>(&self, params: &'p [f64]) -> &'p [f64] {
        let len = match &self.guide {
            Guide::Posterior => 0,
            Guide::Quadratic => self.family.dim() * (self.family.dim() + 1),
            Guide::Points(surrogate) => surrogate.num_params(),
        };
        &params[params.len() - len..]
    }

    /// The chain at lambda in closed form, on a linear regression.
    ///
    /// # Errors
    /// If lambda is refused.
    pub(crate) fn linear(&self, rows: &LinearRows, params: &[f64]) -> Result<LinearDais, Error> {
        let chain = (self.chain)(params)?;
        let (psi, d) = (self.psi(params), self.family.dim());
        let surrogate = match self.guide {
            Guide::Quadratic => {
                let entry = |i: usize, j: usize| psi[d + j * d + i];
                let curvature = Mat::from_fn(d, d, |i, j| 0.5 * (entry(i, j) + entry(j, i)));
                Quadratic { slope: psi[..d].to_vec(), curvature, constant: 0.0 }
            }
            _ => rows.likelihood.clone(),
        };
        let Dais { base, step_size, kappa, longest, gamma, betas, mass, law } = chain;
        let base = Normal::new(base.mean().to_vec(), base.covariance())?;
        let deviation = mass.iter().map(|&mass| law.deviation(mass)).collect();
        let prior = rows.prior.clone();
        Ok(LinearDais { prior, base, surrogate, step_size, kappa, longest, gamma, betas, mass, deviation })
    }
}

impl LogisticRows {
    /// Log of prior times surrogate likelihood at each point.
    pub(crate) fn log_surrogate(
        &self,
        surrogate: &LogisticSurrogate,
        psi: &[f64],
        z: MatRef<'_, f64>,
        out: &mut [f64],
    ) {
        surrogate.log_likelihoods(psi, z, out);
        let log_scale = self.prior_scale.ln() + 0.5 * std::f64::consts::TAU.ln();
        for (j, out) in out.iter_mut().enumerate() {
            let square: f64 = z.col(j).iter().map(|z| (z / self.prior_scale).powi(2)).sum();
            *out -= 0.5 * square + self.model.dim() as f64 * log_scale;
        }
    }
}
