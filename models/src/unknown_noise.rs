//! Linear regression with noise of unknown scale, and its exact posterior.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, MatRef, Par, Side};
use mcsa_core::numeric::scalar::erfc;
use mcsa_core::{Error, Gradient, LogDensity, Named, borrow, numeric, same_length};

use crate::support::{HALF_LOG_TAU, decided, finite, half_cauchy, log_normal, positive, rows_and_responses};

/// Linear regression with noise of unknown scale, as the regressions of `posteriordb`.
///
/// ```text
/// y_i ~ N(x_i' b, sigma^2),   b_k flat or N(m_k, s_k^2),   sigma flat or half-Cauchy(scale)
/// z = (b_1, .., b_d, log sigma),   log-Jacobian z_d+1
/// ```
///
/// A density evaluation takes `d^2` operations for any number of rows: with `X = Q R` and the least squares solution `b0`,
///
/// ```text
/// |y - X b|^2 = |R (b - b0)|^2 + |y - X b0|^2
/// ```
///
/// Numerics: `R` comes from a Householder factorisation of `(X, y)`, so that no `X'X` is formed: columns of very different scale, and
/// nearly collinear ones, cost no digits beyond those that the problem itself loses. `-inf`, with gradient 0, where a square or
/// the precision overflows. [`exact`](Self::exact) gives the posterior's moments and quantiles by a quadrature over `log sigma`.
///
/// ```
/// use mcsa_models::UnknownNoiseRegression;
/// let (x, y) = (faer::Mat::from_fn(6, 1, |_, _| 1.0), [1.0, 3.0, 2.0, 5.0, 4.0, 3.0]);
/// let model = UnknownNoiseRegression::new(x.as_ref(), &y, &[None], None)?;
/// assert!((model.exact()?.means[0] - 3.0).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct UnknownNoiseRegression {
    rows: usize,
    /// Least squares solution.
    centre: Vec<f64>,
    /// `R'`: its columns are the rows of `R`.
    factor: Mat<f64>,
    /// Sum of squared residuals of the least squares solution.
    residual: f64,
    /// Mean and standard deviation of the prior of each weight, unless it is flat.
    weights: Vec<Option<(f64, f64)>>,
    /// Scale of the prior of sigma, unless it is flat.
    noise: Option<f64>,
}

/// Rows beyond the number of columns with which the posterior has a covariance under every prior.
const SPARE: usize = 4;

