//! Masked autoregressive affine layers of a flow (MAF, IAF), and their network (MADE).

use std::ops::Range;

use mcsa_core::numeric::vectorised;
use mcsa_core::{Error, Stream, borrow, numeric};
use mcsa_numeric::linear::staircase::Staircase;
use serde::{Deserialize, Serialize};

use super::layer::{At, Bijection, Block, Direction, Sweep};
use super::network::check_hidden;

/// Masked autoregressive affine layer, of MAF (Papamakarios, Pavlakou & Murray 2017, eq. 3-5), or its inverse, of IAF (Kingma,
/// Salimans, Jozefowicz, Chen, Sutskever & Welling 2016, eq. 10-12):
///
/// ```text
/// Maf: y_i = m_i(y_{<i}) + e^{s_i(y_{<i})} x_i        Iaf: y_i = m_i(x_{<i}) + e^{s_i(x_{<i})} x_i
/// log |det dy/dx| = sum_i s_i,   s_i = B tanh(a_i / B),   (m, a) from a masked network (MADE) of tanh units
/// ```
/// From the points that the network reads (`y` of MAF, `x` of IAF) to the other side takes one pass; in the opposite direction
/// the coordinates are computed one after the other. Units are sorted by the number of coordinates that they depend on, so that
/// this direction also computes each unit once: `d` short steps, together the arithmetic of one pass.
///
/// Unlike the papers, log scales are bounded by `B` in every layer: no coordinate is stretched by more than `e^B`, and nothing
/// overflows however far a point lies. Layers start exactly as the identity. There is no sigmoid gate and no context from an encoder.
///
/// Parameters are those of the network (Germain et al. 2015): weights and biases of each layer, masked weights left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Autoregressive {
    /// Units of the hidden layers of the masked network, the first next to the input. If empty, each coordinate is linear in those
    /// before it.
    pub hidden: Vec<usize>,
    /// The bound `B` of the log scales, positive and at most 100: each is between `-B` and `B`.
    pub bound: f64,
    /// True for the layer of IAF.
    pub inverse: bool,
    /// True if the coordinates are ordered from the last to the first.
    pub reversed: bool,
}

impl Default for Autoregressive {
    /// A layer of MAF with two hidden layers of 32 units, log scales up to 3, and coordinates in order.
    fn default() -> Self {
        Self { hidden: vec![32, 32], bound: 3.0, inverse: false, reversed: false }
    }
}

/// An autoregressive layer in a given dimension, with its network built.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MaskedAffine {
    dim: usize,
    made: Made,
    bound: f64,
    inverse: bool,
    reversed: bool,
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

impl MaskedAffine {
    pub(super) fn new(config: &Autoregressive, dim: usize) -> Result<Self, Error> {
        let Autoregressive { ref hidden, bound, inverse, reversed } = *config;
        if !(bound > 0.0 && bound <= 100.0) {
            return Err(Error::parameter("bound", bound, "positive and at most 100"));
        }
        Ok(Self { dim, made: Made::new(dim, hidden)?, bound, inverse, reversed })
    }

    fn way(&self, direction: Direction) -> Way {
        let expands = direction == Direction::Forward;
        Way { expands, reads_input: expands == self.inverse }
    }

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

    /// Copies points to the input of the network, with coordinates in the layer's order.
    fn read(&self, points: &[f64], tape: &mut [f64], n: usize) {
        let rows = self.made.input(tape, n).chunks_exact_mut(self.dim);
        for (row, point) in rows.zip(points.chunks_exact(self.dim)) {
            row.iter_mut().enumerate().for_each(|(place, x)| *x = point[self.at(place)]);
        }
    }
}

impl Bijection for MaskedAffine {
    fn num_params(&self) -> usize {
        self.made.num_params()
    }

    fn tape_len(&self) -> usize {
        self.dim + self.made.tape_len()
    }

