//! Fixed points of score ascent with a Gaussian family, by quadrature.

use mcsa_core::numeric::scalar::log_ndtr;

/// Skew-normal target at location 0 and scale 1, with density `2 phi(z) Phi(shape z)` (MSC, Sec. 5.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkewNormal {
    /// Shape; 0 gives the standard normal distribution.
    pub shape: f64,
}

/// Fixed point of an ascent: mean and standard deviation of a Gaussian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// Range of the quadrature, in standard deviations of the guide; beyond it the mass is negligible in double precision.
const REACH: f64 = 8.5;

impl SkewNormal {
    /// Fixed point for the exact inclusive divergence, and so for every chain that leaves the target invariant: the target's
    /// moments.
    pub fn moments(&self) -> Rest {
        let delta = self.shape / (1.0 + self.shape * self.shape).sqrt();
        let mean = delta * (2.0 / std::f64::consts::PI).sqrt();
        Rest { mean, deviation: (1.0 - mean * mean).sqrt() }
    }

    /// Fixed point for self-normalised importance sampling with two draws: the Gaussian with
    ///
    /// ```text
    /// E_{q x q}[ (w_1 score(z_1) + w_2 score(z_2)) / (w_1 + w_2) ] = 0
    /// ```
    /// by the trapezoid rule on `points` by `points` draws and Newton's method. None if it does not converge. To estimate the
    /// error, double the points.
    pub fn pairwise(&self, points: usize) -> Option<Rest> {
        self.rest(points, |ratio| 1.0 / (1.0 + ratio))
    }

    /// Fixed point for the chi-square divergence with squared weights: `w_1^2 / (w_1^2 + w_2^2)` in place of `w_1 / (w_1 + w_2)`
    /// (MSC, Fig. 6).
    pub fn pairwise_chi_square(&self, points: usize) -> Option<Rest> {
        self.rest(points, |ratio| 1.0 / (1.0 + ratio * ratio))
    }

    /// Fixed point with squared weights divided by the larger weight: `(w_1 / max(w_1, w_2))^2 / 2`; the factors need not add up to
    /// 1.
    pub fn pairwise_chi_square_by_max(&self, points: usize) -> Option<Rest> {
        self.rest(points, |ratio| 0.5 / ratio.max(1.0).powi(2))
    }

    /// Fixed point for a factor `share` of each draw's score, a function of the other draw's weight over its own; 1/2 at ratio 1.
    fn rest(&self, points: usize, share: impl Fn(f64) -> f64) -> Option<Rest> {
        let rest = self.moments();
        let (mut mean, mut log_deviation) = (rest.mean, rest.deviation.ln());
        for _ in 0..40 {
            const STEP: f64 = 1e-6;
            let here = self.mean_scores(mean, log_deviation, points, &share);
            let right = self.mean_scores(mean + STEP, log_deviation, points, &share);
            let up = self.mean_scores(mean, log_deviation + STEP, points, &share);
            let slope = |k: usize| [(right[k] - here[k]) / STEP, (up[k] - here[k]) / STEP];
            let ([a, b], [c, d]) = (slope(0), slope(1));
            let determinant = a * d - b * c;
            let (by, other) =
                ((d * here[0] - b * here[1]) / determinant, (a * here[1] - c * here[0]) / determinant);
            mean -= by.clamp(-0.5, 0.5);
            log_deviation -= other.clamp(-0.5, 0.5);
            if by.abs().max(other.abs()) < 1e-11 {
                return Some(Rest { mean, deviation: log_deviation.exp() });
            }
        }
        None
    }

