//! Data sets of the experiments: carried with the program, imported by the user, or synthetic.
//!
//! A data set has a name and is described in `data/manifest.toml`. Small ones are *carried*: their files are compiled into
//! the program, so that no path is needed to find them, and a checksum verifies that they are unchanged. Data sets that must
//! not be redistributed, or are too large, are *imported*: the user provides the file, its shape and its sums are checked,
//! and it is kept in a folder ([`Catalogue::found`]). A data set that is neither is [`DataError::Absent`], with instructions
//! in the message. On request [`Catalogue::stand_in`] gives synthetic data of equal shape, which is marked as synthetic
//! wherever it is shown.
//!
//! [`Catalogue::load`] gives a [`Dataset`]: inputs and a target. Data sets of other shapes have their own methods:
//! [`Catalogue::radon`], [`Catalogue::series`], [`Catalogue::schools`]; regressions of `posteriordb` come from a folder of their own,
//! [`Catalogue::posteriordb`].
//!
//! ```
//! use mcsa_core::Seed;
//! use mcsa_data::{Catalogue, Share, Split, Standardised};
//!
//! let pima = Catalogue::new(None).load("pima")?;
//! let split = Split::new(&pima, Share::Down(0.9), Seed::new(1))?;
//! let fitted = Standardised::new(&split)?;
//! assert_eq!((fitted.train.rows(), fitted.test.rows(), fitted.train.inputs()), (691, 77, 8));
//! # Ok::<(), mcsa_data::DataError>(())
//! ```

mod catalogue;
mod command;
mod dataset;
mod error;
mod kinds;
mod lines;
mod manifest;
mod posteriordb;
mod reservoir;
mod split;
mod synthetic;
mod table;

pub use catalogue::{Catalogue, State};
pub use command::{Command, Verb};
pub use dataset::{Dataset, Scaling, Standardised, Task};
pub use error::DataError;
pub use kinds::{Radon, Schools, Series};
pub use manifest::{Entry, Kind, Label, Layout, StandIn};
pub use posteriordb::{Posteriordb, ReferenceRegression};
pub use split::{Share, Split, Strata};
pub use table::Table;
