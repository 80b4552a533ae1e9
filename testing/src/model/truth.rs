//! Laws that need knowledge of the target: normaliser and moments, and the distribution of exact draws.

use mcsa_core::numeric::quadrature::{Axis, each_node, log_integral};
use mcsa_core::{ExactDraws, LogDensity};

use super::{Case, Failure};
use crate::law::near;

fn axes(case: &Case<dyn LogDensity + '_>) -> Vec<Axis> {
    let axis = |(&centre, &width)| Axis::line(case.map, centre, width);
    case.centre.iter().zip(&case.spread).map(axis).collect()
}

/// The normaliser of [`Truth`](super::Truth) is `log int p`, within 1e-8, in at most three dimensions; not tested in more.
pub fn normaliser_is_integral(case: &Case<dyn LogDensity + '_>) -> Result<(), Failure> {
    const LAW: &str = "normaliser_is_integral";
    let truth = case.truth(LAW)?;
    if !case.is_integrable() {
        return Ok(());
    }
    let mut work = case.work(1);
    let integral = log_integral(&axes(case), 1e-10, |z| case.target.log_density(z, &mut work));
    let place = || format!("log integral, changing by {:.0e} at the last halving", integral.error);
    near(LAW, place, truth.log_normaliser, integral.value, 1e-8)
}

/// The moments of [`Truth`](super::Truth) are those of the density, within 1e-6 of the spreads, in at most three dimensions. Not tested in
/// more dimensions, nor where a moment is absent.
pub fn moments_are_integrals(case: &Case<dyn LogDensity + '_>) -> Result<(), Failure> {
    const LAW: &str = "moments_are_integrals";
    let (truth, dim) = (case.truth(LAW)?, case.target.dim());
    if !case.is_integrable() {
        return Ok(());
    }
    let mut work = case.work(1);
    let (mut first, mut second) = (vec![0.0; dim], vec![0.0; dim * dim]);
    let step = [0.0625, 0.015_625, 0.03125, 0.125][dim];
    each_node(&axes(case), step, |z, log_weight| {
        let weight = (case.target.log_density(z, &mut work) + log_weight - truth.log_normaliser).exp();
        if weight != 0.0 {
            for i in 0..dim {
                first[i] += weight * z[i];
                (0..dim).for_each(|k| second[i * dim + k] += weight * z[i] * z[k]);
            }
        }
    });
    let tolerance = |i: usize, k: usize| 1e-6 * (1.0 + second[i * dim + i] + second[k * dim + k]);
    if let Some(mean) = &truth.mean {
        for i in 0..dim {
            near(LAW, || format!("mean of coordinate {i}"), mean[i], first[i], tolerance(i, i))?;
        }
    }
    if let Some(covariance) = &truth.covariance {
        for i in 0..dim {
            for k in 0..dim {
                let expected = second[i * dim + k] - first[i] * first[k];
                let place = || format!("covariance of coordinates {i} and {k}");
                near(LAW, place, covariance[(i, k)], expected, tolerance(i, k))?;
            }
        }
    }
    Ok(())
}

const DRAWS: usize = 16_384;
/// False-alarm probability of one case, so that thirty-two cases together stay below 1e-4.
const FALSE_ALARM: f64 = 3e-6;

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
pub fn draws_follow_the_law(case: &Case<dyn ExactDraws + '_>) -> Result<(), Failure> {
    const LAW: &str = "draws_follow_the_law";
    let Some(uniforms) = &case.uniforms else {
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
        uniforms(&z, &mut u);
        values.iter_mut().zip(&u).for_each(|(values, &u)| values[draw] = u);
    }
    // `n` draws exceed `sqrt(ln(2 / level) / 2n)` with probability at most `level`, for every `n` (Massart 1990).
    let level = FALSE_ALARM / dim.max(1) as f64;
    let largest = ((2.0 / level).ln() / (2.0 * DRAWS as f64)).sqrt();
    for (i, values) in values.iter_mut().enumerate() {
        let distance = distance_from_uniform(values);
        if distance > largest {
            let expected = format!("a distance of at most {largest:.4}");
            return Err(Failure::new(LAW, format!("coordinate {i}"), expected, format!("{distance:.4}")));
        }
    }
    Ok(())
}
