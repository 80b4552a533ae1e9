//! Laws of the density at random and far points, and of derivatives: against differences and against oracles.

use faer::Mat;
use mcsa_core::{Columns, Curvature, Gradient, LogDensity};

use super::{Case, Failure};
use crate::law::{Direction, Power, ROUNDING, is_slope, is_slope_in_the_tails, near, slope, unit};

const POINTS: usize = 4;

/// `gradient_into` writes the gradient of `log_density`, tested at four points.
///
/// Central differences with steps 1/8, 1/16, .., 2^-14 of the spread, extrapolated; the tolerance is ten times the
/// extrapolation's own error estimate plus 1e-9, relative to slopes above one. With more than 48 coordinates,
/// 24 of them and 3 directions that mix all coordinates are tested.
pub fn gradient_is_gradient(case: &Case<dyn Gradient + '_>) -> Result<(), Failure> {
    let mut gradient = vec![f64::NAN; case.target.dim()];
    let mut moved = gradient.clone();
    case.each_point(POINTS, |j, z| {
        gradient.fill(f64::NAN);
        case.target.gradient_into(z, &mut gradient, &mut case.work(1));
        case.directions().iter().try_for_each(|direction| {
            let place = || format!("{}, point {j}", direction.name);
            let expected = slope(ROUNDING, |t| {
                direction.move_into(z, t, &mut moved);
                case.log_density(&moved)
            });
            is_slope("gradient_is_gradient", place, direction.dot(&gradient), expected)
        })
    })
}

/// `gradient_into` returns `log_density`, within 1e-12 (relative above one).
pub fn gradient_returns_the_density(case: &Case<dyn Gradient + '_>) -> Result<(), Failure> {
    let mut gradient = vec![f64::NAN; case.target.dim()];
    case.each_point(8, |j, z| {
        let found = case.target.gradient_into(z, &mut gradient, &mut case.work(1));
        let expected = case.log_density(z);
        let tolerance = 1e-12 * (1.0 + expected.abs());
        near("gradient_returns_the_density", || format!("point {j}"), found, expected, tolerance)
    })
}

/// `hessian_vector_into` writes the derivative of the gradient along a vector, tested at four points with the differences and
/// the tolerance of [`gradient_is_gradient`].
pub fn hessian_vector_is_derivative(case: &Case<dyn Curvature + '_>) -> Result<(), Failure> {
    let dim = case.target.dim();
    let (mut product, mut gradient, mut moved) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    let all = case.directions();
    case.each_point(POINTS, |j, z| {
        for (k, along) in all.iter().enumerate() {
            product.fill(f64::NAN);
            case.target.hessian_vector_into(z, &along.v, &mut product, &mut case.work(1));
            for across in [along, &all[(k + 1) % all.len()]] {
                let place = || format!("{} along {}, point {j}", across.name, along.name);
                let expected = slope(ROUNDING, |t| {
                    along.move_into(z, t, &mut moved);
                    case.target.gradient_into(&moved, &mut gradient, &mut case.work(1));
                    across.dot(&gradient)
                });
                is_slope("hessian_vector_is_derivative", place, across.dot(&product), expected)?;
            }
        }
        Ok(())
    })
}

/// The log density equals that of an oracle, within 1e-10 (relative above one), at eight points.
///
/// The oracle is a second implementation: a textbook formula, or a probabilistic program.
pub fn density_equals(
    case: &Case<dyn LogDensity + '_>,
    oracle: &dyn Fn(&[f64]) -> f64,
) -> Result<(), Failure> {
    case.each_point(8, |j, z| {
        let expected = oracle(z);
        let tolerance = 1e-10 * (1.0 + expected.abs());
        near("density_equals", || format!("point {j}"), case.log_density(z), expected, tolerance)
    })
}

/// Extent of grid and axes, in spreads.
const REACH: f64 = 8.0;
/// Radii at which the tails begin and the rays end, in spreads.
const TAIL: f64 = 6.5;
const END: f64 = 1e3;
const BATCH: usize = 64;

