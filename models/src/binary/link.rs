use std::fmt::Debug;

use mcsa_core::numeric;

use mcsa_numeric::design::GROUP;

/// Link function of a binary regression: a symmetric distribution function `F`; label `y` has probability `F((2 y - 1) f)`.
///
/// The methods work on margins `t = (2 y - 1) f` and overwrite them.
pub trait Link: Debug + Clone + Copy + Default + Send + Sync + 'static {
    /// Name of the regression model with this link, for error messages.
    const NAME: &'static str;

    /// `sum_i log F(t_i)`. The contents of `t` afterwards are unspecified.
    fn sum_log(t: &mut [f64]) -> f64;

    /// Adds to each entry of `out` the sum of `log F` over the first `rows` numbers of one column of `t`, bit-identical to
    /// [`sum_log`](Link::sum_log). A column is `stride` numbers of `t`.
    fn add_sums_log(t: &mut [f64], stride: usize, rows: usize, out: &mut [f64]);

    /// `sum_i log F(t_i)` over the first `rows` margins, bit-identical to [`sum_log`](Link::sum_log); the derivatives `(log
    /// F)'(t_i)` are written to `slopes`, whose entries beyond `rows` become finite numbers.
    fn sum_log_with_slopes(t: &mut [f64], slopes: &mut [f64], rows: usize) -> f64;

    /// `t_i <- (log F)''(t_i)`; `work` has the length of `t`.
    fn curvatures(t: &mut [f64], work: &mut [f64]);

    /// `t_i <- log F(t_i)`.
    fn logs(t: &mut [f64]);

    /// Log odds of label 1 when `f` is normal: the logit of `E[F(f)]`, or an approximation of it.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64;
}

/// Adds the sums of columns to `out`, a group of columns at a time.
fn add_groups(
    sums_of: fn(&[f64], usize, usize, &mut [f64]),
    t: &[f64],
    stride: usize,
    rows: usize,
    out: &mut [f64],
) {
    let mut sums = [0.0; GROUP];
    for (t, out) in t.chunks(GROUP * stride.max(1)).zip(out.chunks_mut(GROUP)) {
        let sums = &mut sums[..out.len()];
        sums_of(t, stride, rows, sums);
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out += *sum);
    }
}

/// Logistic link, `F(t) = 1 / (1 + e^-t)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logistic;

impl Link for Logistic {
    const NAME: &'static str = "LogisticRegression";

    fn sum_log(t: &mut [f64]) -> f64 {
        numeric::sum_log_sigmoid(t)
    }

    fn add_sums_log(t: &mut [f64], stride: usize, rows: usize, out: &mut [f64]) {
        add_groups(numeric::sums_log_sigmoid, t, stride, rows, out);
    }

    fn sum_log_with_slopes(t: &mut [f64], slopes: &mut [f64], rows: usize) -> f64 {
        let (slopes, padding) = slopes.split_at_mut(rows);
        padding.fill(0.0);
        numeric::sum_log_sigmoid_with_slopes(&t[..rows], slopes)
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

    /// `mean / sqrt(1 + pi variance / 8)` (MacKay 1992): the logistic function is replaced by the normal distribution function of
    /// equal slope at 0, whose expectation is known.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        mean / (1.0 + std::f64::consts::PI * variance / 8.0).sqrt()
    }
}

/// Probit link, `F(t) = Phi(t)`, the distribution function of the standard normal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Probit;

impl Link for Probit {
    const NAME: &'static str = "ProbitRegression";

    fn sum_log(t: &mut [f64]) -> f64 {
        numeric::sum_log_ndtr(t)
    }

    fn add_sums_log(t: &mut [f64], stride: usize, rows: usize, out: &mut [f64]) {
        add_groups(numeric::sums_log_ndtr, t, stride, rows, out);
    }

    fn sum_log_with_slopes(t: &mut [f64], slopes: &mut [f64], rows: usize) -> f64 {
        let (slopes, padding) = slopes.split_at_mut(rows);
        padding.fill(0.0);
        numeric::sum_log_ndtr_with_slopes(&t[..rows], slopes)
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

    /// Log odds of `P(1) = Phi(m)`, `m = mean / sqrt(1 + variance)`, exactly.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        let m = mean / (1.0 + variance).sqrt();
        numeric::scalar::log_ndtr(m) - numeric::scalar::log_ndtr(-m)
    }
}
