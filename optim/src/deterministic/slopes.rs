//! Check of the signs of a gradient against finite differences.

use mcsa_core::{Error, Gradient};

/// Widths of the differences, relative to the coordinate or to 1.
const WIDTHS: [f64; 3] = [1e-3, 1e-5, 1e-7];

/// `Ok` unless a coordinate of the gradient has the wrong sign at `z`; costs `6 d` evaluations.
///
/// A sign is wrong if, for at least two widths, the finite difference of the log density is within a factor of two of minus the
/// coordinate, and larger than rounding.
pub(crate) fn check_signs<P: Gradient + ?Sized>(
    target: &P,
    z: &[f64],
    work: &mut [f64],
) -> Result<(), Error> {
    let mut gradient = vec![0.0; z.len()];
    target.gradient_into(z, &mut gradient, work);
    let mut moved = z.to_vec();
    for (k, &slope) in gradient.iter().enumerate() {
        let mut difference = |width: f64| {
            let width = width * z[k].abs().max(1.0);
            moved[k] = z[k] + width;
            let ahead = target.log_density(&moved, work);
            moved[k] = z[k] - width;
            let behind = target.log_density(&moved, work);
            moved[k] = z[k];
            let rounding = 64.0 * f64::EPSILON * ahead.abs().max(behind.abs());
            // Written so that NaN does not count as a wrong sign.
            ((ahead - behind).abs() > rounding).then(|| (ahead - behind) / (2.0 * width))
        };
        let opposed = |found: &f64| (0.5..=2.0).contains(&(-found / slope));
        let against: Vec<f64> =
            WIDTHS.iter().filter_map(|width| difference(*width)).filter(opposed).collect();
        if let [.., found] = against[..]
            && against.len() > 1
        {
            return Err(Error::invalid(format!(
                "the gradient has the wrong sign: its coordinate {k} is {slope:e}, and differences of the log density give {found:e}"
            )));
        }
    }
    Ok(())
}
