//! Comparison of a gradient with differences of the log density.

use mcsa_core::{Gradient, LogDensity, Seed};

use super::{Objection, Target};

/// Most coordinates that are compared.
const MOST: usize = 30;
/// Largest allowed difference, relative to the largest slope and rounding.
const ALLOWED: f64 = 1e-3;

/// The objection to a gradient that is not that of the density near `centre`, whose standard deviations are `scales`.
///
/// Coordinates are compared one by one, half a standard deviation from the centre, by central differences.
pub(crate) fn gradient_objection(
    target: &Target<'_>,
    centre: &[f64],
    scales: &[f64],
    seed: Seed,
) -> Option<Objection> {
    let gradient = target.gradient()?;
    let mut stream = seed.named("gradient").stream(0, 0);
    let (dim, density) = (target.dim(), target.density());
    let mut work = vec![0.0; density.work_len(1).max(gradient.work_len(1))];
    let mut z: Vec<f64> =
        centre.iter().zip(scales).map(|(z, scale)| z + 0.5 * scale * stream.normal()).collect();
    let mut slopes = vec![0.0; dim];
    let value = gradient.gradient_into(&z, &mut slopes, &mut work);
    if !value.is_finite() {
        return None;
    }
    let steep = slopes.iter().zip(scales).map(|(slope, scale)| (slope * scale).abs()).fold(1.0, f64::max);
    for k in 0..MOST.min(dim) {
        let i = if dim <= MOST { k } else { stream.index(dim).unwrap_or(0) };
        let (kept, width) = (z[i], 1e-4 * scales[i]);
        z[i] = kept + width;
        let ahead = density.log_density(&z, &mut work);
        z[i] = kept - width;
        let behind = density.log_density(&z, &mut work);
        z[i] = kept;
        let difference = (ahead - behind) / (2.0 * width);
        let rounding = 1e-14 * value.abs() / 1e-4;
        if difference.is_finite() && ((slopes[i] - difference) * scales[i]).abs() > ALLOWED * steep + rounding
        {
            let name = target.name(i);
            return Some(Objection::Gradient { name, given: slopes[i], by_differences: difference });
        }
    }
    None
}
