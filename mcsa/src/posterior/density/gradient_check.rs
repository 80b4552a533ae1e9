//! Comparison of a gradient with differences of the log density.

use mcsa_core::{Gradient, LogDensity, Seed};

use crate::posterior::{Objection, Target};

/// Most coordinates that are compared.
const MOST: usize = 30;
/// Largest allowed difference, relative to the largest slope and rounding.
const ALLOWED: f64 = 1e-3;
/// Distance of a difference to each side, in standard deviations.
const WIDTH: f64 = 1e-4;
/// As [`WIDTH`], of further differences, which have less rounding.
const WIDER: [f64; 2] = [30.0 * WIDTH, 1000.0 * WIDTH];
/// Distance of a difference in units of rounding below which a mode is degenerate.
const COARSE: f64 = 1e3;
/// Trials for a point with a finite density where the mode is degenerate.
const TRIALS: usize = 10;

/// The objection to a gradient that is not that of the density near `mode`, whose standard deviations are `scales`.
///
/// Coordinates are compared one by one, half a standard deviation from the mode, by central differences over the distance that rounding
/// left. A gradient is wrong where it is not finite, and where it differs from differences over three distances, of which the two nearer ones
/// agree with each other: a density in single precision has rounding that these two may share. Near the border of a support the third has no
/// finite value, and the two nearer ones decide.
///
/// At a degenerate mode, such as that of a hierarchical model whose scale tends to zero, coordinates of about one move by distances near
/// rounding. No mass is there, so the gradient is compared within a unit of the origin instead.
pub(crate) fn gradient_objection(
    target: &Target<'_>,
    mode: &[f64],
    scales: &[f64],
    seed: Seed,
) -> Option<Objection> {
    let gradient = target.gradient()?;
    let mut stream = seed.named("gradient").stream(0, 0);
    let (dim, density) = (target.dim(), target.density());
    let (mut work, mut slopes) = (vec![0.0; density.work_len(1).max(gradient.work_len(1))], vec![0.0; dim]);
    let is_degenerate =
        mode.iter().zip(scales).any(|(z, scale)| WIDTH * scale < COARSE * f64::EPSILON * z.abs());
    let (origin, ones) = (vec![0.0; dim], vec![1.0; dim]);
    let (centre, scales, trials) =
        if is_degenerate { (&origin[..], &ones[..], TRIALS) } else { (mode, scales, 1) };
    let mut points = (0..trials).map(|_| {
        let near = |(z, scale): (&f64, &f64)| z + 0.5 * scale * stream.normal();
        let z: Vec<f64> = centre.iter().zip(scales).map(near).collect();
        let value = gradient.gradient_into(&z, &mut slopes, &mut work);
        (z, value)
    });
    let (mut z, value) = points.find(|(_, value)| value.is_finite())?;
    let steep = slopes.iter().zip(scales).map(|(slope, scale)| (slope * scale).abs()).fold(1.0, f64::max);
    for k in 0..MOST.min(dim) {
        let i = if dim <= MOST { k } else { stream.index(dim).unwrap_or(0) };
        let kept = z[i];
        let mut difference = |width: f64| {
            let [ahead, behind] = [kept + width * scales[i], kept - width * scales[i]];
            z[i] = ahead;
            let rise = density.log_density(&z, &mut work);
            z[i] = behind;
            let rise = rise - density.log_density(&z, &mut work);
            z[i] = kept;
            rise / (ahead - behind)
        };
        let allowed = |width: f64| ALLOWED * steep + 1e-14 * value.abs() / width;
        let differ = |a: f64, b: f64, width: f64| ((a - b) * scales[i]).abs() > allowed(width);
        let by_differences = difference(WIDTH);
        let mut differs_from_all = || {
            let [wider, widest] = WIDER.map(&mut difference);
            let agrees = |other: f64, width: f64| other.is_finite() && !differ(slopes[i], other, width);
            wider.is_finite()
                && !WIDER.iter().zip([wider, widest]).any(|(&width, other)| agrees(other, width))
                && !differ(by_differences, wider, WIDTH)
        };
        let is_wrong = by_differences.is_finite()
            && (!slopes[i].is_finite() || differ(slopes[i], by_differences, WIDTH) && differs_from_all());
        if is_wrong {
            return Some(Objection::Gradient { name: target.name(i), given: slopes[i], by_differences });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::from_fn;

    /// `b ~ N(1.5 + m, e^s)` for some groups, with m and s standard normal, times an error of the gradient in the first group.
    fn objection(log_scale: f64, error: f64) -> Option<Objection> {
        let groups = 6;
        let target = from_fn(groups + 2, move |z| {
            let (m, s) = (z[0], z[1]);
            let square: f64 = z[2..].iter().map(|b| ((b - 1.5 - m) / s.exp()).powi(2)).sum();
            -0.5 * (square + m * m + s * s) - groups as f64 * s
        });
        let target = target.with_gradient(move |z, gradient| {
            let (m, s) = (z[0], z[1]);
            let off: Vec<f64> = z[2..].iter().map(|b| (b - 1.5 - m) / s.exp()).collect();
            gradient[0] = off.iter().sum::<f64>() / s.exp() - m;
            gradient[1] = off.iter().map(|off| off * off).sum::<f64>() - groups as f64 - s;
            off.iter().zip(&mut gradient[2..]).for_each(|(off, gradient)| *gradient = -off / s.exp());
            gradient[2] *= error;
        });
        // The mode given the scale, in units of it.
        let (mut mode, mut scales) = (vec![1.5; groups + 2], vec![log_scale.exp(); groups + 2]);
        (mode[0], mode[1], scales[1]) = (0.0, log_scale, 0.3);
        gradient_objection(&Target::with_gradient(&target), &mode, &scales, Seed::new(1))
    }

    /// At a log scale of -25 the distance of differences is a few units of rounding.
    #[test]
    fn a_right_gradient_is_not_accused_at_a_degenerate_mode() {
        for log_scale in [0.0, -5.0, -15.0, -20.0, -25.0, -30.0] {
            assert_eq!(objection(log_scale, 1.0), None, "{log_scale}");
            // Counterexample: an entry that is wrong by a hundredth.
            let found = objection(log_scale, 1.01);
            assert!(
                matches!(found, Some(Objection::Gradient { ref name, .. }) if name == "z[2]"),
                "{found:?}"
            );
        }
    }

    /// Rounding of `log p` at its points is larger than the differences: they do not agree, and nothing is accused.
    #[test]
    fn differences_that_are_rounding_accuse_nobody() {
        let objection = |coarse: f64, slope: f64| {
            let density = move |z: &[f64]| (coarse - 0.5 * z[0] * z[0]) - coarse;
            let target = from_fn(1, density).with_gradient(move |z, gradient| gradient[0] = slope * z[0]);
            let target = Target::with_gradient(&target);
            (1..=20).filter_map(|seed| gradient_objection(&target, &[0.0], &[1.0], Seed::new(seed))).count()
        };
        assert_eq!(objection(1e12, -1.0), 0);
        // Counterexamples: wrong gradients without such rounding.
        for slope in [-1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(objection(0.0, slope), 20, "{slope}");
        }
    }

    /// From some points the widest difference leaves the support.
    #[test]
    fn a_wrong_gradient_near_a_border_is_found() {
        const BORDER: f64 = 0.5;
        let accused = |slope: f64| {
            let density = |z: &[f64]| if z[0] < BORDER { z[0] } else { f64::NEG_INFINITY };
            let target = from_fn(1, density).with_gradient(move |_, gradient| gradient[0] = slope);
            let target = Target::with_gradient(&target);
            let accuses = |seed| gradient_objection(&target, &[0.0], &[1.0], Seed::new(seed)).is_some();
            (1..=100).filter(|&seed| accuses(seed)).count()
        };
        let room = |seed| BORDER - 0.5 * Seed::new(seed).named("gradient").stream(0, 0).normal();
        let within = |width: f64| (1..=100).filter(|&seed| room(seed) > width).count();
        assert_eq!((accused(1.0), accused(1.1)), (0, within(WIDER[0])));
        // Counterexample: these are more than those at which the widest difference is finite.
        assert!(within(WIDER[0]) > within(WIDER[1]));
    }

    /// In single precision values near 3000 have steps of 2e-4, and differences over the two nearer distances may share their error.
    #[test]
    fn a_right_gradient_of_a_density_in_single_precision_is_not_accused() {
        let accused = |slope: f64| {
            let density = |z: &[f64]| f64::from((-3_000.0 - 5.0 * z[0] * z[0] - 0.5 * z[1] * z[1]) as f32);
            let target = from_fn(2, density).with_gradient(move |z, gradient| {
                gradient[0] = -10.0 * z[0];
                gradient[1] = slope * z[1];
            });
            let target = Target::with_gradient(&target);
            let accuses = |seed| gradient_objection(&target, &[0.0; 2], &[1.0; 2], Seed::new(seed)).is_some();
            (1..=200).filter(|&seed| accuses(seed)).count()
        };
        assert_eq!(accused(-1.0), 0);
        // Counterexample: a wrong gradient is, where the nearer differences agree by chance. Most often rounding hides it.
        assert_eq!(accused(-2.0), 4);
    }
}
