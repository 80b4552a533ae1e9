//! Masked autoencoder (MADE), the network of autoregressive flows.

use std::ops::Range;

use mcsa_core::{Error, Stream, numeric};
use pulp::Arch;

use mcsa_numeric::linear::staircase::Staircase;

/// Masked autoencoder (MADE; Germain, Gregor, Murray & Larochelle 2015): two outputs for each coordinate, functions of the
/// coordinates before it.
///
/// ```text
/// h_0 = x,   h_l = tanh(W_l h_{l-1} + b_l),   (m_i, a_i) = rows 2i, 2i+1 of W h_L + b
/// unit k of H has degree 1 + floor(k (d-1) / H); it reads units of at most its degree; outputs of i read degrees below i
/// ```
/// Unlike the paper, degrees are spread evenly instead of drawn at random. Units are sorted by degree: the masks are
/// [`Staircase`]s, which store only unmasked weights. A degree is then a range of rows, so that the network can also be evaluated
/// degree by degree, each unit once: inverting the flow, which finds one coordinate of the input at a time, costs the arithmetic of
/// one pass.
///
/// Parameters are `[W_1; b_1; ..; W; b]`. The tape holds `h_0, .., h_L` and the outputs, each for all points.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Made {
    dim: usize,
    stairs: Vec<Staircase>,
    /// Index at which the parameters of each matrix begin, and at the end their number.
    params: Vec<usize>,
    /// Offset of each block of the tape, per point, and at the end the length of the tape per point.
    blocks: Vec<usize>,
}

impl Made {
    pub(super) fn new(dim: usize, hidden: &[usize]) -> Result<Self, Error> {
        if let Some(layer) = hidden.iter().position(|&units| units == 0) {
            return Err(Error::invalid(format!("hidden layer {layer} has no units, expected at least 1")));
        }
        let degrees = dim.saturating_sub(1);
        // Number of units of at most this degree; zero if the only coordinate has none before it.
        let up_to = |units: usize, degree: usize| {
            if degrees == 0 { 0 } else { (units * degree).div_ceil(degrees) }
        };
        let mut stairs = Vec::new();
        let (mut before, mut seen): (_, Box<dyn Fn(usize) -> usize>) = (dim, Box::new(|degree| degree));
        for &units in hidden {
            let own = move |degree| up_to(units, degree);
            let treads = (1..=degrees).map(|degree| (own(degree) - own(degree - 1), seen(degree)));
            stairs.push(Staircase::new(before, treads));
            (before, seen) = (own(degrees), Box::new(own));
        }
        stairs.push(Staircase::new(before, (0..dim).map(|i| (2, seen(i)))));
        let (mut params, mut blocks) = (vec![0], vec![0, dim]);
        for stairs in &stairs {
            params.push(params[params.len() - 1] + stairs.num_weights() + stairs.rows());
            blocks.push(blocks[blocks.len() - 1] + stairs.rows());
        }
        Ok(Self { dim, stairs, params, blocks })
    }

    pub(super) fn num_params(&self) -> usize {
        self.params[self.stairs.len()]
    }

    /// Length of the tape per point.
    pub(super) fn tape_len(&self) -> usize {
        self.blocks[self.stairs.len() + 1]
    }

