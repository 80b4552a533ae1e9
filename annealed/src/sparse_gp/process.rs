//! Sparse Gaussian process: its parameters, its kernel, and the quantities that are computed once at one theta.

use faer::MatRef;
use mcsa_core::numeric::vectorised;
use mcsa_core::{
    Error, Named, all_finite, at_least_one, borrow, checksum, finite_matrix, numeric, same_length,
};

use super::average::{Likelihood, Prepared};
use mcsa_models::student_errors::{MOST, freedom};
use mcsa_models::support::zeros_and_ones;
use mcsa_numeric::design::{Rows, RowsRef};

/// Coordinates of the inducing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InducingCoordinates {
    /// The values `u ~ N(0, K_ZZ)` themselves.
    #[default]
    Plain,
    /// `e ~ N(0, I)` with `u = L e`, `K_ZZ = L L'`: unlike the paper, all coordinates have unit prior scale.
    Whitened,
}

impl InducingCoordinates {
    /// The name of the values.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Self::Plain => "u",
            Self::Whitened => "e",
        }
    }
}

/// Gaussian process with inducing points (FITC), and data that are independent given the values `u` there. (SL-DAIS, Sec. 7.4, 7.5)
///
/// ```text
/// k(x, x') = c exp(-1/2 sum_k (x_k - x'_k)^2 / l_k^2),   K_ZZ = k(Z, Z) + 1e-6 I,   u ~ N(0, K_ZZ)
/// A_n = K_ZZ^-1 k(Z, x_n),   v_n = c - k(x_n, Z) A_n,   f_n | u ~ N(A_n' u, v_n)
/// p(y_n | u) = sum_q w_q p(y_n | A_n' u + sqrt(2 v_n) x_q),   Gauss-Hermite rule with 16 nodes
/// theta = (log c, log l_1 .. log l_d, noise, Z row by row)
/// ```
/// The likelihood is logistic, without noise parameters, or Student t with `noise = (log s, log(nu - 2))`.
///
/// At one theta [`prepare_into`](Self::prepare_into) computes the quantities above once, into lent memory, for all data or for
/// chosen rows. The [`SparsePosterior`](crate::SparsePosterior) of `u` reads them. It has derivatives in `u`. There are also
/// derivatives in theta, inducing points included, of its log density and of the product of its gradient with a vector.
///
/// For `M` inducing points and `B` rows, the preparation takes `M^3 + B M^2` operations. A density or a gradient in `u` takes
/// `M^2 + B (M + 16)`.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_annealed::SparseGaussianProcess;
/// let x = faer::mat![[0.0], [1.0], [2.5]];
/// let process = SparseGaussianProcess::classification(x.as_ref(), &[1.0, 1.0, 0.0], 2)?;
/// let theta = process.theta(0.0, &[0.3], &[], faer::mat![[0.5], [2.0]].as_ref())?;
/// let rows = [0, 1, 2];
/// let mut memory = vec![0.0; process.memory_len(rows.len())];
/// process.prepare_into(&theta, &rows, &mut memory)?;
/// let posterior = process.posterior(&theta, &rows, &memory);
/// let mut work = vec![0.0; posterior.work_len(1)];
/// assert!(posterior.log_density(&[0.5, -0.5], &mut work).is_finite());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SparseGaussianProcess {
    x: Rows,
    /// Signs of labels, or responses.
    y: Vec<f64>,
    inducing: usize,
    likelihood: Likelihood,
    coordinates: InducingCoordinates,
}

/// Variance added to the diagonal of `K_ZZ`. The paper does not state its own.
pub(super) const JITTER: f64 = 1e-6;

/// Smallest variance `v_n`, against rounding; there the derivative in `v_n` counts as zero.
pub(super) const LEAST: f64 = 1e-10;

