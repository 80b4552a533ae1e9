//! Stochastic volatility as a state-space model, at fixed parameters.

use std::borrow::Cow;

use mcsa::numeric::{dot, exp, sum};
use mcsa::{Curvature, Error, Gradient, LogDensity, Named, Separable, Stream, all_finite, borrow};

use crate::Transform;
use crate::support::{HALF_LOG_TAU, decided};

/// The parameters of [`FxVolatility`], on the unconstrained scale on which they are learnt.
///
/// ```
/// use mcsa_models::Theta;
/// let theta = Theta { mu: -1.0, atanh_phi: 0.9_f64.atanh(), log_sigma: 0.3_f64.ln(), log_beta: 0.0 };
/// assert!((theta.phi() - 0.9).abs() < 1e-15);
/// assert_eq!(Theta::from([1.0, 0.0, 0.0, 2.0]).log_beta, 2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Theta {
    /// The level around which states move.
    pub mu: f64,
    /// `atanh` of the persistence.
    pub atanh_phi: f64,
    /// Logarithm of the scale of innovations.
    pub log_sigma: f64,
    /// Logarithm of the variance of returns at state 0.
    pub log_beta: f64,
}

impl Theta {
    /// The persistence, between -1 and 1.
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

/// Stochastic volatility of returns `x_1 .. x_T`, its parameters given (MSC, section 4.3):
///
/// ```text
/// z_0 ~ N(mu, sigma^2 / (1 - phi^2)),   z_t ~ N(mu + phi (z_{t-1} - mu), sigma^2),   x_t ~ N(0, beta exp(z_t))
/// ```
///
/// The target is the density of the path `z_0 .. z_T` and the returns; a kernel for state-space models takes its parts:
/// [`initial`](Self::initial), [`transition`](Self::transition), [`log_likelihood`](Self::log_likelihood).
/// [`add_theta_gradient`](Self::add_theta_gradient) is for learning the parameters (Fisher's identity; MSC, section 3.3).
///
/// Unlike the paper, which prints the mean 0 for `z_0`, the first state is stationary, as in its code. Then only
/// `mu + log beta` is identified.
///
/// ```
/// use mcsa_models::{FxVolatility, Theta};
/// let model = FxVolatility::new(vec![0.01, -0.02], Theta::default())?;
/// assert_eq!(model.num_states(), 3);
/// assert_eq!(model.transition(5.0), (0.0, 1.0));
/// # Ok::<(), mcsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FxVolatility {
    returns: Vec<f64>,
    squares: Vec<f64>,
    theta: Theta,
}

impl FxVolatility {
    /// Of returns, at these parameters.
    ///
    /// # Errors
    /// If a return or a parameter is not finite.
    pub fn new(returns: Vec<f64>, theta: Theta) -> Result<Self, Error> {
        all_finite("returns", &returns).map_err(|e| e.within("FxVolatility"))?;
        let squares = returns.iter().map(|x| x * x).collect();
        let mut model = Self { returns, squares, theta: Theta::default() };
        model.set_theta(theta)?;
        Ok(model)
    }

    /// Moves the parameters.
    ///
    /// # Errors
    /// If one is not finite; then nothing moves.
    pub fn set_theta(&mut self, theta: Theta) -> Result<(), Error> {
        all_finite("theta", &<[f64; 4]>::from(theta)).map_err(|e| e.within("FxVolatility"))?;
        self.theta = theta;
        Ok(())
    }

    /// The parameters.
    pub fn theta(&self) -> Theta {
        self.theta
    }

    /// The returns.
    pub fn returns(&self) -> &[f64] {
        &self.returns
    }

    /// The number of states: one more than returns.
    pub fn num_states(&self) -> usize {
        self.returns.len() + 1
    }

    /// Mean and variance of `z_0`.
    pub fn initial(&self) -> (f64, f64) {
        (self.theta.mu, self.theta.variance() * (-self.theta.log_gap()).exp())
    }

    /// Mean and variance of `z_t` given `z_{t-1}`.
    pub fn transition(&self, previous: f64) -> (f64, f64) {
        (self.theta.mu + self.theta.phi() * (previous - self.theta.mu), self.theta.variance())
    }

    /// `log p(x_t | z_t)`, for `t` from 1; zero for `t = 0`, where nothing is observed.
    ///
    /// # Panics
    /// If there is no state `t`.
    pub fn log_likelihood(&self, t: usize, z: f64) -> f64 {
        if t == 0 {
            return 0.0;
        }
        let log_variance = self.theta.log_beta + z;
        -0.5 * (log_variance + self.squares[t - 1] * (-log_variance).exp()) - HALF_LOG_TAU
    }

