//! Reader of drawn figures from their SVG, for tests of drawing.

use mcsa_plot::Drawing;
use resvg::usvg::roxmltree::{Document, Node};

/// A point in units of the picture.
pub(crate) type Point = (f64, f64);

/// Graphical elements of a figure.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    /// Size of the page in units.
    pub(crate) size: Point,
    /// Every text, without its markup.
    pub(crate) texts: Vec<String>,
    /// Every polyline by the class of its group.
    pub(crate) polylines: Vec<(String, Vec<Point>)>,
    /// Every filled polygon by the class of its group.
    pub(crate) polygons: Vec<(String, Vec<Point>)>,
    /// Every disc by the class of its group.
    pub(crate) discs: Vec<(String, Point)>,
}

impl Sheet {
    /// Parses a drawing.
    pub(crate) fn of(drawing: &Drawing) -> Self {
        let document = Document::parse(&drawing.svg).expect("a drawing is XML");
        let root = document.root_element();
        let view: Vec<f64> = numbers(root.attribute("viewBox").expect("a page has a size"));
        let mut sheet = Self { size: (view[2], view[3]), ..Self::default() };
        sheet.read(root, "");
        sheet
    }

    fn read(&mut self, node: Node<'_, '_>, class: &str) {
        let class = node.attribute("class").unwrap_or(class);
        let number = |name: &str| node.attribute(name).and_then(|text| text.parse::<f64>().ok());
        match node.tag_name().name() {
            "text" => self
                .texts
                .push(node.descendants().filter_map(|part| part.is_text().then(|| part.text())?).collect()),
            "polyline" => self.polylines.push((class.into(), points(node))),
            "polygon" => self.polygons.push((class.into(), points(node))),
            "circle" => {
                let at = number("cx").zip(number("cy")).expect("a disc has a place");
                self.discs.push((class.into(), at));
            }
            _ => {}
        }
        node.children().filter(Node::is_element).for_each(|child| self.read(child, class));
    }

    /// The polylines of one class.
    pub(crate) fn lines(&self, class: &str) -> Vec<&[Point]> {
        self.polylines.iter().filter(|(of, _)| of == class).map(|(_, points)| &points[..]).collect()
    }

    /// Left, top, right and bottom of the first plot, from its axis lines.
    pub(crate) fn frame(&self) -> [f64; 4] {
        let lines = self.lines("axes");
        let corner = lines.iter().find(|line| line.len() == 3).expect("two axes meet in a corner");
        [corner[0].0, corner[0].1, corner[2].0, corner[2].1]
    }

    /// Every coordinate.
    pub(crate) fn coordinates(&self) -> impl Iterator<Item = Point> + '_ {
        let paths =
            self.polylines.iter().chain(&self.polygons).flat_map(|(_, points)| points.iter().copied());
        paths.chain(self.discs.iter().map(|(_, at)| *at))
    }
}

fn points(node: Node<'_, '_>) -> Vec<Point> {
    let values = numbers(node.attribute("points").expect("a path has points"));
    values.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    words.map(|word| word.parse().expect("coordinates are numbers")).collect()
}
