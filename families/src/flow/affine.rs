//! Affine coupling map: scale and shift of a coordinate.

use mcsa_core::{Error, numeric};
use serde::{Deserialize, Serialize};

use super::bijection::Direction;
use super::monotone::{Monotone, Theta};

/// Affine coupling map of RealNVP (Dinh et al. 2017, eq. 7), with bounded log scales:
///
/// ```text
/// y = t + e^s x,   s = B tanh(r / B),   |s| < B,   r and t from the network
/// ```
/// Near zero `s` is about `r`. Unlike the paper, whose bound is a learned factor, `B` is given: a coordinate grows at most by the
/// factor `e^B` in a layer, for any output of the network far from the data, so that nothing overflows there and the tails are
/// those of the base.
///
/// The network's output is `[r of all moving coordinates; t of all]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affine {
    /// `B`, the bound of log scales.
    pub bound: f64,
}

impl Default for Affine {
    /// Bound 2: a layer scales by at most 7.4.
    fn default() -> Self {
        Self { bound: 2.0 }
    }
}

impl Affine {
    pub(super) fn check(&self) -> Result<(), Error> {
        if !(self.bound > 0.0 && self.bound <= 20.0) {
            return Err(Error::parameter("bound of log scales", self.bound, "positive and at most 20"));
        }
        Ok(())
    }
}

impl Monotone for Affine {
    fn num_raw(&self) -> usize {
        2
    }

    fn kept_len(&self) -> usize {
        2
    }

    fn bend(&self, width: usize, raw: &mut [f64], kept: &mut [f64]) {
        // Computes tanh(r/B) and e^s, each contiguous, for the vector functions.
        let inverse = 1.0 / self.bound;
        for (raw, kept) in raw.chunks_exact(2 * width).zip(kept.chunks_exact_mut(width)) {
            kept.iter_mut().zip(raw).for_each(|(angle, r)| *angle = r * inverse);
        }
        let (tanh, power) = kept.split_at_mut(raw.len() / 2);
        numeric::tanh(tanh);
        power.iter_mut().zip(&*tanh).for_each(|(power, tanh)| *power = self.bound * tanh);
        numeric::exp(power);
    }

    fn forward(&self, theta: Theta<'_>, x: &[f64], y: &mut [f64]) -> f64 {
        let ([tanh, power], shift) = (theta.kept, &theta.raw[x.len()..]);
        let mut sum = 0.0;
        for i in 0..x.len() {
            y[i] = shift[i] + power[i] * x[i];
            sum += tanh[i];
        }
        self.bound * sum
    }

    fn inverse(&self, theta: Theta<'_>, y: &[f64], x: &mut [f64]) -> f64 {
        let ([tanh, power], shift) = (theta.kept, &theta.raw[x.len()..]);
        let mut sum = 0.0;
        for i in 0..y.len() {
            x[i] = (y[i] - shift[i]) / power[i];
            sum += tanh[i];
        }
        self.bound * sum
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
        let [tanh, power] = theta.kept;
        let (d_angle, d_shift) = d_raw.split_at_mut(x.len());
        for i in 0..x.len() {
            // Cotangent of y at a fixed x, and the cotangent that the sweep returns.
            let (pull, next) = match direction {
                Direction::Forward => (d[i], d[i] * power[i]),
                Direction::Inverse => (-d[i] / power[i], d[i] / power[i]),
            };
            d_shift[i] = pull;
            d_angle[i] = (pull * power[i] * x[i] + v) * (1.0 - tanh[i] * tanh[i]);
            d[i] = next;
        }
    }
}
