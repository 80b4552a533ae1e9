//! Positions of graphical elements.

use crate::sheet::{Point, Sheet};
use mcsa_plot::{
    Anchor, Axis, DrawError, Drawing, Figure, Layer, Legend, Note, Panel, Place, Reason, Spacing, Style,
    Summary,
};
use resvg::{tiny_skia, usvg};

fn draw(panel: Panel) -> Drawing {
    Figure::new(vec![panel]).draw().expect("the figure can be drawn")
}

/// Expected positions of points of a log-log panel over 1..1e4 and 1e-4..1, computed from the frame alone.
fn log_places(frame: [f64; 4], data: &[Point]) -> Vec<Point> {
    let [left, top, right, bottom] = frame;
    let place = |(x, y): &Point| {
        (left + x.log10() / 4.0 * (right - left), bottom - (y.log10() + 4.0) / 4.0 * (bottom - top))
    };
    data.iter().map(place).collect()
}

fn are_close(found: &[Point], wanted: &[Point]) -> bool {
    let close = |(a, b): (&Point, &Point)| (a.0 - b.0).abs() <= 0.5 && (a.1 - b.1).abs() <= 0.5;
    found.len() == wanted.len() && found.iter().zip(wanted).all(close)
}

const DATA: [Point; 4] = [(1.0, 1.0), (10.0, 0.03), (250.0, 0.01), (1e4, 1e-4)];

fn line_on(x: Axis, y: Axis) -> Panel {
    let (xs, ys): (Vec<f64>, Vec<f64>) = DATA.into_iter().unzip();
    Panel::new(x.spanning(1.0, 1e4), y.spanning(1e-4, 1.0)).with(Layer::line(xs, ys))
}

#[test]
fn a_log_axis_puts_points_at_their_logarithms() {
    let sheet = Sheet::of(&draw(line_on(Axis::log("x"), Axis::log("y"))));
    assert!(are_close(sheet.lines("line")[0], &log_places(sheet.frame(), &DATA)), "{sheet:?}");
}

#[test]
fn a_linear_axis_in_its_place_is_caught() {
    for (x, y) in [(Axis::linear("x"), Axis::log("y")), (Axis::log("x"), Axis::linear("y"))] {
        let sheet = Sheet::of(&draw(line_on(x, y)));
        assert!(!are_close(sheet.lines("line")[0], &log_places(sheet.frame(), &DATA)));
    }
}

#[test]
fn ticks_stand_where_their_labels_say() {
    let sheet = Sheet::of(&draw(line_on(Axis::log("x"), Axis::log("y"))));
    assert_eq!(sheet.texts[..5], ["100", "101", "102", "103", "104"]);
    assert_eq!(sheet.texts[6..11], ["10−4", "10−3", "10−2", "10−1", "100"]);
    let [left, _, right, bottom] = sheet.frame();
    let below = |line: &&[Point]| line.len() == 2 && line[0].1 == bottom && line[1].1 > bottom;
    let lines = sheet.lines("axes");
    let (long, short): (Vec<_>, Vec<_>) =
        lines.into_iter().filter(below).partition(|line| line[1].1 - bottom > 250.0);
    assert_eq!((long.len(), short.len()), (5, 32));
    let at = |share: f64| left + share * (right - left);
    assert!((0..5).all(|decade| (long[decade][0].0 - at(decade as f64 / 4.0)).abs() <= 0.5));
    assert!((short[0][0].0 - at(2f64.log10() / 4.0)).abs() <= 0.5);
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let figure = || {
        Figure::new(vec![line_on(Axis::log("*x*"), Axis::log("y")), Panel::new(Axis::log(""), Axis::log(""))])
    };
    let (first, second) = (figure().draw().unwrap(), figure().draw().unwrap());
    assert_eq!(first, second);
    assert_eq!(first.png(100.0).unwrap(), second.png(100.0).unwrap());
    let other = Figure::new(vec![line_on(Axis::log("x"), Axis::log("*y*"))]).draw().unwrap();
    assert_ne!(first.svg, other.svg);
}

