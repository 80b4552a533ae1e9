//! Gaussian mixture target with several modes.

use faer::Mat;
use mcsa_core::numeric::log_sum_exp;
use mcsa_core::{
    Error, ExactDraws, Gradient, LogDensity, Stream, all_finite, at_least_one, borrow, same_length,
};

use crate::support::{decided, positive};
use crate::{Gaussian, GroundTruth};

/// Mixture of Gaussians, normalised:
///
/// ```text
/// p(z) = sum_k weight_k N(z; mean_k, covariance_k),   E z = sum_k weight_k mean_k
/// Cov z = sum_k weight_k (covariance_k + mean_k mean_k^T) - E z E z^T
/// ```
///
/// Numerics: terms are summed in log space, so that a component whose density underflows does no harm.
///
/// ```
/// use mcsa_models::{GroundTruth, Mixture};
/// let target = Mixture::modes(2, 4.0, 0.3)?;
/// assert!((target.mean().unwrap()[0] - 0.4 * -2.0).abs() < 1e-15);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mixture {
    log_weights: Vec<f64>,
    components: Vec<Gaussian>,
    dim: usize,
}

impl Mixture {
    /// A mixture of components with weights that need not add up to one.
    ///
    /// # Errors
    /// If there is no component, the number of weights is not that of components, the dimensions differ, or a weight is not
    /// positive and finite.
    pub fn new(weights: &[f64], components: Vec<Gaussian>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Mixture");
        let Some(dim) = components.first().map(LogDensity::dim) else {
            return Err(refuse(Error::invalid("no component: a mixture needs at least one")));
        };
        same_length("weights", components.len(), weights.len()).map_err(refuse)?;
        all_finite("weights", weights).map_err(refuse)?;
        weights.iter().try_for_each(|&weight| positive("weight", weight)).map_err(refuse)?;
        components.iter().try_for_each(|c| same_length("component", dim, c.dim())).map_err(refuse)?;
        let total: f64 = weights.iter().sum();
        let log_weights = weights.iter().map(|weight| (weight / total).ln()).collect();
        Ok(Self { log_weights, components, dim })
    }

    /// Two standard normals, centred at `-distance/2` and `distance/2` on the first axis, the second with weight `share`.
    ///
    /// # Errors
    /// If the dimension is zero, the distance not finite, or the share not strictly between 0 and 1.
    pub fn modes(dim: usize, distance: f64, share: f64) -> Result<Self, Error> {
        at_least_one("dim", dim).map_err(|error| error.within("Mixture"))?;
        let centred = |x: f64| {
            let mut mean = vec![0.0; dim];
            mean[0] = x;
            Gaussian::diagonal(mean, vec![1.0; dim])
        };
        Self::new(&[1.0 - share, share], vec![centred(-0.5 * distance)?, centred(0.5 * distance)?])
    }

    /// Two interleaved half circles ("two moons"), each of `per_moon` isotropic components with standard deviation `noise`.
    ///
    /// All weights are equal. The first moon is open below, the second above; the components of the first moon come first.
    ///
    /// ```text
    /// upper: (cos a, sin a),   lower: (1 - cos a, 1/2 - sin a),   a = pi (k + 1/2) / per_moon
    /// ```
    ///
    /// # Errors
    /// If there is no component, or the noise is not positive and finite.
    pub fn moons(per_moon: usize, noise: f64) -> Result<Self, Error> {
        positive("noise", noise).map_err(|error| error.within("Mixture"))?;
        let angle = |k: usize| std::f64::consts::PI * (k as f64 + 0.5) / per_moon as f64;
        let upper = (0..per_moon).map(|k| vec![angle(k).cos(), angle(k).sin()]);
        let lower = (0..per_moon).map(|k| vec![1.0 - angle(k).cos(), 0.5 - angle(k).sin()]);
        let round = |mean| Gaussian::diagonal(mean, vec![noise; 2]);
        let components = upper.chain(lower).map(round).collect::<Result<Vec<_>, _>>()?;
        Self::new(&vec![1.0; components.len()], components)
    }

