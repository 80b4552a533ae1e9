//! Kalman filter, Rauch-Tung-Striebel smoother and evidence of a linear-Gaussian model.

use super::LinearGaussian;
use mcsa_models::support::HALF_LOG_TAU;

/// Mean and variance of a normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

/// Smoothing distribution of a state, given all observations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothed {
    /// Mean and variance of the state.
    pub law: Moments,
    /// Covariance with the previous state; 0 for the first state.
    pub covariance: f64,
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

    /// Rauch-Tung-Striebel smoother (Rauch, Tung & Striebel 1965): the smoothing distributions `p(z_t, z_{t-1} | x)`:
    ///
    /// ```text
    /// J = phi P_t / P-_{t+1},   m_t|x = m_t + J (m_{t+1}|x - m-_{t+1}),   P_t|x = P_t + J^2 (P_{t+1}|x - P-_{t+1})
    /// Cov(z_{t+1}, z_t | x) = J P_{t+1}|x
    /// ```
    pub fn smoothed(&self) -> Vec<Smoothed> {
        let laws = self.filtered().0;
        let mut smoothed: Vec<_> = laws.iter().map(|&law| Smoothed { law, covariance: 0.0 }).collect();
        for t in (0..laws.len() - 1).rev() {
            let (before, next) = (self.predicted(t + 1, laws[t]), smoothed[t + 1].law);
            let gain = self.phi * laws[t].variance / before.variance;
            smoothed[t + 1].covariance = gain * next.variance;
            smoothed[t].law = Moments {
                mean: laws[t].mean + gain * (next.mean - before.mean),
                variance: laws[t].variance + gain * gain * (next.variance - before.variance),
            };
        }
        smoothed
    }

    /// Gradient of the log evidence in theta, by Fisher's identity with the exact smoother.
    pub fn evidence_gradient(&self) -> [f64; 3] {
        let smoothed = self.smoothed();
        let (mut crosses, mut squares, mut errors) = (0.0, 0.0, 0.0);
        let second = |law: Moments| law.variance + law.mean * law.mean;
        for pair in smoothed.windows(2) {
            let (old, new) = (second(pair[0].law), second(pair[1].law));
            let both = pair[1].covariance + pair[0].law.mean * pair[1].law.mean;
            crosses += both - self.phi * old;
            squares += new - 2.0 * self.phi * both + self.phi * self.phi * old;
        }
        for (x, state) in self.observations.iter().zip(&smoothed) {
            errors += (x - state.law.mean).powi(2) + state.law.variance;
        }
        let count = smoothed.len() as f64;
        [crosses / self.variance, squares / self.variance - (count - 1.0), errors / self.noise - count]
    }

    fn predicted(&self, t: usize, law: Moments) -> Moments {
        let (factor, variance) = self.step(t);
        Moments { mean: factor * law.mean, variance: factor * factor * law.variance + variance }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinearGaussianSeries;
    use super::*;
    use crate::StateSpace;
    use faer::linalg::solvers::{DenseSolveCore, Llt};
    use faer::{Mat, Side};
    use mcsa_models::Learnable;

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
            assert!((state.law.mean - mean[(t, 0)]).abs() < 1e-12);
            assert!((state.law.variance - covariance[(t, t)]).abs() < 1e-12);
            assert!(t == 0 || (state.covariance - covariance[(t, t - 1)]).abs() < 1e-12);
        }
        let last = model.filtered().0[n - 1];
        assert_eq!(last, model.smoothed()[n - 1].law);
    }

    #[test]
    fn the_evidence_gradient_equals_differences() {
        let series = series();
        let gradient = series.at(&THETA).evidence_gradient();
        for k in 0..3 {
            let at = |h: f64| {
                let mut theta = THETA;
                theta[k] += h;
                series.at(&theta).log_evidence()
            };
            let h = 1e-3;
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            assert!((gradient[k] - slope).abs() < 1e-8, "{k}");
        }
    }

    #[test]
    fn the_gradient_in_theta_equals_differences() {
        let (series, z) = (series(), [0.1, -0.4, 1.0, -2.0, 0.3]);
        let mut gradient = [1.0; 3];
        series.add_theta_gradients(&THETA, &[], mcsa_core::one(&z), &[2.0], &mut gradient, &mut []);
        for k in 0..3 {
            let at = |h: f64| {
                let mut theta = THETA;
                theta[k] += h;
                series.at(&theta).log_path(&z)
            };
            let h = 1e-3;
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            assert!((gradient[k] - 1.0 - 2.0 * slope).abs() < 1e-8, "{k}");
        }
    }
}
