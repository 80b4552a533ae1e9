//! Statistical power of tests that a law passes.

use std::fmt;

/// Half the width, in standard errors, of the interval in which a statistical law accepts an estimate: false-alarm probability
/// 5.8e-7.
pub const ACCEPTED: f64 = 5.0;

/// Size, in standard errors, of an error that a statistical law detects with probability 0.9: `ACCEPTED` plus the 0.9 quantile of
/// the standard normal.
pub const DETECTED: f64 = ACCEPTED + 1.281_551_565_544_6;

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
        Self { quantity, size, probability: 0.9, effort: effort.into() }
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
