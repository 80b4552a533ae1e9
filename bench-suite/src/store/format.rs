//! File format of results, with a checksum. Results are lines of JSON: one line for each result, then one for each metric with the
//! values of all results, whose numbers are alike and compress well together.
//!
//! ```text
//! {"id":"5f..","code":"0c..","unit":"avx2","ended":{..}}      its origin, its end and, in the store, its job
//! {"step":[[0,10,20],..]}                                     steps of the rows of each result
//! {"name":"kl","values":[[1.5,null,0.25],..]}                 a metric; null, or no values, where there is none
//! {"vector":"means","values":[[[0.5,1.25],null,null],..]}     likewise a vector
//! ```
//! In the store a file has one result and a last line with the SHA-256 of all lines before it (equal to that of
//! `head -n -1 FILE | sha256sum`). Checkpoints of jobs are state files with code, job and vector unit.

use std::collections::BTreeSet;
use std::path::Path;

use mcsa_core::Error;
use mcsa_estimators::StateFile;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::row::{Ended, Number, Outcome, Row, numbers};
use crate::metric::{Vector, metric};
use crate::task::Job;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) confirmed: Option<String>,
    /// Vector unit; several, joined by `+`, if a checkpoint went from one machine to another.
    pub(crate) unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<Job>,
    pub(crate) ended: Ended,
}

impl Head {
    /// The last code that computed or confirmed the result.
    pub(crate) fn version(&self) -> &str {
        self.confirmed.as_ref().unwrap_or(&self.code)
    }

    pub(crate) fn outcome(self, job: Job, rows: Vec<Row>) -> Outcome {
        let Self { code, confirmed, unit, date, ended, .. } = self;
        Outcome { job, rows, ended, unit, code, confirmed, date }
    }
}

#[derive(Serialize, Deserialize)]
struct Steps {
    step: Vec<Vec<u64>>,
}

#[derive(Serialize, Deserialize)]
struct Column<T> {
    #[serde(alias = "vector")]
    name: String,
    values: Vec<Vec<Option<T>>>,
}

/// Reason why a file cannot be used, phrased to follow its name.
pub(crate) type Reason = String;

/// Lines of some results.
pub(crate) fn lines(results: &[(Head, Vec<Row>)]) -> Result<String, Reason> {
    let mut text = String::new();
    results.iter().try_for_each(|(head, _)| push(&mut text, head))?;
    let step = results.iter().map(|(_, rows)| rows.iter().map(|row| row.step).collect()).collect();
    push(&mut text, &Steps { step })?;
    let rows = || results.iter().flat_map(|(_, rows)| rows);
    for name in rows().flat_map(|row| row.values.keys().copied()).collect::<BTreeSet<_>>() {
        let values = column(results, |row| row.values.get(name).copied().map(Number));
        push(&mut text, &Column { name: name.to_owned(), values })?;
    }
    for vector in rows().flat_map(|row| row.vectors.keys().copied()).collect::<BTreeSet<_>>() {
        let values = column(results, |row| row.vectors.get(&vector).map(|values| numbers(values)));
        let mut line = String::new();
        push(&mut line, &Column { name: vector.name().to_owned(), values })?;
        text += &line.replacen("{\"name\":", "{\"vector\":", 1);
    }
    Ok(text)
}

fn column<T>(results: &[(Head, Vec<Row>)], value: impl Fn(&Row) -> Option<T>) -> Vec<Vec<Option<T>>> {
    let of = |rows: &[Row]| {
        let values: Vec<Option<T>> = rows.iter().map(&value).collect();
        if values.iter().any(Option::is_some) { values } else { Vec::new() }
    };
    results.iter().map(|(_, rows)| of(rows)).collect()
}

