//! Laws of derivatives, by comparison with extrapolated finite differences.

use faer::Mat;
use mcsa_core::{Columns, Family, Reparameterised, Stream};

use super::case::normals;
use super::{Case, Failure, Verdict};

const ROWS: usize = 12;
const DEGREE: usize = 6;

/// `f'(0)` and an estimate of its error, from central differences at steps `h, h/2, ..` by Richardson extrapolation (Ridders 1982).
/// The table entry that differs least from its two parents is chosen.
fn slope(differences: &[f64; ROWS]) -> (f64, f64) {
    let mut parents = [0.0; DEGREE];
    let (mut best, mut error) = (f64::NAN, f64::INFINITY);
    for (row, &difference) in differences.iter().enumerate() {
        let mut current = [0.0; DEGREE];
        current[0] = difference;
        let mut factor = 4.0;
        for k in 1..DEGREE.min(row + 1) {
            current[k] = (factor * current[k - 1] - parents[k - 1]) / (factor - 1.0);
            factor *= 4.0;
            let change = (current[k] - current[k - 1]).abs().max((current[k] - parents[k - 1]).abs());
            if change < error {
                (best, error) = (current[k], change);
            }
        }
        parents = current;
    }
    (best, error)
}

/// Compares a derivative with its extrapolated differences.
fn equals_slope(
    law: &'static str,
    place: impl Fn() -> String,
    found: f64,
    differences: &[f64; ROWS],
) -> Verdict {
    let (expected, error) = slope(differences);
    let size = 1.0 + expected.abs();
    let tolerance = 10.0 * error + 1e-9 * size;
    // Written so that NaN is refused.
    if error <= 1e-6 * size && (found - expected).abs() <= tolerance {
        return Ok(());
    }
    let expected = format!("{expected:e} +- {tolerance:.1e} by differences");
    Err(Failure::new(law, place(), expected, format!("{found:e}")))
}

/// A direction in parameter space, with its name for messages.
struct Direction {
    name: String,
    v: Vec<f64>,
}

/// Every coordinate direction of at most 48 parameters, else 16 random ones; and three directions that mix all parameters.
fn directions(num_params: usize, stream: &mut Stream) -> Vec<Direction> {
    let chosen: Vec<usize> = if num_params <= 48 {
        (0..num_params).collect()
    } else {
        (0..16).map(|_| (stream.uniform() * num_params as f64) as usize).collect()
    };
    let coordinate = |k: usize| {
        let mut v = vec![0.0; num_params];
        v[k] = 1.0;
        Direction { name: format!("param {k}"), v }
    };
    let mut all: Vec<_> = chosen.into_iter().map(coordinate).collect();
    for k in 0..if num_params == 0 { 0 } else { 3 } {
        let v = (0..num_params).map(|_| stream.normal() / (num_params as f64).sqrt()).collect();
        all.push(Direction { name: format!("mixed direction {k}"), v });
    }
    all
}

/// Compares `gradients[j] . v` with the derivative of `values(params + t v)[j]` at `t = 0`, for several directions `v`.
pub(super) fn compare<F>(
    law: &'static str,
    case: &Case<F>,
    admits: impl Fn(&[f64]) -> bool,
    gradients: &[Vec<f64>],
    mut values: impl FnMut(&[f64]) -> Vec<f64>,
) -> Verdict {
    let params = &case.params;
    let mut moved = params.clone();
    for Direction { name, v } in directions(params.len(), &mut case.stream("directions")) {
        let mut shifted = |t: f64| {
            for ((moved, param), v) in moved.iter_mut().zip(params).zip(&v) {
                *moved = param + t * v;
            }
            admits(&moved).then(|| values(&moved))
        };
        let mut step = 0.125;
        let mut tables = vec![[f64::NAN; ROWS]; gradients.len()];
        let mut row = 0;
        while row < ROWS && step > 1e-9 {
            if let (Some(right), Some(left)) = (shifted(step), shifted(-step)) {
                for (table, (right, left)) in tables.iter_mut().zip(right.iter().zip(&left)) {
                    table[row] = (right - left) / (2.0 * step);
                }
                row += 1;
            }
            step *= 0.5;
        }
        for (j, (table, gradient)) in tables.iter().zip(gradients).enumerate() {
            let found = gradient.iter().zip(&v).map(|(g, v)| g * v).sum();
            equals_slope(law, || format!("{name}, column {j}"), found, table)?;
        }
    }
    Ok(())
}

