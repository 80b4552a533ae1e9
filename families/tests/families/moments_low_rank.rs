//! Running moments of the low-rank family: formula of factor analysis, exact inclusive optimum, ascent.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, MatRef, Scale, mat};
use mcsa_core::{Columns, Parametric};
use mcsa_families::{GaussianFamily, Link, LowRank, MeanField};

use crate::moments::{Atomic, WEIGHTS, climb, gap, points, step};

fn start(rank: usize, link: Link) -> (LowRank, Vec<f64>) {
    let family = LowRank::new(3, rank).with_link(link);
    let factor = Mat::from_fn(3, rank, |i, k| ((2 * i + 5 * k + 1) as f64).sin());
    let params = family.at(&[0.7, 0.3, -0.1], &[0.5, 0.8, 1.1], factor.as_ref()).unwrap();
    (family, params)
}

/// Mean, factor and variances after a step, with all matrices written out; `phi` multiplies the covariance of the factors given a
/// point, and is 1.
fn formula(rank: usize, gain: f64, z: MatRef<'_, f64>, phi: f64) -> (Vec<f64>, Mat<f64>, Vec<f64>) {
    let m = [0.7, 0.3, -0.1];
    let b = Mat::from_fn(3, rank, |i, k| ((2 * i + 5 * k + 1) as f64).sin());
    let mut c = &b * b.transpose();
    for (i, scale) in [0.5, 0.8, 1.1_f64].into_iter().enumerate() {
        c[(i, i)] += scale * scale;
    }
    let centre: Vec<f64> = (0..3).map(|i| (0..4).map(|j| WEIGHTS[j] * z[(i, j)]).sum()).collect();
    let delta = |i: usize| centre[i] - m[i];
    let s = Mat::from_fn(3, 3, |i, k| {
        let away = |j: usize| WEIGHTS[j] * (z.column(j)[i] - centre[i]) * (z.column(j)[k] - centre[k]);
        let spread = (0..4).map(away).sum::<f64>();
        (1.0 - gain) * c[(i, k)] + gain * spread + gain * (1.0 - gain) * delta(i) * delta(k)
    });
    let beta = b.transpose() * c.partial_piv_lu().inverse();
    let s_beta = &s * beta.transpose();
    let given = Scale(phi) * (Mat::<f64>::identity(rank, rank) - &beta * &b);
    let after = &s_beta * (given + &beta * &s_beta).partial_piv_lu().inverse();
    let explained = &after * s_beta.transpose();
    let variances = (0..3).map(|i| s[(i, i)] - explained[(i, i)]).collect();
    ((0..3).map(|i| m[i] + gain * delta(i)).collect(), after, variances)
}

fn off(family: &LowRank, found: &[f64], (mean, factor, variances): &(Vec<f64>, Mat<f64>, Vec<f64>)) -> f64 {
    let scale = |i: usize| family.link.scale(found[3 + i]);
    let variance = (0..3).map(|i| (scale(i).powi(2) - variances[i]).abs()).fold(0.0, f64::max);
    let column = |k: usize| gap(&found[6 + 3 * k..9 + 3 * k], factor.as_ref().column(k));
    (0..family.rank).map(column).fold(variance.max(gap(&found[..3], mean)), f64::max)
}

#[test]
fn the_step_is_that_of_the_formula() {
    for (rank, link) in [(1, Link::Softplus), (2, Link::Exp), (3, Link::Softplus)] {
        for gain in [1e-6, 0.01, 0.3, 0.9, 1.0] {
            let (family, params) = start(rank, link);
            let z = points(3);
            let found = step(&family, &params, gain, z.as_ref(), &WEIGHTS).unwrap();
            let departure = off(&family, &found, &formula(rank, gain, z.as_ref(), 1.0));
            assert!(departure < 1e-11, "{rank} {gain}: {departure}");
            // Twin: the covariance of the factors given a point forgotten.
            let departure = off(&family, &found, &formula(rank, gain, z.as_ref(), 0.5));
            assert!(departure > 0.01, "{rank} {gain}: {departure}");
        }
    }
}

