//! Results of testing laws: checks of single laws with the power of their tests, reports, and suites of laws.

use std::fmt;

use mcsa_core::Error;

use super::{Failure, caught};

/// Result of testing one law: what was measured, and whether the law holds. A value, never a panic.
///
/// ```
/// use mcsa_testing::law::Check;
/// let check = Check::exact("pi K = pi", 2.4e-3, 1e-12, "atom 1");
/// assert!(check.fails());
/// assert_eq!(check.to_string(), "FAILS  pi K = pi                error 2.40e-3 > 1.0e-12, at atom 1");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The law, in a few words.
    pub law: &'static str,
    /// The result of the measurement.
    pub measured: Measured,
    /// The place at which the law is broken most; may be empty.
    pub place: String,
    /// Power of the test, if known.
    pub power: Option<Power>,
}

/// Measurement of a check: an error, a p-value, a failure, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Measured {
    /// A number that is zero if the law holds. No false alarm is possible beyond the tolerance for rounding.
    Exact {
        /// The largest deviation found.
        error: f64,
        /// Tolerance for rounding.
        tolerance: f64,
    },
    /// A p-value, multiplied by the number of tests of which it is the smallest.
    PValue {
        /// The corrected p-value of the last stage.
        p_value: f64,
        /// The law fails if the p-value is at or below this level.
        level: f64,
        /// Number of independent draws in the last stage.
        draws: usize,
        /// Number of tests that shared the level.
        tests: usize,
    },
    /// No violation was found.
    Held,
    /// A violation.
    Failed(Failure),
    /// The subject or the budget did not allow the test.
    Refused(Error),
    /// The case leaves this law out, for a reason.
    LeftOut(&'static str),
}

impl Check {
    /// Check of a number that should be zero. NaN fails.
    pub fn exact(law: &'static str, error: f64, tolerance: f64, place: impl Into<String>) -> Self {
        Self { place: place.into(), ..Self::of(law, Measured::Exact { error, tolerance }) }
    }

    /// Check that could not be made.
    pub fn refused(law: &'static str, error: Error) -> Self {
        Self::of(law, Measured::Refused(error))
    }

    /// Check with this measurement, without place or power.
    pub fn of(law: &'static str, measured: Measured) -> Self {
        Self { law, measured, place: String::new(), power: None }
    }

    /// True if the law held. A check that could not be made did not hold.
    pub fn holds(&self) -> bool {
        match self.measured {
            Measured::Exact { error, tolerance } => error <= tolerance,
            Measured::PValue { p_value, level, .. } => p_value > level,
            Measured::Held => true,
            Measured::Failed(_) | Measured::Refused(_) | Measured::LeftOut(_) => false,
        }
    }

    /// True if the law was refuted. A check that could not be made refutes nothing.
    pub fn fails(&self) -> bool {
        !self.holds() && !matches!(self.measured, Measured::Refused(_) | Measured::LeftOut(_))
    }

    /// True if the case leaves this law out.
    pub fn is_left_out(&self) -> bool {
        matches!(self.measured, Measured::LeftOut(_))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, measured, place, power } = self;
        let holds = self.holds();
        let (judged, at_most, above) = if holds { ("holds", "<=", ">") } else { ("FAILS", ">", "<=") };
        let (word, text) = match measured {
            Measured::Exact { error, tolerance } => {
                (judged, format!("error {error:.2e} {at_most} {tolerance:.1e}"))
            }
            Measured::PValue { p_value, level, draws, tests } => {
                (judged, format!("p {p_value:.2e} {above} {level:.1e} ({draws} draws, {tests} tests)"))
            }
            Measured::Held => (judged, "no violation".into()),
            Measured::Failed(Failure { place, found, expected, .. }) => {
                (judged, format!("{place}: found {found}, expected {expected}"))
            }
            Measured::Refused(error) => ("refused", error.to_string()),
            Measured::LeftOut(reason) => ("left out", reason.to_string()),
        };
        write!(f, "{word:<6} {law:<24} {text}")?;
        if !place.is_empty() {
            write!(f, ", at {place}")?;
        }
        match power {
            Some(power) if holds => write!(f, "; {power}"),
            _ => Ok(()),
        }
    }
}

/// Report on one subject: the checks of its laws, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Name of the subject; may be empty.
    pub title: String,
    /// The checks, in the order in which they were made.
    pub checks: Vec<Check>,
}

impl Report {
    /// A report with this title and these checks.
    pub fn new(title: impl Into<String>, checks: Vec<Check>) -> Self {
        Self { title: title.into(), checks }
    }

