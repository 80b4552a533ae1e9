//! Linear-Gaussian state-space model in one dimension, with its filter (Kalman), smoother (Rauch-Tung-Striebel) and evidence.

use faer::MatRef;
use mcsa_core::{Columns, Error, LogDensity, Stream, all_finite};
use mcsa_models::Learnable;
use mcsa_models::support::{HALF_LOG_TAU, decided};

use crate::{GaussianDynamics, StateSpace};

/// Observations `x_0 .. x_{T-1}` of a linear-Gaussian state-space model with learnable parameters
/// `theta = (phi, log sigma, log tau)`: see [`LinearGaussian`]. `phi` may be any number, because the first state has a
/// distribution of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearGaussianSeries {
    observations: Vec<f64>,
}

impl LinearGaussianSeries {
    /// A series of observations, one per state.
    ///
    /// # Errors
    /// If there is no observation, or one is not finite.
    pub fn new(observations: Vec<f64>) -> Result<Self, Error> {
        if observations.is_empty() {
            return Err(Error::invalid("a path needs an observation").within("LinearGaussianSeries"));
        }
        all_finite("observations", &observations).map_err(|error| error.within("LinearGaussianSeries"))?;
        Ok(Self { observations })
    }

    /// Replaces the observations by draws from the model at these parameters.
    pub fn simulate(&mut self, [phi, log_sigma, log_tau]: [f64; 3], stream: &mut Stream) {
        let mut z = 0.0;
        for (t, x) in self.observations.iter_mut().enumerate() {
            z = if t == 0 { stream.normal() } else { phi * z + log_sigma.exp() * stream.normal() };
            *x = z + log_tau.exp() * stream.normal();
        }
    }
}

/// Linear-Gaussian state-space model at fixed parameters. Filter, smoother and evidence are exact, so particle methods can be
/// tested on it.
///
/// ```text
/// z_0 ~ N(0, 1),   z_t ~ N(phi z_{t-1}, sigma^2),   x_t ~ N(z_t, tau^2)
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearGaussian<'a> {
    observations: &'a [f64],
    phi: f64,
    /// Variance of the innovations.
    variance: f64,
    /// Variance of the observation noise.
    noise: f64,
}

impl LinearGaussian<'_> {
    /// Factor on the previous state, and variance, of the transition to `t`.
    fn step(&self, t: usize) -> (f64, f64) {
        if t == 0 { (0.0, 1.0) } else { (self.phi, self.variance) }
    }

    /// Mean of `z_t` given the state of particle i at `t - 1`.
    fn mean(&self, t: usize, previous: &[f64], i: usize) -> f64 {
        if t == 0 { 0.0 } else { self.phi * previous[i] }
    }
}

impl LogDensity for LinearGaussian<'_> {
    fn dim(&self) -> usize {
        self.observations.len()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(self.log_path(z), z)
    }
}

impl StateSpace for LinearGaussian<'_> {
    fn num_states(&self) -> usize {
        self.observations.len()
    }

    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        let scale = self.step(t).1.sqrt();
        stream.normals_into(z);
        for (i, z) in z.iter_mut().enumerate() {
            *z = scale * *z + self.mean(t, previous, i);
        }
    }

    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        let variance = self.step(t).1;
        let peak = -0.5 * variance.ln() - HALF_LOG_TAU;
        assert_eq!(z.len(), out.len(), "a density per state");
        for (i, (out, z)) in out.iter_mut().zip(z).enumerate() {
            let gap = z - self.mean(t, previous, i);
            *out = peak - 0.5 * gap * gap / variance;
        }
    }

    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        let (x, peak) = (self.observations[t], -0.5 * self.noise.ln() - HALF_LOG_TAU);
        for (out, z) in out.iter_mut().zip(z) {
            *out = peak - 0.5 * (x - z) * (x - z) / self.noise;
        }
    }
}

impl GaussianDynamics for LinearGaussian<'_> {
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64 {
        means.iter_mut().enumerate().for_each(|(i, mean)| *mean = self.mean(t, previous, i));
        self.step(t).1
    }
}

impl Learnable for LinearGaussianSeries {
    type At<'a> = LinearGaussian<'a>;

    fn num_thetas(&self) -> usize {
        3
    }

    fn at<'a>(&'a self, theta: &'a [f64]) -> LinearGaussian<'a> {
        let [phi, log_sigma, log_tau] = *theta else { panic!("three parameters") };
        let [variance, noise] = [log_sigma, log_tau].map(|log_scale| (2.0 * log_scale).exp());
        LinearGaussian { observations: &self.observations, phi, variance, noise }
    }

