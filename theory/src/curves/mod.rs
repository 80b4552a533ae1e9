//! What the checks of the papers' claims look like: numbers to be drawn, computed anew and exactly.
//!
//! ```
//! use mcsa_theory::curves;
//! let chart = &curves::all()[0];
//! assert_eq!((chart.claim, chart.curves.len()), ("001-L2", 3));
//! ```

mod ascent;
mod wielding;

use crate::claims::Standing;

/// A line or a cloud of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What it shows.
    pub label: &'static str,
    /// Abscissa and ordinate.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// A function at these abscissae.
    pub fn of(label: &'static str, at: impl IntoIterator<Item = f64>, f: impl Fn(f64) -> f64) -> Self {
        Self { label, points: at.into_iter().map(|x| (x, f(x))).collect() }
    }

    /// The ordinate at an abscissa that is one of its own.
    pub fn at(&self, x: f64) -> Option<f64> {
        self.points.iter().find(|point| point.0 == x).map(|point| point.1)
    }
}

/// Curves that belong in one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// A name for files.
    pub name: &'static str,
    /// The claim that it is about.
    pub claim: &'static str,
    /// What is along the abscissa.
    pub x: &'static str,
    /// What is along the ordinate.
    pub y: &'static str,
    /// What there is to see.
    pub sight: &'static str,
    /// The numbers.
    pub curves: Vec<Curve>,
}

impl Chart {
    /// A caption with the claim and what the search says of it.
    pub fn caption(&self, standing: Standing) -> String {
        format!("{} ({standing}). {}", self.claim, self.sight)
    }

    /// The curve of this label.
    pub fn curve(&self, label: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.label == label)
    }
}

/// Twelve charts.
pub fn all() -> Vec<Chart> {
    let mut all = ascent::charts();
    all.extend(wielding::charts());
    all
}

/// Whole numbers as abscissae.
fn counts(from: usize, to: usize) -> impl Iterator<Item = f64> {
    (from..=to).map(|n| n as f64)
}

/// Whole powers of two as abscissae.
fn doublings(from: u32, to: u32) -> impl Iterator<Item = f64> {
    (from..=to).map(|k| f64::from(1 << k))
}