/// Results of some lines. Metrics that are no more are left out.
pub(crate) fn read_lines(text: &str) -> Result<Vec<(Head, Vec<Row>)>, Reason> {
    let mut results: Vec<(Head, Vec<Row>)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let malformed = |error: serde_json::Error| format!("line {}: {error}", number + 1);
        let uneven = || format!("line {}: the values are not as many as the rows", number + 1);
        if line.starts_with("{\"id\":") {
            results.push((serde_json::from_str(line).map_err(malformed)?, Vec::new()));
        } else if line.starts_with("{\"step\":") {
            let Steps { step } = serde_json::from_str(line).map_err(malformed)?;
            if step.len() != results.len() {
                return Err(uneven());
            }
            for ((_, rows), steps) in results.iter_mut().zip(step) {
                rows.extend(steps.into_iter().map(|step| Row::new(step, [])));
            }
        } else if line.starts_with("{\"vector\":") {
            let Column::<Vec<Number>> { name, values } = serde_json::from_str(line).map_err(malformed)?;
            let Ok(vector) = name.parse::<Vector>() else { continue };
            let put = |row: &mut Row, value: Vec<Number>| {
                row.vectors.insert(vector, value.into_iter().map(|Number(value)| value).collect());
            };
            fill(&mut results, values, put).ok_or_else(uneven)?;
        } else {
            let Column::<Number> { name, values } = serde_json::from_str(line).map_err(malformed)?;
            let Some(name) = metric(&name) else { continue };
            let put = |row: &mut Row, Number(value)| {
                row.values.insert(name, value);
            };
            fill(&mut results, values, put).ok_or_else(uneven)?;
        }
    }
    Ok(results)
}

/// Puts values of a column into rows; `None` if they are not as many.
fn fill<T>(
    results: &mut [(Head, Vec<Row>)],
    values: Vec<Vec<Option<T>>>,
    put: impl Fn(&mut Row, T),
) -> Option<()> {
    let is_even = |(values, (_, rows)): (&Vec<Option<T>>, &(Head, Vec<Row>))| {
        values.is_empty() || values.len() == rows.len()
    };
    if values.len() != results.len() || !values.iter().zip(&*results).all(is_even) {
        return None;
    }
    for ((_, rows), values) in results.iter_mut().zip(values) {
        for (row, value) in rows.iter_mut().zip(values) {
            value.into_iter().for_each(|value| put(row, value));
        }
    }
    Some(())
}

fn push<T: Serialize>(text: &mut String, value: &T) -> Result<(), Reason> {
    text.push_str(&serde_json::to_string(value).map_err(|error| error.to_string())?);
    text.push('\n');
    Ok(())
}

/// Text of a result in the store.
pub(super) fn result(
    code: &str,
    unit: &str,
    job: &Job,
    rows: &[Row],
    ended: &Ended,
) -> Result<String, Reason> {
    let [code, unit] = [code, unit].map(String::from);
    let head = Head {
        id: job.id(),
        code,
        confirmed: None,
        unit,
        date: None,
        job: Some(job.clone()),
        ended: ended.clone(),
    };
    let mut text = lines(&[(head, rows.to_vec())])?;
    let seal = json!({ "sha256": checksum(text.as_bytes()) });
    push(&mut text, &seal)?;
    Ok(text)
}

/// Parses the result of a job from code with a given fingerprint.
pub(super) fn read_result(bytes: &[u8], code: &str, job: &Job) -> Result<Outcome, Reason> {
    let text = text_of(bytes)?;
    let body = text.strip_suffix('\n').ok_or("its last line is cut short")?;
    let (body, seal) = body.rsplit_once('\n').ok_or("it is cut short after its first line")?;
    let seal =
        serde_json::from_str(seal).ok().and_then(|seal: Value| seal["sha256"].as_str().map(String::from));
    let sha256 =
        seal.ok_or("its last line is no checksum: it was cut short, or written by an earlier version")?;
    let body = &text[..=body.len()];
    if checksum(body.as_bytes()) != sha256 {
        return Err("its checksum is that of other lines: it was changed after it was written".into());
    }
    let mut results = read_lines(body)?.into_iter();
    let (Some((mut head, rows)), None) = (results.next(), results.next()) else {
        return Err("it does not hold one result".into());
    };
    if head.code != code {
        return Err(format!("it was made by the code {}, and its name says {code}", head.code));
    }
    match head.job.take() {
        Some(found) if found == *job => Ok(head.outcome(found, rows)),
        found => Err(format!("it holds another job: {}", found.map_or(head.id, |job| job.title()))),
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, Reason> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not text in UTF-8")
    })
}

