//! Input of a finite problem, as JSON.

use mcsa_core::Error;
use mcsa_theory::{Instance, Rational, rational};
use serde_json::Value;

/// A finite problem, with the numbers of states and candidates for which it is solved.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Target, proposal and score.
    pub instance: Instance<Rational>,
    /// Numbers of transitions, averaged states, or chains.
    pub n: Vec<usize>,
    /// Numbers of candidates, including the retained point.
    pub candidates: Vec<usize>,
}

const KEYS: [&str; 5] = ["pi", "q", "s", "n", "candidates"];

/// Largest number of transitions.
const LONGEST: u64 = 1_000;

/// Largest number of vectors of counts that can be summed in doubles within seconds.
pub(super) const COUNT_VECTORS: usize = 2_000_000;

/// Largest number of atoms.
const ATOMS: usize = 64;

impl Question {
    /// Parses JSON: `pi`, `q` and `s` are lists of numbers or of strings such as `"1/3"`; `n` (default 1) and `candidates`
    /// (default 2) are lists of whole numbers. A decimal is read as the exact fraction, not as the nearest double.
    ///
    /// # Errors
    /// If the text is not such JSON or `pi` or `q` is not a distribution; the position is named, as in `pi[2]`.
    pub fn read(text: &str) -> Result<Self, Error> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Error::invalid(format!("not JSON: {error}")))?;
        let Value::Object(table) = &value else {
            return Err(Error::invalid("expected an object with the keys pi, q, s, n and candidates"));
        };
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(Error::invalid(format!("unknown key {key:?}, expected {}", KEYS.join(", "))));
        }
        let numbers = |key: &str| {
            let list = list(key, table.get(key).ok_or_else(|| Error::invalid(format!("{key} is missing")))?)?;
            // The number of atoms is checked first: parsing a million fractions takes seconds.
            if list.len() > ATOMS {
                return Err(Error::invalid(format!(
                    "{key} has {} atoms, expected at most {ATOMS}",
                    list.len()
                )));
            }
            list.iter().enumerate().map(|(k, value)| number(key, k, value)).collect::<Result<Vec<_>, _>>()
        };
        let counts = |key: &str, least, default| match table.get(key) {
            None => Ok(vec![default]),
            Some(value) => {
                let list = list(key, value)?;
                if list.len() as u64 > LONGEST {
                    return Err(Error::invalid(format!(
                        "{key} has {} entries, expected at most {LONGEST}",
                        list.len()
                    )));
                }
                let list = list.iter().enumerate();
                list.map(|(k, value)| count(key, k, value, least)).collect::<Result<Vec<_>, _>>()
            }
        };
        let (pi, q, s) = (numbers("pi")?, numbers("q")?, numbers("s")?);
        let instance = Instance::new(&pi, &q, &s)?;
        let question = Self { n: counts("n", 1, 1)?, candidates: counts("candidates", 2, 2)?, instance };
        for (k, &candidates) in question.candidates.iter().enumerate() {
            let vectors = question.instance.count_vectors(candidates);
            if vectors > COUNT_VECTORS {
                return Err(Error::invalid(format!(
                    "candidates[{k}] is {candidates}: on {} atoms these are {vectors} vectors of counts, more than \
                     the {COUNT_VECTORS} that can be summed; ask for fewer",
                    question.instance.len()
                )));
            }
        }
        Ok(question)
    }
}

fn list<'a>(key: &str, value: &'a Value) -> Result<&'a [Value], Error> {
    let list = value
        .as_array()
        .ok_or_else(|| Error::invalid(format!("{key} is {}, expected a list", kind(value))))?;
    if list.is_empty() { Err(Error::invalid(format!("{key} is empty"))) } else { Ok(list) }
}

fn number(key: &str, k: usize, value: &Value) -> Result<Rational, Error> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(_) if key == "s" => {
            return Err(Error::invalid(format!(
                "s[{k}] is a vector, but scores are scalar here: ask for one coordinate at a time"
            )));
        }
        other => {
            return Err(Error::invalid(format!(
                "{key}[{k}] is {}, expected a number or a text such as \"1/3\"",
                kind(other)
            )));
        }
    };
    rational(&text).ok_or_else(|| {
        Error::invalid(format!("{key}[{k}] is {text:?}, expected a number or a fraction such as \"1/3\""))
    })
}

