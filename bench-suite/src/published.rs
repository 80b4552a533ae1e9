//! Numbers that others have published or computed: cells and curves of the papers, each with its citation, and stored runs of other
//! packages on the cases of the scoreboard.

use std::collections::BTreeMap;

use mcsa_core::Error;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::interval::Interval;
use crate::metric::metric;
use crate::store::{Number, Row};

const CELLS: &str = include_str!("../published/cells.csv");
const READINGS: &str = include_str!("../published/readings.csv");
const ANCHORS: &str = include_str!("../anchors/rows.csv");

/// A cell of a published table. Data set, metric and kind of method have our names.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Cell {
    pub(crate) citation: String,
    pub(crate) data: String,
    pub(crate) metric: String,
    pub(crate) method: String,
    /// Budget N of the method.
    pub(crate) budget: usize,
    #[serde(flatten)]
    pub(crate) interval: Interval,
    /// Kind of the interval.
    #[serde(rename = "interval")]
    pub(crate) kind: String,
}

/// Cells of one table, in the order of the file.
///
/// # Errors
/// If the file is malformed; tests exclude this.
pub(crate) fn cells(citation: &str) -> Result<Vec<Cell>, Error> {
    let mut all: Vec<Cell> = rows("published/cells.csv", CELLS)?;
    all.retain(|cell| cell.citation == citation);
    Ok(all)
}

#[derive(Deserialize)]
struct Reading {
    citation: String,
    curve: String,
    x: f64,
    y: f64,
}

/// Points read off a curve of a published figure, accurate to about a hundredth of its axis. Empty if there are none.
pub(crate) fn readings(citation: &str, curve: &str) -> Vec<(f64, f64)> {
    let all: Vec<Reading> = rows("published/readings.csv", READINGS).unwrap_or_default();
    let ours = all.into_iter().filter(|reading| reading.citation == citation && reading.curve == curve);
    ours.map(|Reading { x, y, .. }| (x, y)).collect()
}

/// Rows of a CSV file by the names in its head; an empty cell is absent.
pub(crate) fn rows<T: DeserializeOwned>(file: &str, text: &str) -> Result<Vec<T>, Error> {
    let head = text.lines().next().map(fields).unwrap_or_default();
    let value = |cell: String| match serde_json::from_str(&cell) {
        Ok(Value::Number(number)) => Value::Number(number),
        _ => Value::String(cell),
    };
    let row = |(k, line): (usize, &str)| {
        let cells = fields(line);
        let row = match cells.len() == head.len() {
            true => {
                let full = head.iter().cloned().zip(cells).filter(|(_, cell)| !cell.is_empty());
                let row = full.map(|(name, cell)| (name, value(cell))).collect();
                serde_json::from_value(Value::Object(row)).map_err(|error| error.to_string())
            }
            false => Err(format!("{} cells, expected {}", cells.len(), head.len())),
        };
        row.map_err(|reason| Error::invalid(format!("{file}, line {}: {reason}", k + 2)))
    };
    text.lines().skip(1).enumerate().map(row).collect()
}

/// Fields of a line, split at commas outside quotes; a quote within quotes is doubled.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_doubled = quoted && letter == '"' && letters.next_if_eq(&'"').is_some();
        match letter {
            '"' if !is_doubled => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => fields.last_mut().into_iter().for_each(|field| field.push(letter)),
        }
    }
    fields
}

/// Run of another package on a case.
///
/// Errors are defined as in our rows: the largest error of a mean in standard deviations, the largest error of a log standard
/// deviation, and the mean error of quantiles.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Anchor {
    pub(crate) package: String,
    #[serde(rename = "version")]
    _version: IgnoredAny,
    pub(crate) method: String,
    pub(crate) case: String,
    /// Metrics and a seed, without those that the package does not give.
    #[serde(flatten)]
    numbers: BTreeMap<String, Number>,
}

impl Anchor {
    /// The stored runs.
    ///
    /// # Errors
    /// If the file is malformed; tests exclude this.
    pub(crate) fn stored() -> Result<Vec<Self>, Error> {
        rows("anchors/rows.csv", ANCHORS)
    }

