//! Laws of derivatives, by comparison with extrapolated finite differences.

use faer::Mat;
use mcsa_core::{Columns, Family, Parametric, Reparameterised};

use super::case::{normals, transported};
use super::{Case, Failure};
use crate::law::{Direction, ROUNDING, directions, is_slope, is_slope_in_the_tails, slope, slopes};

/// Compares `gradients[j] . v` with the derivative of `values(params + t v)[j]` at `t = 0`, for several directions `v`.
pub(super) fn compare(
    law: &'static str,
    case: &Case<dyn Parametric + '_>,
    gradients: &[Vec<f64>],
    mut values: impl FnMut(&[f64]) -> Vec<f64>,
) -> Result<(), Failure> {
    let params = &case.params;
    let mut moved = params.clone();
    for direction in directions("param", &vec![1.0; params.len()], 0, &mut case.stream("directions")) {
        let found = slopes(gradients.len(), 0.0, |t| {
            direction.move_into(params, t, &mut moved);
            case.family.check(&moved).is_ok().then(|| values(&moved))
        });
        for (j, (slope, gradient)) in found.into_iter().zip(gradients).enumerate() {
            is_slope(law, || format!("{}, column {j}", direction.name), direction.dot(gradient), slope)?;
        }
    }
    Ok(())
}

/// `add_score` is the gradient of `log_prob` in lambda, at five points.
///
/// Differences and tolerance are those of [`is_slope`]: central differences with steps 1/8, 1/16, .., extrapolated. Of more than
/// 48 parameters, 16 are tested alone, and all together in three mixed directions.
pub fn score_is_gradient(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    let z = case.points(5);
    let scores = case.scores(z.as_ref());
    compare("score_is_gradient", case, &scores, |params| case.log_probs(params, z.as_ref()))
}

/// `add_pullbacks` is the gradient in lambda of `cotangent . t(lambda, eps)`, at five draws of the noise; method as in
/// [`score_is_gradient`].
pub fn pullback_is_gradient(case: &Case<dyn Reparameterised + '_>) -> Result<(), Failure> {
    let family = &case.family;
    let mut stream = case.stream("pullback");
    let (noise, _) = transported(case, 5, &mut stream);
    let cotangents = normals(family.dim(), 5, &mut stream);
    let gradient = |j: usize| {
        let mut gradient = vec![0.0; family.num_params()];
        let (noise, cotangent) = (noise.as_ref().subcols(j, 1), cotangents.as_ref().subcols(j, 1));
        family.add_pullbacks(&case.params, noise, cotangent, &mut gradient, &mut case.work(1));
        gradient
    };
    let gradients: Vec<_> = (0..5).map(gradient).collect();
    compare("pullback_is_gradient", case, &gradients, |params| {
        let mut z = Mat::full(family.dim(), 5, f64::NAN);
        family.transport(params, noise.as_ref(), z.as_mut(), &mut case.work(5));
        let product =
            |j: usize| z.as_ref().column(j).iter().zip(cotangents.as_ref().column(j)).map(|(a, b)| a * b);
        (0..5).map(|j| product(j).sum()).collect()
    })
}

/// `add_slopes` adds `weight` times the gradient of `log_prob` in the point, at five points, to the existing values. Tolerances as
/// in [`score_is_gradient`]; at most 16 coordinates are tested.
pub fn slope_is_gradient(case: &Case<dyn Reparameterised + '_>) -> Result<(), Failure> {
    const LAW: &str = "slope_is_gradient";
    let (family, params) = (&case.family, &case.params);
    let z = case.points(5);
    let mut added = Mat::full(family.dim(), 5, 1.0);
    family.add_slopes(params, z.as_ref(), 2.0, added.as_mut(), &mut case.work(5));
    for j in 0..5 {
        for i in (0..family.dim()).step_by(family.dim().div_ceil(16).max(1)) {
            let mut moved = z.as_ref().column(j).to_vec();
            let expected = slope(0.0, |t| {
                moved[i] = z[(i, j)] + t;
                family.log_prob(params, &moved, &mut case.work(1))
            });
            let found = 0.5 * (added[(i, j)] - 1.0);
            is_slope(LAW, || format!("column {j}, coordinate {i}"), found, expected)?;
        }
    }
    Ok(())
}

/// `add_entropy_gradient` adds `weight` times the gradient of `entropy` to the existing values; method as in [`score_is_gradient`].
pub fn entropy_gradient_is_gradient(case: &Case<dyn Reparameterised + '_>) -> Result<(), Failure> {
    let family = &case.family;
    let mut gradient = vec![1.0; family.num_params()];
    family.add_entropy_gradient(&case.params, 2.0, &mut gradient, &mut case.work(1));
    gradient.iter_mut().for_each(|g| *g = 0.5 * (*g - 1.0));
    compare("entropy_gradient_is_gradient", case, &[gradient], |params| {
        vec![family.entropy(params, &mut case.work(1))]
    })
}

/// Distances from the median, in interquartile ranges.
const RADII: [f64; 6] = [4.0, 6.5, 10.0, 30.0, 100.0, 1e3];
const LINES: usize = 4;

/// `add_scores` is the gradient of `log_probs` in lambda in the tails: at 4 to 1000 interquartile ranges from the median on either
/// side, on two lines in random directions and on two along axes, compared with differences by [`is_slope_in_the_tails`]. Points where
/// the log density is `-inf` are skipped.
pub fn score_holds_in_the_tails(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    const LAW: &str = "score_holds_in_the_tails";
    let (family, params, dim) = (&case.family, &case.params, case.family.dim());
    if dim == 0 {
        return Ok(());
    }
    let mut stream = case.stream("tails");
    let (centre, widths): (Vec<f64>, Vec<f64>) = case.spreads().into_iter().unzip();
    let (mut places, mut points) = (vec![], vec![]);
    for line in 0..LINES {
        let mut along = Direction::random(&widths, &mut stream);
        if line % 2 == 1 {
            let i = (stream.uniform() * dim as f64) as usize;
            along = Direction::coordinate("coordinate", i, &widths);
        }
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
        for ((place, score), slope) in places.iter().zip(&scores).zip(found) {
            let found = direction.dot(score);
            let size = direction.v.iter().zip(score).map(|(v, g)| (v * g).abs()).sum();
            let place = || format!("{}, {place}", direction.name);
            is_slope_in_the_tails(LAW, place, found, slope, size)?;
        }
    }
    Ok(())
}