impl SparseGaussianProcess {
    /// Classification: features `x` (one row per datum), labels 0 or 1, and the number of inducing points.
    ///
    /// # Errors
    /// If the number of labels is not the number of rows, a label is neither 0 nor 1, a number is not finite, or there is no feature
    /// or no inducing point.
    pub fn classification(x: MatRef<'_, f64>, labels: &[f64], inducing: usize) -> Result<Self, Error> {
        zeros_and_ones(labels).map_err(|error| error.within("SparseGaussianProcess"))?;
        let signs: Vec<f64> = labels.iter().map(|y| 2.0 * y - 1.0).collect();
        Self::new(x, &signs, inducing, Likelihood::Logistic)
    }

    /// Regression with Student t errors: features `x` (one row per datum), responses, and the number of inducing points.
    ///
    /// # Errors
    /// If the number of responses is not the number of rows, a number is not finite, or there is no feature or no inducing point.
    pub fn robust(x: MatRef<'_, f64>, responses: &[f64], inducing: usize) -> Result<Self, Error> {
        Self::new(x, responses, inducing, Likelihood::Student)
    }

    fn new(x: MatRef<'_, f64>, y: &[f64], inducing: usize, likelihood: Likelihood) -> Result<Self, Error> {
        let within = |error: Error| error.within("SparseGaussianProcess");
        same_length("data", x.nrows(), y.len()).map_err(within)?;
        finite_matrix("features", x).map_err(within)?;
        all_finite("data", y).map_err(within)?;
        at_least_one("features", x.ncols()).map_err(within)?;
        at_least_one("inducing points", inducing).map_err(within)?;
        let x = Rows::from_fn(x.nrows(), x.ncols(), |i, k| x[(i, k)]);
        Ok(Self { x, y: y.to_vec(), inducing, likelihood, coordinates: InducingCoordinates::Plain })
    }

    /// Sets the coordinates of the inducing values.
    #[must_use]
    pub fn with_coordinates(self, coordinates: InducingCoordinates) -> Self {
        Self { coordinates, ..self }
    }

    /// The coordinates of the inducing values.
    pub fn coordinates(&self) -> InducingCoordinates {
        self.coordinates
    }

    /// The number of data.
    pub fn num_data(&self) -> usize {
        self.y.len()
    }

    /// The number of inducing points, the dimension of `u`.
    pub fn num_inducing(&self) -> usize {
        self.inducing
    }

    /// Index in theta of the first coordinate of the first inducing point.
    pub fn first_inducing(&self) -> usize {
        1 + self.x.columns() + self.likelihood.num_params()
    }

    /// The parameters as one slice: `log c`, the log lengths, the noise (nothing, or `log s` and `log(nu - 2)`), and the inducing
    /// points, one per row.
    ///
    /// # Errors
    /// If a length differs from that of the process, or a number is not finite.
    pub fn theta(
        &self,
        log_amplitude: f64,
        log_lengths: &[f64],
        noise: &[f64],
        inducing: MatRef<'_, f64>,
    ) -> Result<Vec<f64>, Error> {
        let within = |error: Error| error.within("SparseGaussianProcess");
        same_length("log lengths", self.x.columns(), log_lengths.len()).map_err(within)?;
        same_length("noise", self.likelihood.num_params(), noise.len()).map_err(within)?;
        same_length("inducing points", self.inducing, inducing.nrows()).map_err(within)?;
        same_length("features of inducing points", self.x.columns(), inducing.ncols()).map_err(within)?;
        let points = (0..self.inducing).flat_map(|i| (0..inducing.ncols()).map(move |k| inducing[(i, k)]));
        let scales = std::iter::once(log_amplitude).chain(log_lengths.iter().copied());
        let theta: Vec<f64> = scales.chain(noise.iter().copied()).chain(points).collect();
        self.check_theta(&theta).map_err(within)?;
        Ok(theta)
    }

    pub(super) fn layout(&self, rows: usize) -> Layout {
        Layout { inducing: self.inducing, features: self.x.columns(), rows }
    }

    /// Length of the memory for as many rows.
    pub fn memory_len(&self, rows: usize) -> usize {
        self.layout(rows).len()
    }