    /// Draws states and returns from the model itself; `returns[t - 1]` belongs to `z[t]`.
    ///
    /// # Panics
    /// If there is not one state more than returns.
    pub fn simulate_into(&self, stream: &mut Stream, z: &mut [f64], returns: &mut [f64]) {
        assert_eq!(z.len(), returns.len() + 1, "one state more than returns");
        let mut law = self.initial();
        for t in 0..z.len() {
            z[t] = law.0 + law.1.sqrt() * stream.normal();
            law = self.transition(z[t]);
            if t > 0 {
                returns[t - 1] = (0.5 * (self.theta.log_beta + z[t])).exp() * stream.normal();
            }
        }
    }

    /// `gradient += weight d/dtheta log p(z, x; theta)`, in the order of [`Theta`]'s fields.
    ///
    /// # Panics
    /// If the lengths are not those of a path and of [`Theta`].
    pub fn add_theta_gradient(&self, z: &[f64], weight: f64, gradient: &mut [f64]) {
        assert_eq!(z.len(), self.num_states(), "a path of states");
        assert_eq!(gradient.len(), 4, "four parameters");
        let Theta { mu, log_beta, .. } = self.theta;
        let (phi, gap, precision) =
            (self.theta.phi(), self.theta.log_gap().exp(), self.theta.variance().recip());
        let off = z[0] - mu;
        let (mut squares, mut gaps, mut crosses, mut surprise) = (gap * off * off, 0.0, 0.0, 0.0);
        for (pair, square) in z.windows(2).zip(&self.squares) {
            let before = pair[0] - mu;
            let gap = pair[1] - mu - phi * before;
            squares += gap * gap;
            gaps += gap;
            crosses += gap * before;
            surprise += square * (-log_beta - pair[1]).exp() - 1.0;
        }
        gradient[0] += weight * precision * (gap * off + (1.0 - phi) * gaps);
        gradient[1] += weight * (gap * precision * (phi * off * off + crosses) - phi);
        gradient[2] += weight * (precision * squares - z.len() as f64);
        gradient[3] += weight * 0.5 * surprise;
    }

    fn prior(&self, z: &[f64]) -> f64 {
        let (log_gap, phi, mu) = (self.theta.log_gap(), self.theta.phi(), self.theta.mu);
        let first = log_gap.exp() * (z[0] - mu) * (z[0] - mu);
        let squares = z.windows(2).fold(first, |sum, pair| {
            let gap = pair[1] - mu - phi * (pair[0] - mu);
            sum + gap * gap
        });
        let count = z.len() as f64;
        0.5 * (log_gap - squares / self.theta.variance()) - count * (self.theta.log_sigma + HALF_LOG_TAU)
    }

    /// The density; leaves `exp(-log beta - z_t)` in `weights`.
    fn weigh(&self, z: &[f64], weights: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.num_states(), "a path of states");
        for (weight, z) in weights.iter_mut().zip(&z[1..]) {
            *weight = -self.theta.log_beta - z;
        }
        let total = sum(weights);
        exp(weights);
        let likelihood = 0.5 * (total - dot(&self.squares, weights)) - weights.len() as f64 * HALF_LOG_TAU;
        decided(self.prior(z) + likelihood, z)
    }

    /// `out <- -(precision matrix of the states) v`, of a tridiagonal matrix.
    fn precision_into(&self, v: impl Fn(usize) -> f64, out: &mut [f64]) {
        let (gap, phi) = (self.theta.log_gap().exp(), self.theta.phi());
        let precision = self.theta.variance().recip();
        let last = out.len() - 1;
        for (t, out) in out.iter_mut().enumerate() {
            let own = if t == 0 { gap * v(0) } else { v(t) - phi * v(t - 1) };
            let next = if t == last { 0.0 } else { phi * (v(t + 1) - phi * v(t)) };
            *out = precision * (next - own);
        }
    }
}

impl LogDensity for FxVolatility {
    fn dim(&self) -> usize {
        self.num_states()
    }

    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        self.returns.len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        self.weigh(z, borrow(&mut work, self.returns.len()))
    }
}

impl Gradient for FxVolatility {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let weights = borrow(&mut work, self.returns.len());
        let log_p = self.weigh(z, weights);
        self.precision_into(|t| z[t] - self.theta.mu, gradient);
        for ((gradient, square), weight) in gradient[1..].iter_mut().zip(&self.squares).zip(&*weights) {
            *gradient += 0.5 * (square * weight - 1.0);
        }
        log_p
    }
}

