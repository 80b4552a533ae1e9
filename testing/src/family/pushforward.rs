//! Laws of pushforwards: gradients, densities, batches and memory.

use faer::{Mat, MatRef};
use mcsa_core::numeric::HALF_LOG_TAU;
use mcsa_core::{Columns, Family, Pushforward};

use super::case::normals;
use super::differences::compare;
use super::draws::same_density;
use super::{Case, Failure};
use crate::law::{mean_and_error, near, same_bits};

const SIZES: [usize; 7] = [0, 1, 2, 3, 5, 8, 29];

fn noise(case: &Case<dyn Pushforward + '_>, columns: usize) -> Mat<f64> {
    let mut noise = Mat::full(case.family.noise_dim(), columns, f64::NAN);
    case.family.sample_noise_into(&mut [case.stream("push noise")], noise.as_mut());
    noise
}

fn push(case: &Case<dyn Pushforward + '_>, params: &[f64], noise: MatRef<'_, f64>) -> (Mat<f64>, Vec<f64>) {
    let mut z = Mat::full(case.family.dim(), noise.ncols(), f64::NAN);
    let mut log_q = vec![f64::NAN; noise.ncols()];
    case.family.push(params, noise, z.as_mut(), &mut log_q, &mut case.work(noise.ncols()));
    (z, log_q)
}

/// `add_push_gradients` is the gradient in lambda of `cotangent . t(lambda, eps) + weight log q(t(lambda, eps))`, at five
/// draws of the noise, for both terms together and each alone; method as in [`score_is_gradient`](super::score_is_gradient).
pub fn push_gradient_is_gradient(case: &Case<dyn Pushforward + '_>) -> Result<(), Failure> {
    let family = &case.family;
    let noise = noise(case, 5);
    let cotangents = normals(family.dim(), 5, &mut case.stream("push cotangents"));
    for [on_z, on_log_q] in [[1.0, 0.7], [1.0, 0.0], [0.0, 1.0]] {
        let cotangents = Mat::from_fn(family.dim(), 5, |i, j| on_z * cotangents[(i, j)]);
        let gradient = |j: usize| {
            let mut gradient = vec![0.0; family.num_params()];
            let (noise, cotangent) = (noise.as_ref().subcols(j, 1), cotangents.as_ref().subcols(j, 1));
            let (weights, params) = ([on_log_q], &case.params);
            family.add_push_gradients(params, noise, cotangent, &weights, &mut gradient, &mut case.work(1));
            gradient
        };
        let gradients: Vec<_> = (0..5).map(gradient).collect();
        compare("push_gradient_is_gradient", case, &gradients, |params| {
            let (z, log_q) = push(case, params, noise.as_ref());
            let on_z = |j: usize| -> f64 {
                z.as_ref().column(j).iter().zip(cotangents.as_ref().column(j)).map(|(a, b)| a * b).sum()
            };
            (0..5).map(|j| on_z(j) + if on_log_q == 0.0 { 0.0 } else { on_log_q * log_q[j] }).collect()
        })?;
    }
    Ok(())
}

/// `log q(t(lambda, eps)) + ln |det dt/deps|` at each noise, with the determinant by central differences of step 1e-5.
fn log_noise_density(case: &Case<dyn Pushforward + '_>, params: &[f64], noise: MatRef<'_, f64>) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let (_, mut log_density) = push(case, params, noise);
    let (dim, columns) = (noise.nrows(), noise.ncols());
    let mut jacobians = vec![Mat::<f64>::zeros(dim, dim); columns];
    for k in 0..dim {
        let [right, left] = [STEP, -STEP].map(|step| {
            let moved = Mat::from_fn(dim, columns, |i, j| noise[(i, j)] + if i == k { step } else { 0.0 });
            push(case, params, moved.as_ref()).0
        });
        for (j, jacobian) in jacobians.iter_mut().enumerate() {
            for i in 0..dim {
                jacobian[(i, k)] = (right[(i, j)] - left[(i, j)]) / (2.0 * STEP);
            }
        }
    }
    for (log_density, jacobian) in log_density.iter_mut().zip(&jacobians) {
        *log_density += jacobian.determinant().abs().ln();
    }
    log_density
}

