//! Named parameters of points, for reports.

use std::collections::BTreeSet;

use crate::Error;

/// Values of named parameters on their constrained scales, one row per point: what
/// [`LogDensity::constrain`](crate::LogDensity::constrain) writes.
///
/// The first point decides which parameters there are, and names are made for it alone. Surplus parameters of a later point are
/// left out. If a later point has fewer, [`next_point`](Self::next_point) fills its row with NaN.
///
/// ```
/// use mcsa_core::Named;
/// let mut named = Named::default();
/// for z in [[0.0_f64, 1.0, 2.0], [0.5, 3.0, 4.0]] {
///     named.next_point();
///     named.push("sigma", z[0].exp());
///     named.vector("beta", z[1..].iter().copied());
/// }
/// assert_eq!(named.names(), ["sigma", "beta[0]", "beta[1]"]);
/// assert_eq!(named.values().len(), 2 * 3);
/// assert_eq!(named.iter().last(), Some(("beta[1]", 4.0)));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    names: Vec<String>,
    values: Vec<f64>,
    /// Index of the first value of the present point.
    first: usize,
}

impl Named {
    /// Appends a parameter of the present point.
    pub fn push(&mut self, name: &str, value: f64) {
        self.append(|| name.to_owned(), value);
    }

    /// Appends the entries of a vector: `name[0]`, `name[1]`, ..
    pub fn vector(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        self.each(|k| format!("{name}[{k}]"), values);
    }

    /// Appends parameters with the names `name(0)`, `name(1)`, ..
    pub fn each(&mut self, name: impl Fn(usize) -> String, values: impl IntoIterator<Item = f64>) {
        values.into_iter().enumerate().for_each(|(k, value)| self.append(|| name(k), value));
    }

    fn append(&mut self, name: impl FnOnce() -> String, value: f64) {
        if self.first == 0 {
            self.names.push(name());
            self.values.push(value);
        } else if self.row().len() < self.names.len() {
            self.values.push(value);
        }
    }

    /// Begins the row of the next point; the first begins by itself.
    pub fn next_point(&mut self) {
        if !self.names.is_empty() {
            self.values.resize(self.first + self.names.len(), f64::NAN);
            self.first = self.values.len();
        }
    }

    /// Names of the parameters.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Checks that no two parameters have the same name.
    ///
    /// # Errors
    /// If two have; the message has their name.
    pub fn check_distinct(&self) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        match self.names.iter().find(|name| !seen.insert(*name)) {
            Some(name) => Err(Error::invalid(format!("two parameters have the name {name:?}"))),
            None => Ok(()),
        }
    }

    /// Values of the present point.
    pub fn row(&self) -> &[f64] {
        &self.values[self.first..]
    }

    /// Values of all points, one row after another.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Names and values of the present point.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.names.iter().zip(self.row()).map(|(name, value)| (name.as_str(), *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_point_decides_the_parameters() {
        let mut named = Named::default();
        for values in [&[1.0, 2.0][..], &[3.0], &[4.0, 5.0, 6.0]] {
            named.next_point();
            named.push("x", values[0]);
            named.vector("y", values[1..].iter().copied());
        }
        assert_eq!(named.names(), ["x", "y[0]"]);
        assert_eq!(named.values()[..3], [1.0, 2.0, 3.0]);
        assert!(named.values()[3].is_nan());
        assert_eq!(named.iter().collect::<Vec<_>>(), [("x", 4.0), ("y[0]", 5.0)]);
    }

    #[test]
    fn names_must_differ() {
        let mut named = Named::default();
        ["a", "b", "a/b"].iter().for_each(|name| named.push(name, 0.0));
        assert_eq!(named.check_distinct(), Ok(()));
        named.push("b", 1.0);
        let error = named.check_distinct().unwrap_err();
        assert!(error.to_string().contains("two parameters have the name \"b\""), "{error}");
    }

    #[test]
    fn a_point_without_parameters_has_none() {
        let mut named = Named::default();
        named.next_point();
        named.next_point();
        assert_eq!((named.names().len(), named.row().len()), (0, 0));
    }
}
