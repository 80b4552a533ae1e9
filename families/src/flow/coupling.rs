//! Coupling layers of a flow: masks, monotone maps of the line, and the affine map.

use mcsa_core::{Error, Stream, borrow, numeric};
use serde::{Deserialize, Serialize};

use super::layer::{At, Bijection, Block, Direction, Sweep};
use super::network::Network;
use super::spline::Spline;

/// Set of coordinates that a coupling moves; the others stay and are the input of its network (Dinh et al. 2017, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mask {
    /// Coordinates 0, 2, 4, ..
    Even,
    /// Coordinates 1, 3, 5, ..; none in dimension one.
    Odd,
}

impl Mask {
    /// Masks `Even`, `Odd`, `Even`, ..; in dimension one, where `Odd` moves nothing, always `Even`.
    pub fn alternating(dim: usize) -> impl Iterator<Item = Self> {
        (0..).map(move |k: usize| if dim == 1 || k.is_multiple_of(2) { Self::Even } else { Self::Odd })
    }

    /// The coordinates that stay, and those that move, each in ascending order.
    pub fn split(self, dim: usize) -> (Vec<usize>, Vec<usize>) {
        (0..dim).partition(|i| i.is_multiple_of(2) != (self == Self::Even))
    }
}

/// Coupling layer (Dinh et al. 2017, eqs. 4-8). A mask splits the coordinates into `a`, which stay, and `b`, which move:
///
/// ```text
/// y_a = x_a,   y_b = g(x_b; theta),   theta = network(x_a),   ln |det| = sum_b ln g'(x_b; theta)
/// ```
/// Only `g` is inverted: the network is evaluated in the forward direction for the inverse too. In dimension one `a` is empty and
/// the network is a bias. Parameters are those of the network: `[W_1; b_1; ..; W_n; b_n]`, each `W` column by column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coupling {
    /// The coordinates that move.
    pub mask: Mask,
    /// The number of tanh units of each hidden layer of the network.
    pub hidden: Vec<usize>,
    /// The map of each moving coordinate.
    pub map: Map,
}

/// Monotone map of the line, which a coupling applies to each moving coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Map {
    /// `y = t + e^s x`.
    Affine(Affine),
    /// Piecewise rational quadratic, the identity outside an interval.
    Spline(Spline),
}

/// A coupling in a given dimension, with its network built.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CouplingLayer {
    dim: usize,
    stay: Vec<usize>,
    moved: Vec<usize>,
    network: Network,
    map: Map,
}

/// Tape of a batch, divided into its parts.
struct Tape<'a> {
    stay: &'a mut [f64],
    network: &'a mut [f64],
    kept: &'a mut [f64],
    moved: &'a mut [f64],
}

impl CouplingLayer {
    pub(super) fn new(coupling: &Coupling, dim: usize) -> Result<Self, Error> {
        let (stay, moved) = coupling.mask.split(dim);
        if moved.is_empty() {
            return Err(Error::invalid(format!("{:?} moves nothing in dimension {dim}", coupling.mask)));
        }
        monotone(&coupling.map).check()?;
        let outputs = monotone(&coupling.map).num_raw() * moved.len();
        let network = Network::new(stay.len(), &coupling.hidden, outputs)?;
        Ok(Self { dim, stay, moved, network, map: coupling.map })
    }

    fn split_tape<'a>(&self, mut tape: &'a mut [f64]) -> Tape<'a> {
        let columns = tape.len() / self.tape_len();
        let width = self.moved.len() * columns;
        Tape {
            stay: borrow(&mut tape, self.stay.len() * columns),
            network: borrow(&mut tape, self.network.tape_len() * columns),
            kept: borrow(&mut tape, monotone(&self.map).kept_len() * width),
            moved: borrow(&mut tape, width),
        }
    }

    /// Network output of point `j`.
    fn theta<'a>(&self, raw: &'a [f64], kept: &'a [f64], j: usize) -> Theta<'a> {
        let (width, raws) = (self.moved.len(), monotone(&self.map).num_raw() * self.moved.len());
        let kept = match kept {
            [] => [kept, kept],
            _ => <[_; 2]>::from(kept.split_at(kept.len() / 2)).map(|half| &half[j * width..][..width]),
        };
        Theta { raw: &raw[j * raws..][..raws], kept }
    }
}

fn monotone(map: &Map) -> &dyn Monotone {
    match map {
        Map::Affine(affine) => affine,
        Map::Spline(spline) => spline,
    }
}

impl Bijection for CouplingLayer {
    fn num_params(&self) -> usize {
        self.network.num_params()
    }

    fn tape_len(&self) -> usize {
        self.stay.len() + self.network.tape_len() + (monotone(&self.map).kept_len() + 1) * self.moved.len()
    }

    /// The network's matrices, transposed.
    fn prepared_len(&self) -> usize {
        self.network.transposed_len()
    }

