//! Flow as a family and as a pushforward: evaluation of all layers, forward and backward, a block of points at a time.

use faer::reborrow::Reborrow;
use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Family, Parametric, Pushforward, Stream, borrow};

use super::Flow;
use super::layer::{At, Block, Direction, Sweep};
use super::model::Placed;
use crate::law::Radial;

/// The log density; `-inf` instead of NaN where `z` has no NaN but is so far away that a number overflowed.
fn decided(log_q: f64, z: &[f64]) -> f64 {
    if log_q.is_nan() && !z.iter().any(|z| z.is_nan()) { f64::NEG_INFINITY } else { log_q }
}

impl Family for Flow {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let noise = self.base.law();
        let peak = noise.log_peak(self.dim);
        let mut room = self.room(params, z.ncols(), false, work);
        for (b, log_q) in log_q.chunks_mut(BLOCK).enumerate() {
            let (x, log_det) = room.pass(self, params, Direction::Inverse, z, b * BLOCK, false);
            let points = x.chunks_exact(self.dim).zip(log_det);
            for (j, (log_q, (eps, log_det))) in log_q.iter_mut().zip(points).enumerate() {
                *log_q = decided(peak - noise.fallen(eps) - *log_det, z.column(b * BLOCK + j));
            }
        }
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let noise = self.base.law();
        noise.sample_into(lanes, z.as_mut());
        self.push_in_place(params, z, log_q, work);
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let noise = self.base.law();
        let mut room = self.room(params, z.ncols(), true, work);
        for (b, weights) in weights.chunks(BLOCK).enumerate() {
            room.pass(self, params, Direction::Inverse, z, b * BLOCK, true);
            room.begin_at_noise(noise, self.dim, weights);
            room.back(self, params, Direction::Inverse, weights, gradient);
        }
    }
}

impl Flow {
    /// Noise of each point, `eps_j = t^-1(z_j)`, and `ln |det dz/deps|` there; `work` as for the methods of [`Family`].
    pub fn invert(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        noise: MatMut<'_, f64>,
        log_det: &mut [f64],
        work: &mut [f64],
    ) {
        self.carry(params, Direction::Inverse, z, noise, log_det, work);
    }
}

impl<const INVERTIBLE: bool> Flow<INVERTIBLE> {
    /// Point of each noise, `z_j = t(eps_j)`, and `ln |det dz/deps|` there; `work` as for the methods of [`Family`].
    pub fn transport(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_det: &mut [f64],
        work: &mut [f64],
    ) {
        self.carry(params, Direction::Forward, noise, z, log_det, work);
    }

    fn carry(
        &self,
        params: &[f64],
        direction: Direction,
        from: MatRef<'_, f64>,
        mut to: MatMut<'_, f64>,
        log_det: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((from.nrows(), from.ncols()), (self.dim, log_det.len()), "a determinant per column");
        assert_eq!((to.nrows(), to.ncols()), (self.dim, from.ncols()), "an image per column");
        let mut room = self.room(params, from.ncols(), false, work);
        for (b, log_det) in log_det.chunks_mut(BLOCK).enumerate() {
            let (x, passed) = room.pass(self, params, direction, from, b * BLOCK, false);
            log_det.copy_from_slice(passed);
            for (k, x) in x.chunks_exact(self.dim).enumerate() {
                to.column_mut(b * BLOCK + k).copy_from_slice(x);
            }
        }
    }

    /// Replaces noise by its images, and writes the log density of each.
    pub(super) fn push_in_place(
        &self,
        params: &[f64],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        let noise = self.base.law();
        let peak = noise.log_peak(self.dim);
        let mut room = self.room(params, z.ncols(), false, work);
        for (b, log_q) in log_q.chunks_mut(BLOCK).enumerate() {
            let first = b * BLOCK;
            for (k, log_q) in log_q.iter_mut().enumerate() {
                *log_q = peak - noise.fallen(z.rb().column(first + k));
            }
            let (x, log_det) = room.pass(self, params, Direction::Forward, z.rb(), first, false);
            for (k, (x, log_det)) in x.chunks_exact(self.dim).zip(log_det).enumerate() {
                log_q[k] -= *log_det;
                z.column_mut(first + k).copy_from_slice(x);
            }
        }
    }
}

