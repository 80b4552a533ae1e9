//! Mixtures of any family: draws, and running moments (online EM): formula, conserved moments, exact inclusive optimum, components
//! without points.

use faer::{Mat, MatRef, mat};
use mcsa_core::{Columns, Family, Parametric, Seed};
use mcsa_families::{FullRank, GaussianMixture, MeanField, Mixture, MultivariateT};

use crate::conformance::log_prob;
use crate::moments::{Atomic, WEIGHTS, climb, drift, gap, points, step};

/// With independent coordinates the generic mixture has the densities of [`GaussianMixture`], whose packing is the same.
#[test]
fn of_mean_fields_is_the_gaussian_mixture() {
    let (q, known) = (Mixture::new(MeanField::new(2), 3).unwrap(), GaussianMixture::new(2, 3).unwrap());
    let params: Vec<f64> = (0..q.num_params()).map(|k| (k as f64 * 0.7).sin()).collect();
    assert_eq!(q.num_params(), known.num_params());
    for z in [[0.0, 0.0], [3.0, -1.0], [-20.0, 5.0]] {
        assert!((log_prob(&q, &params, &z) - log_prob(&known, &params, &z)).abs() < 1e-13);
    }
}

/// Batches are drawn in groups of one component: their points have the bits of columns that are drawn one by one, from one stream and
/// from several. The twin picks the next component.
#[test]
fn a_batch_has_the_points_of_its_columns() {
    for (dim, columns, lanes) in [(1, 32, 1), (3, 100, 4), (11, 67, 67), (40, 50, 1), (2, 31, 31)] {
        let q = Mixture::new(MultivariateT::learned(dim, 3.0).unwrap(), 3).unwrap();
        let params: Vec<f64> = (0..q.num_params()).map(|k| (k as f64 * 1.3).sin()).collect();
        let mut work = vec![f64::NAN; q.work_len(columns)];
        let (mut z, mut log_q) = (Mat::zeros(dim, columns), vec![f64::NAN; columns]);
        q.sample_into(&params, &mut Seed::new(1).streams(lanes, 0), z.as_mut(), &mut log_q, &mut work);
        let one_by_one = |next: usize| {
            let (mut alone, mut streams) = (Mat::zeros(dim, columns), Seed::new(1).streams(lanes, 0));
            let mut work = vec![f64::NAN; q.component().work_len(1)];
            for j in 0..columns {
                let lane = &mut streams[j * lanes / columns..][..1];
                let k = (lane[0].choose(&params[..3]).unwrap() + next) % 3;
                let column = alone.as_mut().subcols_mut(j, 1);
                q.component().sample_into(q.part(&params, k), lane, column, &mut [0.0], &mut work);
            }
            alone
        };
        assert_eq!(z, one_by_one(0), "{dim} {columns}");
        assert_ne!(z, one_by_one(1));
        assert!((0..columns).all(|j| log_q[j] == log_prob(&q, &params, z.col_as_slice(j))));
    }
}

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

/// EM with gain 1 never lowers the weighted log density of the points, and here raises it in each of ten steps; the twin ascends
/// with the labels of the components' weights exchanged and fails.
#[test]
fn the_weighted_log_density_rises() {
    let ((q, mut params), (z, weights)) = (apart(), two_places());
    let value = |params: &[f64]| -> f64 {
        (0..6).map(|j| weights[j] * log_prob(&q, params, z.col_as_slice(j))).sum()
    };
    let (mut before, mut exchanged_fell) = (value(&params), false);
    for _ in 0..10 {
        params = step(&q, &params, 1.0, z.as_ref(), &weights).unwrap();
        let after = value(&params);
        assert!(after > before - 1e-12, "{before} {after}");
        let mut exchanged = params.clone();
        exchanged.swap(0, 1);
        exchanged_fell |= value(&exchanged) < before;
        before = after;
    }
    assert!(exchanged_fell);
    assert!((q.weights(&params)[0] - 0.4).abs() < 1e-3, "{:?}", q.weights(&params));
}

