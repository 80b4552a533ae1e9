//! Conformance of heavy-tailed families and mixtures at random dimensions and lambdas.

use mcsa_core::{Family, Seed};
use mcsa_families::{GaussianMixture, Link, MultivariateT, StudentT};
use mcsa_testing::family::{self, Case, Failure, Map};
use proptest::prelude::*;

/// Checks the laws that are cheap enough for many lambdas.
fn keeps_the_laws<F: Family>(family: F, numbers: &[f64], seed: u64) -> Result<(), Failure> {
    let params = numbers.iter().copied().cycle().take(family.num_params()).collect();
    let case = Case::new(family, params).with_map(Map::SinhSinh).with_seed(Seed::new(seed));
    family::bad_params_are_refused(&case)?;
    family::score_is_gradient(&case)?;
    family::batch_equals_columns(&case)?;
    family::draws_know_their_density(&case)?;
    family::lanes_draw_their_columns(&case)?;
    if case.family.dim() == 1 {
        family::density_integrates_to_one(&case)?;
        family::scores_have_mean_zero(&case)?;
    }
    Ok(())
}

fn link() -> impl Strategy<Value = Link> {
    prop_oneof![Just(Link::Softplus), Just(Link::Exp)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn student_t(
        dim in 0..6_usize,
        numbers in prop::collection::vec(-2.0..2.0_f64, 13),
        dof in 0.5..40.0_f64,
        link in link(),
        seed: u64,
    ) {
        prop_assert_eq!(keeps_the_laws(StudentT::fixed(dim, dof).unwrap().with_link(link), &numbers, seed), Ok(()));
        prop_assert_eq!(keeps_the_laws(StudentT::learned(dim, dof).unwrap().with_link(link), &numbers, seed), Ok(()));
    }

    #[test]
    fn multivariate_t(
        dim in 0..6_usize,
        numbers in prop::collection::vec(-1.0..1.0_f64, 28),
        dof in 0.5..40.0_f64,
        link in link(),
        seed: u64,
    ) {
        let (fixed, learned) = (MultivariateT::fixed(dim, dof).unwrap(), MultivariateT::learned(dim, dof).unwrap());
        prop_assert_eq!(keeps_the_laws(fixed.with_link(link), &numbers, seed), Ok(()));
        prop_assert_eq!(keeps_the_laws(learned.with_link(link), &numbers, seed), Ok(()));
    }

    #[test]
    fn gaussian_mixture(
        dim in 0..5_usize,
        components in 1..4_usize,
        numbers in prop::collection::vec(-1.5..1.5_f64, 27),
        link in link(),
        seed: u64,
    ) {
        let q = GaussianMixture::new(dim, components).unwrap().with_link(link);
        prop_assert_eq!(keeps_the_laws(q, &numbers, seed), Ok(()));
    }
}
