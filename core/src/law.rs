//! Verdicts of conformance suites, which test laws: mathematical properties of a target or a family.
//!
//! A law holds, with a stated [`Power`], or it fails with a [`Failure`] that names the place and the numbers. The suites of
//! `models` and `families` return these types; a suite of your own may do so too.
//!
//! ```
//! use mcsa_core::law::{Verdict, near};
//! fn doubling_is_addition(x: f64) -> Verdict {
//!     near("doubling_is_addition", || format!("x = {x}"), 2.0 * x, x + x, 0.0)
//! }
//! assert!(doubling_is_addition(0.3).is_ok() && doubling_is_addition(f64::NAN).is_err());
//! ```

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Error;

/// Result of testing one law on one case.
pub type Verdict = Result<(), Failure>;

/// Violation of a law: the law, the place, the value demanded and the value found.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The name of the law, equal to the name of the function that tests it.
    pub law: &'static str,
    /// The place of the violation: the param, the column, the point.
    pub place: String,
    /// The value that the law demands.
    pub expected: String,
    /// The value found.
    pub found: String,
}

impl Failure {
    /// A failure from its four parts.
    pub fn new(
        law: &'static str,
        place: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { law, place: place.into(), expected: expected.into(), found: found.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, place, expected, found } = self;
        write!(f, "{law}: {place}: found {found}, expected {expected}")
    }
}

impl std::error::Error for Failure {}

/// `Ok` if `found` and `expected` differ by at most `tolerance`. A NaN in either is a failure.
pub fn near(
    law: &'static str,
    place: impl FnOnce() -> String,
    found: f64,
    expected: f64,
    tolerance: f64,
) -> Verdict {
    if (found - expected).abs() <= tolerance {
        return Ok(());
    }
    Err(Failure::new(law, place(), format!("{expected:e} +- {tolerance:.1e}"), format!("{found:e}")))
}

/// `Ok` if the two slices are bit-identical and hold no NaN; `place` names the place of an index.
///
/// NaN is a failure even where both slices have it, because two calls may both return the NaN of memory that neither has written.
pub fn same_bits(
    law: &'static str,
    place: impl Fn(usize) -> String,
    found: &[f64],
    expected: &[f64],
) -> Verdict {
    if found.len() != expected.len() {
        let (found, expected) = (format!("{} numbers", found.len()), format!("{}", expected.len()));
        return Err(Failure::new(law, "the length", expected, found));
    }
    match found.iter().zip(expected).position(|(a, b)| a.is_nan() || a.to_bits() != b.to_bits()) {
        None => Ok(()),
        Some(k) => Err(Failure::new(law, place(k), format!("{:e}", expected[k]), format!("{:e}", found[k]))),
    }
}

/// Half the width, in standard errors, of the interval in which a statistical law accepts an estimate: false-alarm probability
/// 5.8e-7.
pub const ACCEPTED: f64 = 5.0;

/// Size, in standard errors, of an error that a statistical law detects with probability 0.9: `ACCEPTED` plus the 0.9 quantile of
/// the standard normal.
pub const DETECTED: f64 = ACCEPTED + 1.281_551_565_544_6;

/// Statistical power of a law that holds: the size of an error that the test detects with a given probability.
///
/// ```
/// let power = mcsa_core::law::Power::new("draws_have_their_scale", "scale of draws", 0.01, "200000 draws");
/// let said = "draws_have_their_scale: scale of draws: an error of 1.0e-2 would have been seen with probability 0.9 (200000 draws)";
/// assert_eq!(power.to_string(), said);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Power {
    /// The name of the law, equal to the name of the function that tests it.
    pub law: &'static str,
    /// The quantity that the law measures.
    pub quantity: &'static str,
    /// The size of an error that is detected with `probability`; infinite if the test can detect no error.
    pub size: f64,
    /// The probability with which an error of `size` is detected.
    pub probability: f64,
    /// The effort of the test as text, such as the number of draws.
    pub effort: String,
}

impl Power {
    /// Power 0.9 against errors of `size`.
    pub fn new(law: &'static str, quantity: &'static str, size: f64, effort: impl Into<String>) -> Self {
        Self { law, quantity, size, probability: 0.9, effort: effort.into() }
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, quantity, size, probability, effort } = self;
        if size.is_finite() {
            let seen = format!("an error of {size:.1e} would have been seen with probability {probability}");
            write!(f, "{law}: {quantity}: {seen} ({effort})")
        } else {
            write!(f, "{law}: {quantity}: nothing is claimed ({effort})")
        }
    }
}

/// Result types of a law that holds: `()`, or an optional [`Power`].
pub trait Held {
    /// The power, if the law states one.
    fn power(self) -> Option<Power>;
}

impl Held for () {
    fn power(self) -> Option<Power> {
        None
    }
}

impl Held for Option<Power> {
    fn power(self) -> Option<Power> {
        self
    }
}

/// Laws that are not tested on a case, each with a reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut(Vec<(&'static str, &'static str)>);