#[test]
fn values_that_cannot_be_drawn_are_gaps_and_notes() {
    let y = [1.0, 2.0, f64::NAN, 4.0, 5.0, -1.0, f64::INFINITY, 8.0];
    let x: Vec<f64> = (1..9).map(f64::from).collect();
    let panel = Panel::new(Axis::linear("x"), Axis::log("y")).with(Layer::line(x, y).named("JSA"));
    let drawing = draw(panel);
    let sheet = Sheet::of(&drawing);
    assert_eq!(sheet.lines("line").len(), 2);
    assert_eq!(sheet.discs.len(), 1, "the point between two gaps is a dot");
    let note = |reason, count| Note { panel: 0, layer: "JSA".into(), reason, count };
    assert_eq!(drawing.notes, [note(Reason::NotFinite, 2), note(Reason::NotPositive, 1)]);
    let caption = sheet.texts.last().unwrap();
    assert_eq!(caption, "Not drawn: 2 not finite (JSA); 1 not positive on a log axis (JSA).");
}

#[test]
fn a_band_below_zero_goes_to_the_foot_of_a_log_axis() {
    let layer = Layer::band([1.0, 2.0, 3.0], [0.1, -0.5, 0.2], [1.0, 1.0, 1.0]);
    let drawing = draw(Panel::new(Axis::linear("x"), Axis::log("y")).with(layer));
    let sheet = Sheet::of(&drawing);
    let [left, _, right, bottom] = sheet.frame();
    let (_, area) = &sheet.polygons[0];
    assert!(area.contains(&(f64::midpoint(left, right).round(), bottom)), "{area:?} {bottom}");
    assert_eq!(drawing.notes[0].reason, Reason::CutAtAxis);
}

#[test]
fn boxes_intervals_and_bars_stand_on_their_numbers() {
    let panel = || Panel::new(Axis::linear("").spanning(0.0, 10.0), Axis::linear("").spanning(0.0, 10.0));
    let places = |layer: Layer| {
        let sheet = Sheet::of(&draw(panel().with(layer)));
        let [left, top, right, bottom] = sheet.frame();
        let back =
            move |(x, y): Point| (10.0 * (x - left) / (right - left), 10.0 * (bottom - y) / (bottom - top));
        let (paths, discs) = (sheet.polylines, sheet.discs);
        let classes = ["line", "boxes", "intervals", "bars"];
        let paths = paths.into_iter().filter(|(class, _)| classes.contains(&class.as_str()));
        let paths: Vec<Vec<Point>> =
            paths.map(|(_, points)| points.into_iter().map(back).collect()).collect();
        (paths, discs.into_iter().map(|(_, at)| back(at)).collect::<Vec<_>>())
    };
    let close = |found: &[Point], wanted: &[Point]| {
        let near = |(a, b): (&Point, &Point)| (a.0 - b.0).abs() < 1e-3 && (a.1 - b.1).abs() < 1e-3;
        found.len() == wanted.len() && found.iter().zip(wanted).all(near)
    };
    let (paths, discs) = places(Layer::intervals([2.0], [5.0], [4.0], [8.0]).horizontal());
    assert!(close(&paths[0], &[(4.0, 2.0), (8.0, 2.0)]) && close(&discs, &[(5.0, 2.0)]));
    let (paths, _) = places(Layer::boxes([5.0], [Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0])]));
    assert!(close(&paths[0], &[(4.75, 2.0), (5.25, 2.0), (5.25, 4.0), (4.75, 4.0), (4.75, 2.0)]));
    assert!(close(&paths[1], &[(5.0, 1.0), (5.0, 2.0)]) && close(&paths[2], &[(5.0, 4.0), (5.0, 5.0)]));
    assert!(close(&paths[3], &[(4.75, 3.0), (5.25, 3.0)]));
    let (paths, _) = places(Layer::bars([1.0, 2.0, 4.0], [3.0, 6.0]));
    assert!(close(&paths[0], &[(1.0, 0.0), (1.0, 3.0), (2.0, 3.0), (2.0, 6.0), (4.0, 6.0), (4.0, 0.0)]));
}

#[test]
fn names_are_text_and_not_markup_of_the_document() {
    let name = "a < b & \"c\" > 'd' ]]> λ → ∞";
    let panel = Panel::new(Axis::categories("", ["<g>"]), Axis::linear("&amp;")).titled("</svg>");
    let drawing = draw(panel.with(Layer::points([0.0], [1.0]).named(name)));
    let texts = Sheet::of(&drawing).texts;
    assert!(
        [name, "<g>", "&amp;", "</svg>"].iter().all(|text| texts.iter().any(|found| found == text)),
        "{texts:?}"
    );
}