    /// Computes at `theta` what the posterior of `u` given the data in `rows` needs, and writes it to `memory`. Allocates nothing.
    ///
    /// # Errors
    /// If theta has another length, a number in it is not finite, a logarithm is beyond +-300, or `K_ZZ` has no Cholesky factor
    /// in double precision. The factor, and all that is computed from it, is then NaN in the memory.
    ///
    /// # Panics
    /// If a row is not less than the number of data, or the memory is too short.
    pub fn prepare_into(&self, theta: &[f64], rows: &[usize], memory: &mut [f64]) -> Result<(), Error> {
        memory.fill(f64::NAN);
        let within = |error: Error| error.within("SparseGaussianProcess");
        self.check_theta(theta).map_err(within)?;
        let (m, d) = (self.inducing, self.x.columns());
        let part = self.layout(rows.len()).write(memory);
        let Memory { log_det, rates, scaled, factor, inverse, weights, white, variances } = part;
        for (rate, log_length) in rates.iter_mut().zip(&theta[1..=d]) {
            *rate = (-log_length).exp();
        }
        for (i, point) in theta[self.first_inducing()..].chunks_exact(d).enumerate() {
            for (k, (z, rate)) in point.iter().zip(&*rates).enumerate() {
                scaled[k * m + i] = z * rate;
            }
        }
        let kernel = Kernel { log_amplitude: theta[0], rates, scaled };
        for (i, row) in factor.chunks_exact_mut(m).enumerate() {
            kernel.values_into(|k| kernel.scaled[k * m + i], row);
            row[i] += JITTER;
        }
        log_det[0] = f64::NAN;
        let log_diagonal = cholesky(factor, m).map_err(|pivot| {
            inverse.fill(f64::NAN);
            factor.fill(f64::NAN);
            within(Error::NotPositiveDefinite { what: "covariance of the inducing values", pivot })
        })?;
        invert(factor, inverse, m);
        let inverse = RowsRef::new(inverse, m);
        let each = weights.chunks_exact_mut(m).zip(white.chunks_exact_mut(m)).zip(variances);
        for (&row, ((weights, white), variance)) in rows.iter().zip(each) {
            let x = self.x.row(row);
            kernel.values_into(|k| x[k] * kernel.rates[k], weights);
            inverse.multiply_at(|i| i, weights, white);
            *variance = theta[0].exp() - numeric::dot(white, white);
            weights.fill(0.0);
            inverse.add_pull_back_at(|i| i, white, weights);
        }
        log_det[0] = log_diagonal;
        Ok(())
    }

    /// Appends amplitude, lengths, noise and inducing points of theta by name.
    pub(super) fn name_theta(&self, theta: &[f64], out: &mut Named) {
        let d = self.x.columns();
        out.push("amplitude", theta[0].exp());
        out.vector("length", theta[1..=d].iter().map(|length| length.exp()));
        if let [log_scale, u] = theta[1 + d..self.first_inducing()] {
            out.push("scale", log_scale.exp());
            out.push("freedom", freedom(u).0);
        }
        let points = &theta[self.first_inducing()..self.num_thetas()];
        out.each(|i| format!("inducing[{}][{}]", i / d, i % d), points.iter().copied());
    }

    /// Text of the configuration, with a checksum of the data.
    pub(super) fn config(&self) -> String {
        let Self { inducing, likelihood, coordinates, .. } = self;
        let data: Vec<f64> =
            (0..self.y.len()).flat_map(|i| self.x.row(i).iter().chain(&self.y[i..=i])).copied().collect();
        format!(
            "{likelihood:?}, {coordinates:?}, inducing: {inducing}, data: {:016x}",
            checksum(data.iter().flat_map(|x| x.to_le_bytes()))
        )
    }

    pub(super) fn features(&self) -> &Rows {
        &self.x
    }

    pub(super) fn datum(&self, row: usize) -> f64 {
        self.y[row]
    }

