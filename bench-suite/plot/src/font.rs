//! Embedded fonts.

use std::sync::Arc;

use resvg::usvg;

/// Font family; the second choice has the same widths and is on most machines.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Settings of parser and rasteriser: the embedded fonts only.
pub(super) fn options() -> usvg::Options<'static> {
    let mut fonts = usvg::fontdb::Database::new();
    for font in [dejavu::sans::regular(), dejavu::sans::oblique()] {
        fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(font)));
    }
    fonts.set_sans_serif_family("DejaVu Sans");
    usvg::Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".into(), ..usvg::Options::default() }
}