/// The log density is a finite number or `-inf` at every probe: never NaN, never `+inf`. With `n` for [`Case::probes`]:
///
/// * `n` normal draws around the centre, alternately with one and three spreads. A region of NaN that has the share `x` of their
///   probability is missed with probability `(1 - x)^n`. The power returned is the `x` that is found with probability 0.9, about
///   `2.3 / n`.
/// * In at most three dimensions, a grid of about `n` nodes to 8 spreads. A region that contains a cell of the grid is always
///   found.
/// * `n / 64` points on each axis (on 16 axes, if there are more) to 8 spreads.
/// * `n / 256` rays from the centre in random directions and their opposites, 16 points on each from 6.5 to 1000 spreads.
///
/// A smaller region between the probes is not found.
pub fn density_is_never_nan(case: &Case<dyn LogDensity + '_>) -> Result<Option<Power>, Failure> {
    let dim = case.target.dim();
    if dim == 0 {
        return Ok(None);
    }
    let probes = case.probes.max(1);
    let mut stream = case.stream("probes");
    let mut offsets: Vec<Vec<f64>> = (0..probes)
        .map(|k| (0..dim).map(|_| if k % 2 == 0 { 1.0 } else { 3.0 } * stream.normal()).collect())
        .collect();
    let cells = (probes as f64).powf(1.0 / dim as f64) as usize;
    let node = |k: usize, of: usize| REACH * ((2 * k + 1) as f64 / of as f64 - 1.0);
    let is_grid = dim <= 3;
    if is_grid {
        let place = |k: usize| (0..dim).map(|i| node(k / cells.pow(i as u32) % cells, cells)).collect();
        offsets.extend((0..cells.pow(dim as u32)).map(place));
    }
    let on_axis = probes.div_ceil(64);
    for i in (0..dim).step_by(dim.div_ceil(16)) {
        offsets.extend((0..on_axis).map(|k| {
            let mut offset = vec![0.0; dim];
            offset[i] = node(k, on_axis);
            offset
        }));
    }
    let rays = probes.div_ceil(256);
    for _ in 0..rays {
        let direction = unit(dim, &mut stream);
        for k in 0..16 {
            let radius = TAIL * (END / TAIL).powf(f64::from(k) / 15.0);
            offsets.extend([radius, -radius].map(|r| direction.iter().map(|u| r * u).collect()));
        }
    }
    for some in offsets.chunks(BATCH) {
        let z = Mat::from_fn(dim, some.len(), |i, j| case.centre[i] + case.spread[i] * some[j][i]);
        for (j, log_p) in case.log_densities(z.as_ref()).into_iter().enumerate() {
            // Written so that NaN is refused.
            if !(log_p < f64::INFINITY) {
                let place = format!("at {}", shown(z.as_ref().column(j)));
                return Err(Failure::new(LAW, place, "a finite number or -inf", format!("{log_p}")));
            }
        }
    }
    let grid = if is_grid {
        format!(", a grid with cells of {:.3} spreads", 2.0 * REACH / cells as f64)
    } else {
        String::new()
    };
    let effort = format!("{probes} scattered probes{grid}, {rays} rays to {END} spreads");
    let size = 1.0 - 0.1_f64.powf(1.0 / probes as f64);
    Ok(Some(Power::new("the share of the scattered probes' law in a hole", size, effort)))
}

const LAW: &str = "density_is_never_nan";

