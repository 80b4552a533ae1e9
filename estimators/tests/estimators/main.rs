//! Tests of the estimators and of the loop that moves lambda.

mod ascent;
mod batch_match;
mod checkpoints;
mod controlled;
mod diverging;
mod elbo;
mod erased;
mod exact;
mod flow_elbo;
mod flows;
mod health;
mod learning;
mod ledger;
mod memory;
mod moments;
mod moments_of_families;
mod random_scan;
mod running;
mod stopping;
