//! Effects in units of their scales: coordinates in which chains move better.

use std::ops::Range;

use faer::Mat;
use mcsa_core::{Gradient, LogDensity, borrow};

use super::Case;
use crate::catalog::Posterior;

/// Coordinates of a target that are effects around a location, with a scale whose logarithm is the sum of coordinates:
///
/// ```text
/// z_k = z_location + e^(sum_s z_s) eta_k,   k in place, s in scales
/// ```
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Effects {
    place: Range<usize>,
    scales: Vec<usize>,
    /// Coordinate of the location; 0 without one.
    location: Option<usize>,
}

impl Effects {
    /// Location and logarithm of the scale at a point.
    fn at(&self, z: &[f64]) -> (f64, f64) {
        let log_scale = self.scales.iter().map(|&s| z[s]).sum::<f64>();
        (self.location.map_or(0.0, |k| z[k]), log_scale)
    }
}

impl Case {
    /// Effects of a case on which chains move better in units of their scales.
    pub(super) fn effects(&self, dim: usize) -> Vec<Effects> {
        let counties = dim.saturating_sub(5) / 2;
        match self {
            Self::RadonCounties => vec![
                Effects { place: 5..5 + counties, scales: vec![0], location: Some(3) },
                Effects { place: 5 + counties..dim, scales: vec![1], location: Some(4) },
            ],
            Self::HierarchicalRows { .. } => vec![
                Effects { place: 2..dim - 1, scales: vec![0], location: None },
                Effects { place: dim - 1..dim, scales: vec![1], location: None },
            ],
            _ => Vec::new(),
        }
    }
}

/// Target with effects in units of their scales; the density includes the Jacobian.
pub(super) struct Unscaled<'a> {
    pub(super) posterior: &'a dyn Posterior,
    pub(super) effects: Vec<Effects>,
}

impl Unscaled<'_> {
    /// Replaces units by effects; returns the log-Jacobian.
    fn scale(&self, z: &mut [f64]) -> f64 {
        let mut log_jacobian = 0.0;
        for effects in &self.effects {
            let (location, log_scale) = effects.at(z);
            let scale = log_scale.exp();
            log_jacobian += effects.place.len() as f64 * log_scale;
            z[effects.place.clone()].iter_mut().for_each(|z| *z = location + scale * *z);
        }
        log_jacobian
    }

    /// Replaces units by effects in each column.
    pub(super) fn scale_each(&self, points: &mut Mat<f64>) {
        for j in 0..points.ncols() {
            self.scale(points.col_as_slice_mut(j));
        }
    }
}

impl LogDensity for Unscaled<'_> {
    fn dim(&self) -> usize {
        self.posterior.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim() + self.posterior.work_len(1)
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let point = borrow(&mut work, z.len());
        point.copy_from_slice(z);
        self.scale(point) + self.posterior.log_density(point, work)
    }
}

impl Gradient for Unscaled<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let point = borrow(&mut work, z.len());
        point.copy_from_slice(z);
        let log_p = self.scale(point) + self.posterior.gradient_into(point, gradient, work);
        for effects in &self.effects {
            let scale = effects.at(z).1.exp();
            let (mut of_scale, mut of_location) = (effects.place.len() as f64, 0.0);
            for k in effects.place.clone() {
                of_location += gradient[k];
                gradient[k] *= scale;
                of_scale += gradient[k] * z[k];
            }
            effects.scales.iter().for_each(|&s| gradient[s] += of_scale);
            if let Some(location) = effects.location {
                gradient[location] += of_location;
            }
        }
        log_p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use mcsa_data::Catalogue;

    /// Log densities differ by the log-Jacobian, gradients are central differences, and a gradient without the derivative of the
    /// Jacobian is not.
    #[test]
    fn the_gradient_is_a_difference() {
        let hierarchical = Case::HierarchicalRows { data: "heart_cleveland".into() };
        for case in [Case::RadonCounties, hierarchical] {
            let built = case.posterior(&Catalogue::new(None)).unwrap();
            let (posterior, dim) = (&*built.posterior, built.posterior.dim());
            let target = Unscaled { posterior, effects: case.effects(dim) };
            let (mut stream, mut work) = (Seed::new(3).stream(0, 0), vec![0.0; target.work_len(1)]);
            let z: Vec<f64> = (0..dim).map(|_| 0.1 * stream.normal()).collect();
            let mut gradient = vec![0.0; dim];
            let log_p = target.gradient_into(&z, &mut gradient, &mut work);
            let mut scaled = z.clone();
            let log_jacobian = target.scale(&mut scaled);
            assert!((log_p - log_jacobian - posterior.log_density(&scaled, &mut work)).abs() < 1e-9);
            for k in 0..dim {
                let mut at = |step: f64| {
                    let mut z = z.clone();
                    z[k] += step;
                    target.log_density(&z, &mut work)
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                let error = (gradient[k] - difference).abs() / (1.0 + difference.abs());
                assert!(error < 1e-5, "{}, {k}: {} {difference}", case.title(), gradient[k]);
                let of_scale = target.effects.iter().filter(|effects| effects.scales.contains(&k));
                let terms: f64 = of_scale.map(|effects| effects.place.len() as f64).sum();
                assert!(terms == 0.0 || (gradient[k] - terms - difference).abs() > 0.5);
            }
        }
    }
}
