//! The eight schools: effects of coaching (Rubin 1981).

use super::Table;

/// Effects of coaching in eight schools, with their standard errors (Rubin 1981).
#[derive(Debug, Clone, PartialEq)]
pub struct Schools {
    /// Names of the schools.
    pub names: Vec<String>,
    /// Estimated effects.
    pub effects: Vec<f64>,
    /// Standard errors of the effects, taken as known.
    pub standard_errors: Vec<f64>,
}

impl Schools {
    pub(super) fn of(table: &Table) -> Self {
        Self {
            names: table.words(0).to_vec(),
            effects: table.numbers(2).to_vec(),
            standard_errors: table.numbers(1).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn the_table_is_that_of_rubin() {
        let schools = Catalogue::new(None).schools().unwrap();
        assert_eq!(schools.effects, [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
        assert_eq!(schools.standard_errors, [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
    }
}
