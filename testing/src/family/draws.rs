//! Laws of draws and batches: densities, lanes and distribution of draws, reflections; a column of a batch has the bits that it has
//! alone.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Family, Reparameterised};

use super::case::{normals, transported};
use super::{Case, Failure};
use crate::law::{mean_and_error, near, same_bits, same_columns};

/// The log densities that `sample_into` returns equal the `log_probs` of its draws, within `1e-10 (1 + |log q|)`.
pub fn draws_know_their_density(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    same_density("draws_know_their_density", "draw", case, case.draw(32, &mut case.stream("density")))
}

pub(super) fn same_density(
    law: &'static str,
    noun: &str,
    case: &Case<dyn Family + '_>,
    (z, log_q): (Mat<f64>, Vec<f64>),
) -> Result<(), Failure> {
    for (j, (found, expected)) in log_q.into_iter().zip(case.log_probs(&case.params, z.as_ref())).enumerate()
    {
        near(law, || format!("{noun} {j}"), found, expected, 1e-10 * (1.0 + expected.abs()))?;
    }
    Ok(())
}

/// With `c` columns and `l` lanes, lane `j` draws columns `j c/l .. (j+1) c/l` in order, with the bits of single draws.
pub fn lanes_draw_their_columns(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    const LAW: &str = "lanes_draw_their_columns";
    let (family, columns) = (&case.family, 12);
    for lanes in [1, 2, 3, 4, 6, 12] {
        let mut z = Mat::full(family.dim(), columns, f64::NAN);
        let mut log_q = vec![f64::NAN; columns];
        let mut streams = case.seed.streams(lanes, 1);
        family.sample_into(&case.params, &mut streams, z.as_mut(), &mut log_q, &mut case.work(columns));
        for (lane, mut stream) in case.seed.streams(lanes, 1).into_iter().enumerate() {
            for j in lane * columns / lanes..(lane + 1) * columns / lanes {
                let (alone, log_alone) = case.draw(1, &mut stream);
                let place = |i| format!("coordinate {i}, column {j}, {lanes} lanes");
                same_bits(LAW, place, z.as_ref().column(j), alone.as_ref().column(0))?;
                let place = |_| format!("log_q, column {j}, {lanes} lanes");
                same_bits(LAW, place, &log_q[j..=j], &log_alone)?;
            }
        }
    }
    Ok(())
}

/// The mean score of draws is zero within 6 standard errors, for each parameter: false alarm 2e-9 each.
///
/// 16384 draws; 1024 if there are more than 64 parameters.
pub fn draws_follow_the_density(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    let (z, _) = case.draw(count(case), &mut case.stream("follow"));
    mean_score_is_zero("draws_follow_the_density", case, z.as_ref())
}

/// The mean score of transported noise is zero, as in [`draws_follow_the_density`].
pub fn transport_follows_the_density(case: &Case<dyn Reparameterised + '_>) -> Result<(), Failure> {
    let (_, z) = transported(case, count(case), &mut case.stream("noise"));
    mean_score_is_zero("transport_follows_the_density", case, z.as_ref())
}

fn count(case: &Case<dyn Family + '_>) -> usize {
    if case.family.num_params() <= 64 { 16_384 } else { 1024 }
}

/// Tolerance for means of scores that are all zero up to rounding, so that their standard error is zero or meaningless.
const ROUNDING: f64 = 1e-14;

fn mean_score_is_zero(
    law: &'static str,
    case: &Case<dyn Family + '_>,
    z: MatRef<'_, f64>,
) -> Result<(), Failure> {
    let scores = case.scores(z);
    let mut values = vec![0.0; scores.len()];
    for k in 0..case.family.num_params() {
        for (value, score) in values.iter_mut().zip(&scores) {
            *value = score[k];
        }
        let (mean, error) = mean_and_error(&values);
        near(law, || format!("mean score of param {k}"), mean, 0.0, 6.0 * error + ROUNDING)?;
    }
    Ok(())
}

