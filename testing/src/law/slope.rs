//! Derivatives by extrapolated finite differences, and the directions along which they are compared.

use mcsa_core::Stream;

use super::Failure;

const ROWS: usize = 12;
const DEGREE: usize = 6;
/// Relative rounding error of a value that is itself a sum of many terms: four units in the last place.
pub const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// `f'(0)` and an estimate of its error by Richardson extrapolation to step zero (Ridders 1982), from central differences at steps `h,
/// h/2, ..`, each with its rounding error. The result is the entry of the table that differs least from its two parents; the difference
/// counts as at least the rounding error.
fn extrapolate(differences: &[(f64, f64)]) -> (f64, f64) {
    let mut parents = [0.0; DEGREE];
    let (mut best, mut error) = (f64::NAN, f64::INFINITY);
    for (row, &(difference, rounding)) in differences.iter().take(ROWS).enumerate() {
        let mut current = [0.0; DEGREE];
        current[0] = difference;
        let mut factor = 4.0;
        for k in 1..DEGREE.min(row + 1) {
            current[k] = (factor * current[k - 1] - parents[k - 1]) / (factor - 1.0);
            factor *= 4.0;
            let change = (current[k] - current[k - 1]).abs().max((current[k] - parents[k - 1]).abs());
            if change.max(rounding) < error {
                (best, error) = (current[k], change.max(rounding));
            }
        }
        parents = current;
    }
    (best, error)
}

/// `d/dt f(t)` at zero for each of `count` functions, with an estimate of its error.
///
/// Central differences with steps 1/8, 1/16, .. are extrapolated to step zero; `f(t)` returns the values, or `None` where they are
/// not defined. An error estimate is at least that of values with a relative error of `rounding`, such as [`ROUNDING`] or 0. Each
/// function has up to twelve steps; those at which it is not finite on both sides are left out.
pub fn slopes(count: usize, rounding: f64, mut f: impl FnMut(f64) -> Option<Vec<f64>>) -> Vec<(f64, f64)> {
    let mut tables: Vec<Vec<(f64, f64)>> = vec![Vec::new(); count];
    let mut step = 0.125;
    while step > 1e-9 && tables.iter().any(|table| table.len() < ROWS) {
        if let (Some(right), Some(left)) = (f(step), f(-step)) {
            for (table, (r, l)) in tables.iter_mut().zip(right.iter().zip(&left)) {
                let difference = (r - l) / (2.0 * step);
                if difference.is_finite() {
                    table.push((difference, rounding * r.abs().max(l.abs()) / step));
                }
            }
        }
        step *= 0.5;
    }
    tables.iter().map(|table| extrapolate(table)).collect()
}

/// `d/dt f(t)` at zero, with an estimate of its error, as in [`slopes`].
///
/// ```
/// let (slope, error) = mcsa_testing::law::slope(0.0, |t| (1.0 + t).ln());
/// assert!((slope - 1.0).abs() < 1e-12 && error < 1e-11);
/// ```
pub fn slope(rounding: f64, mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    slopes(1, rounding, |t| Some(vec![f(t)]))[0]
}

/// `Ok` if `found` is a slope that is known as `(expected, error)` from [`slope`] or [`slopes`].
///
/// The tolerance is ten times the error estimate of the differences plus 1e-9, relative to slopes above one. Differences with an
/// error above 1e-6 decide nothing, which is a failure.
pub fn is_slope(
    law: &'static str,
    place: impl FnOnce() -> String,
    found: f64,
    (expected, error): (f64, f64),
) -> Result<(), Failure> {
    let size = 1.0 + expected.abs();
    let tolerance = 10.0 * error + 1e-9 * size;
    // Written so that NaN is refused.
    if error <= 1e-6 * size && (found - expected).abs() <= tolerance {
        return Ok(());
    }
    let expected = format!("{expected:e} +- {tolerance:.1e} by differences");
    Err(Failure::new(law, place(), expected, format!("{found:e}")))
}

/// `Ok` if `found` is a slope far from the centre that is known as `(expected, error)` from [`slope`] or [`slopes`].
///
/// The tolerance is 1e-6 of the `size` of the terms that make up `found` (at least that of the slope, plus one), plus ten times the
/// error estimate. Differences with a relative error above 1e-3 decide nothing, which is `Ok` unless `found` is NaN.
pub fn is_slope_in_the_tails(
    law: &'static str,
    place: impl FnOnce() -> String,
    found: f64,
    (expected, error): (f64, f64),
    size: f64,
) -> Result<(), Failure> {
    let tolerance = 10.0 * error + 1e-6 * (size.max(expected.abs()) + 1.0);
    let is_decided = found.is_nan() || error <= 1e-3 * (1.0 + expected.abs());
    // Written so that NaN is an error.
    if is_decided && !((found - expected).abs() <= tolerance) {
        let expected = format!("{expected:e} +- {tolerance:.1e} by differences");
        return Err(Failure::new(law, place(), expected, format!("{found:e}")));
    }
    Ok(())
}

