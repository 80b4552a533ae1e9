//! Masked and inverse autoregressive flows (MAF, IAF).

use mcsa_core::{Error, Stream, borrow, numeric};
use serde::{Deserialize, Serialize};

use super::made::Made;
use super::{Bijection, Composed, Invertible};

/// Architecture of a [`Maf`] or an [`Iaf`]: layers, hidden units, and the bound of the log scales.
///
/// ```
/// use mcsa_families::Autoregressive;
/// let config = Autoregressive::default();
/// assert_eq!((config.layers, &config.hidden[..], config.bound), (2, &[32, 32][..], 3.0));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Autoregressive {
    /// The number of layers; every second one orders the coordinates from the last to the first.
    pub layers: usize,
    /// Units of the hidden layers of the masked network, the first next to the input. If empty, each coordinate is linear in those
    /// before it.
    pub hidden: Vec<usize>,
    /// The bound `B` of a layer's log scales: each is between `-B` and `B`.
    pub bound: f64,
}

impl Default for Autoregressive {
    /// Two layers with two hidden layers of 32 units, and log scales up to 3.
    fn default() -> Self {
        Self { layers: 2, hidden: vec![32, 32], bound: 3.0 }
    }
}

/// Masked autoregressive affine layer of a [`Maf`], or its inverse, a layer of an [`Iaf`], if `INVERSE`.
///
/// ```text
/// Maf: y_i = m_i(y_{<i}) + e^{s_i(y_{<i})} x_i        Iaf: y_i = m_i(x_{<i}) + e^{s_i(x_{<i})} x_i
/// s_i = B tanh(a_i / B),   (m, a) from a masked network (MADE) of tanh units
/// ```
/// From the points that the network reads (`y` of a Maf, `x` of an Iaf) to the other side takes one pass; in the opposite direction
/// the coordinates are computed one after the other. Units are sorted by the number of coordinates that they depend on, so that
/// this direction also computes each unit once: `d` short steps, together the arithmetic of one pass.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskedAffine<const INVERSE: bool> {
    dim: usize,
    made: Made,
    bound: f64,
    reversed: bool,
}

/// Masked autoregressive flow, MAF (Papamakarios, Pavlakou & Murray 2017, eq. 3-5): density in one pass, draws in `d` steps.
///
/// ```text
/// y_i = m_i(y_{<i}) + e^{s_i(y_{<i})} x_i,   x_i = (y_i - m_i(y_{<i})) e^{-s_i(y_{<i})},   log |det dy/dx| = sum_i s_i
/// s_i = B tanh(a_i / B)
/// ```
/// Unlike the paper, log scales are bounded by `B` ([`Autoregressive::bound`]) in every layer: within a layer no coordinate is
/// stretched by more than `e^B`, and nothing overflows however far a point lies. Each layer has a masked network of its own
/// (Germain et al. 2015), with tanh units; every second layer orders the coordinates from the last to the first. Layers start
/// exactly as the identity.
///
/// Score climbing needs densities and scores at the states of chains, one pass each, and draws. A draw takes `d` sequential
/// steps, each for all points of the batch, with the arithmetic of one pass in all.
///
/// ```
/// use mcsa_core::{Family, Parametric, Seed};
/// use mcsa_families::{Autoregressive, Maf};
/// let q = Maf::new(3, &Autoregressive { hidden: vec![8], ..Autoregressive::default() })?;
/// let params = q.start(&[0.0; 3], &[1.0; 3], &mut Seed::new(1).stream(0, 0))?;
/// assert!((q.log_prob(&params, &[0.0; 3], &mut vec![0.0; q.work_len(1)]) + 2.756_815_599_614_018).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type Maf = Composed<MaskedAffine<false>>;

