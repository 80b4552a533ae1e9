//! Incorrect published rules, for comparison with published numbers.
//!
//! The libraries have only the correct rules. The rules of the papers' own scripts are here, each with a test that shows the
//! difference, so that a published number can be compared with the rule that produced it.

use std::f64::consts::PI;

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};
use mcsa_core::{Error, Stream};
use mcsa_models::{GaussianProcessClassification, Learnable, Link, Probit};
use mcsa_particles::{
    ConditionalSmc, Lineage, LinearGaussian, LinearGaussianSeries, PathKernel, PathProposal, Paths,
    Resampling, StateSpace, Twisted,
};

/// Log odds of label 1 at the rows of `x` as computed by the scripts of `MCMC-SE`, from the mean of `z` under `q`.
///
/// ```text
/// published:  Phi(m* / sqrt(8/pi + v)),            v = k** - k*' K^-1 k*
/// correct:    1 / (1 + exp(-m* / sqrt(1 + pi v*/8))),  v* = v + k*' K^-1 S_f K^-1 k*
/// ```
/// The published rule takes the mean of `f` under `q` for observed values, and predicts by a probit link although the model is
/// fitted with the logistic one.
///
/// # Errors
/// If the covariance at the mean has no Cholesky factor.
///
/// # Panics
/// If the shapes differ.
pub fn label_odds(
    model: &GaussianProcessClassification,
    x: MatRef<'_, f64>,
    mean: &[f64],
) -> Result<Vec<f64>, Error> {
    let mut odds = vec![0.0; x.nrows()];
    model.log_odds_from_moments(x, mean, &vec![0.0; mean.len()], &mut odds)?;
    // m / sqrt(8/pi + v) is sqrt(pi/8) m / sqrt(1 + pi v/8).
    odds.iter_mut().for_each(|odds| *odds = Probit::log_odds_of_normal((PI / 8.0).sqrt() * *odds, 0.0));
    Ok(odds)
}

/// Variances of new latent values as computed by the scripts of `pMCSA`; `cross` has a column for each.
///
/// ```text
/// published:  k** - k^T (K + diag(1 / s^2))^-1 k
/// correct:    k** - k^T K^-1 k + k^T K^-1 diag(s^2) K^-1 k
/// ```
/// Here `s^2` are the *variational* variances of the latent values. The published rule has the form of Laplace's method with
/// the likelihood's curvature replaced by `s^2`: the wider `q_lambda` is, the *smaller* the predicted variance.
/// [`mcsa_models::RobustGaussianProcess`] uses the correct rule.
///
/// # Errors
/// If the sum of matrices is not positive definite, as with a variance that is not positive.
///
/// # Panics
/// If the shapes differ.
pub fn predictive_variance(
    prior: f64,
    cross: MatRef<'_, f64>,
    kernel: MatRef<'_, f64>,
    variances: &[f64],
) -> Result<Vec<f64>, Error> {
    let n = cross.nrows();
    let sum = Mat::from_fn(n, n, |i, j| kernel[(i, j)] + if i == j { 1.0 / variances[i] } else { 0.0 });
    let factor =
        sum.llt(Side::Lower).map_err(|_| Error::invalid("K + diag(1 / s^2) is not positive definite"))?;
    let solved = factor.solve(cross);
    let explained = |j: usize| (0..n).map(|i| cross[(i, j)] * solved[(i, j)]).sum::<f64>();
    Ok((0..cross.ncols()).map(|j| prior - explained(j)).collect())
}

/// Kernel of the Gaussian processes between rows of `x` and rows of `other`.
///
/// ```text
/// a^2 (1 + r sqrt 5 + 5 r^2/3) e^(-r sqrt 5),   r^2 = sum_k (x_ik - x_jk)^2 / l_k^2
/// ```
pub fn kernel(
    x: MatRef<'_, f64>,
    other: MatRef<'_, f64>,
    log_amplitude: f64,
    log_lengths: &[f64],
) -> Mat<f64> {
    Mat::from_fn(x.nrows(), other.nrows(), |i, j| {
        let term = |(k, log): (usize, &f64)| ((x[(i, k)] - other[(j, k)]) * (-log).exp()).powi(2);
        let s = (5.0 * log_lengths.iter().enumerate().map(term).sum::<f64>()).sqrt();
        (2.0 * log_amplitude - s).exp() * (1.0 + s + s * s / 3.0)
    })
}

