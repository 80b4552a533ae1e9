//! The laws every family keeps, as functions that say where one is broken.
//!
//! A [`Family`](mcsa::Family) of yours is checked like ours: put it at some params into a [`Case`] and call
//! [`check`], or let [`suite!`](crate::suite) write one test per law. A law returns [`Failure`] instead of
//! panicking, so that a test can also demand that a wrong family fails.
//!
//! ```
//! use mcsa_families::{MeanField, conformance};
//! let q = MeanField::new(2);
//! let case = conformance::Case::new(q, q.at(&[0.5, -1.0], &[1.0, 0.3])?);
//! assert_eq!(conformance::check(&case), Ok(()));
//! # Ok::<(), mcsa::Error>(())
//! ```
//!
//! | law | how | tolerance |
//! |---|---|---|
//! | [`density_integrates_to_one`], [`scores_have_mean_zero`] | quadrature, d = 1, 2 | 1e-9 |
//! | [`score_is_gradient`] | extrapolated differences | ten times their own error estimate, + 1e-9 |
//! | [`draws_know_their_density`] | `log_probs` of what was drawn | 1e-10 |
//! | [`draws_follow_the_density`] | mean score of draws | 6 standard errors: 2e-9 per param |
//! | [`reflection_keeps_the_density`] | points and their images | 1e-10 |
//! | [`lanes_draw_their_columns`], [`batch_equals_columns`] | one column at a time | bit for bit |
//! | [`bad_params_are_refused`] | length, NaN, infinities | - |
//! | [`allocates_nothing`] | a meter that only a binary can install | 0 |
//!
//! Those of a [`Reparameterised`](mcsa::Reparameterised) family are [`pullback_is_gradient`], [`slope_is_gradient`],
//! [`entropy_gradient_is_gradient`], [`entropy_is_mean_surprise`], [`transport_follows_the_density`],
//! [`transport_batch_equals_columns`] and [`transport_allocates_nothing`].
//!
//! Those of a [`Pushforward`](mcsa::Pushforward) are [`push_gradient_is_gradient`], [`push_follows_the_density`],
//! [`push_batch_equals_columns`] and [`push_allocates_nothing`]; if it is a family too, [`push_knows_its_density`].
//!
//! Lent memory is filled with NaN before every call: a family that reads what it did not write is found out.

mod batch;
mod case;
mod differences;
mod door;
mod draws;
mod memory;
mod moments;
mod pushforward;
mod quadrature;
mod suite;

pub use batch::{batch_equals_columns, transport_batch_equals_columns};
pub use case::Case;
pub use differences::{
    entropy_gradient_is_gradient, pullback_is_gradient, score_is_gradient, slope_is_gradient,
};
pub use door::bad_params_are_refused;
pub use draws::{
    draws_follow_the_density, draws_know_their_density, lanes_draw_their_columns,
    reflection_keeps_the_density, transport_follows_the_density,
};
pub use mcsa::law::{Failure, Verdict};
pub use memory::{Meter, allocates_nothing, transport_allocates_nothing};
pub use moments::{density_integrates_to_one, entropy_is_mean_surprise, scores_have_mean_zero};
pub use pushforward::{
    push_allocates_nothing, push_batch_equals_columns, push_follows_the_density, push_gradient_is_gradient,
    push_knows_its_density,
};
pub use quadrature::Map;
pub use suite::{check, check_pushforward, check_reparameterised};