impl UnknownNoiseRegression {
    /// A model of features `x` (one row per datum), responses `y`, mean and standard deviation of the normal prior of each weight, and
    /// the scale of the half-Cauchy prior of sigma. `None` is the improper prior that is constant in the weight or in sigma.
    ///
    /// # Errors
    /// If lengths differ, a number is not finite, a prior is invalid, there are fewer than four rows more than columns, a column is
    /// linearly dependent on those before it, or the responses have no residual.
    pub fn new(
        x: MatRef<'_, f64>,
        y: &[f64],
        weights: &[Option<(f64, f64)>],
        noise: Option<f64>,
    ) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("UnknownNoiseRegression");
        let (n, d) = (x.nrows(), x.ncols());
        rows_and_responses(x, y).map_err(refuse)?;
        same_length("priors of weights", d, weights.len()).map_err(refuse)?;
        for &(mean, sd) in weights.iter().flatten() {
            finite("prior mean", mean).and_then(|()| positive("prior sd", sd)).map_err(refuse)?;
        }
        noise.map_or(Ok(()), |scale| positive("noise scale", scale)).map_err(refuse)?;
        if n < d + SPARE {
            let problem =
                format!("{n} rows and {d} columns, expected at least {SPARE} rows more than columns");
            return Err(refuse(Error::invalid(problem)));
        }
        let joined = Mat::from_fn(n, d + 1, |i, k| if k < d { x[(i, k)] } else { y[i] });
        let r = joined.as_ref().qr().thin_R().to_owned();
        let slack = f64::EPSILON * n as f64;
        let norm = |k: usize| joined.col_as_slice(k).iter().map(|x| x * x).sum::<f64>().sqrt();
        // Written so that NaN is refused.
        if let Some(k) = (0..d).find(|&k| !(r[(k, k)].abs() > slack * norm(k))) {
            let problem = format!("column {k} of the features depends linearly on those before it");
            return Err(refuse(Error::invalid(problem)));
        }
        if !(r[(d, d)].abs() > slack * norm(d)) {
            return Err(refuse(Error::invalid("the responses are a linear function of the features")));
        }
        let mut centre = vec![0.0; d];
        for i in (0..d).rev() {
            let later: f64 = (i + 1..d).map(|k| r[(i, k)] * centre[k]).sum();
            centre[i] = (r[(i, d)] - later) / r[(i, i)];
        }
        let factor = Mat::from_fn(d, d, |k, i| if k >= i { r[(i, k)] } else { 0.0 });
        Ok(Self {
            rows: n,
            centre,
            factor,
            residual: r[(d, d)] * r[(d, d)],
            weights: weights.to_vec(),
            noise,
        })
    }

    /// The least squares weights.
    pub fn least_squares(&self) -> &[f64] {
        &self.centre
    }

    /// `w <- R (b - b0)`; returns `|w|^2 + |y - X b0|^2`.
    fn square_into(&self, b: &[f64], w: &mut [f64]) -> f64 {
        w.iter_mut().zip(b.iter().zip(&self.centre)).for_each(|(w, (b, centre))| *w = b - centre);
        for i in 0..w.len() {
            w[i] = numeric::dot(&self.factor.col_as_slice(i)[i..], &w[i..]);
        }
        numeric::dot(w, w) + self.residual
    }

    fn value(&self, z: &[f64], square: f64) -> f64 {
        let (b, u) = z.split_at(self.centre.len());
        let count = self.rows as f64;
        let likelihood = -count * (u[0] + HALF_LOG_TAU) - 0.5 * square * (-2.0 * u[0]).exp();
        decided(likelihood + self.weights_prior(b) + self.noise_prior(u[0]).0, z)
    }

    /// Log prior of the weights.
    fn weights_prior(&self, b: &[f64]) -> f64 {
        let log =
            |(prior, b): (&Option<(f64, f64)>, &f64)| prior.map_or(0.0, |(m, sd)| log_normal(b - m, sd));
        self.weights.iter().zip(b).map(log).sum()
    }

    /// `log p(sigma) + u` and its slope in `u = log sigma`.
    fn noise_prior(&self, u: f64) -> (f64, f64) {
        self.noise.map_or((u, 1.0), |scale| half_cauchy(u, scale))
    }
}

impl LogDensity for UnknownNoiseRegression {
    fn dim(&self) -> usize {
        self.centre.len() + 1
    }

    fn work_len(&self, _: usize) -> usize {
        self.centre.len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let d = self.centre.len();
        let square = self.square_into(&z[..d], borrow(&mut work, d));
        self.value(z, square)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let (b, u) = z.split_at(self.centre.len());
        out.vector("weight", b.iter().copied());
        out.push("sigma", u[0].exp());
    }
}

impl Gradient for UnknownNoiseRegression {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let d = self.centre.len();
        let (b, u) = z.split_at(d);
        let (slopes, of_noise) = gradient.split_at_mut(d);
        let square = self.square_into(b, slopes);
        let log_p = self.value(z, square);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
            return log_p;
        }
        let precision = (-2.0 * u[0]).exp();
        of_noise[0] = square * precision - self.rows as f64 + self.noise_prior(u[0]).1;
        // slopes <- R' slopes, from the last row on.
        for k in (0..d).rev() {
            let column = &self.factor.col_as_slice(k)[k..];
            let (above, below) = slopes.split_at_mut(k + 1);
            numeric::axpy(above[k], &column[1..], below);
            above[k] *= column[0];
        }
        for ((slope, prior), b) in slopes.iter_mut().zip(&self.weights).zip(b) {
            *slope = prior.map_or(0.0, |(mean, sd)| (mean - b) / (sd * sd)) - precision * *slope;
        }
        log_p
    }
}

/// Exact posterior of a linear regression with noise of unknown scale: evidence, moments and quantiles.
///
/// ```text
/// p(b, u | y) = p(u | y) N(b; mean(u), covariance(u)),   u = log sigma
/// ```
///
/// The weights are normal given the noise, so that one quadrature over `u`, by the trapezoidal rule, gives everything. With flat
/// priors the weights are Student t, and `sigma^2` is inverse gamma.
#[derive(Debug, Clone, PartialEq)]
pub struct Marginals {
    /// `log p(y)`: the log of the integral of the density.
    pub log_evidence: f64,
    /// Means of `(b, log sigma)`.
    pub means: Vec<f64>,
    /// Covariance of `(b, log sigma)`.
    pub covariance: Mat<f64>,
    nodes: Vec<Node>,
}

