//! Monotone maps of the line, which a coupling layer applies to each moving coordinate.

use super::bijection::Direction;

/// Monotone maps of `width` coordinates, one each. Slices hold points one after the other; `raw` is the network's output.
pub(super) trait Monotone {
    /// Network outputs per coordinate; if they are all zero the map is the identity.
    fn num_raw(&self) -> usize;

    /// Number of further values per coordinate that are kept on the tape: 0 or 2.
    fn kept_len(&self) -> usize;

    /// Transforms the network's output into the values that the map needs, once per batch: `raw` in place, and `kept`, which holds
    /// the first value of all coordinates of all points, then the second.
    fn bend(&self, width: usize, raw: &mut [f64], kept: &mut [f64]);

    /// Writes `y = g(x)` of a point, and returns `sum ln g'(x)`.
    fn forward(&self, theta: Theta<'_>, x: &[f64], y: &mut [f64]) -> f64;

    /// Writes `x = g^-1(y)` of a point, and returns `sum ln g'(x)`.
    fn inverse(&self, theta: Theta<'_>, y: &[f64], x: &mut [f64]) -> f64;

    /// [`Bijection::backward`](super::bijection::Bijection::backward) for the coordinates of a point: replaces the cotangents `d`, and writes the network's, `d_raw`.
    fn backward(
        &self,
        theta: Theta<'_>,
        direction: Direction,
        v: f64,
        x: &[f64],
        d: &mut [f64],
        d_raw: &mut [f64],
    );
}

/// Network output of one point, after [`Monotone::bend`].
#[derive(Clone, Copy)]
pub(super) struct Theta<'a> {
    pub(super) raw: &'a [f64],
    /// The kept values of the point: the first of each coordinate, and the second of each.
    pub(super) kept: [&'a [f64]; 2],
}
