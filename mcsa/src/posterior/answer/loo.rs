//! Leave-one-out cross-validation (LOO) from weighted draws.

use std::fmt;

use faer::{Mat, MatRef};
use mcsa_core::{Error, fits_in_memory, numeric, same_length};
use mcsa_diagnostics::{Pareto, shape_threshold};
use mcsa_estimators::Draws;

use crate::posterior::FitResult;

/// Predictive accuracy by Pareto smoothed importance sampling (PSIS-LOO; Vehtari, Gelman & Gabry 2017): the log predictive density of each
/// datum, given all others.
///
/// ```text
/// r_is = W_s / p(y_i | z_s)                                     ratios of p(z | y_-i) to the distribution of the draws
/// elpd_i = log( sum_s r_is p(y_i | z_s) / sum_s r_is )          with r_i1, r_i2, .. smoothed
/// elpd = sum_i elpd_i,   error = sqrt(n) sd(elpd_i),   p_loo = sum_i log( sum_s W_s p(y_i | z_s) ) - elpd
/// ```
/// W are the weights of the draws before smoothing, which are equal if chains are the answer. The data have to be independent given z.
///
/// The posterior without datum i may lie where the draws are few: then its k-hat is above the [`limit`](Self::limit), and `elpd_i` rests on
/// few draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Loo {
    /// `elpd_i`, the log predictive density of each datum given the others.
    pub pointwise: Vec<f64>,
    /// k-hat of the ratios for each datum; NaN if they do not determine it.
    pub shapes: Vec<f64>,
    /// Largest reliable k-hat for this number of draws: 0.7 from 2,200 draws on.
    pub limit: f64,
    /// The sum of `elpd_i`.
    pub elpd: f64,
    /// Its standard error, from the spread over the data.
    pub error: f64,
    /// `p_loo`, the effective number of parameters: by how much the draws predict the data better with each datum than without it.
    pub effective_parameters: f64,
}

impl Loo {
    /// LOO from the log likelihood of each datum (row) at each draw (column). It need not be known at draws of weight zero.
    ///
    /// # Errors
    /// If there is no datum, there is not a column per draw, all weights are zero, or a log likelihood is not finite at a draw with a weight.
    pub fn of(draws: &Draws, log_likelihood: MatRef<'_, f64>) -> Result<Self, Error> {
        Self::smoothed(draws, log_likelihood).map_err(|error| error.within("LOO"))
    }

    fn smoothed(draws: &Draws, log_likelihood: MatRef<'_, f64>) -> Result<Self, Error> {
        same_length("columns of the log likelihood", draws.len(), log_likelihood.ncols())?;
        let log_ratios = draws.log_ratios();
        let weighted: Vec<usize> = (0..draws.len()).filter(|&s| log_ratios[s] > f64::NEG_INFINITY).collect();
        if weighted.is_empty() {
            return Err(Error::invalid("all weights are zero"));
        }
        let count = log_likelihood.nrows();
        if count == 0 {
            return Err(Error::invalid("there are no data"));
        }
        let (mut pointwise, mut shapes, mut given_all) = (Vec::new(), Vec::new(), 0.0);
        for (i, row) in log_likelihood.row_iter().enumerate() {
            let of_datum: Vec<f64> = weighted.iter().map(|&s| row[s]).collect();
            if let Some(k) = of_datum.iter().position(|log| !log.is_finite()) {
                let (s, log) = (weighted[k], of_datum[k]);
                return Err(Error::invalid(format!(
                    "the log likelihood of datum {i} is {log} at draw {s}, which has a weight"
                )));
            }
            let ratios: Vec<f64> =
                weighted.iter().zip(&of_datum).map(|(&s, log)| log_ratios[s] - log).collect();
            let Pareto { shape, log_weights, .. } = Pareto::of(&ratios);
            let mean = |log_weights: &mut dyn Iterator<Item = f64>| {
                let (weights, terms): (Vec<f64>, Vec<f64>) =
                    log_weights.zip(&of_datum).map(|(weight, log)| (weight, weight + log)).unzip();
                numeric::log_sum_exp(&terms) - numeric::log_sum_exp(&weights)
            };
            pointwise.push(mean(&mut log_weights.into_iter()));
            shapes.push(shape);
            given_all += mean(&mut weighted.iter().map(|&s| draws.log_weights[s]));
        }
        let (elpd, error) = sum_and_error(&pointwise);
        let limit = shape_threshold(draws.len());
        Ok(Self { pointwise, shapes, limit, elpd, error, effective_parameters: given_all - elpd })
    }

