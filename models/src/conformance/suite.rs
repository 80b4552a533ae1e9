//! All laws of the suite in one call, or as one test each.

use mcsa_core::law::Report;
use mcsa_core::{Gradient, LogDensity};

use super::*;

macro_rules! report {
    ($case:expr; $($law:ident)*) => {{
        let mut report = Report::default();
        $(report.run(&$case.left_out, stringify!($law), || $law($case))?;)*
        Ok(report)
    }};
}

/// Names of the laws that [`suite!`](crate::suite) runs.
pub const LAWS: &[&str] = &[
    "work_is_enough",
    "batch_equals_columns",
    "far_points_are_decided",
    "density_is_never_nan",
    "density_allocates_nothing",
    "gradient_work_is_enough",
    "gradient_knows_the_density",
    "gradient_is_gradient",
    "gradient_holds_in_the_tails",
    "gradient_batch_equals_columns",
    "gradient_allocates_nothing",
    "curvature_work_is_enough",
    "hessian_vector_is_derivative",
    "curvature_allocates_nothing",
    "terms_work_is_enough",
    "terms_add_up",
    "terms_allocate_nothing",
    "names_are_distinct",
    "transforms_invert",
    "jacobians_are_slopes",
    "density_carries_its_jacobian",
    "draws_follow_the_law",
    "normaliser_is_integral",
    "moments_are_integrals",
];

/// Tests every law of [`LogDensity`] except those on allocation; the report contains the power of the probes.
///
/// # Errors
/// The first law that fails.
pub fn report<P: LogDensity>(case: &Case<P>) -> Result<Report, Failure> {
    report!(case; work_is_enough batch_equals_columns far_points_are_decided density_is_never_nan)
}

/// Tests every law of [`Gradient`] except those on allocation, as [`report`] does for [`LogDensity`].
///
/// # Errors
/// The first law that fails.
pub fn report_gradient<P: Gradient>(case: &Case<P>) -> Result<Report, Failure> {
    report!(case; gradient_work_is_enough gradient_knows_the_density gradient_is_gradient gradient_holds_in_the_tails
        gradient_batch_equals_columns)
}

/// Tests every law of [`LogDensity`] except those on allocation.
///
/// # Errors
/// The first law that fails.
pub fn check<P: LogDensity>(case: &Case<P>) -> Verdict {
    report(case).map(drop)
}

/// Tests every law of [`Gradient`] except those on allocation.
///
/// # Errors
/// The first law that fails.
pub fn check_gradient<P: Gradient>(case: &Case<P>) -> Verdict {
    report_gradient(case).map(drop)
}

/// Writes a module of tests, one per law: `suite!(name, cases, meter, words)`.
///
/// `cases` is an expression that can be iterated over and gives [`Case`](crate::conformance::Case)s, `meter` is a closure as in
/// [`Meter`](crate::conformance::Meter), and `words` names the traits that the target has beyond [`LogDensity`]: any of
/// `gradient curvature separable named constrained draws truth`. Each test prints the power of its law and the
/// reasons of the cases that leave it out; `cargo test -- --show-output` shows them.
///
/// ```
/// use mcsa_models::{Gaussian, conformance::Case, suite};
/// fn cases() -> [Case<Gaussian>; 1] {
///     [Case::new(Gaussian::standard(3))]
/// }
/// suite!(gaussian, cases(), |call: &mut dyn FnMut()| { call(); 0 }, gradient curvature named truth);
/// ```
#[macro_export]
macro_rules! suite {
    ($name:ident, $cases:expr, $meter:expr $(, $($word:ident)*)?) => {
        #[cfg(test)]
        mod $name {
            use super::*;
            $crate::suite!(@laws $cases; work_is_enough batch_equals_columns far_points_are_decided density_is_never_nan);
            $crate::suite!(@memory $cases; $meter; density_allocates_nothing);
            $crate::suite!(@words $cases; $meter; $($($word)*)?);
        }
    };
    (@words $cases:expr; $meter:expr;) => {};
    (@words $cases:expr; $meter:expr; gradient $($rest:ident)*) => {
        $crate::suite!(@laws $cases; gradient_work_is_enough gradient_knows_the_density gradient_is_gradient
            gradient_holds_in_the_tails gradient_batch_equals_columns);
        $crate::suite!(@memory $cases; $meter; gradient_allocates_nothing);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; curvature $($rest:ident)*) => {
        $crate::suite!(@laws $cases; curvature_work_is_enough hessian_vector_is_derivative);
        $crate::suite!(@memory $cases; $meter; curvature_allocates_nothing);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; separable $($rest:ident)*) => {
        $crate::suite!(@laws $cases; terms_work_is_enough terms_add_up);
        $crate::suite!(@memory $cases; $meter; terms_allocate_nothing);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; named $($rest:ident)*) => {
        $crate::suite!(@laws $cases; names_are_distinct);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; constrained $($rest:ident)*) => {
        $crate::suite!(@laws $cases; transforms_invert jacobians_are_slopes density_carries_its_jacobian);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; draws $($rest:ident)*) => {
        $crate::suite!(@laws $cases; draws_follow_the_law);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; truth $($rest:ident)*) => {
        $crate::suite!(@laws $cases; normaliser_is_integral moments_are_integrals);
        $crate::suite!(@words $cases; $meter; $($rest)*);
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
    use crate::Gaussian;

    /// Every law that the suite runs is in the list of names that can be left out, exactly once.
    #[test]
    fn the_list_of_laws_is_complete() {
        let case = Case::new(Gaussian::standard(2));
        let (target, further) = (report(&case).expect("right"), report_gradient(&case).expect("right"));
        assert!(target.held.iter().chain(&further.held).all(|law| LAWS.contains(law)));
        assert_eq!(target.held.len() + further.held.len() + 15, LAWS.len());
        assert!(target.powers.len() == 1 && target.powers[0].size < 1.5e-4);
        let distinct: std::collections::BTreeSet<_> = LAWS.iter().collect();
        assert_eq!(distinct.len(), LAWS.len());
    }
}
