//! Tests of expectation propagation against quadrature in two dimensions.

use faer::{Mat, MatRef, mat};
use mcsa_core::LogDensity;
use mcsa_models::ProbitRegression;
use mcsa_optim::deterministic::{ExpectationPropagation, Gaussian, Propagated};

/// Moments and log evidence by the trapezoid rule, which is exact to rounding for an integrand this smooth that vanishes at
/// both ends.
fn exact(target: &ProbitRegression, scale: f64) -> (Gaussian, f64) {
    let (points, width) = (801_i32, 9.0 * scale);
    let at = |k: i32| width * (2.0 * f64::from(k) / f64::from(points - 1) - 1.0);
    let mut work = vec![0.0; target.work_len(1)];
    let (mut mass, mut first, mut second) = (0.0, [0.0; 2], [[0.0; 2]; 2]);
    for i in 0..points {
        for j in 0..points {
            let z = [at(i), at(j)];
            let p = target.log_density(&z, &mut work).exp();
            mass += p;
            for a in 0..2 {
                first[a] += p * z[a];
                for b in 0..2 {
                    second[a][b] += p * z[a] * z[b];
                }
            }
        }
    }
    let mean: Vec<f64> = first.iter().map(|sum| sum / mass).collect();
    let covariance = Mat::from_fn(2, 2, |a, b| second[a][b] / mass - mean[a] * mean[b]);
    let step = at(1) - at(0);
    (Gaussian { mean, covariance }, (mass * step * step).ln())
}

fn propagated(x: MatRef<'_, f64>, labels: &[f64], scale: f64) -> Propagated {
    ExpectationPropagation::default().probit(x, labels, scale).expect("finite")
}

/// The largest error of a mean in deviations, and of a covariance relative to the deviations.
fn distance(found: &Gaussian, exact: &Gaussian) -> (f64, f64) {
    let scales = exact.scales();
    let mean = (0..2).map(|k| (found.mean[k] - exact.mean[k]).abs() / scales[k]).fold(0.0, f64::max);
    let pairs = (0..2).flat_map(|a| (0..2).map(move |b| (a, b)));
    let gap = |(a, b)| (found.covariance[(a, b)] - exact.covariance[(a, b)]).abs() / (scales[a] * scales[b]);
    (mean, pairs.map(gap).fold(0.0, f64::max))
}

/// For one datum, and for two with orthogonal features, moments and evidence are exact to rounding.
#[test]
fn it_is_exact_where_terms_do_not_meet() {
    for (x, labels, scale) in [
        (mat![[1.0, -2.0]], vec![1.0], 1.0),
        (mat![[1.0, -2.0], [2.0, 1.0]], vec![1.0, 0.0], 1.5),
        (mat![[3.0, 0.0], [0.0, 0.5]], vec![0.0, 0.0], 0.7),
    ] {
        let target = ProbitRegression::new(x.as_ref(), &labels, scale).expect("finite");
        let ((truth, log_evidence), found) = (exact(&target, scale), propagated(x.as_ref(), &labels, scale));
        let (mean, covariance) = distance(&found.gaussian, &truth);
        assert!(mean < 1e-9 && covariance < 1e-9, "{mean} {covariance}");
        assert!((found.log_evidence - log_evidence).abs() < 1e-9, "{} {log_evidence}", found.log_evidence);
        assert!(found.converged);
    }
}

/// Twelve data; the larger the features, the less Gaussian the posterior.
fn data(size: f64) -> (Mat<f64>, Vec<f64>) {
    let x = Mat::from_fn(12, 2, |i, k| if k == 0 { 1.0 } else { (i as f64 * 1.9).sin() * 1.5 });
    let labels = (0..12).map(|i| f64::from(x[(i, 1)] + 0.6 * (i as f64 * 0.7).cos() > -0.2)).collect();
    (size * x, labels)
}

/// With overlapping likelihood terms the approximation is close, and closer for smaller features: errors of means in standard
/// deviations, of covariances relative to standard deviations, and of the log evidence.
#[test]
fn it_is_close_where_they_do() {
    for (size, means, covariances, evidence) in [(0.25, 1e-4, 1e-3, 1e-3), (1.0, 1e-2, 0.1, 0.05)] {
        let (x, labels) = data(size);
        let target = ProbitRegression::new(x.as_ref(), &labels, 1.0).expect("finite");
        let ((truth, log_evidence), found) = (exact(&target, 1.0), propagated(x.as_ref(), &labels, 1.0));
        let (mean, covariance) = distance(&found.gaussian, &truth);
        assert!(mean < means && covariance < covariances, "{mean} {covariance}");
        assert!(
            (found.log_evidence - log_evidence).abs() < evidence,
            "{} {log_evidence}",
            found.log_evidence
        );
    }
}

