//! Mixtures of any family: draws, and their online EM.

use faer::{Mat, MatRef, mat};
use mcsa_core::{Family, Parametric, Seed};
use mcsa_families::{FullRank, GaussianMixture, MeanField, Mixture, MomentMatched, MultivariateT};

use crate::conformance::log_prob;

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
fn points() -> (Mat<f64>, [f64; 6]) {
    (mat![[-4.0, -3.0, -3.5, 2.0, 4.0, 3.0], [0.0, 1.0, 0.4, -1.0, 1.0, 0.2]], [0.1, 0.2, 0.1, 0.2, 0.3, 0.1])
}

fn apart() -> (Mixture<FullRank>, Vec<f64>) {
    let q = Mixture::new(FullRank::new(2), 2).unwrap();
    let part = |mean: f64| q.component().at(&[mean, 0.0], mat![[1.5, 0.0], [0.2, 1.5]].as_ref()).unwrap();
    let params = q.at(&[0.7, 0.3], &[part(-2.0), part(2.0)]).unwrap();
    (q, params)
}

fn moved<F: MomentMatched>(
    q: &F,
    params: &[f64],
    gain: f64,
    z: MatRef<'_, f64>,
    weights: &[f64],
) -> Vec<f64> {
    let mut matched = vec![f64::NAN; params.len()];
    let mut work = vec![f64::NAN; q.work_len(z.ncols())];
    assert!(q.match_moments(params, gain, z, weights, &mut matched, &mut work));
    matched
}

/// EM with gain 1 never lowers the weighted log density of the points, and here raises it in each of ten steps; the twin ascends
/// with the labels of the components' weights exchanged and fails.
#[test]
fn the_weighted_log_density_rises() {
    let ((q, mut params), (z, weights)) = (apart(), points());
    let value = |params: &[f64]| -> f64 {
        (0..6).map(|j| weights[j] * log_prob(&q, params, z.col_as_slice(j))).sum()
    };
    let (mut before, mut exchanged_fell) = (value(&params), false);
    for _ in 0..10 {
        params = moved(&q, &params, 1.0, z.as_ref(), &weights);
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
    let ((q, params), (z, weights)) = (apart(), points());
    let (gain, matched) = (0.3, moved(&apart().0, &apart().1, 0.3, z.as_ref(), &weights));
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
    let ((q, mut params), (z, weights)) = (apart(), points());
    let far = q.component().at(&[1e6, 0.0], Mat::identity(2, 2).as_ref()).unwrap();
    params[2 + far.len()..].copy_from_slice(&far);
    for _ in 0..60 {
        params = moved(&q, &params, 0.5, z.as_ref(), &weights);
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
