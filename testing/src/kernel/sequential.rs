//! Sequential testing in stages with a fixed false-alarm probability.

use mcsa_core::Error;

use crate::{Check, Measured};

/// Smallest of several p-values.
#[derive(Debug, Clone, PartialEq)]
pub struct Smallest {
    /// The p-value, not corrected for the number of tests.
    pub p_value: f64,
    /// Number of p-values.
    pub tests: usize,
    /// Name of the smallest p-value.
    pub place: String,
}

impl Smallest {
    /// The smallest of named p-values; NaN counts as 0, so that a broken statistic raises an alarm.
    pub fn of(values: impl Iterator<Item = (f64, String)>) -> Self {
        let none = Self { p_value: 1.0, tests: 0, place: String::new() };
        values.fold(none, |least, (p_value, place)| {
            let p_value = if p_value.is_nan() { 0.0 } else { p_value };
            let tests = least.tests + 1;
            if p_value < least.p_value { Self { p_value, tests, place } } else { Self { tests, ..least } }
        })
    }
}

/// Sequential test: a test repeated in stages while its result is unclear (Gandy and Scott 2020, Alg. 3).
///
/// ```text
/// beta = level / k,  gamma = beta^(1/k);  at each stage p = Bonferroni's p-value of fresh draws:
/// p <= beta: alarm.  p > beta + gamma: no alarm.  Else beta /= gamma, and once more.
/// ```
/// The false-alarm probability is at most `level` for any number of stages, because stage `i` is reached with
/// probability at most `gamma^(i-1)`; the draws of the stages must be independent. From the second stage on
/// the number of draws is multiplied by `growth`.
///
/// ```
/// use mcsa_testing::{Sequential, Smallest};
/// let fair = Sequential::at(1e-4).run("fair coin", 100, |_, _| {
///     Ok(Smallest { p_value: 0.6, tests: 1, place: String::new() })
/// });
/// assert!(fair.holds());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sequential {
    /// Total false-alarm probability.
    pub level: f64,
    /// Largest number of stages `k`; 7 in the paper.
    pub stages: u32,
    /// Factor of the number of draws after the first stage; 4 in the paper.
    pub growth: usize,
}

impl Sequential {
    /// A sequential test of seven stages, with four times the draws after the first.
    pub fn at(level: f64) -> Self {
        Self { level, stages: 7, growth: 4 }
    }

    /// Runs `test(stage, draws)` until the result is clear or the stages are used up.
    pub fn run(
        &self,
        law: &'static str,
        draws: usize,
        mut test: impl FnMut(u32, usize) -> Result<Smallest, Error>,
    ) -> Check {
        let mut beta = self.level / f64::from(self.stages);
        let gamma = beta.powf(1.0 / f64::from(self.stages));
        let mut stage = 0;
        loop {
            let draws = if stage == 0 { draws } else { draws * self.growth };
            let found = match test(stage, draws) {
                Ok(found) => found,
                Err(error) => return Check::refused(law, error),
            };
            let p_value = (found.p_value * found.tests as f64).min(1.0);
            stage += 1;
            let doubtful = beta < p_value && p_value <= beta + gamma;
            if !doubtful || stage >= self.stages {
                let measured = Measured::PValue { p_value, level: beta, draws, tests: found.tests };
                return Check { place: found.place, ..Check::of(law, measured) };
            }
            beta /= gamma;
        }
    }

    /// Probability of an alarm, where `chance(growth, x)` is the probability that a stage with `growth` times the draws of
    /// the first has a corrected p-value of at most `x`.
    ///
    /// ```
    /// use mcsa_testing::Sequential;
    /// let level = Sequential::at(0.05).alarm(|_, x| x.min(1.0));
    /// assert!(level > 0.03 && level <= 0.05);
    /// ```
    pub fn alarm(&self, chance: impl Fn(f64, f64) -> f64) -> f64 {
        let first = self.level / f64::from(self.stages);
        let gamma = first.powf(1.0 / f64::from(self.stages));
        (0..self.stages).rev().fold(0.0, |later, stage| {
            let beta = first / gamma.powi(stage as i32);
            let growth = if stage == 0 { 1.0 } else { self.growth as f64 };
            let alarm = chance(growth, beta);
            alarm + (chance(growth, beta + gamma) - alarm) * later
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    fn uniforms(seed: u64, power: f64) -> Check {
        Sequential::at(0.05).run("law", 1, |stage, _| {
            let p = Seed::new(seed).stream(0, u64::from(stage)).uniform();
            Ok(Smallest { p_value: p.powf(power), tests: 1, place: String::new() })
        })
    }

    /// 20,000 uniform p-values at level 0.05: the rate of alarms stays below 0.05 + 4 standard errors; the first
    /// stage alone would have a rate of about 0.007. False alarm of this test below 1e-4 at fixed seeds.
    #[test]
    fn the_level_is_kept_and_used() {
        let alarms = (0..20_000).filter(|seed| uniforms(*seed, 1.0).fails()).count() as f64 / 20_000.0;
        assert!((0.03..0.0562).contains(&alarms), "{alarms}");
    }

    /// Counter-check: p-values that are too small raise more alarms than the level allows.
    #[test]
    fn small_p_values_are_alarms() {
        let alarms = (0..2_000).filter(|seed| uniforms(*seed, 3.0).fails()).count();
        assert!(alarms > 400, "{alarms}");
        let broken = Smallest::of([(0.5, "a".into()), (f64::NAN, "b".into())].into_iter());
        assert_eq!(broken, Smallest { p_value: 0.0, tests: 2, place: "b".into() });
    }
}
