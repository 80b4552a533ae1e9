//! Evaluation of all layers, forward and backward, a block of points at a time.

use faer::MatRef;
use mcsa_core::{Columns, borrow};

use super::bijection::{At, Direction, Sweep};
use super::model::{Flow, Placed};
use super::{Base, base::Noise};

/// Points that pass all layers together: their activations stay in the second cache, those of a layer in the first.
pub(super) const BLOCK: usize = 48;

/// Lent memory, divided into prepared quantities, a block of points, weights and cotangents.
pub(super) struct Room<'a> {
    prepared: &'a mut [f64],
    block: Block<'a>,
    weights: &'a mut [f64],
    d: &'a mut [f64],
}

/// Memory of a block of points.
struct Block<'a> {
    x: &'a mut [f64],
    log_det: &'a mut [f64],
    tape: &'a mut [f64],
    work: &'a mut [f64],
}

/// Output of a block that has passed all layers.
pub(super) struct Passed<'a> {
    /// Output points, one after the other.
    pub(super) x: &'a mut [f64],
    /// `sum_k ln |det df_k|` of each point.
    pub(super) log_det: &'a mut [f64],
}

impl<B: Base, const INVERTIBLE: bool> Flow<B, INVERTIBLE> {
    /// Length of `work` for batches of `columns` columns.
    pub(super) fn room_len(&self, columns: usize) -> usize {
        let n = columns.min(BLOCK);
        let last = self.parts.last();
        let (prepared, tape) = last.map_or((0, 0), |last| (last.prepared.end, last.tape.end));
        prepared + n * (2 * self.dim + 2 + tape) + self.layer_work_len(n)
    }

    fn layer_work_len(&self, columns: usize) -> usize {
        let each = self.parts.iter().map(|placed| placed.part.bijection().work_len(columns));
        each.max().unwrap_or(0)
    }

    /// Divides lent memory and prepares every layer, also for backward sweeps if `backward`.
    pub(super) fn room<'a>(
        &self,
        params: &[f64],
        columns: usize,
        backward: bool,
        mut work: &'a mut [f64],
    ) -> Room<'a> {
        let n = columns.min(BLOCK);
        let (prepared, tape) = self.parts.last().map_or((0, 0), |last| (last.prepared.end, last.tape.end));
        let room = Room {
            prepared: borrow(&mut work, prepared),
            block: Block {
                x: borrow(&mut work, n * self.dim),
                log_det: borrow(&mut work, n),
                tape: borrow(&mut work, n * tape),
                work: borrow(&mut work, self.layer_work_len(n)),
            },
            weights: borrow(&mut work, n),
            d: borrow(&mut work, n * self.dim),
        };
        for placed in &self.parts {
            let prepared = &mut room.prepared[placed.prepared.clone()];
            placed.part.bijection().prepare(&params[placed.params.clone()], prepared, backward);
        }
        room
    }
}

impl Room<'_> {
    /// Passes a block of columns, starting at `first`, through all layers in one direction. The tape is kept for a backward sweep
    /// if `taped`.
    pub(super) fn pass<B: Base, const INVERTIBLE: bool>(
        &mut self,
        flow: &Flow<B, INVERTIBLE>,
        params: &[f64],
        direction: Direction,
        points: MatRef<'_, f64>,
        first: usize,
        taped: bool,
    ) -> Passed<'_> {
        let n = (points.ncols() - first).min(BLOCK);
        let Block { x, log_det, tape, work } = &mut self.block;
        let (x, log_det) = (&mut x[..n * flow.dim], &mut log_det[..n]);
        for (k, x) in x.chunks_exact_mut(flow.dim).enumerate() {
            x.copy_from_slice(points.column(first + k));
        }
        log_det.fill(0.0);
        let mut through = |placed: &Placed| {
            let at = placed.at(params, self.prepared);
            // Without a backward sweep every layer writes to the beginning of the tape, which stays in the cache.
            let start = if taped { placed.tape.start * n } else { 0 };
            let tape = &mut tape[start..start + placed.tape.len() * n];
            let bijection = placed.part.bijection();
            match direction {
                Direction::Forward => bijection.forward(at, x, log_det, tape, work),
                Direction::Inverse => bijection.inverse(at, x, log_det, tape, work),
            }
        };
        match direction {
            Direction::Forward => flow.parts.iter().for_each(&mut through),
            Direction::Inverse => flow.parts.iter().rev().for_each(&mut through),
        }
        Passed { x, log_det }
    }

    /// Backward sweep over the block of the last [`pass`](Self::pass), which was `taped`, with output cotangents in `self.d`;
    /// returns the cotangents of the input points. `weights` are those of log densities, in which the log-determinant has a minus
    /// sign.
    pub(super) fn back<B: Base, const INVERTIBLE: bool>(
        &mut self,
        flow: &Flow<B, INVERTIBLE>,
        params: &[f64],
        direction: Direction,
        weights: Weights<'_>,
        mut gradient: Option<&mut [f64]>,
    ) -> &[f64] {
        let n = weights.len();
        let negated = &mut self.weights[..n];
        negated.iter_mut().enumerate().for_each(|(j, weight)| *weight = -weights.at(j));
        let (d, Block { tape, work, .. }) = (&mut self.d[..n * flow.dim], &mut self.block);
        let mut through = |placed: &Placed| {
            let tape = &tape[placed.tape.start * n..placed.tape.end * n];
            let gradient = gradient.as_deref_mut().map(|gradient| &mut gradient[placed.params.clone()]);
            let sweep = Sweep { direction, tape, weights: negated };
            placed.part.bijection().backward(placed.at(params, self.prepared), sweep, d, gradient, work);
        };
        match direction {
            Direction::Forward => flow.parts.iter().rev().for_each(&mut through),
            Direction::Inverse => flow.parts.iter().for_each(&mut through),
        }
        d
    }

    /// Initial cotangents of a backward sweep from the noise: weighted gradients of the base log density.
    pub(super) fn begin_at_noise(&mut self, noise: Noise, dim: usize, weights: Weights<'_>) {
        let points = self.block.x.chunks_exact(dim).zip(self.d.chunks_exact_mut(dim));
        for (j, (eps, d)) in points.take(weights.len()).enumerate() {
            noise.slope_into(eps, weights.at(j), d);
        }
    }

    /// Initial cotangents of a backward sweep from the points.
    pub(super) fn begin_at_points(&mut self, cotangents: MatRef<'_, f64>, first: usize, n: usize) {
        for (k, d) in self.d.chunks_exact_mut(cotangents.nrows()).take(n).enumerate() {
            d.copy_from_slice(cotangents.column(first + k));
        }
    }
}

impl Placed {
    fn at<'a>(&self, params: &'a [f64], prepared: &'a [f64]) -> At<'a> {
        At { params: &params[self.params.clone()], prepared: &prepared[self.prepared.clone()] }
    }
}

/// Weights of a block: one per point, or one for all.
#[derive(Clone, Copy)]
pub(super) enum Weights<'a> {
    Each(&'a [f64]),
    All(f64, usize),
}

impl Weights<'_> {
    fn len(self) -> usize {
        match self {
            Self::Each(weights) => weights.len(),
            Self::All(_, count) => count,
        }
    }

    fn at(self, j: usize) -> f64 {
        match self {
            Self::Each(weights) => weights[j],
            Self::All(weight, _) => weight,
        }
    }
}
