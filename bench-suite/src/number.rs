//! Numbers in JSON. Infinities and NaN, which JSON lacks, are written as the words `"nan"`, `"inf"` and `"-inf"`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number in JSON: itself, or a word if it is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

/// The two forms in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Word(String),
}

const WORDS: [(&str, f64); 3] = [("inf", f64::INFINITY), ("-inf", f64::NEG_INFINITY), ("nan", f64::NAN)];

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(value) = self;
        let is_it = |known: f64| known == *value || (known.is_nan() && value.is_nan());
        match WORDS.iter().find(|(_, known)| is_it(*known)) {
            Some((word, _)) => serializer.serialize_str(word),
            None => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(value) => Ok(Self(value)),
            Written::Word(word) => {
                let known = WORDS.iter().find(|(known, _)| *known == word);
                let refused = || D::Error::custom(format!("{word:?} is no number"));
                known.map(|(_, value)| Self(*value)).ok_or_else(refused)
            }
        }
    }
}

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
