//! Layer of a block neural autoregressive flow: a block triangular matrix with positive diagonal blocks.

use mcsa_core::{Error, numeric};
use pulp::{Arch, NullaryFnOnce};

use mcsa_numeric::linear::staircase::Staircase;

/// Largest absolute value of `W` of the own coordinate and of `ws`.
const LARGEST_LOG: f64 = 100.0;
/// Largest absolute value of other weights: their squares are summed.
const LARGEST: f64 = 1e100;

/// Matrix of `dim x dim` blocks, each `outputs x inputs`: real below the diagonal, positive on it, zero above.
///
/// ```text
/// row o: e^{ws_o} w_o / |w_o|,   w_o = [W_o of earlier coordinates, e^{W_o} of the own coordinate]
/// ```
/// Parameters are `[W row by row; ws; b]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Blocks {
    inputs: usize,
    stairs: Staircase,
}

/// Normalised weights of a layer, which do not depend on the points.
pub(super) struct Weights<S> {
    /// `w`, and in the next three fields: `e^ws / |w|` and `1 / |w|^2` of each row, and the logarithms of the own coordinate's
    /// weights.
    raw: S,
    factor: S,
    inverse_square: S,
    log_weight: S,
}

/// Intermediate values of a layer that its derivative needs, for all points.
pub(super) struct Trace<S> {
    /// `B x`, without the bias.
    product: S,
    /// `tanh` of the value, for the activation.
    pub(super) tanh: S,
    /// `B x + b`, which the activation overwrites.
    pub(super) value: S,
    /// Logarithm of the derivative of the value in the own coordinate.
    pub(super) log_slope: S,
    /// Softmax weights of the log-sum-exp that gives `log_slope`.
    shares: S,
}

impl Blocks {
    pub(super) fn new(dim: usize, inputs: usize, outputs: usize) -> Self {
        let treads = (1..=dim).map(|block| (outputs, block * inputs));
        Self { inputs, stairs: Staircase::new(dim * inputs, treads) }
    }

    pub(super) fn rows(&self) -> usize {
        self.stairs.rows()
    }

    pub(super) fn num_params(&self) -> usize {
        self.stairs.num_weights() + 2 * self.rows()
    }

    /// Indices in `params` at which `ws` and `b` begin.
    pub(super) fn ends(&self) -> [usize; 2] {
        [self.stairs.num_weights(), self.stairs.num_weights() + self.rows()]
    }

    /// Indices of the entries of `W` of the own coordinate: the last `inputs` of each row.
    pub(super) fn own(&self) -> impl Iterator<Item = usize> {
        self.stairs.treads().iter().flat_map(move |tread| {
            tread.rows.clone().flat_map(move |row| {
                let end = self.stairs.row(tread, row).end;
                end - self.inputs..end
            })
        })
    }

    pub(super) fn check(&self, params: &[f64]) -> Result<(), Error> {
        let [ws, biases] = self.ends();
        if let Some(&large) = params[..ws].iter().find(|w| w.abs() > LARGEST) {
            return Err(Error::parameter("W", large, "at most 1e100 in size"));
        }
        let logs = self.own().map(|k| params[k]).chain(params[ws..biases].iter().copied());
        match logs.into_iter().find(|log| log.abs() > LARGEST_LOG) {
            Some(log) => Err(Error::parameter("W of the own coordinate, or ws", log, "at most 100 in size")),
            None => Ok(()),
        }
    }

    pub(super) fn weights_len(&self) -> usize {
        self.stairs.num_weights() + 2 * self.rows() + self.rows() * self.inputs
    }

    /// Length of a trace per point.
    pub(super) fn trace_len(&self) -> usize {
        4 * self.rows() + self.rows() * self.inputs
    }

    /// The weights in memory that `lend` lends, `weights_len` in all.
    pub(super) fn weights<S>(&self, mut lend: impl FnMut(usize) -> S) -> Weights<S> {
        Weights {
            raw: lend(self.stairs.num_weights()),
            factor: lend(self.rows()),
            inverse_square: lend(self.rows()),
            log_weight: lend(self.rows() * self.inputs),
        }
    }

