//! Exact evidence of the radon model.

use mcsa_core::numeric::quadrature::{Axis, Integral, Map, log_integral};

use crate::support::{HALF_LOG_TAU, decided};

use super::{LANES, RATE, Radon};

/// Nodes at which the log density is this far below its maximum are dropped: `e^-80` times the volume is below any tolerance.
const NEGLIGIBLE: f64 = 80.0;

impl Radon {
    /// Log evidence `log p(y)`, and its change at the last halving of a quadrature step.
    ///
    /// County effects and their means are Gaussian given the three scales and are integrated out in closed form; the
    /// logarithms of the scales are integrated by quadrature, to within `tolerance`. On the Minnesota data the result is
    /// -1105.872. The reference of `MCMC-SE` and `CW` differs, because its Stan program has another prior for the slopes.
    pub fn log_evidence(&self, tolerance: f64) -> (f64, f64) {
        let all = |z: &[f64]| self.log_scales_density([z[0], z[1], z[2]], f64::NEG_INFINITY);
        let centre = climb(all);
        let negligible = all(&centre) - NEGLIGIBLE;
        let log_p = |z: &[f64]| self.log_scales_density([z[0], z[1], z[2]], negligible);
        let axes: Vec<Axis> = (0..3)
            .map(|k| {
                let at = |t: f64| {
                    let mut z = centre;
                    z[k] += t;
                    log_p(&z)
                };
                let curvature = (2.0 * at(0.0) - at(0.05) - at(-0.05)) / (0.05 * 0.05);
                // Where the density is flat, use the width of an exponential tail.
                let width = if curvature > 1.0 { curvature.sqrt().recip() } else { 1.0 };
                Axis::line(Map::Sinh, centre[k], width)
            })
            .collect();
        let Integral { value, error } = log_integral(&axes, tolerance, log_p);
        (value, error)
    }

    /// `log p(y, log scales)`, with all effects and their means integrated out.
    ///
    /// Let `V` be the prior variances of a county's intercept and slope, `L` the precision and `h` the linear part of its
    /// likelihood, and `F = I + L V`. The county contributes `|F|^(-1/2)` times a Gaussian function of the means, with precision
    /// `F^-1 L` and linear part `F^-1 h`. No variance is inverted, so a variance may be 0.
    fn log_scales_density(&self, log_scales: [f64; 3], negligible: f64) -> f64 {
        let scales = log_scales.map(f64::exp);
        let [v0, v1, _] = scales.map(|s| s * s);
        let weight = (-2.0 * log_scales[2]).exp();
        let prior: f64 = (0..3).map(|k| RATE.ln() - RATE * scales[k] + log_scales[k]).sum();
        let n = self.rows.len() as f64;
        let mut log_p = prior - n * (HALF_LOG_TAU + log_scales[2]) - 0.5 * weight * self.counties.residual;
        // The remaining terms only lower the value, so they are skipped where it is negligible already.
        if log_p < negligible {
            return f64::NEG_INFINITY;
        }
        // Precision and linear part of the means, whose prior is standard normal.
        let (mut p00, mut p01, mut p11, mut q0, mut q1) = (1.0, 0.0, 1.0, 0.0, 0.0);
        for block in &self.counties.blocks {
            let mut dets = [1.0; 2];
            for lane in 0..LANES {
                let count = weight * block.count[lane];
                let (x, y, slope) = (block.mean_x[lane], block.mean_y[lane], block.slope[lane]);
                let spread = weight * block.spread_x[lane];
                let (l00, l01, l11) = (count, count * x, count * x * x + spread);
                let (h0, h1) = (count * y, count * x * y + spread * slope);
                let (f00, f01, f10, f11) = (1.0 + l00 * v0, l01 * v1, l01 * v0, 1.0 + l11 * v1);
                // det(I + LV) = 1 + tr(LV) + det L det V, with det L = count spread.
                let det = 1.0 + l00 * v0 + l11 * v1 + count * spread * v0 * v1;
                let solve = |a: f64, b: f64| ((f11 * a - f01 * b) / det, (f00 * b - f10 * a) / det);
                let (g0, g1) = solve(h0, h1);
                let square = count * y * y + spread * slope * slope;
                log_p -= 0.5 * (square - h0 * v0 * g0 - h1 * v1 * g1);
                dets[lane % 2] *= det;
                let (c00, c10) = solve(l00, l01);
                let (_, c11) = solve(l01, l11);
                (p00, p01, p11) = (p00 + c00, p01 + c10, p11 + c11);
                (q0, q1) = (q0 + g0, q1 + g1);
            }
            // One logarithm for four determinants: they overflow above 1e77 each, where the density is negligible.
            log_p -= 0.5 * (dets[0].ln() + dets[1].ln());
        }
        let det = p00 * p11 - p01 * p01;
        log_p += 0.5 * ((p11 * q0 * q0 - 2.0 * p01 * q0 * q1 + p00 * q1 * q1) / det - det.ln());
        // NaN or `+inf` arises where the noise is so small that its precision overflows.
        decided(log_p, &[])
    }
}

