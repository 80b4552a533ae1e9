//! Styles of series: colour, dash, marker, line width.

/// A colour as red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// Colour of axes and text.
    pub const BLACK: Self = Self(0, 0, 0);
    /// Colour of reference lines and footnotes.
    pub const GREY: Self = Self(0x59, 0x59, 0x59);
    pub(super) const GRID: Self = Self(0xE4, 0xE4, 0xE4);
    pub(super) const WHITE: Self = Self(0xFF, 0xFF, 0xFF);

    /// This colour mixed with white; `strength` 1 leaves it unchanged, 0 gives white.
    pub fn lighter(self, strength: f64) -> Self {
        let mix = |part: u8| (255.0 + (f64::from(part) - 255.0) * strength.clamp(0.0, 1.0)).round() as u8;
        Self(mix(self.0), mix(self.1), mix(self.2))
    }

    pub(super) fn hex(self) -> String {
        format!("#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

/// Colours of Okabe and Ito, distinguishable under any colour vision, without the yellow that is hardly visible on white; the
/// first three are those of most figures.
pub const PALETTE: [Color; 7] = [
    Color(0x00, 0x72, 0xB2),
    Color(0xD5, 0x5E, 0x00),
    Color(0x00, 0x9E, 0x73),
    Color(0xCC, 0x79, 0xA7),
    Color(0xE6, 0x9F, 0x00),
    Color(0x56, 0xB4, 0xE9),
    Color(0x00, 0x00, 0x00),
];

/// Dash pattern of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// Continuous.
    Solid,
    /// Long strokes, short gaps: still reads as a line if the data are noisy.
    Long,
    /// Dots.
    Dotted,
    /// A stroke and a dot.
    Dotdash,
    /// Short strokes.
    Short,
}

impl Dash {
    const ALL: [Self; 5] = [Self::Solid, Self::Long, Self::Dotted, Self::Dotdash, Self::Short];

    /// Strokes and gaps in stroke widths; butt ends.
    pub(super) fn pattern(self) -> &'static [f64] {
        match self {
            Self::Solid => &[],
            Self::Long => &[6.0, 1.4],
            Self::Dotted => &[1.2, 1.1],
            Self::Dotdash => &[5.0, 1.3, 1.2, 1.3],
            Self::Short => &[2.8, 1.4],
        }
    }
}

/// Shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square with horizontal sides.
    Square,
    /// A triangle, point up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle, point down.
    Wedge,
    /// An upright cross.
    Plus,
    /// A circle filled with white.
    Ring,
}

impl Marker {
    const ALL: [Self; 7] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Wedge, Self::Plus, Self::Ring];
}

/// Style of one series, used in every layer and in the legend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    /// Colour.
    pub color: Color,
    /// Dash pattern of lines.
    pub dash: Dash,
    /// Shape of points.
    pub marker: Marker,
    /// Width of lines in points.
    pub width: f64,
    /// Diameter of markers in points.
    pub size: f64,
    /// Opacity of lines, points and outlines; fills are fainter by a fixed factor.
    pub opacity: f64,
}

impl Style {
    /// Style of series `index`. The first 35 differ from each other, even by dash and marker alone.
    pub fn series(index: usize) -> Self {
        Self {
            color: PALETTE[index % PALETTE.len()],
            dash: Dash::ALL[index % Dash::ALL.len()],
            marker: Marker::ALL[index % Marker::ALL.len()],
            width: 1.15,
            size: 4.0,
            opacity: 1.0,
        }
    }

    /// A thin grey dashed line for true values, bounds and floors.
    pub fn reference() -> Self {
        Self { color: Color::GREY, dash: Dash::Short, width: 0.8, ..Self::series(0) }
    }

    /// Makes lines solid.
    pub fn solid(self) -> Self {
        Self { dash: Dash::Solid, ..self }
    }

    /// Sets the opacity, as needed for a scatter of many points.
    pub fn faint(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }

    /// Sets the diameter of markers, in points.
    pub fn sized(self, size: f64) -> Self {
        Self { size, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_five_series_differ_in_greyscale() {
        for first in 0..35 {
            for second in 0..first {
                let (a, b) = (Style::series(first), Style::series(second));
                assert_ne!((a.dash, a.marker), (b.dash, b.marker), "{first} {second}");
                assert_ne!((a.color, a.dash), (b.color, b.dash), "{first} {second}");
            }
        }
    }
}
