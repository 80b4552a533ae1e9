//! Conformance of every family but flows, and what is special to one of them.

use faer::{Mat, mat};
use mcsa_core::{Family, FamilyProposal, Parametric, Proposal, Seed};
use mcsa_families::{
    Atoms, Dof, Fixed, FullRank, Learned, Link, LowRank, MeanField, Mixture, MultivariateT, StudentT,
};
use mcsa_testing::family::{self, Case, Map};

use crate::altered::meter;

/// A family at parameters of this size, with at most `2^draws` draws.
fn case<F: Family>(family: F, size: f64, draws: u32) -> Case<F> {
    let params = (0..family.num_params()).map(|k| size * (k as f64 * 1.3).sin()).collect();
    Case { draws: 1 << draws, ..Case::new(family, params) }
}

/// Size of a triangle's parameters.
fn small(dim: usize) -> f64 {
    1.0 / (dim.max(1) as f64).sqrt()
}

pub(crate) fn log_prob<F: Family + ?Sized>(q: &F, params: &[f64], z: &[f64]) -> f64 {
    q.log_prob(params, z, &mut vec![f64::NAN; q.work_len(1)])
}

fn mean_field() -> Vec<Case<MeanField>> {
    let shapes = [0, 1, 2, 3, 17, 100].map(|dim| (dim, Link::Softplus));
    let shapes = shapes.into_iter().chain([1, 2, 5].map(|dim| (dim, Link::Exp)));
    shapes.map(|(dim, link)| case(MeanField::new(dim).with_link(link), 1.0, 18)).collect()
}

fn low_rank() -> Vec<Case<LowRank>> {
    let shapes = [(0, 0), (0, 2), (1, 0), (1, 1), (2, 1), (2, 3), (3, 1), (7, 3), (30, 5)];
    let shapes = shapes.map(|shape| (shape, Link::Softplus)).into_iter();
    let shapes = shapes.chain([(1, 1), (2, 2), (6, 2)].map(|shape| (shape, Link::Exp)));
    shapes.map(|((dim, rank), link)| case(LowRank::new(dim, rank).with_link(link), 1.0, 15)).collect()
}

fn full_rank() -> Vec<Case<FullRank>> {
    let shapes = [0, 1, 2, 3, 4, 5, 9, 21].map(|dim| (dim, Link::Softplus));
    let shapes = shapes.into_iter().chain([1, 2, 6].map(|dim| (dim, Link::Exp)));
    shapes.map(|(dim, link)| case(FullRank::new(dim).with_link(link), small(dim), 18)).collect()
}

fn fixed_t() -> Vec<Case<StudentT<Fixed>>> {
    let shapes = [(0, 3.0), (1, 1.0), (1, 0.6), (1, 30.0), (2, 2.5), (3, 5.0), (70, 4.0)];
    let families = shapes.map(|(dim, dof)| StudentT::fixed(dim, dof).expect("some degrees")).into_iter();
    let families = families.chain([StudentT::fixed(2, 4.0).expect("some degrees").with_link(Link::Exp)]);
    families.map(|q| case(q, 1.0, 15).with_map(Map::SinhSinh)).collect()
}

fn learned_t() -> Vec<Case<StudentT<Learned>>> {
    let floors = [(0, 1.0), (1, 0.5), (1, 1.0), (2, 2.0), (3, 1.0), (70, 4.0)];
    let family = |(dim, floor)| StudentT::learned(dim, floor).expect("some degrees");
    floors.map(|shape| case(family(shape), 1.0, 15).with_map(Map::SinhSinh)).into()
}

fn multivariate<D: Dof>(family: MultivariateT<D>) -> Case<MultivariateT<D>> {
    case(family, small(family.dim()), 15).with_map(Map::SinhSinh)
}

fn fixed_multivariate() -> Vec<Case<MultivariateT<Fixed>>> {
    let shapes = [(0, 3.0), (1, 1.0), (1, 0.6), (2, 3.0), (3, 5.0), (4, 1.0), (21, 4.0)];
    let families = shapes.map(|(dim, dof)| MultivariateT::fixed(dim, dof).expect("some degrees")).into_iter();
    let exp = MultivariateT::fixed(5, 30.0).expect("some degrees").with_link(Link::Exp);
    families.chain([exp]).map(multivariate).collect()
}

fn learned_multivariate() -> Vec<Case<MultivariateT<Learned>>> {
    let floors = [(0, 1.0), (1, 0.5), (2, 2.0), (3, 1.0), (21, 4.0)];
    floors.map(|(dim, floor)| multivariate(MultivariateT::learned(dim, floor).expect("some degrees"))).into()
}

fn mixture_of_mean_fields() -> Vec<Case<Mixture<MeanField>>> {
    let shapes = [(0, 1), (0, 3), (1, 1), (1, 2), (1, 5), (2, 1), (2, 3), (5, 4), (40, 3)];
    let shapes = shapes.map(|shape| (shape, Link::Softplus)).into_iter().chain([((2, 2), Link::Exp)]);
    let family = |dim, link, components| {
        Mixture::new(MeanField::new(dim).with_link(link), components).expect("a component")
    };
    shapes.map(|((dim, components), link)| case(family(dim, link, components), 1.0, 15)).collect()
}

