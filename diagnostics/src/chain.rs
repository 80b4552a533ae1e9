//! Effective sample size, standard error and long-run variance of Markov chains.

use statrs::function::beta::beta_reg;

use crate::interval::upper_point;
use crate::values::{is_constant, length, moments};

/// Effective sample size (ESS) of one or several chains, for the mean (Geyer 1992; Vehtari et al. 2021).
///
/// ```text
/// rho_t = 1 - (W - mean acov_t) / V,   V = (n-1)/n W + var(chain means)
/// tau = -1 + 2 sum of P_k,   P_k = rho_{2k} + rho_{2k+1},   made monotone and cut where negative
/// ESS = m n / tau
/// ```
/// The sum is cut by Geyer's initial monotone sequence (Geyer 1992); `V` includes the variance between chains (Vehtari et al.
/// 2021). Unlike that paper, chains are not split here: pass half chains for the split form. `tau` is at least `1 / log10(m n)`, so
/// that anticorrelated chains give no arbitrarily large ESS.
///
/// NaN unless the chains have one length of at least 4, all values are finite, and their variance is a positive number. If one chain among several
/// never moved, its distance from the others enters `V`.
///
/// ```
/// use mcsa_diagnostics::effective_sample_size;
/// assert!(effective_sample_size(&[[1.0; 50]]).is_nan());
/// let slow: Vec<f64> = (0..100).map(|t| (t / 25) as f64).collect();
/// assert!(effective_sample_size(&[slow]) < 10.0);
/// ```
pub fn effective_sample_size<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let Some(spread) = Spread::of(chains) else { return f64::NAN };
    let n = chains[0].as_ref().len();
    let draws = (n * chains.len()) as f64;
    let rho = |lag: usize| {
        let covariance: f64 =
            chains.iter().zip(&spread.means).map(|(c, mean)| autocovariance(c.as_ref(), *mean, lag)).sum();
        1.0 - (spread.within - covariance / chains.len() as f64) / spread.overall
    };
    // The first autocorrelation is one by definition; with V, the formula above differs slightly from one at lag 0.
    let (mut previous, mut total) = (f64::INFINITY, 0.0);
    for k in 0..n / 2 {
        let even = if k == 0 { 1.0 } else { rho(2 * k) };
        let pair = (even + rho(2 * k + 1)).min(previous);
        if !(pair > 0.0) {
            break;
        }
        total += pair;
        previous = pair;
    }
    let tau = (2.0 * total - 1.0).max(1.0 / draws.log10());
    draws / tau
}

/// Standard error of the mean of one or several chains: `sqrt(V / ESS)`, with `V` and ESS as in [`effective_sample_size`].
///
/// NaN where the effective sample size is NaN.
pub fn standard_error<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let overall = Spread::of(chains).map_or(f64::NAN, |spread| spread.overall);
    (overall / effective_sample_size(chains)).sqrt()
}

/// Long-run variance of one chain by batch means (Glynn & Whitt 1991; Jones et al. 2006).
///
/// ```text
/// sigma^2 = lim n Var(mean of n) = sum over all lags of the autocovariance,   estimated by   b Var(means of batches of b)
/// ```
/// Batches must be longer than the correlation of the chain; with shorter ones the estimate is too small. Values that do not fill
/// the last batch are left out at the front, where a chain depends on its start.
///
/// NaN unless there are two batches, all values are finite, and not all are equal.
pub fn long_run_variance(chain: &[f64], batch: usize) -> f64 {
    let batches = chain.len().checked_div(batch).unwrap_or(0);
    if batches < 2 || is_constant(chain) || chain.iter().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    let used = &chain[chain.len() - batches * batch..];
    let mean = used.iter().sum::<f64>() / used.len() as f64;
    let off = |b: &[f64]| b.iter().sum::<f64>() / batch as f64 - mean;
    let square = used.chunks_exact(batch).map(|b| off(b).powi(2)).sum::<f64>();
    batch as f64 * square / (batches - 1) as f64
}

