//! Tests of the models: conformance, formulas and oracles, and twins that must fail.

mod conformance;
mod factor_analysis;
mod faults;
mod formulas;
mod generic;
mod ground_truth;
mod robust;
mod weighted_rows;

use faer::{Mat, MatRef};
use mcsa_core::Seed;
use mcsa_models::GroundTruth;
use mcsa_testing::model::{Case, Truth};

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

/// The least of three counts: the queue of a thread pool allocates a block once in some tens of calls.
fn meter_of_threads(call: &mut dyn FnMut()) -> u64 {
    (0..3).map(|_| meter(call)).min().unwrap_or(0)
}

/// A matrix of standard normals.
fn features(rows: usize, columns: usize) -> Mat<f64> {
    let mut stream = Seed::new(3).stream(0, 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

/// Labels, 40 % of which are 1.
fn labels(rows: usize) -> Vec<f64> {
    let mut stream = Seed::new(3).stream(1, 0);
    (0..rows).map(|_| f64::from(u8::from(stream.uniform() < 0.4))).collect()
}

/// Counts with a mean of 1.5.
fn counts(rows: usize) -> Vec<f64> {
    let mut stream = Seed::new(3).stream(3, 0);
    (0..rows).map(|_| (-2.0 * stream.uniform().ln()).floor()).collect()
}

/// The matrix in single precision.
fn single(x: MatRef<'_, f64>) -> Mat<f32> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, k| x[(i, k)] as f32)
}

/// Standard normal responses.
fn responses(rows: usize) -> Vec<f64> {
    let mut stream = Seed::new(3).stream(2, 0);
    (0..rows).map(|_| stream.normal()).collect()
}

/// The case with the model's normaliser and moments.
fn known<P: GroundTruth>(case: Case<P>) -> Case<P> {
    let truth = Truth {
        log_normaliser: case.target.log_normaliser(),
        mean: case.target.mean(),
        covariance: case.target.covariance(),
    };
    Case { truth: Some(truth), ..case }
}
