//! Bijections with log-determinants and derivatives, the layers of a flow.

use mcsa_core::{Error, Stream, borrow};

/// Parameters of a layer, and the quantities prepared from them for a batch.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) params: &'a [f64],
    pub(super) prepared: &'a [f64],
}

/// Direction in which a batch passes a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// `y = f(x)`.
    Forward,
    /// `x = f^-1(y)`.
    Inverse,
}

/// Record of a sweep that a reverse sweep reads.
#[derive(Clone, Copy)]
pub(super) struct Sweep<'a> {
    pub(super) direction: Direction,
    pub(super) tape: &'a [f64],
    /// Cotangent of `ln |det df/dx|` of each point, for either direction.
    pub(super) weights: &'a [f64],
}

/// Bijection `y = f(x)` on batches, points one after the other in a slice. The arithmetic of one point does not depend on the
/// others.
pub(super) trait Bijection {
    fn num_params(&self) -> usize;

    /// Length of tape per point, which a sweep writes for the reverse sweep.
    fn tape_len(&self) -> usize;

    /// Length of the quantities that depend on lambda alone.
    fn prepared_len(&self) -> usize {
        0
    }

    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Refuses finite parameters at which the layer cannot be represented, or is no bijection.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        let _ = params;
        Ok(())
    }

    /// Appends parameters at which the layer is the identity, exactly or nearly, up to the order of coordinates.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error>;

    /// Writes the quantities that depend on lambda alone; also those of backward sweeps if `backward`.
    fn prepare(&self, params: &[f64], prepared: &mut [f64], backward: bool) {
        let _ = (params, prepared, backward);
    }

    /// `x <- f(x)`, `log_det += ln |det df/dx|`.
    fn forward(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], work: &mut [f64]);

    /// `y <- f^-1(y)`, `log_det += ln |det df/dx|` at the result. Only flows all of whose layers
    /// [have an inverse](super::Layer::has_inverse) call it.
    fn inverse(&self, at: At<'_>, y: &mut [f64], log_det: &mut [f64], tape: &mut [f64], work: &mut [f64]);

    /// Reverse-mode derivative: replaces cotangents of a sweep's output by those of its input; `gradient += ..` in the order of
    /// points.
    ///
    /// With `l = ln |det df/dx|` of cotangent `v`: after `forward` it is `dx = f_x^T dy + v l_x` and
    /// `dlambda = f_lambda^T dy + v l_lambda`. After `inverse`, `l` is still a function of `x`, which is then the output: with
    /// `g = dx + v l_x` it is `dy = f_x^-T g` and `dlambda = -f_lambda^T dy + v l_lambda`.
    fn backward(
        &self,
        at: At<'_>,
        sweep: Sweep<'_>,
        d: &mut [f64],
        gradient: Option<&mut [f64]>,
        work: &mut [f64],
    );
}

/// The gradient that a backward sweep adds to, or lent memory that nobody reads if none was asked for.
pub(super) fn gradient_or_spare<'o, 'g: 'o, 'w: 'o>(
    gradient: Option<&'g mut [f64]>,
    len: usize,
    work: &mut &'w mut [f64],
) -> &'o mut [f64] {
    match gradient {
        Some(gradient) => gradient,
        None => borrow(work, len),
    }
}
