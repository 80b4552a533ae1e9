//! Clipping of curves to the frame, and removal of points too dense to be visible.
//!
//! The frame is the unit square: points are fractions of the two axes. Clipping in floating point keeps far-away points from
//! overflowing the integer coordinates of the picture and needs no SVG clip paths.

use super::ticks::is_on_axis;

/// A point as fractions of the axes.
pub(super) type Fractions = (f64, f64);
/// A point in units of the page.
pub(super) type Point = (i32, i32);

/// The parts of a polyline inside the frame, after Liang and Barsky.
pub(super) fn polyline(points: &[Fractions]) -> Vec<Vec<Fractions>> {
    let mut parts: Vec<Vec<Fractions>> = Vec::new();
    if let [single] = points {
        return if is_inside(*single) { vec![vec![*single]] } else { Vec::new() };
    }
    for pair in points.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1]) else { continue };
        match parts.last_mut() {
            Some(part) if part.last() == Some(&from) => part.push(to),
            _ => parts.push(vec![from, to]),
        }
    }
    parts
}

/// Returns true if a point is inside the frame or on it, up to rounding.
pub(super) fn is_inside((x, y): Fractions) -> bool {
    is_on_axis(x) && is_on_axis(y)
}

fn segment(from: Fractions, to: Fractions) -> Option<(Fractions, Fractions)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0f64, 1.0f64);
    for (step, room) in [(-dx, from.0), (dx, 1.0 - from.0), (-dy, from.1), (dy, 1.0 - from.1)] {
        if step == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if step < 0.0 {
            enter = enter.max(room / step);
        } else {
            leave = leave.min(room / step);
        }
    }
    let at = |share: f64| match share {
        0.0 => from,
        1.0 => to,
        _ => (from.0 + share * dx, from.1 + share * dy),
    };
    (enter <= leave).then(|| (at(enter), at(leave)))
}

/// The part of a polygon inside the frame, after Sutherland and Hodgman.
pub(super) fn polygon(points: Vec<Fractions>) -> Vec<Fractions> {
    let sides: [fn(Fractions) -> f64; 4] = [|p| p.0, |p| 1.0 - p.0, |p| p.1, |p| 1.0 - p.1];
    sides.into_iter().fold(points, |points, depth| {
        let mut kept = Vec::with_capacity(points.len());
        for (index, &to) in points.iter().enumerate() {
            let from = points[(index + points.len() - 1) % points.len()];
            let (before, after) = (depth(from), depth(to));
            if (before < 0.0) != (after < 0.0) {
                let share = before / (before - after);
                kept.push((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)));
            }
            if after >= 0.0 {
                kept.push(to);
            }
        }
        kept
    })
}

/// Thins a curve to at most four points per column of a quarter point: the first, lowest, highest and last of consecutive
/// points within the column. Drawn with a stroke wider than the column, the thinned curve covers the same area.
///
/// `units` maps a point to its position, across and up.
pub(super) fn thinned<P: Copy + PartialEq>(points: &[P], units: impl Fn(P) -> (f64, f64)) -> Vec<P> {
    const COLUMN: f64 = 25.0;
    let column = |point: P| (units(point).0 / COLUMN).floor();
    let height = |point: P| units(point).1;
    let mut thin: Vec<P> = Vec::with_capacity(points.len().min(4096));
    let mut rest = points;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|point| column(**point) == column(*first)).count().max(1);
        let (run, after) = rest.split_at(length);
        let order = |a: &usize, b: &usize| height(run[*a]).total_cmp(&height(run[*b]));
        let mut kept = vec![0, length - 1];
        kept.extend((0..length).min_by(order));
        kept.extend((0..length).max_by(order));
        kept.sort_unstable();
        kept.dedup();
        thin.extend(kept.into_iter().map(|at| run[at]));
        rest = after;
    }
    thin.dedup();
    thin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_the_frame_is_cut_where_it_crosses() {
        let parts = polyline(&[(-1.0, 0.5), (0.5, 0.5), (0.5, 2.0), (0.75, 2.0), (0.75, 0.0)]);
        let wanted = vec![vec![(0.0, 0.5), (0.5, 0.5), (0.5, 1.0)], vec![(0.75, 1.0), (0.75, 0.0)]];
        assert_eq!(parts, wanted);
        assert!(polyline(&[(-1.0, 0.5), (0.5, 2.0)]).is_empty());
        assert_eq!(polyline(&[(0.2, 0.2)]), [[(0.2, 0.2)]]);
    }

    #[test]
    fn a_polygon_around_the_frame_becomes_the_frame() {
        let mut corners = polygon(vec![(-9.0, -9.0), (9.0, -9.0), (9.0, 9.0), (-9.0, 9.0)]);
        corners.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        assert_eq!(corners, [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]);
        assert!(polygon(vec![(2.0, 2.0), (3.0, 2.0), (3.0, 3.0)]).is_empty());
        assert!(polygon(Vec::new()).is_empty());
    }

    #[test]
    fn thinning_keeps_every_peak() {
        let noise: Vec<Point> = (0..100_000).map(|at| (at / 10, (at * 7919) % 1000 - at % 3)).collect();
        let units = |(x, y): Point| (f64::from(x), f64::from(y));
        let thin = thinned(&noise, units);
        assert!(thin.len() <= 4 * (10_000 / 25));
        for column in 0..400 {
            let heights = |points: &[Point]| {
                let inside = points.iter().filter(|point| point.0 / 25 == column).map(|point| point.1);
                (inside.clone().min(), inside.max())
            };
            assert_eq!(heights(&noise), heights(&thin), "{column}");
        }
        assert_eq!(thinned(&[(0, 0), (100, 5), (200, 0)], units), [(0, 0), (100, 5), (200, 0)]);
        assert!(thinned(&[], units).is_empty());
    }
}
