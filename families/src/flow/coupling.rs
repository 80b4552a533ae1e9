//! Coupling layers of a flow.

use mcsa_core::{Error, Stream, borrow};
use serde::{Deserialize, Serialize};

use super::affine::Affine;
use super::bijection::{At, Bijection, Direction, Sweep};
use super::mask::Mask;
use super::monotone::{Monotone, Theta};
use super::network::{Activation, Network};
use super::spline::Spline;

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
    /// The number of units of each hidden layer of the network.
    pub hidden: Vec<usize>,
    /// Activation of the hidden layers.
    #[serde(default)]
    pub activation: Activation,
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
        match coupling.map {
            Map::Affine(affine) => affine.check()?,
            Map::Spline(spline) => spline.check()?,
        }
        let outputs = monotone(&coupling.map).num_raw() * moved.len();
        let network = Network::new(stay.len(), &coupling.hidden, outputs, coupling.activation)?;
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

    /// Evaluates the network and moves the coordinates of every point in one direction.
    fn sweep(
        &self,
        at: At<'_>,
        direction: Direction,
        points: &mut [f64],
        log_det: &mut [f64],
        tape: &mut [f64],
        work: &mut [f64],
    ) {
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
            *log_det += match direction {
                Direction::Forward => map.forward(theta, from, to),
                Direction::Inverse => map.inverse(theta, from, to),
            };
            self.moved.iter().zip(to).for_each(|(&i, to)| point[i] = *to);
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
        d: &mut [f64],
        gradient: Option<&mut [f64]>,
        mut work: &mut [f64],
    ) {
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