    /// True if every law held that was not left out.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.holds() || check.is_left_out())
    }

    /// True if some law was refuted.
    pub fn fails(&self) -> bool {
        self.checks.iter().any(Check::fails)
    }

    /// The check of one law.
    pub fn on(&self, law: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.law == law)
    }

    /// Tests one law and adds the check, unless the law is left out.
    ///
    /// A panic in the code under examination (an index beyond lent memory, say) is a failure of this law.
    pub fn run<T: Into<Stated>>(
        &mut self,
        left_out: &LeftOut,
        law: &'static str,
        mut test: impl FnMut() -> Result<T, Failure>,
    ) {
        self.judge(left_out, law, &mut || test().map(Into::into));
    }

    /// [`run`](Self::run), compiled once for all laws.
    fn judge(
        &mut self,
        left_out: &LeftOut,
        law: &'static str,
        test: &mut dyn FnMut() -> Result<Stated, Failure>,
    ) {
        let panicked = |said| Err(Failure::new(law, "the code under examination", "no panic", said));
        let check = match left_out.reason(law) {
            Some(reason) => Check::of(law, Measured::LeftOut(reason)),
            None => match caught(test).unwrap_or_else(panicked) {
                Ok(Stated(power)) => Check { power, ..Check::of(law, Measured::Held) },
                Err(failure) => Check::of(law, Measured::Failed(failure)),
            },
        };
        self.checks.push(check);
    }

    /// The first failure of a law that was tested by [`run`](Self::run).
    ///
    /// # Errors
    /// If there is one.
    pub fn first_failure(self) -> Result<(), Failure> {
        let failure = |check| match check {
            Check { measured: Measured::Failed(failure), .. } => Some(failure),
            _ => None,
        };
        self.checks.into_iter().find_map(failure).map_or(Ok(()), Err)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let good = self.checks.iter().filter(|check| check.holds()).count();
        let colon = if self.title.is_empty() { "" } else { ": " };
        writeln!(f, "{}{colon}{good} of {} laws hold", self.title, self.checks.len())?;
        self.checks.iter().try_for_each(|check| writeln!(f, "  {check}"))
    }
}

/// Power that a law states if it holds: a [`Power`], or none, which is `()`.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated(Option<Power>);

impl From<()> for Stated {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl From<Option<Power>> for Stated {
    fn from(power: Option<Power>) -> Self {
        Self(power)
    }
}

/// Laws that are not tested on a case, each with a reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut(Vec<(&'static str, &'static str)>);

impl LeftOut {
    /// Leaves out `law`, which must be one of the groups of `laws`, because of `reason`.
    ///
    /// # Errors
    /// If `law` is not one of `laws` (the message lists all), or the reason is empty.
    pub fn add(&mut self, laws: &[&[&'static str]], law: &str, reason: &'static str) -> Result<(), Error> {
        let laws = laws.concat();
        let Some(&law) = laws.iter().find(|&&known| known == law) else {
            let message = format!("no law is called {law:?}; the laws are {}", laws.join(", "));
            return Err(Error::invalid(message));
        };
        if reason.is_empty() {
            return Err(Error::invalid(format!("{law} is left out without a reason; give one")));
        }
        self.0.push((law, reason));
        Ok(())
    }

    /// The reason for leaving out `law`, or `None` if it is not left out.
    #[must_use]
    pub fn reason(&self, law: &str) -> Option<&'static str> {
        self.0.iter().find(|(name, _)| *name == law).map(|&(_, reason)| reason)
    }
}

/// Half the width, in standard errors, of the interval in which a statistical law accepts an estimate: false-alarm probability
/// 5.8e-7.
pub const ACCEPTED: f64 = 5.0;

/// Probability with which a stated error is detected.
pub(crate) const PROBABILITY: f64 = 0.9;

/// Quantile of the standard normal at that probability.
pub(crate) const NINE_IN_TEN: f64 = 1.281_551_565_544_6;

/// Size, in standard errors, of an error that a statistical law detects with probability 0.9.
pub const DETECTED: f64 = ACCEPTED + NINE_IN_TEN;

/// Statistical power of a law that holds: the size of an error that the test detects with a given probability.
///
/// ```
/// let power = mcsa_testing::law::Power::new("the scale of draws", 0.01, "200000 draws");
/// let said = "an error of 1.0e-2 in the scale of draws is seen with probability 0.9 (200000 draws)";
/// assert_eq!(power.to_string(), said);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Power {
    /// The quantity that the law measures.
    pub quantity: &'static str,
    /// The size of an error that is detected with `probability`; infinite if the test can detect no error.
    pub size: f64,
    /// The probability with which an error of `size` is detected.
    pub probability: f64,
    /// The effort of the test as text, such as the number of draws; may be empty.
    pub effort: String,
}

impl Power {
    /// Power 0.9 against errors of `size`.
    pub fn new(quantity: &'static str, size: f64, effort: impl Into<String>) -> Self {
        Self { quantity, size, probability: PROBABILITY, effort: effort.into() }
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quantity, size, probability, effort } = self;
        if size.is_finite() {
            write!(f, "an error of {size:.1e} in {quantity} is seen with probability {probability}")?;
        } else {
            write!(f, "no error in {quantity} would be seen")?;
        }
        if effort.is_empty() { Ok(()) } else { write!(f, " ({effort})") }
    }
}

