//! Checkpoints of jobs: state files with code, job and vector unit.

use std::path::Path;

use mcsa_core::Error;
use mcsa_estimators::StateFile;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::task::Job;

/// First words of the file; the number is the version of the format.
const FORMAT: &str = "mcsa job 1";

#[derive(Serialize, Deserialize)]
struct Saved<J, T> {
    code: String,
    /// Vector unit; several, joined by `+`, if the job went from one machine to another.
    unit: String,
    job: J,
    state: T,
}

/// Writes the state of a job, computed by `code` on the vector unit `unit`.
pub(super) fn write<T: Serialize>(
    path: &Path,
    code: &str,
    unit: &str,
    job: &Job,
    state: &T,
) -> Result<(), Error> {
    let saved = Saved { code: code.to_owned(), unit: unit.to_owned(), job, state };
    StateFile::new(path, FORMAT).write(&saved)
}

/// State and vector unit of a job; `None` if there is no file.
///
/// # Errors
/// If the file is damaged, of other code or of another job; the message names the first difference.
pub(super) fn read<T: DeserializeOwned>(
    path: &Path,
    code: &str,
    job: &Job,
) -> Result<Option<(T, String)>, Error> {
    let file = StateFile::new(path, FORMAT);
    let Some(saved) = file.read::<Saved<Value, IgnoredAny>>()? else { return Ok(None) };
    if saved.code != code {
        return Err(file.refuse("it is of another version of this program; delete it to start anew"));
    }
    let asked = serde_json::to_value(job).map_err(|error| file.refuse(&error.to_string()))?;
    if let Some(difference) = difference("", &saved.job, &asked) {
        let other = "give the arguments of that fit or another file";
        return Err(file.refuse(&format!("it is of another fit: {difference}; {other}")));
    }
    let saved = file.read::<Saved<IgnoredAny, T>>()?;
    Ok(saved.map(|saved| (saved.state, saved.unit)))
}

/// The first difference between two JSON values.
fn difference(place: &str, there: &Value, here: &Value) -> Option<String> {
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let inner = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                let of = |map: &serde_json::Map<_, _>| map.get(key).cloned().unwrap_or(Value::Null);
                difference(&inner, &of(a), &of(b))
            })
        }
        _ if there == here => None,
        _ => Some(format!("{place} is {there} there and {here} here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named() {
        let ours = json!({"task": {"fit": {"steps": 3, "method": {"kind": "pmcsa"}}}});
        assert_eq!(difference("", &ours, &ours), None);
        let theirs = json!({"task": {"fit": {"steps": 3, "method": {"kind": "jsa"}}}});
        let said = difference("", &theirs, &ours).unwrap();
        assert_eq!(said, "task.fit.method.kind is \"jsa\" there and \"pmcsa\" here");
        let longer = json!({"task": {"fit": {"steps": 3, "method": {"kind": "pmcsa"}, "averaged": 2}}});
        assert_eq!(difference("", &ours, &longer).unwrap(), "task.fit.averaged is null there and 2 here");
    }
}