impl LeftOut {
    /// Leaves out `law`, which must be one of `laws`, because of `reason`.
    ///
    /// # Errors
    /// If `law` is not one of `laws` (the message lists all), or the reason is empty.
    pub fn add(&mut self, laws: &[&'static str], law: &str, reason: &'static str) -> Result<(), Error> {
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

/// Report of a suite that passes: laws that hold, with their powers, and laws left out, with their reasons.
///
/// `Display` writes the powers and the reasons, one per line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Names of the laws that hold.
    pub held: Vec<&'static str>,
    /// Powers of the laws that state one.
    pub powers: Vec<Power>,
    /// Names of the laws that were left out, and the reasons.
    pub left_out: Vec<(&'static str, &'static str)>,
}

impl Report {
    /// Tests one law and records the result, unless the case leaves it out.
    ///
    /// A panic in the code under examination (an index beyond lent memory, say) is a failure of this law.
    ///
    /// # Errors
    /// If the law does not hold, or the code panics.
    pub fn run<T: Held>(
        &mut self,
        left_out: &LeftOut,
        law: &'static str,
        verdict: impl FnOnce() -> Result<T, Failure>,
    ) -> Verdict {
        if let Some(reason) = left_out.reason(law) {
            self.left_out.push((law, reason));
            return Ok(());
        }
        let held = caught(verdict)
            .unwrap_or_else(|said| Err(Failure::new(law, "the code under examination", "no panic", said)))?;
        self.held.push(law);
        self.powers.extend(held.power());
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.powers.iter().try_for_each(|power| writeln!(f, "{power}"))?;
        self.left_out.iter().try_for_each(|(law, reason)| writeln!(f, "{law}: left out: {reason}"))
    }
}

/// Result of `code`, with a panic turned into an error.
///
/// # Errors
/// If `code` panics; the error is the panic's message.
pub fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").into()
    })
}

/// `Ok` if `code` runs without panic on lent memory of the `claimed` length.
///
/// # Errors
/// If it panics. The failure names the claimed length and a longer one that is enough; or it holds the panic's message, if no
/// length up to 64 times the claim plus 4096 is enough.
pub fn memory_is_enough(
    law: &'static str,
    place: impl FnOnce() -> String,
    claimed: usize,
    mut code: impl FnMut(&mut [f64]),
) -> Verdict {
    let mut run = |length: usize| caught(|| code(&mut vec![f64::NAN; length]));
    let Err(said) = run(claimed) else { return Ok(()) };
    let mut enough = (1..=12).map(|k| claimed * (1 << k.min(6)) + (1 << k));
    let found = match enough.find(|&length| run(length).is_ok()) {
        Some(length) => format!("more: {length} are enough"),
        None => format!("a panic with any: {said}"),
    };
    Err(Failure::new(law, place(), format!("at most the {claimed} numbers that work_len claims"), found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_or_the_same_passes_and_nothing_else() {
        let near = |found, expected| near("law", || "here".into(), found, expected, 0.125);
        assert!(near(1.0, 1.1).is_ok() && near(1.0, 1.2).is_err() && near(f64::NAN, f64::NAN).is_err());
        let same = |found: &[f64], expected: &[f64]| same_bits("law", |k| format!("[{k}]"), found, expected);
        assert!(same(&[0.5, -0.0], &[0.5, -0.0]).is_ok());
        assert!(same(&[f64::NAN], &[f64::NAN]).is_err() && same(&[0.5], &[0.5, 1.0]).is_err());
        let broken = same(&[0.5, 0.0], &[0.5, -0.0]).unwrap_err();
        assert_eq!(broken.to_string(), "law: [1]: found 0e0, expected -0e0");
    }
    #[test]
    fn laws_left_out_are_known_and_have_reasons() {
        let mut left_out = LeftOut::default();
        let unknown = left_out.add(&["first", "second"], "third", "why").unwrap_err().to_string();
        assert_eq!(unknown, "no law is called \"third\"; the laws are first, second");
        assert!(left_out.add(&["first"], "first", "").is_err());
        left_out.add(&["first", "second"], "second", "it has a kink").unwrap();
        let mut report = Report::default();
        assert_eq!(
            report.run(&left_out, "second", || Err::<(), _>(Failure::new("second", "", "", ""))),
            Ok(())
        );
        assert_eq!(report.run(&left_out, "first", || Ok(())), Ok(()));
        assert_eq!(
            (report.to_string().as_str(), &report.held[..]),
            ("second: left out: it has a kink\n", &["first"][..])
        );
    }

    #[test]
    fn a_panic_is_a_failure_of_the_law_that_met_it() {
        let broken =
            Report::default().run(&LeftOut::default(), "law", || -> Verdict { panic!("index {}", 3) });
        assert_eq!(
            broken.unwrap_err().to_string(),
            "law: the code under examination: found index 3, expected no panic"
        );
        let claims = |claimed| memory_is_enough("law", || "here".into(), claimed, |work| work[4] = 1.0);
        assert!(claims(5).is_ok());
        let short = claims(4).unwrap_err().to_string();
        let said =
            "law: here: found more: 10 are enough, expected at most the 4 numbers that work_len claims";
        assert_eq!(short, said);
    }
}
