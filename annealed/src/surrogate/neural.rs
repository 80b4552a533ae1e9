use super::{Along, PathPoint, Sizes, Surrogate};
use mcsa_core::numeric::axpy;
use mcsa_core::{Error, Stream, borrow};

use mcsa_models::support::positive;
use mcsa_numeric::design::RowsRef;
use mcsa_numeric::vectorised;

/// Number of units of each hidden layer (SL-DAIS, Sec. 4).
const UNITS: usize = 100;

/// Neural surrogate: prior `N(0, s^2 I)` and a network from z to a number in place of the log likelihood.
///
/// ```text
/// h_1 = elu(W_1 z + b_1),   h_2 = elu(W_2 h_1 + b_2),   g(z; psi) = -|z|^2 / (2 s^2) + w_3 . h_2
/// psi = (W_1 row by row, b_1, W_2 row by row, b_2, w_3)
/// ```
///
/// `elu(a) = a` for positive a, else `e^a - 1`. There is no bias of the output, because g counts up to a constant. Second derivatives
/// come from one reverse sweep through the network and its directional derivative.
///
/// ```
/// use mcsa_annealed::Surrogate;
/// use mcsa_core::Seed;
/// use mcsa_annealed::surrogate::NeuralSurrogate;
/// let surrogate = NeuralSurrogate::new(3, 1.0)?;
/// let psi = surrogate.initial(&mut Seed::new(1).stream(0, 0));
/// assert_eq!(psi.len(), (3 + 1) * 100 + (100 + 1) * 100 + 100);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeuralSurrogate {
    dim: usize,
    units: usize,
    precision: f64,
}

/// Parameters of a network, or derivatives for them.
struct Layers<T> {
    first: T,
    first_bias: T,
    second: T,
    second_bias: T,
    output: T,
}

/// Number of layers that the tape keeps: both hidden layers and their slopes, the derivatives of the output for the second
/// pre-activations and those for the first hidden layer.
const KEPT: usize = 6;

impl NeuralSurrogate {
    /// A network of 100 units per hidden layer, for points of dimension `dim`.
    ///
    /// # Errors
    /// If `dim` is 0, or `prior_scale` is not positive.
    pub fn new(dim: usize, prior_scale: f64) -> Result<Self, Error> {
        let within = |error: Error| error.within("NeuralSurrogate");
        positive("prior scale", prior_scale).map_err(within)?;
        if dim == 0 {
            return Err(within(Error::parameter("dimension", 0.0, "at least 1")));
        }
        Ok(Self { dim, units: UNITS, precision: prior_scale.powi(-2) })
    }

    /// This network with another number of units per hidden layer.
    ///
    /// # Errors
    /// If there is no unit.
    pub fn with_units(self, units: usize) -> Result<Self, Error> {
        if units == 0 {
            return Err(Error::parameter("hidden units", 0.0, "at least 1").within("NeuralSurrogate"));
        }
        Ok(Self { units, ..self })
    }

    /// Vector psi with biases 0 and normal weights of variance `2 / (inputs + outputs)` of their layer (Glorot & Bengio 2010).
    pub fn initial(&self, stream: &mut Stream) -> Vec<f64> {
        let mut psi = vec![0.0; self.sizes().params];
        let (d, h, mut rest) = (self.dim, self.units, &mut psi[..]);
        let Layers { first, second, output, .. } = self.layers(|len| borrow(&mut rest, len));
        for (weights, fans) in [(first, d + h), (second, 2 * h), (output, h + 1)] {
            let scale = (2.0 / fans as f64).sqrt();
            weights.iter_mut().for_each(|weight| *weight = scale * stream.normal());
        }
        psi
    }

    /// The parts of psi, or of derivatives for it, each of which `take` splits off.
    fn layers<T>(&self, mut take: impl FnMut(usize) -> T) -> Layers<T> {
        let (first, first_bias) = (take(self.units * self.dim), take(self.units));
        let (second, second_bias) = (take(self.units * self.units), take(self.units));
        Layers { first, first_bias, second, second_bias, output: take(self.units) }
    }
}

/// Splits the first `len` numbers off.
fn split<'a>(psi: &mut &'a [f64], len: usize) -> &'a [f64] {
    psi.split_off(..len).expect("psi has the parameters of the network")
}

/// `out <- W x`, W row by row.
fn multiply(w: &[f64], x: &[f64], out: &mut [f64]) {
    RowsRef::new(w, x.len()).multiply_at(|i| i, x, out);
}

