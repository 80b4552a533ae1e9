//! Numbers that others have published or computed: cells and curves of the papers, each with its citation, and stored runs of other
//! packages on the cases of the scoreboard.

use std::collections::BTreeMap;

use mcsa_core::Error;

use crate::interval::Interval;

const CELLS: &str = include_str!("../published/cells.csv");
const READINGS: &str = include_str!("../published/readings.csv");
const ANCHORS: &str = include_str!("../anchors/rows.csv");

/// A cell of a published table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Citation key of the table.
    pub citation: String,
    /// Data set, by its name in our catalogue.
    pub data: String,
    /// Metric, by its name in our rows.
    pub metric: String,
    /// Kind of method, by its name in our catalogue.
    pub method: String,
    /// Budget N of the method.
    pub budget: usize,
    /// Value with its interval and number of replicates.
    pub interval: Interval,
    /// Kind of the interval.
    pub kind: String,
}

/// Cells of one table, in the order of the file.
///
/// # Errors
/// If the file is malformed; tests exclude this.
pub fn cells(citation: &str) -> Result<Vec<Cell>, Error> {
    let all = records(CELLS).enumerate().map(|(k, fields)| {
        Cell::of(&fields)
            .ok_or_else(|| Error::invalid(format!("published/cells.csv, line {}: malformed", k + 2)))
    });
    let all: Vec<Cell> = all.collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|cell| cell.citation == citation).collect())
}

/// Points read off a curve of a published figure, accurate to about a hundredth of its axis. Empty if there are none.
pub fn readings(citation: &str, curve: &str) -> Vec<(f64, f64)> {
    let ours = records(READINGS).filter(|fields| fields[0] == citation && fields[1] == curve);
    ours.filter_map(|fields| Some((fields[2].parse().ok()?, fields[3].parse().ok()?))).collect()
}

impl Cell {
    fn of(fields: &[String]) -> Option<Self> {
        let [citation, data, metric, method, budget, value, low, high, kind, replicates] = fields else {
            return None;
        };
        let interval = Interval {
            value: value.parse().ok()?,
            low: low.parse().ok()?,
            high: high.parse().ok()?,
            replicates: replicates.parse().ok()?,
        };
        Some(Self {
            citation: citation.clone(),
            data: data.clone(),
            metric: metric.clone(),
            method: method.clone(),
            budget: budget.parse().ok()?,
            interval,
            kind: kind.clone(),
        })
    }
}

/// Records of a CSV file without its header.
fn records(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().skip(1).map(fields)
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

/// Columns of the runs of other packages: words, then numbers.
const WORDS: [&str; 4] = ["package", "version", "method", "case"];
const NUMBERS: [&str; 11] = [
    "seed",
    "evaluations",
    "gradients",
    "seconds",
    "mean_error",
    "sd_error",
    "wasserstein",
    "k_hat",
    "ess",
    "log_z_error",
    "failed",
];

/// Run of another package on a case.
///
/// Errors are defined as in our rows: the largest error of a mean in standard deviations, the largest error of a log standard
/// deviation, and the mean error of quantiles.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Anchor {
    /// The package.
    pub(crate) package: String,
    /// Its version.
    pub(crate) version: String,
    /// The method.
    pub(crate) method: String,
    /// Title of the case.
    pub(crate) case: String,
    /// Numbers by column; those that are absent are left out.
    numbers: BTreeMap<&'static str, f64>,
}

impl Anchor {
    /// The stored runs.
    ///
    /// # Errors
    /// If the file is malformed; tests exclude this.
    pub(crate) fn stored() -> Result<Vec<Self>, Error> {
        Self::read("bench-suite/anchors/rows.csv", ANCHORS)
    }

