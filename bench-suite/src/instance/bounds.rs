//! The papers' bounds at one finite problem.

use std::collections::BTreeMap;

use mcsa_theory::bounds::{cw, mcmc_se, rate};
use mcsa_theory::{Instance, dot};
use serde::Serialize;

use super::digits::Digits;

/// A bound as the paper prints it, and the one that holds; the same where the printed one does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bounds {
    /// As printed.
    pub printed: Bound,
    /// What holds.
    pub corrected: Bound,
}

/// The value of a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Bound {
    /// One for all starts.
    Uniform(Digits),
    /// One for each start atom.
    Each(Vec<Digits>),
}

/// Bounds at one problem, by the claims' names.
pub(super) type Table = BTreeMap<String, Bounds>;

fn uniform(table: &mut Table, id: &str, printed: f64, corrected: f64) {
    let bound = |x: f64| Bound::Uniform(Digits(x));
    table.insert(id.into(), Bounds { printed: bound(printed), corrected: bound(corrected) });
}

fn each(table: &mut Table, id: &str, printed: Vec<f64>, corrected: Vec<f64>) {
    let bound = |x: Vec<f64>| Bound::Each(x.into_iter().map(Digits).collect());
    table.insert(id.into(), Bounds { printed: bound(printed), corrected: bound(corrected) });
}

/// Every bound with `N = n`, the first update (`t = 1`), and the least `L`: `2 max |s|` in MCMC-SE and CW.
pub(super) fn of(instance: &Instance<f64>, n: usize) -> Table {
    let mut table = Table::new();
    add_mcmc_se(&mut table, instance, n);
    add_cw(&mut table, instance, n);
    table
}

fn add_mcmc_se(table: &mut Table, instance: &Instance<f64>, n: usize) {
    let (largest, range) = (instance.largest_weight(), 2.0 * instance.largest_score());
    let series = mcmc_se::sequential_bias_series(range, largest, n);
    uniform(table, "000-T1", mcmc_se::sequential_bias_as_printed(range, largest, n), series);
    let sum = mcmc_se::sequential_bias(range, largest, n);
    uniform(table, "000-T1-EQ29", sum, sum);
    let parallel = mcmc_se::parallel_bias(range, largest);
    uniform(table, "000-T2", parallel, parallel);
    let candidates = mcmc_se::cis_bias(range, largest, n);
    uniform(table, "000-T3", candidates, candidates);
    uniform(table, "000-P1", largest, largest);
    let mean = instance.mean();
    let second = instance.variance() + mean * mean;
    let farthest = instance.s().iter().map(|s| (s - mean).abs()).fold(0.0, f64::max);
    let chi_squared = instance.neyman().unwrap_or(f64::INFINITY);
    let printed = mcmc_se::parallel_bias_by_divergence_as_printed(second, chi_squared, largest);
    let corrected = mcmc_se::parallel_bias_by_divergence(instance.variance(), chi_squared, largest, farthest);
    uniform(table, "000-T4", printed, corrected);
}

/// Here N counts fresh candidates of conditional importance sampling.
fn add_cw(table: &mut Table, instance: &Instance<f64>, n: usize) {
    let (largest, range, kl) = (instance.largest_weight(), 2.0 * instance.largest_score(), instance.kl());
    let corrected = cw::sequential_bias(range, largest, n, 1);
    uniform(table, "003-T1", cw::sequential_bias_as_printed(range, largest, n, 1), corrected);
    let parallel = cw::parallel_bias(range, largest, 1);
    uniform(table, "003-T2", parallel, parallel);
    let adapted = cw::parallel_bias(1.0, largest, n);
    uniform(table, "003-T2-ADAPTED", adapted, rate(largest));
    uniform(table, "003-P1", largest, largest);
    let kept: Vec<f64> = instance.w().iter().map(|&w| cw::cis_rejection(w, n)).collect();
    each(table, "003-P3", kept.clone(), kept.clone());
    let moved: Vec<f64> = kept.iter().map(|kept| 1.0 - kept).collect();
    each(table, "003-EQ12", moved.clone(), moved);
    let rejected: Vec<f64> = instance.w().iter().map(|&w| cw::imh_rejection(w)).collect();
    each(table, "003-P4", rejected.clone(), rejected);
    let mean = dot(instance.pi(), instance.w());
    uniform(table, "003-L1", mean, mean);
    let variance = instance.with_statistic(instance.w()).variance();
    let (printed, gap) = (cw::jensen_gap_as_printed(kl, largest), cw::jensen_gap(mean, variance, n));
    uniform(table, "003-T4-GAP", printed, gap);
    uniform(table, "003-T4-MEAN", cw::mean_rejection(kl, n, printed), cw::mean_rejection(kl, n, gap));
}
