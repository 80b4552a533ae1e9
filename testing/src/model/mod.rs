//! Conformance suite for targets: tests of the properties (laws) that every model has to satisfy.
//!
//! A [`LogDensity`] of your own is tested as those of `mcsa-models` are: put it into a [`Case`] and call
//! [`check`], or let [`model_suite!`](crate::model_suite) write one test per law. A law returns [`Failure`] instead of panicking, so that a
//! test can also demand that a wrong model fails.
//!
//! ```
//! use mcsa_models::Gaussian; use mcsa_testing::model;
//! let case = model::Case::new(Gaussian::standard(2));
//! assert_eq!(model::check(&case), Ok(()));
//! assert_eq!(model::gradient_is_gradient(&case), Ok(()));
//! ```
//!
//! | law | for | method | tolerance |
//! |---|---|---|---|
//! | [`batch_equals_columns`], [`gradient_batch_equals_columns`] | all, `Gradient` | batches against single columns | bit-identical |
//! | [`far_points_are_decided`] | all | points up to the largest double | never NaN, never `+inf` |
//! | [`density_is_never_nan`] | all | random points, a grid, axes and rays | finds NaN on 1e-4 of the probes' mass |
//! | [`gradient_holds_in_the_tails`] | `Gradient` | differences, 6.5 to 1000 spreads out | 1e-6, + ten times their own error estimate |
//! | [`work_is_enough`] and similar | all | each method on exactly the memory that `work_len` claims | no panic |
//! | [`gradient_returns_the_density`] | `Gradient` | the value returned with the gradient | 1e-12 |
//! | [`gradient_is_gradient`], [`hessian_vector_is_derivative`] | `Gradient`, `Curvature` | extrapolated differences | ten times their own error estimate, + 1e-9 |
//! | [`terms_add_up`] | `Separable` | subsets of the rows | 1e-10 |
//! | [`row_gradients_add_up`], [`row_curvatures_add_up`] | `Subsampled` | prior and subsets of the rows | 1e-10 |
//! | [`minibatch_derivatives_are_derivatives`] | `Subsampled` | extrapolated differences | as above |
//! | [`minibatches_average_to_the_target`] | `Subsampled` | average over all subsets of a size | 1e-10 |
//! | [`names_are_distinct`] | all | two calls | bit-identical |
//! | [`draws_follow_the_law`] | `ExactDraws` | one-sample Kolmogorov-Smirnov | false alarm 3e-6 per case, 1e-4 in total |
//! | [`normaliser_is_integral`], [`moments_are_integrals`] | a [`Truth`] | quadrature, d <= 3 | 1e-8, 1e-6 |
//! | [`density_equals`] | all | an oracle of the caller, such as a paper's formula | 1e-10 |
//! | [`density_allocates_nothing`] and similar | all | an allocation counter, which only a binary can install | 0 |
//!
//! [`report`] also returns the size of the defect that the probes find with probability 0.9, which depends on
//! [`Case::probes`]. A law that a model cannot satisfy is left out by name and with a reason, [`Case::without`].
//!
//! What no law can see: density and gradient that agree with each other but are not those of the model that you mean, such as a row of
//! data that is skipped, a wrong prior, or a wrong constant. Three kinds of knowledge from outside reveal such errors. Rows that add up
//! ([`Separable`](mcsa_core::Separable), by [`terms_add_up`]) find an error in the range of the data; an oracle ([`density_equals`]), such as
//! the formula printed in a paper with the log-Jacobian of its parameters, finds any; exact draws ([`draws_follow_the_law`]) and a
//! [`Truth`] find all that change the distribution.
//!
//! Lent memory is filled with NaN before every call, which exposes a model that reads entries it has not written.

mod calls;
mod case;
mod derivatives;
mod terms;
mod truth;

use mcsa_core::{Gradient, LogDensity};

pub use crate::law::{Failure, Meter, Power, Report};
pub use crate::law_tests;
pub use calls::*;
pub use case::{Case, Truth, Uniforms};
pub use derivatives::*;
pub use mcsa_core::numeric::quadrature::Map;
pub use terms::*;
pub use truth::*;

/// Lists of laws: `laws!(list [next] arguments)` calls the macro `next` with the arguments and the laws; `laws!(memory list ..)`
/// with the law of memory.
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

macro_rules! names {
    ($($word:ident)*) => { &[$(model_laws!($word [crate::law_names]), model_laws!(memory $word [crate::law_names])),*] };
}

/// Names of the laws that [`model_suite!`](crate::model_suite) runs, in groups: those of each word, then its law of memory.
pub const LAWS: &[&[&str]] = names!(density gradient curvature separable subsampled draws truth);

/// Report on every law of [`LogDensity`] except those on allocation, with the power of the probes.
pub fn report<P: LogDensity>(case: &Case<P>) -> Report {
    model_laws!(density [crate::law_report] case;)
}

/// Report on every law of [`Gradient`] except those on allocation, as [`report`] does for [`LogDensity`].
pub fn report_gradient<P: Gradient>(case: &Case<P>) -> Report {
    model_laws!(gradient [crate::law_report] case;)
}

/// `Ok` if [`report`] finds no failure.
///
/// # Errors
/// The first law that fails.
pub fn check<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    report(case).first_failure()
}

/// `Ok` if [`report_gradient`] finds no failure.
///
/// # Errors
/// The first law that fails.
pub fn check_gradient<P: Gradient>(case: &Case<P>) -> Result<(), Failure> {
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
        #[cfg(test)]
        mod $name {
            use super::*;
            use $crate::model::law_tests;
            $crate::model_suite!(@words [$cases] [$meter] density $($($word)*)?);
        }
    };
    (@words [$cases:expr] $meter:tt $($word:ident)*) => {
        $(
            $crate::model_laws!($word [law_tests] [$crate::model]; $cases; [];);
            $crate::model_laws!(memory $word [law_tests] [$crate::model]; $cases; $meter;);
        )*
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