    fn work_len(&self, columns: usize) -> usize {
        (self.made.tape_len() + 2) * columns
    }

    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        self.made.start(stream, params);
        Ok(())
    }

    /// Carries the points in one direction, and writes the tape: the points `x` of the layer, and the tape of its network.
    fn pass(
        &self,
        at: At<'_>,
        direction: Direction,
        Block { x: points, log_det, tape, mut work }: Block<'_>,
    ) {
        let (n, params, way) = (log_det.len(), at.params, self.way(direction));
        let [all, hidden, last] = self.made.layers();
        let mut coordinate = Coordinate { tanh: borrow(&mut work, n), scale: borrow(&mut work, n) };
        let (x, tape) = tape.split_at_mut(points.len());
        if way.expands {
            x.copy_from_slice(points);
        }
        if way.reads_input {
            self.read(points, tape, n);
            self.made.forward(all, None, params, tape, n);
        }
        for place in 0..self.dim {
            if !way.reads_input {
                self.made.forward(last.clone(), Some(place), params, tape, n);
            }
            let output = self.made.output(tape, n);
            self.bend(way, place, output, &mut coordinate);
            for j in 0..n {
                let (k, m) = (j * self.dim + self.at(place), output[(j * self.dim + place) * 2]);
                let scale = coordinate.scale[j];
                points[k] = if way.expands { m + scale * points[k] } else { (points[k] - m) * scale };
                log_det[j] += self.bound * coordinate.tanh[j];
            }
            if !way.reads_input {
                let input = self.made.input(tape, n);
                for j in 0..n {
                    input[j * self.dim + place] = points[j * self.dim + self.at(place)];
                }
                self.made.forward(hidden.clone(), Some(place), params, tape, n);
            }
        }
        if !way.expands {
            x.copy_from_slice(points);
        }
    }

    fn backward(&self, sweep: Sweep<'_>, cotangents: &mut [f64], gradient: &mut [f64], mut work: &mut [f64]) {
        let (n, dim, params) = (sweep.weights.len(), self.dim, sweep.at.params);
        let (way, [all, hidden, last]) = (self.way(sweep.direction), self.made.layers());
        let mut coordinate = Coordinate { tanh: borrow(&mut work, n), scale: borrow(&mut work, n) };
        let d = borrow(&mut work, self.made.tape_len() * n);
        d.fill(0.0);
        let (x, tape) = sweep.tape.split_at(dim * n);
        for place in (0..dim).rev() {
            if !way.reads_input {
                self.made.backward(hidden.clone(), Some(place), params, (tape, d), gradient, n);
                let d_input = self.made.input(d, n);
                for j in 0..n {
                    cotangents[j * dim + self.at(place)] += d_input[j * dim + place];
                }
            }
            self.bend(way, place, self.made.read_output(tape, n), &mut coordinate);
            let d_output = self.made.output(d, n);
            for (j, &v) in sweep.weights.iter().enumerate() {
                let k = j * dim + self.at(place);
                let (c, scale, t) = (cotangents[k], coordinate.scale[j], coordinate.tanh[j]);
                let (d_m, d_s) =
                    if way.expands { (c, c * (scale * x[k]) + v) } else { (-c * scale, -c * x[k] + v) };
                let out = (j * dim + place) * 2;
                d_output[out] = d_m;
                d_output[out + 1] = d_s * (1.0 - t * t);
                cotangents[k] = c * scale;
            }
            if !way.reads_input {
                self.made.backward(last.clone(), Some(place), params, (tape, d), gradient, n);
            }
        }
        if way.reads_input {
            self.made.backward(all, None, params, (tape, d), gradient, n);
            let rows = self.made.input(d, n).chunks_exact(dim);
            for (row, cotangent) in rows.zip(cotangents.chunks_exact_mut(dim)) {
                row.iter().enumerate().for_each(|(place, d)| cotangent[self.at(place)] += d);
            }
        }
    }
}

