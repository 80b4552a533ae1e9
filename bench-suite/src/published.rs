//! Published numbers, each with its citation.

use mcsa_core::Error;

use crate::interval::Interval;

const CELLS: &str = include_str!("../published/cells.csv");
const READINGS: &str = include_str!("../published/readings.csv");

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

/// Records of a CSV file without its header, split at commas outside quotes.
fn records(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().skip(1).map(|line| {
        let mut fields = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                c => fields.last_mut().into_iter().for_each(|field| field.push(c)),
            }
        }
        fields
    })
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
}
