//! Stored rows of other packages on the cases of the scoreboard.

use std::collections::BTreeMap;

use mcsa_core::Error;

const STORED: &str = include_str!("../anchors/rows.csv");

/// Columns of the file: words, then numbers.
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
        Self::read("bench-suite/anchors/rows.csv", STORED)
    }

    /// Runs in the text of a file: a head with the names of the columns in any order, then a line for each run. An empty cell is a
    /// number that the package does not give.
    ///
    /// # Errors
    /// If a column is unknown, absent or given twice, a line has another number of cells than the head, a word is empty or a number is
    /// malformed; the message names file, line and column.
    pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Self>, Error> {
        let refuse = |line: usize, reason: String| Error::invalid(format!("{file}, line {line}: {reason}"));
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, cells(line)));
        let Some((_, head)) = lines.next() else { return Err(refuse(1, "no head".into())) };
        let known = || WORDS.iter().chain(&NUMBERS);
        if let Some(unknown) = head.iter().find(|name| !known().any(|known| known == name)) {
            return Err(refuse(1, format!("no column is called {unknown:?}")));
        }
        for name in known() {
            match head.iter().filter(|column| *column == name).count() {
                1 => {}
                count => return Err(refuse(1, format!("{count} columns {name:?}, 1 is expected"))),
            }
        }
        let place = |name: &str| head.iter().position(|column| column == name).unwrap_or_default();
        let anchor = |(line, cells): (usize, Vec<String>)| {
            if cells.len() != head.len() {
                return Err(refuse(line, format!("{} cells, {} are expected", cells.len(), head.len())));
            }
            let word = |name: &str| match cells[place(name)].as_str() {
                "" => Err(refuse(line, format!("the {name} is empty"))),
                word => Ok(word.to_owned()),
            };
            let mut numbers = BTreeMap::new();
            for name in NUMBERS {
                let cell = &cells[place(name)];
                if cell.is_empty() {
                    continue;
                }
                let number = cell
                    .parse()
                    .map_err(|_| refuse(line, format!("{name} is {cell:?}, a number is expected")))?;
                numbers.insert(name, number);
            }
            if !numbers.contains_key("failed") {
                return Err(refuse(line, "failed is empty, 0 or 1 is expected".into()));
            }
            let [package, version] = [word("package")?, word("version")?];
            Ok(Self { package, version, method: word("method")?, case: word("case")?, numbers })
        };
        lines.map(anchor).collect()
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

/// Cells of a line, split at commas outside quotes; a quote within quotes is doubled.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cells.last_mut().into_iter().for_each(|cell| cell.push('"'));
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            letter => cells.last_mut().into_iter().for_each(|cell| cell.push(letter)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "package,version,method,case,seed,evaluations,gradients,seconds,mean_error,sd_error,wasserstein,k_hat,ess,log_z_error,failed";

    #[test]
    fn the_stored_rows_can_be_read() {
        assert!(Anchor::stored().is_ok());
    }

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
        let refused = |text: &str| Anchor::read("rows.csv", text).unwrap_err().to_string();
        let row = "a,1,b,c,1,2,3,4,5,6,7,8,9,10,0";
        assert!(refused("").contains("line 1: no head"));
        assert!(refused(&HEAD.replace("ess", "size")).contains("no column is called \"size\""));
        assert!(refused(&HEAD.replace(",ess", "")).contains("0 columns \"ess\""));
        let told = refused(&format!("{HEAD}\n{row}\n{row},1\n"));
        assert!(told.contains("rows.csv, line 3: 16 cells, 15 are expected"), "{told}");
        let told = refused(&format!("{HEAD}\n{}\n", row.replace(",4,", ",fast,")));
        assert!(told.contains("line 2: seconds is \"fast\", a number is expected"), "{told}");
        assert!(refused(&format!("{HEAD}\n{}\n", row.replace("a,", ","))).contains("the package is empty"));
        assert!(refused(&format!("{HEAD}\na,1,b,c,1,2,3,4,5,6,7,8,9,10,\n")).contains("failed is empty"));
    }
}
