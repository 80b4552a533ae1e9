//! Figures show data at the correct positions, and no input breaks drawing.

use mcsa_plot::{Axis, Drawing, Figure, Layer, Missing, Panel, Style, Summary};
use proptest::prelude::*;
use resvg::usvg::roxmltree::{Document, Node};
use resvg::{tiny_skia, usvg};

/// A point in units of the picture.
type Point = (f64, f64);

/// Graphical elements of a figure.
#[derive(Debug, Default)]
struct Sheet {
    /// Size of the page in units.
    size: Point,
    /// Every text, without its markup.
    texts: Vec<String>,
    /// Every polyline, filled polygon and disc: the name of its element, the class of its group, its points.
    shapes: Vec<(String, String, Vec<Point>)>,
}

impl Sheet {
    /// Parses a drawing.
    fn of(drawing: &Drawing) -> Self {
        let document = Document::parse(&drawing.svg).expect("a drawing is XML");
        let root = document.root_element();
        let view: Vec<f64> = numbers(root.attribute("viewBox").expect("a page has a size"));
        let mut sheet = Self { size: (view[2], view[3]), ..Self::default() };
        sheet.read(root, "");
        sheet
    }

    fn read(&mut self, node: Node<'_, '_>, class: &str) {
        let class = node.attribute("class").unwrap_or(class);
        match node.tag_name().name() {
            "text" => self
                .texts
                .push(node.descendants().filter_map(|part| part.is_text().then(|| part.text())?).collect()),
            name @ ("polyline" | "polygon" | "circle") => {
                self.shapes.push((name.into(), class.into(), points(node)));
            }
            _ => {}
        }
        node.children().filter(Node::is_element).for_each(|child| self.read(child, class));
    }

    /// Classes and points of the shapes of one element.
    fn all(&self, element: &str) -> impl Iterator<Item = (&str, &[Point])> {
        let ours = self.shapes.iter().filter(move |(name, ..)| name == element);
        ours.map(|(_, class, points)| (class.as_str(), points.as_slice()))
    }

    /// The polylines of one class.
    fn lines(&self, class: &str) -> Vec<&[Point]> {
        self.all("polyline").filter(|(of, _)| *of == class).map(|(_, points)| points).collect()
    }

    /// Left, top, right and bottom of the first plot, from its axis lines.
    fn frame(&self) -> [f64; 4] {
        let lines = self.lines("axes");
        let corner = lines.iter().find(|line| line.len() == 3).expect("two axes meet in a corner");
        [corner[0].0, corner[0].1, corner[2].0, corner[2].1]
    }
}

fn points(node: Node<'_, '_>) -> Vec<Point> {
    let places = ["points", "cx", "cy"].map(|name| node.attribute(name).unwrap_or_default());
    numbers(&places.join(" ")).chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    words.map(|word| word.parse().expect("coordinates are numbers")).collect()
}

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

fn are_close(found: &[Point], wanted: &[Point], gap: f64) -> bool {
    let close = |(a, b): (&Point, &Point)| (a.0 - b.0).abs() <= gap && (a.1 - b.1).abs() <= gap;
    found.len() == wanted.len() && found.iter().zip(wanted).all(close)
}

const DATA: [Point; 4] = [(1.0, 1.0), (10.0, 0.03), (250.0, 0.01), (1e4, 1e-4)];

fn line_on(x: Axis, y: Axis) -> Panel {
    Panel::new(x.spanning(1.0, 1e4), y.spanning(1e-4, 1.0)).with(Layer::line(DATA))
}