/// Masked autoencoder (MADE; Germain, Gregor, Murray & Larochelle 2015): two outputs for each coordinate, functions of the
/// coordinates before it.
///
/// ```text
/// h_0 = x,   h_l = tanh(W_l h_{l-1} + b_l),   (m_i, a_i) = rows 2i, 2i+1 of W h_L + b
/// unit k of H has degree 1 + floor(k (d-1) / H); it reads units of at most its degree; outputs of i read degrees below i
/// ```
/// Unlike the paper, degrees are spread evenly instead of drawn at random. Units are sorted by degree: the masks are
/// [`Staircase`]s, which store only unmasked weights. A degree is then a range of rows, so that the network can also be evaluated
/// degree by degree, each unit once: inverting the flow, which finds one coordinate of the input at a time, costs the arithmetic of
/// one pass.
///
/// Parameters are `[W_1; b_1; ..; W; b]`. The tape holds `h_0, .., h_L` and the outputs, each for all points.
#[derive(Debug, Clone, PartialEq)]
struct Made {
    dim: usize,
    stairs: Vec<Staircase>,
    /// Index at which the parameters of each matrix begin, and at the end their number.
    params: Vec<usize>,
    /// Offset of each block of the tape, per point, and at the end the length of the tape per point.
    blocks: Vec<usize>,
}

impl Made {
    fn new(dim: usize, hidden: &[usize]) -> Result<Self, Error> {
        check_hidden(hidden)?;
        let degrees = dim.saturating_sub(1);
        // Number of units of at most this degree; zero if the only coordinate has none before it.
        let up_to = |units: usize, degree: usize| {
            if degrees == 0 { 0 } else { (units * degree).div_ceil(degrees) }
        };
        let mut stairs = Vec::new();
        let (mut before, mut seen): (_, Box<dyn Fn(usize) -> usize>) = (dim, Box::new(|degree| degree));
        for &units in hidden {
            let own = move |degree| up_to(units, degree);
            let treads = (1..=degrees).map(|degree| (own(degree) - own(degree - 1), seen(degree)));
            stairs.push(Staircase::new(before, treads));
            (before, seen) = (own(degrees), Box::new(own));
        }
        stairs.push(Staircase::new(before, (0..dim).map(|i| (2, seen(i)))));
        let (mut params, mut blocks) = (vec![0], vec![0, dim]);
        for stairs in &stairs {
            params.push(params[params.len() - 1] + stairs.num_weights() + stairs.rows());
            blocks.push(blocks[blocks.len() - 1] + stairs.rows());
        }
        Ok(Self { dim, stairs, params, blocks })
    }

    fn num_params(&self) -> usize {
        self.params[self.stairs.len()]
    }

    /// Length of the tape per point.
    fn tape_len(&self) -> usize {
        self.blocks[self.stairs.len() + 1]
    }

