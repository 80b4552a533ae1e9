//! Number types of the exact formulas: doubles and fractions.

use std::fmt::Debug;

use num_rational::BigRational;
use num_traits::{NumAssignRef, NumRef, Signed};

/// Fraction of unlimited size: sums and products are exact.
pub type Rational = BigRational;

/// Number type of the exact formulas: `f64` for searches, [`Rational`] for proofs.
///
/// ```
/// use mcsa_theory::{Number, Rational};
/// fn third<T: Number>() -> T {
///     T::ratio(1, 2) - T::ratio(1, 6)
/// }
/// assert_eq!(third::<Rational>(), Rational::ratio(1, 3));
/// assert_eq!(third::<Rational>().to_f64(), 1.0 / 3.0);
/// ```
pub trait Number:
    Signed + NumRef + NumAssignRef + PartialOrd + Clone + Debug + Send + Sync + 'static
{
    /// The fraction `numerator / denominator`.
    fn ratio(numerator: i64, denominator: i64) -> Self;

    /// The nearest double.
    fn to_f64(&self) -> f64;

    /// A nearby number with a short representation, so that sums of squares around it stay short.
    fn near(&self) -> Self;

    /// The integer `n`.
    fn whole(n: usize) -> Self {
        Self::ratio(i64::try_from(n).expect("counts are far below 2^63"), 1)
    }

    /// Power `self^n`, with `0^0 = 1`.
    fn power(&self, n: usize) -> Self {
        num_traits::pow(self.clone(), n)
    }
}

impl Number for f64 {
    fn ratio(numerator: i64, denominator: i64) -> Self {
        numerator as f64 / denominator as f64
    }

    fn to_f64(&self) -> f64 {
        *self
    }

    fn near(&self) -> Self {
        *self
    }
}

impl Number for Rational {
    fn ratio(numerator: i64, denominator: i64) -> Self {
        Self::new(numerator.into(), denominator.into())
    }

    fn to_f64(&self) -> f64 {
        num_traits::ToPrimitive::to_f64(self).unwrap_or(f64::NAN)
    }

    fn near(&self) -> Self {
        // Single precision: 24 binary digits are enough for a centre.
        Self::from_float(self.to_f64() as f32).unwrap_or_else(num_traits::Zero::zero)
    }
}

/// Pairwise sum: fractions keep small denominators longer, and doubles round less.
pub fn total<T: Number>(terms: impl IntoIterator<Item = T>) -> T {
    let mut terms: Vec<T> = terms.into_iter().collect();
    while terms.len() > 1 {
        let mut kept = 0;
        for k in (0..terms.len()).step_by(2) {
            let mut pair = std::mem::replace(&mut terms[k], T::zero());
            if let Some(second) = terms.get(k + 1) {
                pair += second;
            }
            terms[kept] = pair;
            kept += 1;
        }
        terms.truncate(kept);
    }
    terms.pop().unwrap_or_else(T::zero)
}

/// Scalar product `sum_k a_k b_k`.
pub fn dot<T: Number>(a: &[T], b: &[T]) -> T {
    assert_eq!(a.len(), b.len(), "a sum of products needs pairs");
    total(a.iter().zip(b).filter(|(a, _)| !a.is_zero()).map(|(a, b)| a.clone() * b))
}

/// Fraction from text: `3`, `-1/3`, `0.25` or `2.5e-3`; a decimal is converted exactly, not by way of a double.
///
/// ```
/// use mcsa_theory::{Number, Rational, rational};
/// assert_eq!(rational("0.1"), Some(Rational::ratio(1, 10)));
/// assert_eq!(rational("1/0"), None);
/// ```
pub fn rational(text: &str) -> Option<Rational> {
    let text = text.trim();
    if text.contains('/') {
        let (numerator, denominator) = text.split_once('/')?;
        let (numerator, denominator) = (decimal(numerator.trim())?, decimal(denominator.trim())?);
        let zero = num_traits::Zero::is_zero(&denominator);
        return if zero { None } else { Some(numerator / denominator) };
    }
    decimal(text)
}

fn decimal(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    let is_number = digits.trim_start_matches(['-', '+']).chars().all(|c| c.is_ascii_digit());
    let sign = digits.len() - digits.trim_start_matches(['-', '+']).len();
    let shift = exponent.checked_sub(i32::try_from(part.len()).ok()?)?;
    // No double is outside these powers of ten, and numbers with very many digits would be slow.
    if !is_number || sign > 1 || digits.len() == sign || digits.len() > 400 || shift.unsigned_abs() > 800 {
        return None;
    }
    let digits = digits.trim_start_matches('+').parse::<Rational>().ok()?;
    let scale = Rational::ratio(10, 1).power(shift.unsigned_abs() as usize);
    Some(if shift < 0 { digits / scale } else { digits * scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_exactly() {
        let fraction = |text| rational(text).map(|found| found.to_string());
        assert_eq!(fraction(" -2/6 ").as_deref(), Some("-1/3"));
        assert_eq!(fraction("0.125").as_deref(), Some("1/8"));
        assert_eq!(fraction("-.5").as_deref(), Some("-1/2"));
        assert_eq!(fraction("2.5e-3").as_deref(), Some("1/400"));
        assert_eq!(fraction("0.5/3").as_deref(), Some("1/6"));
        // `i32::MIN` has no absolute value in 32 bits.
        let extreme = "1e-2147483648 1e2147483647 0.1e-2147483648 1e-2147483649 1e-801 1/1e801".split(' ');
        let wrong = ["", "-", "1/0", "1/2/3", "--1", "one", "1e9999", "nan", "0x1", "1 2", "e5", "1.2.3"];
        for wrong in wrong.into_iter().chain(extreme) {
            assert_eq!(rational(wrong), None, "{wrong:?}");
        }
        assert!(rational("1e-800").is_some());
    }

    #[test]
    fn sums_are_exact_and_an_empty_one_is_zero() {
        let thirds = (0..3).map(|_| Rational::ratio(1, 3));
        assert_eq!(total(thirds), Rational::ratio(1, 1));
        assert_ne!(total((0..10).map(|_| 0.1)), 0.1 * 9.0);
        assert_eq!(total(Vec::<f64>::new()), 0.0);
        assert_eq!(total([1.0, 2.0, 3.0, 4.0, 5.0]), 15.0);
    }

    #[test]
    fn a_fraction_of_large_numbers_has_its_double() {
        let small = Rational::ratio(1, 3).power(300);
        assert!((small.to_f64().ln() + 300.0 * 3.0_f64.ln()).abs() < 1e-12);
        assert_eq!((Rational::ratio(7, 1).power(900) / Rational::ratio(7, 1).power(899)).to_f64(), 7.0);
    }
}
