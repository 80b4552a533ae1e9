//! Block neural autoregressive layers of a flow (B-NAF): block triangular matrices with positive diagonal blocks.

use mcsa_core::numeric::vectorised;
use mcsa_core::{Error, Stream, borrow, numeric};
use mcsa_numeric::linear::staircase::Staircase;
use serde::{Deserialize, Serialize};

use super::layer::{At, Bijection, Block, Direction, Sweep};
use super::network::check_hidden;
use crate::Link;

/// Slope of the activation far from zero.
const LEAK: f64 = 0.01;
/// Size of the initial weights and biases: small, so that the activation is nearly linear; not zero, so that units differ.
const SPREAD: f64 = 0.1;

/// Block neural autoregressive network (De Cao, Titov & Aziz 2019), monotone in each coordinate.
///
/// ```text
/// h_l = B_l a_{l-1} + b_l,   a_l = tanh h_l + 0.01 h_l (not after the last),   a_0 = x,   f(x) = h_L
/// row o of B_l: e^{ws_o} w_o / |w_o|,   w_o = [W_o of earlier coordinates, e^{W_o} of the own coordinate, 0]
/// log df_i/dx_i = log of the product of the blocks (i, i) of B_L, diag a'_{L-1}, .., diag a'_1, B_1
/// y = f(x);   with a gate:   y = g f(x) + (1 - g) x,   g = 1 / (1 + e^-p)
/// ```
/// Every weight on a path from a coordinate to itself is positive: `f` is strictly increasing in it and the Jacobian is triangular.
/// The product of positive blocks is computed in log space (log-sum-exp), so that no slope underflows; its derivatives
/// are softmax weights.
///
/// At the start the map is nearly the identity: value 0 and slope 1 at 0, off by less than a tenth up to three scales away. Refused
/// are a `ws`, or a `W` of a unit's own coordinate, beyond 100 in absolute value, and any `W` beyond 1e100.
///
/// Parameters: for each layer of the network `[W row by row; ws; b]`, and `p` if there is a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlockNeural {
    /// Units per coordinate in each hidden layer.
    pub hidden: Vec<usize>,
    /// True if the map has a gate.
    pub gated: bool,
    /// True if the coordinates are ordered from the last to the first.
    pub reversed: bool,
}

impl Default for BlockNeural {
    /// Two hidden layers of 8 units per coordinate, no gate, and coordinates in order.
    fn default() -> Self {
        Self { hidden: vec![8, 8], gated: false, reversed: false }
    }
}

/// A block neural layer in a given dimension.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockLayer {
    dim: usize,
    layers: Vec<Blocks>,
    gated: bool,
    reversed: bool,
}

impl BlockLayer {
    pub(super) fn new(config: &BlockNeural, dim: usize) -> Result<Self, Error> {
        let BlockNeural { ref hidden, gated, reversed } = *config;
        check_hidden(hidden)?;
        let factors: Vec<usize> = [&[1], &hidden[..], &[1]].concat();
        let layers = factors.windows(2).map(|pair| Blocks::new(dim, pair[0], pair[1])).collect();
        Ok(Self { dim, layers, gated, reversed })
    }

    fn at(&self, place: usize) -> usize {
        if self.reversed { self.dim - 1 - place } else { place }
    }

    fn widest(&self) -> usize {
        self.layers.iter().map(Blocks::rows).max().unwrap_or(self.dim)
    }

    /// Activation `value <- tanh h + 0.01 h`; adds the logarithm of its slope to `log_slope`. The slope is at least 0.01: computed
    /// as `1.01 - tanh^2 h` it loses at most two digits, for any `h`.
    fn activate(trace: &mut Trace<&mut [f64]>, spare: &mut [f64]) {
        trace.tanh.copy_from_slice(trace.value);
        numeric::tanh(trace.tanh);
        let slopes = &mut spare[..trace.value.len()];
        for ((value, tanh), slope) in trace.value.iter_mut().zip(&*trace.tanh).zip(&mut *slopes) {
            *value = tanh + LEAK * *value;
            *slope = (1.0 + LEAK) - tanh * tanh;
        }
        numeric::ln(slopes);
        trace.log_slope.iter_mut().zip(&*slopes).for_each(|(sum, slope)| *sum += slope);
    }

    /// Evaluates the network at the points at the beginning of the tape, with coordinates in the layer's order, and writes the
    /// rest of the tape. The last trace has the values of `f` and the logarithms of the Jacobian's diagonal.
    fn run(&self, at: At<'_>, columns: usize, tape: &mut [f64], spare: &mut [f64]) {
        let (mut params, mut prepared) = (at.params, at.prepared);
        let (mut done, mut free) = tape.split_at_mut(self.dim * columns);
        for (k, layer) in self.layers.iter().enumerate() {
            let (own, rest) = params.split_at(layer.num_params());
            params = rest;
            let weights = layer.weights(|len| take(&mut prepared, len));
            let (here, rest) = free.split_at_mut(layer.trace_len() * columns);
            let mut trace = {
                let mut memory = &mut *here;
                layer.trace(columns, |len| borrow(&mut memory, len))
            };
            if k == 0 {
                layer.forward(own, &weights, done, None, &mut trace);
            } else {
                let mut memory = &*done;
                let last = self.layers[k - 1].trace(columns, |len| take(&mut memory, len));
                layer.forward(own, &weights, last.value, Some(last.log_slope), &mut trace);
            }
            if k + 1 < self.layers.len() {
                Self::activate(&mut trace, spare);
            }
            (done, free) = (here, rest);
        }
    }

