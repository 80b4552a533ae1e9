//! Report: one self-contained page with every figure, table and verdict, which opens without a server.

mod base64;
mod board;
mod card;
mod comparison;
mod disagreements;
mod html;
mod page;
mod records;
mod splits;

pub use card::{Card, Found};
pub use comparison::{Agreement, Comparison, Tally, compare};
pub use page::write;