/// At gain g the zeroth and first moments of a component are those of (1 - g) q and g times the shared points, by the formula
/// written out.
#[test]
fn a_step_by_hand() {
    let ((q, params), (z, weights)) = (apart(), two_places());
    let (gain, matched) = (0.3, step(&q, &params, 0.3, z.as_ref(), &weights).unwrap());
    for k in 0..2 {
        let part = |j: usize| {
            q.weights(&params)[k].ln() + log_prob(q.component(), q.part(&params, k), z.col_as_slice(j))
        };
        let share = |j: usize| weights[j] * (part(j) - log_prob(&q, &params, z.col_as_slice(j))).exp();
        let zeroth = 0.7 * q.weights(&params)[k] + gain * (0..6).map(share).sum::<f64>();
        let first = |i: usize| {
            0.7 * q.weights(&params)[k] * q.part(&params, k)[i]
                + gain * (0..6).map(|j| share(j) * z[(i, j)]).sum::<f64>()
        };
        assert!((q.weights(&matched)[k] - zeroth).abs() < 1e-12);
        assert!((0..2).all(|i| (q.part(&matched, k)[i] - first(i) / zeroth).abs() < 1e-12));
    }
}

/// A component far from all points keeps its parameters and a weight of about 0.001 / 2.
#[test]
fn a_component_without_points_stays() {
    let ((q, mut params), (z, weights)) = (apart(), two_places());
    let far = q.component().at(&[1e6, 0.0], Mat::identity(2, 2).as_ref()).unwrap();
    params[2 + far.len()..].copy_from_slice(&far);
    for _ in 0..60 {
        params = step(&q, &params, 0.5, z.as_ref(), &weights).unwrap();
    }
    assert_eq!(q.part(&params, 1), far);
    assert!((q.weights(&params)[1] - 5e-4).abs() < 1e-6);
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
}

const SHARES: [f64; 3] = [0.2, 0.5, 0.3];

fn means(dim: usize) -> Mat<f64> {
    mat![[0.0, 4.0, 1.5], [1.0, 2.0, -0.5]].submatrix(0, 0, dim, 3).to_owned()
}

fn scales(dim: usize) -> Mat<f64> {
    mat![[1.0, 0.6, 2.0], [0.5, 1.5, 1.0]].submatrix(0, 0, dim, 3).to_owned()
}

fn mixture(dim: usize) -> (GaussianMixture, Vec<f64>) {
    let family = GaussianMixture::new(dim, 3).unwrap();
    let params = family.at(&SHARES, means(dim).as_ref(), scales(dim).as_ref()).unwrap();
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
    mixture(dim).0.at(&shares, matched.as_ref(), deviations.as_ref()).unwrap()
}

#[test]
fn the_step_of_a_mixture_is_that_of_the_formula() {
    for dim in [1, 2] {
        for gain in [1e-6, 0.01, 0.3, 0.9] {
            let (family, params) = mixture(dim);
            let z = points(dim);
            let found = step(&family, &params, gain, z.as_ref(), &WEIGHTS).unwrap();
            let off = gap(&found, &formula(dim, gain, z.as_ref(), |part, total| part / total));
            assert!(off < 1e-11, "{dim} {gain}: {off}");
            // Twin: responsibilities that are not normalised.
            let off = gap(&found, &formula(dim, gain, z.as_ref(), |part, _| part));
            assert!(off > 0.1 * gain, "{dim} {gain}: {off}");
        }
    }
}

/// Responsibilities sum to one: the mixture's mean and second moments are the convex combination of those of q and of the points.
#[test]
fn mean_and_second_moments_are_the_convex_combination() {
    let (family, params) = mixture(2);
    let (z, gain) = (points(2), 0.3);
    let matched = step(&family, &params, gain, z.as_ref(), &WEIGHTS).unwrap();
    let [(m, c), (m_after, c_after)] =
        [&params, &matched].map(|params| (family.mean(params).unwrap(), family.covariance(params).unwrap()));
    for i in 0..2 {
        let power = |n: i32| (0..4).map(|j| WEIGHTS[j] * z[(i, j)].powi(n)).sum::<f64>();
        assert!((m_after[i] - (1.0 - gain) * m[i] - gain * power(1)).abs() < 1e-13);
        let [before, after] = [c[(i, i)] + m[i] * m[i], c_after[(i, i)] + m_after[i] * m_after[i]];
        assert!((after - (1.0 - gain) * before - gain * power(2)).abs() < 1e-12);
    }
}

#[test]
fn one_component_is_the_mean_field_family() {
    let (mixture, one) = (GaussianMixture::new(2, 1).unwrap(), MeanField::new(2));
    let start = one.at(&[0.3, -1.0], &[0.5, 2.0]).unwrap();
    let params = [&[1.7], &start[..]].concat();
    for gain in [0.01, 0.5, 1.0] {
        let found = step(&mixture, &params, gain, points(2).as_ref(), &WEIGHTS).unwrap();
        let expected = step(&one, &start, gain, points(2).as_ref(), &WEIGHTS).unwrap();
        assert!(gap(&found[1..], &expected) < 1e-13 && found[0].abs() < 1e-13, "{found:?} {expected:?}");
    }
}

