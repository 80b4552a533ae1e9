//! Trapezoidal quadrature in one, two or three dimensions, with sinh transformations.

use mcsa_core::numeric::log_sum_exp;

/// Variable transformation of the trapezoidal rule: equal steps of `t`, `z = centre + width * map(t)`.
///
/// The rule converges geometrically for analytic integrands that vanish at both ends (Takahasi & Mori 1974),
/// and the transformation makes them vanish fast enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Map {
    /// `sinh t`, for tails that fall at least exponentially.
    #[default]
    Sinh,
    /// `sinh(pi/2 sinh t)`, for tails that fall like a power, as those of Student or Cauchy distributions.
    SinhSinh,
}

impl Map {
    /// Largest `t`: `sinh 6` is 200 widths; `sinh(pi/2 sinh 4.5)` is 10^30 widths.
    fn reach(self) -> f64 {
        match self {
            Self::Sinh => 6.0,
            Self::SinhSinh => 4.5,
        }
    }

    /// The image of `t` and the logarithm of the map's derivative there.
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

/// One axis of integration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) map: Map,
    pub(crate) centre: f64,
    pub(crate) width: f64,
}

impl Axis {
    /// Nodes and log weights.
    fn nodes(self, step: f64) -> Vec<(f64, f64)> {
        let count = (self.map.reach() / step) as i64;
        let node = |k: i64| {
            let (z, log_slope) = self.map.at(k as f64 * step);
            (self.centre + self.width * z, (self.width * step).ln() + log_slope)
        };
        (-count..=count).map(node).collect()
    }
}

/// Calls `visit(z, log weight)` at every node of the product rule, for at most three axes.
pub(crate) fn each_node(axes: &[Axis], step: f64, mut visit: impl FnMut(&[f64], f64)) {
    assert!(axes.len() <= 3, "at most three axes");
    let none = vec![(0.0, 0.0)];
    let mut lines: Vec<_> = axes.iter().map(|axis| axis.nodes(step)).collect();
    lines.resize(3, none);
    for &(x, log_x) in &lines[0] {
        for &(y, log_y) in &lines[1] {
            for &(w, log_w) in &lines[2] {
                visit(&[x, y, w][..axes.len()], log_x + log_y + log_w);
            }
        }
    }
}

/// `log int exp(log_f)` over at most three axes, and its change at the last halving of the step.
///
/// The step is halved from 1/4 (three axes: 1/2) until the change is at most `tolerance`, or down to 1/512, 1/64 or 1/16.
pub(crate) fn log_integral(
    axes: &[Axis],
    tolerance: f64,
    mut log_f: impl FnMut(&[f64]) -> f64,
) -> (f64, f64) {
    let finest = match axes.len() {
        0 => return (log_f(&[]), 0.0),
        1 => 512.0,
        2 => 64.0,
        _ => 16.0,
    };
    let mut terms = Vec::new();
    let mut at_step = |step: f64| {
        terms.clear();
        each_node(axes, step, |z, log_weight| terms.push(log_f(z) + log_weight));
        log_sum_exp(&terms)
    };
    let mut step = if axes.len() == 3 { 0.5 } else { 0.25 };
    let mut last = at_step(step);
    loop {
        step *= 0.5;
        let now = at_step(step);
        let change = (now - last).abs();
        if change <= tolerance || 1.0 / step >= finest {
            return (now, change);
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    const fn axis(map: Map) -> Axis {
        Axis { map, centre: 0.3, width: 1.0 }
    }

    #[test]
    fn known_integrals() {
        for dim in 0..=3 {
            let (found, _) =
                log_integral(&vec![axis(Map::Sinh); dim], 1e-12, |z| -z.iter().map(|x| x * x).sum::<f64>());
            assert!((found - 0.5 * dim as f64 * PI.ln()).abs() < 1e-11, "{dim}: {found}");
        }
        let (found, _) = log_integral(&[axis(Map::SinhSinh)], 1e-12, |z| -(z[0] * z[0]).ln_1p());
        assert!((found - PI.ln()).abs() < 1e-11, "{found}");
    }
}
