//! Masked autoregressive affine layers of a flow (MAF, IAF).

use mcsa_core::{Error, Stream, borrow, numeric};
use serde::{Deserialize, Serialize};

use super::bijection::{At, Bijection, Direction, Sweep, gradient_or_spare};
use super::made::Made;

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
///
/// ```
/// use mcsa_families::Autoregressive;
/// let config = Autoregressive::default();
/// assert_eq!((&config.hidden[..], config.bound, config.inverse), (&[32, 32][..], 3.0, false));
/// ```
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

    /// Carries the points in one direction, and writes the tape: the points `x` of the layer, and the tape of its network.
    fn sweep(
        &self,
        at: At<'_>,
        direction: Direction,
        points: &mut [f64],
        log_det: &mut [f64],
        tape: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (n, params, way) = (log_det.len(), at.params, self.way(direction));
        let mut coordinate = Coordinate { tanh: borrow(&mut work, n), scale: borrow(&mut work, n) };
        let (x, tape) = tape.split_at_mut(points.len());
        if way.expands {
            x.copy_from_slice(points);
        }
        if way.reads_input {
            self.read(points, tape, n);
            self.made.forward(params, tape, n);
        }
        for place in 0..self.dim {
            if !way.reads_input {
                self.made.tell(place, params, tape, n);
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
                self.made.learn(place, params, tape, n);
            }
        }
        if !way.expands {
            x.copy_from_slice(points);
        }
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
        (self.made.tape_len() + 2) * columns + self.num_params()
    }

    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        self.made.start(stream, params);
        Ok(())
    }

    fn forward(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], work: &mut [f64]) {
        self.sweep(at, Direction::Forward, x, log_det, tape, work);
    }

    fn inverse(&self, at: At<'_>, y: &mut [f64], log_det: &mut [f64], tape: &mut [f64], work: &mut [f64]) {
        self.sweep(at, Direction::Inverse, y, log_det, tape, work);
    }

    fn backward(
        &self,
        at: At<'_>,
        sweep: Sweep<'_>,
        cotangents: &mut [f64],
        gradient: Option<&mut [f64]>,
        mut work: &mut [f64],
    ) {
        let (n, dim, params, way) = (sweep.weights.len(), self.dim, at.params, self.way(sweep.direction));
        let mut coordinate = Coordinate { tanh: borrow(&mut work, n), scale: borrow(&mut work, n) };
        let d = borrow(&mut work, self.made.tape_len() * n);
        d.fill(0.0);
        let gradient = gradient_or_spare(gradient, self.num_params(), &mut work);
        let (x, tape) = sweep.tape.split_at(dim * n);
        for place in (0..dim).rev() {
            if !way.reads_input {
                self.made.unlearn(place, params, (tape, d), gradient, n);
                let d_input = self.made.input(d, n);
                for j in 0..n {
                    cotangents[j * dim + self.at(place)] += d_input[j * dim + place];
                }
            }
            self.bend(way, place, self.made.told(tape, n), &mut coordinate);
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
