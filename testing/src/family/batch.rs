//! Laws of batching: every column of a batch has the bits that it has alone.

use faer::Mat;
use mcsa_core::{Columns, Family, Reparameterised};

use super::case::normals;
use super::{Case, Failure};
use crate::law::{same_bits, same_columns};

const SIZES: [usize; 8] = [0, 1, 2, 3, 4, 5, 8, 13];

/// `log_probs` and `add_scores` of a batch are bit-identical to single-column calls, for 0 to 13 columns. A third of the weights is
/// zero, and the gradient is not empty before the call.
///
/// # Errors
/// If a bit differs; the failure names the batch size and the column or parameter.
pub fn batch_equals_columns<F: Family>(case: &Case<F>) -> Result<(), Failure> {
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
///
/// # Errors
/// If a bit differs; the failure names the batch size and the coordinate or parameter.
pub fn transport_batch_equals_columns<F: Reparameterised>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "transport_batch_equals_columns";
    let (family, params) = (&case.family, &case.params);
    let mut stream = case.stream("transport");
    for columns in SIZES {
        let mut noise = Mat::zeros(family.noise_dim(), columns);
        family.sample_noise_into(std::slice::from_mut(&mut stream), noise.as_mut());
        let mut together = Mat::full(family.dim(), columns, f64::NAN);
        family.transport(params, noise.as_ref(), together.as_mut(), &mut case.work(columns));
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
