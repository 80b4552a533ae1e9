//! Densities, gradients and curvatures against formulas in forward-mode dual numbers: a second implementation, with derivatives
//! exact to rounding. Probit regression is left out, because `num-dual` has no `log Phi`; the conformance suite compares it with
//! differences.

use std::f64::consts::{LN_2, PI, TAU};

use faer::Mat;
use mcsa_core::{Curvature, Gradient, Seed};
use mcsa_models::{
    Banana, Centring, EightSchools, Funnel, Gaussian, HierarchicalLogistic, LinearRegression,
    LogisticRegression, Mixture, Radon, ScalePrior, StockVolatility, Student, StudentNoise,
    StudentRegression,
};
use mcsa_particles::{FxVolatility, Theta};
use mcsa_testing::model::{Case, gradient_equals};
use num_dual::{Dual2_64, Dual64, DualNum};

fn number(x: f64) -> Dual64 {
    Dual64::from_re(x)
}

/// `log N(x; 0, exp(log_scale)^2)`.
fn log_normal<D: DualNum<Primitive = f64> + Copy>(x: D, log_scale: D) -> D {
    let white = x * (-log_scale).exp();
    white * white * -0.5 - log_scale - 0.5 * TAU.ln()
}

/// Compares the target with a formula in dual numbers.
fn agree<P: Gradient>(case: &Case<P>, formula: impl Fn(&[Dual64]) -> Dual64) {
    let oracle = |z: &[f64], v: &[f64]| {
        let z: Vec<Dual64> = z.iter().zip(v).map(|(&z, &v)| Dual64::new(z, v)).collect();
        let log_p = formula(&z);
        (log_p.re, log_p.eps)
    };
    assert_eq!(gradient_equals(case, &oracle), Ok(()));
}

fn zero() -> Dual64 {
    number(0.0)
}

#[test]
fn gaussian_by_forward_substitution() {
    let factor = faer::mat![[1.5, 0.0, 0.0], [0.3, 0.7, 0.0], [-0.4, 0.2, 2.0]];
    let mean = [0.5, -1.0, 2.0];
    let target = Gaussian::from_factor(mean.into(), factor.as_ref()).unwrap();
    agree(&Case::new(target), |z| {
        let mut white = [zero(); 3];
        let mut log_p = zero();
        for i in 0..3 {
            let below = (0..i).fold(z[i] - mean[i], |sum, k| sum - white[k] * factor[(i, k)]);
            white[i] = below / factor[(i, i)];
            log_p += log_normal(white[i], zero()) - factor[(i, i)].ln();
        }
        log_p
    });
}

#[test]
fn banana_and_funnel() {
    agree(&Case::new(Banana::new(1.5, 0.4).unwrap()), |z| {
        let ridge = (z[0] * z[0] - 1.5 * 1.5) * 0.4;
        log_normal(z[0], number(1.5_f64.ln())) + log_normal(z[1] - ridge, zero())
    });
    agree(&Case::new(Funnel::new(6, 3.0).unwrap()), |z| {
        let rest = z[1..].iter().fold(zero(), |sum, &x| sum + log_normal(x, z[0] * 0.5));
        log_normal(z[0], number(3.0_f64.ln())) + rest
    });
}

#[test]
fn mixture_and_student() {
    agree(&Case::new(Mixture::modes(2, 4.0, 0.3).unwrap()), |z| {
        let rest = log_normal(z[1], zero());
        let part = |centre: f64, weight: f64| (log_normal(z[0] - centre, zero()) + rest).exp() * weight;
        (part(-2.0, 0.7) + part(2.0, 0.3)).ln()
    });
    agree(&Case::new(Student::new(vec![1.0], vec![2.0], 3.0).unwrap()), |z| {
        let u = (z[0] - 1.0) / 2.0;
        // Gamma(2) / (Gamma(3/2) sqrt(3 pi) 2).
        -(u * u / 3.0 + 1.0).ln() * 2.0 - (0.5 * PI.sqrt() * (3.0 * PI).sqrt() * 2.0).ln()
    });
}

/// `log p(sigma) + z` of a half-Cauchy `sigma = exp(z)`.
fn half_cauchy(z: Dual64, scale: f64) -> Dual64 {
    let white = z.exp() / scale;
    z - (white * white + 1.0).ln() + (2.0 / (PI * scale)).ln()
}

#[test]
fn eight_schools_in_both_coordinates() {
    let (effects, errors) = ([28.0, 8.0, -3.0], [15.0, 10.0, 16.0]);
    for centring in [Centring::Centred, Centring::NonCentred] {
        let target = EightSchools::new(effects.into(), errors.into(), centring).unwrap();
        agree(&Case::new(target), |z| {
            let mut log_p = log_normal(z[0], number(5.0_f64.ln())) + half_cauchy(z[1], 5.0);
            for j in 0..3 {
                let (prior, effect) = match centring {
                    Centring::Centred => (log_normal(z[2 + j] - z[0], z[1]), z[2 + j]),
                    Centring::NonCentred => (log_normal(z[2 + j], zero()), z[0] + z[1].exp() * z[2 + j]),
                };
                log_p += prior + log_normal(-effect + effects[j], number(errors[j].ln()));
            }
            log_p
        });
    }
}

