//! One ascent: its end, and the points that it passes where mass may be.

use std::f64::consts::{E, TAU};

use mcsa_core::{AffineMap, Gradient, LogDensity, bits};
use mcsa_optim::deterministic::{Lbfgs, Outcome};
use serde::{Deserialize, Serialize};

use crate::posterior::density::differences::Differences;

/// A point with its log density.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Evaluated {
    #[serde(with = "bits::vector")]
    pub(crate) point: Vec<f64>,
    #[serde(with = "bits::scalar")]
    pub(crate) log_p: f64,
}

/// Equality of bits, so that NaN equals NaN.
impl PartialEq for Evaluated {
    fn eq(&self, other: &Self) -> bool {
        self.point == other.point && self.log_p.to_bits() == other.log_p.to_bits()
    }
}

/// A point that an ascent passed: that with the largest mass by one of two guesses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Passed {
    pub(crate) at: Evaluated,
    /// The guess: the mass of a shell about the first mode, or of an isotropic Gaussian of the curvature on the way.
    #[serde(with = "bits::scalar")]
    pub(crate) log_mass: f64,
    pub(crate) is_of_shell: bool,
}

/// The middle of draws: from a point as near and as high as half of them an ascent leads to where those of the draws lead.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Within {
    /// Median distance from the first mode, in its coordinates.
    #[serde(with = "bits::scalar")]
    pub(crate) distance: f64,
    /// Median log density.
    #[serde(with = "bits::scalar")]
    pub(crate) log_p: f64,
}

impl Within {
    /// True if a point, in coordinates of the first mode, with this log density is in the middle.
    fn has(&self, y: &[f64], log_p: f64) -> bool {
        log_p >= self.log_p && length(y) <= self.distance
    }
}

/// Norm of the gradient, in whitened coordinates, at which an ascent ends.
pub(crate) const TOLERANCE: f64 = 0.1;
/// As [`TOLERANCE`], where Newton's step from the end is long, as at a mode that is much wider than the first, and of ascents by
/// differences.
pub(crate) const FINE: f64 = 0.001;
/// Steps of a slide.
const SLIDE: u64 = 20;

/// Where an ascent ends.
pub(crate) enum End {
    /// At a maximum z, whose whitened coordinates are y.
    Peak { y: Vec<f64>, z: Vec<f64>, log_p: f64 },
    /// In the middle of the draws.
    Within,
    /// At no maximum, or not yet.
    Nowhere,
}

/// End of an ascent in the coordinates of `map`, scaled on the way or not, and the points of its way. `white` has the gradient in these coordinates.
pub(crate) fn ascent(
    white: &dyn Gradient,
    map: &AffineMap,
    start: &[f64],
    tolerance: f64,
    within: Option<Within>,
    is_scaled: bool,
) -> (End, Vec<Passed>) {
    let (mut y, mut work, mut path) = (vec![0.0; start.len()], vec![0.0; white.work_len(1)], Vec::new());
    map.inverse_into(start, &mut y);
    let objective = |y: &[f64], slopes: &mut [f64]| {
        let log_p = white.gradient_into(y, slopes, &mut work);
        path.push((y.to_vec(), log_p, slopes.to_vec()));
        log_p
    };
    let ends = |y: &[f64], log_p: f64| within.is_some_and(|within| within.has(y, log_p - map.log_volume()));
    let peak = Lbfgs::with(tolerance, 300, 10).and_then(|lbfgs| match is_scaled {
        true => lbfgs.mode_of(objective, &y),
        false => lbfgs.maximise_until(objective, &y, ends),
    });
    let entries = entries(path, map);
    let end = match peak {
        Ok(peak) if peak.outcome == Outcome::Ended => End::Within,
        Ok(peak) if peak.outcome == Outcome::Converged => {
            let mut z = vec![0.0; y.len()];
            map.forward_into(&peak.point, &mut z);
            End::Peak { y: peak.point, z, log_p: peak.value - map.log_volume() }
        }
        _ => End::Nowhere,
    };
    (end, entries)
}

