//! Pareto-smoothed importance sampling (PSIS) and k-hat.

use mcsa_core::numeric;

use crate::values::{is_constant, largest};

/// Generalised Pareto distribution of excesses over a threshold.
///
/// ```text
/// P(X > x) = (1 + k x / sigma)^(-1/k),   exponential for k = 0
/// ```
/// Moments of order below `1 / k` exist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeneralisedPareto {
    /// The shape k of the tail: the larger, the heavier.
    pub shape: f64,
    /// The scale sigma.
    pub scale: f64,
}

impl GeneralisedPareto {
    /// Fits the distribution to positive excesses in ascending order, by the profile-likelihood mean of Zhang & Stephens (2009).
    ///
    /// Returns the distribution and the standard error of its shape. Both are NaN if there are fewer than 5 values, a value is
    /// not positive and finite, or all are equal.
    ///
    /// ```text
    /// error^2 = Var(k(b)) + k^2 / n,    b = -k / sigma under its profile likelihood, k(b) the best shape given b
    /// ```
    /// For draws from the distribution the error agrees within 5 % with the sampling deviation, for `n` of 95 or more and shapes
    /// from -0.3 to 1.5. The deviation tends to `(1 + k) / sqrt(n)`.
    pub fn fit(ascending: &[f64]) -> (Self, f64) {
        assert!(!ascending.windows(2).any(|w| w[0] > w[1]), "excesses ascend");
        let n = ascending.len();
        let sound = n >= 5 && ascending.iter().all(|x| *x > 0.0 && x.is_finite());
        if !sound || is_constant(ascending) {
            return (Self { shape: f64::NAN, scale: f64::NAN }, f64::NAN);
        }
        let quartile = ascending[((n as f64 / 4.0 + 0.5) as usize).max(1) - 1];
        let top = ascending[n - 1];
        let mut logs = vec![0.0; n];
        let mut shape_at = |b: f64| {
            logs.iter_mut().zip(ascending).for_each(|(log, x)| *log = -b * x);
            numeric::ln_1p(&mut logs);
            numeric::sum(&logs) / n as f64
        };
        let grid = 30 + (n as f64).sqrt() as usize;
        let mut node = |i: usize| {
            let along = 1.0 - (grid as f64 / (i as f64 + 0.5)).sqrt();
            let b = along / (3.0 * quartile) + 1.0 / top;
            let k = shape_at(b);
            (b, n as f64 * ((-b / k).ln() - k - 1.0), k)
        };
        let nodes: Vec<(f64, f64, f64)> =
            (0..grid).map(&mut node).filter(|(_, l, _)| l.is_finite()).collect();
        let best = nodes.iter().fold(f64::NEG_INFINITY, |best, (_, l, _)| best.max(*l));
        let total: f64 = nodes.iter().map(|(_, l, _)| (l - best).exp()).sum();
        let mean = |value: &dyn Fn(f64, f64) -> f64| {
            nodes.iter().map(|(b, l, k)| value(*b, *k) * (l - best).exp()).sum::<f64>() / total
        };
        let b = mean(&|b, _| b);
        let shape = shape_at(b);
        let centre = mean(&|_, k| k);
        let variance = mean(&|_, k| (k - centre) * (k - centre)) + shape * shape / n as f64;
        (Self { shape, scale: -shape / b }, variance.sqrt())
    }

    /// Quantile: the value that is exceeded with probability `1 - probability`.
    pub fn quantile(&self, probability: f64) -> f64 {
        let log = -(-probability).ln_1p();
        if self.shape == 0.0 {
            return self.scale * log;
        }
        self.scale * (self.shape * log).exp_m1() / self.shape
    }
}

/// Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao & Gabry 2024): k-hat, the shape of the weights' tail,
/// and weights whose tail is replaced by quantiles of the fitted distribution.
///
/// ```text
/// M = min(S / 5, 3 sqrt(S)) largest weights,   excesses over the next one ~ GeneralisedPareto(k, sigma)
/// k-hat = (M k + 10 / 2) / (M + 10),   a prior worth ten draws around 1/2
/// ```
/// If all weights of the tail are equal, the shape is `-inf`: as k decreases, the distribution tends to a point at its end
/// `sigma / |k|`. This is the case if q equals p, so that weights differ by rounding alone.
///
/// Weights have a mean if k < 1 and a variance if k < 1/2. Averages are reliable while k-hat is below the [`shape_threshold`],
/// which increases with the number of draws up to 0.7. A small k-hat does not prove that q covers p: mass of p without draws does
/// not enter k-hat.
///
/// k-hat is estimated from the [`tail`](Self::tail) largest weights, with a [`standard_error`](Self::standard_error) of about
/// `(1 + k) / sqrt(M)`: 0.17 at k = 0.7 from 1000 draws. The error describes the variation of k-hat between samples of one size.
/// It does not describe the change of k-hat with more draws, which reach farther into the tail. An example is a t with 5 degrees
/// of freedom in three dimensions, and a Gaussian q of equal variance. There k-hat is 0.15 from 1000 draws, 0.39 from 4000, 0.72
/// from 16 000 and 1.26 from 64 000, each with an error of 0.1 or less. So compare k-hat of a part of the draws with that of all.
///
/// ```
/// use mcsa_diagnostics::{Pareto, shape_threshold};
/// // The target is wider than the proposal: log w = z^2 / 4 at quantiles of a normal.
/// use statrs::distribution::{ContinuousCDF, Normal};
/// let log_w: Vec<f64> =
///     (0..2000).map(|k| Normal::standard().inverse_cdf((k as f64 + 0.5) / 2000.0).powi(2) / 4.0).collect();
/// let pareto = Pareto::of(&log_w);
/// assert!((pareto.shape - 0.5).abs() < 0.15 && pareto.threshold == shape_threshold(2000));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pareto {
    /// k-hat, or `-inf` if the weights of the tail are equal up to rounding. It is NaN if there are fewer than 21 weights, or one
    /// is NaN or `+inf`. It is also NaN if fewer than 5 exceed the weights below the tail, or if all that exceed them are equal.
    pub shape: f64,
    /// Standard error of the shape before the prior is applied, which shrinks k-hat towards 1/2 and reduces its variance; 0 where k-hat is
    /// `-inf`, NaN where it is NaN.
    pub standard_error: f64,
    /// M, the number of weights from which k-hat is estimated; 0 where it is NaN.
    pub tail: usize,
    /// The [`shape_threshold`] for the number of weights.
    pub threshold: f64,
    /// Smoothed log weights in the given order and scale, not normalised. Where k-hat is NaN, the given log weights.
    pub log_weights: Vec<f64>,
}

/// Weight of the prior on the shape, in draws, and its mean.
const PRIOR: (f64, f64) = (10.0, 0.5);
/// Largest difference of the log weights of a tail whose weights are equal: with log densities of a million their rounding is some `1e-9`.
const TIED: f64 = 1e-8;

