//! Law of exact draws: Kolmogorov-Smirnov tests of their distribution.

use mcsa_core::ExactDraws;

use super::{Case, Failure};

const DRAWS: usize = 16_384;
/// False-alarm probability of one case, so that thirty-two cases together stay below 1e-4.
const FALSE_ALARM: f64 = 3e-6;

/// Critical value of the Kolmogorov-Smirnov statistic: `sqrt(ln(2 / level) / 2n)` is exceeded by `n` draws with probability
/// at most `level`, for every `n` (Massart 1990, with Dvoretzky, Kiefer and Wolfowitz).
fn largest_distance(n: usize, level: f64) -> f64 {
    ((2.0 / level).ln() / (2.0 * n as f64)).sqrt()
}

/// Kolmogorov-Smirnov distance from the uniform distribution on `(0, 1)`; infinite if a value is outside.
fn distance_from_uniform(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let gap = |(k, &u): (usize, &f64)| {
        let inside = (0.0..=1.0).contains(&u);
        // NaN is not inside either.
        if inside { (u - k as f64 / n).max((k as f64 + 1.0) / n - u) } else { f64::INFINITY }
    };
    values.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// Exact draws follow the target: the case's distribution functions map them to uniforms, coordinate by coordinate, and they
/// lie in the support. One-sample Kolmogorov-Smirnov tests over 16,384 draws; false alarm 3e-6 for all coordinates of a case
/// together, 1e-4 for thirty-two cases.
///
/// # Errors
/// If a coordinate's distance is too large (the failure names both), a draw is outside the support, or the case has no
/// distribution functions.
pub fn draws_follow_the_law<P: ExactDraws>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "draws_follow_the_law";
    let Some(uniforms) = case.uniforms else {
        return Err(Failure::new(LAW, "the case", "distribution functions: Case::with_uniforms", "none"));
    };
    let dim = case.target.dim();
    let mut stream = case.stream("draws");
    let (mut z, mut u) = (vec![0.0; dim], vec![f64::NAN; dim]);
    let mut values = vec![vec![f64::NAN; DRAWS]; dim];
    for draw in 0..DRAWS {
        z.fill(f64::NAN);
        case.target.draw_into(&mut stream, &mut z);
        if !case.log_density(&z).is_finite() {
            return Err(Failure::new(LAW, format!("draw {draw}"), "inside the support", format!("{z:?}")));
        }
        uniforms(&case.target, &z, &mut u);
        values.iter_mut().zip(&u).for_each(|(values, &u)| values[draw] = u);
    }
    let largest = largest_distance(DRAWS, FALSE_ALARM / dim.max(1) as f64);
    for (i, values) in values.iter_mut().enumerate() {
        let distance = distance_from_uniform(values);
        if distance > largest {
            let expected = format!("a distance of at most {largest:.4}");
            return Err(Failure::new(LAW, format!("coordinate {i}"), expected, format!("{distance:.4}")));
        }
    }
    Ok(())
}
