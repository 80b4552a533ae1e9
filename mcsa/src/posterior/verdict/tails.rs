//! Tails of a density along rays.

use faer::Mat;
use mcsa_core::{AffineMap, Gradient, LogDensity, Seed, Whitened, numeric};

use crate::posterior::density::differences::Differences;
use crate::posterior::rule::RULE;
use crate::posterior::{Objection, Target};

/// Distances in standard deviations of q at which the density is looked at: two of them, and the next two where it rises from one to the
/// other.
const RADII: [f64; 4] = [1e3, 1e5, 1e7, 1e9];
/// Random directions, beside those of the axes.
const RANDOM: usize = 20;
/// Distances in standard deviations at which the density is looked at along the ridge of a tail: a power law has like falls between all of them.
const NEAR: [f64; 7] = [5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0];
/// Distance at which the ridge is looked for.
const RIDGE: f64 = 20.0;
/// Steps to the axis of far draws, and most steps to a ridge.
const STEPS: usize = 20;
const ACROSS: usize = 20;
/// Rise of the log density in a step, in nats, below which they are there.
const LEVEL: f64 = 0.01;
/// Least factor of a step.
const LEAST: f64 = 0.1;
/// Random directions from which ridges are looked for, beside the axis of far draws.
const STARTS: usize = 8;
/// Most axes.
const AXES: usize = 50;

/// Number of evaluations, of which there are two on a ray unless the density rises or does not fall, and on the way to ridges and along them, at
/// most.
pub(crate) fn cost(dim: usize, has_gradient: bool) -> u64 {
    let slope = if has_gradient { 1 } else { dim + 1 };
    (2 * (2 * dim.min(AXES) + RANDOM) + (2 + STARTS) * (NEAR.len() + (1 + ACROSS) * slope)) as u64
}

