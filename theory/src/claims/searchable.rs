//! Cases on which claims are tested.

use std::fmt;

use mcsa_core::Stream;

/// Case of a claim, for which both sides can be computed: drawn at random, moved by a search, and printed.
///
/// A search moves the coordinates, which may be any real numbers; whatever they leave fixed (sizes, counts, signs) comes from
/// the setting and the draw.
pub trait Searchable: Clone + fmt::Display + Send + Sync + 'static {
    /// Quantities fixed before the draw: the number of atoms, of samples, of steps.
    type Setting: Clone + Send + Sync + 'static;

    /// A random case. Some should be degenerate, because counterexamples are often at the boundary.
    fn draw(setting: &Self::Setting, stream: &mut Stream) -> Self;

    /// Coordinates at which a search starts.
    fn coordinates(&self) -> Vec<f64>;

    /// The case at other coordinates.
    fn at(&self, coordinates: &[f64]) -> Self;
}