/// Of the points of an ascent in the coordinates of the target, that with the largest mass of a shell. An ascent in those of the first mode leaves
/// thin mass on which it begins, unless that lies along this mode.
pub(crate) fn slide<P: LogDensity + ?Sized>(target: &P, start: &[f64], map: &AffineMap) -> Option<Passed> {
    let slopes = Differences::new(target);
    let (mut y, mut work) = (vec![0.0; start.len()], vec![0.0; slopes.work_len(1)]);
    let mut most: Option<Passed> = None;
    let objective = |z: &[f64], gradient: &mut [f64]| {
        let log_p = slopes.gradient_into(z, gradient, &mut work);
        map.inverse_into(z, &mut y);
        let log_mass = of_shell(&y, log_p + map.log_volume());
        if log_mass.is_finite() && most.as_ref().is_none_or(|most| log_mass > most.log_mass) {
            let at = Evaluated { point: z.to_vec(), log_p };
            most = Some(Passed { at, log_mass, is_of_shell: true });
        }
        log_p
    };
    // Where it ends has no bearing.
    let _ = Lbfgs::with(TOLERANCE, SLIDE, 10).and_then(|lbfgs| lbfgs.maximise(objective, start)).ok()?;
    most
}

/// The points of a path, in whitened coordinates y with gradients g, that have the largest mass by each of two guesses: that of a shell about
/// the centre, which is `log Z` at the typical radius of every Gaussian there, and that of a Gaussian with the curvature on the way from the
/// point before, which is `log Z` of an isotropic one.
///
/// ```text
/// log p(y) + d log |y| + (d/2) log(2 pi e / d),    log p(y) + (d/2) log(2 pi c),    c = -dy'dg / |dg|^2
/// ```
fn entries(path: Vec<(Vec<f64>, f64, Vec<f64>)>, map: &AffineMap) -> Vec<Passed> {
    let Some((first, ..)) = path.first() else { return Vec::new() };
    let dim = first.len() as f64;
    let of_curvature = |k: usize| {
        let ((before, _, from), (y, log_p, to)) = (&path[k.checked_sub(1)?], &path[k]);
        let (mut product, mut square) = (0.0, 0.0);
        for i in 0..y.len() {
            product -= (y[i] - before[i]) * (to[i] - from[i]);
            square += (to[i] - from[i]).powi(2);
        }
        Some(log_p + 0.5 * dim * (TAU * product / square).ln())
    };
    let guess = |k: usize, is_of_shell: bool| match is_of_shell {
        true => of_shell(&path[k].0, path[k].1),
        false => of_curvature(k).unwrap_or(f64::NAN),
    };
    let found = [true, false].map(|is_of_shell| {
        let guesses =
            (0..path.len()).map(|k| (guess(k, is_of_shell), k)).filter(|(guess, _)| guess.is_finite());
        let (log_mass, k) = guesses.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (y, log_p, _) = &path[k];
        let mut point = vec![0.0; y.len()];
        map.forward_into(y, &mut point);
        Some(Passed { at: Evaluated { point, log_p: log_p - map.log_volume() }, log_mass, is_of_shell })
    });
    found.into_iter().flatten().collect()
}

/// The mass of a shell about the centre, by a point of it in whitened coordinates.
fn of_shell(y: &[f64], log_p: f64) -> f64 {
    let dim = y.len() as f64;
    log_p + dim * length(y).ln() + 0.5 * dim * (TAU * E / dim).ln()
}

/// Length of a point in whitened coordinates.
pub(crate) fn distance(map: &AffineMap, z: &[f64]) -> f64 {
    let mut y = vec![0.0; z.len()];
    map.inverse_into(z, &mut y);
    length(&y)
}

fn length(y: &[f64]) -> f64 {
    y.iter().map(|y| y * y).sum::<f64>().sqrt()
}
