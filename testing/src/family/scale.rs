//! Laws of the scale of draws, by an importance identity that holds in any dimension.

use crate::law::{ACCEPTED, DETECTED, Power, near};
use faer::{Mat, MatMut};
use mcsa_core::{Family, Reparameterised};

use super::{Case, Failure};

/// Relative error of the scale that the law tries to detect with probability 0.9; it then detects 0.01 with probability 0.998.
const SOUGHT: f64 = 0.008;
const BATCH: usize = 1024;
const PILOT: usize = 4096;

/// Draws have the scale of the density, in any dimension. With `m` the median of some draws and `s` slightly above one,
///
/// ```text
/// E_q[ s^d q(m + s (z - m)) / q(z) ] = 1,
/// ```
///
/// and if draws are wider than `q` by a factor `1 + e` about `m`, the mean is `1 + (s - 1) e I` with `I` the Fisher information of
/// a draw about a scale (`2 d` for Gaussians). The number of draws is chosen so that `e` = 0.008 is detected with probability 0.9,
/// as far as [`Case::draws`] allows; the false alarm is 6e-7. An error in one of `d` coordinates alone is detected if it is `d`
/// times as large.
///
/// # Errors
/// If the scale differs; the failure names its relative error.
pub fn draws_have_their_scale<F: Family>(case: &Case<F>) -> Result<Option<Power>, Failure> {
    let (family, params) = (&case.family, &case.params);
    let (mut lane, mut work) = ([case.stream("scale")], case.work(BATCH));
    scale("draws_have_their_scale", case, |z, log_q| {
        family.sample_into(params, &mut lane, z, log_q, &mut work);
    })
}

/// Transported noise has the scale of the density, as in [`draws_have_their_scale`].
///
/// # Errors
/// If the scale differs; the failure names its relative error.
pub fn transport_has_its_scale<F: Reparameterised>(case: &Case<F>) -> Result<Option<Power>, Failure> {
    let (family, params) = (&case.family, &case.params);
    let (mut lane, mut work) = ([case.stream("scale of transport")], case.work(BATCH));
    let mut noise = Mat::zeros(family.noise_dim(), BATCH);
    scale("transport_has_its_scale", case, |mut z, log_q| {
        family.sample_noise_into(&mut lane, noise.as_mut());
        family.transport(params, noise.as_ref(), z.as_mut(), &mut work);
        family.log_probs(params, z.as_ref(), log_q, &mut work);
    })
}

fn scale<F: Family>(
    law: &'static str,
    case: &Case<F>,
    mut draw: impl FnMut(MatMut<'_, f64>, &mut [f64]),
) -> Result<Option<Power>, Failure> {
    let dim = case.family.dim();
    if dim == 0 {
        return Ok(None);
    }
    let centre: Vec<f64> = case.spreads().iter().map(|spread| spread.0).collect();
    let (mut z, mut work) = (Mat::zeros(dim, BATCH), case.work(BATCH));
    let (mut log_q, mut moved_log_q) = (vec![0.0; BATCH], vec![0.0; BATCH]);
    // Mean and variance of (ratio - 1) / ln s, which approximates the derivative in ln s.
    let mut pass = |log_s: f64, draws: usize| {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws / BATCH {
            draw(z.as_mut(), &mut log_q);
            for j in 0..BATCH {
                let moves = z.col_as_slice_mut(j).iter_mut().zip(&centre);
                moves.for_each(|(z, centre)| *z = centre + log_s.exp() * (*z - centre));
            }
            case.family.log_probs(&case.params, z.as_ref(), &mut moved_log_q, &mut work);
            for (log_q, moved) in log_q.iter().zip(&moved_log_q) {
                let value = (moved - log_q + dim as f64 * log_s).exp_m1() / log_s;
                sum += value;
                squares += value * value;
            }
        }
        let mean = sum / draws as f64;
        (mean, squares / draws as f64 - mean * mean)
    };
    let (_, pilot) = pass(1e-4, PILOT);
    let needed = (DETECTED / SOUGHT).powi(2) / pilot;
    let draws = (needed.clamp(PILOT as f64, case.draws.max(PILOT) as f64) as usize).div_ceil(BATCH) * BATCH;
    let (mean, information) = pass((0.02 / pilot.sqrt()).clamp(1e-5, 0.1), draws);
    let error = 1.0 / (draws as f64 * information).sqrt();
    let place = || format!("relative error of the scale, {draws} draws");
    near(law, place, mean / information, 0.0, ACCEPTED * error + 1e-9)?;
    Ok(Some(Power::new("the relative scale of draws", DETECTED * error, format!("{draws} draws"))))
}
