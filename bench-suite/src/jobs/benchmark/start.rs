//! Gaussian at which a method begins: Laplace's approximation at a mode, else that of Pathfinder, else a round normal.

use mcsa_core::{LogDensity, Stream};
use mcsa_optim::deterministic::{Gaussian, Laplace, Lbfgs, Pathfinder};

use super::Bounded;

/// Share of the budget for the search of a mode, and for the curvature there.
const SHARE: u64 = 4;

impl Bounded<'_, '_> {
    /// Point drawn uniformly from `(-reach, reach)^d`.
    pub(super) fn point(&self, stream: &mut Stream) -> Vec<f64> {
        (0..self.target.dim()).map(|_| self.reach * (2.0 * stream.uniform() - 1.0)).collect()
    }

    /// Gaussian around the mode that is reached from start number `number`.
    pub(super) fn start(&self, number: u64) -> Gaussian {
        let seed = self.seed.named("start");
        let point = self.point(&mut seed.stream(number, 0));
        self.laplace(&point)
            .or_else(|| self.path(&point, &mut seed.stream(number, 1)))
            .unwrap_or_else(|| self.round())
    }

    /// Gaussian around the first mode, or a round normal.
    pub(super) fn begin(&self, laplace: bool) -> Gaussian {
        if laplace { self.start(0) } else { self.round() }
    }

    /// Normal around 0 with half the reach as standard deviation.
    fn round(&self) -> Gaussian {
        let (dim, variance) = (self.target.dim(), (0.5 * self.reach).powi(2));
        let entry = |i, j| if i == j { variance } else { 0.0 };
        Gaussian { mean: vec![0.0; dim], covariance: faer::Mat::from_fn(dim, dim, entry) }
    }

    /// Laplace's approximation; `None` if there is no mode, or no room for `2 d` gradients.
    fn laplace(&self, point: &[f64]) -> Option<Gaussian> {
        if 2 * point.len() as u64 > self.budget / SHARE {
            return None;
        }
        let peak = self.climb().mode(self.target, point).ok()?.converged().ok()?;
        Some(Laplace::by_differences(self.target, &peak.point).ok()?.gaussian)
    }

    /// Gaussian of Pathfinder.
    fn path(&self, point: &[f64], stream: &mut Stream) -> Option<Gaussian> {
        let finder = Pathfinder { lbfgs: self.climb(), draws: 5, ..Pathfinder::default() };
        Some(finder.run(self.target, point, stream).ok()?.gaussian)
    }

    /// The search of a mode, of as many iterations as the budget allows.
    pub(super) fn climb(&self) -> Lbfgs {
        let iterations = (self.budget / (2 * SHARE)).clamp(10, 1_000);
        Lbfgs::with(1e-6, iterations, 10).unwrap_or_default()
    }
}
