//! How heavy the tail of importance weights is.

use super::{is_constant, largest};

/// The generalised Pareto distribution of excesses over a threshold.
///
/// ```text
/// P(X > x) = (1 + k x / sigma)^(-1/k),   exponential for k = 0
/// ```
/// Moments of order below `1 / k` exist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeneralisedPareto {
    /// k, the tail's shape: the larger, the heavier.
    pub shape: f64,
    /// sigma.
    pub scale: f64,
}

impl GeneralisedPareto {
    /// Fits positive excesses in ascending order by the profile-likelihood mean of Zhang & Stephens (2009).
    ///
    /// NaN for fewer than 5 values, values that are not positive and finite, or all equal.
    ///
    /// # Panics
    /// If the values do not ascend.
    pub fn fit(ascending: &[f64]) -> Self {
        assert!(!ascending.windows(2).any(|w| w[0] > w[1]), "excesses ascend");
        let n = ascending.len();
        let sound = n >= 5 && ascending.iter().all(|x| *x > 0.0 && x.is_finite());
        if !sound || is_constant(ascending) {
            return Self { shape: f64::NAN, scale: f64::NAN };
        }
        let quartile = ascending[((n as f64 / 4.0 + 0.5) as usize).max(1) - 1];
        let top = ascending[n - 1];
        let shape_at = |b: f64| ascending.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n as f64;
        let grid = 30 + (n as f64).sqrt() as usize;
        let node = |i: usize| {
            let along = 1.0 - (grid as f64 / (i as f64 + 0.5)).sqrt();
            let b = along / (3.0 * quartile) + 1.0 / top;
            let k = shape_at(b);
            (b, n as f64 * ((-b / k).ln() - k - 1.0))
        };
        let nodes: Vec<(f64, f64)> = (0..grid).map(node).filter(|(_, l)| l.is_finite()).collect();
        let best = nodes.iter().fold(f64::NEG_INFINITY, |best, (_, l)| best.max(*l));
        let total: f64 = nodes.iter().map(|(_, l)| (l - best).exp()).sum();
        let b = nodes.iter().map(|(b, l)| b * (l - best).exp()).sum::<f64>() / total;
        let shape = shape_at(b);
        Self { shape, scale: -shape / b }
    }

    /// The value that is exceeded with probability `1 - probability`.
    pub fn quantile(&self, probability: f64) -> f64 {
        let log = -(-probability).ln_1p();
        if self.shape == 0.0 {
            return self.scale * log;
        }
        self.scale * (self.shape * log).exp_m1() / self.shape
    }
}

/// Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao & Gabry 2024): the shape of the tail of the
/// weights, and weights in which the tail is replaced by quantiles of the fitted distribution.
///
/// ```text
/// M = min(S / 5, 3 sqrt(S)) largest weights,   excesses over the next one ~ GeneralisedPareto(k, sigma)
/// k-hat = (M k + 10 / 2) / (M + 10),   a prior worth ten draws around 1/2
/// ```
/// Weights have a mean if k < 1 and a variance if k < 1/2. Averages are to be trusted while k-hat is below the
/// [`shape_threshold`], which is the smaller, the fewer the draws. A small k-hat does not prove that q covers p: mass never drawn
/// from is not seen.
///
/// ```
/// use mcsa_theory::diagnostics::{Pareto, shape_threshold};
/// // The target is wider than the guide: log w = z^2 / 4 at quantiles of a normal.
/// use statrs::distribution::{ContinuousCDF, Normal};
/// let log_w: Vec<f64> =
///     (0..2000).map(|k| Normal::standard().inverse_cdf((k as f64 + 0.5) / 2000.0).powi(2) / 4.0).collect();
/// let pareto = Pareto::of(&log_w);
/// assert!((pareto.shape - 0.5).abs() < 0.15 && pareto.threshold == shape_threshold(2000));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pareto {
    /// k-hat; NaN if the weights do not tell: fewer than 25, NaN or `+inf` among them, or a tail of equal weights.
    pub shape: f64,
    /// The [`shape_threshold`] of so many weights.
    pub threshold: f64,
    /// The smoothed log weights in the order given, on the scale given, not normalised. Where k-hat is NaN they are as given.
    pub log_weights: Vec<f64>,
}

/// Draws that the prior on the shape is worth, and where it is.
const PRIOR: (f64, f64) = (10.0, 0.5);

