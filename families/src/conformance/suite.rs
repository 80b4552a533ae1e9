//! Test suites: all laws of a family or a pushforward in one call, or as one test each.

use mcsa_core::law::Report;
use mcsa_core::{Family, Pushforward, Reparameterised};

use super::*;

macro_rules! report {
    ($case:expr; $($law:ident)*) => {{
        let mut report = Report::default();
        $(report.run(&$case.left_out, stringify!($law), || $law($case))?;)*
        Ok(report)
    }};
}

/// Names of all laws, including those of memory.
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

/// Verdicts on all laws of a family except those of memory, with the sizes of the errors that they detect.
///
/// # Errors
/// If a law does not hold: the first such law.
pub fn report<F: Family>(case: &Case<F>) -> Result<Report, Failure> {
    report!(case; work_is_enough bad_params_are_refused density_integrates_to_one density_is_normalised scores_have_mean_zero
        score_is_gradient batch_equals_columns draws_know_their_density draws_follow_the_density draws_have_their_scale
        reflection_keeps_the_density lanes_draw_their_columns)
}

/// Verdicts on the further laws of a reparameterised family except those of memory, as [`report`].
///
/// # Errors
/// If a law does not hold: the first such law.
pub fn report_reparameterised<F: Reparameterised>(case: &Case<F>) -> Result<Report, Failure> {
    report!(case; transport_work_is_enough pullback_is_gradient slope_is_gradient entropy_gradient_is_gradient
        entropy_is_mean_surprise transport_follows_the_density transport_has_its_scale transport_batch_equals_columns)
}

/// Verdicts on all laws of a pushforward except those of memory, as [`report`].
///
/// # Errors
/// If a law does not hold: the first such law.
pub fn report_pushforward<F: Pushforward>(case: &Case<F>) -> Result<Report, Failure> {
    report!(case; push_work_is_enough push_gradient_is_gradient push_follows_the_density push_batch_equals_columns)
}

/// Verdict on all laws of a family except those of memory.
///
/// # Errors
/// If a law does not hold: the first such law.
pub fn check<F: Family>(case: &Case<F>) -> Verdict {
    report(case).map(drop)
}

/// Verdict on the further laws of a reparameterised family except those of memory.
///
/// # Errors
/// If a law does not hold: the first such law.
pub fn check_reparameterised<F: Reparameterised>(case: &Case<F>) -> Verdict {
    report_reparameterised(case).map(drop)
}

/// Verdict on all laws of a pushforward except those of memory.
///
/// # Errors
/// If a law does not hold: the first such law.
pub fn check_pushforward<F: Pushforward>(case: &Case<F>) -> Verdict {
    report_pushforward(case).map(drop)
}

/// Module of tests, one per law: `suite!(name, cases, meter)` for a family, `suite!(name, cases, meter, reparameterised)` for a
/// reparameterised one, `suite!(name, cases, meter, pushforward)` for a pushforward.
///
/// `cases` is an expression that iterates over [`Case`](crate::conformance::Case)s, `meter` an expression for a closure as in
/// [`Meter`](crate::conformance::Meter). Each test prints the powers of its law, and the reason of every case that leaves the law
/// out; `cargo test -- --show-output` shows them.
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

    /// Every law that runs is in the list of names that can be left out, and is there once.
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