/// Inverse autoregressive flow, IAF (Kingma, Salimans, Jozefowicz, Chen, Sutskever & Welling 2016, eq. 10-12): draws in one pass,
/// the density at a point that it did not draw in `d` steps.
///
/// ```text
/// y_i = m_i(x_{<i}) + e^{s_i(x_{<i})} x_i,   x_i = (y_i - m_i(x_{<i})) e^{-s_i(x_{<i})},   log |det dy/dx| = sum_i s_i
/// s_i = B tanh(a_i / B)
/// ```
/// This is a [`Maf`] with the two directions exchanged: bounds and networks are equal, costs are exchanged. The evidence lower
/// bound needs draws alone and is cheap. As a [`Family`](mcsa_core::Family) the density is exact too, but `log_probs` and `add_scores`
/// first compute the noise of each point in `d` sequential steps, with the arithmetic of one pass but a longer latency. Score
/// climbing needs densities and scores at every state, so that a `Maf` is the better choice there.
///
/// Unlike the paper, the scale is `e^s` with a bounded `s` and not a sigmoid gate, and there is no context from an encoder.
pub type Iaf = Composed<MaskedAffine<true>>;

impl<const INVERSE: bool> Composed<MaskedAffine<INVERSE>> {
    /// Flow of `config.layers` layers in `dim` dimensions, with a location and scale at the end.
    ///
    /// # Errors
    /// If `dim` is zero, a hidden layer has no units, or the bound is not positive and at most 100.
    pub fn new(dim: usize, config: &Autoregressive) -> Result<Self, Error> {
        let Autoregressive { layers, ref hidden, bound } = *config;
        let place = if INVERSE { "Iaf" } else { "Maf" };
        if !(bound > 0.0 && bound <= 100.0) {
            return Err(Error::parameter("bound", bound, "positive and at most 100").within(place));
        }
        let made = Made::new(dim, hidden).map_err(|error| error.within(place))?;
        let layer = |k: usize| MaskedAffine { dim, made: made.clone(), bound, reversed: k % 2 == 1 };
        Self::of(dim, (0..layers).map(layer).collect())
    }
}

/// Direction in which a layer is evaluated.
#[derive(Clone, Copy)]
struct Way {
    /// If true the map is `m + e^s x`, else `(x - m) e^-s`.
    expands: bool,
    /// If true the network reads the input of the map, else its output.
    reads_input: bool,
}

/// Scratch memory for one coordinate of all points: `tanh(a / B)`, and `e^s` or `e^-s`.
struct Coordinate<'a> {
    tanh: &'a mut [f64],
    scale: &'a mut [f64],
}

impl<const INVERSE: bool> MaskedAffine<INVERSE> {
    const FORWARD: Way = Way { expands: true, reads_input: INVERSE };
    const BACK: Way = Way { expands: false, reads_input: !INVERSE };

    /// Coordinate at position `place` of the layer's order.
    fn at(&self, place: usize) -> usize {
        if self.reversed { self.dim - 1 - place } else { place }
    }

    /// Computes `tanh(a / B)`, and `e^s` or `e^-s`, of the coordinate at position `place`.
    fn bend(&self, way: Way, place: usize, output: &[f64], coordinate: &mut Coordinate<'_>) {
        let Coordinate { tanh, scale } = coordinate;
        for (tanh, output) in tanh.iter_mut().zip(output.chunks_exact(2 * self.dim)) {
            *tanh = output[2 * place + 1] / self.bound;
        }
        numeric::tanh(tanh);
        let sign = if way.expands { self.bound } else { -self.bound };
        scale.iter_mut().zip(&**tanh).for_each(|(scale, tanh)| *scale = sign * tanh);
        numeric::exp(scale);
    }

    fn go(
        &self,
        way: Way,
        params: &[f64],
        (from, to): (&[f64], &mut [f64]),
        log_det: &mut [f64],
        mut work: &mut [f64],
    ) {
        let n = log_det.len();
        let tape = borrow(&mut work, self.made.tape_len() * n);
        let mut coordinate = Coordinate { tanh: borrow(&mut work, n), scale: borrow(&mut work, n) };
        if way.reads_input {
            self.read(from, tape, n);
            self.made.forward(params, tape, n);
        }
        let sign = if way.expands { self.bound } else { -self.bound };
        for place in 0..self.dim {
            if !way.reads_input {
                self.made.tell(place, params, tape, n);
            }
            let output = self.made.output(tape, n);
            self.bend(way, place, output, &mut coordinate);
            for j in 0..n {
                let (k, m) = (j * self.dim + self.at(place), output[(j * self.dim + place) * 2]);
                let scale = coordinate.scale[j];
                to[k] = if way.expands { m + scale * from[k] } else { (from[k] - m) * scale };
                log_det[j] += sign * coordinate.tanh[j];
            }
            if !way.reads_input {
                let input = self.made.input(tape, n);
                for j in 0..n {
                    input[j * self.dim + place] = to[j * self.dim + self.at(place)];
                }
                self.made.learn(place, params, tape, n);
            }
        }
    }