fn count(key: &str, k: usize, value: &Value, least: u64) -> Result<usize, Error> {
    let right = value.as_u64().filter(|count| (least..=LONGEST).contains(count));
    right.and_then(|count| usize::try_from(count).ok()).ok_or_else(|| {
        Error::invalid(format!("{key}[{k}] is {value}, expected a whole number from {least} to {LONGEST}"))
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Question::read(text).unwrap_err().to_string()
    }

    #[test]
    fn numbers_and_fractions_are_read_alike() {
        let a = Question::read(r#"{"pi": [0.1, "9/10"], "q": ["0.5", 5e-1], "s": [1, "-2"]}"#).unwrap();
        let b =
            Question::read(r#"{"pi": ["1/10", 0.9], "q": [0.5, 0.5], "s": ["1", -2], "n": [1]}"#).unwrap();
        assert_eq!(a, b);
        assert_eq!((a.n, a.candidates), (vec![1], vec![2]));
    }

    #[test]
    fn refusals_name_the_place() {
        let tables = |pi: &str, q: &str, s: &str| format!(r#"{{"pi": {pi}, "q": {q}, "s": {s}}}"#);
        let half = r#"["1/2", "1/2"]"#;
        assert!(refused("{").starts_with("not JSON"));
        assert!(refused("[]").starts_with("expected an object"));
        assert_eq!(refused(&tables(half, "1", "[0, 1]")), "q is a number, expected a list");
        assert_eq!(refused(&tables("[]", half, half)), "pi is empty");
        assert_eq!(refused(r#"{"pi": [1], "q": [1]}"#), "s is missing");
        assert!(refused(r#"{"pi": [1], "p": [1]}"#).starts_with("unknown key \"p\""));
        assert!(refused(&tables(half, half, r#"[1, "x"]"#)).starts_with("s[1] is \"x\""));
        assert!(refused(&tables(half, half, "[[1], [2]]")).starts_with("s[0] is a vector"));
        assert!(refused(&tables(half, "[null, 1]", "[1, 2]")).starts_with("q[0] is null"));
        assert_eq!(refused(&tables(half, half, "[1]")), "s has length 1, expected 2");
        assert_eq!(refused(&tables("[0.5, 0.4]", half, "[1, 2]")), "pi: the sum is 0.9, expected 1");
        assert_eq!(refused(&tables("[1.5, -0.5]", half, "[1, 2]")), "pi[1] is -0.5, expected not negative");
        assert!(refused(&tables(half, "[0, 1]", "[1, 2]")).starts_with("q[0] is 0 where pi[0] is 0.5"));
        let long = format!("[{}]", vec!["\"x\""; 65].join(","));
        assert_eq!(refused(&tables(&long, half, half)), "pi has 65 atoms, expected at most 64");
        assert_eq!(refused(&tables(half, half, &long)), "s has 65 atoms, expected at most 64");
        assert!(refused(&tables(r#"["1e-2147483648", 1]"#, half, "[1, 2]")).starts_with("pi[0] is"));
        let counts = |more: &str| refused(&format!(r#"{{"pi": [1], "q": [1], "s": [1], {more}}}"#));
        assert_eq!(counts(r#""n": [1, 0]"#), "n[1] is 0, expected a whole number from 1 to 1000");
        assert!(counts(r#""n": [1.5]"#).starts_with("n[0] is 1.5"));
        assert!(
            counts(r#""candidates": [1]"#).starts_with("candidates[0] is 1, expected a whole number from 2")
        );
        let many = r#"{"pi": [0.2,0.2,0.2,0.2,0.2], "q": [0.2,0.2,0.2,0.2,0.2], "s": [1,2,3,4,5], "candidates": [999]}"#;
        assert!(refused(many).starts_with("candidates[0] is 999: on 5 atoms"));
    }
}
