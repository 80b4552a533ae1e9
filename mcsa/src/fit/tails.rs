//! Tails of a density along rays.

use mcsa_core::{AffineMap, LogDensity, Seed};

use super::{Objection, Target};

/// Distances in standard deviations of q at which the density is looked at.
const NEAR: f64 = 1e3;
const FAR: f64 = 1e5;
/// Random directions, beside those of the axes.
const RANDOM: usize = 20;
/// Most axes.
const AXES: usize = 50;

/// The objection to a density that does not fall fast enough to have an integral: along a ray from the centre of q,
///
/// ```text
/// (log p(NEAR) - log p(FAR)) / log(FAR / NEAR) <= 1
/// ```
/// A density that falls like `1/r` or more slowly along a line has no integral over the line; over a cone it would have to fall like
/// `r^-d`. Only what holds along single lines is looked at.
pub(crate) fn tail_objection(target: &Target<'_>, map: &AffineMap, seed: Seed) -> Option<Objection> {
    let (dim, density) = (target.dim(), target.density());
    let mut stream = seed.named("tails").stream(0, 0);
    let mut work = vec![0.0; density.work_len(1)];
    let centre = {
        let mut z = vec![0.0; dim];
        map.forward_into(&vec![0.0; dim], &mut z);
        z
    };
    for ray in 0..2 * dim.min(AXES) + RANDOM {
        let mut direction = vec![0.0; dim];
        let axis = (ray < 2 * dim.min(AXES)).then_some(ray / 2);
        match axis {
            // One coordinate of the target.
            Some(i) => {
                let mut ends = [0.0; 2];
                let mut y = vec![0.0; dim];
                y[i] = 1.0;
                let mut z = vec![0.0; dim];
                map.forward_into(&y, &mut z);
                ends[0] = (z[i] - centre[i]).abs();
                direction[i] = if ray % 2 == 0 { ends[0] } else { -ends[0] };
            }
            None => {
                let mut y = vec![0.0; dim];
                stream.normals_into(&mut y);
                let mut z = vec![0.0; dim];
                map.forward_into(&y, &mut z);
                direction.iter_mut().zip(&z).zip(&centre).for_each(|((to, z), from)| *to = z - from);
            }
        }
        let mut at = |radius: f64| {
            let z: Vec<f64> = centre.iter().zip(&direction).map(|(z, step)| z + radius * step).collect();
            density.log_density(&z, &mut work)
        };
        let (near, far) = (at(NEAR), at(FAR));
        let fall = (near - far) / (FAR / NEAR).ln();
        if near.is_finite() && far.is_finite() && fall <= 1.0 {
            let name = axis.map_or_else(|| "a random direction".to_owned(), |i| target.name(i));
            return Some(Objection::Tail { name, fall });
        }
    }
    None
}