/// Node of the quadrature: `u`, its weight, and means and standard deviations of the weights given `u`.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    u: f64,
    share: f64,
    means: Vec<f64>,
    sds: Vec<f64>,
}

/// Weights of a regression given the noise, in coordinates in which they are independent.
struct Conditional {
    /// `b = b0 + turn v`.
    turn: Mat<f64>,
    /// Precisions of `v` from the prior, and its linear terms.
    precisions: Vec<f64>,
    pulls: Vec<f64>,
    /// Terms of the log density without `u` and `v`.
    constant: f64,
}

/// Steps of the quadrature per standard deviation of `u`.
const STEPS: f64 = 25.0;
/// Log density relative to the largest at which the quadrature ends.
const END: f64 = -45.0;

impl Conditional {
    fn new(model: &UnknownNoiseRegression) -> Result<Self, Error> {
        let d = model.centre.len();
        // R^-T by a solve with R' = L; then R^-1 is its transpose.
        let mut inverse = Mat::identity(d, d);
        solve_lower_triangular_in_place(model.factor.as_ref(), inverse.as_mut(), Par::Seq);
        let inverse = inverse.transpose().to_owned();
        // Mean and precision; the precision of a flat prior is 0.
        let moments = |prior: &Option<(f64, f64)>| prior.map_or((0.0, 0.0), |(mean, sd)| (mean, sd.powi(-2)));
        let moments: Vec<(f64, f64)> = model.weights.iter().map(moments).collect();
        let scaled = Mat::from_fn(d, d, |k, j| moments[k].1 * inverse[(k, j)]);
        let precision = inverse.transpose() * scaled;
        let eigen = precision.self_adjoint_eigen(Side::Lower).map_err(|_| {
            Error::invalid("UnknownNoiseRegression: the prior has no eigenvalues in double precision")
        })?;
        let turn = &inverse * eigen.U();
        let off = |k: usize| model.centre[k] - moments[k].0;
        let pull = |j: usize| -(0..d).map(|k| turn[(k, j)] * moments[k].1 * off(k)).sum::<f64>();
        let log_det: f64 = (0..d).map(|k| model.factor[(k, k)].abs().ln()).sum();
        let count = model.rows as f64 - d as f64;
        Ok(Self {
            precisions: eigen.S().column_vector().iter().map(|value| value.max(0.0)).collect(),
            pulls: (0..d).map(pull).collect(),
            constant: model.weights_prior(&model.centre) - log_det - count * HALF_LOG_TAU,
            turn,
        })
    }

    /// Variance of coordinate `j` of `v` given `u`.
    fn variance(&self, j: usize, u: f64) -> f64 {
        1.0 / ((-2.0 * u).exp() + self.precisions[j])
    }

    /// `log p(u, y)`.
    fn log_density(&self, model: &UnknownNoiseRegression, u: f64) -> f64 {
        let of = |j: usize| {
            let variance = self.variance(j, u);
            0.5 * (variance.ln() + self.pulls[j] * self.pulls[j] * variance)
        };
        let residual = -0.5 * model.residual * (-2.0 * u).exp() - model.rows as f64 * u;
        self.constant + residual + model.noise_prior(u).0 + (0..self.pulls.len()).map(of).sum::<f64>()
    }

    fn node(&self, model: &UnknownNoiseRegression, u: f64, share: f64) -> Node {
        let d = self.pulls.len();
        let variances: Vec<f64> = (0..d).map(|j| self.variance(j, u)).collect();
        let mean = |k: usize| {
            let moved: f64 = (0..d).map(|j| self.turn[(k, j)] * self.pulls[j] * variances[j]).sum();
            model.centre[k] + moved
        };
        let sd = |k: usize| (0..d).map(|j| self.turn[(k, j)].powi(2) * variances[j]).sum::<f64>().sqrt();
        Node { u, share, means: (0..d).map(mean).collect(), sds: (0..d).map(sd).collect() }
    }
}

