//! Block neural autoregressive flow (B-NAF).

use mcsa_core::{Error, Stream, borrow, numeric};
use serde::{Deserialize, Serialize};

use super::blocks::{Blocks, Trace};
use super::{Bijection, Composed};
use crate::Link;

/// Slope of the activation far from zero.
const LEAK: f64 = 0.01;
/// Size of the initial weights and biases: small, so that the activation is nearly linear; not zero, so that units differ.
const SPREAD: f64 = 0.1;

/// Architecture of a [`Bnaf`]: number of flows and hidden units.
///
/// ```
/// use mcsa_families::BlockNeural;
/// let config = BlockNeural::default();
/// assert_eq!((config.flows, &config.hidden[..]), (1, &[8, 8][..]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlockNeural {
    /// The number of flows. All but the last have a gate; every second one orders the coordinates from the last to the first.
    pub flows: usize,
    /// Units per coordinate in each hidden layer.
    pub hidden: Vec<usize>,
}

impl Default for BlockNeural {
    /// One flow, with two hidden layers of 8 units per coordinate.
    fn default() -> Self {
        Self { flows: 1, hidden: vec![8, 8] }
    }
}

/// Block neural autoregressive flow (De Cao, Titov & Aziz 2019): one wide network that is monotone in each coordinate.
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
/// The inverse exists but has no formula: the flow is a [`Pushforward`](mcsa_core::Pushforward) alone, for the exclusive
/// divergence. It is no [`Family`](mcsa_core::Family), and using it as the proposal of a kernel does not compile.
///
/// [`start`](Composed::start) makes the map nearly the identity: value 0 and slope 1 at 0, off by less than a tenth up to three
/// scales away. `check` refuses a `ws`, or a `W` of a unit's own coordinate, beyond 100 in absolute value, and any `W` beyond
/// 1e100.
///
/// Parameters of a flow: for each layer `[W row by row; ws; b]`, and `p` if it has a gate.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::{BlockNeural, Bnaf};
/// let q = Bnaf::new(2, &BlockNeural::default())?;
/// assert_eq!(q.num_params(), 4 + (24 + 2 * 16) + (192 + 2 * 16) + (24 + 2 * 2));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type Bnaf = Composed<BlockLayer>;

/// One flow of a [`Bnaf`]: a monotone network with an optional gate.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockLayer {
    dim: usize,
    layers: Vec<Blocks>,
    gated: bool,
    reversed: bool,
}

impl Bnaf {
    /// Flow with `config.flows` networks in `dim` dimensions, with a location and scale at the end.
    ///
    /// # Errors
    /// If `dim` is zero, or a hidden layer has no units.
    pub fn new(dim: usize, config: &BlockNeural) -> Result<Self, Error> {
        let BlockNeural { flows, ref hidden } = *config;
        if let Some(layer) = hidden.iter().position(|&units| units == 0) {
            let reason = format!("hidden layer {layer} has no units, expected at least 1");
            return Err(Error::invalid(reason).within("Bnaf"));
        }
        let factors: Vec<usize> = [&[1], &hidden[..], &[1]].concat();
        let layers: Vec<Blocks> = factors.windows(2).map(|pair| Blocks::new(dim, pair[0], pair[1])).collect();
        let flow =
            |k: usize| BlockLayer { dim, layers: layers.clone(), gated: k + 1 < flows, reversed: k % 2 == 1 };
        Self::of(dim, (0..flows).map(flow).collect())
    }
}

/// Scratch memory of one call.
struct Desk<'a> {
    /// Points, with coordinates in the order of the flow.
    input: &'a mut [f64],
    /// Four batches of the size of the widest layer.
    spare: [&'a mut [f64]; 4],
    tape: &'a mut [f64],
}

impl BlockLayer {
    fn at(&self, place: usize) -> usize {
        if self.reversed { self.dim - 1 - place } else { place }
    }

    fn widest(&self) -> usize {
        self.layers.iter().map(Blocks::rows).max().unwrap_or(self.dim)
    }