#[test]
fn what_no_page_can_hold_is_refused() {
    let panel = || Panel::new(Axis::linear("x"), Axis::log("y"));
    let refused = |figure: Figure| figure.draw().unwrap_err();
    assert_eq!(refused(Figure::new(Vec::new())), DrawError::NoPanels);
    let range =
        |low, high| refused(Figure::new(vec![Panel { y: Axis::log("y").spanning(low, high), ..panel() }]));
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (0.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert!(matches!(range(low, high), DrawError::Range { .. }), "{low} {high}");
    }
    for width in [0.0, -5.0, f64::NAN, 1e9] {
        assert!(matches!(refused(Figure::new(vec![panel()]).wide(width)), DrawError::Measure { .. }));
    }
    assert!(matches!(draw(panel()).png(0.0), Err(DrawError::Measure { .. })));
}

#[test]
fn the_raster_has_the_size_and_the_colours_of_the_page() {
    let x: Vec<f64> = (0..9).map(f64::from).collect();
    let layer = Layer::line(x.clone(), x).styled(Style::series(1).solid());
    let drawing = draw(Panel::new(Axis::linear("x"), Axis::linear("y")).with(layer));
    let map = tiny_skia::Pixmap::decode_png(&drawing.png(300.0).unwrap()).unwrap();
    assert_eq!(map.width(), 1004); // 85 mm at 300 dots per inch
    let count = |red, green, blue| {
        let is_it = |pixel: &&tiny_skia::PremultipliedColorU8| {
            (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue)
        };
        map.pixels().iter().filter(is_it).count()
    };
    assert!(count(0xD5, 0x5E, 0x00) > 2000);
    assert!(count(0, 0, 0) > 2000, "text and axes are black");
    assert_eq!(count(0x00, 0x72, 0xB2), 0);
}

#[test]
fn a_hundred_thousand_points_are_a_small_picture() {
    let x: Vec<f64> = (0..100_000).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (x * 12.9898).sin() * 43_758.545_3 % 1.0).collect();
    let low: Vec<f64> = y.iter().map(|y| y - 1.0).collect();
    let panel = Panel::new(Axis::linear("x"), Axis::linear("y"));
    let panel = panel.with(Layer::band(x.clone(), low, y.clone())).with(Layer::line(x, y));
    assert!(draw(panel).svg.len() < 150_000);
}

