//! Mixtures of any family: running moments (online EM): formula, components without points.

use faer::{Mat, MatRef, mat};
use mcsa_core::Columns;
use mcsa_families::{FullRank, MeanField, Mixture};

use crate::conformance::log_prob;
use crate::moments::{WEIGHTS, gap, points, step, stepped};

/// Points at two places, with weights.
fn two_places() -> (Mat<f64>, [f64; 6]) {
    (mat![[-4.0, -3.0, -3.5, 2.0, 4.0, 3.0], [0.0, 1.0, 0.4, -1.0, 1.0, 0.2]], [0.1, 0.2, 0.1, 0.2, 0.3, 0.1])
}

fn apart() -> (Mixture<FullRank>, Vec<f64>) {
    let q = Mixture::new(FullRank::new(2), 2).unwrap();
    let part = |mean: f64| q.component().at(&[mean, 0.0], mat![[1.5, 0.0], [0.2, 1.5]].as_ref()).unwrap();
    let params = q.at(&[0.7, 0.3], &[part(-2.0), part(2.0)]).unwrap();
    (q, params)
}

/// A component far from all points keeps its parameters and a weight of about 0.001 / 2, and returns when points come.
#[test]
fn a_component_without_points_stays_alive() {
    let ((q, mut params), (z, weights)) = (apart(), two_places());
    let far = q.component().at(&[1e6, 0.0], Mat::identity(2, 2).as_ref()).unwrap();
    params[2 + far.len()..].copy_from_slice(&far);
    for _ in 0..60 {
        params = step(&q, &params, 0.5, z.as_ref(), &weights).unwrap();
    }
    assert_eq!(q.part(&params, 1), far);
    assert!((q.weights(&params)[1] - 5e-4).abs() < 1e-6);
    let there = mat![[1e6 - 1.0, 1e6 + 1.0, 1e6], [0.0, 0.5, 2.0]];
    for _ in 0..200 {
        params = step(&q, &params, 0.2, there.as_ref(), &[0.4, 0.4, 0.2]).unwrap();
    }
    assert!((q.weights(&params)[1] - 0.9995).abs() < 1e-6 && (q.part(&params, 1)[0] - 1e6).abs() < 1e-6);
}

#[test]
fn doors() {
    assert!(Mixture::new(FullRank::new(1), 0).is_err());
    let (q, params) = apart();
    let part = q.part(&params, 0).to_vec();
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(q.at(&[1.0, weight], &[part.clone(), part.clone()]).is_err());
    }
    assert!(q.at(&[1.0, 1.0], std::slice::from_ref(&part)).is_err());
    let message = q.at(&[1.0, 1.0], &[part.clone(), vec![f64::NAN; part.len()]]).unwrap_err().to_string();
    assert!(message.contains("component 1"), "{message}");
    assert_eq!(log_prob(&q, &params, &[1e300, 0.0]), f64::NEG_INFINITY);
}

const SHARES: [f64; 3] = [0.2, 0.5, 0.3];

fn means(dim: usize) -> Mat<f64> {
    mat![[0.0, 4.0, 1.5], [1.0, 2.0, -0.5]].submatrix(0, 0, dim, 3).to_owned()
}

fn scales(dim: usize) -> Mat<f64> {
    mat![[1.0, 0.6, 2.0], [0.5, 1.5, 1.0]].submatrix(0, 0, dim, 3).to_owned()
}

/// Mixture of independent coordinates, with a mean and scales per column.
fn mixture(shares: &[f64], means: &Mat<f64>, scales: &Mat<f64>) -> (Mixture<MeanField>, Vec<f64>) {
    let family = Mixture::new(MeanField::new(means.nrows()), shares.len()).unwrap();
    let part = |k: usize| family.component().at(means.col_as_slice(k), scales.col_as_slice(k)).unwrap();
    let params = family.at(shares, &(0..shares.len()).map(part).collect::<Vec<_>>()).unwrap();
    (family, params)
}

/// Lambda after a step, from sums of `r`, `r z` and `r z^2`; `share` gives the responsibility from a weighted density and the total.
fn formula(dim: usize, gain: f64, z: MatRef<'_, f64>, share: fn(f64, f64) -> f64) -> Vec<f64> {
    let (means, scales) = (means(dim), scales(dim));
    let density = |k: usize, z: &[f64]| {
        let factor =
            |i: usize| (-0.5 * ((z[i] - means[(i, k)]) / scales[(i, k)]).powi(2)).exp() / scales[(i, k)];
        SHARES[k] * (0..dim).map(factor).product::<f64>()
    };
    let (mut shares, mut matched, mut deviations) = (SHARES.to_vec(), means.clone(), scales.clone());
    for k in 0..3 {
        let responsibility = |j: usize| {
            let z = z.column(j);
            WEIGHTS[j] * share(density(k, z), (0..3).map(|k| density(k, z)).sum())
        };
        let sum = |f: &dyn Fn(usize) -> f64| (0..4).map(|j| responsibility(j) * f(j)).sum::<f64>();
        shares[k] = (1.0 - gain) * SHARES[k] + gain * sum(&|_| 1.0);
        for i in 0..dim {
            let (m, s) = (means[(i, k)], scales[(i, k)]);
            let first = (1.0 - gain) * SHARES[k] * m + gain * sum(&|j| z[(i, j)]);
            let second = (1.0 - gain) * SHARES[k] * (s * s + m * m) + gain * sum(&|j| z[(i, j)] * z[(i, j)]);
            matched[(i, k)] = first / shares[k];
            deviations[(i, k)] = (second / shares[k] - matched[(i, k)].powi(2)).sqrt();
        }
    }
    mixture(&shares, &matched, &deviations).1
}

#[test]
fn the_step_of_a_mixture_is_that_of_the_formula() {
    for dim in [1, 2] {
        for gain in [1e-6, 0.01, 0.3, 0.9] {
            let (family, params) = mixture(&SHARES, &means(dim), &scales(dim));
            let (z, found) = (points(dim), stepped(&family, &params, gain));
            let off = gap(&found, &formula(dim, gain, z.as_ref(), |part, total| part / total));
            assert!(off < 1e-11, "{dim} {gain}: {off}");
            // Twin: responsibilities that are not normalised.
            let off = gap(&found, &formula(dim, gain, z.as_ref(), |part, _| part));
            assert!(off > 0.1 * gain, "{dim} {gain}: {off}");
        }
    }
}
