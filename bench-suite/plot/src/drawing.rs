//! Rendered figures: SVG, PNG, and counts of missing values.

use std::fmt;
use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use super::figure::DrawError;

/// Font family; the second choice has the same widths and is on most machines.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// A rendered figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// SVG, with text as text elements.
    pub svg: String,
    /// Values that could not be drawn; the caption states them too.
    pub missing: Missing,
}

/// Counts of values that could not be drawn. Layers of one name in a panel, such as a line with its markers, are one series
/// and miss the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missing {
    /// NaN or infinite; a line has a gap there.
    pub not_finite: usize,
    /// Zero or negative on a logarithmic axis.
    pub not_positive: usize,
    /// Edges of bands and intervals at or below zero on a logarithmic axis: drawn as far as the axis goes.
    pub cut_at_axis: usize,
    /// Beyond the given range of an axis.
    pub outside: usize,
}

impl Missing {
    /// Counts of two sets, joined one by one.
    pub(super) fn joined(self, other: Self, join: fn(usize, usize) -> usize) -> Self {
        Self {
            not_finite: join(self.not_finite, other.not_finite),
            not_positive: join(self.not_positive, other.not_positive),
            cut_at_axis: join(self.cut_at_axis, other.cut_at_axis),
            outside: join(self.outside, other.outside),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.not_finite, "not finite"),
            (self.not_positive, "not positive on a log axis"),
            (self.cut_at_axis, "edges not positive, cut at the axis"),
            (self.outside, "outside the axes"),
        ];
        let words: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        f.write_str(&words.join("; "))
    }
}

impl Drawing {
    /// Renders the figure as PNG at a resolution; journals ask for 300 dots per inch.
    ///
    /// # Errors
    /// If the resolution is outside 10 to 2400, or the picture would have more than 2^28 pixels.
    pub fn png(&self, dots_per_inch: f64) -> Result<Vec<u8>, DrawError> {
        let is_possible = (10.0..=2400.0).contains(&dots_per_inch);
        DrawError::unless(is_possible, "the resolution in dots per inch", dots_per_inch)?;
        let fail =
            |error: &dyn fmt::Display| DrawError(format!("the picture could not be rasterised: {error}"));
        let options = options();
        let tree = usvg::Tree::from_str(&self.svg, &options).map_err(|error| fail(&error))?;
        let scale = dots_per_inch / f64::from(options.dpi);
        let pixels = |side: f32| (f64::from(side) * scale).round().max(1.0);
        let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
        DrawError::unless(width * height <= f64::from(1 << 28), "the number of pixels", width * height)?;
        let map = tiny_skia::Pixmap::new(width as u32, height as u32);
        let mut map = map.ok_or_else(|| fail(&"the picture has no size"))?;
        let scale = scale as f32;
        resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut map.as_mut());
        map.encode_png().map_err(|error| fail(&error))
    }
}

/// Settings of parser and rasteriser: the embedded fonts only.
pub(super) fn options() -> usvg::Options<'static> {
    let mut fonts = usvg::fontdb::Database::new();
    for font in [dejavu::sans::regular(), dejavu::sans::oblique()] {
        fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(font)));
    }
    fonts.set_sans_serif_family("DejaVu Sans");
    usvg::Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".into(), ..usvg::Options::default() }
}
