//! What a claim is tried on.

use std::fmt;

use mcsa::Stream;

/// A problem on which the two sides of a claim are numbers: drawn at random, moved by a search, shown to a reader.
///
/// A search moves the coordinates, which are any real numbers; what they leave fixed (sizes, counts, signs) is of the
/// setting and the draw.
pub trait Case: Clone + fmt::Display + Send + Sync + 'static {
    /// What is fixed before anything is drawn: the number of atoms, of samples, of steps.
    type Setting: Clone + Send + Sync + 'static;

    /// A random case. Some of them should be degenerate: counterexamples live at the border.
    fn draw(setting: &Self::Setting, stream: &mut Stream) -> Self;

    /// The point that a search starts from.
    fn coordinates(&self) -> Vec<f64>;

    /// The case at other coordinates.
    fn at(&self, coordinates: &[f64]) -> Self;
}