    /// One point; for a backward sweep also the cotangents of the network's inputs and outputs, and the network's own memory.
    fn work_len(&self, columns: usize) -> usize {
        let ends = self.stay.len() + monotone(&self.map).num_raw() * self.moved.len();
        self.moved.len() + columns * ends + self.network.work_len(columns)
    }

    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        self.network.start(stream, params);
        Ok(())
    }

    fn prepare(&self, params: &[f64], prepared: &mut [f64], backward: bool) {
        if backward {
            self.network.transpose_into(params, prepared);
        }
    }

    /// Evaluates the network and moves the coordinates of every point in one direction.
    fn pass(&self, at: At<'_>, direction: Direction, Block { x: points, log_det, tape, work }: Block<'_>) {
        let (map, width, columns) = (monotone(&self.map), self.moved.len(), log_det.len());
        let Tape { stay, network, kept, moved } = self.split_tape(tape);
        for (point, stay) in points.chunks_exact(self.dim).zip(stay.chunks_exact_mut(self.stay.len().max(1)))
        {
            self.stay.iter().zip(stay).for_each(|(&i, stay)| *stay = point[i]);
        }
        self.network.forward(at.params, stay, columns, network);
        let raw = self.network.output(network, columns);
        map.bend(width, raw, kept);
        let room = &mut work[..width];
        let points = points.chunks_exact_mut(self.dim).zip(log_det);
        for ((j, x), (point, log_det)) in moved.chunks_exact_mut(width).enumerate().zip(points) {
            let theta = self.theta(raw, kept, j);
            // The tape holds x, which is the input or the output.
            let (from, to) = if direction == Direction::Forward { (x, &mut *room) } else { (&mut *room, x) };
            self.moved.iter().zip(&mut *from).for_each(|(&i, from)| *from = point[i]);
            *log_det += map.pass(theta, direction, from, to);
            self.moved.iter().zip(to).for_each(|(&i, to)| point[i] = *to);
        }
    }

    fn backward(&self, sweep: Sweep<'_>, d: &mut [f64], gradient: &mut [f64], mut work: &mut [f64]) {
        let at = sweep.at;
        let (map, width, columns) = (monotone(&self.map), self.moved.len(), sweep.weights.len());
        let (stay, tape) = sweep.tape.split_at(self.stay.len() * columns);
        let (network, tape) = tape.split_at(self.network.tape_len() * columns);
        let (kept, moved) = tape.split_at(map.kept_len() * width * columns);
        let raws = map.num_raw() * width;
        let raw = &network[network.len() - raws * columns..];
        let room = borrow(&mut work, width);
        let (d_raw, d_stay) = (borrow(&mut work, raws * columns), borrow(&mut work, stay.len()));
        let points = d.chunks_exact_mut(self.dim).zip(sweep.weights);
        let each = moved.chunks_exact(width).zip(d_raw.chunks_exact_mut(raws)).enumerate();
        for ((j, (x, d_raw)), (d, &v)) in each.zip(points) {
            self.moved.iter().zip(&mut *room).for_each(|(&i, room)| *room = d[i]);
            map.backward(self.theta(raw, kept, j), sweep.direction, v, x, room, d_raw);
            self.moved.iter().zip(&*room).for_each(|(&i, room)| d[i] = *room);
        }
        d_stay.fill(0.0);
        self.network.backward(at.prepared, stay, network, columns, d_raw, d_stay, gradient, work);
        for (d, d_stay) in d.chunks_exact_mut(self.dim).zip(d_stay.chunks_exact(self.stay.len().max(1))) {
            self.stay.iter().zip(d_stay).for_each(|(&i, d_stay)| d[i] += d_stay);
        }
    }
}

/// Monotone maps of `width` coordinates, one each. Slices hold points one after the other; `raw` is the network's output.
pub(super) trait Monotone {
    /// Checks that the numbers are in range.
    fn check(&self) -> Result<(), Error>;

    /// Network outputs per coordinate; if they are all zero the map is the identity.
    fn num_raw(&self) -> usize;

    /// Number of further values per coordinate that are kept on the tape: 0 or 2.
    fn kept_len(&self) -> usize;

    /// Transforms the network's output into the values that the map needs, once per batch: `raw` in place, and `kept`, which holds
    /// the first value of all coordinates of all points, then the second.
    fn bend(&self, width: usize, raw: &mut [f64], kept: &mut [f64]);

    /// Writes `y = g(x)` or `x = g^-1(y)` of a point, and returns `sum ln g'(x)`.
    fn pass(&self, theta: Theta<'_>, direction: Direction, from: &[f64], to: &mut [f64]) -> f64;

    /// [`Bijection::backward`] for the coordinates of a point: replaces the cotangents `d`, and writes the network's, `d_raw`.
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

impl Monotone for Affine {
    fn check(&self) -> Result<(), Error> {
        if !(self.bound > 0.0 && self.bound <= 20.0) {
            return Err(Error::parameter("bound of log scales", self.bound, "positive and at most 20"));
        }
        Ok(())
    }

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

    fn pass(&self, theta: Theta<'_>, direction: Direction, from: &[f64], to: &mut [f64]) -> f64 {
        let ([tanh, power], shift) = (theta.kept, &theta.raw[from.len()..]);
        let mut sum = 0.0;
        for i in 0..from.len() {
            to[i] = match direction {
                Direction::Forward => shift[i] + power[i] * from[i],
                Direction::Inverse => (from[i] - shift[i]) / power[i],
            };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_split_the_coordinates() {
        assert_eq!(Mask::Even.split(5), (vec![1, 3], vec![0, 2, 4]));
        assert_eq!(Mask::Odd.split(5), (vec![0, 2, 4], vec![1, 3]));
        assert_eq!(Mask::Even.split(1), (vec![], vec![0]));
        assert_eq!(Mask::alternating(1).take(2).collect::<Vec<_>>(), [Mask::Even, Mask::Even]);
        assert_eq!(Mask::alternating(2).take(2).collect::<Vec<_>>(), [Mask::Even, Mask::Odd]);
    }
}