/// Tests of laws, one `#[test]` each: `law_tests!([module]; cases; [meter]; law ..)`.
///
/// `cases` is an expression that iterates over cases with a field `left_out: LeftOut`; `module` is the path of the functions
/// `law(&case)`, or `law(&case, meter)` with a meter. Each test prints its check, which `cargo test -- --show-output` shows.
///
/// ```
/// use mcsa_testing::law::{Failure, LeftOut, near};
/// #[derive(Default)]
/// pub struct Case { x: f64, left_out: LeftOut }
/// pub fn squares_are_positive(case: &Case) -> Result<(), Failure> {
///     near("squares_are_positive", || "x".into(), case.x.powi(2).min(0.0), 0.0, 0.0)
/// }
/// mcsa_testing::law_tests!([self]; [Case::default()]; []; squares_are_positive);
/// ```
#[macro_export]
macro_rules! law_tests {
    (@one [$($module:tt)*]; $cases:expr; [$($meter:expr)?]; $law:ident) => {
        #[test]
        fn $law() {
            for (k, case) in $cases.into_iter().enumerate() {
                let mut report = $crate::law::Report::new(format!("case {k}"), vec![]);
                report.run(&case.left_out, stringify!($law), || $($module)*::$law(&case $(, &mut $meter)?));
                assert!(report.holds(), "{report}");
                println!("{report}");
            }
        }
    };
    ($module:tt; $cases:expr; $meter:tt; $($law:ident)*) => {
        $($crate::law_tests!(@one $module; $cases; $meter; $law);)*
    };
}

/// Module of tests, one per law, of a suite: `law_suite!([lists] [module] name [cases] [meter] words)`, where `lists` is a macro of
/// laws: `lists!(word [next] arguments)` calls the macro `next` with the arguments and the laws, and `lists!(memory word ..)` with those
/// that need a meter.
#[doc(hidden)]
#[macro_export]
macro_rules! law_suite {
    (@laws [$($lists:tt)*] $($of:tt)*) => { $($lists)*! { $($of)* } };
    ($lists:tt $module:tt $name:ident [$cases:expr] $meter:tt $($word:ident)*) => {
        #[cfg(test)]
        mod $name {
            use super::*;
            $(
                $crate::law_suite!(@laws $lists $word [$crate::law_tests] $module; $cases; [];);
                $crate::law_suite!(@laws $lists memory $word [$crate::law_tests] $module; $cases; $meter;);
            )*
        }
    };
}

/// Report on the laws of one case: `law_report!(case; law ..)`, with the functions `law(&case)` in scope.
#[macro_export]
macro_rules! law_report {
    ($case:expr; $($law:ident)*) => {{
        let mut report = $crate::law::Report::default();
        $(report.run(&$case.left_out, stringify!($law), || $law($case));)*
        report
    }};
}

/// Names of laws as a slice: `law_names!(law ..)`.
#[macro_export]
macro_rules! law_names {
    ($($law:ident)*) => { &[$(stringify!($law)),*] };
}

/// Names of the laws of each word, then of its laws of memory.
macro_rules! law_lists {
    ($lists:ident: $($word:ident)*) => {
        &[$($lists!($word [crate::law_names]), $lists!(memory $word [crate::law_names])),*]
    };
}
pub(crate) use law_lists;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_fails_and_a_refusal_neither_holds_nor_fails() {
        assert!(Check::exact("law", f64::NAN, 1.0, "").fails());
        let refused = Check::refused("law", Error::invalid("no"));
        assert!(!refused.holds() && !refused.fails());
        let report = Report::new("kernel", vec![refused]);
        assert!(!report.holds() && !report.fails());
        assert_eq!(report.to_string(), "kernel: 0 of 1 laws hold\n  refused law                      no\n");
    }

    #[test]
    fn laws_left_out_are_known_and_have_reasons() {
        let mut left_out = LeftOut::default();
        let laws: [&[&str]; 2] = [&["first"], &["second"]];
        let unknown = left_out.add(&laws, "third", "why").unwrap_err().to_string();
        assert_eq!(unknown, "no law is called \"third\"; the laws are first, second");
        assert!(left_out.add(&laws, "first", "").is_err());
        left_out.add(&laws, "second", "it has a kink").unwrap();
        let mut report = Report::new("case", vec![]);
        report.run(&left_out, "second", || Err::<(), _>(Failure::new("second", "", "", "")));
        report.run(&left_out, "first", || Ok(()));
        assert!(report.holds() && report.clone().first_failure().is_ok());
        let second = "  left out second                   it has a kink\n";
        let first = "  holds  first                    no violation\n";
        assert_eq!(report.to_string(), format!("case: 1 of 2 laws hold\n{second}{first}"));
    }

    #[test]
    fn a_panic_is_a_failure_of_the_law_that_met_it() {
        let mut report = Report::default();
        report.run(&LeftOut::default(), "law", || -> Result<(), Failure> { panic!("index {}", 3) });
        assert!(report.fails());
        assert_eq!(
            report.first_failure().unwrap_err().to_string(),
            "law: the code under examination: found index 3, expected no panic"
        );
    }
}
