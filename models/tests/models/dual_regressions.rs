//! Gradients and curvatures of regressions against dual numbers: a second implementation, with derivatives exact to
//! rounding. Probit regression is left out, because `num-dual` has no `log Phi`; `regressions.rs` compares it with differences.

use std::f64::consts::{LN_2, TAU};

use faer::Mat;
use mcsa_core::{Curvature, Seed};
use mcsa_models::{
    HierarchicalLogistic, LinearRegression, LogisticRegression, ScalePrior, StudentNoise, StudentRegression,
};
use mcsa_testing::model::{Case, gradient_equals};
use num_dual::{Dual2_64, Dual64, DualNum};

const ROWS: usize = 37;
const WEIGHTS: usize = 3;

fn features() -> Mat<f64> {
    let mut stream = Seed::new(3).stream(0, 0);
    let numbers: Vec<f64> = (0..ROWS * WEIGHTS).map(|_| stream.normal()).collect();
    Mat::from_fn(ROWS, WEIGHTS, |i, k| numbers[i + k * ROWS])
}

fn labels() -> Vec<f64> {
    (0..ROWS).map(|i| f64::from(u8::from(i * 5 % 3 == 0))).collect()
}

/// `log N(x; 0, exp(log_scale)^2)`.
fn log_normal<D: DualNum<Primitive = f64> + Copy>(x: D, log_scale: D) -> D {
    let white = x * (-log_scale).exp();
    white * white * -0.5 - log_scale - 0.5 * TAU.ln()
}

/// Log likelihood of labels, with an intercept if there is one weight more than there are features.
fn bernoulli<D: DualNum<Primitive = f64> + Copy>(weights: &[D]) -> D {
    let (x, labels) = (features(), labels());
    (0..ROWS).fold(D::from(0.0), |sum, i| {
        let intercept = weights.get(WEIGHTS).copied().unwrap_or(D::from(0.0));
        let margin = (0..WEIGHTS).fold(intercept, |sum, k| sum + weights[k] * x[(i, k)]);
        let towards = if labels[i] == 1.0 { -margin } else { margin };
        sum - towards.exp().ln_1p()
    })
}

/// Compares value and gradient with the formula in first-order duals, and `v' H v` with it in second-order duals. A curvature
/// that is 0.1% too large must be refused.
fn agree<P: Curvature>(
    target: P,
    first: impl Fn(&[Dual64]) -> Dual64,
    second: impl Fn(&[Dual2_64]) -> Dual2_64,
) {
    let dim = target.dim();
    let mut work = vec![0.0; target.work_len(1)];
    for draw in 0..5 {
        let mut stream = Seed::new(4).stream(draw, 0);
        let (mut z, mut v, mut product) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
        stream.normals_into(&mut z);
        stream.normals_into(&mut v);
        target.hessian_vector_into(&z, &v, &mut product, &mut work);
        let found: f64 = product.iter().zip(&v).map(|(a, b)| a * b).sum();
        let along: Vec<Dual2_64> = z.iter().zip(&v).map(|(&z, &v)| Dual2_64::new(z, v, 0.0)).collect();
        let expected = second(&along).v2;
        assert!((found - expected).abs() < 1e-10 * expected.abs().max(1.0), "{found} against {expected}");
        assert!((1.001 * found - expected).abs() > 1e-10 * expected.abs().max(1.0));
    }
    let oracle = |z: &[f64], v: &[f64]| {
        let along: Vec<Dual64> = z.iter().zip(v).map(|(&z, &v)| Dual64::new(z, v)).collect();
        let log_p = first(&along);
        (log_p.re, log_p.eps)
    };
    assert_eq!(gradient_equals(&Case::new(target), &oracle), Ok(()));
}

#[test]
fn logistic_regression() {
    fn formula<D: DualNum<Primitive = f64> + Copy>(z: &[D]) -> D {
        z.iter().fold(bernoulli(z), |sum, &b| sum + log_normal(b, D::from(2.0_f64.ln())))
    }
    let target = LogisticRegression::new(features().as_ref(), &labels(), 2.0).unwrap();
    agree(target, formula, formula);
}