#[test]
fn rank_zero_is_the_mean_field_family() {
    let (family, one) = (LowRank::new(3, 0), MeanField::new(3));
    let params = one.at(&[0.7, 0.3, -0.1], &[0.5, 0.8, 1.1]).unwrap();
    for gain in [0.01, 0.5, 1.0] {
        let found = step(&family, &params, gain, points(3).as_ref(), &WEIGHTS).unwrap();
        let expected = step(&one, &params, gain, points(3).as_ref(), &WEIGHTS).unwrap();
        assert!(gap(&found, &expected) < 1e-13);
    }
    let empty = LowRank::new(0, 2);
    assert_eq!(step(&empty, &[], 0.5, Mat::zeros(0, 2).as_ref(), &[0.5, 0.5]), Some(vec![]));
}

/// Three coordinates that share a skewed factor, with noise of their own.
fn skewed() -> Atomic {
    let at = |j: usize, i: u32| 0.6 * (j / 9_usize.pow(i) % 9) as f64 - 2.4;
    let z = Mat::from_fn(3, 9_usize.pow(4), |i, j| {
        let shared = at(j, 3) + 0.2 * at(j, 3).powi(2);
        [0.9, 0.7, -1.2][i] * shared + [0.8, 0.5, 1.0][i] * at(j, i as u32)
    });
    let weight = |j: usize| (-0.5 * (0..4).map(|i| at(j, i).powi(2)).sum::<f64>()).exp();
    let weights: Vec<f64> = (0..z.ncols()).map(weight).collect();
    Atomic::new(z, &weights)
}

/// The factor is unique up to its sign: covariances are compared. Steps of gain one climb; from the optimum none leads away.
#[test]
fn the_inclusive_optimum_stays_and_steps_climb_to_it() {
    let p = skewed();
    let (family, params) = start(1, Link::Softplus);
    let (end, fall) = climb(&p, &family, &params, 400);
    assert!(fall < 1e-13, "{fall}");
    let optimum = p.optimum(&family, &params);
    let covariance = |params: &[f64]| family.moments(params).unwrap().covariance().to_owned();
    let away = |a: &[f64], b: &[f64]| (covariance(a) - covariance(b)).norm_max().max(gap(&a[..3], &b[..3]));
    for gain in [0.05, 0.5, 1.0] {
        let moved = away(&p.step(&family, &optimum, gain), &optimum);
        assert!(moved < 1e-7, "{gain}: {moved}");
    }
    assert!(away(&end, &optimum) < 1e-6, "{end:?} {optimum:?}");
    let (other, params) = start(2, Link::Softplus);
    let (_, fall) = climb(&p, &other, &params, 100);
    assert!(fall < 1e-13, "{fall}");
    // Twin: without a factor the optimum is another.
    let less = MeanField::new(3);
    let best = p.optimum(&less, &end[..6]);
    assert!(p.value(&family, &optimum) > p.value(&less, &best) + 0.1);
    assert!(away(&[&best[..], &[0.0; 3]].concat(), &optimum) > 0.1);
}

#[test]
fn moments_outside_the_family_are_refused() {
    let (family, params) = start(2, Link::Exp);
    for far in [f64::NAN, f64::INFINITY, 1e200] {
        assert!(step(&family, &params, 0.5, mat![[far], [0.0], [0.0]].as_ref(), &[1.0]).is_none(), "{far}");
    }
    for gain in [1e-12, 0.5, 1.0 - 1e-12] {
        let mut params = params.clone();
        for _ in 0..5 {
            params = step(&family, &params, gain, mat![[1e6], [-3e5], [2e4]].as_ref(), &[1.0]).unwrap();
            family.check(&params).unwrap();
        }
    }
}