    /// Parameters at which the outputs are 0 for any input: hidden weights `N(0, 1 / inputs)`, all others 0.
    pub(super) fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
        for (layer, stairs) in self.stairs.iter().enumerate() {
            for tread in stairs.treads() {
                let scale = if self.is_hidden(layer) { 1.0 / (tread.width as f64).sqrt() } else { 0.0 };
                params.extend(
                    (0..tread.rows.len() * tread.width)
                        .map(|_| if scale == 0.0 { 0.0 } else { scale * stream.normal() }),
                );
            }
            params.extend(std::iter::repeat_n(0.0, stairs.rows()));
        }
    }

    fn is_hidden(&self, layer: usize) -> bool {
        layer + 1 < self.stairs.len()
    }

    /// The weights and biases of a layer.
    fn split<'p>(&self, layer: usize, params: &'p [f64]) -> (&'p [f64], &'p [f64]) {
        params[self.params[layer]..self.params[layer + 1]].split_at(self.stairs[layer].num_weights())
    }

    /// The input on a tape of `columns` points.
    pub(super) fn input<'t>(&self, tape: &'t mut [f64], columns: usize) -> &'t mut [f64] {
        &mut tape[..self.dim * columns]
    }

    /// The outputs on a tape of `columns` points: `(m_i, a_i)` for each coordinate, point by point.
    pub(super) fn output<'t>(&self, tape: &'t mut [f64], columns: usize) -> &'t mut [f64] {
        &mut tape[self.blocks[self.stairs.len()] * columns..]
    }

    /// The outputs on a tape that is only read.
    pub(super) fn told<'t>(&self, tape: &'t [f64], columns: usize) -> &'t [f64] {
        &tape[self.blocks[self.stairs.len()] * columns..]
    }

    /// Computes some treads (degrees) of a layer from the previous block of the tape.
    fn advance(&self, layer: usize, treads: Range<usize>, params: &[f64], tape: &mut [f64], columns: usize) {
        let stairs = &self.stairs[layer];
        let (weights, biases) = self.split(layer, params);
        let (before, after) = tape.split_at_mut(self.blocks[layer + 1] * columns);
        let (x, y) = (&before[self.blocks[layer] * columns..], &mut after[..stairs.rows() * columns]);
        if y.is_empty() || treads.is_empty() {
            return;
        }
        stairs.multiply(treads.clone(), weights, biases, x, y);
        if self.is_hidden(layer) {
            let rows = stairs.treads()[treads.start].rows.start..stairs.treads()[treads.end - 1].rows.end;
            y.chunks_exact_mut(stairs.rows()).for_each(|y| numeric::tanh(&mut y[rows.clone()]));
        }
    }

    /// Full pass from a complete input.
    pub(super) fn forward(&self, params: &[f64], tape: &mut [f64], columns: usize) {
        for (layer, stairs) in self.stairs.iter().enumerate() {
            self.advance(layer, 0..stairs.treads().len(), params, tape, columns);
        }
    }

    /// Computes the outputs of coordinate `i`, from units of degrees up to `i`.
    pub(super) fn tell(&self, i: usize, params: &[f64], tape: &mut [f64], columns: usize) {
        self.advance(self.stairs.len() - 1, i..i + 1, params, tape, columns);
    }

    /// Computes the hidden units that depend on coordinate `i` and on none after it.
    pub(super) fn learn(&self, i: usize, params: &[f64], tape: &mut [f64], columns: usize) {
        if i + 1 < self.dim {
            (0..self.stairs.len() - 1).for_each(|layer| self.advance(layer, i..i + 1, params, tape, columns));
        }
    }

    /// Reverse-mode derivative of [`advance`](Self::advance); the cotangents `d` have the layout of the tape.
    fn retreat(
        &self,
        (layer, treads): (usize, Range<usize>),
        params: &[f64],
        (tape, d): (&[f64], &mut [f64]),
        gradient: &mut [f64],
        columns: usize,
    ) {
        let stairs = &self.stairs[layer];
        let height = stairs.rows();
        if height * columns == 0 || treads.is_empty() {
            return;
        }
        let [from, to] = [self.blocks[layer] * columns, self.blocks[layer + 1] * columns];
        let (before, after) = d.split_at_mut(to);
        let (d_x, d_y) = (&mut before[from..], &mut after[..height * columns]);
        if self.is_hidden(layer) {
            let rows = stairs.treads()[treads.start].rows.start..stairs.treads()[treads.end - 1].rows.end;
            let values = tape[to..to + height * columns].chunks_exact(height);
            let pairs = d_y.chunks_exact_mut(height).zip(values);
            Arch::new().dispatch(|| {
                for (d, h) in pairs {
                    for (d, h) in d[rows.clone()].iter_mut().zip(&h[rows.clone()]) {
                        *d *= 1.0 - h * h;
                    }
                }
            });
        }
        let (weights, _) = self.split(layer, params);
        let own = &mut gradient[self.params[layer]..self.params[layer + 1]];
        let (d_weights, d_biases) = own.split_at_mut(stairs.num_weights());
        stairs.pull(treads, weights, &tape[from..to], d_y, d_x, d_weights, d_biases);
    }

    /// Reverse-mode derivative of [`forward`](Self::forward).
    pub(super) fn backward(
        &self,
        params: &[f64],
        tape: &[f64],
        d: &mut [f64],
        gradient: &mut [f64],
        columns: usize,
    ) {
        for (layer, stairs) in self.stairs.iter().enumerate().rev() {
            self.retreat((layer, 0..stairs.treads().len()), params, (tape, d), gradient, columns);
        }
    }

    /// Reverse-mode derivative of [`tell`](Self::tell).
    pub(super) fn untell(
        &self,
        i: usize,
        params: &[f64],
        (tape, d): (&[f64], &mut [f64]),
        gradient: &mut [f64],
        columns: usize,
    ) {
        self.retreat((self.stairs.len() - 1, i..i + 1), params, (tape, d), gradient, columns);
    }

    /// Reverse-mode derivative of [`learn`](Self::learn); after it the cotangent of coordinate `i` is complete.
    pub(super) fn unlearn(
        &self,
        i: usize,
        params: &[f64],
        (tape, d): (&[f64], &mut [f64]),
        gradient: &mut [f64],
        columns: usize,
    ) {
        if i + 1 < self.dim {
            for layer in (0..self.stairs.len() - 1).rev() {
                self.retreat((layer, i..i + 1), params, (tape, d), gradient, columns);
            }
        }
    }
}
