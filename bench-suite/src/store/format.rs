//! File formats of results and checkpoints, with checksums.
//!
//! A result has a line with the code and the job, a line for each row, a line on its end, and a last line with the number of
//! rows and the SHA-256 of all lines before it (equal to that of `head -n -1 FILE | sha256sum`). A checkpoint has a line with
//! the code, the job's id and the SHA-256 of the rest, and then the rest.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::row::{Ended, Outcome, Row};
use crate::task::Job;

#[derive(Serialize, Deserialize)]
struct Head {
    code: String,
    job: Job,
}

#[derive(Serialize, Deserialize)]
struct Tail {
    ended: Ended,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seal {
    rows: usize,
    sha256: String,
}

/// Reason why a file cannot be used, phrased to follow its name.
pub(super) type Reason = String;

/// Text of a result.
pub(super) fn result(code: &str, job: &Job, rows: &[Row], ended: &Ended) -> Result<String, Reason> {
    let mut text = String::new();
    push(&mut text, &Head { code: code.to_owned(), job: job.clone() })?;
    rows.iter().try_for_each(|row| push(&mut text, row))?;
    push(&mut text, &Tail { ended: ended.clone() })?;
    let sha256 = checksum(text.as_bytes());
    push(&mut text, &Seal { rows: rows.len(), sha256 })?;
    Ok(text)
}

fn push<T: Serialize>(text: &mut String, value: &T) -> Result<(), Reason> {
    text.push_str(&serde_json::to_string(value).map_err(|error| error.to_string())?);
    text.push('\n');
    Ok(())
}

/// Parses the result of a job from code with a given fingerprint.
///
/// # Errors
/// If it is incomplete, or of another job or code.
pub(super) fn read_result(bytes: &[u8], code: &str, job: &Job) -> Result<Outcome, Reason> {
    let text = text_of(bytes)?;
    let body = text.strip_suffix('\n').ok_or("its last line is cut short")?;
    let (body, seal) = body.rsplit_once('\n').ok_or("it is cut short after its first line")?;
    let seal: Seal = serde_json::from_str(seal)
        .map_err(|_| "its last line is no checksum: it was cut short, or written by an earlier version")?;
    let sealed = &text[..=body.len()];
    if checksum(sealed.as_bytes()) != seal.sha256 {
        return Err("its checksum is that of other lines: it was changed after it was written".into());
    }
    let lines: Vec<&str> = body.lines().collect();
    let [head, rows @ .., tail] = lines.as_slice() else { return Err("it has too few lines".into()) };
    let malformed = |line: usize, error: serde_json::Error| format!("line {}: {error}", line + 1);
    let head: Head = serde_json::from_str(head).map_err(|error| malformed(0, error))?;
    if head.code != code {
        return Err(format!("it was made by the code {}, and its name says {code}", head.code));
    }
    if head.job != *job {
        return Err(format!("it holds another job: {}", head.job.title()));
    }
    if rows.len() != seal.rows {
        return Err(format!("it has {} rows, and its last line says {}", rows.len(), seal.rows));
    }
    let read =
        |(k, line): (usize, &&str)| serde_json::from_str(line).map_err(|error| malformed(k + 1, error));
    let rows = rows.iter().enumerate().map(read).collect::<Result<Vec<Row>, _>>()?;
    let Tail { ended } = serde_json::from_str(tail).map_err(|error| malformed(lines.len() - 1, error))?;
    Ok(Outcome { job: head.job, rows, ended })
}

/// First words of a checkpoint.
const CHECKPOINT: &str = "mcsa checkpoint";

/// Text of a checkpoint.
pub(super) fn checkpoint<T: Serialize>(code: &str, job: &Job, content: &T) -> Result<String, Reason> {
    let text = serde_json::to_string(content).map_err(|error| error.to_string())?;
    Ok(format!("{CHECKPOINT} {code} {} {}\n{text}", job.id(), checksum(text.as_bytes())))
}

/// Parses the content of a checkpoint of this job and code.
///
/// # Errors
/// If it is incomplete, or of another job or code.
pub(super) fn read_checkpoint<T: DeserializeOwned>(bytes: &[u8], code: &str, job: &Job) -> Result<T, Reason> {
    let text = text_of(bytes)?;
    let headed = text.strip_prefix(CHECKPOINT).and_then(|rest| rest.split_once('\n'));
    let (head, body) = headed.ok_or("it does not begin as a checkpoint, or is cut short")?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let [made_by, id, sha256] = words[..] else {
        return Err("its first line does not name a code, a job and a checksum".into());
    };
    if made_by != code || id != job.id() {
        return Err(format!("it belongs to the job {id} of the code {made_by}"));
    }
    if checksum(body.as_bytes()) != sha256 {
        return Err("its checksum is that of another content: it was cut short or changed".into());
    }
    serde_json::from_str(body).map_err(|error| error.to_string())
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
