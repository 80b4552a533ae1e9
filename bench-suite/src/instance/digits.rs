//! Rounding of numbers for output.

use mcsa_theory::Number;
use serde::{Serialize, Serializer};

/// A number that is written with 15 significant digits, which every double keeps; null in JSON if it is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Digits(pub f64);

impl Digits {
    /// The nearest double of any number.
    pub fn of<T: Number>(x: &T) -> Self {
        Self(x.to_f64())
    }

    /// The nearest doubles of several numbers.
    pub fn each<T: Number>(x: &[T]) -> Vec<Self> {
        x.iter().map(Self::of).collect()
    }
}

impl Serialize for Digits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let rounded: f64 = format!("{:.14e}", self.0).parse().unwrap_or(self.0);
        // Adding 0 turns negative zero into zero.
        serializer.serialize_f64(rounded + 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_digits_are_shown() {
        let shown = |x: f64| serde_json::to_string(&Digits(x)).unwrap();
        assert_eq!(shown(0.1 + 0.2), "0.3");
        assert_eq!(shown(2.0 / 3.0), "0.666666666666667");
        assert_eq!(shown(-0.0), "0.0");
        assert_eq!(shown(f64::INFINITY), "null");
        assert_eq!(shown(1.0 + 1e-13), "1.0000000000001");
    }
}