/// Bounding boxes of all texts on the page, measured by the engine that draws them.
fn text_boxes(drawing: &Drawing) -> Vec<(String, usvg::Rect)> {
    fn gather(group: &usvg::Group, boxes: &mut Vec<(String, usvg::Rect)>) {
        for node in group.children() {
            match node {
                usvg::Node::Text(text) => {
                    let words = text.chunks().iter().map(usvg::TextChunk::text).collect();
                    // Without the space above and below the letters, which line spacing already includes.
                    let ink = text.flattened().abs_bounding_box();
                    boxes.push((words, ink));
                }
                usvg::Node::Group(group) => gather(group, boxes),
                _ => {}
            }
        }
    }
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::oblique().to_vec());
    let options = usvg::Options { fontdb: fonts.into(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(&drawing.svg, &options).expect("a drawing is SVG");
    let mut boxes = Vec::new();
    gather(tree.root(), &mut boxes);
    boxes
}

#[test]
fn no_text_lies_on_another_or_off_the_page() {
    let long = "a name that is much too long for any sensible legend or axis, and then some";
    let names = ["one", "another name", "the most detailed of all the names that an axis may carry"];
    let axes = [
        (Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)")),
        (Axis::linear(long), Axis::linear(long)),
        (Axis::categories("", names), Axis::log("y")),
        (Axis::linear("x"), Axis::categories(long, names)),
    ];
    for (width, columns) in [(85.0, 1), (170.0, 2), (170.0, 4)] {
        let panels = axes.iter().map(|(x, y)| {
            let (low, high) = (0.5, 31_000.0);
            let at = [0.0, 1.0, 2.0]
                .map(|at| if matches!(x.spacing, Spacing::Categories(_)) { at } else { low + at * high });
            let panel = Panel::new(x.clone(), y.clone()).titled(long);
            panel
                .with(Layer::line(at, at.map(|at| at + 1.0)).named(long))
                .with(Layer::points(at, at).styled(Style::series(1)).named("short"))
                .legend(if columns == 4 { Legend::Below } else { Legend::Auto })
        });
        let mut figure = Figure::new(panels.collect()).titled(long).captioned(long.repeat(3)).wide(width);
        figure.columns = columns;
        let drawing = figure.draw().unwrap();
        let boxes = text_boxes(&drawing);
        let page = (width / 25.4 * 96.0) as f32;
        for (words, ink) in &boxes {
            assert!(ink.left() >= 0.0 && ink.right() <= page + 1.0, "{width} {columns}: {words} {ink:?}");
        }
        // Bounding boxes of rotated names are larger than the names.
        let is_name = |text: &str| names.iter().any(|name| name.contains(text));
        let pairs = collisions(&boxes);
        let wrong: Vec<_> = pairs.iter().filter(|(one, other)| !(is_name(one) && is_name(other))).collect();
        assert!(wrong.is_empty(), "{width} {columns}: {wrong:?}");
    }
}

#[test]
fn texts_on_each_other_are_caught() {
    let panel =
        Panel::new(Axis::linear("x"), Axis::linear("y")).with(Layer::text(0.5, 0.5, "one", Anchor::Middle));
    let drawing = draw(panel.with(Layer::text(0.5, 0.5, "two", Anchor::Start)));
    assert_eq!(collisions(&text_boxes(&drawing)), [("one".into(), "two".into())]);
}

/// Pairs of texts whose boxes overlap.
fn collisions(boxes: &[(String, usvg::Rect)]) -> Vec<(String, String)> {
    let overlap = |a: &usvg::Rect, b: &usvg::Rect| {
        a.left() < b.right() && b.left() < a.right() && a.top() < b.bottom() && b.top() < a.bottom()
    };
    let mut pairs = Vec::new();
    for (index, (words, ink)) in boxes.iter().enumerate() {
        let after = boxes[index + 1..].iter().filter(|(_, there)| overlap(ink, there));
        pairs.extend(after.map(|(other, _)| (words.clone(), other.clone())));
    }
    pairs
}

#[test]
fn a_legend_stands_where_it_is_told() {
    let panel = |legend| {
        let layer = Layer::points([0.0, 1.0], [0.0, 1.0]).named("name");
        Panel::new(Axis::linear("x"), Axis::linear("y")).with(layer).legend(legend)
    };
    let swatch = |legend| {
        let sheet = Sheet::of(&draw(panel(legend)));
        let [left, top, right, bottom] = sheet.frame();
        let place = |at: Point| ((at.0 - left) / (right - left), (bottom - at.1) / (bottom - top));
        sheet.discs.iter().find(|(class, _)| class == "legend").map(|(_, at)| place(*at))
    };
    let found = |legend| swatch(legend).expect("a legend is drawn");
    assert!(matches!(found(Legend::At(Place::BottomRight)), (0.6..=1.0, 0.0..=0.3)));
    assert!(matches!(found(Legend::At(Place::TopLeft)), (0.0..=0.3, 0.7..=1.0)));
    assert!(found(Legend::Below).1 < 0.0);
    assert!(matches!(found(Legend::Auto), (0.0..=0.3, 0.7..=1.0)), "the diagonal leaves the upper left free");
    assert_eq!(swatch(Legend::Hidden), None);
}

#[test]
fn words_stand_at_their_point() {
    let panel = Panel::new(Axis::linear("x").spanning(0.0, 1.0), Axis::linear("y").spanning(0.0, 1.0));
    let drawing = draw(panel.with(Layer::text(0.5, 0.5, "*here*", Anchor::Middle)).with(Layer::text(
        2.0,
        0.0,
        "no",
        Anchor::End,
    )));
    assert!(Sheet::of(&drawing).texts.contains(&"here".to_string()));
    assert_eq!((drawing.notes.len(), drawing.notes[0].reason), (1, Reason::Outside));
}