/// Expectation propagation by its definition, without closed forms: sites as natural parameters, cavities by solving linear
/// systems, moments by the trapezoid rule.
fn by_definition(x: MatRef<'_, f64>, labels: &[f64]) -> Gaussian {
    let mut sites = vec![[0.0; 2]; labels.len()];
    let joint = |sites: &[[f64; 2]], without: Option<usize>| {
        let (mut p, mut b) = ([1.0, 0.0, 1.0], [0.0; 2]);
        for (k, [tau, nu]) in sites.iter().enumerate().filter(|(k, _)| Some(*k) != without) {
            let row = [x[(k, 0)], x[(k, 1)]];
            p = [p[0] + tau * row[0] * row[0], p[1] + tau * row[0] * row[1], p[2] + tau * row[1] * row[1]];
            b = [b[0] + nu * row[0], b[1] + nu * row[1]];
        }
        let det = p[0] * p[2] - p[1] * p[1];
        let covariance = mat![[p[2] / det, -p[1] / det], [-p[1] / det, p[0] / det]];
        let mean = vec![(p[2] * b[0] - p[1] * b[1]) / det, (p[0] * b[1] - p[1] * b[0]) / det];
        Gaussian { mean, covariance }
    };
    for _ in 0..60 {
        for k in 0..labels.len() {
            let q = joint(&sites, Some(k));
            let row = [x[(k, 0)], x[(k, 1)]];
            let m = row[0] * q.mean[0] + row[1] * q.mean[1];
            let v: f64 = (0..4).map(|e| row[e / 2] * q.covariance[(e / 2, e % 2)] * row[e % 2]).sum();
            let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
            for i in -2000..=2000 {
                let f = m + 0.005 * f64::from(i) * v.sqrt();
                let log_term = mcsa_core::numeric::scalar::log_ndtr((2.0 * labels[k] - 1.0) * f);
                let p = (log_term - 0.5 * (f - m) * (f - m) / v).exp();
                (mass, first, second) = (mass + p, first + p * f, second + p * f * f);
            }
            let (mean, variance) = (first / mass, second / mass - (first / mass).powi(2));
            sites[k] = [1.0 / variance - 1.0 / v, mean / variance - m / v];
        }
    }
    joint(&sites, None)
}

#[test]
fn it_is_the_fixed_point_of_its_definition() {
    let (x, labels) = data(1.0);
    let found = propagated(x.as_ref(), &labels, 1.0);
    let (mean, covariance) = distance(&found.gaussian, &by_definition(x.as_ref(), &labels));
    assert!(mean < 1e-8 && covariance < 1e-8, "{mean} {covariance}");
    // The published two sweeps are near the fixed point.
    let two = ExpectationPropagation { sweeps: 2, tolerance: 0.0 };
    let two = two.probit(x.as_ref(), &labels, 1.0).expect("finite");
    let (mean, covariance) = distance(&two.gaussian, &found.gaussian);
    assert!(!two.converged && mean > 1e-6 && mean < 0.02 && covariance < 0.02, "{mean} {covariance}");
}

/// Separable data with large features, for which probabilities of labels underflow.
#[test]
fn far_tails_stay_finite() {
    let x = mat![[1.0, 1e4], [1.0, -1e4], [0.0, 0.0]];
    let found = propagated(x.as_ref(), &[0.0, 0.0, 1.0], 1.0);
    assert!(found.log_evidence.is_finite() && found.gaussian.factor().is_ok());
    assert!(found.gaussian.mean[0] < 0.0);
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let refuse = |x: MatRef<'_, f64>, labels: &[f64], sweeps| {
        let propagation = ExpectationPropagation { sweeps, tolerance: 0.0 };
        propagation.probit(x, labels, 1.0).expect_err("refused").to_string()
    };
    let x = mat![[1.0], [f64::NAN]];
    assert_eq!(
        refuse(x.as_ref(), &[1.0, 0.0], 1),
        "ExpectationPropagation: features[1] is NaN, expected a finite number"
    );
    assert!(refuse(x.as_ref(), &[1.0, -1.0], 1).contains("label is -1"));
    assert!(refuse(x.as_ref(), &[1.0], 1).contains("labels"));
    assert!(refuse(x.as_ref(), &[1.0, 0.0], 0).contains("sweeps"));
    // Squares of features that leave the range of doubles are no agreement of two sweeps.
    assert!(refuse(mat![[1e155], [1.0]].as_ref(), &[1.0, 0.0], 9).contains("scale the features"));
    assert!(propagated(mat![[1e150], [1.0]].as_ref(), &[1.0, 0.0], 1.0).gaussian.mean[0].is_finite());
}
