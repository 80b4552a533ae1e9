//! The papers' bounds for one finite problem.

use std::collections::BTreeMap;

use mcsa_theory::bounds::{cw, mcmc_se, pmcsa, rate};
use mcsa_theory::{Instance, dot};
use serde::Serialize;

use super::digits::Digits;

/// A bound as printed, and the corrected one; they are equal if the printed one holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bounds {
    /// As printed.
    pub printed: Bound,
    /// Corrected.
    pub corrected: Bound,
}

/// The value of a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Bound {
    /// One value for all starts.
    Uniform(Digits),
    /// One value for each start atom.
    Each(Vec<Digits>),
}

impl From<f64> for Bound {
    fn from(x: f64) -> Self {
        Self::Uniform(Digits(x))
    }
}

impl From<Vec<f64>> for Bound {
    fn from(x: Vec<f64>) -> Self {
        Self::Each(x.into_iter().map(Digits).collect())
    }
}

/// Bounds of one problem, by claim id.
pub(super) type Table = BTreeMap<String, Bounds>;

fn add(table: &mut Table, id: &str, printed: impl Into<Bound>, corrected: impl Into<Bound>) {
    table.insert(id.into(), Bounds { printed: printed.into(), corrected: corrected.into() });
}

/// Adds a bound that holds as printed.
fn keep(table: &mut Table, id: &str, bound: impl Into<Bound>) {
    let bound = bound.into();
    table.insert(id.into(), Bounds { printed: bound.clone(), corrected: bound });
}

/// Every bound for `N = n`, or `n` transitions, in the first update (`t = 1`), and with the smallest valid `L`: `2 max |s|`
/// in MCMC-SE and CW, `max |s|` in pMCSA.
pub(super) fn of(instance: &Instance<f64>, n: usize) -> Table {
    let mut table = Table::new();
    add_mcmc_se(&mut table, instance, n);
    add_pmcsa(&mut table, instance, n);
    add_cw(&mut table, instance, n);
    table
}

fn add_mcmc_se(table: &mut Table, instance: &Instance<f64>, n: usize) {
    let (largest, range) = (instance.largest_weight(), 2.0 * instance.largest_score());
    let series = mcmc_se::sequential_bias_series(range, largest, n);
    add(table, "000-T1", mcmc_se::sequential_bias_as_printed(range, largest, n), series);
    keep(table, "000-T1-EQ29", mcmc_se::sequential_bias(range, largest, n));
    keep(table, "000-T2", mcmc_se::parallel_bias(range, largest));
    keep(table, "000-T3", mcmc_se::cis_bias(range, largest, n));
    keep(table, "000-P1", largest);
    let mean = instance.mean();
    let second = instance.variance() + mean * mean;
    let farthest = instance.s().iter().map(|s| (s - mean).abs()).fold(0.0, f64::max);
    let chi_squared = instance.neyman().unwrap_or(f64::INFINITY);
    let printed = mcmc_se::parallel_bias_by_divergence_as_printed(second, chi_squared, largest);
    let corrected = mcmc_se::parallel_bias_by_divergence(instance.variance(), chi_squared, largest, farthest);
    add(table, "000-T4", printed, corrected);
}

