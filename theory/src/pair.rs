//! Target and guide in one dimension, both normalised and continuous.

use mcsa_core::numeric::quadrature::{Integral, integrate};

/// Target p and guide q in one dimension, by their log densities, with the quantities of the theory of `w = p / q`.
///
/// Integrals run over `[from, to]` and carry an error estimate; the rest is left out, so neither density may have
/// relevant mass outside. A density may be `-inf` in places; p must be 0 where q is.
///
/// For distributions on atoms see [`Instance`](crate::Instance). Here there is no atom, so a chain stays at a point only by
/// rejection.
///
/// ```
/// use mcsa_theory::Pair;
/// let normal = |z: f64, s: f64| -0.5 * (z / s).powi(2) - s.ln() - 0.918_938_533_204_672_7;
/// let pair = Pair::new(|z| normal(z, 1.0), |z| normal(z, 2.0), -30.0, 30.0);
/// assert!((pair.largest_weight() - 2.0).abs() < 1e-12);
/// assert!((pair.kl().value - (2.0_f64.ln() + 0.125 - 0.5)).abs() < 1e-10);
/// ```
#[derive(Debug, Clone)]
pub struct Pair<P, Q> {
    log_p: P,
    log_q: Q,
    from: f64,
    to: f64,
}

/// Number of grid points on which the largest weight is searched before refinement.
const GRID: usize = 4_096;
const TOLERANCE: f64 = 1e-10;

impl<P: Fn(f64) -> f64, Q: Fn(f64) -> f64> Pair<P, Q> {
    /// Two normalised log densities, with the ends of their range.
    pub const fn new(log_p: P, log_q: Q, from: f64, to: f64) -> Self {
        Self { log_p, log_q, from, to }
    }

    fn p(&self, z: f64) -> f64 {
        (self.log_p)(z).exp()
    }

    fn q(&self, z: f64) -> f64 {
        (self.log_q)(z).exp()
    }

    /// Log weight `log w(z)`; `-inf` where p vanishes.
    pub fn log_weight(&self, z: f64) -> f64 {
        let log_p = (self.log_p)(z);
        if log_p == f64::NEG_INFINITY { log_p } else { log_p - (self.log_q)(z) }
    }

    fn over(&self, f: impl Fn(f64) -> f64) -> Integral {
        let finite = |z: f64| Some(f(z)).filter(|value| value.is_finite()).unwrap_or(0.0);
        integrate(self.from, self.to, TOLERANCE, finite)
    }

    /// The point of largest weight between the ends: on a grid, then by golden sections around its best point. If it is an
    /// end, the weight may be unbounded.
    pub fn mode(&self) -> f64 {
        let step = (self.to - self.from) / GRID as f64;
        let at = |k: usize| self.from + k as f64 * step;
        let better = |a: usize, b: usize| if self.log_weight(at(b)) > self.log_weight(at(a)) { b } else { a };
        let best = (0..=GRID).fold(0, better);
        let (mut low, mut high) = (at(best.saturating_sub(1)), at((best + 1).min(GRID)));
        let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
        for _ in 0..80 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            if self.log_weight(left) < self.log_weight(right) { low = left } else { high = right }
        }
        let candidates = [at(best), 0.5 * (low + high)];
        if self.log_weight(candidates[0]) >= self.log_weight(candidates[1]) {
            candidates[0]
        } else {
            candidates[1]
        }
    }

    /// Largest weight `w*`.
    pub fn largest_weight(&self) -> f64 {
        self.log_weight(self.mode()).exp()
    }

    /// Divergence `KL(p || q)`.
    pub fn kl(&self) -> Integral {
        self.over(|z| self.p(z) * self.log_weight(z))
    }

    /// Pearson's `chi^2(p || q) = E_q[w^2] - 1`.
    pub fn pearson(&self) -> Integral {
        let Integral { value, error } = self.over(|z| (2.0 * self.log_weight(z) + (self.log_q)(z)).exp());
        Integral { value: value - 1.0, error }
    }

    /// Rejection probability `lambda(v)` of independent Metropolis-Hastings at a point of weight `v`:
    ///
    /// ```text
    /// lambda(v) = integral over {w < v} of (1 - w / v) dq
    /// ```
    pub fn rejection(&self, v: f64) -> Integral {
        self.over(|z| (self.q(z) - self.p(z) / v).max(0.0))
    }

    /// Total variation distance between one transition from `z` and the target, which includes the probability of staying at `z`.
    ///
    /// ```text
    /// TV(K(z, .), p) = integral of (p - p min(1/w, 1/w(z)))^+
    /// ```
    pub fn distance(&self, z: f64) -> Integral {
        let here = (-self.log_weight(z)).exp();
        self.over(|y| self.p(y) * (1.0 - here.min((-self.log_weight(y)).exp())).max(0.0))
    }
}
