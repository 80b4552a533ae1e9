//! Test suites: all laws of a family or a pushforward in one report, or as one test each.

use crate::law::{Report, law_lists};
use mcsa_core::{Family, Pushforward, Reparameterised};

use super::*;

/// Lists of laws for [`law_suite!`](crate::law_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! family_laws {
    (family [$($next:tt)*] $($arguments:tt)*) => {
        $($next)*! { $($arguments)* work_is_enough bad_params_are_refused density_integrates_to_one density_is_normalised
            scores_have_mean_zero score_is_gradient score_holds_in_the_tails batch_equals_columns draws_know_their_density draws_follow_the_density
            draws_have_their_scale draws_depend_as_the_density reflection_keeps_the_density lanes_draw_their_columns }
    };
    (reparameterised [$($next:tt)*] $($arguments:tt)*) => {
        $($next)*! { $($arguments)* transport_work_is_enough pullback_is_gradient slope_is_gradient
            entropy_gradient_is_gradient entropy_is_mean_surprise transport_follows_the_density transport_has_its_scale
            transport_depends_as_the_density transport_batch_equals_columns }
    };
    (pushforward [$($next:tt)*] $($arguments:tt)*) => {
        $($next)*! { $($arguments)* push_work_is_enough push_gradient_is_gradient push_follows_the_density
            push_batch_equals_columns }
    };
    (memory family [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* allocates_nothing } };
    (memory reparameterised [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* transport_allocates_nothing } };
    (memory pushforward [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* push_allocates_nothing } };
}

/// Names of all laws, in groups: those of a family, a reparameterised family and a pushforward, each followed by its law on
/// allocation.
pub const LAWS: &[&[&str]] = law_lists!(family_laws: family reparameterised pushforward);

/// Report on all laws of a family except the one on allocation, with the sizes of the errors that they detect.
pub fn report(case: &Case<dyn Family + '_>) -> Report {
    family_laws!(family [crate::law_report] case;)
}

/// Report on the further laws of a reparameterised family except the one on allocation.
pub fn report_reparameterised(case: &Case<dyn Reparameterised + '_>) -> Report {
    family_laws!(reparameterised [crate::law_report] case;)
}

/// Report on all laws of a pushforward except the one on allocation.
pub fn report_pushforward(case: &Case<dyn Pushforward + '_>) -> Report {
    family_laws!(pushforward [crate::law_report] case;)
}

/// `Ok` if [`report`] finds no failure.
pub fn check(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    report(case).first_failure()
}

/// `Ok` if [`report_pushforward`] finds no failure.
pub fn check_pushforward(case: &Case<dyn Pushforward + '_>) -> Result<(), Failure> {
    report_pushforward(case).first_failure()
}

/// Module of tests, one per law: `family_suite!(name, cases, meter)` for a family, `family_suite!(name, cases, meter, reparameterised)` for a
/// reparameterised one, `family_suite!(name, cases, meter, pushforward)` for a pushforward.
///
/// `cases` is an expression that iterates over [`Case`](crate::family::Case)s, `meter` an expression for a closure as in
/// [`Meter`](crate::family::Meter). Each test prints the power of its law, and the reason of every case that leaves the law
/// out; `cargo test -- --show-output` shows them.
///
/// ```
/// use mcsa_families::MeanField; use mcsa_testing::{family::Case, family_suite};
/// fn cases() -> [Case<MeanField>; 1] {
///     [Case::new(MeanField::new(3), vec![0.0; 6])]
/// }
/// family_suite!(mean_field, cases(), |call: &mut dyn FnMut()| { call(); 0 }, reparameterised);
/// ```
#[macro_export]
macro_rules! family_suite {
    ($name:ident, $cases:expr, $meter:expr, pushforward) => {
        $crate::law_suite!([$crate::family_laws] [$crate::family] $name [$cases] [$meter] pushforward);
    };
    ($name:ident, $cases:expr, $meter:expr $(, $word:ident)?) => {
        $crate::law_suite!([$crate::family_laws] [$crate::family] $name [$cases] [$meter] family $($word)?);
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_families::MeanField;

    /// A law has one name, and only the law of the normaliser or the scale states a power on a line.
    #[test]
    fn the_list_of_laws_is_complete() {
        let case = Case::new(MeanField::new(1), vec![0.0; 2]);
        let (family, further) = (report(&case), report_reparameterised(&case));
        assert!(family.holds() && further.holds(), "{family}{further}");
        assert_eq!(family.checks.iter().filter(|check| check.power.is_some()).count(), 1);
        let distinct: std::collections::BTreeSet<_> = LAWS.concat().into_iter().collect();
        assert_eq!((distinct.len(), family.checks.len() + further.checks.len()), (30, 23));
    }
}
