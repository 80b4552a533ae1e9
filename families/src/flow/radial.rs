//! Radial layers of a flow.

use mcsa_core::{Error, Stream, borrow};

use super::bijection::{At, Bijection, Direction, Sweep, gradient_or_spare};
use crate::Link;

/// Radial layer in a given dimension, see [`Layer::Radial`](super::Layer::Radial).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Radial {
    pub(super) dim: usize,
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
    fn num_params(&self) -> usize {
        self.dim + 2
    }

    /// `x`.
    fn tape_len(&self) -> usize {
        self.dim
    }

    fn work_len(&self, _: usize) -> usize {
        2 * self.dim + self.num_params()
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        Link::Softplus.check(&params[self.dim..])
    }

    /// The centre drawn from the standard normal, and `alpha = e = 1`.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        params.extend((0..self.dim).map(|_| stream.normal()));
        params.extend([1.0_f64.exp_m1().ln(); 2]);
        Ok(())
    }

    fn forward(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], _: &mut [f64]) {
        let centre = Centre::of(self.dim, at.params);
        tape.copy_from_slice(x);
        for (x, log_det) in x.chunks_exact_mut(self.dim).zip(log_det) {
            let r = centre.distance(x);
            let factor = centre.across(r);
            x.iter_mut().zip(centre.z0).for_each(|(x, z0)| *x = z0 + factor * (*x - z0));
            *log_det += centre.log_det(r);
        }
    }

    fn inverse(&self, at: At<'_>, y: &mut [f64], log_det: &mut [f64], tape: &mut [f64], _: &mut [f64]) {
        let centre = Centre::of(self.dim, at.params);
        for (y, log_det) in y.chunks_exact_mut(self.dim).zip(log_det) {
            let r = centre.solve(centre.distance(y));
            let factor = centre.across(r);
            y.iter_mut().zip(centre.z0).for_each(|(y, z0)| *y = z0 + (*y - z0) / factor);
            *log_det += centre.log_det(r);
        }
        tape.copy_from_slice(y);
    }

    fn backward(
        &self,
        at: At<'_>,
        sweep: Sweep<'_>,
        d: &mut [f64],
        gradient: Option<&mut [f64]>,
        mut work: &mut [f64],
    ) {
        let centre = Centre::of(self.dim, at.params);
        let [turned, pulled] = [(); 2].map(|()| borrow(&mut work, self.dim));
        let gradient = gradient_or_spare(gradient, self.num_params(), &mut work);
        let points = sweep.tape.chunks_exact(self.dim).zip(d.chunks_exact_mut(self.dim));
        for ((x, d), &v) in points.zip(sweep.weights) {
            if sweep.direction == Direction::Forward {
                centre.add_gradient(x, d, v, gradient, pulled);
                d.copy_from_slice(pulled);
                continue;
            }
            let r = centre.distance(x);
            let inverse = if r > 0.0 { 1.0 / r } else { 0.0 };
            let across = centre.across(r);
            let slope = v * centre.log_det_slopes(r)[0] * inverse;
            let mut along = 0.0;
            for i in 0..self.dim {
                let unit = (x[i] - centre.z0[i]) * inverse;
                d[i] += slope * (x[i] - centre.z0[i]);
                along += d[i] * unit;
            }
            // J is symmetric: its eigenvalue is `outward` along the ray, `across` in all other directions.
            let ray = along / centre.outward(r) - along / across;
            for i in 0..self.dim {
                d[i] = d[i] / across + ray * ((x[i] - centre.z0[i]) * inverse);
                turned[i] = -d[i];
            }
            centre.add_gradient(x, turned, v, gradient, pulled);
        }
    }
}