impl Pareto {
    /// Of the log weights of independent draws.
    pub fn of(log_weights: &[f64]) -> Self {
        let count = log_weights.len();
        let mut pareto =
            Self { shape: f64::NAN, threshold: shape_threshold(count), log_weights: log_weights.to_vec() };
        let tail = (0.2 * count as f64).min(3.0 * (count as f64).sqrt()).ceil() as usize;
        let Some(top) = largest(log_weights).filter(|_| tail >= 5) else { return pareto };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| log_weights[*a].total_cmp(&log_weights[*b]));
        let (below, tail) = order.split_at(count - tail);
        // A tail that reaches down to weights of zero is cut at zero.
        let cut = below.last().map_or(0.0, |k| (log_weights[*k] - top).exp());
        // Weights equal to the cut are body, not tail: discrete targets have many.
        let tied = tail.iter().take_while(|k| (log_weights[**k] - top).exp() <= cut).count();
        let tail = &tail[tied..];
        let excess: Vec<f64> = tail.iter().map(|k| (log_weights[*k] - top).exp() - cut).collect();
        let fit = GeneralisedPareto::fit(&excess);
        let m = excess.len() as f64;
        let shape = (m * fit.shape + PRIOR.0 * PRIOR.1) / (m + PRIOR.0);
        if !shape.is_finite() {
            return pareto;
        }
        pareto.shape = shape;
        let regular = GeneralisedPareto { shape, scale: fit.scale };
        for (rank, k) in tail.iter().enumerate() {
            let smoothed = cut + regular.quantile((rank as f64 + 0.5) / m);
            // Never above the largest weight seen.
            pareto.log_weights[*k] = smoothed.ln().min(0.0) + top;
        }
        pareto
    }

    /// Whether averages with these weights are to be trusted; `false` where k-hat is NaN.
    pub fn is_reliable(&self) -> bool {
        self.shape < self.threshold
    }
}

/// The k-hat up to which so many draws suffice: `min(1 - 1 / log10(S), 0.7)` (Vehtari et al. 2024).
pub fn shape_threshold(draws: usize) -> f64 {
    (1.0 - 1.0 / (draws as f64).log10()).min(0.7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa::Seed;
    use statrs::distribution::{ContinuousCDF, Normal};

    /// Quantiles stand for 2000 exact draws. The estimate of the shape has a standard deviation of `(1 + k) / sqrt(n)`, and less
    /// here where chance is taken out: within two of these.
    #[test]
    fn the_shape_of_known_distributions_is_found() {
        let n = 2_000;
        for shape in [-0.3, 0.0, 0.4, 0.7, 1.2] {
            let truth = GeneralisedPareto { shape, scale: 2.5 };
            let values: Vec<f64> = (0..n).map(|i| truth.quantile((i as f64 + 0.5) / n as f64)).collect();
            let fit = GeneralisedPareto::fit(&values);
            let allowed = 2.0 * (1.0 + shape) / (n as f64).sqrt();
            assert!((fit.shape - shape).abs() < allowed, "{shape}: {fit:?}");
            assert!((fit.scale / 2.5 - 1.0).abs() < 0.1, "{shape}: {fit:?}");
            // The twin: squares have another tail.
            let squares: Vec<f64> = values.iter().map(|x| x * x).collect();
            assert!((GeneralisedPareto::fit(&squares).shape - shape).abs() > 0.2, "{shape}");
        }
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

    /// A target of variance r against a standard normal guide has weights of tail index `1 - 1/r`, approached slowly from
    /// below because of a logarithm in the tail.
    #[test]
    fn pairs_of_gaussians_have_their_tail_index() {
        for (ratio, low, high) in [(1.25, 0.1, 0.3), (2.0, 0.4, 0.55), (4.0, 0.65, 0.8), (10.0, 0.8, 0.95)] {
            let shape = Pareto::of(&gaussian_weights(ratio, 20_000)).shape;
            assert!((low..high).contains(&shape), "{ratio}: {shape}");
        }
        // A guide wider than the target has bounded weights.
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
        let good = gaussian_weights(2.0, 100);
        for bad in [f64::NAN, f64::INFINITY] {
            let mut broken = good.clone();
            broken[17] = bad;
            let pareto = Pareto::of(&broken);
            assert!(pareto.shape.is_nan() && !pareto.is_reliable());
        }
        for constant in [&[0.0; 100][..], &[f64::NEG_INFINITY; 100], &[1.0; 3], &[]] {
            assert!(Pareto::of(constant).shape.is_nan());
        }
        assert!(GeneralisedPareto::fit(&[0.0, 1.0, 2.0, 3.0, 4.0]).shape.is_nan());
        // Weights of zero are values like others.
        let mut some = good;
        some[..10].fill(f64::NEG_INFINITY);
        assert!(Pareto::of(&some).shape.is_finite());
    }
}