/// The objection to a density that falls too slowly for moments to exist, or for draws to show them: along a ray from the centre of q,
///
/// ```text
/// (log p(r) - log p(100 r)) / log(100) <= 3.4,    r = 1000
/// ```
/// A density that falls like `r^-3` or more slowly along an axis has no variance over that line; like `1/r`, no integral. Along random
/// directions the density is taken to fall alike in a cone, and has to fall faster by `r^(d - 1)`.
///
/// A tail with an integral is no objection if it begins so low that `r^3 p(r) / p(0)` is below 1e-6. An example is a Cauchy prior
/// of a parameter that the data determine, up to values beyond which the likelihood is flat. Nor is a tail an objection if it
/// lies 709 d nats below the centre at all radii, as that of an exponential that is cut off at a large number does.
///
/// A heavy tail across the axes shows along its ridge, between 5 and 40 standard deviations. Steps lead to ridges from the axis
/// of the weighted draws that lie far out, and from random directions.
///
/// A density that rises from r to 100 r may have a wall at r and a tail beyond it. The fall is then that from the next radius.
/// The density is improper if it rises up to the last radius.
pub(crate) fn tail_objection(
    target: &Target<'_>,
    map: &AffineMap,
    seed: Seed,
    draws: &Mat<f64>,
    weights: &[f64],
) -> Option<Objection> {
    let (dim, density) = (target.dim(), target.density());
    let mut stream = seed.named("tails").stream(0, 0);
    let mut work = vec![0.0; density.work_len(1)];
    let centre = {
        let mut z = vec![0.0; dim];
        map.forward_into(&vec![0.0; dim], &mut z);
        z
    };
    let axes = dim.min(AXES);
    for ray in 0..2 * axes + RANDOM {
        let axis = (ray < 2 * axes).then_some(ray / 2);
        let mut y = vec![0.0; dim];
        match axis {
            Some(i) => y[i] = if ray % 2 == 0 { 1.0 } else { -1.0 },
            None => stream.normals_into(&mut y),
        }
        let mut z = vec![0.0; dim];
        map.forward_into(&y, &mut z);
        let mut direction: Vec<f64> = z.iter().zip(&centre).map(|(z, centre)| z - centre).collect();
        if let Some(i) = axis {
            // One coordinate of the target alone.
            (0..dim).filter(|&k| k != i).for_each(|k| direction[k] = 0.0);
        }
        let mut at = |radius: f64| {
            let z: Vec<f64> = centre.iter().zip(&direction).map(|(z, step)| z + radius * step).collect();
            density.log_density(&z, &mut work)
        };
        let mut falls = RADII.windows(2).map(|radii| {
            let near = at(radii[0]);
            ((near - at(radii[1])) / (radii[1] / radii[0]).ln(), near + 3.0 * radii[0].ln())
        });
        let Some((mut fall, mut square)) = falls.next() else { continue };
        while fall < 0.0 {
            let Some(next) = falls.next() else { break };
            (fall, square) = next;
        }
        // Along a random direction the density is taken to fall alike in a cone, whose volume grows like r^(d - 1).
        let volume = if axis.is_some() { 0.0 } else { dim as f64 - 1.0 };
        let (fall, square) = (fall - volume, square + volume * RADII[0].ln());
        let is_faint = fall > RULE.integrable && square - at(0.0) < RULE.faint.ln();
        // No volume that a number can hold makes up for such a depth.
        let depth = dim as f64 * f64::MAX.ln();
        let mut is_deep = || {
            let peak = at(0.0);
            RADII.iter().all(|&radius| peak - at(radius) > depth)
        };
        if fall.is_finite() && fall <= RULE.no_variance && !is_faint && !is_deep() {
            let name = axis.map_or_else(
                || "random directions (less the volume, which grows like r^(d - 1))".to_owned(),
                |i| target.name(i),
            );
            return Some(Objection::Tail { name, fall });
        }
    }
    let points = map.inverse(draws.as_ref());
    let white = Whitened::new(density, map.clone()).ok()?;
    let exact = target.gradient().and_then(|gradient| Whitened::new(gradient, map.clone()).ok());
    let differences = Differences::new(&white);
    let slopes: &dyn Gradient = match &exact {
        Some(exact) => exact,
        None => &differences,
    };
    let axis = far_axis(&points, weights);
    let opposite = axis.iter().map(|axis| axis.iter().map(|u| -u).collect());
    let random = (0..STARTS).filter_map(|_| {
        let mut axis = vec![0.0; dim];
        stream.normals_into(&mut axis);
        unit(axis)
    });
    let starts: Vec<Vec<f64>> = opposite.chain(random).collect();
    axis.iter().chain(&starts).find_map(|start| {
        let spread = |axis: &[f64]| spread_along(&points, weights, axis).max(1.0);
        let ridge = ridge(slopes, start, RIDGE * spread(start));
        let falls = falls_along(&white, &ridge, spread(&ridge));
        let is_slow = falls.iter().all(|fall| (0.0..=RULE.no_variance).contains(fall));
        let name = "a combination of parameters".to_owned();
        is_slow.then(|| Objection::Tail { name, fall: falls[falls.len() - 1] })
    })
}

/// Direction of the ridge that steps over a sphere lead to from an axis. The gradient g of the log density is `-y` across a ridge in coordinates in
/// which draws are white, and small along the ridge of a heavy tail. The factor t is halved where a step does not lead up:
///
/// ```text
/// y <- r u,    u = (y + t g(y)) / |y + t g(y)|
/// ```
/// An axis that is off by some hundredths is whole standard deviations from the ridge far out.
fn ridge(slopes: &dyn Gradient, axis: &[f64], radius: f64) -> Vec<f64> {
    let (mut work, mut slope) = (vec![0.0; slopes.work_len(1)], vec![0.0; axis.len()]);
    let mut slope_at = |u: &[f64], slope: &mut [f64]| {
        let y: Vec<f64> = u.iter().map(|u| radius * u).collect();
        slopes.gradient_into(&y, slope, &mut work)
    };
    let mut ridge = axis.to_vec();
    let mut log_p = slope_at(&ridge, &mut slope);
    let (mut next_slope, mut t) = (slope.clone(), 1.0);
    for _ in 0..ACROSS {
        let moved = ridge.iter().zip(&slope).map(|(u, slope)| radius * u + t * slope);
        let Some(next) = unit(moved.collect()) else { break };
        let rise = slope_at(&next, &mut next_slope) - log_p;
        if rise > 0.0 {
            (ridge, log_p) = (next, log_p + rise);
            slope.copy_from_slice(&next_slope);
        } else {
            t *= 0.5;
        }
        if (0.0..LEVEL).contains(&rise) || t < LEAST {
            break;
        }
    }
    ridge
}

