//! Closed forms compared with quadrature, with each other, and with calculations by hand.

use faer::{Mat, mat};
use mcsa_core::{Family, Parametric, Reparameterised};
use mcsa_families::{FullRank, GaussianFamily, Link, LowRank, MeanField, Normal, kl_gaussian};
use proptest::prelude::*;

use crate::conformance::log_prob;

fn entropy(q: &impl Reparameterised, params: &[f64]) -> f64 {
    q.entropy(params, &mut vec![f64::NAN; q.work_len(1)])
}

/// Trapezoidal rule on a square of side 24 about the origin, which converges geometrically for Gaussians.
fn integral(dim: usize, mut f: impl FnMut(&[f64]) -> f64) -> f64 {
    let (half, step) = (120_i32, 0.1);
    let at = |k: i32| f64::from(k) * step;
    let mut total = 0.0;
    for i in -half..=half {
        if dim == 1 {
            total += step * f(&[at(i)]);
            continue;
        }
        for k in -half..=half {
            total += step * step * f(&[at(i), at(k)]);
        }
    }
    total
}

fn pair(dim: usize) -> (Vec<f64>, Vec<f64>, FullRank) {
    let q = FullRank::new(dim).with_link(Link::Exp);
    match dim {
        1 => (vec![0.3, -0.2], vec![-0.5, 0.4], q),
        _ => (vec![0.3, -0.1, 0.2, 0.5, -0.4], vec![-0.2, 0.4, 0.1, -0.6, 0.3], q),
    }
}

#[test]
fn divergence_of_gaussians_is_its_integral() {
    for dim in [1, 2] {
        let (p, q, family) = pair(dim);
        let exact = kl_gaussian(&family.moments(&p).unwrap(), &family.moments(&q).unwrap()).unwrap();
        let found = integral(dim, |z| {
            let log_p = log_prob(&family, &p, z);
            log_p.exp() * (log_p - log_prob(&family, &q, z))
        });
        assert!((found - exact).abs() < 1e-10, "{dim}: {found} {exact}");
    }
}

#[test]
fn close_gaussians_keep_their_digits() {
    let covariance = mat![[2.0, 0.3], [0.3, 1.0]];
    let p = Normal::new(vec![1.0, 2.0], covariance.as_ref()).unwrap();
    assert_eq!(kl_gaussian(&p, &p).unwrap(), 0.0);
    for delta in [1e-3, 1e-7] {
        // Scale (1 + delta) in one dimension: ((1 + d)^-2 - 1)/2 + ln(1 + d) = d^2 - 5/3 d^3 + O(d^4).
        let one = |scale: f64| Normal::new(vec![0.0], mat![[scale * scale]].as_ref()).unwrap();
        let kl = kl_gaussian(&one(1.0), &one(1.0 + delta)).unwrap();
        let series = delta * delta * (1.0 - 5.0 / 3.0 * delta + 9.0 / 4.0 * delta * delta);
        assert!((kl / series - 1.0).abs() < 1e-8, "{delta}: {kl} {series}");
    }
}

#[test]
fn broken_gaussians_are_refused() {
    let refused = |mean: Vec<f64>, covariance: Mat<f64>| {
        Normal::new(mean, covariance.as_ref()).unwrap_err().to_string()
    };
    let indefinite = refused(vec![0.0; 2], mat![[1.0, 2.0], [2.0, 1.0]]);
    assert_eq!(indefinite, "covariance is not positive definite: the factorisation stops at row 1");
    assert_eq!(refused(vec![0.0], mat![[f64::NAN]]), "covariance[0] is NaN, expected a finite number");
    assert!(Normal::new(vec![0.0; 2], mat![[1.0]].as_ref()).is_err());
    assert!(Normal::from_factor(vec![0.0], mat![[0.0]]).is_err());
    let one = Normal::new(vec![0.0], mat![[1.0]].as_ref()).unwrap();
    let two = Normal::new(vec![0.0; 2], mat![[1.0, 0.0], [0.0, 1.0]].as_ref()).unwrap();
    assert!(kl_gaussian(&one, &two).is_err());
    assert!(MeanField::new(1).moment_match(&two).is_err());
}