    /// Parameters at which the outputs are 0 for any input: hidden weights `N(0, 1 / inputs)`, all others 0.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
        for (layer, stairs) in self.stairs.iter().enumerate() {
            for tread in stairs.treads() {
                let scale = if self.is_hidden(layer) { 1.0 / (tread.width as f64).sqrt() } else { 0.0 };
                params.extend(
                    (0..tread.rows.len() * tread.width)
                        .map(|_| if scale == 0.0 { 0.0 } else { scale * stream.normal() }),
                );
            }
            params.extend(std::iter::repeat_n(0.0, stairs.rows()));
        }
    }

    fn is_hidden(&self, layer: usize) -> bool {
        layer + 1 < self.stairs.len()
    }

    /// The weights and biases of a layer.
    fn split<'p>(&self, layer: usize, params: &'p [f64]) -> (&'p [f64], &'p [f64]) {
        params[self.params[layer]..self.params[layer + 1]].split_at(self.stairs[layer].num_weights())
    }

    /// The input on a tape of `columns` points.
    fn input<'t>(&self, tape: &'t mut [f64], columns: usize) -> &'t mut [f64] {
        &mut tape[..self.dim * columns]
    }

    /// The outputs on a tape of `columns` points: `(m_i, a_i)` for each coordinate, point by point.
    fn output<'t>(&self, tape: &'t mut [f64], columns: usize) -> &'t mut [f64] {
        &mut tape[self.blocks[self.stairs.len()] * columns..]
    }

    /// The outputs on a tape that is only read.
    fn read_output<'t>(&self, tape: &'t [f64], columns: usize) -> &'t [f64] {
        &tape[self.blocks[self.stairs.len()] * columns..]
    }

    /// All layers, the hidden ones, and the last, which gives the outputs.
    fn layers(&self) -> [Range<usize>; 3] {
        let last = self.stairs.len() - 1;
        [0..last + 1, 0..last, last..last + 1]
    }

    /// Treads of a layer: all, or the one that depends on coordinate `place` and on none after it, if there is one.
    fn treads(&self, layer: usize, place: Option<usize>) -> Range<usize> {
        let count = self.stairs[layer].treads().len();
        place.map_or(0..count, |place| place..count.min(place + 1))
    }

    /// The rows of some treads of a hidden layer.
    fn rows(stairs: &Staircase, treads: &Range<usize>) -> Range<usize> {
        stairs.treads()[treads.start].rows.start..stairs.treads()[treads.end - 1].rows.end
    }

    /// Computes some layers from the block of the tape before them: the whole layers, or the treads of one coordinate.
    fn forward(
        &self,
        layers: Range<usize>,
        place: Option<usize>,
        params: &[f64],
        tape: &mut [f64],
        columns: usize,
    ) {
        for layer in layers {
            let (stairs, treads) = (&self.stairs[layer], self.treads(layer, place));
            let (weights, biases) = self.split(layer, params);
            let (before, after) = tape.split_at_mut(self.blocks[layer + 1] * columns);
            let (x, y) = (&before[self.blocks[layer] * columns..], &mut after[..stairs.rows() * columns]);
            if y.is_empty() || treads.is_empty() {
                continue;
            }
            stairs.multiply(treads.clone(), weights, biases, x, y);
            if self.is_hidden(layer) {
                let rows = Self::rows(stairs, &treads);
                y.chunks_exact_mut(stairs.rows()).for_each(|y| numeric::tanh(&mut y[rows.clone()]));
            }
        }
    }

    /// Reverse-mode derivative of [`forward`](Self::forward); the cotangents `d` have the layout of the tape.
    fn backward(
        &self,
        layers: Range<usize>,
        place: Option<usize>,
        params: &[f64],
        (tape, d): (&[f64], &mut [f64]),
        gradient: &mut [f64],
        columns: usize,
    ) {
        for layer in layers.rev() {
            let (stairs, treads) = (&self.stairs[layer], self.treads(layer, place));
            let height = stairs.rows();
            if height * columns == 0 || treads.is_empty() {
                continue;
            }
            let [from, to] = [self.blocks[layer] * columns, self.blocks[layer + 1] * columns];
            let (before, after) = d.split_at_mut(to);
            let (d_x, d_y) = (&mut before[from..], &mut after[..height * columns]);
            if self.is_hidden(layer) {
                let rows = Self::rows(stairs, &treads);
                let values = &tape[to..to + height * columns];
                vectorised(
                    #[inline(always)]
                    || {
                        for (d, h) in d_y.chunks_exact_mut(height).zip(values.chunks_exact(height)) {
                            for (d, h) in d[rows.clone()].iter_mut().zip(&h[rows.clone()]) {
                                *d *= 1.0 - h * h;
                            }
                        }
                    },
                );
            }
            let (weights, _) = self.split(layer, params);
            let own = &mut gradient[self.params[layer]..self.params[layer + 1]];
            let (d_weights, d_biases) = own.split_at_mut(stairs.num_weights());
            stairs.pull(treads, weights, &tape[from..to], d_y, d_x, d_weights, d_biases);
        }
    }
}
