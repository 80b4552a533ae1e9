//! Monotone rational-quadratic splines as coupling maps.

use mcsa_core::{Error, numeric};
use serde::{Deserialize, Serialize};

use super::coupling::{Monotone, Theta};
use super::layer::Direction;

/// Monotone rational-quadratic spline (Durkan et al. 2019, section 3.1): `K` bins on `[-B, B]`, the identity outside.
///
/// ```text
/// in bin k, with xi = (x - x_k) / w_k and s = h_k / w_k:
/// g(x)  = y_k + h_k (s xi^2 + d_k xi (1 - xi)) / D,      D = s + (d_{k+1} + d_k - 2 s) xi (1 - xi)
/// g'(x) = s^2 (d_{k+1} xi^2 + 2 s xi (1 - xi) + d_k (1 - xi)^2) / D^2
/// ```
/// Widths and heights are softmaxes, each bin at least a thousandth of the interval; the slope at an inner knot
/// is a thousandth plus a softplus, at the two outer knots 1. The network's output is
/// `[widths, K of each moving coordinate; heights; slopes, K - 1 of each]`; zeros give the identity, because the softplus is
/// shifted to start at 0.999.
///
/// The density is continuous and has kinks at knots, where `g'` has no continuous derivative. Its tails are those of the base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spline {
    /// Number of bins `K`.
    pub bins: usize,
    /// Bound `B` of the interval.
    pub bound: f64,
}

impl Default for Spline {
    /// Eight bins on `[-5, 5]`.
    fn default() -> Self {
        Self { bins: 8, bound: 5.0 }
    }
}

/// Least width and height of a bin, as a fraction of the interval, and least slope at an inner knot, as in the published code of
/// Durkan et al.
const LEAST: f64 = 1e-3;

/// Bin of the spline, with its position, size and slopes; or the cotangents of these.
struct Bin {
    k: usize,
    x: f64,
    width: f64,
    y: f64,
    height: f64,
    /// Slopes at the two ends of the bin.
    slopes: [f64; 2],
}

/// Values at a position `xi` of a bin from which `g`, `ln g'` and their derivatives are computed.
struct Point {
    xi: f64,
    /// `s`, the slope of the secant.
    secant: f64,
    /// `xi (1 - xi)`.
    product: f64,
    /// Numerator of `(g - y_k) / h_k`, and its denominator `D`.
    fraction: [f64; 2],
    /// `g' D^2 / s^2`.
    mixed: f64,
}

impl Bin {
    fn at(&self, xi: f64) -> Point {
        let [left, right] = self.slopes;
        let (secant, product, rest) = (self.height / self.width, xi * (1.0 - xi), 1.0 - xi);
        let numerator = secant * xi * xi + left * product;
        let denominator = secant + (right + left - 2.0 * secant) * product;
        let mixed = right * xi * xi + 2.0 * secant * product + left * rest * rest;
        Point { xi, secant, product, fraction: [numerator, denominator], mixed }
    }

    /// The `xi` at which `g = y` (eqs. 6-8 of the paper's appendix: the form of the root without cancellation).
    fn solve(&self, y: f64) -> f64 {
        let [left, right] = self.slopes;
        let (secant, rise) = (self.height / self.width, y - self.y);
        let bent = rise * (right + left - 2.0 * secant);
        let (a, b, c) = (self.height * (secant - left) + bent, self.height * left - bent, -secant * rise);
        let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
        (2.0 * c / (-b - root)).clamp(0.0, 1.0)
    }
}

impl Point {
    fn value(&self, bin: &Bin) -> f64 {
        bin.y + bin.height * (self.fraction[0] / self.fraction[1])
    }

    /// `ln g'`.
    fn log_slope(&self) -> f64 {
        (self.secant * self.secant * self.mixed / (self.fraction[1] * self.fraction[1])).ln()
    }
}