    /// The trace in memory that `lend` lends, `trace_len` per point.
    pub(super) fn trace<S>(&self, columns: usize, mut lend: impl FnMut(usize) -> S) -> Trace<S> {
        let rows = self.rows() * columns;
        Trace {
            product: lend(rows),
            tanh: lend(rows),
            value: lend(rows),
            log_slope: lend(rows),
            shares: lend(rows * self.inputs),
        }
    }

    /// Computes the normalised weights, once for all points.
    pub(super) fn prepare(&self, params: &[f64], weights: Weights<&mut [f64]>) {
        weights.raw.copy_from_slice(&params[..self.stairs.num_weights()]);
        for tread in self.stairs.treads() {
            for row in tread.rows.clone() {
                let raw = &mut weights.raw[self.stairs.row(tread, row)];
                let own = tread.width - self.inputs;
                let log_weight = &mut weights.log_weight[row * self.inputs..(row + 1) * self.inputs];
                log_weight.copy_from_slice(&raw[own..]);
                numeric::exp(&mut raw[own..]);
                let square = numeric::dot(raw, raw);
                let ws = params[self.stairs.num_weights() + row];
                weights.factor[row] = ws.exp() / square.sqrt();
                weights.inverse_square[row] = 1.0 / square;
                let shift = ws - 0.5 * square.ln();
                log_weight.iter_mut().for_each(|w| *w += shift);
            }
        }
    }

    /// Computes values and log slopes from inputs and their log slopes `before`; `None` stands for the first layer, whose inputs
    /// have slope one.
    pub(super) fn forward(
        &self,
        params: &[f64],
        weights: &Weights<&[f64]>,
        x: &[f64],
        before: Option<&[f64]>,
        trace: &mut Trace<&mut [f64]>,
    ) {
        let rows = self.rows();
        let zeros = &mut trace.tanh[..rows];
        zeros.fill(0.0);
        self.stairs.multiply(0..self.stairs.treads().len(), weights.raw, zeros, x, trace.product);
        trace.product.chunks_exact_mut(rows).for_each(|product| {
            product.iter_mut().zip(weights.factor).for_each(|(product, factor)| *product *= factor);
        });
        self.multiply_logs(weights, before, trace);
        let biases = &params[self.ends()[1]..];
        let points = trace.value.chunks_exact_mut(rows).zip(trace.product.chunks_exact(rows));
        points.for_each(|(value, product)| {
            for ((value, product), bias) in value.iter_mut().zip(product).zip(biases) {
                *value = product + bias;
            }
        });
    }

    /// `log_slope_o = log sum_u e^{log_weight_ou + before_u}`, the sum over the units `u` of the own coordinate.
    fn multiply_logs(
        &self,
        weights: &Weights<&[f64]>,
        before: Option<&[f64]>,
        trace: &mut Trace<&mut [f64]>,
    ) {
        let (inputs, rows) = (self.inputs, self.rows());
        let Some(before) = before else {
            trace.shares.fill(1.0);
            trace
                .log_slope
                .chunks_exact_mut(rows)
                .for_each(|slope| slope.copy_from_slice(weights.log_weight));
            return;
        };
        let per_block = rows / self.stairs.treads().len();
        let points = trace.log_slope.chunks_exact_mut(rows).zip(trace.value.chunks_exact_mut(rows));
        let points = points.zip(trace.shares.chunks_exact_mut(rows * inputs));
        let width = self.stairs.treads().len() * inputs;
        for (((log_slope, sums), shares), before) in points.zip(before.chunks_exact(width)) {
            for (row, shares) in shares.chunks_exact_mut(inputs).enumerate() {
                let block = row / per_block * inputs;
                let before = &before[block..block + inputs];
                let weights = &weights.log_weight[row * inputs..(row + 1) * inputs];
                let mut top = f64::NEG_INFINITY;
                for ((share, weight), before) in shares.iter_mut().zip(weights).zip(before) {
                    *share = weight + before;
                    top = top.max(*share);
                }
                shares.iter_mut().for_each(|share| *share -= top);
                log_slope[row] = top;
            }
            numeric::exp(shares);
            for (sum, shares) in sums.iter_mut().zip(shares.chunks_exact_mut(inputs)) {
                *sum = 0.0;
                shares.iter().for_each(|share| *sum += share);
                shares.iter_mut().for_each(|share| *share /= *sum);
            }
            numeric::ln(sums);
            log_slope.iter_mut().zip(&*sums).for_each(|(slope, sum)| *slope += sum);
        }
    }