    fn anywhere(&self) -> LinearGaussian<'_> {
        self.at(&[0.0; 3])
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
        let at = self.at(theta);
        for (j, weight) in weights.iter().enumerate() {
            let z = z.column(j);
            let (mut crosses, mut squares, mut errors) = (0.0, 0.0, 0.0);
            for pair in z.windows(2) {
                let gap = pair[1] - at.phi * pair[0];
                crosses += gap * pair[0];
                squares += gap * gap;
            }
            for (x, z) in self.observations.iter().zip(z) {
                errors += (x - z) * (x - z);
            }
            gradient[0] += weight * crosses / at.variance;
            gradient[1] += weight * (squares / at.variance - (z.len() - 1) as f64);
            gradient[2] += weight * (errors / at.noise - z.len() as f64);
        }
    }
}

/// Mean and variance of a normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

impl LinearGaussian<'_> {
    /// Kalman filter (Kalman 1960): the filtering distributions `p(z_t | x_0 .. x_t)` and the log evidence:
    ///
    /// ```text
    /// m- = phi m,   P- = phi^2 P + sigma^2,   S = P- + tau^2,   m = m- + (P- / S) (x - m-),   P = P- tau^2 / S
    /// log Z = sum_t log N(x_t; m-, S)
    /// ```
    pub fn filtered(&self) -> (Vec<Moments>, f64) {
        let (mut law, mut log_evidence) = (Moments { mean: 0.0, variance: 0.0 }, 0.0);
        let laws = self.observations.iter().enumerate().map(|(t, x)| {
            let before = self.predicted(t, law);
            let total = before.variance + self.noise;
            let surprise = x - before.mean;
            log_evidence -= 0.5 * (total.ln() + surprise * surprise / total) + HALF_LOG_TAU;
            let mean = before.mean + before.variance / total * surprise;
            law = Moments { mean, variance: before.variance * self.noise / total };
            law
        });
        (laws.collect(), log_evidence)
    }

    /// Log evidence of the observations.
    pub fn log_evidence(&self) -> f64 {
        self.filtered().1
    }

    /// Rauch-Tung-Striebel smoother (Rauch, Tung & Striebel 1965): the smoothing distributions `p(z_t | x)`:
    ///
    /// ```text
    /// J = phi P_t / P-_{t+1},   m_t|x = m_t + J (m_{t+1}|x - m-_{t+1}),   P_t|x = P_t + J^2 (P_{t+1}|x - P-_{t+1})
    /// ```
    pub fn smoothed(&self) -> Vec<Moments> {
        let mut laws = self.filtered().0;
        for t in (0..laws.len() - 1).rev() {
            let (law, before, next) = (laws[t], self.predicted(t + 1, laws[t]), laws[t + 1]);
            let gain = self.phi * law.variance / before.variance;
            laws[t] = Moments {
                mean: law.mean + gain * (next.mean - before.mean),
                variance: law.variance + gain * gain * (next.variance - before.variance),
            };
        }
        laws
    }

    fn predicted(&self, t: usize, law: Moments) -> Moments {
        let (factor, variance) = self.step(t);
        Moments { mean: factor * law.mean, variance: factor * factor * law.variance + variance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::linalg::solvers::{DenseSolveCore, Llt};
    use faer::{Mat, Side};

    const THETA: [f64; 3] = [0.8, -0.4, 0.2];

    fn series() -> LinearGaussianSeries {
        LinearGaussianSeries::new(vec![0.3, -1.2, 2.0, 0.7, 0.1]).unwrap()
    }

    /// The posterior is Gaussian: smoother and evidence agree with one dense factorisation of the joint density.
    #[test]
    fn filter_and_smoother_equal_dense_algebra() {
        let series = series();
        let model = series.at(&THETA);
        let n = model.num_states();
        let at = |points: &[(usize, f64)]| {
            let mut z = vec![0.0; n];
            points.iter().for_each(|&(t, value)| z[t] += value);
            model.log_path(&z)
        };
        // The quadratic form from its values at 0, at unit vectors, and at their sums.
        let origin = at(&[]);
        let slope = |t| 0.5 * (at(&[(t, 1.0)]) - at(&[(t, -1.0)]));
        let precision = Mat::from_fn(n, n, |s, t| {
            -(at(&[(s, 1.0), (t, 1.0)]) - at(&[(s, 1.0)]) - at(&[(t, 1.0)]) + origin)
        });
        let factor = Llt::new(precision.as_ref(), Side::Lower).unwrap();
        let covariance = factor.inverse();
        let linear = Mat::from_fn(n, 1, |t, _| slope(t));
        let mean = &covariance * &linear;
        let half_log_det: f64 = (0..n).map(|t| factor.L()[(t, t)].ln()).sum();
        let log_evidence =
            origin + 0.5 * (linear.transpose() * &mean)[(0, 0)] - half_log_det + n as f64 * HALF_LOG_TAU;
        assert!((model.log_evidence() - log_evidence).abs() < 1e-12);
        for (t, state) in model.smoothed().iter().enumerate() {
            assert!((state.mean - mean[(t, 0)]).abs() < 1e-12);
            assert!((state.variance - covariance[(t, t)]).abs() < 1e-12);
        }
        let last = model.filtered().0[n - 1];
        assert_eq!(last, model.smoothed()[n - 1]);
    }
}
