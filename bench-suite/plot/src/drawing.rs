//! Rendered figures: SVG, PNG, and notes on missing values.

use resvg::{tiny_skia, usvg};

use super::error::DrawError;
use super::font;
use super::note::Note;

/// A rendered figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// SVG, with text as text elements.
    pub svg: String,
    /// Notes on values that could not be drawn.
    pub notes: Vec<Note>,
}

impl Drawing {
    /// Renders the figure as PNG at a resolution; journals ask for 300 dots per inch.
    ///
    /// # Errors
    /// If the resolution is outside 10 to 2400, or the picture would have more than 2^28 pixels.
    pub fn png(&self, dots_per_inch: f64) -> Result<Vec<u8>, DrawError> {
        if !(10.0..=2400.0).contains(&dots_per_inch) {
            return Err(DrawError::Measure { what: "the resolution in dots per inch", value: dots_per_inch });
        }
        let options = font::options();
        let refuse = |error: &dyn std::fmt::Display| DrawError::Raster(error.to_string());
        let tree = usvg::Tree::from_str(&self.svg, &options).map_err(|error| refuse(&error))?;
        let scale = dots_per_inch / f64::from(options.dpi);
        let pixels = |side: f32| (f64::from(side) * scale).round().max(1.0);
        let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
        if width * height > f64::from(1 << 28) {
            return Err(DrawError::Measure { what: "the number of pixels", value: width * height });
        }
        let mut map = tiny_skia::Pixmap::new(width as u32, height as u32)
            .ok_or_else(|| refuse(&"the picture has no size"))?;
        let scale = scale as f32;
        resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut map.as_mut());
        map.encode_png().map_err(|error| refuse(&error))
    }
}
