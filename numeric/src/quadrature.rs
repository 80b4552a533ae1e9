//! Quadrature in one, two or three dimensions: the trapezoidal rule after a change of variables, with an error estimate.
//!
//! The trapezoidal rule converges geometrically for analytic integrands that vanish at both ends (Takahasi and Mori 1974), and a
//! change of variables makes them vanish fast enough. The step is halved until the values no longer change; the last change is the
//! error estimate. For other integrands only that estimate is to be relied on.
//!
//! ```
//! use mcsa_numeric::quadrature::{Axis, Map, integrate, log_integral};
//! let gauss = integrate(-12.0, 12.0, 1e-13, |z| (-0.5 * z * z).exp());
//! assert!((gauss.value - (2.0 * std::f64::consts::PI).sqrt()).abs() < 1e-13 && gauss.error < 1e-12);
//! let cauchy = log_integral(&[Axis::line(Map::SinhSinh, 0.0, 1.0)], 1e-12, |z| -(z[0] * z[0]).ln_1p());
//! assert!((cauchy.value - std::f64::consts::PI.ln()).abs() < 1e-11);
//! ```

use std::f64::consts::FRAC_PI_2;

use crate::log_sum_exp;

/// Change of variables of the trapezoidal rule on a line: equal steps of `t`, `z = centre + width * map(t)`.
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
                let (inner, log_slope) = double_exponential(t);
                (inner.sinh(), inner.cosh().ln() + log_slope)
            }
        }
    }
}

/// `pi/2 sinh t` and the logarithm of its derivative.
fn double_exponential(t: f64) -> (f64, f64) {
    (FRAC_PI_2 * t.sinh(), (FRAC_PI_2 * t.cosh()).ln())
}

/// Axis of integration: a line, a line divided at knots, or an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis(Range);

#[derive(Debug, Clone, PartialEq)]
enum Range {
    Line { map: Map, centre: f64, width: f64 },
    Pieces { knots: Vec<f64>, width: f64 },
    Interval { from: f64, to: f64 },
}

impl Axis {
    /// The real line, with nodes around `centre` at a scale of `width`.
    pub const fn line(map: Map, centre: f64, width: f64) -> Self {
        Self(Range::Line { map, centre, width })
    }

    /// The real line divided at ascending `knots`, where the integrand has kinks or jumps. Without knots it is
    /// [`line`](Self::line); with knots, `map` and `centre` are not used.
    ///
    /// A double exponential map of each piece makes the rule insensitive to the ends of the piece. The two unbounded pieces have
    /// tails of scale `width`.
    pub fn pieces(map: Map, centre: f64, width: f64, knots: Vec<f64>) -> Self {
        if knots.is_empty() { Self::line(map, centre, width) } else { Self(Range::Pieces { knots, width }) }
    }

    /// An interval at whose ends the integrand and its derivatives vanish. The step is a fraction of its length.
    pub const fn interval(from: f64, to: f64) -> Self {
        Self(Range::Interval { from, to })
    }

    /// Nodes and log weights of the rule with this step.
    pub fn nodes(&self, step: f64) -> Vec<(f64, f64)> {
        match &self.0 {
            &Range::Line { map, centre, width } => {
                let node = |t: f64| {
                    let (z, log_slope) = map.at(t);
                    (centre + width * z, (width * step).ln() + log_slope)
                };
                steps(map.reach(), step).map(node).collect()
            }
            Range::Pieces { knots, width } => {
                let mut nodes = Vec::new();
                let (low, high) = (knots[0], knots[knots.len() - 1]);
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
                nodes
            }
            &Range::Interval { from, to } => {
                let (count, width) = ((1.0 / step) as i64, to - from);
                let share = |k: i64| if k == 0 || k == count { 0.5 } else { 1.0 };
                let node = |k: i64| (from + k as f64 * step * width, (share(k) * step * width).ln());
                (0..=count).map(node).collect()
            }
        }
    }
}

/// Equal steps between `-reach` and `reach`.
fn steps(reach: f64, step: f64) -> impl Iterator<Item = f64> {
    let count = (reach / step) as i64;
    (-count..=count).map(move |k| k as f64 * step)
}

/// Integral with an error estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Integral {
    /// The value.
    pub value: f64,
    /// The change of the value at the last halving of the step.
    pub error: f64,
}

/// Values of `rule(step)`, and their largest change at the last halving of the step.
///
/// The step is halved from `coarsest` until `settled(values, change)`, or down to `finest`.
pub fn refine(
    coarsest: f64,
    finest: f64,
    mut rule: impl FnMut(f64) -> Vec<f64>,
    settled: impl Fn(&[f64], f64) -> bool,
) -> (Vec<f64>, f64) {
    let mut step = coarsest;
    let mut last = rule(step);
    loop {
        step *= 0.5;
        let now = rule(step);
        // The difference of equal infinities would be NaN, and a maximum would drop a NaN.
        let changes = now.iter().zip(&last).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() });
        let larger = |most: f64, change| if most.is_nan() || change <= most { most } else { change };
        let change = changes.fold(0.0, larger);
        if settled(&now, change) || step <= finest {
            return (now, change);
        }
        last = now;
    }
}