/// `out += W^T y`, W row by row.
fn add_transposed(w: &[f64], y: &[f64], out: &mut [f64]) {
    RowsRef::new(w, out.len()).add_pull_back_at(|i| i, y, out);
}

/// `W += a x^T + b y^T`, W row by row.
fn add_outers([a, b]: [&[f64]; 2], [x, y]: [&[f64]; 2], w: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            for ((row, a), b) in w.chunks_exact_mut(x.len()).zip(a).zip(b) {
                for ((w, x), y) in row.iter_mut().zip(x).zip(y) {
                    *w += a * x + b * y;
                }
            }
        },
    );
}

/// Activation and slope of a layer with pre-activations `h + bias`.
fn activate(bias: &[f64], h: &mut [f64], slope: &mut [f64]) {
    for ((h, slope), bias) in h.iter_mut().zip(slope).zip(bias) {
        let a = *h + bias;
        (*h, *slope) = if a > 0.0 { (a, 1.0) } else { (a.exp_m1(), a.exp()) };
    }
}

/// Second derivative of the activation, from the activation and its slope.
fn bend(h: f64, slope: f64) -> f64 {
    if h > 0.0 { 0.0 } else { slope }
}

/// `out_i = a_i b_i`.
fn product_into(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a * b;
    }
}

impl Surrogate for NeuralSurrogate {
    fn sizes(&self) -> Sizes {
        let &Self { dim, units, .. } = self;
        let params = units * (dim + units + 3);
        Sizes { dim, params, tape: KEPT * units, work: 6 * units + dim, ..Sizes::default() }
    }

    fn config(&self) -> String {
        format!("NeuralSurrogate(units {}, prior precision {:e})", self.units, self.precision)
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], mut tape: &mut [f64], work: &mut [f64]) {
        let PathPoint { mut psi, z, .. } = at;
        let net = self.layers(|len| split(&mut psi, len));
        let [h_1, slope_1, h_2, slope_2, delta_2, back_1] =
            [(); KEPT].map(|()| borrow(&mut tape, self.units));
        multiply(net.first, z, h_1);
        activate(net.first_bias, h_1, slope_1);
        multiply(net.second, h_1, h_2);
        activate(net.second_bias, h_2, slope_2);
        product_into(net.output, slope_2, delta_2);
        back_1.fill(0.0);
        add_transposed(net.second, delta_2, back_1);
        let delta_1 = &mut work[..self.units];
        product_into(back_1, slope_1, delta_1);
        gradient.fill(0.0);
        add_transposed(net.first, delta_1, gradient);
        axpy(-self.precision, z, gradient);
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], mut work: &mut [f64]) {
        let Along { at: PathPoint { mut psi, z, .. }, tape, u, scale } = along;
        let (h, mut rest) = (self.units, psi_bar);
        let (net, bar) = (self.layers(|len| split(&mut psi, len)), self.layers(|len| borrow(&mut rest, len)));
        let kept: [&[f64]; KEPT] = std::array::from_fn(|i| &tape[i * h..(i + 1) * h]);
        let [h_1, slope_1, h_2, slope_2, delta_2, back_1] = kept;
        let [a_1, along_1, a_2, along_2, bar_1, bar_2] = [(); 6].map(|()| borrow(&mut work, h));

        // Derivative of the network in the direction u.
        multiply(net.first, u, a_1);
        product_into(slope_1, a_1, along_1);
        multiply(net.second, along_1, a_2);
        product_into(slope_2, a_2, along_2);

        // Derivatives of `scale * w_3 . along_2`, from the output back to the input.
        axpy(scale, along_2, bar.output);
        for i in 0..h {
            bar_2[i] = scale * net.output[i] * bend(h_2[i], slope_2[i]) * a_2[i];
            // Not needed any more: the room holds the scaled derivative of the output.
            along_2[i] = scale * delta_2[i];
        }
        add_outers([along_2, bar_2], [along_1, h_1], bar.second);
        axpy(1.0, bar_2, bar.second_bias);
        bar_1.fill(0.0);
        add_transposed(net.second, bar_2, bar_1);
        for i in 0..h {
            bar_1[i] = slope_1[i] * bar_1[i] + scale * bend(h_1[i], slope_1[i]) * a_1[i] * back_1[i];
            a_1[i] = scale * slope_1[i] * back_1[i];
        }
        add_outers([a_1, bar_1], [u, z], bar.first);
        axpy(1.0, bar_1, bar.first_bias);
        add_transposed(net.first, bar_1, product);
        axpy(-scale * self.precision, u, product);
    }
}
