use std::fmt::Debug;

use mcsa::numeric;

/// A symmetric distribution function `F`: a label `y` with `s = 2 y - 1` has probability `F(s f)`.
///
/// The methods work on margins `t = s f` and overwrite them.
pub trait Link: Debug + Clone + Copy + Default + Send + Sync + 'static {
    /// The name of a regression with this link, for errors.
    const NAME: &'static str;

    /// `sum_i log F(t_i)`. What is left in `t` is unspecified.
    fn sum_log(t: &mut [f64]) -> f64;

    /// `sum_i log F(t_i)` over the first `rows`, to the same bits, and all `(log F)'(t_i)` in `slopes`.
    fn sum_log_with_slopes(t: &mut [f64], slopes: &mut [f64], rows: usize) -> f64;

    /// `t_i <- (log F)''(t_i)`, with a memory of the same length.
    fn curvatures(t: &mut [f64], work: &mut [f64]);

    /// `t_i <- log F(t_i)`.
    fn logs(t: &mut [f64]);

    /// The log odds of label 1 when `f` is normal: `mean` comes in and goes out.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64;
}

/// `F(t) = 1 / (1 + e^-t)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logistic;

impl Link for Logistic {
    const NAME: &'static str = "LogisticRegression";

    fn sum_log(t: &mut [f64]) -> f64 {
        numeric::sum_log_sigmoid(t)
    }

    fn sum_log_with_slopes(t: &mut [f64], slopes: &mut [f64], rows: usize) -> f64 {
        for (slope, t) in slopes.iter_mut().zip(&*t) {
            *slope = -t;
        }
        numeric::sigmoid(slopes);
        numeric::sum_log_sigmoid(&t[..rows])
    }

    fn curvatures(t: &mut [f64], work: &mut [f64]) {
        numeric::sigmoid_into(t, work);
        for (t, s) in t.iter_mut().zip(work) {
            *t = -*s * (1.0 - *s);
        }
    }

    fn logs(t: &mut [f64]) {
        numeric::log_sigmoid(t);
    }

    /// `mean / sqrt(1 + pi variance / 8)`: the logistic function is taken for the normal distribution function of
    /// the same slope at 0 (MacKay 1992), whose mean is known.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        mean / (1.0 + std::f64::consts::PI * variance / 8.0).sqrt()
    }
}

/// `F(t) = Phi(t)`, the distribution function of the standard normal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Probit;

impl Link for Probit {
    const NAME: &'static str = "ProbitRegression";

    fn sum_log(t: &mut [f64]) -> f64 {
        numeric::log_ndtr(t);
        numeric::sum(t)
    }

    fn sum_log_with_slopes(t: &mut [f64], slopes: &mut [f64], rows: usize) -> f64 {
        numeric::log_ndtr_with_hazard(t, slopes);
        numeric::sum(&t[..rows])
    }

    fn curvatures(t: &mut [f64], work: &mut [f64]) {
        numeric::ndtr_hazard_into(t, work);
        for (t, h) in t.iter_mut().zip(work) {
            // Far left the hazard is -t + 1/|t| - .. and the product is 1 - 1/t^2: the sum has no digit left.
            *t = if *t < -1e5 { -1.0 } else { -*h * (*h + *t) };
        }
    }

    fn logs(t: &mut [f64]) {
        numeric::log_ndtr(t);
    }

    /// `P(1) = Phi(m)`, `m = mean / sqrt(1 + variance)`, exactly.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        let m = mean / (1.0 + variance).sqrt();
        numeric::scalar::log_ndtr(m) - numeric::scalar::log_ndtr(-m)
    }
}
