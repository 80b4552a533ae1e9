//! Conformance of the Student t with independent coordinates.

use faer::MatRef;
use mcsa_core::{Family, Parametric, Seed};
use mcsa_families::{Fixed, Learned, Link, MeanField, Start, StudentT};
use mcsa_testing::family::{self, Case, Map};

use crate::altered::{Alteration, Altered, meter};

fn params(count: usize) -> Vec<f64> {
    (0..count).map(|k| (k as f64 * 1.3).sin()).collect()
}

fn fixed() -> Vec<Case<StudentT<Fixed>>> {
    let dofs = [(0, 3.0), (1, 1.0), (1, 0.6), (1, 30.0), (2, 2.5), (3, 5.0), (70, 4.0)];
    let mut cases: Vec<_> = dofs
        .map(|(dim, dof)| Case::new(StudentT::fixed(dim, dof).expect("some degrees"), params(2 * dim)))
        .into();
    cases.push(Case::new(StudentT::fixed(2, 4.0).expect("some degrees").with_link(Link::Exp), params(4)));
    cases.into_iter().map(|case| case.with_map(Map::SinhSinh).with_draws(1 << 15)).collect()
}

fn learned() -> Vec<Case<StudentT<Learned>>> {
    let floors = [(0, 1.0), (1, 0.5), (1, 1.0), (2, 2.0), (3, 1.0), (70, 4.0)];
    let case =
        |(dim, floor)| Case::new(StudentT::learned(dim, floor).expect("some degrees"), params(2 * dim + 1));
    floors.map(case).into_iter().map(|case| case.with_map(Map::SinhSinh).with_draws(1 << 15)).collect()
}

mcsa_testing::family_suite!(fixed_laws, fixed(), meter, reparameterised);
mcsa_testing::family_suite!(learned_laws, learned(), meter);

#[test]
fn moments_exist_from_their_degree_on() {
    let q = StudentT::learned(2, 0.5).unwrap();
    for (dof, has_mean, has_variance) in [(0.9, false, false), (1.5, true, false), (4.0, true, true)] {
        let params = q.at(&[1.0, -1.0], &[2.0, 3.0], dof).unwrap();
        assert!((q.dof_at(&params) - dof).abs() < 1e-14);
        assert_eq!(q.mean(&params), Ok(has_mean.then(|| vec![1.0, -1.0])));
        assert_eq!(q.variances(&params).unwrap().is_some(), has_variance);
    }
    let variances = q.variances(&q.at(&[1.0, -1.0], &[2.0, 3.0], 4.0).unwrap()).unwrap().unwrap();
    assert!(q.mean(&[0.0]).is_err() && q.variances(&[0.0]).is_err());
    let started = q.start(&Start::jittered(), 4.0, &mut Seed::new(1).stream(0, 0)).unwrap();
    assert!(q.check(&started).is_ok() && (q.dof_at(&started) - 4.0).abs() < 1e-14);
    assert!((variances[0] - 8.0).abs() < 1e-13 && (variances[1] - 18.0).abs() < 1e-13);
}

#[test]
fn many_degrees_are_the_gaussian() {
    let (t, gaussian, params) = (StudentT::fixed(3, 1e17).unwrap(), MeanField::new(3), params(6));
    let (z, mut work) = ([0.3, -1.0, 2.0], [0.0; 6]);
    let (log_t, log_q) = (t.log_prob(&params, &z, &mut work), gaussian.log_prob(&params, &z, &mut work));
    assert!((log_t - log_q).abs() < 1e-12);
    let (mut score, mut expected) = ([0.0; 6], [0.0; 6]);
    t.add_score(&params, &z, 1.0, &mut score, &mut work);
    gaussian.add_score(&params, &z, 1.0, &mut expected, &mut work);
    assert!(score.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-11), "{score:?} {expected:?}");
}

#[test]
fn far_out_log_densities_are_finite_and_scores_vanish() {
    let q = StudentT::learned(1, 1.0).unwrap();
    let params = q.at(&[0.0], &[1.0], 3.0).unwrap();
    let (mut work, mut score) = ([0.0; 2], [0.0; 3]);
    let at_the_end = q.at(&[-f64::MAX], &[1e-3], 3.0).unwrap();
    assert_eq!(q.log_prob(&at_the_end, &[f64::MAX], &mut work), f64::NEG_INFINITY);
    for z in [1e100, -1e200, 1e300] {
        assert!(q.log_prob(&params, &[z], &mut work).is_finite());
        q.add_score(&params, &[z], 1.0, &mut score, &mut work);
        assert!(score.iter().all(|s| s.is_finite()) && score[0].abs() < 1e-90, "{score:?}");
    }
}

/// Negative control: with exponent `nu` instead of `nu + 1` in the density, the law of the mass and that of differences fail.
#[test]
fn a_wrong_power_is_caught() {
    for case in fixed().into_iter().filter(|case| case.family.dim() > 0) {
        let case = Case::new(Altered { family: case.family, by: WrongPower }, case.params).with_map(case.map);
        assert!(family::score_is_gradient(&case).is_err());
        assert!(family::draws_know_their_density(&case).is_err());
        if (1..=2).contains(&case.family.family.dim()) && case.family.family.dof.value() > 1.0 {
            assert!(family::density_integrates_to_one(&case).is_err());
        }
    }
}

struct WrongPower;

impl Alteration<StudentT<Fixed>> for WrongPower {
    fn densities(&self, q: &StudentT<Fixed>, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64]) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            for i in 0..q.dim() {
                let u = (z[(i, j)] - params[i]) / q.frame.link.scale(params[q.dim() + i]);
                *log_q += 0.5 * (u * u / q.dof.value()).ln_1p();
            }
        }
    }
}