    /// Reverse-mode derivative of [`forward`](Self::forward): from cotangents of value and log slope, adds the cotangents of the
    /// inputs and of their log slopes, and the gradient in the order of points.
    pub(super) fn pull(
        &self,
        weights: &Weights<&[f64]>,
        trace: &Trace<&[f64]>,
        x: &[f64],
        [d_value, d_slope]: [&[f64]; 2],
        [d_x, d_before]: [&mut [f64]; 2],
        gradient: &mut [f64],
    ) {
        Arch::new().dispatch(Pull {
            blocks: self,
            weights,
            trace,
            x,
            d_value,
            d_slope,
            d_x,
            d_before,
            gradient,
        });
    }
}

/// Vectorised body of [`Blocks::pull`]. With `c` the cotangent of a row's value, `s` of its log slope, `F = e^ws / |w|` and
/// `P = B x`:
///
/// ```text
/// d w_k = F c x_k - (c P + s) w_k / |w|^2,   d ws = c P + s,   d b = c,   d x_k = F c w_k
/// d W_u = w_u d w_u + s share_u,   d before_u = s share_u      (own coordinate)
/// ```
struct Pull<'a> {
    blocks: &'a Blocks,
    weights: &'a Weights<&'a [f64]>,
    trace: &'a Trace<&'a [f64]>,
    x: &'a [f64],
    d_value: &'a [f64],
    d_slope: &'a [f64],
    d_x: &'a mut [f64],
    d_before: &'a mut [f64],
    gradient: &'a mut [f64],
}

impl NullaryFnOnce for Pull<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { blocks, weights, trace, x, d_value, d_slope, d_x, d_before, gradient } = self;
        let (inputs, rows, treads) = (blocks.inputs, blocks.rows(), blocks.stairs.treads());
        let (width, columns) = (treads.len() * inputs, d_value.len() / rows);
        let (d_weights, d_rest) = gradient.split_at_mut(blocks.stairs.num_weights());
        let (d_ws, d_biases) = d_rest.split_at_mut(rows);
        for tread in treads {
            let own = tread.width - inputs;
            for row in tread.rows.clone() {
                let stored = blocks.stairs.row(tread, row);
                let (w, d_w) = (&weights.raw[stored.clone()], &mut d_weights[stored]);
                let ((w, own_w), (d_w, d_own)) = (w.split_at(own), d_w.split_at_mut(own));
                for j in 0..columns {
                    let (c, s) = (d_value[j * rows + row], d_slope[j * rows + row]);
                    let along = c * trace.product[j * rows + row] + s;
                    let (out, shrink) = (weights.factor[row] * c, along * weights.inverse_square[row]);
                    let here = j * width..j * width + tread.width;
                    let (x, own_x) = x[here.clone()].split_at(own);
                    let (d_x, d_own_x) = d_x[here].split_at_mut(own);
                    add_earlier(out, shrink, [x, w], [d_w, d_x]);
                    let shares = &trace.shares[(j * rows + row) * inputs..][..inputs];
                    let d_before = &mut d_before[j * width + own..j * width + tread.width];
                    for (u, share) in shares.iter().enumerate() {
                        d_own[u] += own_w[u] * (out * own_x[u] - shrink * own_w[u]) + s * share;
                        d_own_x[u] += out * own_w[u];
                        d_before[u] += s * share;
                    }
                    d_ws[row] += along;
                    d_biases[row] += c;
                }
            }
        }
    }
}

/// Derivatives in the weights of earlier coordinates, which are most of the weights.
#[inline(always)]
fn add_earlier(out: f64, shrink: f64, [x, w]: [&[f64]; 2], [d_w, d_x]: [&mut [f64]; 2]) {
    let n = d_w.len();
    let (x, w, d_x) = (&x[..n], &w[..n], &mut d_x[..n]);
    for k in 0..n {
        d_w[k] += out * x[k] - shrink * w[k];
        d_x[k] += out * w[k];
    }
}