fn add_pmcsa(table: &mut Table, instance: &Instance<f64>, n: usize) {
    let (largest, norm) = (instance.largest_weight(), instance.largest_score());
    let (mean, chi_squared) = (instance.mean().abs(), instance.pearson());
    keep(table, "001-W", largest);
    keep(table, "001-L1-UP", rate(largest));
    let each = |bound: &dyn Fn(f64) -> f64| instance.w().iter().map(|&w| bound(w)).collect::<Vec<f64>>();
    keep(table, "001-L1-LOW", each(&|w| cw::imh_rejection(w).max(0.0)));
    let printed = each(&|w| pmcsa::accepted_as_printed(w, largest, n));
    add(table, "001-L2", printed, each(&|w| pmcsa::accepted(w, largest, n)));
    // The lemma holds for nonnegative functions: here `|s|`.
    let sizes: Vec<f64> = instance.s().iter().map(|s| s.abs()).collect();
    let (target, proposal) = (dot(instance.pi(), &sizes), dot(instance.q(), &sizes));
    let printed = sizes.iter().map(|&size| pmcsa::mean_after_as_printed(proposal, size, largest, n));
    let corrected = sizes.iter().map(|&size| pmcsa::mean_after(target, proposal, size, largest, n));
    add(table, "001-L3", printed.collect::<Vec<_>>(), corrected.collect::<Vec<_>>());
    keep(table, "001-T-MSC-MIX", mcmc_se::cis_rate(largest, n));
    keep(table, "001-T-MSC-VAR", norm * norm);
    let (printed, corrected) =
        (pmcsa::sum_of_rates_as_printed(largest, n), pmcsa::sum_of_rates_closed(largest, n));
    add(table, "001-JSA-SUM", printed, corrected);
    let printed = pmcsa::sequential_distance_as_printed(largest, n, 1);
    add(table, "001-T-JSA", printed, pmcsa::sequential_path_distance(largest, n, 1));
    keep(table, "001-T-pMCSA-MIX", pmcsa::parallel_distance(largest, n, 1));
    let printed = pmcsa::parallel_variance_as_printed(norm, largest, n);
    add(table, "001-T-pMCSA-VAR", printed, pmcsa::parallel_variance(norm, n));
    let printed = pmcsa::parallel_second_moment_as_printed(norm, mean, largest, n);
    add(table, "001-T-pMCSA-MOMENT", printed, pmcsa::parallel_second_moment(norm, mean, largest, n, 0));
    let moments = instance.sequential(&instance.imh(), n);
    let covariances = || moments.variances.iter().map(|parts| parts.covariance);
    let printed = covariances().map(|c| pmcsa::sequential_second_moment_as_printed(norm, mean, c, n));
    let corrected = covariances().map(|c| pmcsa::sequential_second_moment(norm, mean, c, largest, n, 0));
    add(table, "001-T-JSA-MOMENT", printed.collect::<Vec<_>>(), corrected.collect::<Vec<_>>());
    if n > 1 {
        // With a single candidate there is no fresh one, and no bound.
        let printed = pmcsa::rao_blackwellised_error_as_printed(norm, chi_squared, largest, n);
        let corrected = pmcsa::rao_blackwellised_error(norm, chi_squared, largest, n);
        add(table, "001-T-MSCRB-MSE", printed, corrected);
        keep(table, "001-BIAS-RB", pmcsa::rao_blackwellised_bias(norm, chi_squared, largest, n, 1));
    }
}

/// In CW, N counts fresh candidates of conditional importance sampling.
fn add_cw(table: &mut Table, instance: &Instance<f64>, n: usize) {
    let (largest, range, kl) = (instance.largest_weight(), 2.0 * instance.largest_score(), instance.kl());
    let corrected = cw::sequential_bias(range, largest, n, 1);
    add(table, "003-T1", cw::sequential_bias_as_printed(range, largest, n, 1), corrected);
    keep(table, "003-T2", cw::parallel_bias(range, largest, 1));
    add(table, "003-T2-ADAPTED", cw::parallel_bias(1.0, largest, n), rate(largest));
    keep(table, "003-P1", largest);
    let each = |bound: &dyn Fn(f64) -> f64| instance.w().iter().map(|&w| bound(w)).collect::<Vec<f64>>();
    keep(table, "003-P3", each(&|w| cw::cis_rejection(w, n)));
    keep(table, "003-EQ12", each(&|w| 1.0 - cw::cis_rejection(w, n)));
    keep(table, "003-P4", each(&cw::imh_rejection));
    let mean = dot(instance.pi(), instance.w());
    keep(table, "003-L1", mean);
    let variance = instance.with_statistic(instance.w()).variance();
    let (printed, gap) = (cw::jensen_gap_as_printed(kl, largest), cw::jensen_gap(mean, variance, n));
    add(table, "003-T4-GAP", printed, gap);
    add(table, "003-T4-MEAN", cw::mean_rejection(kl, n, printed), cw::mean_rejection(kl, n, gap));
}
