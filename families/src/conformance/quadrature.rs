//! Quadrature on the line and in the plane: the trapezoidal rule with a change of variables.

use faer::Mat;
use mcsa_core::Family;

use super::Case;

/// Change of variables of the trapezoidal rule on a line: equal steps of `t`, `z = centre + width * map(t)`.
///
/// The rule converges geometrically for analytic integrands that vanish at both ends (Takahasi & Mori 1974);
/// the map makes the integrand vanish there. Centre and width are the median and the interquartile range of draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Map {
    /// `sinh t`, for tails that fall at least exponentially.
    #[default]
    Sinh,
    /// `sinh(pi/2 sinh t)`, for tails that fall like a power, such as Student's or Cauchy's.
    SinhSinh,
}

impl Map {
    /// Largest `t`: `sinh 6` is 200 widths; `sinh(pi/2 sinh 5)` is 10^50 widths.
    fn reach(self) -> f64 {
        match self {
            Self::Sinh => 6.0,
            Self::SinhSinh => 5.0,
        }
    }

    /// The image of `t` and the logarithm of the derivative there.
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

/// Nodes of one axis: points and log weights. With knots the line is divided at them, and double exponential maps make each piece,
/// also the unbounded ones, insensitive to kinks at its ends.
fn axis(map: Map, (centre, width): (f64, f64), step: f64, knots: &[f64]) -> Vec<(f64, f64)> {
    if let (Some(&low), Some(&high)) = (knots.first(), knots.last()) {
        let mut nodes = Vec::new();
        for t in steps(5.0, step) {
            let (inner, log_slope) = double_exponential(t);
            let (r, log_weight) = (inner.exp(), (width * step).ln() + inner + log_slope);
            nodes.extend([(low - width * r, log_weight), (high + width * r, log_weight)]);
        }
        for pair in knots.windows(2) {
            let half = 0.5 * (pair[1] - pair[0]);
            nodes.extend(steps(3.5, step).map(|t| {
                let (inner, log_slope) = double_exponential(t);
                let log_weight = (half * step).ln() + log_slope - 2.0 * inner.cosh().ln();
                (pair[0] + half * (1.0 + inner.tanh()), log_weight)
            }));
        }
        return nodes;
    }
    let count = (map.reach() / step) as i64;
    (-count..=count)
        .map(|k| {
            let (z, log_slope) = map.at(k as f64 * step);
            (centre + width * z, (width * step).ln() + log_slope)
        })
        .collect()
}

/// Equal steps between `-reach` and `reach`.
fn steps(reach: f64, step: f64) -> impl Iterator<Item = f64> {
    let count = (reach / step) as i64;
    (-count..=count).map(move |k| k as f64 * step)
}

/// `pi/2 sinh t`, and the logarithm of its derivative.
fn double_exponential(t: f64) -> (f64, f64) {
    let half = std::f64::consts::FRAC_PI_2;
    (half * t.sinh(), (half * t.cosh()).ln())
}

/// Integrals against `q`, and their change at the last halving of the step.
pub(super) struct Totals {
    pub(super) mass: f64,
    pub(super) surprise: f64,
    pub(super) score: Vec<f64>,
    pub(super) change: f64,
}

/// Mass, mean of `-log q` and mean score under `q` in dimension one or two; `None` in other dimensions.
///
/// The step is halved until no integral changes by more than 1e-11 of its size, at most to 1/512 (1-D) or 1/64 (2-D; with knots
/// 1/32).
pub(super) fn totals<F: Family>(case: &Case<F>) -> Option<Totals> {
    let dim = case.family.dim();
    let finest = match dim {
        1 => 512.0,
        2 if case.knots.is_some() => 32.0,
        2 => 64.0,
        _ => return None,
    };
    let lines = case.spreads();
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

fn at_step<F: Family>(case: &Case<F>, lines: &[(f64, f64)], step: f64) -> Totals {
    let (family, params) = (&case.family, &case.params);
    let centre: Vec<f64> = lines.iter().map(|line| line.0).collect();
    let knots = |z: &[f64], i: usize| case.knots_at(z, i);
    let mut totals =
        Totals { mass: 0.0, surprise: 0.0, score: vec![0.0; family.num_params()], change: f64::INFINITY };
    let outer = match lines.get(1) {
        Some(&line) => axis(case.map, line, step, &knots(&centre, 1)),
        None => vec![(0.0, 0.0)],
    };
    let (mut first, mut work, mut log_q, mut z) = (Vec::new(), Vec::new(), Vec::new(), Mat::zeros(0, 0));
    let mut weights = Vec::new();
    for (k, &(y, log_y)) in outer.iter().enumerate() {
        if k == 0 || case.knots.is_some() {
            first = axis(case.map, lines[0], step, &knots(&[lines[0].0, y][..lines.len()], 0));
            work = case.work(first.len());
            log_q = vec![0.0; first.len()];
            z = Mat::zeros(family.dim(), first.len());
        }
        for (j, &(x, _)) in first.iter().enumerate() {
            z.col_as_slice_mut(j).iter_mut().zip([x, y]).for_each(|(z, value)| *z = value);
        }
        family.log_probs(params, z.as_ref(), &mut log_q, &mut work);
        weights.clear();
        for j in 0..first.len() {
            let weight = (log_q[j] + first[j].1 + log_y).exp();
            // The score of a point of zero weight may have overflowed: such points are left out.
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
        family.add_scores(params, kept, &weights, &mut totals.score, &mut work);
    }
    totals
}
