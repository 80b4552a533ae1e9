//! Directional derivatives by extrapolated finite differences.

use mcsa_core::LogDensity;

use super::{Case, Failure, Verdict};

const ROWS: usize = 12;
const DEGREE: usize = 6;
/// Relative rounding error of a value that is itself a sum of many terms: four units in the last place.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// `f'(0)` and an estimate of its error: central differences at steps `h, h/2, ..`, extrapolated to zero (Ridders 1982). The
/// result is the entry of the table that differs least from its two parents; the difference counts as at least the rounding
/// error, which is given with each of `differences`.
fn extrapolate(differences: &[(f64, f64); ROWS]) -> (f64, f64) {
    let mut parents = [0.0; DEGREE];
    let (mut best, mut error) = (f64::NAN, f64::INFINITY);
    for (row, &(difference, rounding)) in differences.iter().enumerate() {
        let mut current = [0.0; DEGREE];
        current[0] = difference;
        let mut factor = 4.0;
        for k in 1..DEGREE.min(row + 1) {
            current[k] = (factor * current[k - 1] - parents[k - 1]) / (factor - 1.0);
            factor *= 4.0;
            let change =
                (current[k] - current[k - 1]).abs().max((current[k] - parents[k - 1]).abs()).max(rounding);
            if change < error {
                (best, error) = (current[k], change);
            }
        }
        parents = current;
    }
    (best, error)
}

/// `d/dt f(t)` at zero, with an estimate of its error: steps 1/8, 1/16, .., without those at which `f` is not
/// finite on both sides.
pub(super) fn slope(mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    let mut table = [(f64::NAN, f64::NAN); ROWS];
    let (mut row, mut step) = (0, 0.125);
    while row < ROWS && step > 1e-9 {
        let (right, left) = (f(step), f(-step));
        let difference = (right - left) / (2.0 * step);
        if difference.is_finite() {
            table[row] = (difference, ROUNDING * right.abs().max(left.abs()) / step);
            row += 1;
        }
        step *= 0.5;
    }
    extrapolate(&table)
}

/// `Ok` if `found` is the slope of `f` at zero.
///
/// The tolerance is ten times the extrapolation's own error estimate plus 1e-9, relative to slopes above one.
pub(super) fn is_slope(
    law: &'static str,
    place: impl FnOnce() -> String,
    found: f64,
    f: impl FnMut(f64) -> f64,
) -> Verdict {
    let (expected, error) = slope(f);
    let size = 1.0 + expected.abs();
    let tolerance = 10.0 * error + 1e-9 * size;
    // Written so that NaN is refused.
    if error <= 1e-6 * size && (found - expected).abs() <= tolerance {
        return Ok(());
    }
    let expected = format!("{expected:e} +- {tolerance:.1e} by differences");
    Err(Failure::new(law, place(), expected, format!("{found:e}")))
}

/// A direction in the target's space, with its name.
pub(super) struct Direction {
    pub(super) name: String,
    pub(super) v: Vec<f64>,
}

impl Direction {
    pub(super) fn dot(&self, gradient: &[f64]) -> f64 {
        self.v.iter().zip(gradient).map(|(v, g)| v * g).sum()
    }

    /// Writes `z + t v`.
    pub(super) fn move_into(&self, z: &[f64], t: f64, out: &mut [f64]) {
        for ((out, z), v) in out.iter_mut().zip(z).zip(&self.v) {
            *out = z + t * v;
        }
    }
}

/// Test directions: every coordinate if there are at most 48, else the first eight, the last eight and eight others; and three
/// directions that mix all coordinates. Their lengths are those of the case's spread.
pub(super) fn directions<P: LogDensity>(case: &Case<P>) -> Vec<Direction> {
    let dim = case.target.dim();
    let mut stream = case.stream("directions");
    let chosen: Vec<usize> = if dim <= 48 {
        (0..dim).collect()
    } else {
        let others = (0..8).map(|_| (stream.uniform() * dim as f64) as usize);
        (0..8).chain(dim - 8..dim).chain(others).collect()
    };
    let coordinate = |k: usize| {
        let mut v = vec![0.0; dim];
        v[k] = case.spread[k];
        Direction { name: format!("coordinate {k}"), v }
    };
    let mut all: Vec<_> = chosen.into_iter().map(coordinate).collect();
    for k in 0..if dim == 0 { 0 } else { 3 } {
        let v = case.spread.iter().map(|s| s * stream.normal() / (dim as f64).sqrt()).collect();
        all.push(Direction { name: format!("mixed direction {k}"), v });
    }
    all
}
