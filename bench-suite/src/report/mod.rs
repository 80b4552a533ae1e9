//! Report: one self-contained page with every figure, table and verdict, which opens without a server.

mod base64;
mod beside;
mod board;
mod card;
mod comparison;
mod disagreements;
mod found;
mod html;
mod page;
mod records;
mod splits;

pub use card::Card;
pub use comparison::{Agreement, Comparison, Tally, compare};
pub use found::Found;
pub use page::write;
