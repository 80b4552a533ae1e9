//! Factor analysis: gradients, Fisher's identity, and the maximum of the evidence.

use faer::{Mat, Side};
use mcsa_core::{Columns, Seed};
use mcsa_models::{Blocks, FactorAnalysis, Learnable};
use mcsa_testing::law::{ROUNDING, is_slope, slope};

fn model(factors: usize) -> FactorAnalysis {
    let mut stream = Seed::new(4).stream(0, 0);
    let mut normal = || stream.normal();
    let loadings = Mat::from_fn(4, 2, |_, _| normal());
    let mut data = Mat::<f64>::zeros(4, 30);
    for j in 0..30 {
        let z = [normal(), normal()];
        for i in 0..4 {
            data[(i, j)] =
                0.5 * i as f64 + loadings[(i, 0)] * z[0] + loadings[(i, 1)] * z[1] + 0.4 * normal();
        }
    }
    FactorAnalysis::new(data, factors).unwrap()
}

fn theta(model: &FactorAnalysis) -> Vec<f64> {
    let mut stream = Seed::new(5).stream(0, 0);
    (0..model.num_thetas()).map(|_| 0.5 * stream.normal()).collect()
}

/// Compares a gradient in theta with differences of `f`. One that is off by a thousandth must be refused.
fn is_gradient(found: &[f64], theta: &[f64], f: impl Fn(&[f64]) -> f64) {
    for (k, &found) in found.iter().enumerate() {
        let expected = slope(ROUNDING, |t| {
            let mut moved = theta.to_vec();
            moved[k] += t;
            f(&moved)
        });
        let is = |found: f64| is_slope("gradient", || format!("theta {k}"), found, expected);
        assert_eq!(is(found), Ok(()));
        assert!(is(found + 1e-3 * (1.0 + found.abs())).is_err());
    }
}

#[test]
fn the_gradient_is_that_of_the_density() {
    let model = model(2);
    let theta = theta(&model);
    let z = Mat::from_fn(2, 3, |i, j| (1.3 * i as f64 - 0.7 * j as f64).sin());
    let (rows, weights) = ([3, 0, 11], [0.5, -1.0, 2.0]);
    let mut work = vec![f64::NAN; model.at(&theta).work_len(3)];
    let mut found = vec![0.25; theta.len()];
    model.add_theta_gradients(&theta, &rows, z.as_ref(), &weights, &mut found, &mut work);
    found.iter_mut().for_each(|found| *found -= 0.25);
    is_gradient(&found, &theta, |theta| {
        let (model, mut out) = (model.at(theta), [0.0; 3]);
        model.log_blocks(&rows, z.as_ref(), &mut out, &mut vec![0.0; model.work_len(3)]);
        out.iter().zip(weights).map(|(log_p, weight)| weight * log_p).sum()
    });
}

/// The gradient is quadratic in `z`, so its posterior mean is exactly the mean over `mean +- deviation`.
#[test]
fn fishers_identity_holds() {
    let model = model(1);
    let theta = theta(&model);
    let mut mean_gradient = vec![0.0; theta.len()];
    let mut work = vec![0.0; model.at(&theta).work_len(2)];
    for row in 0..model.at(&theta).num_blocks() {
        let (mean, covariance) = model.posterior(&theta, row).unwrap();
        let deviation = covariance[(0, 0)].sqrt();
        let z = Mat::from_fn(1, 2, |_, j| mean[0] + if j == 0 { deviation } else { -deviation });
        model.add_theta_gradients(&theta, &[row; 2], z.as_ref(), &[0.5; 2], &mut mean_gradient, &mut work);
    }
    is_gradient(&mean_gradient, &theta, |theta| model.log_evidence(theta).unwrap());
}

/// Loadings `U (Lambda - s^2)^(1/2)` of the leading eigenvectors attain the maximum; no other theta tested does.
#[test]
fn the_largest_evidence_is_reached_and_not_passed() {
    for factors in [1, 2, 3] {
        let model = model(factors);
        let (n, best) = (model.data().ncols() as f64, model.largest_log_evidence().unwrap());
        let mean: Vec<f64> = (0..4).map(|i| (0..30).map(|j| model.data()[(i, j)]).sum::<f64>() / n).collect();
        let shifted = Mat::from_fn(4, 30, |i, j| model.data()[(i, j)] - mean[i]);
        let covariance = &shifted * shifted.transpose() * faer::Scale(1.0 / n);
        let eigen = covariance.self_adjoint_eigen(Side::Lower).unwrap();
        let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let noise = values[..4 - factors].iter().sum::<f64>() / (4 - factors) as f64;
        let mut theta = Vec::new();
        for (k, value) in values.iter().enumerate().skip(4 - factors) {
            let stretch = (value - noise).sqrt();
            theta.extend(eigen.U().column(k).iter().map(|u| u * stretch));
        }
        theta.extend(mean);
        theta.push(0.5 * noise.ln());
        let reached = model.log_evidence(&theta).unwrap();
        assert!((reached - best).abs() < 1e-9, "{reached} for {best}");
        let mut stream = Seed::new(6).stream(0, 0);
        for _ in 0..50 {
            let near: Vec<f64> = theta.iter().map(|t| t + 0.01 * stream.normal()).collect();
            assert!(model.log_evidence(&near).unwrap() < best);
        }
    }
}

#[test]
fn impossible_data_are_refused() {
    let refused = |data, factors| FactorAnalysis::new(data, factors).unwrap_err().to_string();
    assert_eq!(refused(Mat::zeros(2, 0), 1), "FactorAnalysis: no data");
    assert!(refused(Mat::zeros(2, 3), 2).starts_with("FactorAnalysis: factors is 2"));
    assert!(refused(Mat::full(2, 3, f64::NAN), 1).starts_with("FactorAnalysis: a datum"));
    assert!(FactorAnalysis::new(Mat::zeros(3, 5), 1).unwrap().largest_log_evidence().is_err());
    assert!(model(1).posterior(&theta(&model(1)), 30).is_err());
}