impl Pareto {
    /// k-hat and smoothed weights from the log weights of independent draws.
    pub fn of(log_weights: &[f64]) -> Self {
        let count = log_weights.len();
        let mut pareto = Self {
            shape: f64::NAN,
            standard_error: f64::NAN,
            tail: 0,
            threshold: shape_threshold(count),
            log_weights: log_weights.to_vec(),
        };
        let tail = (0.2 * count as f64).min(3.0 * (count as f64).sqrt()).ceil() as usize;
        let Some(top) = largest(log_weights).filter(|_| tail >= 5) else { return pareto };
        let mut order: Vec<usize> = (0..count).collect();
        let ascending =
            |a: &usize, b: &usize| log_weights[*a].total_cmp(&log_weights[*b]).then_with(|| a.cmp(b));
        // The tail alone is sorted; before it stands the largest of the other weights. It is at most a fifth of the weights.
        let tail = tail.min(count - 1);
        let (_, below, tail) = order.select_nth_unstable_by(count - tail - 1, ascending);
        tail.sort_unstable_by(ascending);
        if tail.first().is_some_and(|least| top - log_weights[*least] <= TIED) {
            (pareto.shape, pareto.standard_error, pareto.tail) = (f64::NEG_INFINITY, 0.0, tail.len());
            return pareto;
        }
        // If the tail reaches weights of zero, the threshold is zero.
        let cut = (log_weights[*below] - top).exp();
        // Weights equal to the threshold do not belong to the tail: discrete targets have many.
        let tied = tail.iter().take_while(|k| (log_weights[**k] - top).exp() <= cut).count();
        let tail = &tail[tied..];
        if tail.first().is_some_and(|least| top - log_weights[*least] <= TIED) {
            (pareto.shape, pareto.standard_error, pareto.tail) = (f64::NEG_INFINITY, 0.0, tail.len());
            return pareto;
        }
        let excess: Vec<f64> = tail.iter().map(|k| (log_weights[*k] - top).exp() - cut).collect();
        let (fit, error) = GeneralisedPareto::fit(&excess);
        let m = excess.len() as f64;
        let shape = (m * fit.shape + PRIOR.0 * PRIOR.1) / (m + PRIOR.0);
        if !shape.is_finite() {
            return pareto;
        }
        (pareto.shape, pareto.standard_error, pareto.tail) = (shape, error, excess.len());
        let regular = GeneralisedPareto { shape, scale: fit.scale };
        for (rank, k) in tail.iter().enumerate() {
            let smoothed = cut + regular.quantile((rank as f64 + 0.5) / m);
            // At most the largest observed weight.
            pareto.log_weights[*k] = smoothed.ln().min(0.0) + top;
        }
        pareto
    }

    /// Interval of k-hat minus and plus 1.645 standard errors. The true shape lies below it with probability about 1/20, and
    /// above it with probability about 1/20.
    pub fn interval(&self) -> (f64, f64) {
        (self.shape - 1.645 * self.standard_error, self.shape + 1.645 * self.standard_error)
    }

    /// True if averages with these weights are reliable, k-hat being below the threshold; `false` where k-hat is NaN.
    pub fn is_reliable(&self) -> bool {
        self.shape < self.threshold
    }
}

