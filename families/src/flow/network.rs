//! Feed-forward neural network of a coupling layer.

use mcsa_core::numeric::vectorised;
use mcsa_core::{Error, Stream, borrow, numeric};

use mcsa_numeric::linear::product::{add_outers, add_product, transpose_into};

/// Multilayer perceptron `W_n h(.. h(W_1 x + b_1) ..) + b_n` with `h = tanh`.
///
/// Packing: `[W_1; b_1; ..; W_n; b_n]`, each `W` column by column: the weights of one input are contiguous. Batches are lent as
/// slices, one point after the other. A network may have no hidden layer (then it is linear), and no input (then the output is
/// `b_n`).
///
/// The tape holds the values that a reverse sweep needs: `[h_1 of all points; ..; h_{n-1}; output]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Network {
    sizes: Vec<usize>,
}

impl Network {
    /// Network with `inputs` inputs, `hidden` units layer by layer, and `outputs` outputs.
    pub(crate) fn new(inputs: usize, hidden: &[usize], outputs: usize) -> Result<Self, Error> {
        check_hidden(hidden)?;
        let sizes = std::iter::once(inputs).chain(hidden.iter().copied()).chain([outputs]).collect();
        Ok(Self { sizes })
    }

    /// Numbers of inputs and outputs of each layer.
    fn layers(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator {
        self.sizes.windows(2).map(|pair| (pair[0], pair[1]))
    }

    fn outputs(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    pub(crate) fn num_params(&self) -> usize {
        self.layers().map(|(inputs, outputs)| (inputs + 1) * outputs).sum()
    }

    /// Length of the tape per point.
    pub(crate) fn tape_len(&self) -> usize {
        self.sizes[1..].iter().sum()
    }

    /// Total length of the transposed matrices.
    pub(crate) fn transposed_len(&self) -> usize {
        self.layers().map(|(inputs, outputs)| inputs * outputs).sum()
    }

    /// Length of `work` that [`backward`](Self::backward) needs.
    pub(crate) fn work_len(&self, columns: usize) -> usize {
        2 * columns * self.sizes.iter().max().copied().unwrap_or(0)
    }

    /// Parameters at which the output is 0 for any input: hidden weights `N(0, 1 / inputs)`, all others 0.
    pub(crate) fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
        let last = self.sizes.len() - 2;
        for (layer, (inputs, outputs)) in self.layers().enumerate() {
            let scale = if layer == last { 0.0 } else { (inputs.max(1) as f64).sqrt().recip() };
            params.extend((0..inputs * outputs).map(|_| scale * stream.normal()));
            params.extend(std::iter::repeat_n(0.0, outputs));
        }
    }

    /// Writes `[W_1^T; ..; W_n^T]`, which every backward sweep at these parameters needs.
    pub(crate) fn transpose_into(&self, mut params: &[f64], mut out: &mut [f64]) {
        for (inputs, outputs) in self.layers() {
            let (weights, rest) = params.split_at(inputs * outputs);
            transpose_into(outputs, weights, borrow(&mut out, inputs * outputs));
            params = &rest[outputs..];
        }
    }

    /// Evaluates the network at `columns` points, and writes the tape.
    pub(crate) fn forward(&self, mut params: &[f64], x: &[f64], columns: usize, mut tape: &mut [f64]) {
        let mut x = x;
        let last = self.sizes.len() - 2;
        for (layer, (inputs, outputs)) in self.layers().enumerate() {
            let (weights, rest) = params.split_at(inputs * outputs);
            let (biases, rest) = rest.split_at(outputs);
            params = rest;
            let y = borrow(&mut tape, outputs * columns);
            y.chunks_exact_mut(outputs.max(1)).for_each(|y| y.copy_from_slice(biases));
            add_product(outputs, inputs, weights, x, y);
            if layer < last {
                numeric::tanh(y);
            }
            x = y;
        }
    }

    /// The outputs on a tape of `columns` points.
    pub(crate) fn output<'a>(&self, tape: &'a mut [f64], columns: usize) -> &'a mut [f64] {
        let start = (self.tape_len() - self.outputs()) * columns;
        &mut tape[start..start + self.outputs() * columns]
    }

    /// Backpropagation from cotangents `d_output` of the outputs: `d_x += ..` and `gradient += ..` in the order of
    /// points.
    #[expect(clippy::too_many_arguments, reason = "a sweep reads all that the forward sweep wrote")]
    pub(crate) fn backward(
        &self,
        transposed: &[f64],
        x: &[f64],
        tape: &[f64],
        columns: usize,
        d_output: &[f64],
        d_x: &mut [f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let widest = self.work_len(columns) / 2;
        let (mut d_y, mut d_h) = (borrow(&mut work, widest), borrow(&mut work, widest));
        d_y[..d_output.len()].copy_from_slice(d_output);
        let mut param = self.num_params();
        let mut matrix = transposed.len();
        let mut end = (self.tape_len() - self.outputs()) * columns;
        for (layer, (inputs, outputs)) in self.layers().enumerate().rev() {
            param -= (inputs + 1) * outputs;
            matrix -= inputs * outputs;
            let from = if layer == 0 { x } else { &tape[end - inputs * columns..end] };
            let d_out = &d_y[..outputs * columns];
            let (d_weights, d_biases) =
                gradient[param..param + (inputs + 1) * outputs].split_at_mut(inputs * outputs);
            add_outers(outputs, inputs, d_out, from, d_weights);
            add_points(d_out, d_biases);
            let weights = &transposed[matrix..matrix + inputs * outputs];
            if layer == 0 {
                add_product(inputs, outputs, weights, d_out, d_x);
            } else {
                let d_in = &mut d_h[..inputs * columns];
                d_in.fill(0.0);
                add_product(inputs, outputs, weights, d_out, d_in);
                vectorised(
                    #[inline(always)]
                    || d_in.iter_mut().zip(from).for_each(|(d, h)| *d *= 1.0 - h * h),
                );
                std::mem::swap(&mut d_y, &mut d_h);
                end -= inputs * columns;
            }
        }
    }
}

/// Checks that every hidden layer has units.
pub(super) fn check_hidden(hidden: &[usize]) -> Result<(), Error> {
    match hidden.iter().position(|&units| units == 0) {
        Some(layer) => Err(Error::invalid(format!("hidden layer {layer} has no units, expected at least 1"))),
        None => Ok(()),
    }
}

/// `sum += sum_j x_j` in the order of `j`.
fn add_points(x: &[f64], sum: &mut [f64]) {
    if sum.is_empty() {
        return;
    }
    vectorised(
        #[inline(always)]
        || {
            for x in x.chunks_exact(sum.len()) {
                sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    #[test]
    fn it_starts_at_zero() {
        let network = Network::new(3, &[8, 8], 4).unwrap();
        let mut params = vec![];
        network.start(&mut Seed::new(1).stream(0, 0), &mut params);
        assert_eq!(params.len(), network.num_params());
        let mut tape = vec![f64::NAN; 2 * network.tape_len()];
        network.forward(&params, &[0.6, -0.3, 0.1, 0.2, 0.5, -0.4], 2, &mut tape);
        assert!(network.output(&mut tape, 2).iter().all(|&y| y == 0.0));
        assert!(params.iter().any(|&w| w != 0.0));
    }
}
