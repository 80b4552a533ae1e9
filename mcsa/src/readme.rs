//! Examples of the README, run as doc tests.
#![cfg(doctest)]
#![doc = include_str!("../../README.md")]