/// Linear axes in place of the logarithmic ones are caught.
#[test]
fn a_log_axis_puts_points_at_their_logarithms() {
    let log = || Axis::log("");
    for (x, y, is_right) in
        [(log(), log(), true), (Axis::linear(""), log(), false), (log(), Axis::linear(""), false)]
    {
        let sheet = Sheet::of(&draw(line_on(x, y)));
        let places = log_places(sheet.frame(), &DATA);
        assert_eq!(are_close(sheet.lines("line")[0], &places, 0.5), is_right, "{sheet:?}");
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
fn values_that_cannot_be_drawn_are_gaps_and_are_counted() {
    let y = [1.0, 2.0, f64::NAN, 4.0, 5.0, -1.0, f64::INFINITY, 8.0];
    let points = (1..9).map(f64::from).zip(y);
    let panel = Panel::new(Axis::linear("x"), Axis::log("y")).with(Layer::line(points).named("JSA"));
    let drawing = draw(panel);
    let sheet = Sheet::of(&drawing);
    assert_eq!(sheet.lines("line").len(), 2);
    assert_eq!(sheet.all("circle").count(), 1, "the point between two gaps is a dot");
    assert_eq!(drawing.missing, Missing { not_finite: 2, not_positive: 1, ..Missing::default() });
    let caption = sheet.texts.last().unwrap();
    assert_eq!(caption, "Not drawn: 2 not finite; 1 not positive on a log axis.");
}

#[test]
fn a_band_below_zero_goes_to_the_foot_of_a_log_axis() {
    let layer = Layer::band([[1.0, 0.1, 1.0], [2.0, -0.5, 1.0], [3.0, 0.2, 1.0]]);
    let drawing = draw(Panel::new(Axis::linear("x"), Axis::log("y")).with(layer));
    let sheet = Sheet::of(&drawing);
    let [left, _, right, bottom] = sheet.frame();
    let (_, area) = sheet.all("polygon").next().expect("an area");
    assert!(area.contains(&(f64::midpoint(left, right).round(), bottom)), "{area:?} {bottom}");
    assert_eq!(drawing.missing, Missing { cut_at_axis: 1, ..Missing::default() });
}

/// A line with its markers misses its values once; panels are added up.
#[test]
fn a_series_is_counted_once_and_panels_add_up() {
    let panel = |high: f64| {
        let points = [(0.0, 0.0), (1.0, high), (2.0, high)];
        let panel = Panel::new(Axis::linear("x"), Axis::linear("y").spanning(-1.0, 1.0));
        panel.with(Layer::line(points).named("JSA")).with(Layer::points(points).named("JSA"))
    };
    let drawing = Figure::new(vec![panel(9.0), panel(9.0), panel(0.0)]).draw().unwrap();
    assert_eq!(drawing.missing, Missing { outside: 4, ..Missing::default() });
}

#[test]
fn boxes_intervals_and_bars_stand_on_their_numbers() {
    let panel = || Panel::new(Axis::linear("").spanning(0.0, 10.0), Axis::linear("").spanning(0.0, 10.0));
    let places = |layer: Layer| {
        let sheet = Sheet::of(&draw(panel().with(layer)));
        let [left, top, right, bottom] = sheet.frame();
        let back =
            move |(x, y): Point| (10.0 * (x - left) / (right - left), 10.0 * (bottom - y) / (bottom - top));
        let classes = ["line", "boxes", "intervals", "bars"];
        let paths = sheet.all("polyline").filter(|(class, _)| classes.contains(class));
        let paths: Vec<Vec<Point>> =
            paths.map(|(_, points)| points.iter().copied().map(back).collect()).collect();
        let discs = sheet.all("circle").flat_map(|(_, at)| at).copied();
        (paths, discs.map(back).collect::<Vec<_>>())
    };
    let close = |found: &[Point], wanted: &[Point]| are_close(found, wanted, 1e-3);
    let (paths, discs) = places(Layer::intervals([[2.0, 5.0, 4.0, 8.0]]).horizontal());
    assert!(close(&paths[0], &[(4.0, 2.0), (8.0, 2.0)]) && close(&discs, &[(5.0, 2.0)]));
    let (paths, _) = places(Layer::boxes([(5.0, Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]))]));
    assert!(close(&paths[0], &[(4.75, 2.0), (5.25, 2.0), (5.25, 4.0), (4.75, 4.0), (4.75, 2.0)]));
    assert!(close(&paths[1], &[(5.0, 1.0), (5.0, 2.0)]) && close(&paths[2], &[(5.0, 4.0), (5.0, 5.0)]));
    assert!(close(&paths[3], &[(4.75, 3.0), (5.25, 3.0)]));
    let (paths, _) = places(Layer::bar([1.0, 2.0], 3.0));
    assert!(close(&paths[0], &[(1.0, 0.0), (1.0, 3.0), (2.0, 3.0), (2.0, 0.0)]));
}

#[test]
fn names_are_text_and_not_markup_of_the_document() {
    let name = "a < b & \"c\" > 'd' ]]> λ → ∞";
    let panel = Panel::new(Axis::categories("", ["<g>"]), Axis::linear("&amp;")).titled("</svg>");
    let drawing = draw(panel.with(Layer::points([(0.0, 1.0)]).named(name)));
    let texts = Sheet::of(&drawing).texts;
    assert!(
        [name, "<g>", "&amp;", "</svg>"].iter().all(|text| texts.iter().any(|found| found == text)),
        "{texts:?}"
    );
}

#[test]
fn what_no_page_can_hold_is_refused() {
    let panel = || Panel::new(Axis::linear("x"), Axis::log("y"));
    let refused = |figure: Figure| figure.draw().unwrap_err().to_string();
    assert_eq!(refused(Figure::new(Vec::new())), "a figure needs at least one panel");
    let range = |low, high| {
        refused(Figure::new(vec![Panel::new(Axis::linear("x"), Axis::log("y").spanning(low, high))]))
    };
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (0.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert!(range(low, high).starts_with("axis `y`: the range "), "{low} {high}");
    }
    for width in [0.0, -5.0, f64::NAN, 1e9] {
        let message = refused(Figure::new(vec![panel()]).wide(width));
        assert_eq!(message, format!("the width in millimetres is {width}, out of what a page can have"));
    }
    assert!(draw(panel()).png(0.0).is_err());
}