    /// Package and method, for legends.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.package, self.method)
    }

    /// The run as a row of our metrics. Errors of a run that has failed are infinite.
    pub(crate) fn row(&self) -> Row {
        let has_failed = self.numbers.get("failed") != Some(&Number(0.0)); // also if it is not known
        let known = self.numbers.iter().filter_map(|(name, number)| Some((metric(name)?, number.0)));
        let errors = ["answer_error", "spread_error", "evidence_error"].map(|name| (name, f64::INFINITY));
        Row::new(0, known.chain(errors.into_iter().filter(|_| has_failed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Method;

    #[test]
    fn every_line_can_be_read() {
        let tables = [
            ("MCMC-SE, Tab. 2", 42),
            ("MCMC-SE, Tab. 3", 36),
            ("pMCSA, neural regression table", 48),
            ("pMCSA, robust Gaussian process table", 35),
            ("MSC, Tab. 1", 12),
        ];
        for (citation, count) in tables {
            let cells = cells(citation).unwrap();
            assert_eq!(cells.len(), count, "{citation}");
            for cell in &cells {
                assert!(Method::ALL.iter().any(|(name, ..)| *name == cell.method), "{}", cell.method);
                assert!(
                    cell.interval.low <= cell.interval.value && cell.interval.value <= cell.interval.high
                );
            }
        }
        assert_eq!(rows::<Cell>("", CELLS).unwrap().len(), 173);
        assert!(rows::<Reading>("", READINGS).is_ok());
    }

    #[test]
    fn a_cell_is_what_was_printed() {
        let cells = cells("MCMC-SE, Tab. 2").unwrap();
        let cell =
            cells.iter().find(|c| (&*c.data, &*c.metric, &*c.method) == ("pima", "accuracy", "jsa")).unwrap();
        assert_eq!((cell.interval.value, cell.interval.low, cell.interval.high), (0.67, 0.65, 0.69));
        assert_eq!(readings("CW, Fig. 7", "msc-rb 4").len(), 8);
    }

    const HEAD: &str = "package,version,method,case,seed,p_evaluations,p_gradients,seconds,answer_error,spread_error,wasserstein,k_hat,ess,evidence_error,failed";

    #[test]
    fn a_row_is_read_by_its_head() {
        assert_eq!(ANCHORS.lines().next(), Some(HEAD));
        assert!(Anchor::stored().is_ok());
        let text =
            format!("{HEAD}\nblackjax,1.2,nuts,\"funnel: d 5, scale 3\",1,0,1000,2.5,0.2,0.3,,,400,,0\n");
        let found = rows::<Anchor>("rows.csv", &text).unwrap();
        assert_eq!(
            (found[0].case.as_str(), found[0].name().as_str()),
            ("funnel: d 5, scale 3", "blackjax nuts")
        );
        let expected =
            [("answer_error", 0.2), ("failed", 0.0), ("p_evaluations", 0.0), ("p_gradients", 1000.0)];
        let others = [("seconds", 2.5), ("spread_error", 0.3), ("ess", 400.0)];
        assert_eq!(found[0].row(), Row::new(0, expected.into_iter().chain(others)));
        let failed = rows::<Anchor>("rows.csv", &text.replace(",400,,0", ",,,1")).unwrap()[0].row();
        assert_eq!((failed.values["answer_error"], failed.values["failed"]), (f64::INFINITY, 1.0));
    }

    #[test]
    fn a_fault_is_named_with_its_line() {
        let row = "a,1,b,c,1,2,3,4,5,6,7,8,9,10,0";
        for (text, said) in [
            (format!("{HEAD}\n{row}\n{row},1\n"), "rows.csv, line 3: 16 cells, expected 15"),
            (format!("{HEAD}\n{}\n", row.replace(",4,", ",fast,")), "line 2: "),
            (format!("{HEAD}\n{}\n", row.replace("a,", ",")), "missing field `package`"),
        ] {
            let error = rows::<Anchor>("rows.csv", &text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
