//! Grids of settings: lists in a file stand for all combinations of their values.

use mcsa_core::Error;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use toml::Value;

/// A value with the labels of the targets and the kinds of methods it applies to; without names it applies to all. Outside a grid
/// it has a label alone: `{ kind = "standard", label = "near" }`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
pub struct Placed<T> {
    /// The value.
    #[serde(flatten, deserialize_with = "whole")]
    pub value: T,
    #[serde(skip)]
    on: Option<Vec<String>>,
    #[serde(skip)]
    with: Option<Vec<String>>,
    label: Option<String>,
}

/// A table of settings. The keys `on`, `with` and `label` are not settings: they list the labels of the targets and the kinds of
/// methods that the entry applies to, and name the entry for claims, figures and tables.
#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Entry<T> {
    on: Option<Vec<String>>,
    with: Option<Vec<String>>,
    label: Option<String>,
    #[serde(flatten, deserialize_with = "combined")]
    values: Vec<T>,
}

/// Reads the tables of a section. Settings that are lists of plain values expand to all combinations; later keys vary fastest.
///
/// # Errors
/// If a key or a value is unknown; the message names its table and what would have been accepted.
pub fn grid<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Vec<Placed<T>>, D::Error> {
    let of_entry = |Entry { on, with, label, values }: Entry<T>| {
        let (on, with, label) = (move || on.clone(), move || with.clone(), move || label.clone());
        values.into_iter().map(move |value| Placed { value, on: on(), with: with(), label: label() })
    };
    let all: Vec<_> = Vec::deserialize(from)?.into_iter().flat_map(of_entry).collect();
    if all.is_empty() { Err(D::Error::custom("at least one entry is needed")) } else { Ok(all) }
}

fn combined<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let tables = combinations(&toml::Table::deserialize(from)?, &plain_values).into_iter();
    tables.map(|table| whole(Value::Table(table)).map_err(D::Error::custom)).collect()
}

/// Reads a value from all keys that are left, so that an unknown one is an error.
fn whole<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::deserialize(Value::deserialize(from)?).map_err(|error| D::Error::custom(error.message()))
}

pub(crate) fn is_among(names: &Option<Vec<String>>, name: &str) -> bool {
    names.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
}

impl<T> Placed<T> {
    /// The entry with another value.
    pub fn map<U>(self, value: impl FnOnce(T) -> U) -> Placed<U> {
        Placed { value: value(self.value), on: self.on, with: self.with, label: self.label }
    }

    /// Returns true if the value applies to the target with this label.
    pub fn is_on(&self, label: &str) -> bool {
        is_among(&self.on, label)
    }

    /// Returns true if the value applies to methods of this kind.
    pub fn is_with(&self, kind: &str) -> bool {
        is_among(&self.with, kind)
    }

    /// The name of the entry for claims, figures and tables.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

/// An error for an entry whose `on` names a target, or whose `with` a kind of method, that is not in the experiment: it would silently
/// run fewer jobs. `targets` are the labels of `[[section]]`.
pub fn check_names<T>(
    placed: &[Placed<T>],
    (section, targets): (&str, &[&str]),
    methods: &[&str],
) -> Result<(), Error> {
    let unknown = |of: fn(&Placed<T>) -> &Option<Vec<String>>, known: &[&str]| {
        let mut named = placed.iter().flat_map(of).flatten();
        named.find(|name| !known.contains(&name.as_str())).cloned()
    };
    if let Some(label) = unknown(|placed| &placed.on, targets) {
        return Err(Error::invalid(format!("on = {label:?}: no [[{section}]] is called so")));
    }
    match unknown(|placed| &placed.with, methods) {
        Some(kind) => Err(Error::invalid(format!("with = {kind:?}: no [[fits.method]] is of this kind"))),
        None => Ok(()),
    }
}

/// All combinations of the values that a table has for each key; later keys vary fastest.
pub(crate) fn combinations(table: &toml::Table, values: &dyn Fn(&Value) -> Vec<Value>) -> Vec<toml::Table> {
    let mut all = vec![toml::Table::new()];
    for (key, value) in table {
        let values = values(value);
        let with = |table: &toml::Table, value: &Value| {
            let mut table = table.clone();
            table.insert(key.clone(), value.clone());
            table
        };
        all = all.iter().flat_map(|t| values.iter().map(|v| with(t, v)).collect::<Vec<_>>()).collect();
    }
    all
}

/// The values of a list of plain ones, or the value itself.
fn plain_values(value: &Value) -> Vec<Value> {
    let is_plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Table(_));
    match value {
        Value::Array(values) if values.iter().all(is_plain) && !values.is_empty() => values.clone(),
        other => vec![other.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        a: u8,
        b: String,
    }

    fn pairs(text: &str) -> Result<Vec<Placed<Pair>>, toml::de::Error> {
        #[derive(Deserialize)]
        struct Section {
            #[serde(deserialize_with = "grid")]
            pair: Vec<Placed<Pair>>,
        }
        toml::from_str::<Section>(text).map(|section| section.pair)
    }

    #[test]
    fn a_list_stands_for_each_of_its_values() {
        let pairs = pairs("[[pair]]\na = [1, 2]\nb = ['u', 'v']").unwrap();
        let found: Vec<String> = pairs.iter().map(|p| format!("{}{}", p.value.a, p.value.b)).collect();
        assert_eq!(found, ["1u", "1v", "2u", "2v"]);
        assert!(pairs[0].is_on("anything"));
    }

    #[test]
    fn an_entry_can_be_for_some_targets_alone() {
        let pairs = pairs("[[pair]]\na = 1\nb = 'u'\non = ['pima']").unwrap();
        assert!(pairs.len() == 1 && pairs[0].is_on("pima") && !pairs[0].is_on("sonar"));
    }

    #[test]
    fn an_unknown_key_is_named_with_its_entry() {
        let error =
            pairs("[[pair]]\na = 1\nb = 'u'\n[[pair]]\na = 1\nb = 'u'\nc = 3").unwrap_err().to_string();
        assert!(error.contains("line 4") && error.contains("[[pair]]"), "{error}");
        assert!(error.contains("unknown field `c`") && pairs("pair = []").is_err(), "{error}");
        // A value outside a grid applies to everything.
        assert!(toml::from_str::<Placed<Pair>>("a = 1\nb = 'u'\non = ['pima']").is_err());
        assert_eq!(toml::from_str::<Placed<Pair>>("a = 1\nb = 'u'\nlabel = 'x'").unwrap().label(), Some("x"));
    }
}