/// Calls `visit(z, log weight)` at every node of the product rule, for at most three axes.
pub fn each_node(axes: &[Axis], step: f64, mut visit: impl FnMut(&[f64], f64)) {
    assert!(axes.len() <= 3, "at most three axes");
    let mut lines: Vec<_> = axes.iter().map(|axis| axis.nodes(step)).collect();
    lines.resize(3, vec![(0.0, 0.0)]);
    for &(x, log_x) in &lines[0] {
        for &(y, log_y) in &lines[1] {
            for &(w, log_w) in &lines[2] {
                visit(&[x, y, w][..axes.len()], log_x + log_y + log_w);
            }
        }
    }
}

/// `log int exp(log_f)` over at most three axes that are lines.
///
/// The step is halved from 1/4, or from 1/2 with three axes, until the change is at most `tolerance`. The smallest step is 1/512
/// with one axis, 1/64 with two and 1/16 with three.
pub fn log_integral(axes: &[Axis], tolerance: f64, mut log_f: impl FnMut(&[f64]) -> f64) -> Integral {
    let (coarsest, finest) = match axes.len() {
        0 => return Integral { value: log_f(&[]), error: 0.0 },
        1 => (0.25, 1.0 / 512.0),
        2 => (0.25, 1.0 / 64.0),
        _ => (0.5, 1.0 / 16.0),
    };
    let mut terms = Vec::new();
    let rule = |step: f64| {
        terms.clear();
        each_node(axes, step, |z, log_weight| terms.push(log_f(z) + log_weight));
        vec![log_sum_exp(&terms)]
    };
    let (value, error) = refine(coarsest, finest, rule, |_, change| change <= tolerance);
    Integral { value: value[0], error }
}

/// `int f` over `[from, to]`, for functions that vanish with all derivatives at both ends, as densities do.
///
/// The interval is halved from 64 parts until the change is at most `tolerance` relative to the value, or down to 2^20 parts.
pub fn integrate(from: f64, to: f64, tolerance: f64, mut f: impl FnMut(f64) -> f64) -> Integral {
    let axis = Axis::interval(from, to);
    let rule =
        |step: f64| vec![axis.nodes(step).iter().map(|(z, log_weight)| f(*z) * log_weight.exp()).sum()];
    let (value, error) =
        refine(1.0 / 64.0, 0.5_f64.powi(20), rule, |value, change| change <= tolerance * value[0].abs());
    Integral { value: value[0], error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn known_integrals() {
        let axis = |map| Axis::line(map, 0.3, 1.0);
        for dim in 0..=3 {
            let found =
                log_integral(&vec![axis(Map::Sinh); dim], 1e-12, |z| -z.iter().map(|x| x * x).sum::<f64>());
            assert!((found.value - 0.5 * dim as f64 * PI.ln()).abs() < 1e-11, "{dim}: {found:?}");
        }
        let found = log_integral(&[axis(Map::SinhSinh)], 1e-12, |z| -(z[0] * z[0]).ln_1p());
        assert!((found.value - PI.ln()).abs() < 1e-11, "{found:?}");
        // A value that is NaN has no error of zero, and two equal infinities have.
        let found = log_integral(&[axis(Map::Sinh)], 1e-12, |z| if z[0] > 0.0 { f64::NAN } else { 0.0 });
        assert!(found.error.is_nan() || found.error == f64::INFINITY, "{found:?}");
        let (_, change) = refine(1.0, 0.5, |_| vec![f64::NEG_INFINITY, 2.0], |_, change| change == 0.0);
        assert_eq!(change, 0.0);
        assert!(refine(1.0, 0.5, |_| vec![f64::NAN, 2.0], |_, _| false).1.is_nan());
    }

    /// A density with kinks at -1 and 2: the rule without knots is a long way off, and so is its error estimate.
    #[test]
    fn kinks_are_known_or_reported() {
        let log_f = |z: &[f64]| -(z[0] + 1.0).abs() - (z[0] - 2.0).abs();
        let exact = (4.0 * (-3.0_f64).exp()).ln();
        let knots = Axis::pieces(Map::Sinh, 0.0, 1.0, vec![-1.0, 2.0]);
        let found = log_integral(&[knots], 1e-12, log_f);
        assert!((found.value - exact).abs() < 1e-11 && found.error < 1e-11, "{found:?}");
        let blind = log_integral(&[Axis::pieces(Map::Sinh, 0.0, 1.0, vec![])], 1e-12, log_f);
        assert!((blind.value - exact).abs() > 1e-8 && blind.error > 1e-8, "{blind:?}");
    }

    #[test]
    fn smooth_is_exact_and_a_kink_is_reported() {
        let log = integrate(-40.0, 5.0, 1e-12, |u| (u - u.exp()).exp());
        assert!((log.value - 1.0).abs() < 1e-11);
        let kink = integrate(0.0, 1.0, 1e-15, |z| (z - 1.0 / 3.0).abs());
        assert!((kink.value - 5.0 / 18.0).abs() < 1e-9 && kink.error > 0.0);
    }
}
