//! Results of checks: verdicts, their evidence and power, and reports.

use std::fmt;

use mcsa_core::Error;

/// Verdict on one law: its evidence, and whether it held. A value, never a panic.
///
/// ```
/// use mcsa_theory::Verdict;
/// let verdict = Verdict::exact("pi K = pi", 2.4e-3, 1e-12, "atom 1");
/// assert!(verdict.fails());
/// assert_eq!(verdict.to_string(), "FAILS  pi K = pi                error 2.40e-3 > 1.0e-12, at atom 1");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The law, in a few words.
    pub law: &'static str,
    /// The evidence found.
    pub evidence: Evidence,
    /// The place at which the evidence is strongest.
    pub place: String,
    /// Power of the check, if known.
    pub power: Option<Power>,
}

/// Power of a check: the smallest error that it detects with a stated probability.
///
/// ```
/// use mcsa_theory::Power;
/// let power = Power { error: 0.012, of: "the mean or scale of a coordinate", probability: 0.9 };
/// assert_eq!(power.to_string(), "an error of 1.2 % in the mean or scale of a coordinate is seen with probability 0.9");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Size of the error, 0.01 being one percent; infinite if no error would be detected.
    pub error: f64,
    /// The wrong quantity, and its units.
    pub of: &'static str,
    /// Probability with which a kernel with this error fails.
    pub probability: f64,
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, of, probability } = self;
        if error.is_finite() {
            let digits = usize::from(*error < 0.0995);
            write!(
                f,
                "an error of {:.digits$} % in {of} is seen with probability {probability}",
                100.0 * error
            )
        } else {
            write!(f, "no error in {of} would be seen")
        }
    }
}

/// Evidence of a verdict: an exact error, a p-value, or a refusal.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Evidence {
    /// A number that is zero if the law holds. No false alarm is possible beyond the tolerance for rounding.
    Exact {
        /// The largest deviation found.
        error: f64,
        /// Tolerance for rounding.
        tolerance: f64,
    },
    /// A p-value, multiplied by the number of tests of which it is the smallest.
    Statistical {
        /// The corrected p-value of the last stage.
        p_value: f64,
        /// The law fails if the p-value is at or below this level.
        level: f64,
        /// Number of independent draws in the last stage.
        draws: usize,
        /// Number of tests that shared the level.
        tests: usize,
    },
    /// The kernel, the target or the budget did not allow the check.
    Refused(Error),
}

impl Verdict {
    /// Verdict on a number that should be zero. NaN fails.
    pub fn exact(law: &'static str, error: f64, tolerance: f64, place: impl Into<String>) -> Self {
        Self { law, evidence: Evidence::Exact { error, tolerance }, place: place.into(), power: None }
    }

    /// Verdict of a check that could not be made.
    pub fn refused(law: &'static str, error: Error) -> Self {
        Self { law, evidence: Evidence::Refused(error), place: String::new(), power: None }
    }

    /// True if the law held. A check that could not be made did not hold.
    pub fn holds(&self) -> bool {
        match self.evidence {
            Evidence::Exact { error, tolerance } => error <= tolerance,
            Evidence::Statistical { p_value, level, .. } => p_value > level,
            Evidence::Refused(_) => false,
        }
    }

    /// True if the law was refuted. A check that could not be made refutes nothing.
    pub fn fails(&self) -> bool {
        !self.holds() && !matches!(self.evidence, Evidence::Refused(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, evidence, place, power } = self;
        let word = match evidence {
            Evidence::Refused(_) => "refused",
            _ if self.holds() => "holds",
            _ => "FAILS",
        };
        let sign = if self.holds() { "<=" } else { ">" };
        write!(f, "{word:<6} {law:<24} ")?;
        match evidence {
            Evidence::Exact { error, tolerance } => write!(f, "error {error:.2e} {sign} {tolerance:.1e}")?,
            Evidence::Statistical { p_value, level, draws, tests } => {
                let sign = if self.holds() { ">" } else { "<=" };
                write!(f, "p {p_value:.2e} {sign} {level:.1e} ({draws} draws, {tests} tests)")?;
            }
            Evidence::Refused(error) => write!(f, "{error}")?,
        }
        if !place.is_empty() {
            write!(f, ", at {place}")?;
        }
        match power {
            Some(power) if self.holds() => write!(f, "; {power}"),
            _ => Ok(()),
        }
    }
}

/// Verdicts on one kernel.
///
/// ```
/// use mcsa_theory::{Report, Verdict};
/// let report = Report::new("my kernel", vec![Verdict::exact("rows sum to 1", 0.0, 1e-12, "")]);
/// assert!(report.holds());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Name of the kernel or of what was tested.
    pub title: String,
    /// The verdicts, in the order of the checks.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// A report with this title and these verdicts.
    pub fn new(title: impl Into<String>, verdicts: Vec<Verdict>) -> Self {
        Self { title: title.into(), verdicts }
    }

    /// True if every law held.
    pub fn holds(&self) -> bool {
        self.verdicts.iter().all(Verdict::holds)
    }

    /// True if some law was refuted.
    pub fn fails(&self) -> bool {
        self.verdicts.iter().any(Verdict::fails)
    }

    /// The verdict on one law.
    pub fn on(&self, law: &str) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.law == law)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let good = self.verdicts.iter().filter(|verdict| verdict.holds()).count();
        writeln!(f, "{}: {good} of {} laws hold", self.title, self.verdicts.len())?;
        self.verdicts.iter().try_for_each(|verdict| writeln!(f, "  {verdict}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_fails_and_a_refusal_neither_holds_nor_fails() {
        assert!(Verdict::exact("law", f64::NAN, 1.0, "").fails());
        let refused = Verdict::refused("law", Error::invalid("no"));
        assert!(!refused.holds() && !refused.fails());
        let report = Report::new("kernel", vec![refused]);
        assert!(!report.holds() && !report.fails());
        assert_eq!(report.to_string(), "kernel: 0 of 1 laws hold\n  refused law                      no\n");
    }
}
