//! Stochastic volatility model of one series with unknown parameters.

use std::f64::consts::LN_2;

use faer::{MatMut, MatRef};
use mcsa_core::numeric::{dot, exp, scalar, sum};
use mcsa_core::{
    Columns, ColumnsMut, Error, Gradient, LogDensity, Named, Separable, all_finite, batch_mut, borrow, one,
};

use crate::support::{HALF_LOG_TAU, cauchy, decided, half_cauchy};

const MU_SCALE: f64 = 10.0;
const SIGMA_SCALE: f64 = 5.0;

/// Stochastic volatility model, non-centred (CW, section 4.4):
///
/// ```text
/// phi ~ U(-1, 1),   sigma ~ half-Cauchy(5),   mu ~ Cauchy(10),   e_t ~ N(0, 1)
/// h_1 = sigma e_1 / sqrt(1 - phi^2),   h_t = phi h_{t-1} + sigma e_t,   y_t ~ N(0, exp(mu + h_t))
/// z = (logit((1 + phi) / 2), log sigma, mu, e_1 .. e_T),   log-Jacobian log 2 + log s(z_0) + log s(-z_0) + z_1
/// ```
///
/// The paper prints transitions around `mu` and a start around 0. Here both are around 0 and `mu` enters the observations, as
/// in the paper's code. The paper's 2610 "returns" are price levels of the S&P 500 with 0.1 on holidays; this model accepts any
/// series. A density costs one forward recursion and `T` exponentials; a gradient adds one backward recursion. The forward
/// recursions of four columns run side by side.
///
/// ```
/// use mcsa_core::LogDensity;
/// let model = mcsa_models::StockVolatility::new(vec![0.1, -0.4, 0.2])?;
/// assert_eq!(model.dim(), 6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StockVolatility {
    /// Squares of the series.
    squares: Vec<f64>,
}

/// `phi`, and `log(1 - phi^2)` without cancellation.
fn persistence(z: f64) -> (f64, f64) {
    (scalar::sigmoid(z) - scalar::sigmoid(-z), 2.0 * LN_2 + scalar::log_sigmoid(z) + scalar::log_sigmoid(-z))
}

fn recursion(z: &[f64]) -> (Recursion, f64) {
    let (phi, log_gap) = persistence(z[0]);
    let sigma = z[1].exp();
    (Recursion { phi, sigma, first: sigma * (-0.5 * log_gap).exp(), mu: z[2] }, log_gap)
}

impl StockVolatility {
    /// A model of a series.
    ///
    /// # Errors
    /// If a number, or its square, is not finite.
    pub fn new(series: Vec<f64>) -> Result<Self, Error> {
        let squares: Vec<f64> = series.iter().map(|y| y * y).collect();
        all_finite("series", &series).map_err(|e| e.within("StockVolatility"))?;
        all_finite("squared series", &squares).map_err(|e| e.within("StockVolatility"))?;
        Ok(Self { squares })
    }

    fn prior(z: &[f64], log_gap: f64) -> f64 {
        // log(1/2) + log 2 + log s + log s = log(1 - phi^2) - 2 log 2.
        let parameters = log_gap - 2.0 * LN_2 + half_cauchy(z[1], SIGMA_SCALE).0 + cauchy(z[2], MU_SCALE).0;
        let e = &z[3..];
        parameters - 0.5 * dot(e, e) - e.len() as f64 * HALF_LOG_TAU
    }

    /// Log density, from `-(mu + h)` in `negative`, which is replaced by its exponential.
    fn finish(&self, z: &[f64], log_gap: f64, negative: &mut [f64]) -> f64 {
        let total = sum(negative);
        exp(negative);
        let likelihood =
            0.5 * (total - dot(&self.squares, negative)) - self.squares.len() as f64 * HALF_LOG_TAU;
        decided(Self::prior(z, log_gap) + likelihood, z)
    }

    /// Calls `finish` with the index of each column, the column, its recursion, `-(mu + h)`, and as much lent memory; the recursions
    /// of four columns run side by side. Lanes without a column repeat the last.
    fn each_column(
        &self,
        z: MatRef<'_, f64>,
        mut work: &mut [f64],
        mut finish: impl FnMut(usize, &[f64], (Recursion, f64), &mut [f64], &mut [f64]),
    ) {
        assert_eq!(z.nrows(), self.dim(), "points of the target's dimension");
        let length = self.squares.len();
        let [negative, spare] = [(); 2].map(|()| borrow(&mut work, length));
        let paths = work[..LANES * length].as_chunks_mut::<LANES>().0;
        for first in (0..z.ncols()).step_by(LANES) {
            let columns: [&[f64]; LANES] =
                std::array::from_fn(|lane| z.column((first + lane).min(z.ncols() - 1)));
            let starts = columns.map(recursion);
            let (e, mut h) = (columns.map(|z| &z[3..][..length]), [0.0; LANES]);
            for (t, path) in paths.iter_mut().enumerate() {
                for lane in 0..LANES {
                    let Recursion { phi, sigma, first, mu } = starts[lane].0;
                    h[lane] = if t == 0 { first * e[lane][t] } else { phi * h[lane] + sigma * e[lane][t] };
                    path[lane] = -(mu + h[lane]);
                }
            }
            for lane in 0..LANES.min(z.ncols() - first) {
                negative.iter_mut().zip(&*paths).for_each(|(negative, path)| *negative = path[lane]);
                finish(first + lane, columns[lane], starts[lane], negative, spare);
            }
        }
    }