fn mixture_of_full_ranks() -> Vec<Case<Mixture<FullRank>>> {
    let family = |(dim, components)| Mixture::new(FullRank::new(dim), components).expect("a component");
    [(0, 2), (1, 1), (1, 3), (2, 2), (5, 3)].map(|shape| case(family(shape), 1.0, 15)).into()
}

fn mixture_of_t() -> Vec<Case<Mixture<MultivariateT<Learned>>>> {
    let family = |(dim, components)| {
        Mixture::new(MultivariateT::learned(dim, 3.0).expect("a floor"), components).expect("a component")
    };
    [(1, 2), (3, 2)].map(|shape| case(family(shape), 1.0, 15).with_map(Map::SinhSinh)).into()
}

mcsa_testing::family_suite!(of_mean_field, mean_field(), meter, reparameterised);
mcsa_testing::family_suite!(of_low_rank, low_rank(), meter, reparameterised);
mcsa_testing::family_suite!(of_full_rank, full_rank(), meter, reparameterised);
mcsa_testing::family_suite!(of_fixed_t, fixed_t(), meter, reparameterised);
mcsa_testing::family_suite!(of_learned_t, learned_t(), meter);
mcsa_testing::family_suite!(of_fixed_multivariate_t, fixed_multivariate(), meter, reparameterised);
mcsa_testing::family_suite!(of_learned_multivariate_t, learned_multivariate(), meter);
mcsa_testing::family_suite!(of_mixture_of_mean_fields, mixture_of_mean_fields(), meter);
mcsa_testing::family_suite!(of_mixture_of_full_ranks, mixture_of_full_ranks(), meter);
mcsa_testing::family_suite!(of_mixture_of_t, mixture_of_t(), meter);

/// More rows than a tile of the gradient has, and not a multiple of any block size.
#[test]
fn tiles_do_not_show() {
    let q = FullRank::new(263);
    let case = Case::new(q, (0..q.num_params()).map(|k| 0.05 * (k as f64 * 1.3).sin()).collect());
    assert_eq!(family::batch_equals_columns(&case), Ok(()));
    assert_eq!(family::score_is_gradient(&case), Ok(()));
    assert_eq!(family::draws_know_their_density(&case), Ok(()));
    assert_eq!(family::pullback_is_gradient(&case), Ok(()));
}

/// A covariance that is not diagonal is refused in place of a factor, by [`FullRank`] and by families with its factor.
#[test]
fn a_covariance_is_not_taken_for_a_factor() {
    let covariance = faer::mat![[2.0, 0.5], [0.5, 1.0]];
    let q = FullRank::new(2);
    let error = q.at(&[0.0; 2], covariance.as_ref()).unwrap_err().to_string();
    assert!(
        error.starts_with("factor[0, 1] is 0.5, above the diagonal: expected the lower Cholesky"),
        "{error}"
    );
    assert!(error.ends_with("of a covariance take the factor first"), "{error}");
    assert!(MultivariateT::fixed(2, 3.0).unwrap().at(&[0.0; 2], covariance.as_ref()).is_err());
    assert!(q.at(&[0.0; 2], faer::mat![[1.0, f64::NAN], [0.0, 1.0]].as_ref()).is_err());
    let error = q.at(&[0.0; 2], faer::mat![[1.0, 0.0]].as_ref()).unwrap_err().to_string();
    assert_eq!(error, "rows of the factor has length 1, expected 2");
    // Negative control: its Cholesky factor is accepted, also with a negative zero above the diagonal.
    let factor = faer::mat![[2.0_f64.sqrt(), -0.0], [0.5 / 2.0_f64.sqrt(), 0.875_f64.sqrt()]];
    assert!(q.at(&[0.0; 2], factor.as_ref()).is_ok());
}

#[test]
fn far_out_a_t_is_finite_and_its_scores_vanish() {
    let q = StudentT::learned(1, 1.0).unwrap();
    let params = q.at(&[0.0], &[1.0], 3.0).unwrap();
    let (mut work, mut score) = (vec![0.0; q.work_len(1)], [0.0; 3]);
    let at_the_end = q.at(&[-f64::MAX], &[1e-3], 3.0).unwrap();
    assert_eq!(q.log_prob(&at_the_end, &[f64::MAX], &mut work), f64::NEG_INFINITY);
    for z in [1e100, -1e200, 1e300] {
        assert!(q.log_prob(&params, &[z], &mut work).is_finite());
        q.add_score(&params, &[z], 1.0, &mut score, &mut work);
        assert!(score.iter().all(|s| s.is_finite()) && score[0].abs() < 1e-90, "{score:?}");
    }
}

#[test]
fn on_the_line_it_is_the_other_t_and_with_many_degrees_the_gaussian() {
    let (one, other) = (MultivariateT::fixed(1, 3.0).unwrap(), StudentT::fixed(1, 3.0).unwrap());
    let (params, z) = ([0.4, -0.3], [2.0]);
    assert!((log_prob(&one, &params, &z) - log_prob(&other, &params, &z)).abs() < 1e-14);
    let many = multivariate(MultivariateT::fixed(3, 1e14).unwrap());
    let (gaussian, z) = (FullRank::new(3), [0.3, -1.0, 2.0]);
    assert!((log_prob(&many.family, &many.params, &z) - log_prob(&gaussian, &many.params, &z)).abs() < 1e-12);
}

