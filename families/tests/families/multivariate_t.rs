//! Conformance of the multivariate Student t.

use faer::{Mat, mat};
use mcsa_core::{Family, Parametric, Seed};
use mcsa_families::{Dof, Fixed, FullRank, Learned, Link, MultivariateT, Start, StudentT};
use mcsa_testing::family::{Case, Map};

use crate::altered::meter;

fn case<D: Dof>(family: MultivariateT<D>) -> Case<MultivariateT<D>> {
    let size = 1.0 / (family.dim().max(1) as f64).sqrt();
    let params = (0..family.num_params()).map(|k| size * (k as f64 * 1.3).sin()).collect();
    Case::new(family, params).with_map(Map::SinhSinh).with_draws(1 << 15)
}

fn fixed() -> Vec<Case<MultivariateT<Fixed>>> {
    let dofs = [(0, 3.0), (1, 1.0), (1, 0.6), (2, 3.0), (3, 5.0), (4, 1.0), (21, 4.0)];
    let mut cases: Vec<_> =
        dofs.map(|(dim, dof)| case(MultivariateT::fixed(dim, dof).expect("some degrees"))).into();
    cases.push(case(MultivariateT::fixed(5, 30.0).expect("some degrees").with_link(Link::Exp)));
    cases
}

fn learned() -> Vec<Case<MultivariateT<Learned>>> {
    let floors = [(0, 1.0), (1, 0.5), (2, 2.0), (3, 1.0), (21, 4.0)];
    floors.map(|(dim, floor)| case(MultivariateT::learned(dim, floor).expect("some degrees"))).into()
}

mcsa_testing::family_suite!(fixed_laws, fixed(), meter, reparameterised);
mcsa_testing::family_suite!(learned_laws, learned(), meter);

fn log_prob<F: Family>(q: &F, params: &[f64], z: &[f64]) -> f64 {
    q.log_prob(params, z, &mut vec![0.0; q.work_len(1)])
}

#[test]
fn on_the_line_it_is_the_other_t_and_with_many_degrees_the_gaussian() {
    let (one, other) = (MultivariateT::fixed(1, 3.0).unwrap(), StudentT::fixed(1, 3.0).unwrap());
    let (params, z) = ([0.4, -0.3], [2.0]);
    assert!((log_prob(&one, &params, &z) - log_prob(&other, &params, &z)).abs() < 1e-14);
    let many = case(MultivariateT::fixed(3, 1e14).unwrap());
    let (gaussian, z) = (FullRank::new(3), [0.3, -1.0, 2.0]);
    assert!((log_prob(&many.family, &many.params, &z) - log_prob(&gaussian, &many.params, &z)).abs() < 1e-12);
}

/// Margins of a multivariate t are t: integrating over the second coordinate gives the t of the first.
#[test]
fn the_margin_is_a_t() {
    let (two, one) = (MultivariateT::fixed(2, 1.5).unwrap(), StudentT::fixed(1, 1.5).unwrap());
    let joint = two.at(&[0.5, -1.0], mat![[2.0, 0.0], [0.7, 0.5]].as_ref()).unwrap();
    let margin = one.at(&[0.5], &[2.0]).unwrap();
    for x in [0.5, 3.0, -20.0] {
        let step = 1.0 / 64.0;
        let integrand = |k: i32| {
            let t = f64::from(k) * step;
            let inner = std::f64::consts::FRAC_PI_2 * t.sinh();
            let slope = std::f64::consts::FRAC_PI_2 * t.cosh() * inner.cosh();
            step * slope * log_prob(&two, &joint, &[x, inner.sinh()]).exp()
        };
        let mass: f64 = (-300..=300).map(integrand).sum();
        assert!((mass.ln() - log_prob(&one, &margin, &[x])).abs() < 1e-11, "{x}");
    }
}

#[test]
fn moments_exist_from_their_degree_on() {
    let q = MultivariateT::learned(2, 0.5).unwrap();
    let factor = mat![[2.0, 0.0], [1.0, 3.0]];
    for (dof, has_mean, has_covariance) in [(0.9, false, false), (1.5, true, false), (4.0, true, true)] {
        let params = q.at(&[1.0, -1.0], factor.as_ref(), dof).unwrap();
        assert!((q.dof_at(&params) - dof).abs() < 1e-14);
        assert_eq!(q.mean(&params), Ok(has_mean.then(|| vec![1.0, -1.0])));
        assert_eq!(q.covariance(&params).unwrap().is_some(), has_covariance);
    }
    let params = q.at(&[1.0, -1.0], factor.as_ref(), 4.0).unwrap();
    let covariance = q.covariance(&params).unwrap().unwrap();
    assert!((q.factor(&params).unwrap() - &factor).norm_max() < 1e-14);
    let started = q.start(&Start::jittered(), 4.0, &mut Seed::new(1).stream(0, 0)).unwrap();
    assert!(q.check(&started).is_ok() && (q.dof_at(&started) - 4.0).abs() < 1e-14);
    // Twice L L^T, because nu / (nu - 2) = 2.
    let expected = mat![[8.0, 4.0], [4.0, 20.0]];
    assert!((covariance - expected).norm_max() < 1e-13);
}

#[test]
fn five_thousand_dimensions_work() {
    let case = case(MultivariateT::learned(5000, 1.0).unwrap());
    let (q, mut work) = (case.family, vec![0.0; case.family.work_len(2)]);
    let (mut z, mut log_q, mut told) = (Mat::zeros(5000, 2), [0.0; 2], [0.0; 2]);
    q.sample_into(&case.params, &mut Seed::new(1).streams(2, 0), z.as_mut(), &mut log_q, &mut work);
    q.log_probs(&case.params, z.as_ref(), &mut told, &mut work);
    assert!((log_q[0] - told[0]).abs() < 1e-6 * log_q[0].abs(), "{log_q:?} {told:?}");
    let mut gradient = vec![0.0; q.num_params()];
    q.add_scores(&case.params, z.as_ref(), &[0.5, 0.5], &mut gradient, &mut work);
    assert!(gradient.iter().all(|g| g.is_finite()));
}

#[test]
fn a_point_beyond_all_measure_has_density_zero() {
    let q = MultivariateT::fixed(2, 1.0).unwrap();
    let params = q.at(&[0.0, 0.0], mat![[1e-300, 0.0], [1e300, 1e-300]].as_ref()).unwrap();
    assert_eq!(log_prob(&q, &params, &[1e300, -1e300]), f64::NEG_INFINITY);
    assert!(log_prob(&q, &params, &[f64::NAN, 0.0]).is_nan());
}