impl<const INVERTIBLE: bool> Pushforward for Flow<INVERTIBLE> {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.dim, "noise has the dimension of z");
        self.base.law().sample_into(lanes, noise);
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, log_q.len()), "a density per column");
        z.copy_from(noise);
        self.push_in_place(params, z, log_q, work);
    }

    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(
            (cotangents.nrows(), cotangents.ncols()),
            (self.dim, weights.len()),
            "a cotangent per column"
        );
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let mut room = self.room(params, noise.ncols(), true, work);
        for (b, weights) in weights.chunks(BLOCK).enumerate() {
            let first = b * BLOCK;
            room.pass(self, params, Direction::Forward, noise, first, true);
            room.begin_at_points(cotangents, first, weights.len());
            room.back(self, params, Direction::Forward, weights, gradient);
        }
    }
}

/// Points that pass all layers together: their activations stay in the second cache, those of a layer in the first.
pub(super) const BLOCK: usize = 48;

/// Lent memory, divided into prepared quantities, a block of points, weights and cotangents.
pub(super) struct Room<'a> {
    prepared: &'a mut [f64],
    block: Block<'a>,
    weights: &'a mut [f64],
    d: &'a mut [f64],
}

impl<const INVERTIBLE: bool> Flow<INVERTIBLE> {
    /// Length of `work` for batches of `columns` columns.
    pub(super) fn room_len(&self, columns: usize) -> usize {
        let n = columns.min(BLOCK);
        let last = self.parts.last();
        let (prepared, tape) = last.map_or((0, 0), |last| (last.prepared.end, last.tape.end));
        prepared + n * (2 * self.dim + 2 + tape) + self.layer_work_len(n)
    }

    fn layer_work_len(&self, columns: usize) -> usize {
        let each = self.parts.iter().map(|placed| placed.bijection.work_len(columns));
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
        assert_eq!(params.len(), self.num_params(), "the params of every layer");
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
            placed.bijection.prepare(&params[placed.params.clone()], prepared, backward);
        }
        room
    }
}

impl Room<'_> {
    /// Passes a block of columns, starting at `first`, through all layers in one direction. Returns the points and
    /// `sum_k ln |det df_k|` of each. The tape is kept for a backward sweep if `taped`.
    pub(super) fn pass<const INVERTIBLE: bool>(
        &mut self,
        flow: &Flow<INVERTIBLE>,
        params: &[f64],
        direction: Direction,
        points: MatRef<'_, f64>,
        first: usize,
        taped: bool,
    ) -> (&[f64], &[f64]) {
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
            placed.bijection.pass(at, direction, Block { x, log_det, tape, work });
        };
        match direction {
            Direction::Forward => flow.parts.iter().for_each(&mut through),
            Direction::Inverse => flow.parts.iter().rev().for_each(&mut through),
        }
        (x, log_det)
    }

    /// Backward sweep over the block of the last [`pass`](Self::pass), which was `taped`, with output cotangents in `self.d`.
    /// `weights` are those of log densities, in which the log-determinant has a minus
    /// sign.
    pub(super) fn back<const INVERTIBLE: bool>(
        &mut self,
        flow: &Flow<INVERTIBLE>,
        params: &[f64],
        direction: Direction,
        weights: &[f64],
        gradient: &mut [f64],
    ) {
        let n = weights.len();
        let negated = &mut self.weights[..n];
        negated.iter_mut().zip(weights).for_each(|(negated, weight)| *negated = -weight);
        let (d, Block { tape, work, .. }) = (&mut self.d[..n * flow.dim], &mut self.block);
        let mut through = |placed: &Placed| {
            let tape = &tape[placed.tape.start * n..placed.tape.end * n];
            let gradient = &mut gradient[placed.params.clone()];
            let sweep = Sweep { at: placed.at(params, self.prepared), direction, tape, weights: negated };
            placed.bijection.backward(sweep, d, gradient, work);
        };
        match direction {
            Direction::Forward => flow.parts.iter().rev().for_each(&mut through),
            Direction::Inverse => flow.parts.iter().for_each(&mut through),
        }
    }

    /// Initial cotangents of a backward sweep from the noise: weighted gradients of the base log density.
    pub(super) fn begin_at_noise(&mut self, noise: Radial, dim: usize, weights: &[f64]) {
        let points = self.block.x.chunks_exact(dim).zip(self.d.chunks_exact_mut(dim));
        for ((eps, d), &weight) in points.zip(weights) {
            let pull = noise.weight(eps);
            d.iter_mut().zip(eps).for_each(|(d, eps)| *d = -weight * pull * eps);
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
