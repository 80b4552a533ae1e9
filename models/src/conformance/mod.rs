//! The laws every model keeps, as functions that say where one is broken.
//!
//! A [`LogDensity`](mcsa::LogDensity) of yours is checked like ours: put it into a [`Case`] and call [`check`], or let
//! [`suite!`](crate::suite) write one test per law. A law returns [`Failure`] instead of panicking, so that a test can
//! also demand that a wrong model fails.
//!
//! ```
//! use mcsa_models::{Gaussian, conformance};
//! let case = conformance::Case::new(Gaussian::standard(2));
//! assert_eq!(conformance::check(&case), Ok(()));
//! assert_eq!(conformance::gradient_is_gradient(&case), Ok(()));
//! ```
//!
//! | law | of | how | tolerance |
//! |---|---|---|---|
//! | [`batch_equals_columns`], [`gradient_batch_equals_columns`] | all, `Gradient` | one column at a time | bit for bit |
//! | [`far_points_are_decided`] | all | points up to the largest double | never NaN, never `+inf` |
//! | [`density_is_never_nan`] | all | scattered, on a grid, on axes and rays | finds holes of 1e-4 of the probes' law |
//! | [`gradient_holds_in_the_tails`] | `Gradient` | differences, 6.5 to 1000 spreads out | 1e-6, + ten times their own error estimate |
//! | [`work_is_enough`] and its like | all | each verb on exactly the memory that `work_len` claims | no panic |
//! | [`gradient_knows_the_density`] | `Gradient` | the value beside the gradient | 1e-12 |
//! | [`gradient_is_gradient`], [`hessian_vector_is_derivative`] | `Gradient`, `Curvature` | extrapolated differences | ten times their own error estimate, + 1e-9 |
//! | [`terms_add_up`] | `Separable` | subsets of the rows | 1e-10 |
//! | [`names_are_distinct`] | `Named` | twice | bit for bit |
//! | [`transforms_invert`], [`density_carries_its_jacobian`] | [`Constrained`](crate::Constrained) | there and back; the printed formula | 1e-10 |
//! | [`jacobians_are_slopes`] | [`Constrained`](crate::Constrained) | extrapolated differences | as above |
//! | [`draws_follow_the_law`] | `ExactDraws` | one-sample Kolmogorov-Smirnov | false alarm 3e-6 a case, 1e-4 in total |
//! | [`normaliser_is_integral`], [`moments_are_integrals`] | [`GroundTruth`](crate::GroundTruth) | quadrature, d <= 3 | 1e-8, 1e-6 |
//! | [`density_equals`], [`gradient_equals`] | all, `Gradient` | an oracle you bring, say of dual numbers | 1e-10 |
//! | [`density_allocates_nothing`] and its like | all | a meter that only a binary can install | 0 |
//!
//! [`report`] also returns what the probes would have found with probability 0.9, which depends on [`Case::probes`]. A law that a model
//! cannot obey is left out by name and with a reason, [`Case::without`].
//!
//! Lent memory is filled with NaN before every call: a model that reads what it did not write is found out.

mod batch;
mod case;
mod differences;
mod draws;
mod far;
mod memory;
mod moments;
mod names;
mod probes;
mod slope;
mod suite;
mod terms;
mod transforms;
mod work;

pub use crate::quadrature::Map;
pub use batch::{batch_equals_columns, gradient_batch_equals_columns};
pub use case::{Case, Uniforms};
pub use differences::{
    SlopeOracle, density_equals, gradient_equals, gradient_is_gradient, gradient_knows_the_density,
    hessian_vector_is_derivative,
};
pub use draws::draws_follow_the_law;
pub use far::far_points_are_decided;
pub use mcsa::law::{Failure, Power, Report, Verdict};
pub use memory::{
    Meter, curvature_allocates_nothing, density_allocates_nothing, gradient_allocates_nothing,
    terms_allocate_nothing,
};
pub use moments::{moments_are_integrals, normaliser_is_integral};
pub use names::names_are_distinct;
pub use probes::{density_is_never_nan, gradient_holds_in_the_tails};
pub use suite::{LAWS, check, check_gradient, report, report_gradient};
pub use terms::terms_add_up;
pub use transforms::{density_carries_its_jacobian, jacobians_are_slopes, transforms_invert};
pub use work::{curvature_work_is_enough, gradient_work_is_enough, terms_work_is_enough, work_is_enough};
