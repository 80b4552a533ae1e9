//! Tests of surrogate posteriors, and of the points that they start from.

mod differences;
mod logistic;
mod minibatch;
mod others;
mod plain;
mod sparse;
mod starting;