#[test]
fn radon_house_by_house() {
    let (county, x): (Vec<usize>, Vec<f64>) =
        (0..40_usize).map(|i| (i * i % 9, if i.is_multiple_of(4) { 1.0 } else { 0.0 })).unzip();
    let y: Vec<f64> = (0..40).map(|i| f64::from(i).sin() + 1.0).collect();
    let target = Radon::new(10, county.clone(), x.clone(), y.clone()).unwrap();
    agree(&Case::new(target).with_spread(0.5), |z| {
        let mut log_p = log_normal(z[3], zero()) + log_normal(z[4], zero());
        for scale in &z[..3] {
            log_p += *scale - scale.exp() * 0.02 + 0.02_f64.ln();
        }
        for c in 0..10 {
            log_p += log_normal(z[5 + c] - z[3], z[0]) + log_normal(z[15 + c] - z[4], z[1]);
        }
        for i in 0..40 {
            let line = z[5 + county[i]] + z[15 + county[i]] * x[i];
            log_p += log_normal(-line + y[i], z[2]);
        }
        log_p
    });
}

#[test]
fn stock_volatility_step_by_step() {
    let series: Vec<f64> = (0..30).map(|t| 1.5 * f64::from(3 * t).sin()).collect();
    let target = StockVolatility::new(series.clone()).unwrap();
    agree(&Case::new(target), |z| {
        let s = ((-z[0]).exp() + 1.0).recip();
        let (phi, sigma, mu) = (s * 2.0 - 1.0, z[1].exp(), z[2]);
        let mut log_p = (s * (-s + 1.0)).ln() + half_cauchy(z[1], 5.0);
        log_p -= (mu * mu / 100.0 + 1.0).ln() + (10.0 * PI).ln();
        let mut h = zero();
        for (t, (&e, &y)) in z[3..].iter().zip(&series).enumerate() {
            h = if t == 0 { sigma * e / (-(phi * phi) + 1.0).sqrt() } else { phi * h + sigma * e };
            log_p += log_normal(e, zero()) + log_normal(number(y), (mu + h) * 0.5);
        }
        log_p
    });
}

#[test]
fn fx_volatility_step_by_step() {
    let returns: Vec<f64> = (0..25).map(|t| 0.7 * f64::from(5 * t).sin()).collect();
    let theta = Theta { mu: -0.4, atanh_phi: 1.1, log_sigma: -0.6, log_beta: -0.3 };
    let target = FxVolatility::new(returns.clone(), theta).unwrap();
    let phi = 1.1_f64.tanh();
    agree(&Case::new(target), |z| {
        let mut log_p = log_normal(z[0] + 0.4, number(-0.6 - 0.5 * (1.0 - phi * phi).ln()));
        for (pair, &x) in z.windows(2).zip(&returns) {
            log_p += log_normal(pair[1] + 0.4 - (pair[0] + 0.4) * phi, number(-0.6));
            log_p += log_normal(number(x), (pair[1] - 0.3) * 0.5);
        }
        log_p
    });
}

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
fn agree_twice<P: Curvature>(
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
    agree(&Case::new(target), first);
}

#[test]
fn logistic_regression() {
    fn formula<D: DualNum<Primitive = f64> + Copy>(z: &[D]) -> D {
        z.iter().fold(bernoulli(z), |sum, &b| sum + log_normal(b, D::from(2.0_f64.ln())))
    }
    let target = LogisticRegression::new(features().as_ref(), &labels(), 2.0).unwrap();
    agree_twice(target, formula, formula);
}

/// Hierarchical logistic regression, with the log density of a log scale.
fn hierarchical<D: DualNum<Primitive = f64> + Copy>(z: &[D], scale: impl Fn(D) -> D) -> D {
    let (tau, sigma, weights) = (z[0], z[1], &z[2..]);
    let alpha = log_normal(weights[WEIGHTS], sigma);
    let prior = (0..WEIGHTS).fold(alpha, |sum, k| sum + log_normal(weights[k], tau));
    scale(tau) + scale(sigma) + prior + bernoulli(weights)
}

#[test]
fn hierarchical_logistic_regression() {
    fn half_normal<D: DualNum<Primitive = f64> + Copy>(u: D) -> D {
        log_normal(u.exp(), D::from(0.0)) + LN_2 + u
    }
    fn inverse_gamma<D: DualNum<Primitive = f64> + Copy>(u: D) -> D {
        -u - (-u).exp()
    }
    let target = |scales| HierarchicalLogistic::new(features().as_ref(), &labels(), scales).unwrap();
    let (first, second) = (target(ScalePrior::HalfNormal), target(ScalePrior::InverseGamma));
    agree_twice(first, |z| hierarchical(z, half_normal), |z| hierarchical(z, half_normal));
    agree_twice(second, |z| hierarchical(z, inverse_gamma), |z| hierarchical(z, inverse_gamma));
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
    agree_twice(target, formula, formula);
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
    let constant = log_gamma(half + 0.5) - log_gamma(half) - (nu.ln() + PI.ln()) * 0.5;
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
    agree_twice(target, formula, formula);
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
    agree_twice(target, formula, formula);
}
