//! Rectangle between the axes of a panel.

use super::clip::{Fractions, Point};
use super::scale::Scale;

/// A rectangle in units; y increases downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Rect {
    pub(super) fn right(&self) -> i32 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> i32 {
        self.top + self.height
    }

    pub(super) fn middle(&self) -> Point {
        (self.left + self.width / 2, self.top + self.height / 2)
    }

    pub(super) fn contains(&self, (x, y): Point) -> bool {
        (self.left..=self.right()).contains(&x) && (self.top..=self.bottom()).contains(&y)
    }
}

/// Map from values to positions on the sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plot {
    pub(super) rect: Rect,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Plot {
    /// Position of a point as fractions of the axes.
    pub(super) fn fractions(&self, x: f64, y: f64) -> Fractions {
        (self.x.fraction(x), self.y.fraction(y))
    }

    /// Position of a point in or near the frame, rounded to units.
    pub(super) fn units(&self, (x, y): Fractions) -> Point {
        (self.across(x), self.down(y))
    }

    /// Horizontal position of a fraction.
    pub(super) fn across(&self, fraction: f64) -> i32 {
        self.rect.left + (fraction * f64::from(self.rect.width)).round() as i32
    }

    /// Vertical position of a fraction.
    pub(super) fn down(&self, fraction: f64) -> i32 {
        self.rect.bottom() - (fraction * f64::from(self.rect.height)).round() as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decade_is_a_fixed_length() {
        let rect = Rect { left: 100, top: 50, width: 3000, height: 2000 };
        let plot = Plot { rect, x: Scale::log(1.0, 1e3), y: Scale::linear(0.0, 4.0) };
        let place = |x, y| plot.units(plot.fractions(x, y));
        assert_eq!(place(1.0, 0.0), (100, 2050));
        assert_eq!(place(10.0, 1.0), (1100, 1550));
        assert_eq!(place(1000.0, 4.0), (3100, 50));
        assert!(rect.contains(place(31.6, 2.0)) && !rect.contains(place(2e3, 2.0)));
    }
}
