use mcsa_core::numeric;
use pulp::Arch;

/// Squared exponential kernel with one length per feature, `k(x, z_i) = c exp(-1/2 sum_k (x_k - z_ik)^2 / l_k^2)`, at inducing points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel<'a> {
    /// `log c`.
    pub(crate) log_amplitude: f64,
    /// `1 / l_k`.
    pub(crate) rates: &'a [f64],
    /// Inducing points divided by the lengths: all first features, then all second ones, and so on.
    pub(crate) scaled: &'a [f64],
}

/// Gradient in the parameters of the kernel, to which the pull-back adds.
#[derive(Debug)]
pub(crate) struct KernelSlopes<'a> {
    pub(crate) log_amplitude: f64,
    pub(crate) log_lengths: &'a mut [f64],
    /// As [`Kernel::scaled`].
    pub(crate) points: &'a mut [f64],
}

/// Number of partial sums.
const LANES: usize = 8;

impl Kernel<'_> {
    /// `out_i <- k(x, z_i)` from the features of `x` divided by the lengths.
    pub(crate) fn values_into(self, x: impl Fn(usize) -> f64, out: &mut [f64]) {
        Arch::new().dispatch(|| self.exponents_into(&x, out));
        numeric::exp(out);
    }

    #[inline(always)]
    fn exponents_into(self, x: &impl Fn(usize) -> f64, out: &mut [f64]) {
        out.fill(0.0);
        for (k, points) in self.scaled.chunks_exact(out.len()).enumerate() {
            let x = x(k);
            for (out, z) in out.iter_mut().zip(points) {
                let apart = z - x;
                *out += apart * apart;
            }
        }
        out.iter_mut().for_each(|out| *out = self.log_amplitude - 0.5 * *out);
    }

    /// Adds to `slopes` the gradient of `sum_i bar_i k(x, z_i)` in amplitude, lengths and `times` that in the points; `weighted_i` is
    /// `bar_i k(x, z_i)`.
    pub(crate) fn pull_back(
        self,
        x: impl Fn(usize) -> f64,
        weighted: &[f64],
        times: f64,
        slopes: &mut KernelSlopes<'_>,
    ) {
        slopes.log_amplitude += numeric::sum(weighted);
        Arch::new().dispatch(|| self.distances_back(&x, weighted, times, slopes));
    }

    #[inline(always)]
    fn distances_back(
        self,
        x: &impl Fn(usize) -> f64,
        weighted: &[f64],
        times: f64,
        slopes: &mut KernelSlopes<'_>,
    ) {
        let columns = self.scaled.chunks_exact(weighted.len());
        let bars = slopes.points.chunks_exact_mut(weighted.len());
        for (k, (points, bars)) in columns.zip(bars).enumerate() {
            let (x, rate) = (x(k), times * self.rates[k]);
            // Sums in eight parts, which do not wait for each other.
            let mut squares = [0.0; LANES];
            let (z, z_rest) = points.as_chunks::<LANES>();
            let (w, w_rest) = weighted.as_chunks::<LANES>();
            let (bars, bars_rest) = bars.as_chunks_mut::<LANES>();
            for ((z, w), bar) in z.iter().zip(w).zip(bars) {
                for i in 0..LANES {
                    let pull = w[i] * (z[i] - x);
                    squares[i] += pull * (z[i] - x);
                    bar[i] -= rate * pull;
                }
            }
            for (((z, w), bar), square) in z_rest.iter().zip(w_rest).zip(bars_rest).zip(&mut squares) {
                let pull = w * (z - x);
                *square += pull * (z - x);
                *bar -= rate * pull;
            }
            slopes.log_lengths[k] += squares.iter().sum::<f64>();
        }
    }
}