    /// Log density and gradient, from `-(mu + h)` in `negative`, which is replaced by its exponential and copied to `kept`.
    ///
    /// With `pull_t` the derivative of log p in `h_t` at fixed other states, `adjoint_t = pull_t + phi adjoint_{t+1}`.
    fn back(
        &self,
        z: &[f64],
        (path, log_gap): (Recursion, f64),
        negative: &mut [f64],
        kept: &mut [f64],
        gradient: &mut [f64],
    ) -> f64 {
        kept.copy_from_slice(negative);
        let log_p = self.finish(z, log_gap, negative);
        let (phi, mu) = (path.phi, path.mu);
        let (parameters, innovations) = gradient.split_at_mut(3);
        let (mut adjoint, mut slope_phi, mut slope_sigma, mut slope_mu) = (0.0, 0.0, 0.0, 0.0);
        let series = self.squares.iter().zip(&*negative).zip(&*kept).zip(&z[3..]).zip(innovations.iter_mut());
        // In the backward recursion, the adjoint of the next step multiplies this step's state.
        for ((((square, weight), negative), e), slope) in series.rev() {
            let state = -negative - mu;
            slope_phi += adjoint * state;
            let pull = 0.5 * (square * weight - 1.0);
            slope_mu += pull;
            slope_sigma += pull * state;
            adjoint = pull + phi * adjoint;
            *slope = path.sigma * adjoint - e;
        }
        // The scale of the first step depends on phi.
        let mut first = 0.0;
        if let Some(slope) = innovations.first_mut() {
            first = path.first * z[3];
            *slope = path.first * adjoint - z[3];
        }
        // dphi/dz = (1 - phi^2) / 2; times the first step's 1 / (1 - phi^2) it is 1/2.
        parameters[0] = 0.5 * (log_gap.exp() * slope_phi + phi * adjoint * first) - phi;
        parameters[1] = slope_sigma + half_cauchy(z[1], SIGMA_SCALE).1;
        parameters[2] = slope_mu + cauchy(z[2], MU_SCALE).1;
        log_p
    }
}

impl LogDensity for StockVolatility {
    fn dim(&self) -> usize {
        3 + self.squares.len()
    }

    fn work_len(&self, _: usize) -> usize {
        self.squares.len() * (LANES + 2)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        self.log_densities(one(z), &mut out, work);
        out[0]
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        self.each_column(z, work, |j, z, start, negative, _| out[j] = self.finish(z, start.1, negative));
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("phi", persistence(z[0]).0);
        out.push("sigma", z[1].exp());
        out.push("mu", z[2]);
        out.vector("e", z[3..].iter().copied());
    }
}

impl Gradient for StockVolatility {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let (mut out, dim) = ([0.0], gradient.len());
        self.gradients_into(one(z), &mut out, batch_mut(gradient, dim, 1), work);
        out[0]
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        assert!(z.ncols() == out.len() && z.ncols() == gradients.ncols(), "a gradient per column");
        self.each_column(z, work, |j, z, start, negative, kept| {
            out[j] = self.back(z, start, negative, kept, gradients.column_mut(j));
        });
    }
}

impl Separable for StockVolatility {
    fn num_data(&self) -> usize {
        self.squares.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(Self::prior(z, persistence(z[0]).1), z)
    }

    /// Cost: the recursion runs over the whole series for any set of rows.
    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], work: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        self.each_column(one(z), work, |_, _, _, negative, _| {
            for &t in rows {
                sum += 0.5 * (negative[t] - self.squares[t] * negative[t].exp()) - HALF_LOG_TAU;
            }
        });
        decided(sum, z)
    }
}

/// Number of paths computed side by side: the recursion is bound by latency, so that four cost little more than one.
const LANES: usize = 4;

/// Stationary autoregression in terms of its innovations `e`: `h_1 = first e_1`, `h_t = phi h_{t-1} + sigma e_t`.
#[derive(Clone, Copy)]
struct Recursion {
    phi: f64,
    sigma: f64,
    /// `sigma / sqrt(1 - phi^2)`.
    first: f64,
    mu: f64,
}