impl Spline {
    /// Widths, heights and slopes of coordinate `i` of `width`, as slices of `raw`.
    fn parts<'a>(&self, raw: &'a [f64], width: usize, i: usize) -> [&'a [f64]; 3] {
        let (bins, all) = (self.bins, self.bins * width);
        let inner = bins - 1;
        [&raw[i * bins..][..bins], &raw[all + i * bins..][..bins], &raw[2 * all + i * inner..][..inner]]
    }

    /// Size of a bin whose softmax is `share`.
    fn size(&self, share: f64) -> f64 {
        2.0 * self.bound * (LEAST + (1.0 - LEAST * self.bins as f64) * share)
    }

    /// Bin that contains `at` on its x side (`by = 0`) or its y side (`by = 1`).
    fn bin(&self, [widths, heights, slopes]: [&[f64]; 3], by: usize, at: f64) -> Bin {
        let slope = |knot: usize| {
            if knot == 0 || knot == self.bins { 1.0 } else { LEAST + slopes[knot - 1] }
        };
        let (mut x, mut y) = (-self.bound, -self.bound);
        let mut k = 0;
        loop {
            let width = self.size(widths[k]);
            let height = self.size(heights[k]);
            let end = if by == 0 { x + width } else { y + height };
            if at < end || k + 1 == self.bins {
                return Bin { k, x, width, y, height, slopes: [slope(k), slope(k + 1)] };
            }
            (x, y, k) = (x + width, y + height, k + 1);
        }
    }

    fn is_outside(&self, x: f64) -> bool {
        // NaN counts as outside and is returned unchanged.
        !(x > -self.bound && x < self.bound)
    }
}

/// Softmax of each group of `bins` logits, in place.
fn softmax(bins: usize, logits: &mut [f64]) {
    for group in logits.chunks_exact_mut(bins) {
        let top = group.iter().fold(f64::NEG_INFINITY, |top, &x| top.max(x));
        group.iter_mut().for_each(|x| *x -= top);
    }
    numeric::exp(logits);
    for group in logits.chunks_exact_mut(bins) {
        let total: f64 = group.iter().sum();
        group.iter_mut().for_each(|x| *x /= total);
    }
}

impl Monotone for Spline {
    fn check(&self) -> Result<(), Error> {
        if !(self.bound > 0.0 && self.bound <= 1e6) {
            return Err(Error::parameter("bound of the spline", self.bound, "positive and at most 1e6"));
        }
        if !(1..1000).contains(&self.bins) {
            return Err(Error::parameter("bins of the spline", self.bins as f64, "1 to 999"));
        }
        Ok(())
    }

    fn num_raw(&self) -> usize {
        3 * self.bins - 1
    }

    fn kept_len(&self) -> usize {
        0
    }

    fn bend(&self, width: usize, raw: &mut [f64], _: &mut [f64]) {
        // ln(1 + e^shift) = 1 - LEAST
        let shift = (1.0 - LEAST).exp_m1().ln();
        for raw in raw.chunks_exact_mut(self.num_raw() * width) {
            let (shares, slopes) = raw.split_at_mut(2 * self.bins * width);
            softmax(self.bins, shares);
            slopes.iter_mut().for_each(|slope| *slope += shift);
            numeric::ln_1p_exp(slopes);
        }
    }

    fn pass(&self, theta: Theta<'_>, direction: Direction, from: &[f64], to: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for (i, (&at, to)) in from.iter().zip(to).enumerate() {
            *to = at;
            if !self.is_outside(at) {
                let by = usize::from(direction == Direction::Inverse);
                let bin = self.bin(self.parts(theta.raw, from.len(), i), by, at);
                let xi = match direction {
                    Direction::Forward => ((at - bin.x) / bin.width).min(1.0),
                    Direction::Inverse => bin.solve(at),
                };
                let point = bin.at(xi);
                *to = match direction {
                    Direction::Forward => point.value(&bin),
                    Direction::Inverse => bin.x + xi * bin.width,
                };
                sum += point.log_slope();
            }
        }
        sum
    }

    fn backward(
        &self,
        theta: Theta<'_>,
        direction: Direction,
        v: f64,
        x: &[f64],
        d: &mut [f64],
        d_raw: &mut [f64],
    ) {
        let width = x.len();
        let (d_shares, d_slopes) = d_raw.split_at_mut(2 * self.bins * width);
        let (d_widths, d_heights) = d_shares.split_at_mut(self.bins * width);
        for i in 0..width {
            let d_widths = &mut d_widths[i * self.bins..][..self.bins];
            let d_heights = &mut d_heights[i * self.bins..][..self.bins];
            let d_slopes = &mut d_slopes[i * (self.bins - 1)..][..self.bins - 1];
            d_slopes.fill(0.0);
            if self.is_outside(x[i]) {
                d_widths.fill(0.0);
                d_heights.fill(0.0);
                continue;
            }
            let parts = self.parts(theta.raw, width, i);
            let bin = self.bin(parts, 0, x[i]);
            let d_bin = bin.backward(direction, v, x[i], &mut d[i]);
            cumulate(bin.k, d_bin.x, d_bin.width, d_widths);
            cumulate(bin.k, d_bin.y, d_bin.height, d_heights);
            self.back_through_softmax(parts[0], d_widths);
            self.back_through_softmax(parts[1], d_heights);
            for (knot, d_slope) in [bin.k, bin.k + 1].into_iter().zip(d_bin.slopes) {
                if knot > 0 && knot < self.bins {
                    // Derivative of the softplus, the logistic function, from its value: 1 - e^-softplus.
                    d_slopes[knot - 1] = d_slope * -(-parts[2][knot - 1]).exp_m1();
                }
            }
        }
    }
}

