//! File formats of results and checkpoints, with checksums.
//!
//! A result has a line with the code and the job, a line for each row, a line on its end, and a last line with the number of
//! rows and the SHA-256 of all lines before it (equal to that of `head -n -1 FILE | sha256sum`). A checkpoint has a line with
//! the code, the job's id, the SHA-256 of the rest and the vector unit, and then the rest.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::row::{Ended, Outcome, Row};
use crate::task::Job;

#[derive(Serialize, Deserialize)]
struct Head {
    code: String,
    job: Job,
    /// Vector unit; several, joined by `+`, if a checkpoint went from one machine to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
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
pub(super) fn result(
    code: &str,
    unit: &str,
    job: &Job,
    rows: &[Row],
    ended: &Ended,
) -> Result<String, Reason> {
    let mut text = String::new();
    push(&mut text, &Head { code: code.to_owned(), job: job.clone(), unit: Some(unit.to_owned()) })?;
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
    Ok(Outcome { job: head.job, rows, ended, unit: head.unit, code: head.code })
}

/// First words of a checkpoint.
const CHECKPOINT: &str = "mcsa checkpoint";

/// Text of a checkpoint.
pub(super) fn checkpoint<T: Serialize>(
    code: &str,
    unit: &str,
    job: &Job,
    content: &T,
) -> Result<String, Reason> {
    let text = serde_json::to_string(content).map_err(|error| error.to_string())?;
    Ok(format!("{CHECKPOINT} {code} {} {} {unit}\n{text}", job.id(), checksum(text.as_bytes())))
}

/// Parses the content of a checkpoint of this job and code, and the vector unit of its machine.
///
/// # Errors
/// If it is incomplete, or of another job or code.
pub(super) fn read_checkpoint<T: DeserializeOwned>(
    bytes: &[u8],
    code: &str,
    job: &Job,
) -> Result<(T, String), Reason> {
    let text = text_of(bytes)?;
    let headed = text.strip_prefix(CHECKPOINT).and_then(|rest| rest.split_once('\n'));
    let (head, body) = headed.ok_or("it does not begin as a checkpoint, or is cut short")?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let [made_by, id, sha256, unit] = words[..] else {
        return Err("its first line does not name a code, a job, a checksum and a vector unit".into());
    };
    if made_by != code || id != job.id() {
        return Err(format!("it belongs to the job {id} of the code {made_by}"));
    }
    if checksum(body.as_bytes()) != sha256 {
        return Err("its checksum is that of another content: it was cut short or changed".into());
    }
    let content = serde_json::from_str(body).map_err(|error| error.to_string())?;
    Ok((content, unit.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::plan::plan;
    use crate::registry::REGISTRY;
    use crate::store::{Store, vector_unit};
    use mcsa_data::Catalogue;

    fn job() -> Job {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-cost")).unwrap();
        plan(&entry.experiment().unwrap(), PresetName::Quick, &Catalogue::new(None)).unwrap().jobs.remove(0)
    }

    /// Results without a vector unit, of earlier versions, are read; a changed unit is not.
    #[test]
    fn the_unit_of_a_result_is_sealed_and_may_be_absent() {
        let job = job();
        let text = result("c", "avx2", &job, &[], &Ended::default()).unwrap();
        assert_eq!(read_result(text.as_bytes(), "c", &job).unwrap().unit.as_deref(), Some("avx2"));
        let (body, _) = text.trim_end().rsplit_once('\n').unwrap();
        let mut before = body.replace(",\"unit\":\"avx2\"", "") + "\n";
        let sha256 = checksum(before.as_bytes());
        push(&mut before, &Seal { rows: 0, sha256 }).unwrap();
        assert_eq!(read_result(before.as_bytes(), "c", &job).unwrap().unit, None);
        let changed = text.replace("\"avx2\"", "\"avx512\"");
        assert!(read_result(changed.as_bytes(), "c", &job).unwrap_err().contains("checksum"));
    }

    /// A job that was begun on another vector unit names both.
    #[test]
    fn a_job_that_moved_names_its_units() {
        let (job, folder) = (job(), std::env::temp_dir().join(format!("mcsa-units-{}", std::process::id())));
        let store = Store::new(&folder);
        store.save_checkpoint(&job, &1).unwrap();
        let path = store.checkpoint_path(&job);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen(&format!(" {}\n", vector_unit()), " zzz\n", 1)).unwrap();
        assert_eq!(Store::new(&folder).checkpoint::<u64>(&job).unwrap(), Some(1));
        assert_eq!(store.checkpoint::<u64>(&job).unwrap(), Some(1));
        store.save(&job, &[], &Ended::default()).unwrap();
        let expected = format!("{}+zzz", vector_unit());
        assert_eq!(store.fresh(&job).unwrap().unwrap().unit, Some(expected));
        // Counterexample: a job that did not move.
        Store::new(&folder).save(&job, &[], &Ended::default()).unwrap();
        assert_eq!(store.fresh(&job).unwrap().unwrap().unit.as_deref(), Some(vector_unit()));
        let _ = std::fs::remove_dir_all(&folder);
    }
}
