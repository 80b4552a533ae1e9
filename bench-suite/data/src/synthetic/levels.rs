//! Synthetic data of the shape of a stock index: daily levels with a stochastic volatility.

use mcsa_core::Seed;

/// Level before the first day.
const START: f64 = 1500.0;
/// Mean of a log return, and its standard deviation at the mean volatility.
const DRIFT: f64 = 2e-4;
const SCALE: f64 = 0.01;
/// Persistence of the log variance, and the standard deviation of its steps.
const PERSISTENCE: f64 = 0.98;
const STEP: f64 = 0.2;

/// Levels `l_1, .., l_days` of a model of stochastic volatility.
///
/// ```text
/// h_t = 0.98 h_{t-1} + 0.2 eta_t,   log l_t = log l_{t-1} + 2e-4 + 0.01 exp(h_t / 2) eps_t
/// ```
pub(super) fn draw(days: usize, root: Seed) -> Vec<f64> {
    let (mut level, mut log_variance) = (START, 0.0);
    let day = |day| {
        let mut stream = root.stream(0, day);
        log_variance = PERSISTENCE * log_variance + STEP * stream.normal();
        level *= (DRIFT + SCALE * (0.5 * log_variance).exp() * stream.normal()).exp();
        level
    };
    (0..days as u64).map(day).collect()
}
