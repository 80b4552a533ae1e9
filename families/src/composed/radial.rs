//! Radial flow.

use mcsa_core::{Error, Stream};

use super::{Bijection, Composed, Invertible};
use crate::Link;

/// Radial layer: it contracts space towards a centre or expands it.
///
/// ```text
/// y = x + beta' h (x - z0),   h = 1 / (alpha + r),   r = |x - z0|,   alpha = softplus(a),   beta' = -alpha + softplus(b)
/// log |det dy/dx| = (d - 1) log(1 + beta' h) + log(1 + beta' h + beta' h' r),               params [z0; a; b]
/// ```
/// (Rezende & Mohamed 2015, eq. 14 and appendix A.2.) Since `beta' > -alpha`, the map is a bijection at every lambda. With
/// `e = softplus(b)` the two factors are `(r + e) / (alpha + r)` and `(r^2 + 2 alpha r + alpha e) / (alpha + r)^2`, without
/// cancellation.
///
/// The inverse has a closed form: the distance `s = |y - z0|` satisfies `s (alpha + r) = r (r + e)`, a quadratic in `r` with one
/// nonnegative root. At `r = 0` the log-determinant has a kink; its slope there is taken as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radial {
    /// The dimension.
    pub dim: usize,
}

/// Radial flow: a composition of radial layers, a teaching example for low dimensions.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::RadialFlow;
/// assert_eq!(RadialFlow::new(2, 8)?.num_params(), 4 + 8 * 4);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type RadialFlow = Composed<Radial>;

impl RadialFlow {
    /// Flow of `layers` radial layers, with a location and scale at the end.
    ///
    /// # Errors
    /// If `dim` is zero.
    pub fn new(dim: usize, layers: usize) -> Result<Self, Error> {
        Self::of(dim, vec![Radial { dim }; layers])
    }
}

struct Centre<'a> {
    z0: &'a [f64],
    /// `a` and `b`.
    raw: [f64; 2],
    alpha: f64,
    e: f64,
}

impl<'a> Centre<'a> {
    fn of(dim: usize, params: &'a [f64]) -> Self {
        let (z0, raw) = params.split_at(dim);
        let raw = [raw[0], raw[1]];
        let [alpha, e] = raw.map(|raw| Link::Softplus.scale(raw));
        Self { z0, raw, alpha, e }
    }

    fn distance(&self, x: &[f64]) -> f64 {
        let mut square = 0.0;
        for (x, z0) in x.iter().zip(self.z0) {
            square += (x - z0) * (x - z0);
        }
        square.sqrt()
    }

    /// `1 + beta' h`, the ratio of the distances to the centre after and before.
    fn across(&self, r: f64) -> f64 {
        (r + self.e) / (self.alpha + r)
    }

    /// `1 + beta' h + beta' h' r`, the derivative of the new distance in the old one.
    fn outward(&self, r: f64) -> f64 {
        self.quadratic(r) / (self.alpha + r) / (self.alpha + r)
    }

    fn quadratic(&self, r: f64) -> f64 {
        r * r + 2.0 * self.alpha * r + self.alpha * self.e
    }

    fn log_det(&self, r: f64) -> f64 {
        (self.z0.len() - 1) as f64 * self.across(r).ln() + self.outward(r).ln()
    }

    /// Distance `r` before the map, from the distance `s` after it.
    fn solve(&self, s: f64) -> f64 {
        let gap = self.e - s;
        let root = gap.hypot(2.0 * (s * self.alpha).sqrt());
        if gap > 0.0 { 2.0 * s * self.alpha / (gap + root) } else { 0.5 * (root - gap) }
    }

    /// Derivatives of the log-determinant in `r`, `alpha` and `e`.
    fn log_det_slopes(&self, r: f64) -> [f64; 3] {
        let (others, sum, quadratic) = ((self.z0.len() - 1) as f64, self.alpha + r, self.quadratic(r));
        [
            others * (1.0 / (r + self.e) - 1.0 / sum) + 2.0 * sum / quadratic - 2.0 / sum,
            -others / sum + (2.0 * r + self.e) / quadratic - 2.0 / sum,
            others / (r + self.e) + self.alpha / quadratic,
        ]
    }

