//! Notes on values that are missing in a figure.

use std::fmt;

/// Reason for missing values.
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

/// Count of missing values of one layer, also stated in the footnote of the figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The panel, counted from zero.
    pub panel: usize,
    /// Name of the layer, or its kind.
    pub layer: String,
    /// Reason.
    pub reason: Reason,
    /// Number of values.
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

/// Counter of missing values of one layer.
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
