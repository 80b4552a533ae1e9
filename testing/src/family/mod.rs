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
//! The doc of a law states its method and its tolerance. [`LAWS`] has all names: those of a
//! [`Reparameterised`](mcsa_core::Reparameterised) family and of a [`Pushforward`](mcsa_core::Pushforward) too. A pushforward that is a
//! family has a further law, [`push_knows_its_density`].
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
