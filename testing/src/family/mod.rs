//! Conformance suite: the laws of every family, as functions of a test case.
//!
//! To check a [`Family`](mcsa_core::Family) of your own, put it at some parameters into a [`Case`] and call
//! [`check`], or let [`family_suite!`](crate::family_suite) write one test per law. A law that does not hold returns a [`Failure`] instead of
//! panicking, so that a test can also demand that a wrong family fails. It names the place, such as the parameter or the column.
//!
//! ```
//! use mcsa_families::MeanField; use mcsa_testing::family;
//! let q = MeanField::new(2);
//! let case = family::Case::new(q, q.at(&[0.5, -1.0], &[1.0, 0.3])?);
//! assert_eq!(family::check(&case), Ok(()));
//! # Ok::<(), mcsa_core::Error>(())
//! ```
//!
//! | law | method | tolerance |
//! |---|---|---|
//! | [`work_is_enough`] | each method on exactly the memory that `work_len` claims | no panic |
//! | [`density_integrates_to_one`], [`scores_have_mean_zero`] | quadrature, d = 1, 2 | 1e-9 |
//! | [`density_is_normalised`] | bridge sampling against a reference density, any d but 1, 2 | 5 standard errors: 6e-7; detects 1e-3 if its power says so |
//! | [`draws_have_their_scale`] | importance identity, any d | 5 standard errors: 6e-7; detects 1 % |
//! | [`draws_depend_as_the_density`] | identities of shifted densities, d > 1 | 5 standard errors for all together: 6e-7; detects a correlation of 0.06 |
//! | [`score_is_gradient`] | extrapolated differences | ten times their own error estimate, + 1e-9 |
//! | [`score_holds_in_the_tails`] | differences, 4 to 1000 interquartile ranges out | 1e-6, + ten times their own error estimate |
//! | [`draws_know_their_density`] | `log_probs` of draws | 1e-10 |
//! | [`draws_follow_the_density`] | mean score of draws | 6 standard errors: 2e-9 per parameter |
//! | [`reflection_keeps_the_density`] | points and their images | 1e-10 |
//! | [`lanes_draw_their_columns`], [`batch_equals_columns`] | one column at a time | bit for bit |
//! | [`bad_params_are_refused`] | length, NaN, infinities | - |
//! | [`allocates_nothing`] | a meter that only a binary can install | 0 |
//!
//! [`LAWS`] has all names: those of a [`Reparameterised`](mcsa_core::Reparameterised) family and of a
//! [`Pushforward`](mcsa_core::Pushforward) too. A pushforward that is a family has a further law, [`push_knows_its_density`].
//!
//! [`report`] also returns the power of the statistical laws: the size of the error that each detects with probability 0.9. The
//! power depends on the family and on [`Case::draws`]:
//!
//! ```
//! # use mcsa_families::MeanField; use mcsa_testing::family::{Case, report};
//! let report = report(&Case::new(MeanField::new(5), vec![0.0; 10]));
//! let seen = |law: &str| report.on(law).and_then(|check| check.power.as_ref()).map(|power| power.size);
//! assert!(seen("density_is_normalised") <= Some(1e-3) && seen("draws_have_their_scale") <= Some(0.011));
//! ```
//!
//! A score with kinks or jumps (Laplace, splines) needs [`Case::with_knots`]; a law that a family cannot satisfy is left out by
//! name and with a reason, [`Case::without`].
//!
//! Lent memory is filled with NaN before every call, which detects a family that reads memory before it writes it.

mod case;
mod dependence;
mod differences;
mod draws;
mod memory;
mod normaliser;
mod pushforward;
mod quadrature;
mod suite;

pub use crate::law::{Failure, Meter, Power, Report};
pub use crate::law_tests;
pub use case::{Case, Knots};
pub use dependence::*;
pub use differences::*;
pub use draws::*;
pub use mcsa_core::numeric::quadrature::Map;
pub use memory::*;
pub use normaliser::*;
pub use pushforward::*;
pub use quadrature::*;
pub use suite::*;