/// Ancestor rule for the retained path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ancestry {
    /// No ancestor is sampled: the path keeps its past.
    Kept,
    /// Sampled with the correct weight, which keeps the posterior invariant, by the library.
    Correct,
    /// Sampled with the printed weight.
    Printed,
}

/// A linear-Gaussian path of two states with twists, and the exact moments of its first state.
///
/// ```text
/// printed:  w_j q(z' | z_j)            correct:  w_j p(x | z_j) p(z' | z_j) / psi(z_j)
/// ```
/// The library has only the correct one; [`ConditionalSmc`].
#[derive(Debug, Clone)]
pub struct TwoStates {
    series: LinearGaussianSeries,
    theta: [f64; 3],
    lambda: [f64; 4],
}

impl Default for TwoStates {
    /// Twists that differ from the observations: for equal ones both weights agree.
    fn default() -> Self {
        let series = LinearGaussianSeries::new(vec![1.4, 0.6]).expect("two finite numbers");
        Self { series, theta: [0.9, -0.5, -0.7], lambda: [0.5, 0.2, 0.3, 0.1] }
    }
}

impl TwoStates {
    /// Exact mean and variance of the first state.
    pub fn exact(&self) -> (f64, f64) {
        let law = self.model().smoothed()[0];
        (law.mean, law.variance)
    }

    fn model(&self) -> LinearGaussian<'_> {
        self.series.at(&self.theta)
    }

    /// First state along a chain of `sweeps` sweeps with `particles` particles.
    pub fn first_states(
        &self,
        ancestry: Ancestry,
        particles: usize,
        sweeps: usize,
        stream: &mut Stream,
    ) -> Vec<f64> {
        let model = self.model();
        let mut memory = vec![0.0; Twisted.proposal_len(&model)];
        let mut proposal = Twisted.proposal(&model, &self.lambda, &mut memory);
        let lineage = if ancestry == Ancestry::Kept { Lineage::Traced } else { Lineage::Ancestors };
        let kernel =
            ConditionalSmc { particles, resampling: Resampling::Multinomial, threshold: 1.0, lineage };
        let mut work = vec![0.0; kernel.work_len(&model)];
        let mut paths = Paths { positions: faer::Mat::from_fn(2, 1, |i, _| [1.0, 0.5][i]) };
        let step = |_| {
            if ancestry == Ancestry::Printed {
                sweep(&model, &mut proposal, paths.positions.col_as_slice_mut(0), particles, stream);
            } else {
                kernel.step(&model, &mut proposal, &mut paths, std::slice::from_mut(stream), &mut work);
            }
            paths.positions[(0, 0)]
        };
        (0..sweeps).map(step).collect()
    }
}

