//! Placement of a legend in the plot where it covers least.

use super::clip::Point;
use super::mark::Mark;
use super::panel::Place;
use super::plot::Rect;

/// Distance between legend and frame.
const INSET: i32 = 550;

impl Place {
    /// All places, in order of preference if they cover equally much.
    const ALL: [Self; 8] = [
        Self::TopRight,
        Self::BottomLeft,
        Self::TopLeft,
        Self::BottomRight,
        Self::Top,
        Self::Bottom,
        Self::Right,
        Self::Left,
    ];

    /// Rectangle of a block of given size at this place of a plot.
    pub(super) fn rect(self, plot: &Rect, width: i32, height: i32) -> Rect {
        let (near, far) = (plot.left + INSET, plot.right() - INSET - width);
        let left = match self {
            Self::TopLeft | Self::Left | Self::BottomLeft => near,
            Self::TopRight | Self::Right | Self::BottomRight => far,
            Self::Top | Self::Bottom => near.midpoint(far),
        };
        let (high, low) = (plot.top + INSET / 2, plot.bottom() - INSET - height);
        let top = match self {
            Self::TopLeft | Self::Top | Self::TopRight => high,
            Self::BottomLeft | Self::Bottom | Self::BottomRight => low,
            Self::Left | Self::Right => high.midpoint(low),
        };
        Rect { left, top, width, height }
    }
}

/// The place that covers least, or `None` if the block is too large for the plot or covers too much everywhere.
pub(super) fn best(plot: &Rect, width: i32, height: i32, marks: &[Mark]) -> Option<Place> {
    /// Tolerated fraction of the block over lines and markers.
    const TOLERABLE: f64 = 0.02;
    if width > plot.width * 7 / 10 || height > plot.height * 6 / 10 {
        return None;
    }
    let strokes = Strokes::of(marks);
    let cost = |place: &Place| {
        let rect = place.rect(plot, width, height);
        let inked = strokes.share(&rect);
        (inked, inked + 0.15 * filled_share(marks, &rect))
    };
    let costs = Place::ALL.map(|place| (place, cost(&place)));
    let (place, (inked, _)) = costs.into_iter().min_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    (inked <= TOLERABLE).then_some(place)
}

/// Lines and markers, sampled at points at most one step apart.
struct Strokes {
    points: Vec<Point>,
}

impl Strokes {
    const STEP: i32 = 200;

    fn of(marks: &[Mark]) -> Self {
        let mut points = Vec::new();
        for mark in marks {
            match mark {
                Mark::Stroke { points: line, .. } => {
                    line.windows(2).for_each(|pair| sample(pair[0], pair[1], &mut points))
                }
                Mark::Glyph { at, .. } | Mark::Words { at, .. } => points.push(*at),
                Mark::Fill { .. } => {}
            }
        }
        Self { points }
    }

    /// Fraction of a rectangle, enlarged by a margin, that is covered: a sample covers a square of one step.
    fn share(&self, rect: &Rect) -> f64 {
        let air = Self::STEP;
        let Rect { left, top, width, height } = *rect;
        let rect =
            Rect { left: left - air, top: top - air, width: width + 2 * air, height: height + 2 * air };
        let inked = self.points.iter().filter(|point| rect.contains(**point)).count();
        inked as f64 * f64::from(Self::STEP).powi(2) / (f64::from(rect.width) * f64::from(rect.height))
    }
}

fn sample(from: Point, to: Point, points: &mut Vec<Point>) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let pieces = (dx.abs().max(dy.abs()) / Strokes::STEP + 1).min(1000);
    points.extend((0..pieces).map(|at| (from.0 + dx * at / pieces, from.1 + dy * at / pieces)));
}

/// Mean number of bands, boxes and bars over a point of a rectangle.
fn filled_share(marks: &[Mark], rect: &Rect) -> f64 {
    const GRID: i32 = 6;
    let at = |step: i32, from: i32, length: i32| from + (2 * step + 1) * length / (2 * GRID);
    let grid = (0..GRID * GRID)
        .map(|cell| (at(cell % GRID, rect.left, rect.width), at(cell / GRID, rect.top, rect.height)));
    let fills = marks.iter().filter_map(|mark| match mark {
        Mark::Fill { points, .. } => Some(points),
        _ => None,
    });
    let covered =
        fills.map(|polygon| grid.clone().filter(|point| is_within(polygon, *point)).count()).sum::<usize>();
    covered as f64 / f64::from(GRID * GRID)
}

/// Returns true if a point is in a polygon: a ray to the right crosses its border an odd number of times.
fn is_within(polygon: &[Point], (x, y): Point) -> bool {
    let mut inside = false;
    for (index, &(ax, ay)) in polygon.iter().enumerate() {
        let (bx, by) = polygon[(index + 1) % polygon.len()];
        if (ay > y) != (by > y) {
            let share = f64::from(y - ay) / f64::from(by - ay);
            inside ^= f64::from(x) < f64::from(ax) + share * f64::from(bx - ax);
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::Pen;
    use crate::style::Color;

    const PLOT: Rect = Rect { left: 0, top: 0, width: 20_000, height: 12_000 };

    fn line(points: &[Point]) -> Mark {
        Mark::Stroke { points: points.into(), pen: Pen::thin(Color::BLACK, 100) }
    }

    #[test]
    fn a_falling_line_leaves_the_upper_right_free() {
        let falling = [line(&[(0, 0), (20_000, 12_000)])];
        assert_eq!(best(&PLOT, 5_000, 3_000, &falling), Some(Place::TopRight));
        let rising = [line(&[(0, 12_000), (20_000, 0)])];
        assert_eq!(best(&PLOT, 5_000, 3_000, &rising), Some(Place::TopLeft));
    }

    #[test]
    fn a_full_plot_has_no_place() {
        let hatched: Vec<Mark> = (0..60).map(|at| line(&[(0, at * 200), (20_000, at * 200)])).collect();
        assert_eq!(best(&PLOT, 5_000, 3_000, &hatched), None);
        assert_eq!(best(&PLOT, 19_000, 3_000, &[]), None);
    }

    #[test]
    fn a_band_repels() {
        let band = Mark::Fill {
            points: vec![(0, 0), (20_000, 0), (20_000, 12_000)],
            color: Color::BLACK,
            opacity: 0.2,
        };
        assert_eq!(best(&PLOT, 5_000, 3_000, &[band]), Some(Place::BottomLeft));
    }
}