#[test]
fn hierarchical_logistic_regression() {
    fn formula<D: DualNum<Primitive = f64> + Copy>(z: &[D]) -> D {
        let (tau, sigma) = (z[0], z[1]);
        let half_normal = |u: D| log_normal(u.exp(), D::from(0.0)) + LN_2 + u;
        let weights = &z[2..];
        let prior = (0..WEIGHTS)
            .fold(log_normal(weights[WEIGHTS], sigma), |sum, k| sum + log_normal(weights[k], tau));
        half_normal(tau) + half_normal(sigma) + prior + bernoulli(weights)
    }
    let target = HierarchicalLogistic::new(features().as_ref(), &labels(), ScalePrior::HalfNormal).unwrap();
    agree(target, formula, formula);
}

#[test]
fn linear_regression() {
    fn formula<D: DualNum<Primitive = f64> + Copy>(z: &[D]) -> D {
        let x = features();
        let prior = z.iter().fold(D::from(0.0), |sum, &b| sum + log_normal(b, D::from(1.5_f64.ln())));
        (0..ROWS).fold(prior, |sum, i| {
            let mean = (0..WEIGHTS).fold(D::from(0.0), |sum, k| sum + z[k] * x[(i, k)]);
            sum + log_normal(mean - labels()[i], D::from(0.7_f64.ln()))
        })
    }
    let target = LinearRegression::new(features().as_ref(), &labels(), 0.7, 1.5).unwrap();
    agree(target, formula, formula);
}

/// `log Gamma(x)` for `x > 0`, by Stirling's series at `x + 12`.
fn log_gamma<D: DualNum<Primitive = f64> + Copy>(x: D) -> D {
    let shift = (0..12).fold(D::from(0.0), |sum, j| sum + (x + f64::from(j)).ln());
    let far = x + 12.0;
    let over = far.recip();
    let square = over * over;
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let tail = series.iter().rev().fold(D::from(0.0), |sum, &c| sum * square + c) * over;
    (far - 0.5) * far.ln() - far + 0.5 * TAU.ln() + tail - shift
}

/// Log likelihood of responses with Student t errors.
fn student<D: DualNum<Primitive = f64> + Copy>(weights: &[D], log_scale: D, nu: D) -> D {
    let (x, half) = (features(), nu * 0.5);
    let constant = log_gamma(half + 0.5) - log_gamma(half) - (nu.ln() + std::f64::consts::PI.ln()) * 0.5;
    (0..ROWS).fold(D::from(0.0), |sum, i| {
        let fit = (0..WEIGHTS).fold(D::from(0.0), |sum, k| sum + weights[k] * x[(i, k)]);
        let e = (-fit + responses()[i]) * (-log_scale).exp();
        sum + constant - log_scale - (half + 0.5) * (e * e / nu).ln_1p()
    })
}

fn responses() -> Vec<f64> {
    (0..ROWS).map(|i| 2.0 * (i as f64).sin()).collect()
}

#[test]
fn student_regression_with_known_noise() {
    fn formula<D: DualNum<Primitive = f64> + Copy>(z: &[D]) -> D {
        let likelihood = student(z, D::from(0.7_f64.ln()), D::from(3.5));
        z.iter().fold(likelihood, |sum, &w| sum + log_normal(w, D::from(1.5_f64.ln())))
    }
    let noise = StudentNoise::Known { scale: 0.7, freedom: 3.5 };
    let target = StudentRegression::new(features().as_ref(), &responses(), noise, 1.5).unwrap();
    agree(target, formula, formula);
}

#[test]
fn student_regression_with_latent_noise() {
    fn formula<D: DualNum<Primitive = f64> + Copy>(z: &[D]) -> D {
        let (log_scale, u) = (z[WEIGHTS], z[WEIGHTS + 1]);
        let prior = log_normal(log_scale, D::from(0.0)) + log_normal(u, D::from(0.0));
        let likelihood = student(z, log_scale, u.exp() + 2.0);
        let weights = z[..WEIGHTS].iter();
        weights.fold(prior + likelihood, |sum, &w| sum + log_normal(w, D::from(1.5_f64.ln())))
    }
    let target =
        StudentRegression::new(features().as_ref(), &responses(), StudentNoise::Latent, 1.5).unwrap();
    agree(target, formula, formula);
}
