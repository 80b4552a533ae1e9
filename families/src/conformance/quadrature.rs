//! Integrals over the line and the plane.

use faer::Mat;
use mcsa::{Columns, Family};

use super::Case;

/// How the trapezoidal rule covers a line: equal steps of `t`, `z = centre + width * map(t)`.
///
/// The rule converges geometrically for analytic integrands that vanish at both ends (Takahasi & Mori 1974),
/// and a map takes care of the ends. Centre and width are the median and the interquartile range of draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Map {
    /// `sinh t`: tails at least exponential.
    #[default]
    Sinh,
    /// `sinh(pi/2 sinh t)`: tails like a power, as those of Student or Cauchy.
    SinhSinh,
}

impl Map {
    /// Where the map stops: `sinh 6` is 200 widths; `sinh(pi/2 sinh 5)` is 10^50 widths.
    fn reach(self) -> f64 {
        match self {
            Self::Sinh => 6.0,
            Self::SinhSinh => 5.0,
        }
    }

    /// The image of `t` and the logarithm of the slope there.
    fn at(self, t: f64) -> (f64, f64) {
        match self {
            Self::Sinh => (t.sinh(), t.cosh().ln()),
            Self::SinhSinh => {
                let inner = std::f64::consts::FRAC_PI_2 * t.sinh();
                (inner.sinh(), inner.cosh().ln() + (std::f64::consts::FRAC_PI_2 * t.cosh()).ln())
            }
        }
    }
}

/// The nodes of one axis: points and logarithms of weights.
fn axis(map: Map, (centre, width): (f64, f64), step: f64) -> Vec<(f64, f64)> {
    let count = (map.reach() / step) as i64;
    (-count..=count)
        .map(|k| {
            let (z, log_slope) = map.at(k as f64 * step);
            (centre + width * z, (width * step).ln() + log_slope)
        })
        .collect()
}

/// Integrals against `q`, and how much the last halving of the step changed them.
pub(super) struct Totals {
    pub(super) mass: f64,
    pub(super) surprise: f64,
    pub(super) score: Vec<f64>,
    pub(super) change: f64,
}

/// `[E 1, E -log q, E score]` in dimension one or two; `None` elsewhere.
///
/// The step is halved until nothing changes by more than 1e-11 of its size, at most to 1/512 (1-D) or 1/64 (2-D).
pub(super) fn totals<F: Family>(case: &Case<F>) -> Option<Totals> {
    let dim = case.family.dim();
    let finest = match dim {
        1 => 512.0,
        2 => 64.0,
        _ => return None,
    };
    let lines: Vec<_> = (0..dim).map(|i| spread(case, i)).collect();
    let mut step = 0.125;
    let mut last = at_step(case, &lines, step);
    loop {
        step *= 0.5;
        let mut now = at_step(case, &lines, step);
        let pairs = now.score.iter().zip(&last.score);
        let change = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        now.change = change.max((now.mass - last.mass).abs()).max((now.surprise - last.surprise).abs());
        if now.change <= 1e-11 * (1.0 + now.surprise.abs()) || 1.0 / step >= finest {
            return Some(now);
        }
        last = now;
    }
}

/// Median and interquartile range of draws.
fn spread<F: Family>(case: &Case<F>, row: usize) -> (f64, f64) {
    let (z, _) = case.draw(1025, &mut case.stream("spread"));
    let mut values: Vec<f64> = (0..z.ncols()).map(|j| z[(row, j)]).collect();
    values.sort_by(f64::total_cmp);
    let width = values[768] - values[256];
    (values[512], if width > 0.0 && width.is_finite() { width } else { 1.0 })
}

fn at_step<F: Family>(case: &Case<F>, lines: &[(f64, f64)], step: f64) -> Totals {
    let (family, params) = (&case.family, &case.params);
    let axes: Vec<_> = lines.iter().map(|&line| axis(case.map, line, step)).collect();
    let mut totals =
        Totals { mass: 0.0, surprise: 0.0, score: vec![0.0; family.num_params()], change: f64::INFINITY };
    let empty = [(0.0, 0.0)];
    let (first, rest) = axes.split_first().map_or((&empty[..], &axes[..]), |(first, rest)| (first, rest));
    let outer: &[(f64, f64)] = rest.first().map_or(&empty, |axis| axis);
    let mut work = case.work(first.len());
    let mut log_q = vec![0.0; first.len()];
    let mut z = Mat::zeros(family.dim(), first.len());
    let mut weights = Vec::new();
    for &(y, log_y) in outer {
        for (j, &(x, _)) in first.iter().enumerate() {
            z.col_as_slice_mut(j).iter_mut().zip([x, y]).for_each(|(z, value)| *z = value);
        }
        family.log_probs(params, z.as_ref(), &mut log_q, &mut work);
        weights.clear();
        for j in 0..first.len() {
            let weight = (log_q[j] + first[j].1 + log_y).exp();
            // A point of no mass has no score to speak of: it may have overflowed.
            if weight != 0.0 {
                totals.mass += weight;
                totals.surprise -= weight * log_q[j];
                let k = weights.len();
                let (x, y) = (z[(0, j)], y);
                z.col_as_slice_mut(k).iter_mut().zip([x, y]).for_each(|(z, value)| *z = value);
                weights.push(weight);
            }
        }
        let kept = z.as_ref().subcols(0, weights.len());
        debug_assert!((0..kept.ncols()).all(|j| kept.column(j).len() == family.dim()));
        family.add_scores(params, kept, &weights, &mut totals.score, &mut work);
    }
    totals
}