    fn desk<'w>(&self, x: &[f64], columns: usize, mut work: &'w mut [f64]) -> Desk<'w> {
        let input = borrow(&mut work, self.dim * columns);
        for (input, x) in input.chunks_exact_mut(self.dim).zip(x.chunks_exact(self.dim)) {
            input.iter_mut().enumerate().for_each(|(place, input)| *input = x[self.at(place)]);
        }
        let spare = std::array::from_fn(|_| borrow(&mut work, self.widest() * columns));
        Desk { input, spare, tape: work }
    }

    /// Activation `value <- tanh h + 0.01 h`; adds the logarithm of its slope to `log_slope`. The slope is at least 0.01: computed
    /// as `1.01 - tanh^2 h` it loses at most two digits, for any `h`.
    fn activate(trace: &mut Trace<'_>, spare: &mut [f64]) {
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

    /// Forward pass, recorded on the tape. The last trace has the values of `f` and the logarithms of the Jacobian's diagonal;
    /// returns its position on the tape.
    fn run(&self, params: &[f64], columns: usize, desk: &mut Desk<'_>) -> usize {
        let (mut params, mut start, mut before) = (params, 0, 0);
        for (k, layer) in self.layers.iter().enumerate() {
            let (own, rest) = params.split_at(layer.num_params());
            params = rest;
            let (done, free) = desk.tape.split_at_mut(start);
            let mut trace = layer.trace(free, columns);
            if k == 0 {
                layer.forward(own, desk.input, None, &mut trace);
            } else {
                let last = self.layers[k - 1].trace(&mut done[before..], columns);
                layer.forward(own, last.value, Some(last.log_slope), &mut trace);
            }
            if k + 1 < self.layers.len() {
                Self::activate(&mut trace, desk.spare[0]);
            }
            (before, start) = (start, start + layer.trace_len(columns));
        }
        before
    }

    /// The last layer of the flow.
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

impl Bijection for BlockLayer {
    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.layers.iter().map(Blocks::num_params).sum::<usize>() + usize::from(self.gated)
    }

    fn work_len(&self, columns: usize) -> usize {
        let traces: usize = self.layers.iter().map(|layer| layer.trace_len(columns)).sum();
        (self.dim + 4 * self.widest()) * columns + traces
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
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
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
        let mut work = vec![0.0; self.work_len(1)];
        let mut desk = self.desk(&vec![0.0; self.dim], 1, &mut work);
        let from = self.run(&params[begin..], 1, &mut desk);
        let trace = self.last().trace(&mut desk.tape[from..], 1);
        let last = params.len() - self.last().num_params();
        let [ws, biases] = self.last().ends();
        for i in 0..self.dim {
            params[last + ws + i] = -trace.log_slope[i];
            params[last + biases + i] = -trace.value[i] * (-trace.log_slope[i]).exp();
        }
        params.extend(self.gated.then_some(0.0));
    }

    fn forward(&self, params: &[f64], x: &[f64], y: &mut [f64], log_det: &mut [f64], work: &mut [f64]) {
        let (n, dim) = (log_det.len(), self.dim);
        if n == 0 {
            return;
        }
        let mut desk = self.desk(x, n, work);
        let from = self.run(params, n, &mut desk);
        let trace = self.last().trace(&mut desk.tape[from..], n);
        let (p, [g, rest]) = self.gate(params);
        for (j, log_det) in log_det.iter_mut().enumerate() {
            for place in 0..dim {
                let k = j * dim + place;
                let (value, slope) = (trace.value[k], trace.log_slope[k]);
                if self.gated {
                    y[j * dim + self.at(place)] = g * value + rest * desk.input[k];
                    *log_det += Link::Softplus.scale(slope + p) - Link::Softplus.scale(p);
                } else {
                    y[j * dim + self.at(place)] = value;
                    *log_det += slope;
                }
            }
        }
    }

    fn pull(
        &self,
        params: &[f64],
        x: &[f64],
        _: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let (n, dim) = (weights.len(), self.dim);
        if n == 0 {
            return;
        }
        let mut desk = self.desk(x, n, work);
        let mut from = self.run(params, n, &mut desk);
        let Desk { input, spare: [d_value, mut d_slope, d_x, mut d_before], tape } = desk;
        let trace = self.last().trace(&mut tape[from..], n);
        let (p, [g, rest]) = self.gate(params);
        for (j, &weight) in weights.iter().enumerate() {
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
                gradient[params.len() - 1] += d_gate;
            }
        }
        let mut offset = params.len() - usize::from(self.gated);
        for (k, layer) in self.layers.iter().enumerate().rev() {
            offset -= layer.num_params();
            let own = &mut gradient[offset..offset + layer.num_params()];
            let below = k.checked_sub(1).map(|k| &self.layers[k]);
            let len = below.map_or(dim, Blocks::rows) * n;
            d_x[..len].fill(0.0);
            d_before[..len].fill(0.0);
            let d_out = [&d_value[..layer.rows() * n], &d_slope[..layer.rows() * n]];
            let d_in = [&mut d_x[..len], &mut d_before[..len]];
            let (done, here) = tape.split_at_mut(from);
            let trace = layer.trace(here, n);
            let Some(below) = below else {
                layer.pull(&trace, input, d_out, d_in, own);
                break;
            };
            from -= below.trace_len(n);
            let last = below.trace(&mut done[from..], n);
            layer.pull(&trace, last.value, d_out, d_in, own);
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