/// Coordinate search for a point near the maximum, with steps that are halved when none improves it.
fn climb(log_p: impl Fn(&[f64]) -> f64) -> [f64; 3] {
    let mut z = [0.0; 3];
    let (mut best, mut step) = (log_p(&z), 2.0);
    while step > 1e-2 {
        let mut moved = false;
        for k in 0..3 {
            for sign in [1.0, -1.0] {
                let mut next = z;
                next[k] += sign * step;
                let value = log_p(&next);
                if value > best && next[k].abs() < 20.0 {
                    (z, best, moved) = (next, value, true);
                }
            }
        }
        if !moved {
            step *= 0.5;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gaussian;
    use crate::support::exponential;
    use faer::Mat;
    use mcsa_core::LogDensity;

    const ROWS: [(usize, f64, f64); 7] = [
        (0, 0.0, 1.1),
        (0, 1.0, 0.2),
        (1, 0.0, 1.9),
        (1, 0.0, 1.4),
        (2, 1.0, -0.3),
        (0, 1.0, 0.9),
        (1, 0.5, 1.0),
    ];

    fn model() -> Radon {
        let column = |f: fn(&(usize, f64, f64)) -> f64| ROWS.iter().map(f).collect::<Vec<_>>();
        Radon::new(4, ROWS.iter().map(|r| r.0).collect(), column(|r| r.1), column(|r| r.2)).unwrap()
    }

    /// `log p(y, log scales)` from the dense covariance of the outcomes, independent of the code above.
    fn dense(log_scales: [f64; 3]) -> f64 {
        let scales = log_scales.map(f64::exp);
        let covariance = Mat::from_fn(ROWS.len(), ROWS.len(), |i, j| {
            let ((c, x, _), (d, w, _)) = (ROWS[i], ROWS[j]);
            let county = if c == d { scales[0] * scales[0] + scales[1] * scales[1] * x * w } else { 0.0 };
            let noise = if i == j { scales[2] * scales[2] } else { 0.0 };
            1.0 + x * w + county + noise
        });
        let y: Vec<f64> = ROWS.iter().map(|r| r.2).collect();
        let target = Gaussian::new(vec![0.0; ROWS.len()], covariance.as_ref()).unwrap();
        let prior: f64 = (0..3).map(|k| exponential(log_scales[k], scales[k], RATE).0).sum();
        target.log_density(&y, &mut vec![0.0; target.work_len(1)]) + prior
    }

    #[test]
    fn the_closed_form_equals_the_dense_covariance() {
        let model = model();
        for log_scales in
            [[0.0, 0.0, 0.0], [-1.0, 0.5, -2.0], [3.0, -3.0, 1.0], [-30.0, -30.0, -0.5], [4.0, 4.0, 0.3]]
        {
            let (found, expected) =
                (model.log_scales_density(log_scales, f64::NEG_INFINITY), dense(log_scales));
            assert!((found - expected).abs() < 1e-8, "{log_scales:?}: {found} {expected}");
        }
    }
}