/// `gradient_into` writes the gradient of `log_density` in the tails: at 6.5, 10, 30, 100 and 1000 spreads from the centre on
/// either side, on `n / 1024` lines (`n` for [`Case::probes`]), alternately in a random direction and along an axis. At each point
/// the slopes along the line and in another random direction are compared with differences by [`is_slope_in_the_tails`]. Points
/// where the log density is `-inf` are skipped.
pub fn gradient_holds_in_the_tails(case: &Case<dyn Gradient + '_>) -> Result<(), Failure> {
    const LAW: &str = "gradient_holds_in_the_tails";
    let dim = case.target.dim();
    let mut stream = case.stream("tails");
    let (mut gradient, mut moved) = (vec![0.0; dim], vec![0.0; dim]);
    let lines = if dim == 0 { 0 } else { case.probes.div_ceil(1024) };
    for line in 0..lines {
        let mut along = Direction::random(&case.spread, &mut stream);
        if line % 2 == 1 {
            along = Direction::coordinate("coordinate", line / 2 % dim, &case.spread);
        }
        for radius in [TAIL, 10.0, 30.0, 100.0, END].into_iter().flat_map(|radius| [radius, -radius]) {
            let mut z = vec![0.0; dim];
            along.move_into(&case.centre, radius, &mut z);
            gradient.fill(f64::NAN);
            let log_p = case.target.gradient_into(&z, &mut gradient, &mut case.work(1));
            if log_p == f64::NEG_INFINITY {
                continue;
            }
            let place = |what: &str| format!("slope in {what}, at {radius} spreads along {}", along.name);
            for direction in [&along, &Direction::random(&case.spread, &mut stream)] {
                let found = direction.dot(&gradient);
                let expected = slope(ROUNDING, |t| {
                    direction.move_into(&z, t, &mut moved);
                    case.log_density(&moved)
                });
                let size = direction.v.iter().zip(&gradient).map(|(v, g)| (v * g).abs()).sum();
                is_slope_in_the_tails(LAW, || place(&direction.name), found, expected, size)?;
            }
        }
    }
    Ok(())
}

/// The first six coordinates of a point, as text.
fn shown(z: &[f64]) -> String {
    let few: Vec<String> = z.iter().take(6).map(|z| format!("{z:.4}")).collect();
    let more = if z.len() > 6 { format!(", .. ({} in all)", z.len()) } else { String::new() };
    format!("[{}{more}]", few.join(", "))
}

const FAR: [f64; 6] = [1e3, 1e8, 1e154, 1e200, 1e306, f64::MAX];

/// At far finite points the log density is a number or `-inf`, never NaN or `+inf`. At a point with an infinite
/// coordinate it is `-inf`; at a point with a NaN coordinate it is `-inf` or NaN.
///
/// Tested with all coordinates far at once, and with one far coordinate (16 of them, if there are more) and the others at the
/// centre.
pub fn far_points_are_decided(case: &Case<dyn LogDensity + '_>) -> Result<(), Failure> {
    const LAW: &str = "far_points_are_decided";
    let dim = case.target.dim();
    if dim == 0 {
        return Ok(());
    }
    let decided = |z: &[f64], place: String| match case.log_density(z) {
        log_p if log_p < f64::INFINITY => Ok(()),
        log_p => Err(Failure::new(LAW, place, "a finite number or -inf", format!("{log_p}"))),
    };
    let not_finite = |z: &[f64], value: f64, place: String| match case.log_density(z) {
        log_p if log_p == f64::NEG_INFINITY || log_p.is_nan() && value.is_nan() => Ok(()),
        log_p => Err(Failure::new(LAW, place, "-inf", format!("{log_p}"))),
    };
    let step = dim.div_ceil(16);
    for value in FAR.into_iter().flat_map(|far| [far, -far]) {
        decided(&vec![value; dim], format!("all coordinates {value:e}"))?;
        for i in (0..dim).step_by(step) {
            let mut z = case.centre.clone();
            z[i] = value;
            decided(&z, format!("coordinate {i} at {value:e}"))?;
        }
    }
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for i in (0..dim).step_by(step) {
            let mut z = case.centre.clone();
            z[i] = value;
            not_finite(&z, value, format!("coordinate {i} at {value}"))?;
        }
    }
    Ok(())
}