/// One sweep as printed (MSC, Alg. 4), for a path of two numbers.
fn sweep<P: StateSpace, G: PathProposal>(
    model: &P,
    proposal: &mut G,
    path: &mut [f64],
    particles: usize,
    stream: &mut Stream,
) {
    let (mut z, mut log_w) = (vec![path[0]; particles], vec![0.0; particles]);
    proposal.log_weights(0, &[], &z[..1], &mut log_w[..1]);
    proposal.propose_into(0, &[], stream, &mut z[1..], &mut log_w[1..]);
    // q(z' | z_j) = p(z' | z_j) psi(z') / normaliser(z_j), and psi(z') does not depend on j.
    let (retained, mut log_p, mut normaliser) =
        (vec![path[1]; particles], vec![0.0; particles], vec![0.0; particles]);
    model.log_transitions(1, &z, &retained, &mut log_p);
    proposal.log_weights(1, &z, &retained, &mut normaliser);
    let printed: Vec<f64> = (0..particles).map(|j| log_w[j] + log_p[j] - normaliser[j]).collect();
    let ancestor =
        |first: bool, stream: &mut Stream| stream.choose(if first { &printed } else { &log_w }).unwrap_or(0);
    let ancestors: Vec<usize> = (0..particles).map(|i| ancestor(i == 0, stream)).collect();
    let before: Vec<f64> = ancestors.iter().map(|&a| z[a]).collect();
    let (mut after, mut weights) = (vec![path[1]; particles], vec![0.0; particles]);
    proposal.log_weights(1, &before[..1], &after[..1], &mut weights[..1]);
    proposal.propose_into(1, &before[1..], stream, &mut after[1..], &mut weights[1..]);
    let due = |t: usize, z: &[f64], proposal: &mut G| {
        let (mut likelihood, mut twist) = (vec![0.0; particles], vec![0.0; particles]);
        model.log_observations(t, z, &mut likelihood);
        proposal.log_twists(t, z, &mut twist);
        likelihood.iter().zip(twist).map(|(likelihood, twist)| likelihood - twist).collect::<Vec<f64>>()
    };
    let dues = [due(0, &before, proposal), due(1, &after, proposal)];
    weights.iter_mut().enumerate().for_each(|(i, weight)| *weight += dues[0][i] + dues[1][i]);
    let chosen = stream.choose(&weights).unwrap_or(0);
    (path[0], path[1]) = (before[chosen], after[chosen]);
}

#[cfg(test)]
mod tests {
    use faer::mat;
    use mcsa_core::Seed;
    use mcsa_core::numeric::scalar::log_ndtr;

    use super::*;

    /// One datum, one new row, by hand; the variance of `q` matters to the model's rule alone.
    #[test]
    fn the_variance_of_q_is_left_out() {
        let model = GaussianProcessClassification::new(mat![[0.0]].as_ref(), &[1.0]).unwrap();
        let (mean, x) = ([0.2, -0.5, 0.1, 1.3], mat![[0.8]]);
        let (square, nugget) = (0.4_f64.exp(), (-1.0_f64).exp() + 1e-6);
        let s = 5.0_f64.sqrt() * 0.8 * (-0.1_f64).exp();
        let cross = square * (1.0 + s + s * s / 3.0) * (-s).exp();
        let (own, weight) = (square + nugget, cross / (square + nugget));
        let (m, v) = (weight * 1.3, own - weight * cross);
        let t = m / (8.0 / PI + v).sqrt();
        let expected = log_ndtr(t) - log_ndtr(-t);
        let found = label_odds(&model, x.as_ref(), &mean).unwrap()[0];
        assert!((found - expected).abs() < 1e-12 * expected.abs(), "{found} {expected}");
        // The twin: our rule moves with the variance of q, and is another one without it.
        let ours = |variance: f64| {
            let mut odds = [0.0];
            model.log_odds_from_moments(x.as_ref(), &mean, &[variance; 4], &mut odds).unwrap();
            odds[0]
        };
        assert!(ours(1.0) < ours(0.0) - 1e-3 && (ours(0.0) - found).abs() > 1e-3);
    }

    /// One datum, by hand: with `K = k** = 1` and `k = c`, published `1 - c^2 / (1 + 1/s^2)`, correct
    /// `1 - c^2 + c^2 s^2`.
    #[test]
    fn uncertainty_goes_the_wrong_way() {
        let cross = 0.8_f64;
        let published = |s2: f64| {
            predictive_variance(1.0, mat![[cross]].as_ref(), mat![[1.0]].as_ref(), &[s2]).unwrap()[0]
        };
        let correct = |s2: f64| 1.0 - cross * cross * (1.0 - s2);
        for s2 in [0.1, 0.5, 0.9] {
            assert!((published(s2) - (1.0 - cross * cross / (1.0 + 1.0 / s2))).abs() < 1e-15);
        }
        assert!(published(0.9) < published(0.1), "a wider q predicts less variance");
        assert!(correct(0.9) > correct(0.1), "where it should predict more");
        // A q as wide as the prior carries no information: the prior's variance is then correct, and differs from the
        // published rule.
        assert_eq!(correct(1.0), 1.0);
        assert!((published(1.0) - 0.68).abs() < 1e-15);
    }