impl UnknownNoiseRegression {
    /// The exact posterior.
    ///
    /// # Errors
    /// If a matrix has no eigenvalues in double precision.
    pub fn exact(&self) -> Result<Marginals, Error> {
        let conditional = Conditional::new(self)?;
        let d = self.centre.len();
        let spare = (self.rows - d) as f64;
        let (start, step) = (0.5 * (self.residual / spare).ln(), (2.0 * spare).sqrt().recip() / STEPS);
        let mut found = vec![(start, conditional.log_density(self, start))];
        for direction in [-step, step] {
            let mut largest = found[0].1;
            for k in 1.. {
                let u = start + f64::from(k) * direction;
                let value = conditional.log_density(self, u);
                found.push((u, value));
                largest = largest.max(value);
                // Written so that NaN ends it.
                if !(value > largest + END) {
                    break;
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let largest = found.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = found.iter().map(|(_, value)| (value - largest).exp()).sum();
        let nodes: Vec<Node> = found
            .iter()
            .map(|(u, value)| conditional.node(self, *u, (value - largest).exp() / total))
            .collect();
        let coordinate = |node: &Node, i: usize| if i < d { node.means[i] } else { node.u };
        let mean = |i: usize| nodes.iter().map(|node| node.share * coordinate(node, i)).sum::<f64>();
        let means: Vec<f64> = (0..=d).map(mean).collect();
        let within = |i: usize, k: usize, u: f64| -> f64 {
            (0..d)
                .map(|j| conditional.turn[(i, j)] * conditional.turn[(k, j)] * conditional.variance(j, u))
                .sum()
        };
        let covariance = Mat::from_fn(d + 1, d + 1, |i, k| {
            let of = |node: &Node| {
                let between = (coordinate(node, i) - means[i]) * (coordinate(node, k) - means[k]);
                node.share * (between + if i < d && k < d { within(i, k, node.u) } else { 0.0 })
            };
            nodes.iter().map(of).sum()
        });
        Ok(Marginals { log_evidence: largest + (total * step).ln(), means, covariance, nodes })
    }
}

impl Marginals {
    /// Standard deviations of `(b, log sigma)`.
    pub fn sds(&self) -> Vec<f64> {
        (0..self.means.len()).map(|i| self.covariance[(i, i)].sqrt()).collect()
    }

    /// Quantiles of coordinate `i` of `(b, log sigma)` at these levels, each in `(0, 1)`, to within 1e-4 standard deviations.
    ///
    /// # Panics
    /// If `i` is not less than the dimension.
    pub fn quantiles(&self, i: usize, levels: &[f64]) -> Vec<f64> {
        let sd = self.covariance[(i, i)].sqrt();
        levels
            .iter()
            .map(
                |&level| {
                    if i + 1 < self.means.len() { self.weight(i, level, sd) } else { self.log_scale(level) }
                },
            )
            .collect()
    }

    /// Mean and standard deviation of `sigma`.
    pub fn scale(&self) -> (f64, f64) {
        let mean: f64 = self.nodes.iter().map(|node| node.share * node.u.exp()).sum();
        let variance: f64 = self.nodes.iter().map(|node| node.share * (node.u.exp() - mean).powi(2)).sum();
        (mean, variance.sqrt())
    }

    /// Quantile of a weight, by bisection of its distribution function, a mixture of normal ones.
    fn weight(&self, k: usize, level: f64, sd: f64) -> f64 {
        let below = |x: f64| -> f64 {
            let of = |node: &Node| {
                let white = (x - node.means[k]) / node.sds[k];
                node.share * 0.5 * erfc(-white * std::f64::consts::FRAC_1_SQRT_2)
            };
            self.nodes.iter().map(of).sum()
        };
        let mut reach = sd;
        while (below(self.means[k] - reach) > level || below(self.means[k] + reach) < level)
            && reach < 1e6 * sd
        {
            reach *= 2.0;
        }
        let (mut low, mut high) = (self.means[k] - reach, self.means[k] + reach);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if below(middle) < level { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// Quantile of `log sigma`, by linear interpolation of the cumulated trapezoidal sums.
    fn log_scale(&self, level: f64) -> f64 {
        let (mut sum, mut last) = (0.0, &self.nodes[0]);
        for node in &self.nodes[1..] {
            let cell = 0.5 * (last.share + node.share);
            if sum + cell >= level {
                return last.u + (node.u - last.u) * (level - sum) / cell;
            }
            (sum, last) = (sum + cell, node);
        }
        last.u
    }
}
