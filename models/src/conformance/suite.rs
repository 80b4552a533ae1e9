//! All laws at once.

use mcsa::{Gradient, LogDensity};

use super::*;

/// Every law of a target but those on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check<P: LogDensity>(case: &Case<P>) -> Verdict {
    batch_equals_columns(case)?;
    far_points_are_decided(case)
}

/// Every further law of a target with a gradient but those on memory.
///
/// # Errors
/// With the first law that does not hold.
pub fn check_gradient<P: Gradient>(case: &Case<P>) -> Verdict {
    gradient_knows_the_density(case)?;
    gradient_is_gradient(case)?;
    gradient_batch_equals_columns(case)
}

/// A module of tests, one per law: `suite!(name, cases, meter, words)`.
///
/// `cases` is an expression for something that iterates over [`Case`](crate::conformance::Case)s, `meter` one for
/// a closure as in [`Meter`](crate::conformance::Meter), and `words` say which traits the target has beyond
/// [`LogDensity`]: any of `gradient curvature separable named constrained draws truth`.
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
            $crate::suite!(@laws $cases; batch_equals_columns far_points_are_decided);
            $crate::suite!(@memory $cases; $meter; density_allocates_nothing);
            $crate::suite!(@words $cases; $meter; $($($word)*)?);
        }
    };
    (@words $cases:expr; $meter:expr;) => {};
    (@words $cases:expr; $meter:expr; gradient $($rest:ident)*) => {
        $crate::suite!(@laws $cases; gradient_knows_the_density gradient_is_gradient gradient_batch_equals_columns);
        $crate::suite!(@memory $cases; $meter; gradient_allocates_nothing);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; curvature $($rest:ident)*) => {
        $crate::suite!(@laws $cases; hessian_vector_is_derivative);
        $crate::suite!(@memory $cases; $meter; curvature_allocates_nothing);
        $crate::suite!(@words $cases; $meter; $($rest)*);
    };
    (@words $cases:expr; $meter:expr; separable $($rest:ident)*) => {
        $crate::suite!(@laws $cases; terms_add_up);
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