#[test]
fn the_covariance_of_a_t_exists_above_two_degrees() {
    let q = MultivariateT::learned(2, 0.5).unwrap();
    let factor = mat![[2.0, 0.0], [1.0, 3.0]];
    for (dof, exists) in [(0.9, false), (1.5, false), (4.0, true)] {
        let params = q.at(&[1.0, -1.0], factor.as_ref(), dof).unwrap();
        assert!((q.dof_at(&params) - dof).abs() < 1e-14);
        assert!((q.factor(&params).unwrap() - &factor).norm_max() < 1e-14);
        // Twice L L^T, because nu / (nu - 2) = 2.
        let covariance = q.covariance(&params).unwrap();
        assert_eq!(covariance.is_some(), exists);
        assert!(covariance.is_none_or(|found| (found - mat![[8.0, 4.0], [4.0, 20.0]]).norm_max() < 1e-13));
    }
    assert!(q.covariance(&[0.0]).is_err());
}

#[test]
fn a_point_beyond_all_measure_of_a_multivariate_t_has_density_zero() {
    let q = MultivariateT::fixed(2, 1.0).unwrap();
    let params = q.at(&[0.0, 0.0], mat![[1e-300, 0.0], [1e300, 1e-300]].as_ref()).unwrap();
    assert_eq!(log_prob(&q, &params, &[1e300, -1e300]), f64::NEG_INFINITY);
    assert!(log_prob(&q, &params, &[f64::NAN, 0.0]).is_nan());
}

/// Heavy tails need the sinh-sinh map.
#[test]
fn the_sinh_map_does_not_reach_the_tails() {
    for params in [[0.0, 0.5], [10.0, -3.0]] {
        let case = Case::new(StudentT::fixed(1, 1.0).unwrap(), params.to_vec());
        assert_eq!(family::density_integrates_to_one(&case.clone().with_map(Map::SinhSinh)), Ok(()));
        assert!(family::density_integrates_to_one(&case.with_map(Map::Sinh)).is_err());
    }
}

fn atoms() -> Vec<Case<Atoms>> {
    let plane = mat![[0.0, 1.0, 0.0, -2.0], [0.0, 0.5, 3.0, 1.0]];
    vec![
        Case::new(Atoms::on_line(1).expect("distinct points"), vec![3.0]),
        Case::new(Atoms::on_line(4).expect("distinct points"), vec![0.0, 1.0, -1.0, 0.5]),
        Case::new(Atoms::new(plane).expect("distinct points"), vec![0.0, 1.0, -1.0, 0.5]),
        Case::new(Atoms::new(Mat::zeros(0, 1)).expect("one point"), vec![0.0]),
    ]
}

/// All laws that evaluate points of the support; those that need a density on the plane or slopes between atoms do not apply.
#[test]
fn atoms_keep_the_laws() {
    for case in atoms() {
        family::bad_params_are_refused(&case).unwrap();
        family::batch_equals_columns(&case).unwrap();
        family::draws_know_their_density(&case).unwrap();
        family::lanes_draw_their_columns(&case).unwrap();
        family::allocates_nothing(&case, &mut meter).unwrap();
        if case.params.len() > 1 {
            family::draws_follow_the_density(&case).unwrap();
        }
    }
}

/// In the memory of draws, densities and scores have the bits of those that start anew.
#[test]
fn what_draws_leave_is_used_again() {
    fn check<F: Family>(case: &Case<F>) {
        let (q, params, dim) = (&case.family, &case.params, case.family.dim());
        let mut proposal_work = vec![f64::NAN; q.work_len(4)];
        let mut proposal = FamilyProposal::new(q, params, 4, &mut proposal_work).unwrap();
        let mut z = Mat::zeros(dim, 4);
        proposal.sample_into(&mut [Seed::new(1).stream(0, 0)], z.as_mut(), &mut [0.0; 4]);
        let (weights, mut work) = ([0.5, -1.0, 2.0, 0.1], vec![f64::NAN; q.work_len(4)]);
        // Twice, since neither may spoil the memory for the other.
        for _ in 0..2 {
            let (mut log_q, mut score) = ([[0.0; 4]; 2], [(); 2].map(|()| vec![0.0; params.len()]));
            proposal.add_scores(z.as_ref(), &weights, &mut score[0]);
            proposal.log_probs(z.as_ref(), &mut log_q[0]);
            q.add_scores(params, z.as_ref(), &weights, &mut score[1], &mut work);
            q.log_probs(params, z.as_ref(), &mut log_q[1], &mut work);
            assert_eq!((log_q[0], &score[0]), (log_q[1], &score[1]));
        }
    }
    mean_field().iter().for_each(check);
    fixed_t().iter().for_each(check);
    learned_t().iter().for_each(check);
}
