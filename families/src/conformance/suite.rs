//! All laws at once.

use mcsa::{Family, Pushforward, Reparameterised};

use super::*;

/// Every law of a family but that on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check<F: Family>(case: &Case<F>) -> Verdict {
    bad_params_are_refused(case)?;
    density_integrates_to_one(case)?;
    scores_have_mean_zero(case)?;
    score_is_gradient(case)?;
    batch_equals_columns(case)?;
    draws_know_their_density(case)?;
    draws_follow_the_density(case)?;
    reflection_keeps_the_density(case)?;
    lanes_draw_their_columns(case)
}

/// Every further law of a reparameterised family but that on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check_reparameterised<F: Reparameterised>(case: &Case<F>) -> Verdict {
    pullback_is_gradient(case)?;
    slope_is_gradient(case)?;
    entropy_gradient_is_gradient(case)?;
    entropy_is_mean_surprise(case)?;
    transport_follows_the_density(case)?;
    transport_batch_equals_columns(case)
}

/// Every law of a pushforward but that on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check_pushforward<F: Pushforward>(case: &Case<F>) -> Verdict {
    push_gradient_is_gradient(case)?;
    push_follows_the_density(case)?;
    push_batch_equals_columns(case)
}

/// A module of tests, one per law: `suite!(name, cases, meter)`, with `, reparameterised` if the family is; of a pushforward,
/// `suite!(name, cases, meter, pushforward)`.
///
/// `cases` is an expression for something that iterates over [`Case`](crate::conformance::Case)s, `meter` one for
/// a closure as in [`Meter`](crate::conformance::Meter).
///
/// ```
/// use mcsa_families::{MeanField, conformance::Case, suite};
/// fn cases() -> [Case<MeanField>; 1] {
///     [Case::new(MeanField::new(3), vec![0.0; 6])]
/// }
/// suite!(mean_field, cases(), |call: &mut dyn FnMut()| { call(); 0 }, reparameterised);
/// ```
#[macro_export]
macro_rules! suite {
    ($name:ident, $cases:expr, $meter:expr) => {
        #[cfg(test)]
        mod $name {
            use super::*;
            $crate::suite!(@laws $cases; bad_params_are_refused density_integrates_to_one scores_have_mean_zero
                score_is_gradient batch_equals_columns draws_know_their_density draws_follow_the_density
                lanes_draw_their_columns reflection_keeps_the_density);
            $crate::suite!(@memory $cases; $meter; allocates_nothing);
        }
    };
    ($name:ident, $cases:expr, $meter:expr, reparameterised) => {
        #[cfg(test)]
        mod $name {
            use super::*;
            $crate::suite!(@laws $cases; bad_params_are_refused density_integrates_to_one scores_have_mean_zero
                score_is_gradient batch_equals_columns draws_know_their_density draws_follow_the_density
                lanes_draw_their_columns reflection_keeps_the_density pullback_is_gradient slope_is_gradient entropy_gradient_is_gradient
                entropy_is_mean_surprise transport_follows_the_density transport_batch_equals_columns);
            $crate::suite!(@memory $cases; $meter; allocates_nothing transport_allocates_nothing);
        }
    };
    ($name:ident, $cases:expr, $meter:expr, pushforward) => {
        #[cfg(test)]
        mod $name {
            use super::*;
            $crate::suite!(@laws $cases; push_gradient_is_gradient push_follows_the_density push_batch_equals_columns);
            $crate::suite!(@memory $cases; $meter; push_allocates_nothing);
        }
    };
    (@laws $cases:expr; $($law:ident)*) => {
        $(#[test]
        fn $law() {
            for (k, case) in $cases.into_iter().enumerate() {
                if let Err(failure) = $crate::conformance::$law(&case) {
                    panic!("case {k}: {failure}");
                }
            }
        })*
    };
    (@memory $cases:expr; $meter:expr; $($law:ident)*) => {
        $(#[test]
        fn $law() {
            for (k, case) in $cases.into_iter().enumerate() {
                if let Err(failure) = $crate::conformance::$law(&case, &mut $meter) {
                    panic!("case {k}: {failure}");
                }
            }
        })*
    };
}
