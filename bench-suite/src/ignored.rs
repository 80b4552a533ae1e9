//! Settings without effect: serde accepts any key beside a kind that has no settings of its own.

use toml::Value;

/// A key that no setting has as its value: it is accepted only where the key is ignored.
fn nothing() -> Value {
    Value::Array(vec![Value::Array(vec![Value::Boolean(false)])])
}

/// The first key beside a `kind`, with its place, that may have any value: `is_read` accepts the whole settings without it.
pub(crate) fn ignored(settings: &Value, is_read: &dyn Fn(Value) -> bool) -> Option<String> {
    match settings {
        Value::Table(table) => table.iter().find_map(|(key, value)| {
            let with = |value: Value| {
                let mut table = table.clone();
                table.insert(key.clone(), value);
                is_read(Value::Table(table))
            };
            if table.contains_key("kind") && key != "kind" && with(nothing()) {
                return Some(key.clone());
            }
            ignored(value, &with).map(|inner| format!("{key}.{inner}"))
        }),
        Value::Array(values) => values.iter().enumerate().find_map(|(k, value)| {
            let with = |value: Value| {
                let mut values = values.clone();
                values[k] = value;
                is_read(Value::Array(values))
            };
            ignored(value, &with)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::catalog::{FamilyConfig, OptimizerConfig, Start};

    fn found<T: for<'de> Deserialize<'de>>(text: &str) -> Option<String> {
        let settings: Value = toml::from_str(text).unwrap();
        let is_read = |settings: Value| T::deserialize(settings).is_ok();
        assert!(is_read(settings.clone()), "{text}");
        ignored(&settings, &is_read)
    }

    #[test]
    fn a_key_of_a_kind_without_settings_is_found() {
        assert_eq!(found::<FamilyConfig>("kind = 'full-rank'\nlink = 'exp'").as_deref(), Some("link"));
        assert_eq!(found::<Start>("kind = 'standard'\nmean = 3.0").as_deref(), Some("mean"));
        // Counterexamples: settings that the kinds have.
        assert_eq!(found::<FamilyConfig>("kind = 'mean-field'\nlink = 'exp'"), None);
        assert_eq!(found::<Start>("kind = 'placed'\nmean = 3.0\nscale = 1.0"), None);
        let rate = "kind = 'adam'\nrate = { kind = 'power', gamma = 0.1, exponent = 0.5 }";
        assert_eq!(found::<OptimizerConfig>(rate), None);
    }
}
