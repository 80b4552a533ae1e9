//! Stochastic volatility model of exchange-rate returns: its parameters, the model, and its state-space form.

use faer::MatRef;
use mcsa_core::numeric::{dot, exp, sum};
use mcsa_core::{Columns, Curvature, Error, Gradient, LogDensity, Separable, Stream, all_finite, borrow};
use mcsa_models::support::{HALF_LOG_TAU, decided};
use mcsa_models::{Learnable, Transform};
use serde::{Deserialize, Serialize};

use crate::{GaussianDynamics, StateSpace};

/// Parameters of [`FxVolatility`], on the unconstrained scale on which they are learned.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Theta {
    /// Mean level of the states.
    pub mu: f64,
    /// `atanh` of the persistence `phi`.
    pub atanh_phi: f64,
    /// Logarithm of the standard deviation of innovations.
    pub log_sigma: f64,
    /// `log beta`, the logarithm of the variance of a return whose state `z_t` is 0.
    pub log_beta: f64,
}

impl Theta {
    /// The persistence `phi`, between -1 and 1.
    pub fn phi(&self) -> f64 {
        self.atanh_phi.tanh()
    }

    /// The variance of innovations.
    pub fn variance(&self) -> f64 {
        (2.0 * self.log_sigma).exp()
    }

    /// `log(1 - phi^2)`, without cancellation.
    fn log_gap(&self) -> f64 {
        Transform::Interval { low: -1.0, high: 1.0 }.log_slope(2.0 * self.atanh_phi) + std::f64::consts::LN_2
    }
}

impl From<[f64; 4]> for Theta {
    fn from([mu, atanh_phi, log_sigma, log_beta]: [f64; 4]) -> Self {
        Self { mu, atanh_phi, log_sigma, log_beta }
    }
}

impl From<Theta> for [f64; 4] {
    fn from(theta: Theta) -> Self {
        [theta.mu, theta.atanh_phi, theta.log_sigma, theta.log_beta]
    }
}

/// Mean of the first state of [`FxVolatility`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstState {
    /// The level `mu`: the path is stationary, and only `mu + log beta` is identified.
    #[default]
    Level,
    /// Zero, as printed (MSC, section 4.3).
    Zero,
}

/// Stochastic volatility model of returns `x_1 .. x_T` with given parameters (MSC, section 4.3):
///
/// ```text
/// z_0 ~ N(mu, sigma^2 / (1 - phi^2)),   z_t ~ N(mu + phi (z_{t-1} - mu), sigma^2),   x_t ~ N(0, beta exp(z_t))
/// ```
///
/// The target is the joint density of the path `z_0 .. z_T` and the returns; [`states`](Self::states) gives it as a
/// [`StateSpace`]. To learn the parameters (Fisher's identity; MSC, section 3.3), use the model as a [`Learnable`]. Then theta
/// is an argument of each call; the theta stored in the model counts only if the model is the target.
///
/// The paper prints the mean 0 for `z_0`, which [`FirstState::Zero`] selects. By default the first state is stationary, as in
/// the paper's code.
///
/// ```
/// use mcsa_particles::{FxVolatility, Theta};
/// let model = FxVolatility::new(vec![0.01, -0.02], Theta::default())?;
/// assert_eq!(model.num_states(), 3);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FxVolatility {
    /// Squares of the returns.
    squares: Vec<f64>,
    law: Law,
}

impl FxVolatility {
    /// A model of returns, at parameters `theta`.
    ///
    /// # Errors
    /// If a return, its square or a parameter is not finite.
    pub fn new(returns: Vec<f64>, theta: Theta) -> Result<Self, Error> {
        all_finite("returns", &returns).map_err(|e| e.within("FxVolatility"))?;
        all_finite("theta", &<[f64; 4]>::from(theta)).map_err(|e| e.within("FxVolatility"))?;
        let squares: Vec<f64> = returns.iter().map(|x| x * x).collect();
        all_finite("squares of returns", &squares).map_err(|e| e.within("FxVolatility"))?;
        Ok(Self { squares, law: Law::new(theta, FirstState::Level) })
    }

    /// Sets the mean of the first state.
    #[must_use]
    pub fn with_first(mut self, first: FirstState) -> Self {
        self.law = Law::new(self.law.theta, first);
        self
    }

