//! Charts and their curves.

use crate::claims::Standing;

/// A labelled curve or set of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Label in the legend.
    pub label: &'static str,
    /// Points `(x, y)`.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// Curve of the function `f` at these abscissae.
    pub fn of(label: &'static str, at: impl IntoIterator<Item = f64>, f: impl Fn(f64) -> f64) -> Self {
        Self { label, points: at.into_iter().map(|x| (x, f(x))).collect() }
    }

    /// The ordinate at `x`, if `x` is one of the abscissae.
    pub fn at(&self, x: f64) -> Option<f64> {
        self.points.iter().find(|point| point.0 == x).map(|point| point.1)
    }
}

/// The curves of one figure, with axis labels and caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Name of the chart, used for files.
    pub name: &'static str,
    /// Name of the claim that the chart illustrates.
    pub claim: &'static str,
    /// Label of the abscissa.
    pub x: &'static str,
    /// Label of the ordinate.
    pub y: &'static str,
    /// Sentence of the caption on what the chart shows.
    pub sight: &'static str,
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Chart {
    /// Caption with the claim, its standing and the sentence on what the chart shows.
    pub fn caption(&self, standing: Standing) -> String {
        format!("{} ({standing}). {}", self.claim, self.sight)
    }

    /// The curve with this label.
    pub fn curve(&self, label: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.label == label)
    }
}

/// Integer abscissae `from..=to`.
pub(super) fn counts(from: usize, to: usize) -> impl Iterator<Item = f64> {
    (from..=to).map(|n| n as f64)
}

/// Powers of two `2^from..=2^to` as abscissae.
pub(super) fn doublings(from: u32, to: u32) -> impl Iterator<Item = f64> {
    (from..=to).map(|k| f64::from(1 << k))
}