/// Limit for the ratio `long_run_variance(chain, batch) / long_run_variance(chain, 1)` of chains with `values` values each.
///
/// If all values are independent and normal, the largest ratio of `count` chains exceeds the limit with probability
/// `1 - confidence` or less. Chains that are correlated over more than one value exceed it more often.
///
/// ```text
/// ratio = (n - 1) / (f + g / x),    f = n/b - 1,    g = n - n/b
/// x = (squares between batches / f) / (squares within batches / g) ~ F(f, g)
/// ```
/// This is the analysis of variance of `n / b` batches, with `n` for `values` and `b` for `batch`. The limit is the ratio at the
/// upper `(1 - confidence) / count` quantile of the F distribution (Bonferroni).
///
/// NaN unless `0 < confidence < 1`, `count` is positive, and the values divide into two or more batches of two or more values.
pub fn batch_ratio_limit(confidence: f64, count: usize, values: usize, batch: usize) -> f64 {
    let is_split = batch >= 2 && values.is_multiple_of(batch) && values / batch >= 2;
    if !(0.0 < confidence && confidence < 1.0) || count == 0 || !is_split {
        return f64::NAN;
    }
    let between = (values / batch - 1) as f64;
    let within = (values - values / batch) as f64;
    let tail = (1.0 - confidence) / count as f64;
    // The fraction of the sum of squares between batches has a beta distribution.
    let share = upper_point(tail, |share| beta_reg(0.5 * within, 0.5 * between, 1.0 - share));
    share * (between + within) / between
}

/// Variances within and between chains.
struct Spread {
    means: Vec<f64>,
    /// W, the mean variance of a chain.
    within: f64,
    /// V, the estimate of the target's variance.
    overall: f64,
}

impl Spread {
    fn of<C: AsRef<[f64]>>(chains: &[C]) -> Option<Self> {
        let n = length(chains)?;
        let first = chains[0].as_ref()[0];
        if chains.iter().all(|c| c.as_ref().iter().all(|x| *x == first)) {
            return None;
        }
        let each: Vec<(f64, f64)> = chains.iter().map(|c| moments(c.as_ref())).collect();
        let means: Vec<f64> = each.iter().map(|(mean, _)| *mean).collect();
        let within = each.iter().map(|(_, variance)| variance).sum::<f64>() / chains.len() as f64;
        let between = if chains.len() > 1 { moments(&means).1 } else { 0.0 };
        let overall = within * (n as f64 - 1.0) / n as f64 + between;
        (overall > 0.0 && overall.is_finite()).then_some(Self { means, within, overall })
    }
}

