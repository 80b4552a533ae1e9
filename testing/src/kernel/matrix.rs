//! Mutation matrix: which check detects which mistake.

use std::fmt;

use crate::Report;

/// Result of a check on a kernel with a known mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Caught: the check failed, it detects the mistake.
    Caught,
    /// Passed: the check held, it does not detect this mistake.
    Passed,
    /// Absent: the check does not apply, or was refused.
    Absent,
}

/// Mutation matrix, mutants against checks: a measurement of a test suite's power.
///
/// ```
/// use mcsa_testing::{Matrix, Report, Check};
/// let mut matrix = Matrix::default();
/// matrix.add("ratio inverted", &Report::new("", vec![Check::exact("pi K = pi", 0.45, 1e-12, "")]));
/// assert!(matrix.catches("ratio inverted", "pi K = pi"));
/// assert!(matrix.to_string().contains("X"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrix {
    checks: Vec<&'static str>,
    rows: Vec<(String, Vec<(&'static str, Cell)>)>,
}

impl Matrix {
    /// Adds the checks of a report to the row of `mutant`, one column per law. Several reports on one mutant share
    /// a row, in which a law that failed once stays caught.
    pub fn add(&mut self, mutant: &str, report: &Report) {
        let row = self.rows.iter().position(|(name, _)| name == mutant).unwrap_or_else(|| {
            self.rows.push((mutant.into(), Vec::new()));
            self.rows.len() - 1
        });
        for check in &report.checks {
            if !self.checks.contains(&check.law) {
                self.checks.push(check.law);
            }
            let cell = match check {
                check if check.fails() => Cell::Caught,
                check if check.holds() => Cell::Passed,
                _ => Cell::Absent,
            };
            match self.rows[row].1.iter_mut().find(|(law, _)| *law == check.law) {
                None => self.rows[row].1.push((check.law, cell)),
                Some((_, old)) if *old != Cell::Caught => *old = cell,
                Some(_) => {}
            }
        }
    }

    /// Result of `check` on `mutant`.
    pub fn cell(&self, mutant: &str, check: &str) -> Cell {
        let row = self.rows.iter().find(|(name, _)| name == mutant);
        let cell = row.and_then(|(_, cells)| cells.iter().find(|(law, _)| *law == check));
        cell.map_or(Cell::Absent, |(_, cell)| *cell)
    }

    /// True if `check` caught `mutant`.
    pub fn catches(&self, mutant: &str, check: &str) -> bool {
        self.cell(mutant, check) == Cell::Caught
    }

    /// True if at least one check caught `mutant`.
    pub fn caught(&self, mutant: &str) -> bool {
        self.count(mutant, Cell::Caught) > 0
    }

    /// Number of checks with this result on `mutant`.
    pub fn count(&self, mutant: &str, cell: Cell) -> usize {
        self.checks.iter().filter(|check| self.cell(mutant, check) == cell).count()
    }

    /// The mutants, in order of insertion.
    pub fn mutants(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|(name, _)| &name[..])
    }
}

impl fmt::Display for Matrix {
    /// One column per check, numbered below the table: `X` caught, `.` passed, blank where it does not apply.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.mutants().map(|name| name.chars().count()).max().unwrap_or(0);
        write!(f, "{:width$}", "")?;
        (1..=self.checks.len()).try_for_each(|k| write!(f, " {k:>2}"))?;
        writeln!(f)?;
        for mutant in self.mutants() {
            let cells: String = self
                .checks
                .iter()
                .map(|check| match self.cell(mutant, check) {
                    Cell::Caught => "  X",
                    Cell::Passed => "  .",
                    Cell::Absent => "   ",
                })
                .collect();
            writeln!(f, "{:<width$}{}", mutant, cells.trim_end())?;
        }
        self.checks.iter().enumerate().try_for_each(|(k, check)| writeln!(f, "{:>3} {check}", k + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Check;
    use mcsa_core::Error;

    #[test]
    fn a_table_shows_what_was_caught() {
        let mut matrix = Matrix::default();
        let law = |law, error| Check::exact(law, error, 0.0, "");
        matrix.add("stale", &Report::new("", vec![law("rows", 0.0), law("balance", 1.0)]));
        matrix.add(
            "none",
            &Report::new("", vec![law("rows", 0.0), Check::refused("rank", Error::invalid("no"))]),
        );
        matrix.add("stale", &Report::new("", vec![law("balance", 0.0)]));
        assert!(matrix.caught("stale") && !matrix.caught("none"));
        assert_eq!(matrix.cell("none", "rank"), Cell::Absent);
        let table = "       1  2  3\nstale  .  X\nnone   .\n  1 rows\n  2 balance\n  3 rank\n";
        assert_eq!(matrix.to_string(), table);
    }
}