/// Direction in a space, with a name for messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// The name, such as `coordinate 3`.
    pub name: String,
    /// The vector.
    pub v: Vec<f64>,
}

impl Direction {
    /// A random direction of the sphere, in units of `scales`.
    pub fn random(scales: &[f64], stream: &mut Stream) -> Self {
        let v = unit(scales.len(), stream).iter().zip(scales).map(|(u, scale)| u * scale).collect();
        Self { name: "a random direction".into(), v }
    }

    /// Coordinate `k`, called `noun`, with the length `scales[k]`.
    pub fn coordinate(noun: &str, k: usize, scales: &[f64]) -> Self {
        let mut v = vec![0.0; scales.len()];
        v[k] = scales[k];
        Self { name: format!("{noun} {k}"), v }
    }

    /// `v . gradient`: the derivative along this direction.
    pub fn dot(&self, gradient: &[f64]) -> f64 {
        self.v.iter().zip(gradient).map(|(v, g)| v * g).sum()
    }

    /// Writes `z + t v`.
    pub fn move_into(&self, z: &[f64], t: f64, out: &mut [f64]) {
        for ((out, z), v) in out.iter_mut().zip(z).zip(&self.v) {
            *out = z + t * v;
        }
    }
}

/// Test directions of a space whose coordinates have these `scales` and are called `noun`.
///
/// Every coordinate is a direction if there are at most 48. Of more, the first `ends`, the last `ends` and `16 - ends` random
/// ones are directions. Three further directions mix all coordinates.
///
/// ```
/// use mcsa_core::Seed; use mcsa_testing::law::directions;
/// let all = directions("param", &[1.0, 2.0], 0, &mut Seed::new(1).stream(0, 0));
/// assert_eq!((all.len(), all[1].name.as_str(), all[1].v.as_slice()), (5, "param 1", &[0.0, 2.0][..]));
/// ```
pub fn directions(noun: &str, scales: &[f64], ends: usize, stream: &mut Stream) -> Vec<Direction> {
    let (dim, ends) = (scales.len(), ends.min(16));
    let chosen: Vec<usize> = if dim <= 48 {
        (0..dim).collect()
    } else {
        let others = (ends..16).map(|_| (stream.uniform() * dim as f64) as usize);
        (0..ends).chain(dim - ends..dim).chain(others).collect()
    };
    let mut all: Vec<_> = chosen.into_iter().map(|k| Direction::coordinate(noun, k, scales)).collect();
    for k in 0..if dim == 0 { 0 } else { 3 } {
        let v = scales.iter().map(|s| s * stream.normal() / (dim as f64).sqrt()).collect();
        all.push(Direction { name: format!("mixed direction {k}"), v });
    }
    all
}

/// Random unit vector, uniform on the sphere.
pub fn unit(dim: usize, stream: &mut Stream) -> Vec<f64> {
    let mut u: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
    let length = u.iter().map(|u| u * u).sum::<f64>().sqrt();
    u.iter_mut().for_each(|u| *u /= length);
    u
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A smooth function, one that is defined near zero alone; a vertical tangent and NaN, which decide nothing.
    #[test]
    fn slopes_are_found_where_there_are_some() {
        let is = |found, f: fn(f64) -> f64| is_slope("law", || "here".into(), found, slope(ROUNDING, f));
        assert!(is(1.0, |t| t.exp()).is_ok() && is(1.0 + 1e-8, |t| t.exp()).is_err());
        assert!(is(-0.5 * 1e3, |t| (1e-3 - t).sqrt() / 1e-3_f64.sqrt()).is_ok());
        assert!(
            is(1.0, f64::cbrt).is_err() && is(0.0, |_| f64::NAN).is_err() && is(f64::NAN, f64::exp).is_err()
        );
        let both = slopes(2, 0.0, |t| (t < 0.1).then(|| vec![t.sin(), if t < 0.01 { t } else { f64::NAN }]));
        assert!(both.iter().all(|(slope, error)| (slope - 1.0).abs() < 1e-10 && *error < 1e-10), "{both:?}");
    }
}
