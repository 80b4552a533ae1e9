//! Numbers in a file whose format knows no infinities.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number, or the word for one that JSON lacks.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Word(String),
}

const WORDS: [(&str, f64); 3] = [("inf", f64::INFINITY), ("-inf", f64::NEG_INFINITY), ("nan", f64::NAN)];

/// Writes `inf`, `-inf` and `nan` as words.
pub(crate) fn serialize<S: Serializer>(
    map: &BTreeMap<String, f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let written = |value: f64| {
        let word = WORDS
            .iter()
            .find(|(_, known)| known.to_bits() == value.to_bits() || (known.is_nan() && value.is_nan()));
        word.map_or(Written::Number(value), |(word, _)| Written::Word((*word).to_owned()))
    };
    serializer.collect_map(map.iter().map(|(name, value)| (name, written(*value))))
}

/// Reads them back.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    let map = BTreeMap::<String, Written>::deserialize(deserializer)?;
    let read = |(name, written)| match written {
        Written::Number(value) => Ok((name, value)),
        Written::Word(word) => {
            let known = WORDS.iter().find(|(known, _)| *known == word);
            known
                .map(|(_, value)| (name, *value))
                .ok_or_else(|| D::Error::custom(format!("{word:?} is no number")))
        }
    };
    map.into_iter().map(read).collect()
}
