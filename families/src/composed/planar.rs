//! Planar flows.

use mcsa::{Error, Stream, numeric};

use super::{Bijection, Composed, Invertible};
use crate::Link;

/// `ln(e - 1)`: where `-1 + softplus(s)` is zero.
const REST: f64 = 0.541_324_854_612_918_1;
/// The least `|w|^2` that is admitted: what is divided by it stays finite.
const LEAST: f64 = 1e-200;
/// Newton steps at most. Where the map is nearly flat a step takes off a third of what is left: the error ends below `1e-17`.
const STEPS: usize = 100;

/// A planar layer: it stretches or presses space along one direction, near one plane.
///
/// ```text
/// y = x + u' tanh(a),   a = w . x + b,   u' = u + (c - w . u) w / |w|^2,   c = -1 + softplus(w . u)
/// log |det dy/dx| = log(1 + c sech^2 a) = log(tanh^2 a + softplus(w . u) sech^2 a),   params [w; u; b]
/// ```
/// (Rezende & Mohamed 2015, eq. 10 and appendix A.1.) Since `w . u' = c > -1`, it is a bijection at every lambda, and the second
/// form of the log-determinant subtracts nothing.
///
/// The inverse is one scalar equation, `a + c tanh a = w . y + b`, monotone in `a`. It is solved by Newton's method from the side on
/// which every step goes towards the root, until rounding stops it (some 5 steps, at most 100); so the layer is [`Invertible`]. Where
/// `c` is near -1 the map is nearly flat at its plane and the equation itself is ill-posed there: as many digits are lost as
/// `sech^2 a` comes near `-1/c`.
///
/// `check` refuses `|w|^2 < 1e-200` and a `w . u` whose softplus is no normal number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planar {
    /// The dimension.
    pub dim: usize,
}

/// Planar layers in a row: a teaching flow for low dimensions.
///
/// ```
/// use mcsa::Family;
/// use mcsa_families::PlanarFlow;
/// assert_eq!(PlanarFlow::new(2, 8)?.num_params(), 4 + 8 * 5);
/// # Ok::<(), mcsa::Error>(())
/// ```
pub type PlanarFlow = Composed<Planar>;

impl PlanarFlow {
    /// So many planar layers around a location and scale.
    ///
    /// # Errors
    /// If the dimension is zero.
    pub fn new(dim: usize, layers: usize) -> Result<Self, Error> {
        Self::of(dim, vec![Planar { dim }; layers])
    }
}

/// What the params say before any point is seen.
struct Plane<'a> {
    w: &'a [f64],
    u: &'a [f64],
    b: f64,
    /// `u' = u + k w`.
    k: f64,
    /// `w . u`, and the square of `w`.
    s: f64,
    square: f64,
    /// `softplus(s) = 1 + c`.
    slope: f64,
}

/// What one point adds: `tanh a`, `sech^2 a` and the determinant.
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

    /// The `a` with `a + c tanh a = target`.
    ///
    /// On the right half line the left side is convex for `c < 0` and concave for `c > 0`: from the far end of the interval that holds the
    /// root, Newton's iterates do not cross it.
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

    /// Adds the gradient of `cotangent . f(x) + weight log |det|` at one point, and returns the factor of `w` in that of `x`.
    fn add_gradient(&self, x: &[f64], cotangent: &[f64], weight: f64, gradient: &mut [f64]) -> f64 {
        let Bend { t, g, det } = self.bend(self.argument(x));
        let d_a = self.along(cotangent) * g - 2.0 * weight * self.c() * t * g / det;
        // u' = u + k w with k = (c - s) / |w|^2; c also stands in the determinant.
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
    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        2 * self.dim + 1
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim
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

    /// A random direction, and `u` along it such that `u' = 0`.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
        let mut w = vec![0.0; self.dim];
        while numeric::dot(&w, &w) < 1e-6 {
            stream.normals_into(&mut w);
        }
        let square = numeric::dot(&w, &w);
        params.extend(&w);
        params.extend(w.iter().map(|w| REST / square * w));
        params.push(0.0);
    }

    fn forward(&self, params: &[f64], x: &[f64], y: &mut [f64], log_det: &mut [f64], _: &mut [f64]) {
        let plane = Plane::of(self.dim, params);
        let points = x.chunks_exact(self.dim).zip(y.chunks_exact_mut(self.dim));
        for ((x, y), log_det) in points.zip(log_det) {
            let Bend { t, det, .. } = plane.bend(plane.argument(x));
            for i in 0..self.dim {
                y[i] = x[i] + (plane.u[i] + plane.k * plane.w[i]) * t;
            }
            *log_det += det.ln();
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
        _: &mut [f64],
    ) {
        let plane = Plane::of(self.dim, params);
        let points = x.chunks_exact(self.dim).zip(cotangents.chunks_exact_mut(self.dim));
        for ((x, cotangent), &weight) in points.zip(weights) {
            let d_a = plane.add_gradient(x, cotangent, weight, gradient);
            numeric::axpy(d_a, plane.w, cotangent);
        }
    }
}

impl Invertible for Planar {
    fn inverse(&self, params: &[f64], y: &[f64], x: &mut [f64], log_det: &mut [f64], _: &mut [f64]) {
        let plane = Plane::of(self.dim, params);
        let points = y.chunks_exact(self.dim).zip(x.chunks_exact_mut(self.dim));
        for ((y, x), log_det) in points.zip(log_det) {
            let Bend { t, det, .. } = plane.bend(plane.solve(plane.argument(y)));
            for i in 0..self.dim {
                x[i] = y[i] - (plane.u[i] + plane.k * plane.w[i]) * t;
            }
            *log_det -= det.ln();
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
        let plane = Plane::of(self.dim, params);
        let turned = &mut work[..self.dim];
        let points = x.chunks_exact(self.dim).zip(cotangents.chunks_exact_mut(self.dim));
        for ((x, cotangent), &weight) in points.zip(weights) {
            let Bend { t, g, det } = plane.bend(plane.argument(x));
            // All that x is worth, then through the inverse of J^T = I + g w u'^T (Sherman & Morrison).
            numeric::axpy(2.0 * weight * plane.c() * t * g / det, plane.w, cotangent);
            numeric::axpy(-g * plane.along(cotangent) / det, plane.w, cotangent);
            turned.iter_mut().zip(&*cotangent).for_each(|(turned, c)| *turned = -c);
            plane.add_gradient(x, turned, -weight, gradient);
        }
    }
}
