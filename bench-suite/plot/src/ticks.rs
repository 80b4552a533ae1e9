//! Ticks of an axis: positions and labels.

use super::scale::Scale;

/// A labelled tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// Position on the axis.
    pub(super) fraction: f64,
    /// Label, with markup.
    pub(super) label: String,
}

/// All ticks of one axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ticks {
    /// Labelled ticks, with a grid line.
    pub(super) major: Vec<Tick>,
    /// Short ticks without labels.
    pub(super) minor: Vec<f64>,
    /// Factor or offset common to all labels; empty if there is none.
    pub(super) common: String,
}

impl Ticks {
    /// One tick per category.
    pub(super) fn of_names(scale: &Scale, names: &[String]) -> Self {
        let tick =
            |(at, name): (usize, &String)| Tick { fraction: scale.fraction(at as f64), label: name.clone() };
        let major = names.iter().enumerate().map(tick).filter(|tick| is_on_axis(tick.fraction)).collect();
        Self { major, ..Self::default() }
    }
}

/// Returns true if a fraction is on the axis, up to rounding.
pub(super) fn is_on_axis(fraction: f64) -> bool {
    (-1e-9..=1.0 + 1e-9).contains(&fraction)
}
