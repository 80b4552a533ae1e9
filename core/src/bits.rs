//! Serialisation of floats as hexadecimal bit patterns, for checkpoints that restore every bit.
//!
//! A double written as decimal text may be read back as a neighbouring double, and JSON has no infinities. Here a float is
//! written as the sixteen hexadecimal digits of its bits, and a vector as one string of such digits.
//!
//! ```
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct State {
//!     #[serde(with = "mcsa_core::bits::vector")]
//!     moments: Vec<f64>,
//! }
//! let text = serde_json::to_string(&State { moments: vec![0.1, f64::INFINITY] }).unwrap();
//! assert_eq!(text, r#"{"moments":"3fb999999999999a7ff0000000000000"}"#);
//! ```

use std::fmt::Write;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

fn encode(values: impl ExactSizeIterator<Item = f64>) -> String {
    let mut text = String::with_capacity(16 * values.len());
    for value in values {
        // Writing to a string cannot fail.
        let _ = write!(text, "{:016x}", value.to_bits());
    }
    text
}

fn decode<E: serde::de::Error>(text: &str) -> Result<Vec<f64>, E> {
    if !text.len().is_multiple_of(16) {
        return Err(E::custom(format!("{} hexadecimal digits do not make whole floats of 16", text.len())));
    }
    let digits = text.as_bytes();
    digits
        .chunks_exact(16)
        .enumerate()
        .map(|(k, chunk)| {
            let word = std::str::from_utf8(chunk).ok().and_then(|chunk| u64::from_str_radix(chunk, 16).ok());
            word.map(f64::from_bits)
                .ok_or_else(|| E::custom(format!("float {k} is not 16 hexadecimal digits")))
        })
        .collect()
}

/// One float; for `#[serde(with = "mcsa_core::bits::scalar")]`.
pub mod scalar {
    use super::*;

    /// Writes sixteen hexadecimal digits.
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        encode([*value].into_iter()).serialize(serializer)
    }

    /// Reads sixteen hexadecimal digits.
    ///
    /// # Errors
    /// If the text is not sixteen hexadecimal digits.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match decode::<D::Error>(&String::deserialize(deserializer)?)?[..] {
            [value] => Ok(value),
            ref values => Err(D::Error::custom(format!("one float expected, found {}", values.len()))),
        }
    }
}

/// A vector of floats; for `#[serde(with = "mcsa_core::bits::vector")]`.
pub mod vector {
    use super::*;

    /// Writes one string of hexadecimal digits.
    pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        encode(values.iter().copied()).serialize(serializer)
    }

    /// Reads one string of hexadecimal digits.
    ///
    /// # Errors
    /// If the text is not a string of hexadecimal digits, sixteen for each float.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        decode(&String::deserialize(deserializer)?)
    }
}

/// A matrix; for `#[serde(with = "mcsa_core::bits::matrix")]`.
pub mod matrix {
    use super::*;
    use faer::Mat;

    /// Longest side of a matrix without entries.
    const LONGEST: usize = u32::MAX as usize;

    #[derive(Serialize, Deserialize)]
    struct Stored {
        rows: usize,
        columns: usize,
        #[serde(with = "super::vector")]
        values: Vec<f64>,
    }

    /// Writes the shape, then the entries column by column.
    pub fn serialize<S: Serializer>(matrix: &Mat<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        let values = (0..columns).flat_map(|j| matrix.col_as_slice(j).iter().copied()).collect();
        Stored { rows, columns, values }.serialize(serializer)
    }

    /// Reads the shape and the entries, column by column.
    ///
    /// # Errors
    /// If the text is malformed, or the number of values is not `rows x columns`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mat<f64>, D::Error> {
        let Stored { rows, columns, values } = Stored::deserialize(deserializer)?;
        // Without entries one side alone could be of any length.
        let is_plausible = !values.is_empty() || rows <= LONGEST && columns <= LONGEST;
        if rows.checked_mul(columns) != Some(values.len()) || !is_plausible {
            return Err(D::Error::custom(format!("{} values do not fill {rows} x {columns}", values.len())));
        }
        Ok(Mat::from_fn(rows, columns, |i, j| values[i + j * rows]))
    }
}

/// One float in readable form: a number, or `"nan"`, `"inf"`, `"-inf"`, which JSON lacks; for
/// `#[serde(with = "mcsa_core::bits::decimal")]`.
///
/// Every float but a NaN with a payload comes back if the format reads decimals exactly, as `serde_json` does with its feature
/// `float_roundtrip`.
pub mod decimal {
    use super::*;

    /// The two forms in a file.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }

    const WORDS: [(&str, f64); 3] = [("inf", f64::INFINITY), ("-inf", f64::NEG_INFINITY), ("nan", f64::NAN)];

    /// Writes a number, or a word if it is not finite.
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        let is_it = |known: f64| known == *value || (known.is_nan() && value.is_nan());
        match WORDS.iter().find(|(_, known)| is_it(*known)) {
            Some((word, _)) => serializer.serialize_str(word),
            None => serializer.serialize_f64(*value),
        }
    }

    /// Reads a number or a word.
    ///
    /// # Errors
    /// If the word is none of the three.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(value) => Ok(value),
            Written::Word(word) => {
                let known = WORDS.iter().find(|(known, _)| *known == word);
                let refused = || D::Error::custom(format!("{word:?} is no number"));
                known.map(|(_, value)| *value).ok_or_else(refused)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ensemble;
    use faer::Mat;
    use proptest::prelude::*;

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "scalar")] f64);

    proptest! {
        #[test]
        fn every_bit_comes_back(words: Vec<u64>, rows in 0..4_usize, columns in 0..4_usize) {
            let at = |k: usize| words.get(k).copied().unwrap_or(k as u64);
            let ensemble = Ensemble {
                positions: Mat::from_fn(rows, columns, |i, j| f64::from_bits(at(i + 4 * j))),
                log_p: words.iter().map(|&w| f64::from_bits(w)).collect(),
            };
            let back: Ensemble = serde_json::from_str(&serde_json::to_string(&ensemble).unwrap()).unwrap();
            prop_assert_eq!((back.positions.nrows(), back.positions.ncols()), (rows, columns));
            prop_assert!(back.log_p.iter().map(|x| x.to_bits()).eq(words.iter().copied()));
            for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                prop_assert_eq!(back.positions[(i, j)].to_bits(), at(i + 4 * j));
            }
        }
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in [r#""""#, r#""3fb""#, r#""3fb999999999999g""#, r#""é99999999999999""#, "1.5"] {
            assert!(serde_json::from_str::<One>(text).is_err(), "{text}");
        }
        let short = r#"{"positions":{"rows":2,"columns":1,"values":"3fb999999999999a"},"log_p":""}"#;
        let error = serde_json::from_str::<Ensemble>(short).unwrap_err().to_string();
        assert!(error.starts_with("1 values do not fill 2 x 1"), "{error}");
    }
}
