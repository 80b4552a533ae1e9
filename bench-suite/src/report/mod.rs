//! Report: one self-contained page with every figure, table and verdict, which opens without a server.

mod base64;
mod board;
mod card;
mod comparison;
mod html;
mod page;
mod records;

pub use card::Card;
pub use comparison::{Agreement, Comparison, Tally, compare};
pub use page::write;
