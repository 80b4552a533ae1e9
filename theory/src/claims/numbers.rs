//! Cases that consist of a few real numbers.

use std::fmt;

use mcsa_core::Stream;

use super::Searchable;
use super::atoms::{short, tuple};

/// Domain of a variable, and its map to the real line on which the search moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// All real numbers.
    Real,
    /// The positive numbers, by the exponential function.
    Positive,
    /// The numbers between two bounds, by the logistic function.
    Between(f64, f64),
}

/// Bound on the absolute value of a coordinate, against overflow.
const FARTHEST: f64 = 40.0;

impl Domain {
    fn value(self, coordinate: f64) -> f64 {
        let x = if coordinate.is_finite() { coordinate.clamp(-FARTHEST, FARTHEST) } else { 0.0 };
        match self {
            Self::Real => x,
            Self::Positive => x.exp(),
            Self::Between(low, high) => low + (high - low) / (1.0 + (-x).exp()),
        }
    }

    fn coordinate(self, value: f64) -> f64 {
        let x = match self {
            Self::Real => value,
            Self::Positive => value.ln(),
            Self::Between(low, high) => ((value - low) / (high - value)).ln(),
        };
        x.clamp(-FARTHEST, FARTHEST)
    }
}

/// Named variables, each with one or several copies, and a count `N`.
///
/// ```
/// use mcsa_theory::claims::{Bound, Domain, Effort, Numbers, Sides, Standing, Statement};
/// let settings = Numbers::settings(&[("x", Domain::Positive, 1)], &[1, 2]);
/// let logarithm: Statement = Bound::<Numbers>::new("ln x <= x - 1", settings, |case| {
///     let x = case.number("x");
///     Some(Sides::at_most(1.0, x - x.ln()))
/// }).into();
/// assert_eq!(logarithm.examine(Effort::BRIEF, mcsa_core::Seed::new(1)).standing, Standing::Tight);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    variables: Vec<(&'static str, Domain, usize)>,
    values: Vec<f64>,
    /// The count `N`.
    pub count: usize,
}

impl Numbers {
    /// Settings with variables given as name, domain and number of copies, one setting per count.
    pub fn settings(variables: &[(&'static str, Domain, usize)], counts: &[usize]) -> Vec<Self> {
        let zeros: Vec<f64> =
            variables.iter().flat_map(|(_, domain, n)| vec![domain.value(0.0); *n]).collect();
        let at = |&count: &usize| Self { variables: variables.to_vec(), values: zeros.clone(), count };
        counts.iter().map(at).collect()
    }

    /// A case worked out by hand: each variable with the values of its copies.
    pub fn example(values: &[(&'static str, Domain, &[f64])], count: usize) -> Self {
        let variables = values.iter().map(|&(name, domain, copies)| (name, domain, copies.len())).collect();
        Self { variables, values: values.iter().flat_map(|(_, _, copies)| copies.to_vec()).collect(), count }
    }

    /// All copies of a variable.
    ///
    /// # Panics
    /// If no variable has this name.
    pub fn of(&self, name: &str) -> &[f64] {
        let mut begin = 0;
        for (known, _, copies) in &self.variables {
            if *known == name {
                return &self.values[begin..begin + copies];
            }
            begin += copies;
        }
        panic!("no variable {name}")
    }

    /// The first copy of a variable.
    ///
    /// # Panics
    /// If no variable has this name.
    pub fn number(&self, name: &str) -> f64 {
        self.of(name)[0]
    }

    fn domains(&self) -> impl Iterator<Item = Domain> {
        self.variables.iter().flat_map(|&(_, domain, copies)| std::iter::repeat_n(domain, copies))
    }
}

impl Searchable for Numbers {
    type Setting = Self;

    /// Coordinates are normal, with a small or a large spread.
    fn draw(setting: &Self, stream: &mut Stream) -> Self {
        let spread = [0.5, 2.0, 5.0][(3.0 * stream.uniform()) as usize];
        let values = setting.domains().map(|domain| domain.value(spread * stream.normal())).collect();
        Self { values, ..setting.clone() }
    }

    fn coordinates(&self) -> Vec<f64> {
        self.domains().zip(&self.values).map(|(domain, &value)| domain.coordinate(value)).collect()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let values = self.domains().zip(coordinates).map(|(domain, &x)| domain.value(x)).collect();
        Self { values, ..self.clone() }
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |&(name, _, copies): &(&str, Domain, usize)| match copies {
            1 => format!("{name} = {}", short(self.number(name))),
            _ => format!("{name} = {}", tuple(self.of(name))),
        };
        let words: Vec<String> = self.variables.iter().map(word).collect();
        write!(f, "{}", words.join(", "))?;
        if self.count > 1 { write!(f, ", N = {}", self.count) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_lead_back() {
        let (unit, real) = (Domain::Between(0.0, 1.0), Domain::Real);
        let setting =
            &Numbers::settings(&[("a", unit, 2), ("x", Domain::Positive, 1), ("y", real, 1)], &[3])[0];
        let case = Numbers::draw(setting, &mut mcsa_core::Seed::new(2).stream(0, 0));
        let again = case.at(&case.coordinates());
        assert!(case.values.iter().zip(&again.values).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)));
        assert!(case.at(&[f64::NAN, 1e300, 1e300, -1e300]).values.iter().all(|x| x.is_finite()));
        assert!(case.to_string().contains("N = 3"));
    }
}
