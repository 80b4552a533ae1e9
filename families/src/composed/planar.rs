//! Planar flow.

use mcsa_core::{Error, Stream, numeric};

use super::{Bijection, Composed, Invertible};
use crate::Link;

/// `ln(e - 1)`, at which `-1 + softplus(s)` is zero.
const REST: f64 = 0.541_324_854_612_918_1;
/// Least `|w|^2` that is admitted, so that divisions by it stay finite.
const LEAST: f64 = 1e-200;
/// Largest number of Newton steps. Where the map is nearly flat a step reduces the error by a third: it ends below `1e-17`.
const STEPS: usize = 100;

/// Planar layer: it stretches or compresses space along one direction, near one plane.
///
/// ```text
/// y = x + u' tanh(a),   a = w . x + b,   u' = u + (c - w . u) w / |w|^2,   c = -1 + softplus(w . u)
/// log |det dy/dx| = log(1 + c sech^2 a) = log(tanh^2 a + softplus(w . u) sech^2 a),   params [w; u; b]
/// ```
/// (Rezende & Mohamed 2015, eq. 10 and appendix A.1.) Since `w . u' = c > -1`, the map is a bijection at every lambda, and the
/// second form of the log-determinant has no cancellation.
///
/// The inverse solves one scalar equation, `a + c tanh a = w . y + b`, monotone in `a`, by Newton's method. It starts on the side
/// on which every step moves towards the root, and ends when rounding stops it (some 5 steps, at most 100); so the layer is
/// [`Invertible`]. If `c` is near -1 the map is nearly flat at its plane and the equation is ill-posed there: it loses as many
/// digits as `sech^2 a` comes near `-1/c`.
///
/// `check` refuses `|w|^2 < 1e-200` and a `w . u` whose softplus is not a normal number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planar {
    /// The dimension.
    pub dim: usize,
}

/// Planar flow: a composition of planar layers, a teaching example for low dimensions.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::PlanarFlow;
/// assert_eq!(PlanarFlow::new(2, 8)?.num_params(), 4 + 8 * 5);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type PlanarFlow = Composed<Planar>;

impl PlanarFlow {
    /// Flow of `layers` planar layers, with a location and scale at the end.
    ///
    /// # Errors
    /// If `dim` is zero.
    pub fn new(dim: usize, layers: usize) -> Result<Self, Error> {
        Self::of(dim, vec![Planar { dim }; layers])
    }
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

    /// A random `w`, and the multiple `u` of it for which `u' = 0`.
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
            // The full cotangent of x, then multiplied by the inverse of J^T = I + g w u'^T (Sherman & Morrison).
            numeric::axpy(2.0 * weight * plane.c() * t * g / det, plane.w, cotangent);
            numeric::axpy(-g * plane.along(cotangent) / det, plane.w, cotangent);
            turned.iter_mut().zip(&*cotangent).for_each(|(turned, c)| *turned = -c);
            plane.add_gradient(x, turned, -weight, gradient);
        }
    }
}