    /// Runs in the text of a file: a head with the names of the columns in any order, then a line for each run. An empty cell is a
    /// number that the package does not give.
    ///
    /// # Errors
    /// If the columns are others, a line has another number of cells than the head, a word is empty or a number is malformed; the
    /// message names file, line and column.
    fn read(file: &str, text: &str) -> Result<Vec<Self>, Error> {
        let refuse = |line: usize, reason: String| Error::invalid(format!("{file}, line {line}: {reason}"));
        let head = text.lines().next().map(fields).unwrap_or_default();
        let is_once = |name: &&str| head.iter().filter(|column| column == name).count() == 1;
        if head.len() != WORDS.len() + NUMBERS.len() || !WORDS.iter().chain(&NUMBERS).all(is_once) {
            let expected = [&WORDS[..], &NUMBERS].concat().join(", ");
            return Err(refuse(1, format!("the columns are {}; expected {expected}", head.join(", "))));
        }
        let anchor = |(line, cells): (usize, Vec<String>)| {
            if cells.len() != head.len() {
                return Err(refuse(line, format!("{} cells, expected {}", cells.len(), head.len())));
            }
            let row: BTreeMap<&str, String> = head.iter().map(String::as_str).zip(cells).collect();
            if let Some(name) = WORDS.into_iter().chain(["failed"]).find(|name| row[name].is_empty()) {
                return Err(refuse(line, format!("the {name} is empty")));
            }
            let number = |name: &'static str| match row[name].parse() {
                Ok(number) => Ok((name, number)),
                Err(_) => Err(refuse(line, format!("{name} is {:?}, expected a number", row[name]))),
            };
            let numbers = NUMBERS.into_iter().filter(|name| !row[name].is_empty()).map(number);
            let [package, version, method, case] = WORDS.map(|name| row[name].clone());
            Ok(Self { package, version, method, case, numbers: numbers.collect::<Result<_, _>>()? })
        };
        records(text).enumerate().map(|(at, cells)| anchor((at + 2, cells))).collect()
    }

    /// Package and method, for legends.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.package, self.method)
    }

    /// A number by the name of our metric; infinite for an error of a run that has failed.
    pub(crate) fn value(&self, metric: &str) -> f64 {
        let column = match metric {
            "answer_error" => "mean_error",
            "spread_error" => "sd_error",
            other => other,
        };
        let has_failed = self.numbers.get("failed") != Some(&0.0);
        match self.numbers.get(column) {
            Some(value) if !has_failed || !column.ends_with("error") => *value,
            _ if has_failed => f64::INFINITY,
            _ => f64::NAN,
        }
    }

    /// Evaluations with or without a gradient; each gradient has its density.
    pub(crate) fn evaluations(&self) -> f64 {
        ["evaluations", "gradients"].iter().filter_map(|name| self.numbers.get(name)).sum()
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
        assert_eq!(records(CELLS).count(), 173);
        assert!(records(READINGS).all(|fields| fields.len() == 4 && fields[3].parse::<f64>().is_ok()));
    }

    #[test]
    fn a_cell_is_what_was_printed() {
        let cells = cells("MCMC-SE, Tab. 2").unwrap();
        let cell =
            cells.iter().find(|c| (&*c.data, &*c.metric, &*c.method) == ("pima", "accuracy", "jsa")).unwrap();
        assert_eq!((cell.interval.value, cell.interval.low, cell.interval.high), (0.67, 0.65, 0.69));
        assert_eq!(readings("CW, Fig. 7", "msc-rb 4").len(), 8);
    }

    const HEAD: &str = "package,version,method,case,seed,evaluations,gradients,seconds,mean_error,sd_error,wasserstein,k_hat,ess,log_z_error,failed";

    #[test]
    fn a_row_is_read_by_its_head() {
        let text =
            format!("{HEAD}\nblackjax,1.2,nuts,\"funnel: d 5, scale 3\",1,0,1000,2.5,0.2,0.3,,,400,,0\n");
        let rows = Anchor::read("rows.csv", &text).unwrap();
        assert_eq!(
            (rows[0].case.as_str(), rows[0].name().as_str()),
            ("funnel: d 5, scale 3", "blackjax nuts")
        );
        assert_eq!((rows[0].value("answer_error"), rows[0].evaluations()), (0.2, 1000.0));
        assert!(rows[0].value("k_hat").is_nan());
        let failed = text.replace(",400,,0", ",,,1");
        assert_eq!(Anchor::read("rows.csv", &failed).unwrap()[0].value("answer_error"), f64::INFINITY);
    }

    #[test]
    fn a_fault_is_named_with_its_line() {
        let row = "a,1,b,c,1,2,3,4,5,6,7,8,9,10,0";
        for (text, said) in [
            (String::new(), "line 1: the columns are ; expected package"),
            (HEAD.replace("ess", "size"), "k_hat, size, log_z_error"),
            (HEAD.replace(",ess", ""), "expected package, version"),
            (format!("{HEAD}\n{row}\n{row},1\n"), "rows.csv, line 3: 16 cells, expected 15"),
            (
                format!("{HEAD}\n{}\n", row.replace(",4,", ",fast,")),
                "line 2: seconds is \"fast\", expected a number",
            ),
            (format!("{HEAD}\n{}\n", row.replace("a,", ",")), "the package is empty"),
            (format!("{HEAD}\na,1,b,c,1,2,3,4,5,6,7,8,9,10,\n"), "the failed is empty"),
        ] {
            let error = Anchor::read("rows.csv", &text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(Anchor::stored().is_ok());
    }
}