/// Cotangents of all sizes from those of bin `k`, which begins at the sum of all sizes before it.
fn cumulate(k: usize, d_start: f64, d_size: f64, d_sizes: &mut [f64]) {
    let (before, rest) = d_sizes.split_at_mut(k);
    before.fill(d_start);
    rest.fill(0.0);
    rest[0] = d_size;
}

impl Spline {
    /// Replaces cotangents of sizes by those of logits.
    fn back_through_softmax(&self, shares: &[f64], d: &mut [f64]) {
        let slope = 2.0 * self.bound * (1.0 - LEAST * self.bins as f64);
        let mean: f64 = shares.iter().zip(&*d).map(|(share, d)| share * d).sum();
        d.iter_mut().zip(shares).for_each(|(d, share)| *d = slope * share * (*d - mean));
    }
}

impl Bin {
    /// Cotangents of the bin's numbers, from `v`, the cotangent of `ln g'`, and `d`, that of the output, which is replaced by the
    /// input's.
    fn backward(&self, direction: Direction, v: f64, x: f64, d: &mut f64) -> Bin {
        let [left, right] = self.slopes;
        let point = self.at(((x - self.x) / self.width).clamp(0.0, 1.0));
        let Point { xi, secant, product, fraction: [n, den], mixed, .. } = point;
        let (rest, tilt) = (1.0 - xi, 1.0 - 2.0 * xi);
        let bent = right + left - 2.0 * secant;
        // Derivatives of n, den and mixed in xi, the secant, the left slope and the right slope.
        let of_n = [2.0 * secant * xi + left * tilt, xi * xi, product, 0.0];
        let of_den = [bent * tilt, 1.0 - 2.0 * product, product, product];
        let of_mixed =
            [2.0 * (right * xi + secant * tilt - left * rest), 2.0 * product, rest * rest, xi * xi];
        let of_g: [f64; 4] =
            std::array::from_fn(|m| self.height * (of_n[m] * den - n * of_den[m]) / (den * den));
        let of_log: [f64; 4] = std::array::from_fn(|m| {
            of_mixed[m] / mixed - 2.0 * of_den[m] / den + if m == 1 { 2.0 / secant } else { 0.0 }
        });
        // Cotangent of y at a fixed x.
        let (slope, log_slope) = (of_g[0] / self.width, of_log[0] / self.width);
        let pull = match direction {
            Direction::Forward => {
                let pull = *d;
                *d = pull * slope + v * log_slope;
                pull
            }
            Direction::Inverse => {
                *d = (*d + v * log_slope) / slope;
                -*d
            }
        };
        let [d_xi, d_secant, d_left, d_right]: [f64; 4] =
            std::array::from_fn(|m| pull * of_g[m] + v * of_log[m]);
        Bin {
            k: self.k,
            x: -d_xi / self.width,
            width: -(xi * d_xi + secant * d_secant) / self.width,
            y: pull,
            height: pull * n / den + d_secant / self.width,
            slopes: [d_left, d_right],
        }
    }
}