    /// Copies points to the input of the network, with coordinates in the layer's order.
    fn read(&self, points: &[f64], tape: &mut [f64], n: usize) {
        let rows = self.made.input(tape, n).chunks_exact_mut(self.dim);
        for (row, point) in rows.zip(points.chunks_exact(self.dim)) {
            row.iter_mut().enumerate().for_each(|(place, x)| *x = point[self.at(place)]);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a sweep reads what the forward sweep wrote")]
    fn come_back(
        &self,
        way: Way,
        params: &[f64],
        (from, to): (&[f64], &[f64]),
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (n, dim) = (weights.len(), self.dim);
        let tape = borrow(&mut work, self.made.tape_len() * n);
        let mut coordinate = Coordinate { tanh: borrow(&mut work, n), scale: borrow(&mut work, n) };
        let d = borrow(&mut work, self.made.tape_len() * n);
        d.fill(0.0);
        self.read(if way.reads_input { from } else { to }, tape, n);
        self.made.forward(params, tape, n);
        for place in (0..dim).rev() {
            if !way.reads_input {
                self.made.unlearn(place, params, (tape, d), gradient, n);
                let d_input = self.made.input(d, n);
                for j in 0..n {
                    cotangents[j * dim + self.at(place)] += d_input[j * dim + place];
                }
            }
            let output = self.made.output(tape, n);
            self.bend(way, place, output, &mut coordinate);
            let d_output = self.made.output(d, n);
            for (j, &weight) in weights.iter().enumerate() {
                let k = j * dim + self.at(place);
                let (c, scale, t) = (cotangents[k], coordinate.scale[j], coordinate.tanh[j]);
                let (d_m, d_s) = if way.expands {
                    (c, c * (scale * from[k]) + weight)
                } else {
                    (-c * scale, -c * to[k] - weight)
                };
                let out = (j * dim + place) * 2;
                d_output[out] = d_m;
                d_output[out + 1] = d_s * (1.0 - t * t);
                cotangents[k] = c * scale;
            }
            if !way.reads_input {
                self.made.untell(place, params, (tape, d), gradient, n);
            }
        }
        if way.reads_input {
            self.made.backward(params, tape, d, gradient, n);
            let rows = self.made.input(d, n).chunks_exact(dim);
            for (row, cotangent) in rows.zip(cotangents.chunks_exact_mut(dim)) {
                row.iter().enumerate().for_each(|(place, d)| cotangent[self.at(place)] += d);
            }
        }
    }
}

impl<const INVERSE: bool> Bijection for MaskedAffine<INVERSE> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.made.num_params()
    }

    fn work_len(&self, columns: usize) -> usize {
        2 * (self.made.tape_len() + 1) * columns
    }

    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
        self.made.start(stream, params);
    }

    fn forward(&self, params: &[f64], x: &[f64], y: &mut [f64], log_det: &mut [f64], work: &mut [f64]) {
        self.go(Self::FORWARD, params, (x, y), log_det, work);
    }

    fn pull(
        &self,
        params: &[f64],
        x: &[f64],
        y: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.come_back(Self::FORWARD, params, (x, y), weights, cotangents, gradient, work);
    }
}

impl<const INVERSE: bool> Invertible for MaskedAffine<INVERSE> {
    fn inverse(&self, params: &[f64], y: &[f64], x: &mut [f64], log_det: &mut [f64], work: &mut [f64]) {
        self.go(Self::BACK, params, (y, x), log_det, work);
    }

    fn pull_inverse(
        &self,
        params: &[f64],
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.come_back(Self::BACK, params, (y, x), weights, cotangents, gradient, work);
    }
}
