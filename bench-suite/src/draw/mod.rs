//! Figures: data in, SVG and PNG out, in one style.
//!
//! A [`Figure`] holds [`Panel`]s, a panel two [`Axis`]es and [`Layer`]s, a layer data in a [`Shape`] and a
//! [`Style`]. [`Figure::draw`] is a pure function to a [`Drawing`]: the same figure gives the same bytes, on every
//! machine and without its fonts. Nothing a program computes is refused: what has no place on an axis is left out,
//! counted in [`Drawing::notes`] and named under the figure.
//!
//! Labels are marked up: `KL(*q* ∥ *p*)` sets italics, `10^{−2}` and `m_{f}` raise and lower, a backslash takes a
//! mark at its word. Characters are set in DejaVu Sans: Latin, Greek, Cyrillic and mathematics; what it lacks
//! becomes an empty box in the PNG.
//!
//! # What plotters does, and what it does not
//!
//! plotters' elements (`PathElement`, `Polygon`, `Circle`) and its SVG backend write every stroke, area and marker.
//! The sheet is measured in hundredths of a point, so that the backend's whole numbers are finer than any printer;
//! its one element at a time is taken over into groups, which carry what the backend does not know: dashes, round
//! joins, classes. Not used are
//!
//! * its text: placed by an estimate, without superscripts and italics, and badly kerned as pixels. Text is
//!   written here as SVG, measured by the engine and the DejaVu fonts that rasterise it;
//! * its coordinates and charts: whole pixels before clipping bend steep lines and overflow far away, its log axis
//!   has no minor ticks, and its charts cannot share margins between panels. Curves are cut in floating point;
//! * its bitmaps: PNG is this SVG rasterised by resvg, so that both are one picture.
//!
//! Deliberately absent: contours, three dimensions, animation, a second axis on the right.

mod axis;
mod canvas;
mod clip;
mod drawing;
mod error;
mod extent;
mod figure;
mod frame;
mod label;
mod layer;
mod layout;
mod legend;
mod log_ticks;
mod mark;
mod note;
mod page;
mod panel;
mod placing;
mod plot;
mod scale;
mod style;
mod summary;
mod ticks;
mod typesetter;

pub use axis::{Axis, Spacing};
pub use drawing::Drawing;
pub use error::DrawError;
pub use figure::Figure;
pub use layer::{Anchor, Direction, Layer, Shape};
pub use note::{Note, Reason};
pub use panel::{Legend, Panel, Place};
pub use style::{Color, Dash, Marker, PALETTE, Style};
pub use summary::Summary;
