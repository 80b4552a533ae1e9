//! Draws with the right margins whose coordinates depend on each other in a wrong way, and scores that are wrong far out.

use mcsa_core::{Family, Parametric, Reparameterised};
use mcsa_families::{FullRank, LowRank, MeanField, Mixture, MultivariateT, StudentT};
use mcsa_testing::family::{self as laws, Case, Failure};
use mcsa_testing::law::Power;

use crate::altered::Altered;
use crate::altered::Fault::{self, *};
use crate::altered::Kind::{self, *};

const KINDS: [(Kind, usize); 8] = [
    (Common, 1),
    (Alternating, 1),
    (Shared, 1),
    (CommonSign, 1),
    (CommonSize, 1),
    (Common, 10),
    (Alternating, 10),
    (CommonSign, 10),
];

fn is_detected(result: Result<Option<Power>, Failure>, what: impl Fn() -> String) {
    let failure = result.expect_err(&what());
    assert!(failure.law.ends_with("as_the_density"), "{failure}");
}

fn detects_dependence<F: Family + Clone>(family: F, params: Vec<f64>, kinds: &[(Kind, usize)]) {
    let case = |by: Fault| Case::new(Altered { family: family.clone(), by }, params.clone());
    let power = laws::draws_depend_as_the_density(&case(Faultless)).expect("right").expect("two coordinates");
    assert!(power.size < 0.07, "{power}");
    for &(kind, every) in kinds {
        let what = || format!("{kind:?} in one of {every} draws, d = {}", family.dim());
        is_detected(laws::draws_depend_as_the_density(&case(Dependent(kind, every))), what);
    }
}

/// Every kind of dependence is detected in families with independent coordinates, also where one draw in ten has it.
#[test]
fn dependent_draws_are_caught() {
    for dim in [2, 3, 5, 10] {
        let centres = |scale: f64| {
            (0..2 * dim).map(|k| if k < dim { (k as f64).sin() } else { scale }).collect::<Vec<f64>>()
        };
        detects_dependence(MeanField::new(dim), centres(0.4), &KINDS);
        let student = StudentT::fixed(dim, 3.0).expect("degrees");
        detects_dependence(student, centres(0.4), &KINDS);
        if dim > 2 {
            detects_dependence(MeanField::new(dim), centres(0.4), &[(SignOfProduct, 1)]);
        }
    }
}

/// Families whose coordinates depend on each other: the law holds for right noise, and detects dependent noise.
#[test]
fn dependent_noise_is_caught() {
    fn detects<F: Reparameterised + Clone>(family: F) {
        let size = 1.0 / (family.dim() as f64).sqrt();
        let params: Vec<f64> = (0..family.num_params()).map(|k| size * (k as f64 * 1.3).sin()).collect();
        let case = |by: Fault| Case::new(Altered { family: family.clone(), by }, params.clone());
        let right = laws::transport_depends_as_the_density(&case(Faultless));
        assert!(right.as_ref().is_ok_and(|power| power.is_some()), "{right:?}");
        for kind in [Common, Alternating, Shared, CommonSign, CommonSize] {
            let what = || format!("{kind:?} noise of {} coordinates", family.dim());
            is_detected(laws::transport_depends_as_the_density(&case(DependentNoise(kind))), what);
        }
    }
    [2, 3, 6].into_iter().for_each(|dim| detects(MeanField::new(dim)));
    [2, 3, 6].into_iter().for_each(|dim| detects(FullRank::new(dim)));
    detects(LowRank::new(7, 2));
    detects(StudentT::fixed(4, 3.0).expect("degrees"));
}

/// A mixture and a multivariate t have uncorrelated coordinates that depend on each other. Draws of the mixture whose components
/// are chosen for each coordinate alone have its margins.
#[test]
fn true_dependence_is_no_failure() {
    for seed in 1..=8 {
        let case = Case::new(MultivariateT::fixed(3, 2.5).expect("degrees"), vec![0.2; 9]);
        let t = laws::draws_depend_as_the_density(&Case { seed: mcsa_core::Seed::new(seed), ..case });
        assert!(t.is_ok(), "{t:?}");
    }
    let mixture = Mixture::new(MeanField::new(2), 2).expect("components");
    let centres: Vec<f64> = (0..mixture.num_params()).map(|k| 2.5 * (k as f64 * 2.1).sin()).collect();
    assert!(laws::draws_depend_as_the_density(&Case::new(mixture, centres.clone())).is_ok());
    let mixed = Case::new(Altered { family: mixture, by: Mixed }, centres);
    is_detected(laws::draws_depend_as_the_density(&mixed), || "mixed components".into());
}

/// A score that is cut off beyond five scales is right at all usual draws; the law of the tails detects it.
#[test]
fn a_score_that_is_wrong_far_out_is_caught() {
    for dim in [1, 3, 10] {
        let right = Case::new(MeanField::new(dim), vec![0.0; 2 * dim]);
        assert_eq!(laws::score_holds_in_the_tails(&right), Ok(()));
        let wrong = Case::new(Altered { family: MeanField::new(dim), by: CutOff }, vec![0.0; 2 * dim]);
        if dim > 2 {
            assert_eq!(laws::score_is_gradient(&wrong), Ok(()));
        }
        let failure = laws::score_holds_in_the_tails(&wrong).expect_err("cut off");
        assert_eq!(failure.law, "score_holds_in_the_tails");
    }
}