/// Falls of the log density between the near radii, in units of the spread of draws along the axis.
fn falls_along(white: &dyn LogDensity, axis: &[f64], spread: f64) -> [f64; NEAR.len() - 1] {
    let mut work = vec![0.0; white.work_len(1)];
    let log_p = NEAR.map(|radius| {
        let y: Vec<f64> = axis.iter().map(|u| spread * radius * u).collect();
        white.log_density(&y, &mut work)
    });
    std::array::from_fn(|k| (log_p[k] - log_p[k + 1]) / (NEAR[k + 1] / NEAR[k]).ln())
}

/// The vector with length 1, if it has a length.
fn unit(x: Vec<f64>) -> Option<Vec<f64>> {
    let length = numeric::dot(&x, &x).sqrt();
    length.is_normal().then(|| x.iter().map(|x| x / length).collect())
}

/// Standard deviation, about 0, of weighted points along an axis.
fn spread_along(white: &Mat<f64>, weights: &[f64], axis: &[f64]) -> f64 {
    let square = |j: usize| numeric::dot(white.col_as_slice(j), axis).powi(2);
    let all: f64 = weights.iter().enumerate().map(|(j, weight)| weight * square(j)).sum();
    (all / weights.iter().sum::<f64>()).sqrt()
}

/// Unit vector along which draws lie far out: the first axis of their fourth moments `sum_j w_j |y_j|^2 y_j y_j'`, in coordinates with mean 0 and
/// covariance I.
fn far_axis(white: &Mat<f64>, weights: &[f64]) -> Option<Vec<f64>> {
    let square = |j: usize| numeric::dot(white.col_as_slice(j), white.col_as_slice(j));
    let pulls: Vec<f64> = weights.iter().enumerate().map(|(j, weight)| weight * square(j)).collect();
    let size = |j: usize| pulls[j] * square(j);
    let farthest = (0..white.ncols()).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
    let mut axis = unit(white.col_as_slice(farthest).to_vec())?;
    for _ in 0..STEPS {
        let mut next = vec![0.0; axis.len()];
        for (j, pull) in pulls.iter().enumerate() {
            let column = white.col_as_slice(j);
            let part = pull * numeric::dot(column, &axis);
            next.iter_mut().zip(column).for_each(|(sum, y)| *sum += part * y);
        }
        axis = unit(next)?;
    }
    Some(axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;
    use mcsa_core::from_fn;

    fn objection_in(dim: usize, log_density: impl Fn(f64) -> f64 + Send + Sync) -> Option<Objection> {
        let radius = |z: &[f64]| z.iter().map(|z| z * z).sum::<f64>().sqrt();
        let density = from_fn(dim, move |z: &[f64]| log_density(radius(z)));
        let map = AffineMap::new(vec![0.0; dim], Mat::identity(dim, dim)).expect("a factor");
        let draws = Mat::from_fn(dim, 2 * dim, |i, j| if i == j / 2 { [1.0, -1.0][j % 2] } else { 0.0 });
        tail_objection(&Target::density_only(&density), &map, Seed::new(1), &draws, &vec![1.0; 2 * dim])
    }

    fn objection(log_density: impl Fn(f64) -> f64 + Send + Sync) -> Option<Objection> {
        objection_in(2, log_density)
    }

    /// A wall of 10^12 nats where the density is looked at first.
    fn wall(r: f64) -> f64 {
        if (500.0..1e4).contains(&r) { -1e12 } else { 0.0 }
    }

    #[test]
    fn the_tail_beyond_a_wall_decides() {
        assert_eq!(objection(|r| wall(r) - 0.5 * r * r), None);
        // Counterexamples: a Cauchy tail beyond the wall, one without it, and a density that does not fall.
        for tail in [objection(|r| wall(r) - (r * r).ln_1p()), objection(|r| -(r * r).ln_1p())] {
            let Some(Objection::Tail { name, fall }) = &tail else { panic!("{tail:?}") };
            assert!(name == "z[0]" && (fall - 2.0).abs() < 1e-3, "{tail:?}");
        }
        let rises = objection(|r| 0.1 * r.ln_1p()).expect("an objection").to_string();
        assert_eq!(rises, "the density does not fall along z[0]: the posterior is improper");
    }

    /// `-exp(|z|)`, constant beyond 30. Counterexample: constant beyond 3, where it is 19 nats below the centre.
    #[test]
    fn a_cut_off_exponential_is_no_objection() {
        let of = |most: f64| objection(move |r| -r.min(most).exp());
        assert_eq!(of(30.0), None);
        assert!(matches!(of(3.0), Some(Objection::Tail { fall: 0.0, .. })), "{:?}", of(3.0));
    }

    /// Data determine z up to 30, beyond which the likelihood is flat: `e^-450` of the mass is in the tail of the prior.
    #[test]
    fn a_tail_of_no_mass_is_no_objection() {
        let likelihood = |depth: f64| move |r: f64| -depth.min(0.5 * r * r) - 1.6 * (r * r).ln_1p();
        assert_eq!(objection(likelihood(450.0)), None);
        // Counterexample: a hump above a tail that has a share of the mass.
        assert!(
            matches!(objection(likelihood(10.0)), Some(Objection::Tail { fall, .. }) if (fall - 3.2).abs() < 1e-3)
        );
    }

    /// A Student t with two degrees of freedom, `n / E^1/2` with n normal and E exponential, across four axes: along these it is normal far out.
    #[test]
    fn a_heavy_tail_across_the_axes_is_seen() {
        let mut stream = Seed::new(4).stream(0, 0);
        let draws = Mat::from_fn(4, 4_000, |_, _| stream.normal());
        let heavy: Vec<f64> = (0..4_000).map(|_| stream.normal() / (-stream.uniform().ln()).sqrt()).collect();
        let objection = |is_heavy: bool| {
            // The component along (1, 1, 1, 1) / 2 is replaced.
            let along = |z: &[f64]| 0.5 * z.iter().sum::<f64>();
            let points = Mat::from_fn(4, 4_000, |i, j| {
                let other = if is_heavy { heavy[j] } else { along(draws.col_as_slice(j)) };
                draws[(i, j)] + 0.5 * (other - along(draws.col_as_slice(j)))
            });
            let density = from_fn(4, move |z| {
                let (square, along) = (z.iter().map(|z| z * z).sum::<f64>(), along(z));
                let line = if is_heavy { -1.5 * (0.5 * along * along).ln_1p() } else { -0.5 * along * along };
                line - 0.5 * (square - along * along)
            });
            let found = crate::posterior::climb::moments::of_points(points.as_ref());
            let map = found.map().expect("a map");
            tail_objection(&Target::density_only(&density), &map, Seed::new(1), &points, &[1.0; 4_000])
        };
        let found = objection(true);
        assert!(
            matches!(&found, Some(Objection::Tail { name, fall }) if name == "a combination of parameters" && (2.0..3.4).contains(fall)),
            "{found:?}"
        );
        // Counterexample: a normal in this direction too.
        assert_eq!(objection(false), None);
    }

    /// A Student t with two degrees of freedom along the first of thirty parameters falls like `r^-2.92` between 5 and 20. An axis that is off by
    /// 0.1 has two standard deviations of a normal across it at 20, which add 1.4; an axis like any other leads there, too. Also where
    /// the coordinates are not quite white, of precisions 0.6 and 3 in place of 1: a whole step across the latter leads down.
    #[test]
    fn steps_across_the_axis_lead_to_the_ridge_of_a_tail() {
        let precision = |i: usize| if i.is_multiple_of(3) { 3.0 } else { 0.6 };
        let density = from_fn(30, move |z| {
            let others: f64 = (1..30).map(|i| precision(i) * z[i] * z[i]).sum();
            -1.5 * (0.5 * z[0] * z[0]).ln_1p() - 0.5 * others
        });
        let map = AffineMap::new(vec![0.0; 30], Mat::identity(30, 30)).expect("a map");
        let axis: Vec<f64> =
            (0..30).map(|i| [0.1_f64.cos(), 0.1_f64.sin()].get(i).copied().unwrap_or(0.0)).collect();
        let white = Whitened::new(&density, map).expect("one dimension");
        for start in [axis, vec![30.0_f64.powf(-0.5); 30]] {
            let falls = falls_along(&white, &ridge(&Differences::new(&white), &start, 20.0), 1.0);
            let known = |k: usize| {
                let [a, b] = [NEAR[k], NEAR[k + 1]];
                1.5 * ((2.0 + b * b) / (2.0 + a * a)).ln() / (b / a).ln()
            };
            assert!(falls.iter().enumerate().all(|(k, fall)| (fall - known(k)).abs() < 0.2), "{falls:?}");
            // Counterexample: without steps.
            assert!(falls_along(&white, &start, 1.0).iter().any(|fall| *fall > RULE.no_variance));
        }
    }

    /// Normal parameters with correlations 0.9 in 120 dimensions, in coordinates of single parameters: draws spread 10 units along `(1, .., 1)`,
    /// so that 5 to 20 units are 0.5 to 2 standard deviations, where a normal falls by 0.3 to 2.9 nats per e-fold.
    #[test]
    fn far_draws_are_measured_by_their_own_spread() {
        let (dim, correlation) = (120, 0.9_f64);
        let mut stream = Seed::new(6).stream(0, 0);
        let points = {
            let shared: Vec<f64> = (0..2_000).map(|_| correlation.sqrt() * stream.normal()).collect();
            Mat::from_fn(dim, 2_000, |_, j| shared[j] + (1.0 - correlation).sqrt() * stream.normal())
        };
        let along = 1.0 + (dim as f64 - 1.0) * correlation;
        let density = from_fn(dim, move |z| {
            let mean_square = z.iter().sum::<f64>().powi(2) / dim as f64;
            -0.5 * (mean_square / along + (numeric::dot(z, z) - mean_square) / (1.0 - correlation))
        });
        let map = AffineMap::new(vec![0.0; dim], Mat::identity(dim, dim)).expect("a map");
        let axis = vec![(dim as f64).powf(-0.5); dim];
        let unit = spread_along(&points, &[1.0; 2_000], &axis);
        assert!((unit - along.sqrt()).abs() < 0.5, "{unit}");
        let white = Whitened::new(&density, map.clone()).expect("one dimension");
        // Between 14 and 20 units.
        let fall = |unit: f64| falls_along(&white, &axis, unit)[3];
        assert!(
            (fall(unit) - 102.0 / (20.0_f64 / 14.0).ln() * unit * unit / along).abs() < 1.0,
            "{}",
            fall(unit)
        );
        assert_eq!(
            tail_objection(&Target::density_only(&density), &map, Seed::new(1), &points, &[1.0; 2_000]),
            None
        );
        // Counterexample: the units of single parameters.
        assert!(fall(1.0) < RULE.no_variance, "{}", fall(1.0));
    }

    /// In two dimensions a density that falls like `r^-4` leaves `r^-3` over cones, less than along its axes; in five one like `r^-7`.
    #[test]
    fn the_volume_counts_along_random_directions() {
        for (dim, power) in [(2, 4.0), (5, 7.0)] {
            let falls_like = |power: f64| objection_in(dim, move |r| -0.5 * power * (r * r).ln_1p());
            let words = falls_like(power).expect("an objection").to_string();
            assert!(words.contains("r^-3.00 along random directions (less the volume"), "{words}");
            assert_eq!(falls_like(power + 0.5), None);
        }
    }
}