    /// Number of data whose k-hat is above the [`limit`](Self::limit), or unknown.
    pub fn unreliable(&self) -> usize {
        self.shapes.iter().filter(|shape| !(**shape <= self.limit)).count()
    }
}

/// Sum of terms, and `sqrt(n)` times their standard deviation; the error of a single term is NaN.
pub(crate) fn sum_and_error(terms: &[f64]) -> (f64, f64) {
    let (sum, count) = (terms.iter().sum::<f64>(), terms.len() as f64);
    let squares: f64 = terms.iter().map(|term| (term - sum / count).powi(2)).sum();
    (sum, (count * squares / (count - 1.0)).sqrt())
}

impl fmt::Display for Loo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elpd, error, effective_parameters, limit, pointwise, .. } = self;
        let (count, unreliable) = (pointwise.len(), self.unreliable());
        write!(
            f,
            "elpd {elpd:.2} +- {error:.2}, p_loo {effective_parameters:.2}; k-hat above {limit:.2} at {unreliable} of {count} data"
        )
    }
}

impl FitResult {
    /// Leave-one-out cross-validation, from a function of the parameters to the log likelihood of each datum. They are on their constrained
    /// scale, in the order of `parameters`.
    ///
    /// ```
    /// use mcsa::Options;
    /// use mcsa::prelude::*;
    /// // Three data y ~ N(z, 1) under z ~ N(0, 1). The posterior without y = 0.6 is N(0, 1/3), and predicts it by N(0, 4/3).
    /// let y = [-0.4, 0.4, 0.6];
    /// let normal = |x: f64| -0.5 * (x * x + (2.0 * std::f64::consts::PI).ln());
    /// let target = from_fn(1, |z| normal(z[0]) + y.iter().map(|y| normal(y - z[0])).sum::<f64>());
    /// let loo = mcsa::fit_density(&target, &Options::seeded(1))?.loo(|z| y.map(|y| normal(y - z[0])).to_vec())?;
    /// let exact = normal(0.6 * 0.75_f64.sqrt()) + 0.5 * 0.75_f64.ln();
    /// assert!((loo.pointwise[2] - exact).abs() < 0.01 && loo.unreliable() == 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Loo::of`], or if the function has results of different lengths.
    pub fn loo(&self, mut log_likelihood: impl FnMut(&[f64]) -> Vec<f64>) -> Result<Loo, Error> {
        let at_draws: Vec<Vec<f64>> =
            (0..self.draws.len()).map(|s| log_likelihood(self.constrained.col_as_slice(s))).collect();
        let count = at_draws.first().map_or(0, Vec::len);
        at_draws.iter().try_for_each(|at| same_length("log likelihoods of data", count, at.len()))?;
        fits_in_memory("log likelihoods", self.draws.len(), count)?;
        Loo::of(&self.draws, Mat::from_fn(count, self.draws.len(), |i, s| at_draws[s][i]).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn log_normal(x: f64, mean: f64, variance: f64) -> f64 {
        -0.5 * ((x - mean).powi(2) / variance + (2.0 * PI * variance).ln())
    }

    /// Mean and variance of z given `y_i ~ N(z, 1)`, `z ~ N(0, 4)`, without the datum `left_out`.
    fn posterior(y: &[f64], left_out: Option<usize>) -> (f64, f64) {
        let kept = || y.iter().enumerate().filter(|(i, _)| Some(*i) != left_out).map(|(_, y)| *y);
        let precision = 0.25 + kept().count() as f64;
        (kept().sum::<f64>() / precision, 1.0 / precision)
    }

    /// Points on a grid as draws of a uniform q: sums over their weights are integrals by the trapezoidal rule, exact to rounding but for
    /// the smoothing of the largest weights.
    fn grid(y: &[f64], tilt: f64) -> (Draws, Mat<f64>) {
        let (count, (mean, variance)) = (8_001, posterior(y, None));
        let at = |s: usize| mean + 10.0 * variance.sqrt() * (s as f64 / 4_000.0 - 1.0);
        let log_p = (0..count).map(|s| log_normal(at(s), mean, variance) + tilt * at(s)).collect();
        let draws = Draws::weighted(Mat::from_fn(1, count, |_, s| at(s)), log_p, vec![0.0; count]);
        (draws.expect("draws"), Mat::from_fn(y.len(), count, |i, s| log_normal(y[i], at(s), 1.0)))
    }

    const DATA: [f64; 8] = [-1.3, -0.6, -0.2, 0.1, 0.4, 0.9, 1.1, 2.0];

    /// Without datum i the prediction of it is `N(m_-i, v_-i + 1)`; with it `N(m, v + 1)`.
    #[test]
    fn a_normal_model_has_its_closed_form() {
        let (draws, log_likelihood) = grid(&DATA, 0.0);
        let loo = Loo::of(&draws, log_likelihood.as_ref()).expect("LOO");
        let predicted = |i: usize, left_out: Option<usize>| {
            let (mean, variance) = posterior(&DATA, left_out);
            log_normal(DATA[i], mean, variance + 1.0)
        };
        let exact: Vec<f64> = (0..DATA.len()).map(|i| predicted(i, Some(i))).collect();
        let given_all: f64 = (0..DATA.len()).map(|i| predicted(i, None)).sum();
        for (i, (found, exact)) in loo.pointwise.iter().zip(&exact).enumerate() {
            assert!((found - exact).abs() < 1e-4, "{i}: {found} {exact}");
        }
        let elpd: f64 = exact.iter().sum();
        assert!((loo.elpd - elpd).abs() < 1e-4 && loo.unreliable() == 0, "{loo}");
        assert!((loo.effective_parameters - (given_all - elpd)).abs() < 1e-4, "{loo}");
        let mean = elpd / 8.0;
        let variance = exact.iter().map(|term| (term - mean).powi(2)).sum::<f64>() / 7.0;
        assert!((loo.error - (8.0 * variance).sqrt()).abs() < 1e-4, "{loo}");
        // Twin: draws of another posterior.
        let (tilted, _) = grid(&DATA, 1.0);
        let wrong = Loo::of(&tilted, log_likelihood.as_ref()).expect("LOO");
        assert!(wrong.pointwise.iter().zip(&exact).all(|(found, exact)| (found - exact).abs() > 1e-3));
    }

    /// Draws of the posterior with an outlier are few where the posterior without it lies.
    #[test]
    fn an_outlier_has_a_large_shape() {
        let shapes = |last: f64| {
            let mut y = DATA;
            y[7] = last;
            let (mean, variance) = posterior(&y, None);
            let mut stream = mcsa_core::Seed::new(1).stream(0, 0);
            let points = Mat::from_fn(1, 4_000, |_, _| mean + variance.sqrt() * stream.normal());
            let log_p: Vec<f64> = (0..4_000).map(|s| log_normal(points[(0, s)], mean, variance)).collect();
            let log_likelihood = Mat::from_fn(8, 4_000, |i, s| log_normal(y[i], points[(0, s)], 1.0));
            let draws = Draws::weighted(points, log_p.clone(), log_p).expect("draws");
            Loo::of(&draws, log_likelihood.as_ref()).expect("LOO")
        };
        let (usual, outlying) = (shapes(2.0), shapes(25.0));
        assert_eq!((usual.unreliable(), outlying.unreliable()), (0, 1), "{usual:?} {outlying:?}");
        assert!(outlying.shapes[7] > 0.7 && usual.shapes[7] < 0.5, "{usual:?} {outlying:?}");
        assert!(outlying.to_string().ends_with("k-hat above 0.70 at 1 of 8 data"), "{outlying}");
    }

    #[test]
    fn draws_of_weight_zero_need_no_likelihood() {
        let (draws, mut log_likelihood) = grid(&DATA, 0.0);
        let before = Loo::of(&draws, log_likelihood.as_ref()).expect("LOO");
        log_likelihood[(3, 0)] = f64::NAN;
        let said = Loo::of(&draws, log_likelihood.as_ref()).expect_err("a weight").to_string();
        assert!(said.contains("datum 3 is NaN at draw 0"), "{said}");
        let mut log_p = draws.log_p.clone();
        log_p[0] = f64::NEG_INFINITY;
        let cut = Draws::weighted(draws.points.clone(), log_p, draws.log_q.clone()).expect("draws");
        let after = Loo::of(&cut, log_likelihood.as_ref()).expect("LOO");
        assert!((after.elpd - before.elpd).abs() < 1e-9);
        assert!(Loo::of(&draws, log_likelihood.get(0..0, ..)).is_err());
        assert!(Loo::of(&draws, log_likelihood.get(.., 1..)).is_err());
    }
}