    /// Adds the gradient of `cotangent . f(x) + weight log |det|` at one point; its gradient in `x` is written to `pulled`.
    fn add_gradient(
        &self,
        x: &[f64],
        cotangent: &[f64],
        weight: f64,
        gradient: &mut [f64],
        pulled: &mut [f64],
    ) {
        let (dim, r) = (x.len(), self.distance(x));
        let sum = self.alpha + r;
        let [d_r, d_alpha, d_e] = self.log_det_slopes(r);
        let mut along = 0.0;
        for i in 0..dim {
            along += cotangent[i] * (x[i] - self.z0[i]);
        }
        let slope = weight * d_r + along * (self.alpha - self.e) / sum / sum;
        let radial = if r > 0.0 { slope / r } else { 0.0 };
        for i in 0..dim {
            pulled[i] = self.across(r) * cotangent[i] + radial * (x[i] - self.z0[i]);
            gradient[i] += cotangent[i] - pulled[i];
        }
        let d_alpha = weight * d_alpha - along * (r + self.e) / sum / sum;
        let d_e = weight * d_e + along / sum;
        gradient[dim] += d_alpha * Link::Softplus.derivative(self.raw[0]);
        gradient[dim + 1] += d_e * Link::Softplus.derivative(self.raw[1]);
    }
}

impl Bijection for Radial {
    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.dim + 2
    }

    fn work_len(&self, _: usize) -> usize {
        2 * self.dim
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        Link::Softplus.check(&params[self.dim..])
    }

    /// The centre drawn from the standard normal, and `alpha = e = 1`.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
        params.extend((0..self.dim).map(|_| stream.normal()));
        params.extend([1.0_f64.exp_m1().ln(); 2]);
    }

    fn forward(&self, params: &[f64], x: &[f64], y: &mut [f64], log_det: &mut [f64], _: &mut [f64]) {
        let centre = Centre::of(self.dim, params);
        let points = x.chunks_exact(self.dim).zip(y.chunks_exact_mut(self.dim));
        for ((x, y), log_det) in points.zip(log_det) {
            let r = centre.distance(x);
            let factor = centre.across(r);
            for i in 0..self.dim {
                y[i] = centre.z0[i] + factor * (x[i] - centre.z0[i]);
            }
            *log_det += centre.log_det(r);
        }
    }

    fn pull(
        &self,
        params: &[f64],
        x: &[f64],
        _: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let centre = Centre::of(self.dim, params);
        let pulled = &mut work[..self.dim];
        let points = x.chunks_exact(self.dim).zip(cotangents.chunks_exact_mut(self.dim));
        for ((x, cotangent), &weight) in points.zip(weights) {
            centre.add_gradient(x, cotangent, weight, gradient, pulled);
            cotangent.copy_from_slice(pulled);
        }
    }
}

impl Invertible for Radial {
    fn inverse(&self, params: &[f64], y: &[f64], x: &mut [f64], log_det: &mut [f64], _: &mut [f64]) {
        let centre = Centre::of(self.dim, params);
        let points = y.chunks_exact(self.dim).zip(x.chunks_exact_mut(self.dim));
        for ((y, x), log_det) in points.zip(log_det) {
            let r = centre.solve(centre.distance(y));
            let factor = centre.across(r);
            for i in 0..self.dim {
                x[i] = centre.z0[i] + (y[i] - centre.z0[i]) / factor;
            }
            *log_det -= centre.log_det(r);
        }
    }

    fn pull_inverse(
        &self,
        params: &[f64],
        _: &[f64],
        x: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let centre = Centre::of(self.dim, params);
        let (turned, pulled) = work[..2 * self.dim].split_at_mut(self.dim);
        let points = x.chunks_exact(self.dim).zip(cotangents.chunks_exact_mut(self.dim));
        for ((x, cotangent), &weight) in points.zip(weights) {
            let r = centre.distance(x);
            let inverse = if r > 0.0 { 1.0 / r } else { 0.0 };
            let across = centre.across(r);
            let slope = -weight * centre.log_det_slopes(r)[0] * inverse;
            let mut along = 0.0;
            for i in 0..self.dim {
                let unit = (x[i] - centre.z0[i]) * inverse;
                cotangent[i] += slope * (x[i] - centre.z0[i]);
                along += cotangent[i] * unit;
            }
            // J is symmetric: its eigenvalue is `outward` along the ray, `across` in all other directions.
            let ray = along / centre.outward(r) - along / across;
            for i in 0..self.dim {
                cotangent[i] = cotangent[i] / across + ray * ((x[i] - centre.z0[i]) * inverse);
                turned[i] = -cotangent[i];
            }
            centre.add_gradient(x, turned, -weight, gradient, pulled);
        }
    }
}