    /// Mean scores for mean and log deviation, times the deviation and 1. Each pair is visited once, as both orders have equal
    /// mass.
    fn mean_scores(
        &self,
        mean: f64,
        log_deviation: f64,
        points: usize,
        share: &impl Fn(f64) -> f64,
    ) -> [f64; 2] {
        let (deviation, step) = (log_deviation.exp(), 2.0 * REACH / (points - 1) as f64);
        let draw = |k: usize| -REACH + k as f64 * step;
        let log_weight = |u: f64| {
            let z = mean + deviation * u;
            0.5 * (u * u - z * z) + log_ndtr(self.shape * z)
        };
        let mut weights: Vec<f64> = (0..points).map(|k| log_weight(draw(k))).collect();
        let top = weights.iter().fold(f64::NEG_INFINITY, |top, w| top.max(*w));
        // Far below every relevant weight, and positive, so that no quotient is 0 / 0.
        weights.iter_mut().for_each(|w| *w = (*w - top).exp().max(1e-300));
        let mass: Vec<f64> = (0..points).map(|k| (-0.5 * draw(k) * draw(k)).exp()).collect();
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for i in 0..points {
            let (u, w) = (draw(i), weights[i]);
            let (mut sum, mut own, mut other) = (0.5 * mass[i], 0.5 * mass[i], [0.0; 2]);
            for j in 0..i {
                sum += mass[j];
                own += mass[j] * share(weights[j] / w);
                let theirs = mass[j] * share(w / weights[j]);
                let v = draw(j);
                other[0] += theirs * v;
                other[1] += theirs * (v * v - 1.0);
            }
            total += mass[i] * sum;
            first += mass[i] * (own * u + other[0]);
            second += mass[i] * (own * (u * u - 1.0) + other[1]);
        }
        [first / total, second / total]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::numeric::quadrature::integrate;

    #[test]
    fn moments_are_those_by_quadrature() {
        let target = SkewNormal { shape: 5.0 };
        let density = |z: f64| (2.0 / std::f64::consts::PI).sqrt() * (log_ndtr(5.0 * z) - 0.5 * z * z).exp();
        let mean = integrate(-12.0, 12.0, 1e-13, |z| z * density(z));
        let square = integrate(-12.0, 12.0, 1e-13, |z| z * z * density(z));
        let rest = target.moments();
        assert!((mean.value - rest.mean).abs() < 1e-11 && mean.error < 1e-11);
        assert!((square.value - mean.value.powi(2) - rest.deviation.powi(2)).abs() < 1e-11);
    }

    /// On a normal target all weights are equal at the target itself, which is the fixed point of both.
    #[test]
    fn without_skew_there_is_no_bias() {
        let rest = SkewNormal { shape: 0.0 }.pairwise(120).unwrap();
        assert!(rest.mean.abs() < 1e-9 && (rest.deviation - 1.0).abs() < 1e-9);
        let skewed = SkewNormal { shape: 2.0 }.pairwise(120).unwrap();
        assert!((skewed.deviation - SkewNormal { shape: 2.0 }.moments().deviation).abs() > 1e-3);
    }

    #[test]
    fn twice_the_points_give_the_error() {
        let at = |points| SkewNormal { shape: 5.0 }.pairwise(points).unwrap();
        let (coarse, fine) = (at(200), at(400));
        assert!((coarse.mean - fine.mean).abs() < 1e-8 && (coarse.deviation - fine.deviation).abs() < 1e-8);
        // A target at location 1/2 and of scale 2.
        assert!(
            (0.5 + 2.0 * fine.mean - 2.037541).abs() < 1e-6 && (2.0 * fine.deviation - 1.082334).abs() < 1e-6
        );
        let rest = SkewNormal { shape: 5.0 }.moments();
        assert!(
            (0.5 + 2.0 * rest.mean - 2.064780).abs() < 1e-6 && (2.0 * rest.deviation - 1.245577).abs() < 1e-6
        );
    }

    /// `E_q[w^2]` is finite where `2 / omega^2 > 1 / sigma^2`; the fixed points of the biased gradients lie where it is not.
    #[test]
    fn squared_weights_rest_elsewhere() {
        let target = SkewNormal { shape: 5.0 };
        let at = |points| [target.pairwise_chi_square(points), target.pairwise_chi_square_by_max(points)];
        let near = |rest: Option<Rest>, mean: f64, deviation: f64, by: f64| {
            let rest = rest.unwrap();
            (0.5 + 2.0 * rest.mean - mean).abs() < by && (2.0 * rest.deviation - deviation).abs() < by
        };
        let ([sum, max], [fine, finer]) = (at(200), at(400));
        assert!(near(sum, 2.002982, 1.111477, 1e-6) && near(fine, 2.002982, 1.111477, 1e-6));
        // The larger weight has a kink: the error falls by four with twice the points. These numbers are from 1600 points.
        assert!(near(max, 1.928203, 0.984553, 5e-4) && near(finer, 1.928203, 0.984553, 2e-4));
        let rest = SkewNormal { shape: 0.0 }.pairwise_chi_square(120).unwrap();
        assert!(rest.mean.abs() < 1e-9 && (rest.deviation - 1.0).abs() < 1e-9);
    }
}
