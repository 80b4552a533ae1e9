//! What was left out of a figure, counted.

use std::fmt;

/// Why values are not in the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// NaN or infinite; a line has a gap there.
    NotFinite,
    /// Zero or negative on a logarithmic axis.
    NotPositive,
    /// An edge of a band or interval at or below zero on a logarithmic axis: drawn as far as the axis goes.
    CutAtAxis,
    /// Beyond the given range of an axis.
    Outside,
}

/// Values of one layer that are not in the picture. The footnote of the figure says the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The panel, counted from zero.
    pub panel: usize,
    /// The layer's name, or its kind.
    pub layer: String,
    /// Why.
    pub reason: Reason,
    /// How many values.
    pub count: usize,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layer, count, .. } = self;
        let what = match self.reason {
            Reason::NotFinite => "not finite",
            Reason::NotPositive => "not positive on a log axis",
            Reason::CutAtAxis => "edges not positive, cut at the axis",
            Reason::Outside => "outside the axes",
        };
        write!(f, "{count} {what} ({layer})")
    }
}

/// The notes of one layer in the making.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    counts: [usize; 4],
}

impl Tally {
    const REASONS: [Reason; 4] = [Reason::NotFinite, Reason::NotPositive, Reason::CutAtAxis, Reason::Outside];

    pub(super) fn add(&mut self, reason: Reason) {
        self.counts[reason as usize] += 1;
    }

    pub(super) fn notes(&self, panel: usize, layer: &str) -> Vec<Note> {
        let counted = Self::REASONS.into_iter().zip(self.counts).filter(|(_, count)| *count > 0);
        counted.map(|(reason, count)| Note { panel, layer: layer.into(), reason, count }).collect()
    }
}
