//! Format of an archived experiment: text by columns, compressed (zlib).
//!
//! ```text
//! mcsa results 1
//! origin <code> <date> <vector unit>                    one line each, numbered from 0
//! job <id> <number of the origin> <rows> <end as JSON>  one line each, by id
//! column step                                           then the values of each job on a line, one for each row
//! column accuracy                                       likewise; `-` where a row has no value, and no words if no row has one
//! vector means                                          likewise; the entries of a vector are joined by commas
//! ```
//! Values of one metric stand together because they are alike, which halves the size.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};
use serde_json::Value;

use super::{Kept, Origin};
use crate::metric::{Metric, Vector};
use crate::store::Row;

const HEAD: &str = "mcsa results 1";

/// Largest size of an uncompressed file, in bytes: a damaged one must not fill the memory.
const LIMIT: usize = 1 << 30;

/// Reason why a file cannot be used.
type Reason = String;

/// Puts a word of a column into a row; `None` if it is no value.
type Put = Box<dyn Fn(&mut Row, &str) -> Option<()>>;

/// Compressed text of archived results.
pub(super) fn write(all: &BTreeMap<String, Kept>) -> Result<Vec<u8>, Reason> {
    Ok(compress_to_vec_zlib(text(all)?.as_bytes(), 9))
}

fn text(all: &BTreeMap<String, Kept>) -> Result<String, Reason> {
    let origins: BTreeSet<&Origin> = all.values().map(|kept| &kept.origin).collect();
    let origins: Vec<&Origin> = origins.into_iter().collect();
    let mut text = format!("{HEAD}\n");
    for Origin { code, date, unit } in &origins {
        let _ = writeln!(text, "origin {code} {date} {unit}");
    }
    for (id, kept) in all {
        let number = origins.binary_search(&&kept.origin).unwrap_or(0);
        let mut ended = serde_json::to_value(&kept.ended).map_err(|error| error.to_string())?;
        shorten(&mut ended);
        let _ = writeln!(text, "job {id} {number} {} {ended}", kept.rows.len());
    }
    column(&mut text, "column step", all, |row| Some(row.step.to_string()));
    let rows = || all.values().flat_map(|kept| &kept.rows);
    let names: BTreeSet<&str> = rows().flat_map(|row| row.values.keys().copied()).collect();
    for name in names {
        let digits = if name == "seconds" { 3 } else { 6 };
        let word = |row: &Row| row.values.get(name).map(|value| short(*value, digits));
        column(&mut text, &format!("column {name}"), all, word);
    }
    let vectors: BTreeSet<Vector> = rows().flat_map(|row| row.vectors.keys().copied()).collect();
    for vector in vectors {
        let joined = |values: &Vec<f64>| values.iter().map(|v| short(*v, 6)).collect::<Vec<_>>().join(",");
        let word = |row: &Row| row.vectors.get(&vector).map(joined);
        column(&mut text, &format!("vector {}", vector.name()), all, word);
    }
    Ok(text)
}

fn column(
    text: &mut String,
    name: &str,
    all: &BTreeMap<String, Kept>,
    word: impl Fn(&Row) -> Option<String>,
) {
    let _ = writeln!(text, "{name}");
    for kept in all.values() {
        let words: Vec<Option<String>> = kept.rows.iter().map(&word).collect();
        if words.iter().any(Option::is_some) {
            let words = words.into_iter().map(|word| word.unwrap_or_else(|| "-".to_owned()));
            text.push_str(&words.collect::<Vec<_>>().join(" "));
        }
        text.push('\n');
    }
}

/// Shortest decimal of a number at some significant digits; whole numbers are exact.
fn short(value: f64, digits: usize) -> String {
    if !value.is_finite() || (value.fract() == 0.0 && value.abs() < 1e15) {
        return value.to_string();
    }
    let rounded: f64 = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
    let [plain, power] = [format!("{rounded}"), format!("{rounded:e}")];
    if power.len() < plain.len() { power } else { plain }
}