/// At the minimum of the inclusive divergence the score has mean zero under the target: exact stationarity.
#[test]
fn matched_moments_are_the_optimum() {
    let (p, _, target) = pair(2);
    let normal = target.moments(&p).unwrap();
    let (mean_field, full_rank) = (MeanField::new(2), FullRank::new(2));
    let matched = [mean_field.moment_match(&normal).unwrap(), full_rank.moment_match(&normal).unwrap()];
    for (q, params) in [&mean_field as &dyn Family, &full_rank].into_iter().zip(&matched) {
        for k in 0..params.len() {
            let mean = integral(2, |z| {
                let mut score = vec![0.0; params.len()];
                q.add_score(params, z, 1.0, &mut score, &mut vec![0.0; q.work_len(1)]);
                log_prob(&target, &p, z).exp() * score[k]
            });
            assert!(mean.abs() < 1e-10, "param {k}: {mean}");
        }
    }
    let best = kl_gaussian(&normal, &mean_field.moments(&matched[0]).unwrap()).unwrap();
    let logs: f64 = normal.variances().iter().map(|v| 0.5 * v.ln()).sum();
    let floor = logs - (0..2).map(|k| normal.factor()[(k, k)].ln()).sum::<f64>();
    assert!((best - floor).abs() < 1e-14 && best > 0.1, "{best} {floor}");
    assert!(kl_gaussian(&normal, &full_rank.moments(&matched[1]).unwrap()).unwrap() < 1e-30);
}

#[test]
fn families_agree_where_they_meet() {
    let dim = 6;
    let at = |n: usize| -> Vec<f64> { (0..n).map(|k| (k as f64 * 1.7).sin()).collect() };
    let low_rank = LowRank::new(dim, 2);
    let params = at(low_rank.num_params());
    let normal = low_rank.moments(&params).unwrap();
    let full_rank = FullRank::new(dim);
    let dense = full_rank.moment_match(&normal).unwrap();
    let z = at(dim);
    assert!((log_prob(&low_rank, &params, &z) - log_prob(&full_rank, &dense, &z)).abs() < 1e-11);
    assert!((entropy(&low_rank, &params) - entropy(&full_rank, &dense)).abs() < 1e-12);
    let variances = low_rank.variances(&params).unwrap();
    for (a, b) in variances.iter().zip(full_rank.variances(&dense).unwrap()) {
        assert!((a / b - 1.0).abs() < 1e-12);
    }
    for (i, a) in variances.iter().enumerate() {
        assert!((a - normal.covariance()[(i, i)]).abs() < 1e-13 * a);
    }

    let (mean_field, no_rank) = (MeanField::new(dim), LowRank::new(dim, 0));
    let params = at(2 * dim);
    assert!((log_prob(&mean_field, &params, &z) - log_prob(&no_rank, &params, &z)).abs() < 1e-12);
    let diagonal = full_rank.moment_match(&mean_field.moments(&params).unwrap()).unwrap();
    assert!((log_prob(&mean_field, &params, &z) - log_prob(&full_rank, &diagonal, &z)).abs() < 1e-12);
}

#[test]
fn the_triangle_is_packed_as_documented() {
    let q = FullRank::new(3).with_link(Link::Exp);
    let params = [1.0, 2.0, 3.0, 0.1, 10.0, 20.0, 0.2, 21.0, 0.3];
    let normal = q.moments(&params).unwrap();
    let factor = normal.factor();
    assert_eq!([factor[(1, 0)], factor[(2, 0)], factor[(2, 1)]], [10.0, 20.0, 21.0]);
    assert_eq!([factor[(0, 0)], factor[(1, 1)], factor[(2, 2)]], [0.1, 0.2, 0.3].map(f64::exp));
    assert_eq!(factor[(0, 1)], 0.0);
    assert_eq!(q.mean(&params), [1.0, 2.0, 3.0]);
}

proptest! {
    /// At parameters that `check` admits a log density is never NaN, at any admitted scale and any finite point.
    #[test]
    fn no_nan_at_extreme_scales(
        rho in -708.0..709.0f64,
        mean in -1e9..1e9f64,
        z in -1e9..1e9f64,
        link in prop_oneof![Just(Link::Softplus), Just(Link::Exp)],
    ) {
        let mean_field = MeanField::new(1).with_link(link);
        let low_rank = LowRank::new(1, 1).with_link(link);
        let full_rank = FullRank::new(1).with_link(link);
        for (q, params) in [
            (&mean_field as &dyn Family, vec![mean, rho]),
            (&full_rank, vec![mean, rho]),
            (&low_rank, vec![mean, rho, link.scale(rho)]),
        ] {
            prop_assert!(q.check(&params).is_ok());
            let mut work = vec![f64::NAN; q.work_len(1)];
            for point in [z, mean] {
                let log_q = q.log_prob(&params, &[point], &mut work);
                prop_assert!(!log_q.is_nan() && log_q < f64::INFINITY, "{log_q}");
                let mut score = vec![0.0; params.len()];
                q.add_score(&params, &[point], 1.0, &mut score, &mut work);
                // If the density is zero in double precision, the score need not be finite.
                prop_assert!(log_q == f64::NEG_INFINITY || score.iter().all(|s| !s.is_nan()), "{score:?}");
            }
        }
    }
}
