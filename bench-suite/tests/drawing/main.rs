//! Law: what a figure shows is where its data say, and nothing that a program hands over breaks it.

mod laws;
mod properties;
mod sheet;
