//! Numbers in JSON. Infinities and NaN, which JSON lacks, are written as the words `"nan"`, `"inf"` and `"-inf"`.

use serde::{Deserialize, Serialize};

/// A number in JSON: itself, or a word if it is not finite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Number(#[serde(with = "mcsa_core::bits::decimal")] pub(crate) f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for value in
            [0.0, -0.0, 1.0 / 3.0, f64::MIN_POSITIVE / 8.0, f64::MAX, f64::INFINITY, f64::NEG_INFINITY]
        {
            let text = serde_json::to_string(&Number(value)).unwrap();
            let Number(back) = serde_json::from_str(&text).unwrap();
            assert_eq!(back.to_bits(), value.to_bits(), "{text}");
        }
        assert_eq!(serde_json::to_string(&Number(f64::NAN)).unwrap(), "\"nan\"");
        assert!(serde_json::from_str::<Number>("\"nan\"").unwrap().0.is_nan());
        assert!(serde_json::from_str::<Number>("\"NaN\"").is_err());
        assert!(serde_json::from_str::<Number>("null").is_err());
    }
}