    /// The model at its stored parameters, as a state-space model.
    pub fn states(&self) -> FxStates<'_> {
        FxStates { squares: &self.squares, law: self.law }
    }

    /// Number of states: one more than the number of returns.
    pub fn num_states(&self) -> usize {
        self.squares.len() + 1
    }

    /// Draws states and returns from the model; `returns[t - 1]` belongs to `z[t]`.
    pub fn simulate_into(&self, stream: &mut Stream, z: &mut [f64], returns: &mut [f64]) {
        assert_eq!(z.len(), returns.len() + 1, "one state more than returns");
        for t in 0..z.len() {
            let (before, here) = z.split_at_mut(t);
            self.states().draw_states_into(t, &before[t.saturating_sub(1)..], stream, &mut here[..1]);
            if t > 0 {
                returns[t - 1] = (0.5 * (self.law.theta.log_beta + z[t])).exp() * stream.normal();
            }
        }
    }

    fn prior(&self, z: &[f64]) -> f64 {
        let (log_gap, phi, mu) = (self.law.theta.log_gap(), self.law.phi, self.law.theta.mu);
        let off = z[0] - self.law.first_mean;
        let first = log_gap.exp() * off * off;
        let squares = z.windows(2).fold(first, |sum, pair| {
            let gap = pair[1] - mu - phi * (pair[0] - mu);
            sum + gap * gap
        });
        let count = z.len() as f64;
        0.5 * (log_gap - squares / self.law.variance) - count * (self.law.theta.log_sigma + HALF_LOG_TAU)
    }

    /// Log density; leaves `exp(-log beta - z_t)` in `weights`.
    fn weigh(&self, z: &[f64], weights: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.num_states(), "a path of states");
        for (weight, z) in weights.iter_mut().zip(&z[1..]) {
            *weight = -self.law.theta.log_beta - z;
        }
        let total = sum(weights);
        exp(weights);
        let likelihood = 0.5 * (total - dot(&self.squares, weights)) - weights.len() as f64 * HALF_LOG_TAU;
        decided(self.prior(z) + likelihood, z)
    }

    /// `out <- -(precision matrix of the states) v`, with a tridiagonal matrix; `first` replaces `v(0)` in the initial
    /// distribution.
    fn precision_into(&self, first: f64, v: impl Fn(usize) -> f64, out: &mut [f64]) {
        let (gap, phi, precision) = (self.law.theta.log_gap().exp(), self.law.phi, self.law.precision);
        let last = out.len() - 1;
        for (t, out) in out.iter_mut().enumerate() {
            let own = if t == 0 { gap * first } else { v(t) - phi * v(t - 1) };
            let next = if t == last { 0.0 } else { phi * (v(t + 1) - phi * v(t)) };
            *out = precision * (next - own);
        }
    }
}

impl LogDensity for FxVolatility {
    fn dim(&self) -> usize {
        self.num_states()
    }

    fn work_len(&self, _: usize) -> usize {
        self.squares.len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        self.weigh(z, borrow(&mut work, self.squares.len()))
    }
}

impl Gradient for FxVolatility {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let weights = borrow(&mut work, self.squares.len());
        let log_p = self.weigh(z, weights);
        self.precision_into(z[0] - self.law.first_mean, |t| z[t] - self.law.theta.mu, gradient);
        for ((gradient, square), weight) in gradient[1..].iter_mut().zip(&self.squares).zip(&*weights) {
            *gradient += 0.5 * (square * weight - 1.0);
        }
        log_p
    }
}

impl Curvature for FxVolatility {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        let weights = borrow(&mut work, self.squares.len());
        self.weigh(z, weights);
        self.precision_into(v[0], |t| v[t], out);
        for (((out, v), square), weight) in out[1..].iter_mut().zip(&v[1..]).zip(&self.squares).zip(&*weights)
        {
            *out -= 0.5 * square * weight * v;
        }
    }
}

impl Separable for FxVolatility {
    /// Number of returns.
    fn num_data(&self) -> usize {
        self.squares.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(self.prior(z), z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        let term = |&row: &usize| {
            let log_variance = self.law.theta.log_beta + z[row + 1];
            -0.5 * (log_variance + self.squares[row] * (-log_variance).exp()) - HALF_LOG_TAU
        };
        decided(rows.iter().map(term).fold(0.0, |sum, term| sum + term), z)
    }
}

impl Learnable for FxVolatility {
    type At<'a> = FxStates<'a>;

    fn num_thetas(&self) -> usize {
        4
    }

    fn at<'a>(&'a self, theta: &'a [f64]) -> FxStates<'a> {
        let theta = <[f64; 4]>::try_from(theta).expect("four parameters");
        FxStates { squares: &self.squares, law: Law::new(theta.into(), self.law.first) }
    }

    fn anywhere(&self) -> FxStates<'_> {
        self.states()
    }

    fn add_theta_gradients(
        &self,
        theta: &[f64],
        _: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        assert_eq!(z.ncols(), weights.len(), "a weight per path");
        let states = self.at(theta);
        for (j, &weight) in weights.iter().enumerate() {
            states.law.add_gradient(&self.squares, z.column(j), weight, gradient);
        }
    }
}