/// Largest reliable k-hat for this number of draws: `min(1 - 1 / log10(S), 0.7)` (Vehtari et al. 2024).
pub fn shape_threshold(draws: usize) -> f64 {
    (1.0 - 1.0 / (draws as f64).log10()).min(0.7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use statrs::distribution::{ContinuousCDF, Normal};

    /// 2000 quantiles replace draws. The estimate of the shape has a standard deviation of `(1 + k) / sqrt(n)`, and less
    /// here without randomness: within two of these.
    #[test]
    fn the_shape_of_known_distributions_is_found() {
        let n = 2_000;
        for shape in [-0.3, 0.0, 0.4, 0.7, 1.2] {
            let truth = GeneralisedPareto { shape, scale: 2.5 };
            let values: Vec<f64> = (0..n).map(|i| truth.quantile((i as f64 + 0.5) / n as f64)).collect();
            let (fit, _) = GeneralisedPareto::fit(&values);
            let allowed = 2.0 * (1.0 + shape) / (n as f64).sqrt();
            assert!((fit.shape - shape).abs() < allowed, "{shape}: {fit:?}");
            assert!((fit.scale / 2.5 - 1.0).abs() < 0.1, "{shape}: {fit:?}");
            // Counter-check: squared values have another tail.
            let squares: Vec<f64> = values.iter().map(|x| x * x).collect();
            assert!((GeneralisedPareto::fit(&squares).0.shape - shape).abs() > 0.2, "{shape}");
        }
    }

    /// 1000 fits to 95 draws each, the size of the tail of 1000 draws: the stated error is the deviation of the fitted
    /// shapes within 10 % (the deviation itself is known within 2.3 %, four of which are allowed), and in about one fit of twenty
    /// the shape is above the interval's upper end. An error without the term `k^2 / n` must be too small at k = 1.
    #[test]
    fn errors_are_sampling_deviations() {
        let (n, fits) = (95, 1_000);
        for (lane, shape) in [(1, 0.0), (2, 0.4), (3, 0.7), (4, 1.0)] {
            let (truth, mut stream) = (GeneralisedPareto { shape, scale: 1.0 }, Seed::new(4).stream(lane, 0));
            let (mut shapes, mut errors, mut above) = (Vec::new(), 0.0, 0);
            for _ in 0..fits {
                let mut values: Vec<f64> = (0..n).map(|_| truth.quantile(stream.uniform())).collect();
                values.sort_by(f64::total_cmp);
                let (fit, error) = GeneralisedPareto::fit(&values);
                shapes.push(fit.shape);
                errors += error / f64::from(fits);
                above += u32::from(shape > fit.shape + 1.645 * error);
            }
            let deviation = crate::values::moments(&shapes).1.sqrt();
            assert!((errors / deviation - 1.0).abs() < 0.1, "{shape}: {errors} {deviation}");
            // At a rate of 0.08 more than 120 of 1000 have a probability of 1e-5.
            assert!((20..120).contains(&above), "{shape}: {above}");
            let without = (errors * errors - shape * shape / f64::from(n)).sqrt();
            assert!(shape < 1.0 || without / deviation < 0.9, "{without} {deviation}");
        }
    }

    /// A Gaussian proposal against a t with 5 degrees of freedom of equal variance, in three dimensions: more draws reach farther into
    /// the tail and give a larger k-hat, by many standard errors.
    #[test]
    fn more_draws_may_say_more_than_the_error() {
        let mut stream = Seed::new(6).stream(0, 0);
        let log_w: Vec<f64> = (0..16_000)
            .map(|_| {
                let square: f64 = (0..3).map(|_| stream.normal().powi(2)).sum();
                0.5 * square - 4.0 * (square / 3.0).ln_1p()
            })
            .collect();
        let (few, many) = (Pareto::of(&log_w[..1_000]), Pareto::of(&log_w));
        assert_eq!((few.tail, many.tail), (95, 380));
        let said = [few.interval(), many.interval()];
        assert!(said[0].1 < few.threshold && said[1].1 > many.threshold, "{said:?}");
        assert!(many.shape - few.shape > 3.0 * few.standard_error);
    }

    #[test]
    fn quantiles_invert_the_tail() {
        let pareto = GeneralisedPareto { shape: 0.5, scale: 2.0 };
        // P(X > 12) = (1 + 0.5 * 12 / 2)^-2 = 1/16.
        assert!((pareto.quantile(15.0 / 16.0) - 12.0).abs() < 1e-12);
        let exponential = GeneralisedPareto { shape: 0.0, scale: 2.0 };
        assert!((exponential.quantile(0.5) - 2.0 * std::f64::consts::LN_2).abs() < 1e-15);
    }

    fn gaussian_weights(ratio: f64, count: usize) -> Vec<f64> {
        // q = N(0, 1), p = N(0, ratio): log w = z^2 (1 - 1 / ratio) / 2, with tail index 1 - 1 / ratio.
        let normal = Normal::standard();
        let z = |i: usize| normal.inverse_cdf((i as f64 + 0.5) / count as f64);
        (0..count).map(|i| 0.5 * z(i) * z(i) * (1.0 - 1.0 / ratio)).collect()
    }

    /// A target of variance r with a standard normal proposal has weights of tail index `1 - 1/r`, approached slowly from
    /// below because of a logarithm in the tail.
    #[test]
    fn pairs_of_gaussians_have_their_tail_index() {
        for (ratio, low, high) in [(1.25, 0.1, 0.3), (2.0, 0.4, 0.55), (4.0, 0.65, 0.8), (10.0, 0.8, 0.95)] {
            let shape = Pareto::of(&gaussian_weights(ratio, 20_000)).shape;
            assert!((low..high).contains(&shape), "{ratio}: {shape}");
        }
        // A proposal wider than the target has bounded weights.
        let pareto = Pareto::of(&gaussian_weights(0.5, 20_000));
        assert!(pareto.shape < 0.0 && pareto.is_reliable(), "{}", pareto.shape);
        assert!(!Pareto::of(&gaussian_weights(10.0, 20_000)).is_reliable());
    }

    #[test]
    fn smoothing_keeps_the_order_the_body_and_the_top() {
        let mut stream = Seed::new(2).stream(0, 0);
        let log_w: Vec<f64> = (0..1_000).map(|_| 700.0 + 1.5 * stream.normal()).collect();
        let pareto = Pareto::of(&log_w);
        let mut order: Vec<usize> = (0..1_000).collect();
        order.sort_by(|a, b| log_w[*a].total_cmp(&log_w[*b]));
        let tail = (3.0 * 1_000.0_f64.sqrt()).ceil() as usize;
        for pair in order.windows(2) {
            assert!(pareto.log_weights[pair[0]] <= pareto.log_weights[pair[1]]);
        }
        for k in &order[..1_000 - tail] {
            assert_eq!(pareto.log_weights[*k], log_w[*k]);
        }
        let top = log_w.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        assert!(pareto.log_weights.iter().all(|w| *w <= top));
        assert!(pareto.log_weights.iter().zip(&log_w).any(|(a, b)| a != b));
    }

    #[test]
    fn fewer_draws_are_trusted_less() {
        assert_eq!(shape_threshold(100), 0.5);
        assert_eq!(shape_threshold(100_000), 0.7);
        assert!((shape_threshold(1_000) - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn what_says_nothing_is_nan() {
        for none in [&[f64::NAN; 100][..], &[1.0; 3]] {
            let pareto = Pareto::of(none);
            assert!(pareto.shape.is_nan() && !pareto.is_reliable());
            assert!(pareto.standard_error.is_nan() && pareto.tail == 0);
        }
        assert!(GeneralisedPareto::fit(&[0.0, 1.0, 2.0, 3.0, 4.0]).0.shape.is_nan());
        // Weights of zero are valid values.
        let mut some = gaussian_weights(2.0, 100);
        some[..10].fill(f64::NEG_INFINITY);
        assert!(Pareto::of(&some).shape.is_finite());
    }

    /// Equal weights, also if their log densities differ by rounding, and plateaus that hold the tail, or all of it above its threshold.
    #[test]
    fn a_tied_tail_is_the_lightest() {
        let mut stream = Seed::new(3).stream(0, 0);
        let rounded: Vec<f64> =
            (0..4_000).map(|_| -280.0 + 5e-14 * (4.0 * stream.normal()).round()).collect();
        let plateau: Vec<f64> = (0..1_000).map(|i| if i % 4 == 0 { 0.0 } else { -3.0 }).collect();
        // Two values, of which the larger has fewer draws than the tail has places.
        let few: Vec<f64> = (0..1_000).map(|i| if i % 50 == 0 { 0.0 } else { -3.0 }).collect();
        for tied in [&rounded[..], &plateau, &few, &[-7.0; 100]] {
            let pareto = Pareto::of(tied);
            assert!(pareto.shape == f64::NEG_INFINITY && pareto.is_reliable(), "{}", pareto.shape);
            assert!(pareto.standard_error == 0.0 && pareto.log_weights == tied);
            assert_eq!(pareto.interval(), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        }
        // Counterexamples: the same noise a million times as large, and plateaus smaller than the tail.
        let noise: Vec<f64> = rounded.iter().map(|w| 1e6 * (w + 280.0)).collect();
        let every = |k: usize| -> Vec<f64> {
            (0..1_000).map(|i| if i % k == 0 { 0.0 } else { -3.0 - 1e-3 * i as f64 }).collect()
        };
        for other in [noise, every(20), every(250)] {
            assert!(Pareto::of(&other).shape.is_finite());
        }
    }
}