    /// `count` isotropic components of scale `scale` with equal weights in the plane, whose means are uniform on a square around
    /// the origin with sides of length `2 extent`.
    ///
    /// The target of Midgley et al. (2023) has 40 components, an extent of 40 and the scale `log(1 + e) = 1.3133`. Its means come
    /// from one seed of another package's generator. Here the means have the same distribution, and are drawn from `stream`.
    ///
    /// # Errors
    /// If there is no component, or the extent or the scale is not positive and finite.
    pub fn scattered(count: usize, extent: f64, scale: f64, stream: &mut Stream) -> Result<Self, Error> {
        positive("extent", extent).map_err(|error| error.within("Mixture"))?;
        positive("scale", scale).map_err(|error| error.within("Mixture"))?;
        let mut place = || extent * (2.0 * stream.uniform() - 1.0);
        let round = |_| Gaussian::diagonal(vec![place(), place()], vec![scale; 2]);
        let components = (0..count).map(round).collect::<Result<Vec<_>, _>>()?;
        Self::new(&vec![1.0; count], components)
    }

    /// Index of the component with the largest posterior probability at `z`; `work` as for the log density.
    pub fn nearest(&self, z: &[f64], mut work: &mut [f64]) -> usize {
        let terms = borrow(&mut work, self.components.len());
        self.terms_into(z, terms, work);
        (0..terms.len()).max_by(|&a, &b| terms[a].total_cmp(&terms[b])).unwrap_or(0)
    }

    /// The components.
    pub fn components(&self) -> &[Gaussian] {
        &self.components
    }

    /// Weight of component `k`; the weights add up to one.
    pub fn weight(&self, k: usize) -> f64 {
        self.log_weights[k].exp()
    }

    /// Writes the log of each component's share of the density; `work` as for a component.
    fn terms_into(&self, z: &[f64], terms: &mut [f64], work: &mut [f64]) {
        for ((term, log_weight), component) in terms.iter_mut().zip(&self.log_weights).zip(&self.components) {
            *term = log_weight + component.log_density(z, work);
        }
    }
}

impl LogDensity for Mixture {
    fn dim(&self) -> usize {
        self.dim
    }

    fn work_len(&self, _: usize) -> usize {
        let component = self.components.iter().map(|c| c.work_len(1)).max();
        self.components.len() + self.dim + component.unwrap_or(0)
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let terms = borrow(&mut work, self.components.len());
        self.terms_into(z, terms, work);
        decided(log_sum_exp(terms), z)
    }
}

impl Gradient for Mixture {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let terms = borrow(&mut work, self.components.len());
        let part = borrow(&mut work, self.dim);
        self.terms_into(z, terms, work);
        let log_p = log_sum_exp(terms);
        gradient.fill(0.0);
        for (component, term) in self.components.iter().zip(&*terms) {
            // The responsibility of the component.
            let share = (term - log_p).exp();
            if share != 0.0 {
                component.gradient_into(z, part, work);
                gradient.iter_mut().zip(&*part).for_each(|(gradient, part)| *gradient += share * part);
            }
        }
        decided(log_p, z)
    }
}

impl ExactDraws for Mixture {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        let k = stream.choose(&self.log_weights).expect("weights are positive and finite");
        self.components[k].draw_into(stream, z);
    }
}

impl GroundTruth for Mixture {
    fn mean(&self) -> Option<Vec<f64>> {
        let at =
            |i: usize| self.components.iter().enumerate().map(move |(k, c)| self.weight(k) * c.mean()[i]);
        Some((0..self.dim).map(|i| at(i).sum()).collect())
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let mean = GroundTruth::mean(self)?;
        let mut total = Mat::zeros(self.dim, self.dim);
        for (k, component) in self.components.iter().enumerate() {
            let (covariance, centre) = (component.covariance(), component.mean());
            for j in 0..self.dim {
                for i in 0..self.dim {
                    let spread = (centre[i] - mean[i]) * (centre[j] - mean[j]);
                    total[(i, j)] += self.weight(k) * (covariance[(i, j)] + spread);
                }
            }
        }
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of the second moon lie inside the first: a point there belongs to the second.
    #[test]
    fn a_point_belongs_to_the_nearest_component() {
        let moons = Mixture::moons(8, 0.1).unwrap();
        let mut work = vec![0.0; moons.work_len(1)];
        for (k, component) in moons.components().iter().enumerate() {
            assert_eq!(moons.nearest(component.mean(), &mut work), k);
        }
        assert!(moons.nearest(&[0.05, 0.3], &mut work) >= 8 && moons.nearest(&[1.0, 0.1], &mut work) < 8);
        assert!(Mixture::moons(0, 0.1).is_err() && Mixture::moons(3, 0.0).is_err());
    }
}