/// Two bumps in the plane that overlap a little, one of them skewed.
fn bumps() -> Atomic {
    let at = |k: usize| -5.0 + 0.25 * k as f64;
    let z = Mat::from_fn(2, 41 * 41, |i, j| at(if i == 0 { j % 41 } else { j / 41 }));
    let weight = |j: usize| {
        let (x, y) = (z[(0, j)], z[(1, j)]);
        let first = (-0.5 * ((x + 1.5).powi(2) + (y + 0.3 * x).powi(2))).exp();
        let second = (-0.5 * ((x - 1.5).powi(2) / 0.4 + (y - 2.0).powi(2))).exp() * (1.0 + y.tanh());
        0.7 * first + 0.4 * second
    };
    let weights: Vec<f64> = (0..z.ncols()).map(weight).collect();
    Atomic::new(z, &weights)
}

#[test]
fn the_inclusive_optimum_stays_and_steps_climb_to_it() {
    let (p, family) = (bumps(), GaussianMixture::new(2, 2).unwrap());
    let start = family
        .at(&[0.5, 0.5], mat![[-2.0, 2.0], [0.0, 1.0]].as_ref(), mat![[2.0, 1.0], [1.0, 3.0]].as_ref())
        .unwrap();
    let (end, fall) = climb(&p, &family, &start, 600);
    assert!(fall < 1e-13, "{fall}");
    // Logits are unique up to a constant: those of a step are logarithms of the weights.
    let mut optimum = p.optimum(&family, &end);
    let total = (optimum[0].exp() + optimum[1].exp()).ln();
    optimum[..2].iter_mut().for_each(|logit| *logit -= total);
    assert!(gap(&end, &optimum) < 1e-6, "{end:?} {optimum:?}");
    assert!(drift(&p, &family, &optimum) < 1e-7);
    let far =
        family.at(&[0.5, 0.5], mat![[-4.0, 4.0], [0.0, 1.0]].as_ref(), mat![[0.5, 0.7], [3.0, 0.3]].as_ref());
    let (end, fall) = climb(&p, &family, &far.unwrap(), 1000);
    assert!(fall < 1e-13 && gap(&end, &optimum) < 1e-5, "{fall} {end:?} {optimum:?}");
}

/// A component without points keeps its place and a least weight, and returns when points come.
#[test]
fn a_component_without_points_stays_alive() {
    let family = GaussianMixture::new(1, 2).unwrap();
    let mut params = family.at(&[0.5, 0.5], mat![[0.0, 60.0]].as_ref(), mat![[1.0, 1.0]].as_ref()).unwrap();
    let near = mat![[-1.0, 0.0, 1.0]];
    for _ in 0..200 {
        params = step(&family, &params, 0.2, near.as_ref(), &[0.3, 0.4, 0.3]).unwrap();
    }
    family.check(&params).unwrap();
    assert!(
        (params[1].exp() - 0.0005).abs() < 1e-15 && (params[0].exp() - 0.9995).abs() < 1e-12,
        "{params:?}"
    );
    assert_eq!(params[4], 60.0);
    let far = mat![[59.0, 61.0]];
    for _ in 0..200 {
        params = step(&family, &params, 0.2, far.as_ref(), &[0.5, 0.5]).unwrap();
    }
    assert!((params[1].exp() - 0.9995).abs() < 1e-12 && (params[4] - 60.0).abs() < 1e-12, "{params:?}");
}

#[test]
fn moments_outside_a_mixture_are_refused() {
    let (family, params) = mixture(2);
    for far in [f64::NAN, f64::INFINITY, 1e200] {
        assert!(step(&family, &params, 0.5, mat![[far], [0.0]].as_ref(), &[1.0]).is_none(), "{far}");
    }
    let without_weight = step(&family, &params, 0.5, mat![[1e200, 1.0], [0.0, 0.0]].as_ref(), &[0.0, 1.0]);
    assert_eq!(without_weight, step(&family, &params, 0.5, mat![[1.0], [0.0]].as_ref(), &[1.0]));
    assert!(step(&family, &params, 1.0, mat![[1.0], [0.0]].as_ref(), &[1.0]).is_none());
    family.check(&step(&family, &params, 0.5, mat![[1e6], [0.0]].as_ref(), &[1.0]).unwrap()).unwrap();
}
