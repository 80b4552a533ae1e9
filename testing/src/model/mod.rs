//! Conformance suite for targets: tests of the properties (laws) that every model has to satisfy.
//!
//! A [`LogDensity`](mcsa_core::LogDensity) of your own is tested as those of `mcsa-models` are: put it into a [`Case`] and call
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
//! | [`gradient_knows_the_density`] | `Gradient` | the value returned with the gradient | 1e-12 |
//! | [`gradient_is_gradient`], [`hessian_vector_is_derivative`] | `Gradient`, `Curvature` | extrapolated differences | ten times their own error estimate, + 1e-9 |
//! | [`terms_add_up`] | `Separable` | subsets of the rows | 1e-10 |
//! | [`row_gradients_add_up`], [`row_curvatures_add_up`] | `Subsampled` | prior and subsets of the rows | 1e-10 |
//! | [`minibatch_derivatives_are_derivatives`] | `Subsampled` | extrapolated differences | as above |
//! | [`minibatches_average_to_the_target`] | `Subsampled` | average over all subsets of a size | 1e-10 |
//! | [`names_are_distinct`] | all | two calls | bit-identical |
//! | [`transforms_invert`], [`density_carries_its_jacobian`] | a [`Formula`] | round trip; the paper's formula | 1e-10 |
//! | [`jacobians_are_slopes`] | a [`Formula`] | extrapolated differences | as above |
//! | [`draws_follow_the_law`] | `ExactDraws` | one-sample Kolmogorov-Smirnov | false alarm 3e-6 per case, 1e-4 in total |
//! | [`normaliser_is_integral`], [`moments_are_integrals`] | a [`Truth`] | quadrature, d <= 3 | 1e-8, 1e-6 |
//! | [`density_equals`], [`gradient_equals`] | all, `Gradient` | an oracle of the caller, such as dual numbers | 1e-10 |
//! | [`density_allocates_nothing`] and similar | all | an allocation counter, which only a binary can install | 0 |
//!
//! [`report`] also returns the size of the defect that the probes find with probability 0.9, which depends on
//! [`Case::probes`]. A law that a model cannot satisfy is left out by name and with a reason, [`Case::without`].
//!
//! What no law can see: density and gradient that agree with each other but are not those of the model that you mean, such as a row of
//! data that is skipped, a wrong prior, or a wrong constant. Three kinds of knowledge from outside reveal such errors. Rows that add up
//! ([`Separable`](mcsa_core::Separable), by [`terms_add_up`]) find an error in the range of the data; a [`Formula`] as printed
//! ([`density_carries_its_jacobian`]) and an oracle ([`density_equals`]) find any; exact draws ([`draws_follow_the_law`]) and a
//! [`Truth`] find all that change the distribution.
//!
//! Lent memory is filled with NaN before every call, which exposes a model that reads entries it has not written.

mod batch;
mod case;
mod differences;
mod memory;
mod names;
mod probes;
mod suite;
mod terms;
mod truth;
mod work;

pub use crate::law::{Failure, Meter, Power, Report};
pub use crate::law_tests;
pub use batch::{batch_equals_columns, gradient_batch_equals_columns};
pub use case::{Case, Formula, Truth, Uniforms};
pub use differences::{
    SlopeOracle, density_equals, gradient_equals, gradient_is_gradient, gradient_knows_the_density,
    hessian_vector_is_derivative,
};
pub use mcsa_core::numeric::quadrature::Map;
pub use memory::{
    curvature_allocates_nothing, density_allocates_nothing, gradient_allocates_nothing,
    row_derivatives_allocate_nothing, terms_allocate_nothing,
};
pub use names::names_are_distinct;
pub use probes::far_points_are_decided;
pub use probes::{density_is_never_nan, gradient_holds_in_the_tails};
pub use suite::{LAWS, check, check_gradient, report, report_gradient};
pub use terms::{
    minibatch_derivatives_are_derivatives, minibatches_average_to_the_target, row_curvatures_add_up,
    row_gradients_add_up, terms_add_up,
};
pub use truth::draws_follow_the_law;
pub use truth::{density_carries_its_jacobian, jacobians_are_slopes, transforms_invert};
pub use truth::{moments_are_integrals, normaliser_is_integral};
pub use work::{
    curvature_work_is_enough, gradient_work_is_enough, row_derivatives_work_is_enough, terms_work_is_enough,
    work_is_enough,
};