/// If the family has a reflection, a point and its image have equal log densities, and the image of the image is the point.
/// Numbers `x` are compared within `1e-10 (1 + |x|)`.
pub fn reflection_keeps_the_density(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    const LAW: &str = "reflection_keeps_the_density";
    let z = case.points(8);
    let mut images = z.clone();
    for j in 0..8 {
        if !case.family.reflect(&case.params, images.col_as_slice_mut(j)) {
            return Ok(());
        }
    }
    let (here, there) =
        (case.log_probs(&case.params, z.as_ref()), case.log_probs(&case.params, images.as_ref()));
    for j in 0..8 {
        let tolerance = 1e-10 * (1.0 + here[j].abs());
        near(LAW, || format!("log density, column {j}"), there[j], here[j], tolerance)?;
        case.family.reflect(&case.params, images.col_as_slice_mut(j));
        for (i, (&back, &z)) in images.col_as_slice(j).iter().zip(z.col_as_slice(j)).enumerate() {
            near(LAW, || format!("column {j}, coordinate {i}"), back, z, 1e-10 * (1.0 + z.abs()))?;
        }
    }
    Ok(())
}

const SIZES: [usize; 8] = [0, 1, 2, 3, 4, 5, 8, 13];

/// `log_probs` and `add_scores` of a batch are bit-identical to single-column calls, for 0 to 13 columns. About a third of the
/// weights are zero, and the gradient is not zero before the call.
pub fn batch_equals_columns(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    const LAW: &str = "batch_equals_columns";
    let (family, params) = (&case.family, &case.params);
    let mut stream = case.stream("batch");
    for columns in SIZES {
        let z = case.points(columns);
        let together = case.log_probs(params, z.as_ref());
        let alone: Vec<f64> =
            (0..columns).map(|j| family.log_prob(params, z.as_ref().column(j), &mut case.work(1))).collect();
        same_bits(LAW, |j| format!("log_probs, column {j} of {columns}"), &together, &alone)?;

        let mut weights: Vec<f64> = (0..columns).map(|_| stream.normal()).collect();
        weights.iter_mut().skip(1).step_by(3).for_each(|weight| *weight = 0.0);
        let mut together: Vec<f64> = (0..params.len()).map(|_| stream.normal()).collect();
        let mut alone = together.clone();
        family.add_scores(params, z.as_ref(), &weights, &mut together, &mut case.work(columns));
        for (j, &weight) in weights.iter().enumerate() {
            family.add_score(params, z.as_ref().column(j), weight, &mut alone, &mut case.work(1));
        }
        same_bits(LAW, |k| format!("add_scores, param {k}, {columns} columns"), &together, &alone)?;
    }
    Ok(())
}

/// `transport`, `add_slopes` and `add_pullbacks` of a batch are bit-identical to single-column calls, for 0 to 13 columns.
pub fn transport_batch_equals_columns(case: &Case<dyn Reparameterised + '_>) -> Result<(), Failure> {
    const LAW: &str = "transport_batch_equals_columns";
    let (family, params) = (&case.family, &case.params);
    let mut stream = case.stream("transport");
    for columns in SIZES {
        let (noise, together) = transported(case, columns, &mut stream);
        let mut alone = Mat::full(family.dim(), columns, f64::NAN);
        for j in 0..columns {
            let point = alone.as_mut().subcols_mut(j, 1);
            family.transport(params, noise.as_ref().subcols(j, 1), point, &mut case.work(1));
        }
        same_columns(LAW, "transport", together.as_ref(), alone.as_ref())?;

        let mut together_slopes = normals(family.dim(), columns, &mut stream);
        let mut alone_slopes = together_slopes.clone();
        family.add_slopes(params, together.as_ref(), 0.7, together_slopes.as_mut(), &mut case.work(columns));
        for j in 0..columns {
            let point = together.as_ref().subcols(j, 1);
            let slope = alone_slopes.as_mut().subcols_mut(j, 1);
            family.add_slopes(params, point, 0.7, slope, &mut case.work(1));
        }
        same_columns(LAW, "add_slopes", together_slopes.as_ref(), alone_slopes.as_ref())?;

        let cotangents = normals(family.dim(), columns, &mut stream);
        let mut together: Vec<f64> = (0..params.len()).map(|_| stream.normal()).collect();
        let mut alone = together.clone();
        let (noise, cotangents) = (noise.as_ref(), cotangents.as_ref());
        family.add_pullbacks(params, noise, cotangents, &mut together, &mut case.work(columns));
        for j in 0..columns {
            let (noise, cotangent) = (noise.subcols(j, 1), cotangents.subcols(j, 1));
            family.add_pullbacks(params, noise, cotangent, &mut alone, &mut case.work(1));
        }
        same_bits(LAW, |k| format!("add_pullbacks, param {k}, {columns} columns"), &together, &alone)?;
    }
    Ok(())
}
