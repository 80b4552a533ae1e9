//! The data sets of the experiments: carried, imported by the user, or made from a seed.
//!
//! A set is known by its name and described in `data/manifest.toml`. The small ones are *carried*: their files are
//! compiled into the program, so that a clone, or the program moved elsewhere, needs no path to find them, and a
//! checksum says whether they are still what was verified. What may not be passed on, or is too large, is *imported*:
//! the user brings the file, its shape and its sums are checked, and it is kept in a folder ([`Catalogue::found`]).
//! A set that is neither is [`DataError::Absent`], and the message says what to do. In its place stands, for those
//! who ask, a [`Catalogue::stand_in`] of the same shape that calls itself synthetic wherever it is shown.
//!
//! [`Catalogue::load`] gives a [`Dataset`]: inputs and a target. Sets of another shape have a method of their own:
//! [`Catalogue::radon`], [`Catalogue::series`], [`Catalogue::schools`].
//!
//! ```
//! use mcsa::Seed;
//! use mcsa_bench_suite::data::{Catalogue, Share, Split, Standardised};
//!
//! let pima = Catalogue::new(None).load("pima")?;
//! let split = Split::new(&pima, Share::Down(0.9), Seed::new(1))?;
//! let fitted = Standardised::new(&split)?;
//! assert_eq!((fitted.train.rows(), fitted.test.rows(), fitted.train.inputs()), (691, 77, 8));
//! # Ok::<(), mcsa_bench_suite::data::DataError>(())
//! ```

mod carried;
mod catalogue;
mod command;
mod dataset;
mod error;
mod form;
mod importing;
mod lines;
mod listing;
mod manifest;
mod origin;
mod radon;
mod schools;
mod series;
mod share;
mod split;
mod standardised;
mod synthetic;
mod table;

pub use catalogue::{Catalogue, State};
pub use command::{Command, Verb};
pub use dataset::{Dataset, Task};
pub use error::{Absent, DataError};
pub use manifest::{Entry, Kind, Label, Layout, StandIn};
pub use origin::Origin;
pub use radon::Radon;
pub use schools::Schools;
pub use series::Series;
pub use share::Share;
pub use split::Split;
pub use standardised::{Scaling, Standardised};
pub use table::Table;
