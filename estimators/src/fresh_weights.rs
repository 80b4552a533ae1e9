//! Log weights of fresh draws, for a report on a fit.

use faer::MatMut;
use mcsa_core::{LogDensity, batch, batch_mut};

use crate::log_weights::add_log_weights;
use crate::tail_weight::TailShape;

/// Number of draws at first, and in all if the first leave the verdict on k-hat open.
pub(crate) const DRAWS: [usize; 2] = [4_000, 16_000];
/// Number of draws held in memory.
pub(crate) const BATCH: usize = 1_000;

/// Size of the next piece, given the log densities so far; 0 stops.
type Next<'n> = &'n mut dyn FnMut(&[f64]) -> usize;

/// Pieces in which fresh draws are evaluated; by default all at once.
#[derive(Default)]
pub(crate) struct Pieces<'n> {
    /// Log densities of the first draws, from an earlier call.
    pub(crate) done: Vec<f64>,
    pub(crate) next: Option<Next<'n>>,
}

/// Log weights of draws of q.
pub(crate) struct FreshWeights {
    pub(crate) log_w: Vec<f64>,
    /// Number of evaluations that were not finite.
    pub(crate) broken: usize,
    pub(crate) tail: TailShape,
}

impl FreshWeights {
    /// Log weights of draws that `draw` makes, with `log q`: the first number of `enough` that gives a clear tail, or the last.
    /// `None` if a piece is empty. `lent` is the length of memory that batches need.
    pub(crate) fn of<P: LogDensity + ?Sized>(
        target: &P,
        dim: usize,
        lent: usize,
        enough: &[usize],
        mut pieces: Pieces<'_>,
        mut draw: impl FnMut(MatMut<'_, f64>, &mut [f64], &mut [f64]),
    ) -> Option<Self> {
        let (mut work, mut points, mut log_q) = (vec![0.0; lent], vec![0.0; dim * BATCH], vec![0.0; BATCH]);
        let mut weights = Self { log_w: Vec::new(), broken: 0, tail: TailShape::NONE };
        for &draws in enough {
            while weights.log_w.len() < draws {
                let begin = weights.log_w.len();
                let end = draws.min(begin + BATCH);
                let (points, log_q) = (&mut points[..dim * (end - begin)], &mut log_q[..end - begin]);
                // The draws of earlier calls are made again: evaluating them is what costs.
                draw(batch_mut(points, dim, end - begin), log_q, &mut work);
                while pieces.done.len() < end {
                    let at = pieces.done.len();
                    let piece = pieces.next.as_mut().map_or(usize::MAX, |next| next(&pieces.done));
                    let piece = piece.min(end - at);
                    if piece == 0 {
                        return None;
                    }
                    pieces.done.resize(at + piece, 0.0);
                    let columns = &points[dim * (at - begin)..dim * (at + piece - begin)];
                    target.log_densities(batch(columns, dim, piece), &mut pieces.done[at..], &mut work);
                }
                weights.broken += add_log_weights(&pieces.done[begin..end], log_q, &mut weights.log_w);
            }
            weights.tail = TailShape::of(&weights.log_w);
            if weights.tail.is_clear() {
                break;
            }
        }
        Some(weights)
    }
}