/// Quantities computed once per theta.
#[derive(Debug, Clone, Copy)]
struct Law {
    theta: Theta,
    phi: f64,
    first: FirstState,
    first_mean: f64,
    first_variance: f64,
    variance: f64,
    precision: f64,
    scale: f64,
}

impl Law {
    fn new(theta: Theta, first: FirstState) -> Self {
        let variance = theta.variance();
        let first_mean = match first {
            FirstState::Level => theta.mu,
            FirstState::Zero => 0.0,
        };
        let first_variance = variance * (-theta.log_gap()).exp();
        Self {
            theta,
            phi: theta.phi(),
            first,
            first_mean,
            first_variance,
            variance,
            precision: variance.recip(),
            scale: variance.sqrt(),
        }
    }

    fn mean(&self, previous: f64) -> f64 {
        self.theta.mu + self.phi * (previous - self.theta.mu)
    }

    /// Adds `weight d/dtheta log p(z, x; theta)` to `gradient`, in the order of the fields of [`Theta`].
    fn add_gradient(&self, squares: &[f64], z: &[f64], weight: f64, gradient: &mut [f64]) {
        assert_eq!(z.len(), squares.len() + 1, "a path of states");
        assert_eq!(gradient.len(), 4, "four parameters");
        let (Theta { mu, log_beta, .. }, phi) = (self.theta, self.phi);
        let (gap, precision) = (self.theta.log_gap().exp(), self.precision);
        let off = z[0] - self.first_mean;
        let (mut sum, mut gaps, mut crosses, mut surprise) = (gap * off * off, 0.0, 0.0, 0.0);
        for (pair, square) in z.windows(2).zip(squares) {
            let before = pair[0] - mu;
            let gap = pair[1] - mu - phi * before;
            sum += gap * gap;
            gaps += gap;
            crosses += gap * before;
            surprise += square * (-log_beta - pair[1]).exp() - 1.0;
        }
        let pull = match self.first {
            FirstState::Level => gap * off,
            FirstState::Zero => 0.0,
        };
        gradient[0] += weight * precision * (pull + (1.0 - phi) * gaps);
        gradient[1] += weight * (gap * precision * (phi * off * off + crosses) - phi);
        gradient[2] += weight * (precision * sum - z.len() as f64);
        gradient[3] += weight * 0.5 * surprise;
    }
}

/// [`FxVolatility`] at one theta, as a state-space model: one state before the first return, then one per
/// return.
#[derive(Debug, Clone, Copy)]
pub struct FxStates<'a> {
    squares: &'a [f64],
    law: Law,
}

impl LogDensity for FxStates<'_> {
    fn dim(&self) -> usize {
        self.num_states()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(self.log_path(z), z)
    }
}

impl StateSpace for FxStates<'_> {
    fn num_states(&self) -> usize {
        self.squares.len() + 1
    }

    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        if t == 0 {
            let scale = self.law.first_variance.sqrt();
            z.iter_mut().for_each(|z| *z = self.law.first_mean + scale * *z);
        } else {
            assert_eq!(z.len(), previous.len(), "a predecessor per state");
            let scale = self.law.scale;
            for (z, &previous) in z.iter_mut().zip(previous) {
                *z = self.law.mean(previous) + scale * *z;
            }
        }
    }

    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), out.len(), "a density per state");
        if t == 0 {
            let (mean, precision) = (self.law.first_mean, self.law.first_variance.recip());
            let peak = 0.5 * precision.ln() - HALF_LOG_TAU;
            for (out, z) in out.iter_mut().zip(z) {
                *out = peak - 0.5 * precision * (z - mean) * (z - mean);
            }
        } else {
            assert_eq!(z.len(), previous.len(), "a predecessor per state");
            let (precision, peak) = (self.law.precision, -self.law.theta.log_sigma - HALF_LOG_TAU);
            for ((out, z), &previous) in out.iter_mut().zip(z).zip(previous) {
                let gap = z - self.law.mean(previous);
                *out = peak - 0.5 * precision * gap * gap;
            }
        }
    }

    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), out.len(), "a density per state");
        let (Some(&square), log_beta) = (self.squares.get(t.wrapping_sub(1)), self.law.theta.log_beta) else {
            return out.fill(0.0);
        };
        for (out, z) in out.iter_mut().zip(z) {
            *out = -log_beta - z;
        }
        exp(out);
        for (out, z) in out.iter_mut().zip(z) {
            *out = -0.5 * (log_beta + z + square * *out) - HALF_LOG_TAU;
        }
    }
}

impl GaussianDynamics for FxStates<'_> {
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64 {
        if t == 0 {
            means.fill(self.law.first_mean);
            return self.law.first_variance;
        }
        assert_eq!(means.len(), previous.len(), "a mean per predecessor");
        for (mean, &previous) in means.iter_mut().zip(previous) {
            *mean = self.law.mean(previous);
        }
        self.law.variance
    }
}