    /// Trace of the last layer of the network.
    fn end<'t>(&self, columns: usize, tape: &'t [f64]) -> Trace<&'t [f64]> {
        let last = self.last();
        let mut memory = &tape[tape.len() - last.trace_len() * columns..];
        last.trace(columns, |len| take(&mut memory, len))
    }

    /// The last layer of the network.
    fn last(&self) -> &Blocks {
        &self.layers[self.layers.len() - 1]
    }

    /// Logit `p` of the gate, and the weights `g` of the network's output and `1 - g` of the input; without a gate `g = 1`.
    fn gate(&self, params: &[f64]) -> (f64, [f64; 2]) {
        if !self.gated {
            return (f64::INFINITY, [1.0, 0.0]);
        }
        let p = params[params.len() - 1];
        (p, [Link::Softplus.derivative(p), Link::Softplus.derivative(-p)])
    }
}

/// The next `len` numbers of `rest`.
fn take<'a>(rest: &mut &'a [f64], len: usize) -> &'a [f64] {
    let (taken, later) = rest.split_at(len);
    *rest = later;
    taken
}

impl Bijection for BlockLayer {
    fn num_params(&self) -> usize {
        self.layers.iter().map(Blocks::num_params).sum::<usize>() + usize::from(self.gated)
    }

    /// `x` in the layer's order, and the traces.
    fn tape_len(&self) -> usize {
        self.dim + self.layers.iter().map(Blocks::trace_len).sum::<usize>()
    }

    fn prepared_len(&self) -> usize {
        self.layers.iter().map(Blocks::weights_len).sum()
    }

    /// Four batches of the size of the widest layer.
    fn work_len(&self, columns: usize) -> usize {
        4 * self.widest() * columns
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        let mut params = params;
        for (k, layer) in self.layers.iter().enumerate() {
            let (own, rest) = params.split_at(layer.num_params());
            layer.check(own).map_err(|error| error.within(format!("block layer {k}")))?;
            params = rest;
        }
        Ok(())
    }