    /// With the correct rule this kernel reproduces the model's predictions, so it is the model's kernel.
    #[test]
    fn the_kernel_is_that_of_the_model() {
        let (x, new) = (mat![[0.0, 1.0], [0.7, -0.4], [-1.1, 0.3]], mat![[0.2, 0.1], [0.0, 1.0]]);
        let model = mcsa_models::RobustGaussianProcess::new(x.as_ref(), &[0.3, 0.1, -2.0]).unwrap();
        let mean: [f64; 9] = [0.1, -0.7, 0.3, 1.0, 0.2, -0.1, 0.5, -0.2, 0.1];
        let variance = [0.3; 9];
        let nugget = (2.0 * mean[1]).exp() + 1e-6;
        let mut square = kernel(x.as_ref(), x.as_ref(), mean[2], &mean[4..6]);
        (0..3).for_each(|i| square[(i, i)] += nugget);
        let cross = kernel(x.as_ref(), new.as_ref(), mean[2], &mean[4..6]);
        let solved = square.llt(Side::Lower).unwrap().solve(&cross);
        let found = model.predict_from_moments(new.as_ref(), &mean, &variance).unwrap();
        for (j, (m, v)) in found.into_iter().enumerate() {
            let expected: f64 = (0..3).map(|i| solved[(i, j)] * mean[6 + i]).sum();
            let term = |i: usize| solved[(i, j)] * (0.3 * solved[(i, j)] - cross[(i, j)]);
            let spread = (2.0 * mean[2]).exp() + nugget + (0..3).map(term).sum::<f64>();
            assert!((m - expected).abs() < 1e-10 && (v - spread).abs() < 1e-10, "{j}");
        }
    }

    fn moments(scene: &TwoStates, ancestry: Ancestry, particles: usize) -> (f64, f64) {
        let states = scene.first_states(ancestry, particles, 200_000, &mut Seed::new(4).stream(0, 0));
        let mean = states.iter().sum::<f64>() / states.len() as f64;
        (mean, states.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / states.len() as f64)
    }

    /// Standard errors of mean and variance are below 0.003 here: 0.02 is more than six of them, a false alarm below 1e-8;
    /// the error of the printed weight is more than seven times 0.02.
    #[test]
    fn the_printed_weight_moves_the_posterior() {
        let scene = TwoStates::default();
        let (mean, variance) = scene.exact();
        for ancestry in [Ancestry::Kept, Ancestry::Correct] {
            let found = moments(&scene, ancestry, 2);
            assert!(
                (found.0 - mean).abs() < 0.02 && (found.1 - variance).abs() < 0.02,
                "{ancestry:?} {found:?}"
            );
        }
        let found = moments(&scene, Ancestry::Printed, 2);
        assert!((found.1 - variance).abs() > 0.1, "{found:?}");
    }

    /// A setting computed independently: mean 0.871 and variance 0.369 for the printed weight, and 1.037 and 0.187 exactly.
    #[test]
    fn another_reading_gives_the_same_numbers() {
        let series = LinearGaussianSeries::new(vec![2.0, -1.0]).unwrap();
        let theta = [0.9, 0.5 * 0.5_f64.ln(), 0.5 * 0.3_f64.ln()];
        let scene = TwoStates { series, theta, lambda: [1.5, -1.0, 0.5_f64.ln(), 2.0_f64.ln()] };
        let (mean, variance) = scene.exact();
        assert!((mean - 1.0366).abs() < 1e-3 && (variance - 0.1871).abs() < 1e-3, "{mean} {variance}");
        let found = moments(&scene, Ancestry::Printed, 2);
        assert!((found.0 - 0.871).abs() < 0.02 && (found.1 - 0.369).abs() < 0.02, "{found:?}");
    }
}
