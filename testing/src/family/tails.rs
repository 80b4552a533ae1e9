//! Law of the score in the tails, by comparison with differences.

use crate::law::{Direction, ROUNDING, directions, slopes, unit};
use faer::Mat;
use mcsa_core::Family;

use super::{Case, Failure};

/// Distances from the median, in interquartile ranges.
const RADII: [f64; 6] = [4.0, 6.5, 10.0, 30.0, 100.0, 1e3];
const LINES: usize = 4;
/// Relative tolerance of a score in the tails against differences.
const TOLERANCE: f64 = 1e-6;
/// Differences with an estimated relative error above this are ignored.
const DECISIVE: f64 = 1e-3;

/// `add_scores` is the gradient of `log_probs` in lambda in the tails: at 4 to 1000 interquartile ranges from the median on either
/// side, on two lines in random directions and on two along axes. The tolerance is 1e-6 of the sum of the terms' sizes plus ten
/// times the differences' own error estimate; a NaN entry fails.
///
/// Points where the log density is `-inf`, and derivatives that differences find less accurately than to 1e-3 (rounding, kinks),
/// are skipped.
///
/// # Errors
/// If a derivative differs; the failure names the point and the parameter.
pub fn score_holds_in_the_tails<F: Family>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "score_holds_in_the_tails";
    let (family, params, dim) = (&case.family, &case.params, case.family.dim());
    if dim == 0 {
        return Ok(());
    }
    let mut stream = case.stream("tails");
    let (centre, widths): (Vec<f64>, Vec<f64>) = case.spreads().into_iter().unzip();
    let (mut places, mut points) = (vec![], vec![]);
    for line in 0..LINES {
        let mut u = unit(dim, &mut stream);
        let mut name = "a random direction".to_owned();
        if line % 2 == 1 {
            let i = (stream.uniform() * dim as f64) as usize;
            u = (0..dim).map(|k| f64::from(u8::from(k == i))).collect();
            name = format!("coordinate {i}");
        }
        let along = Direction { name, v: u.iter().zip(&widths).map(|(u, width)| u * width).collect() };
        for radius in RADII.into_iter().flat_map(|radius| [radius, -radius]) {
            let mut z = vec![0.0; dim];
            along.move_into(&centre, radius, &mut z);
            let one = Mat::from_fn(dim, 1, |i, _| z[i]);
            if case.log_probs(params, one.as_ref())[0] > f64::NEG_INFINITY {
                places.push(format!("at {radius} interquartile ranges along {}", along.name));
                points.push(z);
            }
        }
    }
    let z = Mat::from_fn(dim, points.len(), |i, j| points[j][i]);
    let scores = case.scores(z.as_ref());
    let mut moved = params.clone();
    for direction in directions("param", &vec![1.0; params.len()], 0, &mut stream) {
        let found = slopes(points.len(), ROUNDING, |t| {
            direction.move_into(params, t, &mut moved);
            family.check(&moved).is_ok().then(|| case.log_probs(&moved, z.as_ref()))
        });
        for ((place, score), (expected, error)) in places.iter().zip(&scores).zip(found) {
            let found = direction.dot(score);
            let size: f64 = direction.v.iter().zip(score).map(|(v, g)| (v * g).abs()).sum();
            let tolerance = 10.0 * error + TOLERANCE * (size.max(expected.abs()) + 1.0);
            let is_decided = found.is_nan() || error <= DECISIVE * (1.0 + expected.abs());
            // Written so that NaN is refused.
            if is_decided && !((found - expected).abs() <= tolerance) {
                let expected = format!("{expected:e} +- {tolerance:.1e} by differences");
                let place = format!("{}, {place}", direction.name);
                return Err(Failure::new(LAW, place, expected, format!("{found:e}")));
            }
        }
    }
    Ok(())
}