impl Curvature for FxVolatility {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        let weights = borrow(&mut work, self.returns.len());
        self.weigh(z, weights);
        self.precision_into(|t| v[t], out);
        for (((out, v), square), weight) in out[1..].iter_mut().zip(&v[1..]).zip(&self.squares).zip(&*weights)
        {
            *out -= 0.5 * square * weight * v;
        }
    }
}

impl Separable for FxVolatility {
    /// The returns.
    fn num_data(&self) -> usize {
        self.returns.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(self.prior(z), z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        let term = |&row: &usize| self.log_likelihood(row + 1, z[row + 1]);
        decided(rows.iter().map(term).fold(0.0, |sum, term| sum + term), z)
    }
}

impl Named for FxVolatility {
    fn constrain(&self, z: &[f64], out: &mut Vec<(Cow<'static, str>, f64)>) {
        out.extend(z.iter().enumerate().map(|(t, &z)| (Cow::from(format!("z[{t}]")), z)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::log_normal;
    use mcsa::Seed;

    fn model(phi: f64) -> FxVolatility {
        let theta = Theta { mu: -0.5, atanh_phi: phi.atanh(), log_sigma: -1.0, log_beta: 0.3 };
        FxVolatility::new(vec![0.3, -1.2, 0.0, 0.8], theta).unwrap()
    }

    /// The path's density is the product of the parts that a state-space kernel is given.
    #[test]
    fn the_density_is_the_product_of_its_parts() {
        let (model, z) = (model(0.9), [0.1, -0.4, 1.0, -2.0, 0.3]);
        let mut law = model.initial();
        let mut expected = 0.0;
        for (t, &z) in z.iter().enumerate() {
            expected += log_normal(z - law.0, law.1.sqrt()) + model.log_likelihood(t, z);
            law = model.transition(z);
        }
        assert!((model.log_density(&z, &mut [0.0; 4]) - expected).abs() < 1e-13);
        let (mean, variance) = (model.initial().0, model.initial().1);
        // Stationarity: one step leaves mean and variance as they are.
        let (phi, step) = (model.theta().phi(), model.transition(mean));
        assert!((step.0 - mean).abs() < 1e-15 && (phi * phi * variance + step.1 - variance).abs() < 1e-14);
    }

    #[test]
    fn the_gradient_in_theta_equals_differences() {
        for phi in [0.9, -0.4, 0.0] {
            let (mut model, z) = (model(phi), [0.1, -0.4, 1.0, -2.0, 0.3]);
            let theta = <[f64; 4]>::from(model.theta());
            let mut gradient = [1.0; 4];
            model.add_theta_gradient(&z, 2.0, &mut gradient);
            for k in 0..4 {
                let mut at = |t: f64| {
                    let mut moved = theta;
                    moved[k] += t;
                    model.set_theta(moved.into()).unwrap();
                    model.log_density(&z, &mut [0.0; 4])
                };
                let h = 1e-4;
                let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
                assert!((gradient[k] - 1.0 - 2.0 * slope).abs() < 1e-9, "{k}");
            }
        }
    }

    /// `E[d/dtheta log p(z, x; theta)] = 0` over simulations: each mean within 5 standard errors, false alarm 3e-6.
    #[test]
    fn simulations_are_those_of_the_density() {
        let theta = model(0.6).theta();
        let (mut z, mut stream, n) = (vec![0.0; 5], Seed::new(2).stream(0, 0), 20_000);
        let (mut sum, mut squares) = ([0.0; 4], [0.0; 4]);
        let mut model = FxVolatility::new(vec![0.0; 4], theta).unwrap();
        for _ in 0..n {
            let mut returns = vec![0.0; 4];
            model.simulate_into(&mut stream, &mut z, &mut returns);
            model = FxVolatility::new(returns, theta).unwrap();
            let mut gradient = [0.0; 4];
            model.add_theta_gradient(&z, 1.0, &mut gradient);
            for k in 0..4 {
                sum[k] += gradient[k];
                squares[k] += gradient[k] * gradient[k];
            }
        }
        for k in 0..4 {
            assert!(sum[k].abs() < 5.0 * squares[k].sqrt(), "{k}: {} {}", sum[k], squares[k].sqrt());
        }
    }

    #[test]
    fn bad_input_is_refused_with_its_place() {
        let error = FxVolatility::new(vec![0.0, f64::NAN], Theta::default()).unwrap_err().to_string();
        assert_eq!(error, "FxVolatility: returns[1] is NaN, expected a finite number");
    }
}
