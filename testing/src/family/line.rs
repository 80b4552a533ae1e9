//! Piecewise log-linear densities on a line.

/// Normalised density whose logarithm is linear between nodes, and `-inf` outside them.
pub(super) struct Line {
    nodes: Vec<f64>,
    logs: Vec<f64>,
    below: Vec<f64>,
}

impl Line {
    /// Density proportional to `exp(logs)` at ascending `nodes`. `None` if the mass is zero or infinite.
    pub(super) fn new(nodes: Vec<f64>, mut logs: Vec<f64>) -> Option<Self> {
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            return None;
        }
        for log in &mut logs {
            *log = if log.is_nan() { f64::NEG_INFINITY } else { *log - top };
        }
        let mut below = vec![0.0; nodes.len()];
        for k in 1..nodes.len() {
            below[k] = below[k - 1] + mass(nodes[k] - nodes[k - 1], logs[k - 1], logs[k]);
        }
        let total = below[nodes.len() - 1];
        if !(total > 0.0 && total.is_finite()) {
            return None;
        }
        below.iter_mut().for_each(|below| *below /= total);
        logs.iter_mut().for_each(|log| *log -= total.ln());
        Some(Self { nodes, logs, below })
    }

    /// Mean of densities with the same nodes.
    pub(super) fn average(lines: &[Self]) -> Option<Self> {
        let nodes = lines.first()?.nodes.clone();
        let mean = |k: usize| lines.iter().map(|line| line.logs[k].exp()).sum::<f64>().ln();
        let logs = (0..nodes.len()).map(mean).collect();
        Self::new(nodes, logs)
    }

    pub(super) fn log_density(&self, x: f64) -> f64 {
        let k = self.nodes.partition_point(|&node| node <= x);
        if k == 0 || k == self.nodes.len() || self.below[k] == self.below[k - 1] {
            return f64::NEG_INFINITY;
        }
        let share = (x - self.nodes[k - 1]) / (self.nodes[k] - self.nodes[k - 1]);
        self.logs[k - 1] + share * (self.logs[k] - self.logs[k - 1])
    }

    /// Quantile function: the point below which the mass is `u`.
    pub(super) fn quantile(&self, u: f64) -> f64 {
        let k = self.below.partition_point(|&below| below <= u).clamp(1, self.nodes.len() - 1);
        let rest = (u - self.below[k - 1]) / (self.below[k] - self.below[k - 1]);
        let slope = self.logs[k] - self.logs[k - 1];
        let share = if slope.abs() < 1e-9 {
            rest
        } else if slope > 0.0 {
            1.0 + (rest + (1.0 - rest) * (-slope).exp()).ln() / slope
        } else {
            (rest * slope.exp_m1()).ln_1p() / slope
        };
        self.nodes[k - 1] + share.clamp(0.0, 1.0) * (self.nodes[k] - self.nodes[k - 1])
    }
}

/// Integral of a log-linear function between two nodes; 0 if its logarithm is `-inf` at a node.
fn mass(width: f64, left: f64, right: f64) -> f64 {
    let (low, high) = (left.min(right), left.max(right));
    if low == f64::NEG_INFINITY {
        return 0.0;
    }
    let slope = high - low;
    width * high.exp() * if slope < 1e-9 { 1.0 } else { -(-slope).exp_m1() / slope }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(left: f64, right: f64) -> Line {
        let nodes: Vec<f64> = (0..=64).map(|k| f64::from(k) / 64.0).collect();
        let logs = nodes.iter().map(|x| left + x * (right - left)).collect();
        Line::new(nodes, logs).expect("some mass")
    }

    /// An exponential density is exact; quantiles invert the distribution function; a gap in the support has no mass.
    #[test]
    fn exponentials_are_exact() {
        let line = Line::new(vec![0.0, 0.5, 40.0], vec![3.0, 2.0, -77.0]).expect("some mass");
        for u in [0.01, 0.5, 0.9, 0.999_999] {
            let x = line.quantile(u);
            assert!((x + (1.0 - u).ln() / 2.0).abs() < 1e-9 * x, "{u}: {x}");
            assert!((line.log_density(x) - (2.0_f64.ln() - 2.0 * x)).abs() < 1e-12);
        }
        assert_eq!(line.log_density(-1.0), f64::NEG_INFINITY);
        let gap =
            Line::new(vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 0.0, f64::NEG_INFINITY, 0.0]).expect("some mass");
        assert!(
            (gap.log_density(0.5), gap.log_density(1.5), gap.quantile(0.25))
                == (0.0, f64::NEG_INFINITY, 0.25)
        );
        let mean = Line::average(&[line_of(0.0, 0.0), line_of(0.0, 2.0)]).expect("some mass");
        assert!(
            (mean.log_density(0.0) - (0.5 * (1.0 + 2.0 / 2.0_f64.exp_m1())).ln()).abs() < 1e-3,
            "nodes are averaged"
        );
        assert!(Line::new(vec![0.0, 1.0], vec![f64::NEG_INFINITY; 2]).is_none());
    }
}