/// Shortens all numbers of a value.
fn shorten(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short = number.as_f64().map(|number| short(number, 6));
            if let Some(short) =
                short.and_then(|short| short.parse().ok()).and_then(serde_json::Number::from_f64)
            {
                *number = short;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(shorten),
        Value::Object(all) => all.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Parses compressed text. Columns of metrics that are no longer in the table are left out.
///
/// # Errors
/// If it is damaged or of another format; the reason names the line.
pub(super) fn read(bytes: &[u8]) -> Result<BTreeMap<String, Kept>, Reason> {
    let bytes = decompress_to_vec_zlib_with_limit(bytes, LIMIT)
        .map_err(|error| format!("it cannot be decompressed: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8")?;
    let mut lines = text.lines().enumerate().peekable();
    if lines.next().is_none_or(|(_, line)| line != HEAD) {
        return Err(format!("it does not begin with {HEAD:?}"));
    }
    let place = |number: usize, reason: &str| format!("line {}: {reason}", number + 1);
    let mut origins: Vec<Origin> = Vec::new();
    while let Some((number, line)) = lines.next_if(|(_, line)| line.starts_with("origin ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, code, date, unit] = words[..] else {
            return Err(place(number, "code, date and vector unit are expected"));
        };
        origins.push(Origin { code: code.to_owned(), date: date.to_owned(), unit: unit.to_owned() });
    }
    let mut all: Vec<(String, Kept)> = Vec::new();
    // Every row has a word at least, its step: more rows than bytes are not there.
    let mut room = text.len();
    while let Some((number, line)) = lines.next_if(|(_, line)| line.starts_with("job ")) {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let [_, id, origin, rows, ended] = words[..] else {
            return Err(place(number, "id, origin, number of rows and end are expected"));
        };
        let origin = origin.parse().ok().and_then(|at: usize| origins.get(at)).cloned();
        let origin = origin.ok_or_else(|| place(number, "there is no such origin"))?;
        let count: usize = rows.parse().map_err(|_| place(number, "the number of rows is none"))?;
        room = room.checked_sub(count).ok_or_else(|| place(number, "more rows than the file has"))?;
        let ended = serde_json::from_str(ended).map_err(|error| place(number, &error.to_string()))?;
        let rows = (0..count).map(|_| Row::default()).collect();
        all.push((id.to_owned(), Kept { origin, rows, ended }));
    }
    while let Some((number, head)) = lines.next() {
        let (kind, name) = head.split_once(' ').unwrap_or((head, ""));
        let vector = || serde_json::from_value::<Vector>(Value::String(name.to_owned())).ok();
        let put: Put = match (kind, Metric::named(name), vector()) {
            ("column", _, _) if name == "step" => Box::new(|row, word| {
                row.step = word.parse().ok()?;
                Some(())
            }),
            ("column", Some(metric), _) => Box::new(|row, word| {
                row.values.insert(metric.name, word.parse().ok()?);
                Some(())
            }),
            ("vector", _, Some(vector)) => Box::new(move |row, word| {
                let entries = word.split(',').filter(|entry| !entry.is_empty()).map(str::parse);
                row.vectors.insert(vector, entries.collect::<Result<_, _>>().ok()?);
                Some(())
            }),
            ("column" | "vector", _, _) => Box::new(|_, _| Some(())),
            _ => return Err(place(number, "a column is expected")),
        };
        for (id, kept) in &mut all {
            let (number, line) = lines.next().ok_or_else(|| place(number, "the column is cut short"))?;
            let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
            if words.is_empty() {
                continue;
            }
            if words.len() != kept.rows.len() {
                let reason =
                    format!("{} values of {name} for the {} rows of {id}", words.len(), kept.rows.len());
                return Err(place(number, &reason));
            }
            for (row, word) in kept.rows.iter_mut().zip(words).filter(|(_, word)| *word != "-") {
                put(row, word).ok_or_else(|| place(number, &format!("{word:?} is no value of {name}")))?;
            }
        }
    }
    Ok(all.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Ended;
    use mcsa_core::Seed;

    fn all() -> BTreeMap<String, Kept> {
        let kept = |code: &str, value: f64| {
            let origin = Origin { code: code.into(), date: "2026-01-31".into(), unit: "avx2".into() };
            let mut last = Row::new(20, [("accuracy", value), ("p_evaluations", 123_456_789.0)]);
            last.vectors.insert(Vector::Means, vec![0.5, -1.25, 1e-9]);
            let rows = vec![Row::new(0, [("kl", f64::NAN), ("p_evaluations", 0.0)]), last];
            Kept { origin, rows, ended: Ended { seconds: 0.25, ..Ended::default() } }
        };
        [("aa".to_owned(), kept("c1", 1.0 / 3.0)), ("bb".to_owned(), kept("c0", f64::INFINITY))].into()
    }

    #[test]
    fn numbers_keep_six_digits_and_whole_ones_all() {
        let found = [1.0 / 3.0, -1_234_567.25, 123_456_789.0, 1.25e-9, 0.0, f64::NAN].map(|v| short(v, 6));
        assert_eq!(found, ["0.333333", "-1234570", "123456789", "1.25e-9", "0", "NaN"]);
    }

    #[test]
    fn what_is_written_is_read() {
        let (all, read) = (all(), read(&write(&all()).unwrap()).unwrap());
        assert_eq!(read.keys().collect::<Vec<_>>(), all.keys().collect::<Vec<_>>());
        for (id, kept) in &all {
            assert_eq!((&read[id].origin, &read[id].ended), (&kept.origin, &kept.ended));
        }
        let rows = &read["aa"].rows;
        assert_eq!(rows[1].values["accuracy"], 0.333333);
        assert_eq!(rows[1].values["p_evaluations"], 123_456_789.0);
        assert!(rows[0].values["kl"].is_nan() && !rows[1].values.contains_key("kl"));
        assert_eq!(rows[1].vectors[&Vector::Means], [0.5, -1.25, 1e-9]);
        assert_eq!(read["bb"].rows[1].values["accuracy"], f64::INFINITY);
        // Writing what was read changes no byte.
        assert_eq!(write(&read).unwrap(), write(&all).unwrap());
    }

    /// Texts with up to three pieces of four kinds put over places of a seed.
    #[test]
    fn no_damage_panics() {
        let (whole, mut stream) = (text(&all()).unwrap(), Seed::new(24).stream(0, 0));
        let pieces =
            ["", "-1", "\n", " ", "18446744073709551615", "nan", "job aa 0 3 {}\n", "{\"", "column step\n"];
        let mut refused = 0;
        for _ in 0..5_000 {
            let mut bytes = whole.clone().into_bytes();
            for _ in 0..=stream.index(3).unwrap() {
                let start = stream.index(bytes.len() + 1).unwrap();
                let end = (start + stream.index(12).unwrap()).min(bytes.len());
                let piece = pieces[stream.index(pieces.len()).unwrap()];
                bytes.splice(start..end, piece.bytes());
            }
            refused += usize::from(read(&compress_to_vec_zlib(&bytes, 1)).is_err());
        }
        assert!((2_000..5_000).contains(&refused), "{refused}");
    }

    #[test]
    fn damage_is_refused_with_its_line() {
        let whole = text(&all()).unwrap();
        let refused = |text: &str| read(&compress_to_vec_zlib(text.as_bytes(), 1)).unwrap_err();
        assert!(read(&compress_to_vec_zlib(whole.as_bytes(), 1)).is_ok());
        assert!(refused("other").contains("does not begin"));
        assert!(refused(&whole.replace("0.333333", "x")).contains("\"x\" is no value of accuracy"));
        assert!(refused(&whole.replace("job aa 1", "job aa 7")).contains("line 4"));
        assert!(refused(&whole.replace("0.333333", "0.3 0.3")).contains("3 values of accuracy"));
        let (cut, _) = whole.trim_end().rsplit_once('\n').unwrap();
        assert!(refused(cut).contains("cut short"));
        for rows in ["18446744073709551615", "1000000000"] {
            let more = refused(&whole.replace("job aa 1 2 ", &format!("job aa 1 {rows} ")));
            assert!(more.contains("more rows than the file has"), "{more}");
        }
        let bytes = write(&all()).unwrap();
        assert!(read(&bytes[..bytes.len() - 9]).unwrap_err().contains("decompressed"));
        // A metric that is no more is left out.
        let other = read(&compress_to_vec_zlib(whole.replace("column kl", "column gone").as_bytes(), 1));
        assert!(other.unwrap()["aa"].rows[0].values.contains_key("p_evaluations"));
    }
}