#[test]
fn the_raster_has_the_size_and_the_colours_of_the_page() {
    let layer = Layer::line((0..9).map(|k| (f64::from(k), f64::from(k)))).styled(Style::series(1).solid());
    let drawing = draw(Panel::new(Axis::linear("x"), Axis::linear("y")).with(layer));
    let png = drawing.png(300.0).unwrap();
    assert_eq!(png, drawing.clone().png(300.0).unwrap());
    let map = tiny_skia::Pixmap::decode_png(&png).unwrap();
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
    let points = || (0..100_000).map(f64::from).map(|x| (x, (x * 12.9898).sin() * 43_758.545_3 % 1.0));
    let band = Layer::band(points().map(|(x, y)| [x, y - 1.0, y]));
    let panel = Panel::new(Axis::linear("x"), Axis::linear("y")).with(band).with(Layer::line(points()));
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
        (Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)"), 31_000.0),
        (Axis::linear(long), Axis::linear(long), 31_000.0),
        (Axis::categories("", names), Axis::log("y"), 1.0),
        (Axis::linear("x"), Axis::categories(long, names), 31_000.0),
    ];
    for (width, columns) in [(85.0, 1), (170.0, 2), (170.0, 4)] {
        let panels = axes.iter().enumerate().map(|(k, (x, y, high))| {
            let at = [0.0, 1.0, 2.0].map(|at| if *high == 1.0 { at } else { 0.5 + at * high });
            let panel = Panel::new(x.clone(), y.clone()).titled(long);
            // Legends of different panels are below them.
            let other = if columns == 4 { format!("short {k}") } else { "short".to_owned() };
            panel
                .with(Layer::line(at.map(|at| (at, at + 1.0))).named(long))
                .with(Layer::points(at.map(|at| (at, at))).styled(Style::series(1)).named(other))
        });
        let mut figure = Figure::new(panels.collect()).titled(long).captioned(long.repeat(3)).wide(width);
        figure.columns = columns;
        let drawing = figure.draw().unwrap();
        let boxes = text_boxes(&drawing);
        let page = (width / 25.4 * 96.0) as f32;
        for (words, ink) in &boxes {
            assert!(ink.left() >= 0.0 && ink.right() <= page + 1.0, "{width} {columns}: {words} {ink:?}");
        }
        // Names of several lines may touch on a vertical axis that is too short for them.
        let is_name = |text: &str| names.iter().any(|name| name.contains(text));
        let pairs = collisions(&boxes);
        let wrong: Vec<_> = pairs.iter().filter(|(one, other)| !(is_name(one) && is_name(other))).collect();
        assert!(wrong.is_empty(), "{width} {columns}: {wrong:?}");
    }
}

/// Panels with a common y axis show its names once, and again where their categories are others.
#[test]
fn other_categories_have_their_own_names() {
    let shown = |second: [&str; 2]| {
        let panels = [["one", "two"], second].map(|names| {
            Panel::new(Axis::linear(""), Axis::categories("", names)).with(Layer::points([(1.0, 0.0)]))
        });
        let mut figure = Figure::new(panels.into());
        (figure.columns, figure.shares_y) = (2, true);
        let boxes = text_boxes(&figure.draw().unwrap());
        let count = |name: &str| boxes.iter().filter(|(words, _)| words == name).count();
        [count("one"), count("two"), count("three")]
    };
    assert_eq!(shown(["one", "two"]), [1, 1, 0]);
    assert_eq!(shown(["one", "three"]), [2, 1, 1]);
}

