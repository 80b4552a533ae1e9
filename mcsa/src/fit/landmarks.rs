//! Points at which a fit remembers the density of its target.

use mcsa_core::{Error, LogDensity, Seed, bits};
use serde::{Deserialize, Serialize};

use super::ascents::Mode;
use super::{Objection, Target};

/// Points with their log densities, by which a checkpoint is told from that of another target: the origin, three standard normal
/// points, and the first mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Landmarks {
    known: Vec<Landmark>,
    has_gradient: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Landmark {
    #[serde(with = "bits::vector")]
    point: Vec<f64>,
    #[serde(with = "bits::scalar")]
    log_p: f64,
}

/// Equality of bits, so that NaN equals NaN.
impl PartialEq for Landmark {
    fn eq(&self, other: &Self) -> bool {
        self.point == other.point && self.log_p.to_bits() == other.log_p.to_bits()
    }
}

/// Number of points that are known before any mode is.
const FIRST: usize = 4;
/// Relative difference of log densities that is rounding.
const ROUNDING: f64 = 1e-8;

impl Landmarks {
    /// Evaluates the target at the points that are not known yet. A second evaluation, which is not counted, must give the same bits, or
    /// NaN twice; else there is an objection.
    pub(crate) fn note(&mut self, target: &Target<'_>, modes: &[Mode], seed: Seed) -> Option<Objection> {
        let mut points = Vec::new();
        if self.known.is_empty() {
            self.has_gradient = target.gradient().is_some();
            let mut stream = seed.named("landmarks").stream(0, 0);
            points = vec![vec![0.0; target.dim()]; FIRST];
            points[1..].iter_mut().for_each(|point| stream.normals_into(point));
        } else if self.known.len() == FIRST {
            points.extend(modes.first().map(|mode| mode.point.clone()));
        }
        let mut work = vec![0.0; target.density().work_len(1)];
        let before = self.known.len();
        for point in points {
            let log_p = target.density().log_density(&point, &mut work);
            self.known.push(Landmark { point, log_p });
        }
        self.known[before..].iter().find_map(|Landmark { point, log_p: first }| {
            let second = target.density().inner().log_density(point, &mut work);
            let is_equal = first.to_bits() == second.to_bits() || (first.is_nan() && second.is_nan());
            (!is_equal).then_some(Objection::Random { first: *first, second })
        })
    }

    /// True if the points of `later` begin with these.
    pub(crate) fn begin(&self, later: &Self) -> bool {
        later.known.starts_with(&self.known)
            && (self.known.is_empty() || self.has_gradient == later.has_gradient)
    }

    /// Checks that the densities are those of `target`, without counting the evaluations.
    ///
    /// # Errors
    /// If they are those of another target; the message names the difference.
    pub(crate) fn verify(&self, target: &Target<'_>) -> Result<(), Error> {
        let density = target.density().inner();
        let mut work = vec![0.0; density.work_len(1)];
        for (k, Landmark { point, log_p }) in self.known.iter().enumerate() {
            if point.len() != target.dim() {
                let (there, here) = (point.len(), target.dim());
                return Err(Error::invalid(format!("its target has dimension {there}, this one {here}")));
            }
            let found = density.log_density(point, &mut work);
            let size = log_p.abs().max(found.abs()).max(1.0);
            let is_near = size.is_finite() && (log_p - found).abs() <= ROUNDING * size;
            if !(is_near || *log_p == found || (log_p.is_nan() && found.is_nan())) {
                return Err(Error::invalid(format!(
                    "log p at its point {k} is {log_p:e} there and {found:e} here: it belongs to another target or to other data"
                )));
            }
        }
        if !self.known.is_empty() && self.has_gradient != target.gradient().is_some() {
            let had =
                if self.has_gradient { "a gradient, this one has none" } else { "no gradient, this one has" };
            return Err(Error::invalid(format!("its target has {had}")));
        }
        Ok(())
    }
}