/// The log density that `push` writes is that of its points: by the change of variables,
///
/// ```text
/// log q(t(lambda, eps)) + ln |det dt/deps| = log r(eps)
/// ```
/// is a function of the noise alone. The law tests three properties of it:
///
/// * It is equal at this lambda and at another, within 1e-6 (relative above one).
/// * It is even in the noise, within 1e-6 (relative above one).
/// * It is the log density of the noise: `E[s(eps) / r(eps)] = 1` over 2048 draws for a narrower Gaussian `s`, within 6 standard
///   errors (false alarm 2e-9).
///
/// If noise and point have different dimensions, the law holds without a test.
pub fn push_follows_the_density(case: &Case<dyn Pushforward + '_>) -> Result<(), Failure> {
    const LAW: &str = "push_follows_the_density";
    const SCALE: f64 = 0.8;
    let family = &case.family;
    let dim = family.dim();
    if family.noise_dim() != dim {
        return Ok(());
    }
    let mut stream = case.stream("another lambda");
    let other: Vec<f64> = case.params.iter().map(|param| param + 0.1 * stream.normal()).collect();
    let noise = noise(case, 2048);
    let few = noise.as_ref().subcols(0, 32);
    let here = log_noise_density(case, &case.params, few);
    if family.check(&other).is_ok() {
        let there = log_noise_density(case, &other, few);
        for (j, (&here, &there)) in here.iter().zip(&there).enumerate() {
            near(LAW, || format!("noise {j}, another lambda"), there, here, 1e-6 * (1.0 + here.abs()))?;
        }
    }
    let mirrored = Mat::from_fn(dim, 32, |i, j| -noise[(i, j)]);
    let mirrored = log_noise_density(case, &case.params, mirrored.as_ref());
    for (j, (&here, &there)) in here.iter().zip(&mirrored).enumerate() {
        near(LAW, || format!("noise {j}, mirrored"), there, here, 1e-6 * (1.0 + here.abs()))?;
    }
    let ratios: Vec<f64> = log_noise_density(case, &case.params, noise.as_ref())
        .iter()
        .enumerate()
        .map(|(j, log_r)| {
            let square: f64 = noise.as_ref().column(j).iter().map(|e| (e / SCALE) * (e / SCALE)).sum();
            let log_s = -0.5 * square - dim as f64 * (SCALE.ln() + HALF_LOG_TAU);
            (log_s - log_r).exp()
        })
        .collect();
    let (mean, error) = mean_and_error(&ratios);
    near(LAW, || "mean of s / r over the noise".into(), mean, 1.0, 6.0 * error + 1e-6)
}

/// `push` and `add_push_gradients` of a batch are bit-identical to single-column calls, for 0 to 29 columns, and
/// lanes draw the noise of their columns in order.
pub fn push_batch_equals_columns(case: &Case<dyn Pushforward + '_>) -> Result<(), Failure> {
    const LAW: &str = "push_batch_equals_columns";
    let (family, params) = (&case.family, &case.params);
    let mut stream = case.stream("push batch");
    for columns in SIZES {
        let noise = noise(case, columns);
        let (z, log_q) = push(case, params, noise.as_ref());
        for j in 0..columns {
            let (alone, log_alone) = push(case, params, noise.as_ref().subcols(j, 1));
            let place = |i| format!("push, coordinate {i}, column {j} of {columns}");
            same_bits(LAW, place, z.as_ref().column(j), alone.as_ref().column(0))?;
            same_bits(LAW, |_| format!("log_q, column {j} of {columns}"), &log_q[j..=j], &log_alone)?;
        }
        let cotangents = normals(family.dim(), columns, &mut stream);
        let weights: Vec<f64> = (0..columns).map(|_| stream.normal()).collect();
        let mut together: Vec<f64> = (0..params.len()).map(|_| stream.normal()).collect();
        let mut alone = together.clone();
        let (eps, cots) = (noise.as_ref(), cotangents.as_ref());
        family.add_push_gradients(params, eps, cots, &weights, &mut together, &mut case.work(columns));
        for j in 0..columns {
            let (eps, cots, weight) = (eps.subcols(j, 1), cots.subcols(j, 1), &weights[j..=j]);
            family.add_push_gradients(params, eps, cots, weight, &mut alone, &mut case.work(1));
        }
        same_bits(LAW, |k| format!("gradients, param {k}, {columns} columns"), &together, &alone)?;
    }
    for lanes in [1, 2, 4] {
        let mut noise = Mat::full(family.noise_dim(), 8, f64::NAN);
        family.sample_noise_into(&mut case.seed.streams(lanes, 3), noise.as_mut());
        for (lane, mut stream) in case.seed.streams(lanes, 3).into_iter().enumerate() {
            for j in lane * 8 / lanes..(lane + 1) * 8 / lanes {
                let mut alone = Mat::full(family.noise_dim(), 1, f64::NAN);
                family.sample_noise_into(std::slice::from_mut(&mut stream), alone.as_mut());
                let place = |i| format!("noise, coordinate {i}, column {j}, {lanes} lanes");
                same_bits(LAW, place, noise.as_ref().column(j), alone.as_ref().column(0))?;
            }
        }
    }
    Ok(())
}

/// A pushforward that is also a family has the same log density in both roles, within `1e-10 (1 + |log q|)`.
pub fn push_knows_its_density<F: Family + Pushforward>(case: &Case<F>) -> Result<(), Failure> {
    same_density("push_knows_its_density", "push", case, push(case, &case.params, noise(case, 32).as_ref()))
}
