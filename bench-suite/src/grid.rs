//! Lists that stand for each of their values.

use mcsa::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A table of settings of which some may be lists of plain values: one entry for each combination, later keys turning
/// fastest.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Entry(pub toml::Table);

impl Entry {
    fn expanded(&self) -> Vec<toml::Table> {
        let mut tables = vec![toml::Table::new()];
        for (key, value) in &self.0 {
            let values = match value {
                toml::Value::Array(values) if values.iter().all(is_plain) && !values.is_empty() => {
                    values.clone()
                }
                other => vec![other.clone()],
            };
            let with = |table: &toml::Table, value: &toml::Value| {
                let mut table = table.clone();
                table.insert(key.clone(), value.clone());
                table
            };
            tables =
                tables.iter().flat_map(|t| values.iter().map(|v| with(t, v)).collect::<Vec<_>>()).collect();
        }
        tables
    }
}

fn is_plain(value: &toml::Value) -> bool {
    !matches!(value, toml::Value::Array(_) | toml::Value::Table(_))
}

/// All combinations of all entries, typed.
///
/// # Errors
/// If a key or a value is unknown: the message says in which entry of `section`, and what would have been accepted.
pub fn expand<T: DeserializeOwned>(section: &str, entries: &[Entry]) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    for (number, entry) in (1..).zip(entries) {
        for table in entry.expanded() {
            let place = |error: toml::de::Error| {
                let reason = error.message().to_owned();
                Error::invalid(reason).within(format!("[[{section}]] number {number} ({})", inline(&entry.0)))
            };
            values.push(T::deserialize(toml::Value::Table(table)).map_err(place)?);
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
        let pairs: Vec<Pair> = expand("x", &entries("a = [1, 2]\nb = ['u', 'v']")).unwrap();
        let found: Vec<String> = pairs.iter().map(|pair| format!("{}{}", pair.a, pair.b)).collect();
        assert_eq!(found, ["1u", "1v", "2u", "2v"]);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_entry() {
        let error = expand::<Pair>("fits.method", &entries("a = 1\nb = 'u'\nc = 3")).unwrap_err().to_string();
        assert!(error.contains("[[fits.method]] number 1") && error.contains("unknown field `c`"), "{error}");
        assert!(expand::<Pair>("x", &[]).is_err());
    }
}
