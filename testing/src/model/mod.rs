//! Conformance suite for targets: tests of the properties (laws) that every model has to satisfy.
//!
//! A [`LogDensity`] of your own is tested as those of `mcsa-models` are: put it into a [`Case`] and call
//! [`check`], or let [`model_suite!`](crate::model_suite) write one test per law.
//!
//! ```
//! use mcsa_models::Gaussian; use mcsa_testing::model;
//! let case = model::Case::new(Gaussian::standard(2));
//! assert_eq!(model::check(&case), Ok(()));
//! assert_eq!(model::gradient_is_gradient(&case), Ok(()));
//! ```
//!
//! A law is a function that returns a [`Failure`], with the place, the number found and the number expected. A law that a model
//! cannot satisfy is left out by name and with a reason, [`Case::without`]. The oracle of [`density_equals`] is the caller's.
//!
//! No law by itself detects a density and a gradient that agree with each other but belong to another model than you mean.
//! Examples are a row of data that is skipped, a wrong prior and a wrong constant. Three kinds of outside knowledge reveal such
//! errors:
//!
//! * Rows that add up ([`Separable`](mcsa_core::Separable), by [`terms_add_up`]) reveal an error in the range of the data.
//! * An oracle ([`density_equals`]), such as the printed formula of a paper with the log-Jacobian of its parameters, reveals any.
//! * Exact draws ([`draws_follow_the_law`]) and a [`Truth`] reveal all that change the distribution.
//!
//! Lent memory is filled with NaN before every call, which exposes a model that reads entries it has not written.

mod calls;
mod case;
mod derivatives;
mod terms;
mod truth;

use mcsa_core::{Gradient, LogDensity};

use crate::law::law_lists;
pub use crate::law::{Failure, Meter, Power, Report};
pub use calls::*;
pub use case::{Case, Truth, Uniforms};
pub use derivatives::*;
pub use mcsa_core::numeric::quadrature::Map;
pub use terms::*;
pub use truth::*;

/// Lists of laws for [`law_suite!`](crate::law_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! model_laws {
    (density [$($next:tt)*] $($with:tt)*) => {
        $($next)*! { $($with)* work_is_enough batch_equals_columns far_points_are_decided density_is_never_nan
            names_are_distinct }
    };
    (gradient [$($next:tt)*] $($with:tt)*) => {
        $($next)*! { $($with)* gradient_work_is_enough gradient_returns_the_density gradient_is_gradient
            gradient_holds_in_the_tails gradient_batch_equals_columns }
    };
    (curvature [$($next:tt)*] $($with:tt)*) => {
        $($next)*! { $($with)* curvature_work_is_enough hessian_vector_is_derivative }
    };
    (separable [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* terms_work_is_enough terms_add_up } };
    (subsampled [$($next:tt)*] $($with:tt)*) => {
        $($next)*! { $($with)* row_derivatives_work_is_enough row_gradients_add_up row_curvatures_add_up
            minibatch_derivatives_are_derivatives minibatches_average_to_the_target }
    };
    (draws [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* draws_follow_the_law } };
    (truth [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* normaliser_is_integral moments_are_integrals } };
    (memory density [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* density_allocates_nothing } };
    (memory gradient [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* gradient_allocates_nothing } };
    (memory curvature [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* curvature_allocates_nothing } };
    (memory separable [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* terms_allocate_nothing } };
    (memory subsampled [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* row_derivatives_allocate_nothing } };
    (memory $other:ident [$($next:tt)*] $($with:tt)*) => { $($next)*! { $($with)* } };
}

/// Names of the laws that [`model_suite!`](crate::model_suite) runs, in groups: those of each trait, each group followed by its
/// law on allocation.
pub const LAWS: &[&[&str]] =
    law_lists!(model_laws: density gradient curvature separable subsampled draws truth);

/// Report on every law of [`LogDensity`] except those on allocation, with the power of the probes.
pub fn report(case: &Case<dyn LogDensity + '_>) -> Report {
    model_laws!(density [crate::law_report] case;)
}

/// Report on every law of [`Gradient`] except those on allocation, as [`report`] does for [`LogDensity`].
pub fn report_gradient(case: &Case<dyn Gradient + '_>) -> Report {
    model_laws!(gradient [crate::law_report] case;)
}

/// `Ok` if [`report`] finds no failure.
pub fn check(case: &Case<dyn LogDensity + '_>) -> Result<(), Failure> {
    report(case).first_failure()
}

/// `Ok` if [`report_gradient`] finds no failure.
pub fn check_gradient(case: &Case<dyn Gradient + '_>) -> Result<(), Failure> {
    report_gradient(case).first_failure()
}

/// Writes a module of tests, one per law: `model_suite!(name, cases, meter, words)`.
///
/// `cases` is an expression that can be iterated over and gives [`Case`](crate::model::Case)s, `meter` is a closure as in
/// [`Meter`](crate::model::Meter), and `words` names the traits that the target has beyond [`LogDensity`]: any of
/// `gradient curvature separable subsampled draws truth`. Each test prints the power of its law and the
/// reasons of the cases that leave it out; `cargo test -- --show-output` shows them.
///
/// ```
/// use mcsa_models::Gaussian; use mcsa_testing::{model::Case, model_suite};
/// fn cases() -> [Case<Gaussian>; 1] {
///     [Case::new(Gaussian::standard(3))]
/// }
/// model_suite!(gaussian, cases(), |call: &mut dyn FnMut()| { call(); 0 }, gradient curvature truth);
/// ```
#[macro_export]
macro_rules! model_suite {
    ($name:ident, $cases:expr, $meter:expr $(, $($word:ident)*)?) => {
        $crate::law_suite!([$crate::model_laws] [$crate::model] $name [$cases] [$meter] density $($($word)*)?);
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_models::Gaussian;

    /// Every law has one name, and the probes state their power.
    #[test]
    fn the_list_of_laws_is_complete() {
        let case = Case::new(Gaussian::standard(2));
        let (target, further) = (report(&case), report_gradient(&case));
        assert!(target.holds() && further.holds(), "{target}{further}");
        let powers: Vec<_> = target.checks.iter().filter_map(|check| check.power.as_ref()).collect();
        assert!(powers.len() == 1 && powers[0].size < 1.5e-4);
        let distinct: std::collections::BTreeSet<_> = LAWS.concat().into_iter().collect();
        assert_eq!((distinct.len(), target.checks.len() + further.checks.len()), (27, 10));
    }
}
