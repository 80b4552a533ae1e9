//! Dual averaging of the step size.

use mcsa_core::{Error, bits};
use serde::{Deserialize, Serialize};

/// Dual averaging (Hoffman & Gelman 2014, section 3.2): adapts the log step size until the mean acceptance probability
/// equals its target.
///
/// ```text
/// h_t = (1 - 1/(t + t0)) h_(t-1) + (target - acceptance_t) / (t + t0)
/// log eps_t = mu - sqrt(t) h_t / gamma,    mu = log(10 eps_0)
/// log average_t = t^-kappa log eps_t + (1 - t^-kappa) log average_(t-1)
/// ```
///
/// The constants `gamma = 0.05`, `t0 = 10`, `kappa = 0.75` are those of the paper and of Stan. Fails where acceptance is
/// not a decreasing function of the step size: then the averaged step size is not meaningful.
///
/// ```
/// use mcsa_kernels::DualAveraging;
/// let averaging = DualAveraging::new(0.8)?;
/// let mut step_size = averaging.init(1.0);
/// for _ in 0..1000 {
///     let acceptance = (-step_size.current()).exp();
///     averaging.learn(&mut step_size, acceptance);
/// }
/// assert!((step_size.average() - -(0.8_f64.ln())).abs() < 0.01); // where exp(-eps) = 0.8
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct DualAveraging(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    target: f64,
}

const GAMMA: f64 = 0.05;
const T0: f64 = 10.0;
const KAPPA: f64 = 0.75;

/// State of the dual averaging of a step size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSize {
    count: u64,
    #[serde(with = "bits::scalar")]
    centre: f64,
    #[serde(with = "bits::scalar")]
    error: f64,
    #[serde(with = "bits::scalar")]
    log_current: f64,
    #[serde(with = "bits::scalar")]
    log_average: f64,
}

impl StepSize {
    /// The step size for the next warm-up step.
    pub fn current(&self) -> f64 {
        self.log_current.exp()
    }

    /// The final step size: a weighted average of those tried, in which later ones weigh more.
    pub fn average(&self) -> f64 {
        self.log_average.exp()
    }
}

impl TryFrom<Settings> for DualAveraging {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        if !(settings.target > 0.0 && settings.target < 1.0) {
            let expected = "between 0 and 1, both excluded";
            return Err(Error::parameter("target", settings.target, expected).within("DualAveraging"));
        }
        Ok(Self(settings))
    }
}

impl DualAveraging {
    /// Dual averaging towards the mean acceptance `target`: 0.8 for `Nuts` and `Hmc` (Stan), 0.574 for `Mala`, 0.234 for `Rwm`.
    ///
    /// # Errors
    /// If the target is not strictly between 0 and 1.
    pub fn new(target: f64) -> Result<Self, Error> {
        Self::try_from(Settings { target })
    }

    /// The target of the mean acceptance probability.
    pub fn target(&self) -> f64 {
        self.0.target
    }

    /// The initial state, from a guess of the step size.
    pub fn init(&self, step_size: f64) -> StepSize {
        let log = step_size.ln();
        StepSize { count: 0, centre: 10.0_f64.ln() + log, error: 0.0, log_current: log, log_average: log }
    }

    /// Updates the step size from the acceptance probability of a step with the current one. NaN counts as 0.
    pub fn learn(&self, state: &mut StepSize, acceptance: f64) {
        let acceptance = acceptance.clamp(0.0, 1.0).max(0.0); // `max` drops a NaN
        state.count += 1;
        let t = state.count as f64;
        let weight = 1.0 / (t + T0);
        state.error += weight * (self.0.target - acceptance - state.error);
        // Step sizes beyond e^+-300 are meaningless, and their powers would overflow.
        state.log_current = (state.centre - t.sqrt() / GAMMA * state.error).clamp(-300.0, 300.0);
        let share = t.powf(-KAPPA);
        state.log_average = share * state.log_current + (1.0 - share) * state.log_average;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let averaging = DualAveraging::new(0.8).unwrap();
        let mut state = averaging.init(0.5);
        averaging.learn(&mut state, 0.3);
        let h = 0.5 / 11.0;
        let first = 5.0_f64.ln() - h / 0.05;
        assert!((state.current().ln() - first).abs() < 1e-14);
        assert!((state.average().ln() - first).abs() < 1e-14);
        averaging.learn(&mut state, 1.0);
        let h = (1.0 - 1.0 / 12.0) * h - 0.2 / 12.0;
        let second = 5.0_f64.ln() - 2.0_f64.sqrt() * h / 0.05;
        let share = 2.0_f64.powf(-0.75);
        assert!((state.current().ln() - second).abs() < 1e-14);
        assert!((state.average().ln() - share * second - (1.0 - share) * first).abs() < 1e-14);
    }

    #[test]
    fn impossible_targets_are_refused_and_nan_is_no_acceptance() {
        for target in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(DualAveraging::new(target).is_err(), "{target}");
        }
        assert!(serde_json::from_str::<DualAveraging>(r#"{"target":2.0}"#).is_err());
        let averaging = DualAveraging::new(0.8).unwrap();
        let (mut a, mut b) = (averaging.init(1.0), averaging.init(1.0));
        averaging.learn(&mut a, f64::NAN);
        averaging.learn(&mut b, 0.0);
        assert_eq!(a, b);
        (0..10_000).for_each(|_| averaging.learn(&mut a, 0.0));
        assert!(a.current() > 0.0 && a.average() > 0.0);
    }
}