    /// Weights of the own coordinate near one, others zero, biases near zero, the first layer ten times smaller, so that the
    /// activation is nearly linear. The last layer then makes the value at zero 0 and the slope at zero 1.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        let begin = params.len();
        let (mut offset, mut units) = (begin, 1);
        for (k, layer) in self.layers.iter().enumerate() {
            params.resize(offset + layer.num_params(), 0.0);
            let own = &mut params[offset..];
            let [ws, biases] = layer.ends();
            if k + 1 < self.layers.len() {
                layer.own().for_each(|entry| own[entry] = SPREAD * stream.normal());
                own[ws..biases].fill(if k == 0 { SPREAD.ln() } else { -0.5 * f64::from(units).ln() });
                own[biases..].iter_mut().for_each(|bias| *bias = SPREAD * stream.normal());
            }
            offset += layer.num_params();
            units = (layer.rows() / self.dim) as u32;
        }
        let (mut prepared, mut tape) = (vec![0.0; self.prepared_len()], vec![0.0; self.tape_len()]);
        self.prepare(&params[begin..], &mut prepared, false);
        let at = At { params: &params[begin..], prepared: &prepared };
        self.run(at, 1, &mut tape, &mut vec![0.0; self.widest()]);
        let trace = self.end(1, &tape);
        let last = params.len() - self.last().num_params();
        let [ws, biases] = self.last().ends();
        for i in 0..self.dim {
            params[last + ws + i] = -trace.log_slope[i];
            params[last + biases + i] = -trace.value[i] * (-trace.log_slope[i]).exp();
        }
        params.extend(self.gated.then_some(0.0));
        Ok(())
    }

    fn prepare(&self, mut params: &[f64], mut prepared: &mut [f64], _: bool) {
        for layer in &self.layers {
            let own = take(&mut params, layer.num_params());
            layer.prepare(own, layer.weights(|len| borrow(&mut prepared, len)));
        }
    }

    fn pass(&self, at: At<'_>, direction: Direction, Block { x, log_det, tape, work }: Block<'_>) {
        assert_eq!(
            direction,
            Direction::Forward,
            "a flow with a block neural layer has no method that inverts it"
        );
        let (n, dim) = (log_det.len(), self.dim);
        for (input, x) in tape.chunks_exact_mut(dim).zip(x.chunks_exact(dim)) {
            input.iter_mut().enumerate().for_each(|(place, input)| *input = x[self.at(place)]);
        }
        self.run(at, n, tape, work);
        let trace = self.end(n, tape);
        let (p, [g, rest]) = self.gate(at.params);
        for (j, log_det) in log_det.iter_mut().enumerate() {
            for place in 0..dim {
                let (k, y) = (j * dim + place, &mut x[j * dim + self.at(place)]);
                let (value, slope) = (trace.value[k], trace.log_slope[k]);
                if self.gated {
                    *y = g * value + rest * tape[k];
                    *log_det += Link::Softplus.scale(slope + p) - Link::Softplus.scale(p);
                } else {
                    *y = value;
                    *log_det += slope;
                }
            }
        }
    }

    fn backward(&self, sweep: Sweep<'_>, cotangents: &mut [f64], gradient: &mut [f64], mut work: &mut [f64]) {
        let at = sweep.at;
        let (n, dim) = (sweep.weights.len(), self.dim);
        let [d_value, mut d_slope, d_x, mut d_before] =
            [(); 4].map(|()| borrow(&mut work, self.widest() * n));
        let (input, mut tape) = sweep.tape.split_at(dim * n);
        let trace = self.end(n, tape);
        let (p, [g, rest]) = self.gate(at.params);
        for (j, &weight) in sweep.weights.iter().enumerate() {
            let mut d_gate = 0.0;
            for place in 0..dim {
                let (k, c) = (j * dim + place, &mut cotangents[j * dim + self.at(place)]);
                d_value[k] = g * *c;
                d_slope[k] = weight;
                if self.gated {
                    let share = Link::Softplus.derivative(trace.log_slope[k] + p);
                    d_slope[k] = weight * share;
                    d_gate += *c * (trace.value[k] - input[k]) * (g * rest) + weight * (share - g);
                }
                *c *= rest;
            }
            if self.gated {
                gradient[at.params.len() - 1] += d_gate;
            }
        }
        let (mut offset, mut prepared) = (at.params.len() - usize::from(self.gated), at.prepared);
        for (k, layer) in self.layers.iter().enumerate().rev() {
            offset -= layer.num_params();
            let own = &mut gradient[offset..offset + layer.num_params()];
            let below = k.checked_sub(1).map(|k| &self.layers[k]);
            let len = below.map_or(dim, Blocks::rows) * n;
            d_x[..len].fill(0.0);
            d_before[..len].fill(0.0);
            let d_out = [&d_value[..layer.rows() * n], &d_slope[..layer.rows() * n]];
            let d_in = [&mut d_x[..len], &mut d_before[..len]];
            let mut memory;
            (prepared, memory) = prepared.split_at(prepared.len() - layer.weights_len());
            let weights = layer.weights(|len| take(&mut memory, len));
            (tape, memory) = tape.split_at(tape.len() - layer.trace_len() * n);
            let trace = layer.trace(n, |len| take(&mut memory, len));
            let Some(below) = below else {
                layer.pull(&weights, &trace, input, d_out, d_in, own);
                break;
            };
            memory = &tape[tape.len() - below.trace_len() * n..];
            let last = below.trace(n, |len| take(&mut memory, len));
            layer.pull(&weights, &trace, last.value, d_out, d_in, own);
            // Derivative of tanh h + 0.01 h and of the logarithm of its slope.
            for i in 0..len {
                let square = last.tanh[i] * last.tanh[i];
                let slope = (1.0 + LEAK) - square;
                d_value[i] = d_x[i] * slope - d_before[i] * (2.0 * last.tanh[i] * (1.0 - square) / slope);
            }
            std::mem::swap(&mut d_slope, &mut d_before);
        }
        for (cotangent, d_x) in cotangents.chunks_exact_mut(dim).zip(d_x.chunks_exact(dim)) {
            d_x.iter().enumerate().for_each(|(place, d)| cotangent[self.at(place)] += d);
        }
    }
}

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
    /// inputs and of their log slopes, and the gradient in the order of points. With `c` the cotangent of a row's value, `s` of its
    /// log slope, `F = e^ws / |w|` and `P = B x`:
    ///
    /// ```text
    /// d w_k = F c x_k - (c P + s) w_k / |w|^2,   d ws = c P + s,   d b = c,   d x_k = F c w_k
    /// d W_u = w_u d w_u + s share_u,   d before_u = s share_u      (own coordinate)
    /// ```
    pub(super) fn pull(
        &self,
        weights: &Weights<&[f64]>,
        trace: &Trace<&[f64]>,
        x: &[f64],
        [d_value, d_slope]: [&[f64]; 2],
        [d_x, d_before]: [&mut [f64]; 2],
        gradient: &mut [f64],
    ) {
        let (inputs, rows, treads) = (self.inputs, self.rows(), self.stairs.treads());
        let (width, columns) = (treads.len() * inputs, d_value.len() / rows);
        let (d_weights, d_rest) = gradient.split_at_mut(self.stairs.num_weights());
        let (d_ws, d_biases) = d_rest.split_at_mut(rows);
        vectorised(
            #[inline(always)]
            || {
                for (tread, row) in
                    treads.iter().flat_map(|tread| tread.rows.clone().map(move |row| (tread, row)))
                {
                    let (own, stored) = (tread.width - inputs, self.stairs.row(tread, row));
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
            },
        );
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
