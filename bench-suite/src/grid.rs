//! Grids of settings: expansion of lists in a file to all combinations of their values.

use mcsa_core::Error;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use toml::Value;

/// A table of settings. Settings that are lists of plain values expand to all combinations; later keys vary fastest. The keys
/// `on`, `with` and `label` are not settings: they list the labels of the targets and the kinds of methods that the entry applies
/// to, and name the entry for claims, figures and tables.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Entry {
    on: Option<Vec<String>>,
    with: Option<Vec<String>>,
    label: Option<String>,
    #[serde(flatten)]
    settings: toml::Table,
}

/// A value with the labels of the targets and the kinds of methods it applies to; without names it applies to all.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    entry: Entry,
}

/// Reads a setting outside a grid, `{ kind = "standard", label = "near" }`.
impl<'de, T: DeserializeOwned> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut settings = toml::Table::deserialize(deserializer)?;
        let label = match settings.remove("label") {
            Some(Value::String(label)) => Some(label),
            Some(other) => return Err(D::Error::custom(format!("label = {other}: a word is needed"))),
            None => None,
        };
        let value = T::deserialize(Value::Table(settings));
        let value = value.map_err(|error| D::Error::custom(error.message()))?;
        Ok(Self { value, entry: Entry { label, ..Entry::default() } })
    }
}

pub(crate) fn is_among(names: &Option<Vec<String>>, name: &str) -> bool {
    names.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
}

impl<T> Placed<T> {
    /// The entry with another value.
    pub fn map<U>(self, value: impl FnOnce(T) -> U) -> Placed<U> {
        Placed { value: value(self.value), entry: self.entry }
    }

    /// Returns true if the value applies to the target with this label.
    pub fn is_on(&self, label: &str) -> bool {
        is_among(&self.entry.on, label)
    }

    /// Returns true if the value applies to methods of this kind.
    pub fn is_with(&self, kind: &str) -> bool {
        is_among(&self.entry.with, kind)
    }

    /// The name of the entry for claims, figures and tables.
    pub fn label(&self) -> Option<&str> {
        self.entry.label.as_deref()
    }

    /// The labels of `on`; empty if there are none.
    pub fn names(&self) -> &[String] {
        self.entry.on.as_deref().unwrap_or_default()
    }
}

/// Refuses an entry whose `with` names a kind of method that is not in the experiment.
///
/// # Errors
/// If there is one; the message names it.
pub fn check_with<'p, T: 'p>(
    kinds: &[&str],
    placed: impl IntoIterator<Item = &'p Placed<T>>,
) -> Result<(), Error> {
    let mut named = placed.into_iter().flat_map(|placed| placed.entry.with.as_deref().unwrap_or_default());
    match named.find(|kind| !kinds.contains(&kind.as_str())) {
        Some(kind) => Err(Error::invalid(format!("with = {kind:?}: no [[fits.method]] is of this kind"))),
        None => Ok(()),
    }
}

/// Refuses an entry whose `on` names a target that is not in the experiment: it would silently run fewer jobs.
///
/// # Errors
/// If such a label exists; the message names the label and the section.
pub fn check_on<'p, T: 'p>(
    section: &str,
    labels: &[&str],
    placed: impl IntoIterator<Item = &'p Placed<T>>,
) -> Result<(), Error> {
    let mut named = placed.into_iter().flat_map(Placed::names);
    match named.find(|name| !labels.contains(&name.as_str())) {
        Some(name) => Err(Error::invalid(format!("on = {name:?}: no [[{section}]] is called so"))),
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

/// All combinations of all entries, deserialised.
///
/// # Errors
/// If a key or a value is unknown; the message names the entry of `section` and what would have been accepted.
pub fn expand<T: DeserializeOwned>(section: &str, entries: &[Entry]) -> Result<Vec<Placed<T>>, Error> {
    let mut values = Vec::new();
    for (number, entry) in (1..).zip(entries) {
        for table in combinations(&entry.settings, &plain_values) {
            let place = |error: toml::de::Error| {
                let reason = error.message().to_owned();
                Error::invalid(reason)
                    .within(format!("[[{section}]] number {number} ({})", inline(&entry.settings)))
            };
            let value = T::deserialize(Value::Table(table)).map_err(place)?;
            values.push(Placed { value, entry: entry.clone() });
        }
    }
    match values.is_empty() {
        true => Err(Error::invalid(format!("no [[{section}]]: at least one is needed"))),
        false => Ok(values),
    }
}

fn inline(table: &toml::Table) -> String {
    let pairs: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    pairs.join(", ")
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

    fn entries(text: &str) -> Vec<Entry> {
        vec![toml::from_str(text).unwrap()]
    }

    #[test]
    fn a_list_stands_for_each_of_its_values() {
        let pairs = expand::<Pair>("x", &entries("a = [1, 2]\nb = ['u', 'v']")).unwrap();
        let found: Vec<String> = pairs.iter().map(|p| format!("{}{}", p.value.a, p.value.b)).collect();
        assert_eq!(found, ["1u", "1v", "2u", "2v"]);
        assert!(pairs[0].is_on("anything"));
    }

    #[test]
    fn an_entry_can_be_for_some_targets_alone() {
        let pairs = expand::<Pair>("x", &entries("a = 1\nb = 'u'\non = ['pima']")).unwrap();
        assert!(pairs.len() == 1 && pairs[0].is_on("pima") && !pairs[0].is_on("sonar"));
    }

    #[test]
    fn an_unknown_key_is_named_with_its_entry() {
        let error = expand::<Pair>("fits.method", &entries("a = 1\nb = 'u'\nc = 3")).unwrap_err().to_string();
        assert!(error.contains("[[fits.method]] number 1") && error.contains("unknown field `c`"), "{error}");
        assert!(expand::<Pair>("x", &[]).is_err());
    }
}