/// `1/n sum_i (x_i - mean) (x_{i+lag} - mean)`.
fn autocovariance(chain: &[f64], mean: f64, lag: usize) -> f64 {
    let sum: f64 = chain.iter().zip(&chain[lag..]).map(|(x, y)| (x - mean) * (y - mean)).sum();
    sum / chain.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    fn autoregression(phi: f64, n: usize, lane: u64) -> Vec<f64> {
        let mut stream = Seed::new(3).stream(lane, 0);
        let mut x = stream.normal();
        let innovation = (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                x = phi * x + innovation * stream.normal();
                x
            })
            .collect()
    }

    /// 1, 2, 3, 4 by hand: mean 2.5, W = 5/3, V = 5/4; acov = 1.25, 0.3125, -0.375, -0.5625.
    /// `rho_1 = 1 - (5/3 - 0.3125) / 1.25`, so P_0 is negative and the floor 1 / log10(4) applies.
    #[test]
    fn a_short_chain_by_hand() {
        let chain = [1.0, 2.0, 3.0, 4.0];
        assert!((autocovariance(&chain, 2.5, 1) - 0.3125).abs() < 1e-15);
        let pair = 2.0 - (5.0 / 3.0 - 0.3125) / 1.25;
        let expected = 4.0 / (2.0 * pair - 1.0_f64).max(1.0 / 4.0_f64.log10());
        assert!((effective_sample_size(&[chain]) - expected).abs() < 1e-12);
        assert!((long_run_variance(&chain, 2) - 4.0).abs() < 1e-15, "batch means 1.5 and 3.5");
    }

    /// Tabulated: F(0.95; 7, 24) = 2.423, F(0.95; 3, 12) = 3.490, F(0.99; 3, 12) = 5.953.
    #[test]
    fn limits_of_batch_ratios_by_hand() {
        let by_hand = |n: f64, f: f64, g: f64, x: f64| (n - 1.0) / (f + g / x);
        for (count, n, expected) in [
            (1, 32, by_hand(32.0, 7.0, 24.0, 2.423)),
            (1, 16, by_hand(16.0, 3.0, 12.0, 3.490)),
            (5, 16, by_hand(16.0, 3.0, 12.0, 5.953)),
        ] {
            let found = batch_ratio_limit(0.95, count, n, 4);
            assert!((found - expected).abs() < 1e-3, "{count} {n}: {found} {expected}");
        }
        for (confidence, count, n, batch) in
            [(1.0, 1, 16, 4), (0.9, 0, 16, 4), (0.9, 1, 17, 4), (0.9, 1, 4, 4)]
        {
            assert!(batch_ratio_limit(confidence, count, n, batch).is_nan());
        }
    }

    /// The level is exact: 5 % of 10 000 chains of 16 independent values exceed the limit. 4.5 standard errors are allowed, a false
    /// alarm below 1e-5. Correlated chains must exceed it more often.
    #[test]
    fn limits_of_batch_ratios_have_their_level() {
        let limit = batch_ratio_limit(0.95, 1, 16, 4);
        let share = |phi: f64| {
            let ratio = |lane| {
                let chain = autoregression(phi, 16, lane);
                long_run_variance(&chain, 4) / long_run_variance(&chain, 1)
            };
            (0..10_000).filter(|lane| ratio(*lane) > limit).count() as f64 / 10_000.0
        };
        assert!((share(0.0) - 0.05).abs() < 4.5 * (0.05 * 0.95 / 10_000.0_f64).sqrt(), "{}", share(0.0));
        assert!(share(0.5) > 0.2, "{}", share(0.5));
    }

    /// An autoregression has `ESS / n = (1 - phi) / (1 + phi)`, and long-run variance the inverse. At 200 000 draws the
    /// estimates have a standard deviation below two per cent (four for 200 batches doubled); five of these are allowed.
    #[test]
    fn an_autoregression_has_its_closed_form() {
        let n = 200_000;
        for (lane, phi) in [(1, 0.0), (2, 0.5), (3, 0.9), (4, -0.4)] {
            let chain = autoregression(phi, n, lane);
            let share = effective_sample_size(&[&chain]) / n as f64;
            let exact = (1.0 - phi) / (1.0 + phi);
            assert!((share / exact - 1.0).abs() < 0.1, "{phi}: {share} {exact}");
            let variance = long_run_variance(&chain, 500);
            assert!((variance * exact - 1.0).abs() < 0.36, "{phi}: {variance}");
            let error = standard_error(&[&chain]);
            assert!((error * error * n as f64 * exact - 1.0).abs() < 0.1, "{phi}: {error}");
        }
        // Counter-check: an ESS that ignores the correlation is wrong by a factor of nineteen.
        let chain = autoregression(0.9, n, 3);
        assert!(long_run_variance(&chain, 500) / moments(&chain).1 > 12.0);
        assert!(long_run_variance(&chain, 1) / moments(&chain).1 < 1.1);
    }

    #[test]
    fn chains_that_disagree_are_worth_little() {
        let (a, mut b) = (autoregression(0.3, 1_000, 5), autoregression(0.3, 1_000, 6));
        let agree = effective_sample_size(&[&a, &b]);
        b.iter_mut().for_each(|x| *x += 4.0);
        let disagree = effective_sample_size(&[&a, &b]);
        assert!(agree > 700.0 && disagree < 10.0, "{agree} {disagree}");
    }

    #[test]
    fn chains_of_two_lengths_are_refused() {
        assert!(effective_sample_size(&[&[1.0, 2.0, 3.0, 5.0][..], &[1.0, 2.0]]).is_nan());
        assert!(effective_sample_size::<[f64; 4]>(&[]).is_nan());
        // A variance that leaves the range of doubles; counterexample: one that does not.
        let small = |scale: f64| effective_sample_size(&[[1.0, -2.0, 1.5, 0.5, -1.0].map(|x| scale * x)]);
        assert!(small(1e-170).is_nan() && small(1e-150) > 1.0);
        assert!(long_run_variance(&[1.0, 2.0], 0).is_nan());
    }
}
