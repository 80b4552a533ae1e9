//! All laws at once.

use mcsa::law::Report;
use mcsa::{Family, Pushforward, Reparameterised};

use super::*;

macro_rules! report {
    ($case:expr; $($law:ident)*) => {{
        let mut report = Report::default();
        $(report.run(&$case.left_out, stringify!($law), || $law($case))?;)*
        Ok(report)
    }};
}

/// Names of all laws, those on memory among them.
pub const LAWS: &[&str] = &[
    "work_is_enough",
    "bad_params_are_refused",
    "density_integrates_to_one",
    "density_is_normalised",
    "scores_have_mean_zero",
    "score_is_gradient",
    "batch_equals_columns",
    "draws_know_their_density",
    "draws_follow_the_density",
    "draws_have_their_scale",
    "reflection_keeps_the_density",
    "lanes_draw_their_columns",
    "transport_work_is_enough",
    "pullback_is_gradient",
    "slope_is_gradient",
    "entropy_gradient_is_gradient",
    "entropy_is_mean_surprise",
    "transport_follows_the_density",
    "transport_has_its_scale",
    "transport_batch_equals_columns",
    "push_work_is_enough",
    "push_gradient_is_gradient",
    "push_follows_the_density",
    "push_batch_equals_columns",
    "allocates_nothing",
    "transport_allocates_nothing",
    "push_allocates_nothing",
];

/// Every law of a family but that on memory, with the sizes of errors that would have been seen.
///
/// # Errors
/// With the first law that does not hold.
pub fn report<F: Family>(case: &Case<F>) -> Result<Report, Failure> {
    report!(case; work_is_enough bad_params_are_refused density_integrates_to_one density_is_normalised scores_have_mean_zero
        score_is_gradient batch_equals_columns draws_know_their_density draws_follow_the_density draws_have_their_scale
        reflection_keeps_the_density lanes_draw_their_columns)
}

/// Every further law of a reparameterised family but that on memory, as [`report`].
///
/// # Errors
/// With the first law that does not hold.
pub fn report_reparameterised<F: Reparameterised>(case: &Case<F>) -> Result<Report, Failure> {
    report!(case; transport_work_is_enough pullback_is_gradient slope_is_gradient entropy_gradient_is_gradient
        entropy_is_mean_surprise transport_follows_the_density transport_has_its_scale transport_batch_equals_columns)
}

/// Every law of a pushforward but that on memory, as [`report`].
///
/// # Errors
/// With the first law that does not hold.
pub fn report_pushforward<F: Pushforward>(case: &Case<F>) -> Result<Report, Failure> {
    report!(case; push_work_is_enough push_gradient_is_gradient push_follows_the_density push_batch_equals_columns)
}

/// Every law of a family but that on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check<F: Family>(case: &Case<F>) -> Verdict {
    report(case).map(drop)
}

/// Every further law of a reparameterised family but that on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check_reparameterised<F: Reparameterised>(case: &Case<F>) -> Verdict {
    report_reparameterised(case).map(drop)
}

/// Every law of a pushforward but that on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check_pushforward<F: Pushforward>(case: &Case<F>) -> Verdict {
    report_pushforward(case).map(drop)
}

/// A module of tests, one per law: `suite!(name, cases, meter)`, with `, reparameterised` if the family is; of a pushforward,
/// `suite!(name, cases, meter, pushforward)`.
///
/// `cases` is an expression for something that iterates over [`Case`](crate::conformance::Case)s, `meter` one for
/// a closure as in [`Meter`](crate::conformance::Meter). Each test prints the powers of its law and the reasons for which cases leave
/// it out; `cargo test -- --show-output` shows them.
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
            $crate::suite!(@laws $cases; work_is_enough bad_params_are_refused density_integrates_to_one density_is_normalised
                scores_have_mean_zero score_is_gradient batch_equals_columns draws_know_their_density
                draws_follow_the_density draws_have_their_scale lanes_draw_their_columns reflection_keeps_the_density);
            $crate::suite!(@memory $cases; $meter; allocates_nothing);
        }
    };
    ($name:ident, $cases:expr, $meter:expr, reparameterised) => {
        #[cfg(test)]
        mod $name {
            use super::*;
            $crate::suite!(@laws $cases; work_is_enough bad_params_are_refused density_integrates_to_one density_is_normalised
                scores_have_mean_zero score_is_gradient batch_equals_columns draws_know_their_density
                draws_follow_the_density draws_have_their_scale lanes_draw_their_columns reflection_keeps_the_density);
            $crate::suite!(@laws $cases; transport_work_is_enough pullback_is_gradient slope_is_gradient
                entropy_gradient_is_gradient entropy_is_mean_surprise transport_follows_the_density
                transport_has_its_scale transport_batch_equals_columns);
            $crate::suite!(@memory $cases; $meter; allocates_nothing transport_allocates_nothing);
        }
    };
    ($name:ident, $cases:expr, $meter:expr, pushforward) => {
        #[cfg(test)]
        mod $name {
            use super::*;
            $crate::suite!(@laws $cases; push_work_is_enough push_gradient_is_gradient push_follows_the_density push_batch_equals_columns);
            $crate::suite!(@memory $cases; $meter; push_allocates_nothing);
        }
    };
    (@laws $cases:expr; $($law:ident)*) => {
        $(#[test]
        fn $law() {
            for (k, case) in $cases.into_iter().enumerate() {
                let mut report = $crate::conformance::Report::default();
                let verdict = || $crate::conformance::$law(&case);
                match report.run(&case.left_out, stringify!($law), verdict) {
                    Ok(()) => report.to_string().lines().for_each(|line| println!("case {k}: {line}")),
                    Err(failure) => panic!("case {k}: {failure}"),
                }
            }
        })*
    };
    (@memory $cases:expr; $meter:expr; $($law:ident)*) => {
        $(#[test]
        fn $law() {
            for (k, case) in $cases.into_iter().enumerate() {
                let mut report = $crate::conformance::Report::default();
                let verdict = || $crate::conformance::$law(&case, &mut $meter);
                match report.run(&case.left_out, stringify!($law), verdict) {
                    Ok(()) => report.to_string().lines().for_each(|line| println!("case {k}: {line}")),
                    Err(failure) => panic!("case {k}: {failure}"),
                }
            }
        })*
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MeanField;

    /// All laws that run are on the list of names that can be left out, and each is on it once.
    #[test]
    fn the_list_of_laws_is_complete() {
        let case = Case::new(MeanField::new(1), vec![0.0; 2]);
        let (family, further) =
            (report(&case).expect("right"), report_reparameterised(&case).expect("right"));
        assert!(family.held.iter().chain(&further.held).all(|law| LAWS.contains(law)));
        assert_eq!(family.held.len() + further.held.len() + 7, LAWS.len());
        assert_eq!(family.powers.len(), 1);
        let distinct: std::collections::BTreeSet<_> = LAWS.iter().collect();
        assert_eq!(distinct.len(), LAWS.len());
    }
}