#[test]
fn texts_on_each_other_are_caught() {
    let drawing = draw(Panel::new(Axis::linear("one"), Axis::linear("")).titled("two"));
    let mut boxes = text_boxes(&drawing);
    boxes.retain(|(words, _)| ["one", "two"].contains(&words.as_str()));
    assert!(boxes.len() == 2 && collisions(&boxes).is_empty());
    boxes[0].1 = boxes[1].1;
    assert_eq!(collisions(&boxes).len(), 1);
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

/// A common legend is above the plots, different ones are below theirs.
#[test]
fn a_legend_is_above_or_below_the_plots() {
    let panel = |name: &str| {
        Panel::new(Axis::linear("x"), Axis::linear("y")).with(Layer::points([(0.5, 0.5)]).named(name))
    };
    let swatches = |figure: Figure| {
        let sheet = Sheet::of(&figure.draw().unwrap());
        let [_, top, _, bottom] = sheet.frame();
        let legend = sheet.all("circle").filter(|(class, _)| *class == "legend");
        legend
            .map(|(_, at)| match at[0].1 {
                y if y < top => "above",
                y if y > bottom => "below",
                _ => "in",
            })
            .collect()
    };
    let found: Vec<[Vec<&str>; 3]> = [("a", "a"), ("a", "b")]
        .map(|(a, b)| {
            let both = Figure::new(vec![panel(a), panel(b)]);
            [swatches(Figure::new(vec![panel(a)])), swatches(both.clone()), swatches(both.as_multiples(2))]
        })
        .into();
    assert_eq!(found[0], [vec!["above"], vec!["above"], vec!["above"]]);
    assert_eq!(found[1], [vec!["above"], vec!["below"; 2], vec!["above"; 2]]);
}

/// Ordinary numbers and extreme ones.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0f64,
        2 => any::<f64>(),
        1 => prop_oneof![
            Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(0.0), Just(-0.0), Just(1e300),
            Just(-1e300), Just(1e-300), Just(f64::MAX), Just(f64::MIN), Just(5e-324), Just(1.0),
        ],
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let range = prop::option::of((-2.0..2.0f64, 1e-3..5.0f64));
    let spacing = prop_oneof![
        Just(Axis::linear("*x*_{i}")),
        Just(Axis::log("10^{2} & <")),
        prop::collection::vec(".{0,12}", 0..4).prop_map(|names| Axis::categories("", names)),
    ];
    (spacing, range).prop_map(|(axis, range)| match range {
        Some((low, width)) if axis == Axis::log("10^{2} & <") => {
            axis.spanning(low.exp(), low.exp() * (1.0 + width))
        }
        Some((low, width)) => axis.spanning(low, low + width),
        None => axis,
    })
}

fn layer() -> impl Strategy<Value = Layer> {
    let rows = prop::collection::vec([value(), value(), value(), value()], 0..6);
    let shape =
        (rows, 0..9usize, [value(), value(), value()]).prop_map(|(rows, kind, [lone, to, height])| {
            let points = rows.iter().map(|[x, y, ..]| (*x, *y));
            match kind {
                0 => Layer::line(points),
                1 => Layer::band(rows.iter().map(|[x, low, high, _]| [*x, *low, *high])),
                2 => Layer::points(points),
                3 => Layer::intervals(rows),
                4 => Layer::intervals(rows).horizontal().dodged(1, 3),
                5 => Layer::boxes(rows.iter().map(|row| (row[0], Summary::of(row)))),
                6 => Layer::bar([lone, to], height),
                7 => Layer::vertical_rule(lone),
                _ => Layer::horizontal_rule(lone),
            }
        });
    (shape, ".{0,20}", 0..40usize)
        .prop_map(|(layer, name, series)| layer.styled(Style::series(series)).named(name))
}

fn panel() -> impl Strategy<Value = Panel> {
    let layers = prop::collection::vec(layer(), 0..4);
    (axis(), axis(), layers, ".{0,30}").prop_map(|(x, y, layers, title)| {
        layers.into_iter().fold(Panel::new(x, y).titled(title), Panel::with)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_figure_is_drawn_on_the_page(panels in prop::collection::vec(panel(), 1..4), shares in any::<bool>()) {
        let mut figure = Figure::new(panels).captioned("*T* = 10^{4}");
        if shares {
            figure = figure.as_multiples(2);
        }
        let drawing = figure.draw().expect("bad values are no reason");
        let sheet = Sheet::of(&drawing);
        let (width, height) = sheet.size;
        for (x, y) in sheet.shapes.iter().flat_map(|(.., points)| points) {
            // Markers at the frame extend a little beyond it.
            prop_assert!((-500.0..=width + 500.0).contains(x) && (-500.0..=height + 500.0).contains(y), "{x} {y}");
        }
        prop_assert_eq!(figure.draw(), Ok(drawing));
    }

    #[test]
    fn a_cloud_is_drawn_or_counted(data in prop::collection::vec((value(), value()), 0..40), log in any::<bool>()) {
        let axis = if log { Axis::log("y") } else { Axis::linear("y") };
        let points = Layer::points(data.clone()).styled(Style::series(0).faint(0.5)); // faint points are not merged
        let drawing = Figure::new(vec![Panel::new(Axis::linear("x"), axis).with(points)]).draw().unwrap();
        let drawn = Sheet::of(&drawing).all("circle").count();
        let Missing { not_finite, not_positive, cut_at_axis, outside } = drawing.missing;
        prop_assert_eq!(drawn + not_finite + not_positive, data.len());
        prop_assert_eq!(not_finite, data.iter().filter(|(x, y)| !(x.is_finite() && y.is_finite())).count());
        prop_assert_eq!((cut_at_axis, outside), (0, 0), "an automatic range holds all that can be drawn");
    }
}
