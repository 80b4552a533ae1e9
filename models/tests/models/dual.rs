//! Gradients against forward-mode dual numbers: a second implementation, with derivatives exact to rounding.

use std::f64::consts::PI;

use mcsa_core::Gradient;
use mcsa_models::{
    Banana, Centring, EightSchools, Funnel, Gaussian, Mixture, Radon, StockVolatility, Student,
};
use mcsa_particles::{FxVolatility, Theta};
use mcsa_testing::model::{Case, gradient_equals};
use num_dual::{Dual64, DualNum};

/// `log N(x; 0, exp(log_scale)^2)`.
fn log_normal(x: Dual64, log_scale: Dual64) -> Dual64 {
    let white = x * (-log_scale).exp();
    white * white * -0.5 - log_scale - 0.5 * (2.0 * PI).ln()
}

fn number(x: f64) -> Dual64 {
    Dual64::from_re(x)
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
