//! Figures: drawing of data as SVG and PNG in a uniform style.
//!
//! A [`Figure`] holds [`Panel`]s, a panel two [`Axis`]es and [`Layer`]s, a layer data with a shape and a [`Style`].
//! [`Figure::draw`] is a pure function to a [`Drawing`]: equal figures give equal bytes on every machine, whatever fonts it
//! has. Values are no errors: those that have no position on an axis are left out and counted under the figure.
//!
//! Labels have markup: `KL(*q* ∥ *p*)` sets italics, `10^{−2}` and `m_{f}` are super- and subscripts, a backslash escapes a
//! markup character. Text is set in DejaVu Sans: Latin, Greek, Cyrillic and mathematics; characters it lacks become empty
//! boxes in the PNG.
//!
//! Each thing has a fixed place, so that the layout needs no search: a legend common to all panels is above them, any other
//! legend below its panel; names of categories are wrapped into the room between ticks.
//!
//! Strokes, areas and markers are plotters' elements, written by its SVG backend into groups, which add dashes, round joins and
//! classes. Its charts cannot share margins, and its text has no superscripts and italics: these are written here.

mod canvas;
mod clip;
mod drawing;
mod figure;
mod frame;
mod label;
mod layer;
mod legend;
mod page;
mod pencil;
mod scale;
mod style;
mod ticks;

pub use drawing::{Drawing, Missing};
pub use figure::{Axis, DrawError, Figure, Panel};
pub use layer::{Layer, Summary};
pub use style::{Color, Dash, Marker, PALETTE, Style};
