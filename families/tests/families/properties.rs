//! Laws as property tests, at random lambdas and points; failures shrink towards dimension zero.

use mcsa_core::{Columns, Family, Reparameterised, Seed};
use mcsa_families::{FullRank, GaussianMixture, Link, LowRank, MeanField, MultivariateT, StudentT};
use mcsa_testing::family::{self as laws, Case, Failure, Map};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestCaseError};

fn link() -> impl Strategy<Value = Link> {
    prop_oneof![Just(Link::Softplus), Just(Link::Exp)]
}

/// A family with valid parameters.
fn with_params<F: Family + std::fmt::Debug + Clone>(
    families: impl Strategy<Value = F>,
) -> impl Strategy<Value = (F, Vec<f64>, u64)> {
    families.prop_flat_map(|q| {
        let params = proptest::collection::vec(-2.0..2.0f64, q.num_params());
        (Just(q), params, any::<u64>())
    })
}

/// Checks the laws that need no integral.
fn laws_hold<F: Reparameterised>(q: F, params: Vec<f64>, seed: u64) -> Result<(), TestCaseError> {
    let case = Case::new(q, params).with_seed(Seed::new(seed));
    let verdicts = [
        laws::bad_params_are_refused(&case),
        laws::score_is_gradient(&case),
        laws::batch_equals_columns(&case),
        laws::draws_know_their_density(&case),
        laws::lanes_draw_their_columns(&case),
        laws::pullback_is_gradient(&case),
        laws::entropy_gradient_is_gradient(&case),
        laws::transport_batch_equals_columns(&case),
    ];
    for verdict in verdicts {
        verdict.map_err(|failure| TestCaseError::fail(failure.to_string()))?;
    }
    Ok(())
}

/// `log q(t(eps)) = log q(m) - |eps|^2 / 2` if the noise has the dimension of the point.
fn noise_is_whitened<F: Reparameterised>(q: &F, params: &[f64], seed: u64) -> Result<(), TestCaseError> {
    let dim = q.dim();
    let (mut eps, mut z) = (vec![0.0; dim], vec![0.0; dim]);
    let mut work = vec![f64::NAN; q.work_len(1)];
    q.sample_noise_into(&mut [Seed::new(seed).stream(0, 0)], mcsa_core::batch_mut(&mut eps, dim, 1));
    q.transport(params, mcsa_core::one(&eps), mcsa_core::batch_mut(&mut z, dim, 1), &mut work);
    let peak = q.log_prob(params, &params[..dim], &mut work);
    let expected = peak - 0.5 * mcsa_core::one(&eps).column(0).iter().map(|x| x * x).sum::<f64>();
    let found = q.log_prob(params, &z, &mut work);
    prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
    Ok(())
}

/// Checks the laws that are cheap enough for many lambdas.
fn keeps_the_laws<F: Family>(family: F, numbers: &[f64], seed: u64) -> Result<(), Failure> {
    let params = numbers.iter().copied().cycle().take(family.num_params()).collect();
    let case = Case::new(family, params).with_map(Map::SinhSinh).with_seed(Seed::new(seed));
    laws::bad_params_are_refused(&case)?;
    laws::score_is_gradient(&case)?;
    laws::batch_equals_columns(&case)?;
    laws::draws_know_their_density(&case)?;
    laws::lanes_draw_their_columns(&case)?;
    if case.family.dim() == 1 {
        laws::density_integrates_to_one(&case)?;
        laws::scores_have_mean_zero(&case)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/properties.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn mean_field((q, params, seed) in with_params((0..6_usize, link()).prop_map(|(dim, link)| MeanField { dim, link }))) {
        noise_is_whitened(&q, &params, seed)?;
        laws_hold(q, params, seed)?;
    }

    #[test]
    fn full_rank((q, params, seed) in with_params((0..6_usize, link()).prop_map(|(dim, link)| FullRank { dim, link }))) {
        noise_is_whitened(&q, &params, seed)?;
        laws_hold(q, params, seed)?;
    }

    #[test]
    fn low_rank((q, params, seed) in with_params(
        (0..6_usize, 0..4_usize, link()).prop_map(|(dim, rank, link)| LowRank { dim, rank, link })
    )) {
        laws_hold(q, params, seed)?;
    }

    #[test]
    fn integrals_in_the_plane((q, params, seed) in with_params((1..3_usize).prop_map(MeanField::new))) {
        let case = Case::new(q, params).with_seed(Seed::new(seed));
        prop_assert_eq!(laws::density_integrates_to_one(&case), Ok(()));
        prop_assert_eq!(laws::scores_have_mean_zero(&case), Ok(()));
        prop_assert_eq!(laws::entropy_is_mean_surprise(&case), Ok(()));
    }

    /// At parameters that `check` admits a log density is never NaN, at any admitted scale and any finite point.
    #[test]
    fn no_nan_at_extreme_scales(rho in -708.0..709.0f64, mean in -1e9..1e9f64, z in -1e9..1e9f64, link in link()) {
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