    /// The likelihood at theta; `None` outside its range.
    pub(super) fn likelihood_at(&self, theta: &[f64]) -> Option<Prepared> {
        self.likelihood.prepare(&theta[1 + self.x.columns()..self.first_inducing()])
    }

    /// The length of theta.
    pub fn num_thetas(&self) -> usize {
        self.first_inducing() + self.inducing * self.x.columns()
    }

    /// Checks that `theta` has the right length, is finite, and has no logarithm beyond +-300.
    ///
    /// # Errors
    /// If it does not; the error names the length, or the value.
    pub fn check_theta(&self, theta: &[f64]) -> Result<(), Error> {
        same_length("theta", self.num_thetas(), theta.len())?;
        all_finite("theta", theta)?;
        match theta[..self.first_inducing()].iter().find(|log| log.abs() > MOST) {
            Some(&log) => Err(Error::parameter("logarithm in theta", log, "between -300 and 300")),
            None => Ok(()),
        }
    }
}

/// Cholesky factor of the matrix stored row by row, in place, with zeros above the diagonal; the sum of the logarithms of the pivots'
/// roots, or the index of a pivot that is not positive.
fn cholesky(matrix: &mut [f64], m: usize) -> Result<f64, usize> {
    let mut log_det = 0.0;
    for i in 0..m {
        let (above, row) = matrix.split_at_mut(i * m);
        let row = &mut row[..m];
        for (j, other) in above.chunks_exact(m).enumerate() {
            row[j] = (row[j] - numeric::dot(&row[..j], &other[..j])) / other[j];
        }
        let pivot = row[i] - numeric::dot(&row[..i], &row[..i]);
        // Written so that NaN is an error.
        if !(pivot > 0.0) {
            return Err(i);
        }
        row[i] = pivot.sqrt();
        log_det += row[i].ln();
        row[i + 1..].fill(0.0);
    }
    Ok(log_det)
}

/// `inverse <- L^-1`, both stored row by row.
fn invert(factor: &[f64], inverse: &mut [f64], m: usize) {
    for (i, row) in factor.chunks_exact(m).enumerate() {
        let (above, out) = inverse.split_at_mut(i * m);
        let out = &mut out[..m];
        out.fill(0.0);
        RowsRef::new(above, m).add_pull_back_at(|j| j, &row[..i], out);
        out[i] -= 1.0;
        out.iter_mut().for_each(|out| *out /= -row[i]);
    }
}

/// Squared exponential kernel with one length per feature, `k(x, z_i) = c exp(-1/2 sum_k (x_k - z_ik)^2 / l_k^2)`, at inducing points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel<'a> {
    /// `log c`.
    pub(super) log_amplitude: f64,
    /// `1 / l_k`.
    pub(super) rates: &'a [f64],
    /// Inducing points divided by the lengths: all first features, then all second ones, and so on.
    pub(super) scaled: &'a [f64],
}

/// Gradient in the parameters of the kernel, to which the pull-back adds.
#[derive(Debug)]
pub(super) struct KernelSlopes<'a> {
    pub(super) log_amplitude: f64,
    pub(super) log_lengths: &'a mut [f64],
    /// As [`Kernel::scaled`].
    pub(super) points: &'a mut [f64],
}

/// Number of partial sums.
const LANES: usize = 8;

impl Kernel<'_> {
    /// `out_i <- k(x, z_i)` from the features of `x` divided by the lengths.
    pub(super) fn values_into(self, x: impl Fn(usize) -> f64, out: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                out.fill(0.0);
                for (k, points) in self.scaled.chunks_exact(out.len()).enumerate() {
                    let x = x(k);
                    for (out, z) in out.iter_mut().zip(points) {
                        let apart = z - x;
                        *out += apart * apart;
                    }
                }
                out.iter_mut().for_each(|out| *out = self.log_amplitude - 0.5 * *out);
            },
        );
        numeric::exp(out);
    }

    /// Adds to `slopes` the gradient of `sum_i bar_i k(x, z_i)` in amplitude, lengths and `times` that in the points; `weighted_i` is
    /// `bar_i k(x, z_i)`.
    pub(super) fn pull_back(
        self,
        x: impl Fn(usize) -> f64,
        weighted: &[f64],
        times: f64,
        slopes: &mut KernelSlopes<'_>,
    ) {
        slopes.log_amplitude += numeric::sum(weighted);
        vectorised(
            #[inline(always)]
            || {
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
                    for (((z, w), bar), square) in z_rest.iter().zip(w_rest).zip(bars_rest).zip(&mut squares)
                    {
                        let pull = w * (z - x);
                        *square += pull * (z - x);
                        *bar -= rate * pull;
                    }
                    slopes.log_lengths[k] += squares.iter().sum::<f64>();
                }
            },
        );
    }
}

