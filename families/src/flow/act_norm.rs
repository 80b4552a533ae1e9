//! Activation normalisation (ActNorm): location and scale of each coordinate.

use mcsa_core::{Error, Stream, borrow};

use super::bijection::{At, Bijection, Direction, Sweep};
use crate::Link;
use mcsa_numeric::linear::standard;

/// ActNorm layer `y = b + s x`, `s = ln(1 + e^rho)`, coordinate by coordinate (Kingma & Dhariwal 2018, section 3.1).
///
/// Packing: `[b; rho]`, as in [`MeanField`](crate::MeanField).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ActNorm {
    pub(super) dim: usize,
}

const LINK: Link = Link::Softplus;

impl ActNorm {
    /// Sets `params` such that the layer is `y = location + scales x`.
    pub(super) fn place(&self, location: &[f64], scales: &[f64], params: &mut [f64]) -> Result<(), Error> {
        let (b, rho) = params.split_at_mut(self.dim);
        b.copy_from_slice(location);
        LINK.inverses_into(scales, rho)
    }
}

impl Bijection for ActNorm {
    fn num_params(&self) -> usize {
        2 * self.dim
    }

    fn tape_len(&self) -> usize {
        self.dim
    }

    /// Scales, derivatives of the link, and the log-determinant.
    fn prepared_len(&self) -> usize {
        2 * self.dim + 1
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        LINK.check(&params[self.dim..])
    }

    fn start(&self, _: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        let begin = params.len();
        params.resize(begin + self.num_params(), 0.0);
        self.place(&vec![0.0; self.dim], &vec![1.0; self.dim], &mut params[begin..])
    }

    fn prepare(&self, params: &[f64], mut prepared: &mut [f64], _: bool) {
        let rho = &params[self.dim..];
        let (scales, slopes) = (borrow(&mut prepared, self.dim), borrow(&mut prepared, self.dim));
        LINK.scales_into(rho, scales);
        prepared[0] = standard::sum_of_logs(scales, slopes);
        LINK.derivatives_into(rho, slopes);
    }

    fn forward(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], _: &mut [f64]) {
        let (b, scales) = (&at.params[..self.dim], &at.prepared[..self.dim]);
        tape.copy_from_slice(x);
        for x in x.chunks_exact_mut(self.dim) {
            for i in 0..self.dim {
                x[i] = b[i] + scales[i] * x[i];
            }
        }
        log_det.iter_mut().for_each(|log_det| *log_det += at.prepared[2 * self.dim]);
    }

    fn inverse(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], _: &mut [f64]) {
        let (b, scales) = (&at.params[..self.dim], &at.prepared[..self.dim]);
        for x in x.chunks_exact_mut(self.dim) {
            for i in 0..self.dim {
                x[i] = (x[i] - b[i]) / scales[i];
            }
        }
        tape.copy_from_slice(x);
        log_det.iter_mut().for_each(|log_det| *log_det += at.prepared[2 * self.dim]);
    }

    fn backward(
        &self,
        at: At<'_>,
        sweep: Sweep<'_>,
        d: &mut [f64],
        gradient: Option<&mut [f64]>,
        _: &mut [f64],
    ) {
        let dim = self.dim;
        let (scales, slopes) = (&at.prepared[..dim], &at.prepared[dim..2 * dim]);
        let mut gradient = gradient.map(|gradient| gradient.split_at_mut(dim));
        for ((d, x), v) in d.chunks_exact_mut(dim).zip(sweep.tape.chunks_exact(dim)).zip(sweep.weights) {
            for i in 0..dim {
                let pull = match sweep.direction {
                    Direction::Forward => d[i],
                    Direction::Inverse => -d[i] / scales[i],
                };
                if let Some((d_b, d_rho)) = &mut gradient {
                    d_b[i] += pull;
                    d_rho[i] += (pull * x[i] + v / scales[i]) * slopes[i];
                }
                d[i] = match sweep.direction {
                    Direction::Forward => d[i] * scales[i],
                    Direction::Inverse => -pull,
                };
            }
        }
    }
}
