//! Planar layers of a flow.

use mcsa_core::{Error, Stream, borrow, numeric};

use super::bijection::{At, Bijection, Direction, Sweep, gradient_or_spare};
use crate::Link;

/// `ln(e - 1)`, at which `-1 + softplus(s)` is zero.
const REST: f64 = 0.541_324_854_612_918_1;
/// Least `|w|^2` that is admitted, so that divisions by it stay finite.
const LEAST: f64 = 1e-200;
/// Largest number of Newton steps. Where the map is nearly flat a step reduces the error by a third: it ends below `1e-17`.
const STEPS: usize = 100;

/// Planar layer in a given dimension, see [`Layer::Planar`](super::Layer::Planar).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Planar {
    pub(super) dim: usize,
}

/// Parameters of a layer, and quantities that do not depend on the point.
struct Plane<'a> {
    w: &'a [f64],
    u: &'a [f64],
    b: f64,
    /// `u' = u + k w`.
    k: f64,
    /// `w . u`; the next field is `|w|^2`.
    s: f64,
    square: f64,
    /// `softplus(s) = 1 + c`.
    slope: f64,
}

/// Quantities of one point: `tanh a`, `sech^2 a` and the determinant.
struct Bend {
    t: f64,
    g: f64,
    det: f64,
}

impl<'a> Plane<'a> {
    fn of(dim: usize, params: &'a [f64]) -> Self {
        let (w, rest) = params.split_at(dim);
        let (u, b) = rest.split_at(dim);
        let (s, square) = (numeric::dot(w, u), numeric::dot(w, w));
        let slope = Link::Softplus.scale(s);
        Self { w, u, b: b[0], k: (slope - 1.0 - s) / square, s, square, slope }
    }

    fn c(&self) -> f64 {
        self.slope - 1.0
    }

    fn bend(&self, a: f64) -> Bend {
        let (t, e) = (a.tanh(), (-2.0 * a.abs()).exp());
        let g = 4.0 * e / ((1.0 + e) * (1.0 + e));
        Bend { t, g, det: t * t + self.slope * g }
    }

    fn argument(&self, x: &[f64]) -> f64 {
        numeric::dot(self.w, x) + self.b
    }

    /// `u' . v`.
    fn along(&self, v: &[f64]) -> f64 {
        numeric::dot(self.u, v) + self.k * numeric::dot(self.w, v)
    }

    /// `x += t u'`.
    fn shift(&self, x: &mut [f64], t: f64) {
        x.iter_mut().zip(self.u).zip(self.w).for_each(|((x, u), w)| *x += (u + self.k * w) * t);
    }

    /// Solution `a` of `a + c tanh a = target`.
    ///
    /// For `a > 0` the left side is convex if `c < 0` and concave if `c > 0`: started at the far end of the interval that contains
    /// the root, Newton's iterates do not cross it.
    fn solve(&self, target: f64) -> f64 {
        let (c, right) = (self.c(), target.abs());
        let mut a = (right - c).max(0.0);
        for _ in 0..STEPS {
            let Bend { t, det, .. } = self.bend(a);
            let next = a - ((a - right) + c * t) / det;
            if if c < 0.0 { next < a } else { next > a } {
                a = next.max(0.0);
            } else {
                break;
            }
        }
        a.copysign(target)
    }

    /// Adds the gradient in the parameters of `cotangent . f(x) + weight log |det|` at one point, and returns its derivative in
    /// `w . x`.
    fn add_gradient(&self, x: &[f64], cotangent: &[f64], weight: f64, gradient: &mut [f64]) -> f64 {
        let Bend { t, g, det } = self.bend(self.argument(x));
        let d_a = self.along(cotangent) * g - 2.0 * weight * self.c() * t * g / det;
        // u' = u + k w with k = (c - s) / |w|^2; c enters the determinant too.
        let d_k = t * numeric::dot(cotangent, self.w);
        let d_c = weight * g / det + d_k / self.square;
        let d_s = d_c * Link::Softplus.derivative(self.s) - d_k / self.square;
        let d_square = -d_k * self.k / self.square;
        let (d_w, rest) = gradient.split_at_mut(x.len());
        let (d_u, d_b) = rest.split_at_mut(x.len());
        for i in 0..x.len() {
            d_w[i] += d_a * x[i] + self.k * t * cotangent[i] + d_s * self.u[i] + 2.0 * d_square * self.w[i];
            d_u[i] += t * cotangent[i] + d_s * self.w[i];
        }
        d_b[0] += d_a;
        d_a
    }
}

impl Bijection for Planar {
    fn num_params(&self) -> usize {
        2 * self.dim + 1
    }

    /// `x`.
    fn tape_len(&self) -> usize {
        self.dim
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim + self.num_params()
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        let plane = Plane::of(self.dim, params);
        if !(plane.square >= LEAST && plane.square.is_finite()) {
            return Err(Error::parameter("|w|^2", plane.square, "at least 1e-200 and finite"));
        }
        if !(plane.s >= Link::LEAST && plane.s.is_finite()) {
            return Err(Error::parameter("w . u", plane.s, "at least -708 and finite"));
        }
        Ok(())
    }

    /// A random `w`, and the multiple `u` of it for which `u' = 0`.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        let mut w = vec![0.0; self.dim];
        while numeric::dot(&w, &w) < 1e-6 {
            stream.normals_into(&mut w);
        }
        let square = numeric::dot(&w, &w);
        params.extend(&w);
        params.extend(w.iter().map(|w| REST / square * w));
        params.push(0.0);
        Ok(())
    }

    fn forward(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], _: &mut [f64]) {
        let plane = Plane::of(self.dim, at.params);
        tape.copy_from_slice(x);
        for (x, log_det) in x.chunks_exact_mut(self.dim).zip(log_det) {
            let Bend { t, det, .. } = plane.bend(plane.argument(x));
            plane.shift(x, t);
            *log_det += det.ln();
        }
    }

    fn inverse(&self, at: At<'_>, y: &mut [f64], log_det: &mut [f64], tape: &mut [f64], _: &mut [f64]) {
        let plane = Plane::of(self.dim, at.params);
        for (y, log_det) in y.chunks_exact_mut(self.dim).zip(log_det) {
            let Bend { t, det, .. } = plane.bend(plane.solve(plane.argument(y)));
            plane.shift(y, -t);
            *log_det += det.ln();
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
        let plane = Plane::of(self.dim, at.params);
        let turned = borrow(&mut work, self.dim);
        let gradient = gradient_or_spare(gradient, self.num_params(), &mut work);
        let points = sweep.tape.chunks_exact(self.dim).zip(d.chunks_exact_mut(self.dim));
        for ((x, d), &v) in points.zip(sweep.weights) {
            if sweep.direction == Direction::Forward {
                let d_a = plane.add_gradient(x, d, v, gradient);
                numeric::axpy(d_a, plane.w, d);
                continue;
            }
            let Bend { t, g, det } = plane.bend(plane.argument(x));
            // The full cotangent of x, then multiplied by the inverse of J^T = I + g w u'^T (Sherman & Morrison).
            numeric::axpy(-2.0 * v * plane.c() * t * g / det, plane.w, d);
            numeric::axpy(-g * plane.along(d) / det, plane.w, d);
            turned.iter_mut().zip(&*d).for_each(|(turned, c)| *turned = -c);
            plane.add_gradient(x, turned, v, gradient);
        }
    }
}