/// Sizes of the memory of a sparse process at one theta.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) inducing: usize,
    pub(super) features: usize,
    pub(super) rows: usize,
}

/// Quantities of a sparse process at one theta, as views of one slice: of vectors and of matrices row by row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory<V, M> {
    /// `log det L`, `K_ZZ = L L'`.
    pub(super) log_det: V,
    pub(super) rates: V,
    pub(super) scaled: V,
    /// `L`.
    pub(super) factor: M,
    /// `L^-1`.
    pub(super) inverse: M,
    /// `A_n = K_ZZ^-1 k_Zn`, one row per datum.
    pub(super) weights: M,
    /// `W_n = L^-1 k_Zn`, one row per datum.
    pub(super) white: M,
    /// `v_n`.
    pub(super) variances: V,
}

impl Layout {
    /// The lengths of the parts, in order.
    fn lengths(self) -> [usize; 8] {
        let Self { inducing: m, features: d, rows } = self;
        [1, d, d * m, m * m, m * m, rows * m, rows * m, rows]
    }

    /// The length of the whole.
    pub(super) fn len(self) -> usize {
        self.lengths().iter().sum()
    }

    fn split<V, M>(self, take: impl FnMut(usize) -> V, matrix: impl Fn(V) -> M) -> Memory<V, M> {
        let [log_det, rates, scaled, factor, inverse, weights, white, variances] = self.lengths().map(take);
        let [factor, inverse, weights, white] = [factor, inverse, weights, white].map(matrix);
        Memory { log_det, rates, scaled, factor, inverse, weights, white, variances }
    }

    pub(super) fn read(self, mut memory: &[f64]) -> Memory<&[f64], RowsRef<'_>> {
        let take = |len: usize| {
            let (part, rest) = memory.split_at(len);
            memory = rest;
            part
        };
        self.split(take, |part| RowsRef::new(part, self.inducing))
    }

    fn write(self, mut memory: &mut [f64]) -> Memory<&mut [f64], &mut [f64]> {
        self.split(|len| borrow(&mut memory, len), |part| part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_and_inverse() {
        let m = 21;
        let entry = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f64) + if i == j { 0.5 } else { 0.0 };
        let matrix: Vec<f64> = (0..m * m).map(|at| entry(at / m, at % m)).collect();
        let (mut factor, mut inverse) = (matrix.clone(), vec![f64::NAN; m * m]);
        let log_det = cholesky(&mut factor, m).unwrap();
        invert(&factor, &mut inverse, m);
        let pivots: f64 = (0..m).map(|i| factor[i * m + i].ln()).sum();
        assert!((log_det - pivots).abs() < 1e-13);
        for i in 0..m {
            for j in 0..m {
                let product: f64 = (0..m).map(|k| factor[i * m + k] * factor[j * m + k]).sum();
                assert!((product - matrix[i * m + j]).abs() < 1e-14, "L L' at {i}, {j}");
                let one: f64 = (0..m).map(|k| factor[i * m + k] * inverse[k * m + j]).sum();
                assert!((one - f64::from(u8::from(i == j))).abs() < 1e-14, "L L^-1 at {i}, {j}");
            }
        }
        assert_eq!(cholesky(&mut [1.0, 2.0, 2.0, 1.0], 2), Err(1));
    }
}
