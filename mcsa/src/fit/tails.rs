//! Tails of a density along rays.

use mcsa_core::{AffineMap, LogDensity, Seed};

use super::{Objection, Target};

/// Distances in standard deviations of q at which the density is looked at.
const NEAR: f64 = 1e3;
const FAR: f64 = 1e5;
/// Random directions, beside those of the axes.
const RANDOM: usize = 20;
/// Exponent of the fall up to which the variance along a line does not exist, with room for rounding, or rests on so few draws that
/// thousands do not estimate it: n draws of a density that falls like `r^-(1 + nu)` reach about `n^(1/nu)` and see but
/// `1 - n^(-(nu - 2)/nu)` of the variance, 0.75 of it for `nu = 2.4` and n = 4000.
const HEAVIEST: f64 = 3.4;
/// Most axes.
const AXES: usize = 50;

/// The objection to a density that falls too slowly for moments to exist, or for draws to show them: along a ray from the centre of q,
///
/// ```text
/// (log p(NEAR) - log p(FAR)) / log(FAR / NEAR) <= 3.4
/// ```
/// A density that falls like `r^-3` or more slowly along an axis has no variance over that line; like `1/r`, no integral. Along random
/// directions the density is taken to fall alike in a cone, and has to fall faster by `r^(d - 1)`.
pub(crate) fn tail_objection(target: &Target<'_>, map: &AffineMap, seed: Seed) -> Option<Objection> {
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
        let (near, far) = (at(NEAR), at(FAR));
        let fall = (near - far) / (FAR / NEAR).ln();
        // Along a random direction the density is taken to fall alike in a cone, whose volume grows like r^(d - 1).
        let fall = if axis.is_some() { fall } else { fall - (dim as f64 - 1.0) };
        if near.is_finite() && far.is_finite() && fall <= HEAVIEST {
            let name = axis.map_or_else(
                || "random directions, with the volume that grows like r^(d - 1),".to_owned(),
                |i| target.name(i),
            );
            return Some(Objection::Tail { name, fall });
        }
    }
    None
}
