//! Linear moves of position and momentum, and the sweep of a chain over them.

use super::chain::LinearDais;

/// Gradient `shift - precision z` of a quadratic log density.
#[derive(Debug, Clone)]
pub(super) struct Slope {
    pub(super) shift: Vec<f64>,
    /// Row-major.
    pub(super) precision: Vec<f64>,
}

/// Representation of position and momentum that linear moves act on: moments, or coefficients of the noise.
pub(super) trait Phase {
    /// `z += rate v`.
    fn drift(&mut self, rate: &[f64]);

    /// `v += eta (shift - precision z)`.
    fn kick(&mut self, eta: f64, slope: &Slope);

    /// `v = gamma v + sqrt(1 - gamma^2) S nu` with new noise.
    fn refresh(&mut self, gamma: f64, deviation: &[f64]);

    /// Adds `scale |S^-1 v|^2` to the log weight.
    fn add_energy(&mut self, scale: f64, deviation: &[f64]);
}

/// `out = (1 - beta) from + beta to`.
fn mix(from: &[f64], to: &[f64], beta: f64, out: &mut [f64]) {
    for i in 0..out.len() {
        out[i] = (1.0 - beta) * from[i] + beta * to[i];
    }
}

impl LinearDais {
    /// Slope of the log base.
    fn base_slope(&self) -> Slope {
        let (d, precision) = (self.dim(), self.base.precision());
        let mean = self.base.mean();
        Slope {
            shift: (0..d).map(|i| (0..d).map(|j| precision[(i, j)] * mean[j]).sum()).collect(),
            precision: (0..d * d).map(|k| precision[(k / d, k % d)]).collect(),
        }
    }

    /// Slope of the log prior and the surrogate likelihood.
    fn guide_slope(&self) -> Slope {
        let (d, precision) = (self.dim(), self.prior.precision());
        let (mean, surrogate) = (self.prior.mean(), &self.surrogate);
        let pulled = |i: usize| -> f64 { (0..d).map(|j| precision[(i, j)] * mean[j]).sum() };
        let bent = |(i, j): (usize, usize)| precision[(i, j)] + surrogate.curvature[(i, j)];
        Slope {
            shift: (0..d).map(|i| pulled(i) + surrogate.slope[i]).collect(),
            precision: (0..d * d).map(|k| bent((k / d, k % d))).collect(),
        }
    }

    /// Moves `phase`, which is at `(z_0, v_0)`, to `(z_K, v_K)` before its last refreshment.
    pub(super) fn sweep(&self, phase: &mut impl Phase) {
        let (base, guide) = (self.base_slope(), self.guide_slope());
        let (mut slope, mut rate) = (base.clone(), self.mass.clone());
        for (k, (eta, &beta)) in self.step_sizes().zip(&self.betas).enumerate() {
            if k > 0 {
                phase.refresh(self.gamma, &self.deviation);
            }
            mix(&base.shift, &guide.shift, beta, &mut slope.shift);
            mix(&base.precision, &guide.precision, beta, &mut slope.precision);
            for (rate, mass) in rate.iter_mut().zip(&self.mass) {
                *rate = 0.5 * eta / mass;
            }
            phase.drift(&rate);
            phase.add_energy(0.5, &self.deviation);
            phase.kick(eta, &slope);
            phase.add_energy(-0.5, &self.deviation);
            phase.drift(&rate);
        }
    }
}