/// `add_score` is the gradient of `log_prob` in lambda, at five points.
///
/// Central differences with steps 1/8, 1/16, .., 2^-14, extrapolated; the tolerance is ten times the
/// extrapolation's own estimate of its error plus 1e-9, relative to a derivative above one. Of more than 48 parameters,
/// 16 are tested alone, and all together in 3 mixed directions.
///
/// # Errors
/// If a derivative differs; the failure names the parameter and the derivative by differences.
pub fn score_is_gradient<F: Family>(case: &Case<F>) -> Verdict {
    let z = case.points(5);
    let admits = |params: &[f64]| case.family.check(params).is_ok();
    let scores = case.scores(z.as_ref());
    compare("score_is_gradient", case, admits, &scores, |params| case.log_probs(params, z.as_ref()))
}

/// `add_pullbacks` is the gradient in lambda of `cotangent . t(lambda, eps)`, at five draws of the noise; method as in
/// [`score_is_gradient`].
///
/// # Errors
/// If a derivative differs; the failure names the parameter and the derivative by differences.
pub fn pullback_is_gradient<F: Reparameterised>(case: &Case<F>) -> Verdict {
    let family = &case.family;
    let mut stream = case.stream("pullback");
    let mut noise = Mat::zeros(family.noise_dim(), 5);
    family.sample_noise_into(std::slice::from_mut(&mut stream), noise.as_mut());
    let cotangents = normals(family.dim(), 5, &mut stream);
    let gradient = |j: usize| {
        let mut gradient = vec![0.0; family.num_params()];
        let (noise, cotangent) = (noise.as_ref().subcols(j, 1), cotangents.as_ref().subcols(j, 1));
        family.add_pullbacks(&case.params, noise, cotangent, &mut gradient, &mut case.work(1));
        gradient
    };
    let gradients: Vec<_> = (0..5).map(gradient).collect();
    let admits = |params: &[f64]| family.check(params).is_ok();
    compare("pullback_is_gradient", case, admits, &gradients, |params| {
        let mut z = Mat::full(family.dim(), 5, f64::NAN);
        family.transport(params, noise.as_ref(), z.as_mut(), &mut case.work(5));
        let product =
            |j: usize| z.as_ref().column(j).iter().zip(cotangents.as_ref().column(j)).map(|(a, b)| a * b);
        (0..5).map(|j| product(j).sum()).collect()
    })
}

/// `add_slopes` adds `weight` times the gradient of `log_prob` in the point, at five points, to the existing values. Tolerances as
/// in [`score_is_gradient`]; at most 16 coordinates are tested.
///
/// # Errors
/// If a derivative differs; the failure names the column, the coordinate and the derivative by differences.
pub fn slope_is_gradient<F: Reparameterised>(case: &Case<F>) -> Verdict {
    const LAW: &str = "slope_is_gradient";
    let (family, params) = (&case.family, &case.params);
    let z = case.points(5);
    let mut slopes = Mat::full(family.dim(), 5, 1.0);
    family.add_slopes(params, z.as_ref(), 2.0, slopes.as_mut(), &mut case.work(5));
    for j in 0..5 {
        for i in (0..family.dim()).step_by(family.dim().div_ceil(16).max(1)) {
            let mut moved = z.as_ref().column(j).to_vec();
            let differences = std::array::from_fn(|row| {
                let step = 0.125 * 0.5_f64.powi(row as i32);
                let [right, left] = [step, -step].map(|step| {
                    moved[i] = z[(i, j)] + step;
                    family.log_prob(params, &moved, &mut case.work(1))
                });
                (right - left) / (2.0 * step)
            });
            let found = 0.5 * (slopes[(i, j)] - 1.0);
            equals_slope(LAW, || format!("column {j}, coordinate {i}"), found, &differences)?;
        }
    }
    Ok(())
}

/// `add_entropy_gradient` adds `weight` times the gradient of `entropy` to the existing values; method as in [`score_is_gradient`].
///
/// # Errors
/// If a derivative differs; the failure names the parameter and the derivative by differences.
pub fn entropy_gradient_is_gradient<F: Reparameterised>(case: &Case<F>) -> Verdict {
    let family = &case.family;
    let mut gradient = vec![1.0; family.num_params()];
    family.add_entropy_gradient(&case.params, 2.0, &mut gradient, &mut case.work(1));
    gradient.iter_mut().for_each(|g| *g = 0.5 * (*g - 1.0));
    let admits = |params: &[f64]| family.check(params).is_ok();
    compare("entropy_gradient_is_gradient", case, admits, &[gradient], |params| {
        vec![family.entropy(params, &mut case.work(1))]
    })
}