/// SHA-256 of some bytes, as hexadecimal digits.
fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// First words of a checkpoint; the number is the version of the format.
const CHECKPOINT: &str = "mcsa job 1";

#[derive(Serialize, Deserialize)]
struct Saved<J, T> {
    code: String,
    /// Vector unit; several, joined by `+`, if the job went from one machine to another.
    unit: String,
    job: J,
    state: T,
}

/// Writes the state of a job, computed by `code` on the vector unit `unit`.
pub(super) fn write_checkpoint<T: Serialize>(
    path: &Path,
    code: &str,
    unit: &str,
    job: &Job,
    state: &T,
) -> Result<(), Error> {
    let saved = Saved { code: code.to_owned(), unit: unit.to_owned(), job, state };
    StateFile::new(path, CHECKPOINT).write(&saved)
}

/// State and vector unit of a job; `None` if there is no file.
pub(super) fn read_checkpoint<T: DeserializeOwned>(
    path: &Path,
    code: &str,
    job: &Job,
) -> Result<Option<(T, String)>, Error> {
    let file = StateFile::new(path, CHECKPOINT);
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
        // A job has the key of its seed, in hexadecimal digits.
        _ if place == "seed" => Some("it has another seed".to_owned()),
        _ => Some(format!("{place} is {there} there and {here} here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn results() -> Vec<(Head, Vec<Row>)> {
        let head = |id: &str| Head {
            id: id.into(),
            code: "c".into(),
            confirmed: None,
            unit: "avx2".into(),
            date: Some("2026-01-31".into()),
            job: None,
            ended: Ended { seconds: 0.25, ..Ended::default() },
        };
        let mut last = Row::new(20, [("accuracy", 1.0 / 3.0), ("p_evaluations", 123_456_789.0)]);
        last.vectors.insert(Vector::Means, vec![0.5, -1.25, 1e-9]);
        let rows = vec![Row::new(0, [("kl", f64::NEG_INFINITY), ("p_evaluations", 0.0)]), last];
        vec![(head("aa"), rows), (head("bb"), Vec::new()), (head("cc"), vec![Row::new(7, [])])]
    }

    #[test]
    fn what_is_written_is_read() {
        let text = lines(&results()).unwrap();
        let read = read_lines(&text).unwrap();
        assert!(read.iter().zip(results()).all(|((head, rows), (other, expected))| {
            head.id == other.id && head.ended == other.ended && *rows == expected
        }));
        assert_eq!(lines(&read).unwrap(), text);
        // A metric that is no more is left out.
        let other = read_lines(&text.replace("\"accuracy\"", "\"gone\"")).unwrap();
        assert!(other[0].1[1].values.keys().eq(["p_evaluations"].iter()));
    }

    #[test]
    fn damage_is_refused_with_its_line() {
        let text = lines(&results()).unwrap();
        for (from, to, line) in [
            ("[0,20]", "[0]", "line 5: the values are not as many"),
            ("0.25", "x", "line 1"),
            ("{\"step\":[[0,20],[],[7]]}\n", "", "line 4: the values are not as many"),
            ("{\"name\"", "{\"neme\"", "line 5: missing field"),
        ] {
            let reason = read_lines(&text.replacen(from, to, 1)).unwrap_err();
            assert!(reason.starts_with(line), "{reason}");
        }
    }

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

    proptest! {
        /// No bytes make the reader panic: pieces of the text replaced.
        #[test]
        fn no_damage_panics(cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..6_usize), 1..4)) {
            let mut bytes = lines(&results()).unwrap().into_bytes();
            for (start, length, piece) in cuts {
                let start = start.index(bytes.len());
                let piece = ["", "-1", "\n", "18446744073709551615", "[[", "null"][piece];
                bytes.splice(start..(start + length).min(bytes.len()), piece.bytes());
            }
            if let Ok(text) = std::str::from_utf8(&bytes) {
                let _ = read_lines(text);
            }
        }
    }
}
