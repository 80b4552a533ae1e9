//! Reuse of an answer: as the start of another fit, and as the prior of further data.

use mcsa_core::{Error, Family, Parametric, bits, numeric};
use mcsa_estimators::Draws;
use mcsa_models::{Gaussian, Mixture};
use mcsa_optim::deterministic::Gaussian as Moments;
use serde::{Deserialize, Serialize};

use crate::posterior::climb::moments::{gaussian, of_weighted};
use crate::posterior::{FitResult, Options, Shape};

/// The approximation q of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approximation {
    /// Its family.
    pub shape: Shape,
    /// Its parameters.
    #[serde(with = "bits::vector")]
    pub params: Vec<f64>,
}

impl Options {
    /// The options, for a fit that begins at the q of an earlier one: of the same model with more data, or of a similar model
    /// with the same coordinates. This q takes the place of the ascents, or of tempering, before the climb.
    ///
    /// 1,000 draws of the earlier q are weighted first. If their weights are too uneven, the fit goes on as without it; else the
    /// climb begins there. The verdict is that of any fit: all ascents are made and all checks run. If chains are the answer of
    /// the earlier fit, there is no q, and the fit begins as usual.
    ///
    /// ```
    /// use mcsa::Options;
    /// use mcsa::prelude::*;
    /// let normal = |mean: f64| from_fn(2, move |z| -0.5 * ((z[0] - mean).powi(2) + z[1] * z[1]));
    /// let first = mcsa::fit_density(&normal(0.0), &Options::seeded(1))?;
    /// let again = mcsa::fit_density(&normal(0.2), &Options::seeded(1).start_from(&first))?;
    /// assert!(again.verdict.is_yes() && again.evaluations.total() < first.evaluations.total());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn start_from(self, fitted: &FitResult) -> Self {
        Self { earlier: fitted.approximation(), ..self }
    }
}

impl FitResult {
    /// The q of the draws; `None` if chains are the answer.
    pub fn approximation(&self) -> Option<Approximation> {
        let q = || Approximation { shape: self.shape, params: self.params.clone() };
        self.sampled.is_none().then(q)
    }

    /// The posterior as a prior for further data: a Gaussian, or a mixture of Gaussians, with the moments of the weighted draws.
    ///
    /// It is an approximation, in the unconstrained coordinates. For a Gaussian posterior it is exact up to Monte Carlo error; of another it
    /// loses the tails. If q is a mixture, each component has the moments of its share of the draws. The likelihood of the further data is a
    /// function of the same coordinates; [`Bounded::likelihood`](mcsa_models::Bounded::likelihood) is one of declared parameters.
    ///
    /// ```
    /// use mcsa::{Options, Posterior};
    /// use mcsa::prelude::*;
    ///
    /// /// Tosses of a coin with a uniform prior.
    /// struct Tosses { heads: f64, tails: f64 }
    /// impl GenericDensity for Tosses {
    ///     fn log_density<R: Real>(&self, p: &[R]) -> R {
    ///         p[0].ln() * self.heads + (-p[0]).ln_1p() * self.tails
    ///     }
    /// }
    ///
    /// let coin = Parameters::new().unit("p");
    /// let first = mcsa::fit(&Bounded::new(coin.clone(), Tosses { heads: 6.0, tails: 2.0 })?, &Options::seeded(1))?;
    /// // Four more tosses, all heads.
    /// let more = Bounded::likelihood(coin, Tosses { heads: 4.0, tails: 0.0 })?;
    /// let second = mcsa::fit(&Posterior::new(first.as_prior()?, more)?, &Options::seeded(2).start_from(&first))?;
    /// assert!(second.verdict.is_yes() && second.parameters[0].name == "p");
    /// assert!((second.parameters[0].mean - 11.0 / 14.0).abs() < 0.01); // beta(11, 3)
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If the verdict is no, or the draws have no covariance.
    pub fn as_prior(&self) -> Result<Mixture, Error> {
        if !self.verdict.is_yes() {
            return Err(Error::invalid("the verdict is no").within("prior from a fit"));
        }
        mixture_of_moments(&self.draws, self.approximation().as_ref())
    }
}

/// Effective draws of a component per dimension, below which it joins the others.
const PER_DIMENSION: f64 = 2.0;

/// Gaussians with the moments of weighted draws: one, or one for each component of a mixture q.
///
/// # Errors
/// If the draws have no covariance.
pub fn mixture_of_moments(draws: &Draws, q: Option<&Approximation>) -> Result<Mixture, Error> {
    let shares = q.map_or_else(|| Ok(Vec::new()), |q| shares(draws, q))?;
    let (weights, parts): (Vec<f64>, Vec<Moments>) = match shares.len() {
        0 | 1 => (vec![1.0], vec![gaussian(draws)?]),
        _ => shares
            .into_iter()
            .map(|mut of_draws| {
                let weight: f64 = of_draws.iter().sum();
                of_draws.iter_mut().for_each(|share| *share /= weight);
                (weight, of_weighted(draws.points.as_ref(), &of_draws))
            })
            .unzip(),
    };
    let components =
        parts.into_iter().map(|Moments { mean, covariance }| Gaussian::new(mean, covariance.as_ref()));
    Mixture::new(&weights, components.collect::<Result<_, _>>()?)
}

/// For each component of a mixture, its share of the weight of every draw. Components with few draws are left out, those with fewest first.
/// Empty if q is no mixture.
fn shares(draws: &Draws, q: &Approximation) -> Result<Vec<Vec<f64>>, Error> {
    let dim = draws.points.nrows();
    let Shape::Mixture { components } = q.shape else { return Ok(Vec::new()) };
    let (family, component) = (Shape::mixture(dim, components)?, Shape::student_t(dim)?);
    family.check(&q.params)?;
    let (weights, of_draws) = (family.weights(&q.params), draws.weights());
    let mut work = vec![0.0; component.work_len(draws.len())];
    let log_part = |(k, weight): (usize, f64)| {
        let mut log_q = vec![0.0; draws.len()];
        component.log_probs(family.part(&q.params, k), draws.points.as_ref(), &mut log_q, &mut work);
        log_q.iter_mut().for_each(|log_q| *log_q += weight.ln());
        log_q
    };
    let mut log_parts: Vec<Vec<f64>> = weights.into_iter().enumerate().map(log_part).collect();
    loop {
        let mut shares = vec![vec![0.0; draws.len()]; log_parts.len()];
        for (s, weight) in of_draws.iter().enumerate() {
            let of_draw: Vec<f64> = log_parts.iter().map(|log_part| log_part[s]).collect();
            let total = numeric::log_sum_exp(&of_draw);
            for (share, log) in shares.iter_mut().zip(of_draw) {
                share[s] = if total.is_finite() { weight * (log - total).exp() } else { 0.0 };
            }
        }
        let sizes: Vec<f64> = shares.iter().map(|share| sample_size(share)).collect();
        let fewest = (0..sizes.len()).min_by(|&a, &b| sizes[a].total_cmp(&sizes[b]));
        match fewest.filter(|&k| !(sizes[k] > PER_DIMENSION * dim as f64)) {
            Some(k) if sizes.len() > 1 => drop(log_parts.remove(k)),
            _ => return Ok(shares),
        }
    }
}

/// Effective number of weights.
fn sample_size(weights: &[f64]) -> f64 {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    sum * sum / squares
}
