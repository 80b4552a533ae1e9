//! Block neural autoregressive layers of a flow (B-NAF).

use mcsa_core::{Error, Stream, borrow, numeric};
use serde::{Deserialize, Serialize};

use super::bijection::{At, Bijection, Sweep, gradient_or_spare};
use super::blocks::{Blocks, Trace};
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
///
/// ```
/// use mcsa_families::BlockNeural;
/// assert_eq!(BlockNeural::default().hidden, [8, 8]);
/// ```
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
        if let Some(layer) = hidden.iter().position(|&units| units == 0) {
            return Err(Error::invalid(format!("hidden layer {layer} has no units, expected at least 1")));
        }
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
        4 * self.widest() * columns + self.num_params()
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

    fn forward(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], work: &mut [f64]) {
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

    fn inverse(&self, _: At<'_>, _: &mut [f64], _: &mut [f64], _: &mut [f64], _: &mut [f64]) {
        unreachable!("a flow with a block neural layer has no method that inverts it");
    }

    fn backward(
        &self,
        at: At<'_>,
        sweep: Sweep<'_>,
        cotangents: &mut [f64],
        gradient: Option<&mut [f64]>,
        mut work: &mut [f64],
    ) {
        let (n, dim) = (sweep.weights.len(), self.dim);
        let [d_value, mut d_slope, d_x, mut d_before] =
            [(); 4].map(|()| borrow(&mut work, self.widest() * n));
        let gradient = gradient_or_spare(gradient, self.num_params(), &mut work);
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
