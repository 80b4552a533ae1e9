//! Default proposal of the tests: independent normals around a target.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Proposal, Seed, Stream};

use mcsa_core::ExactDraws;

/// Proposal of independent normals around a target, somewhat wider than the target.
///
/// ```
/// use mcsa_testing::Spread;
/// let proposal = Spread::around(&mcsa_models::Gaussian::standard(2), mcsa_core::Seed::new(1), 1.5);
/// assert!(proposal.scale.iter().all(|s| (1.2..1.8).contains(s)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The mean of each coordinate.
    pub mean: Vec<f64>,
    /// The scale of each coordinate.
    pub scale: Vec<f64>,
}

/// Number of draws from which the proposal is placed; its accuracy matters for no law.
const DRAWS: u64 = 500;

impl Spread {
    /// A proposal with the means of 500 exact draws and their scales times `widening`.
    pub fn around<P: ExactDraws + ?Sized>(target: &P, seed: Seed, widening: f64) -> Self {
        let dim = target.dim();
        let (mut mean, mut square, mut z) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
        for draw in 0..DRAWS {
            target.draw_into(&mut seed.stream(draw, 0), &mut z);
            for i in 0..dim {
                mean[i] += z[i] / DRAWS as f64;
                square[i] += z[i] * z[i] / DRAWS as f64;
            }
        }
        let scale = |i: usize| widening * (square[i] - mean[i] * mean[i]).sqrt();
        let scale = (0..dim).map(scale).collect();
        Self { mean, scale }
    }

    fn log_prob(&self, z: &[f64]) -> f64 {
        let each = |i: usize| {
            let standard = (z[i] - self.mean[i]) / self.scale[i];
            -0.5 * (standard * standard + std::f64::consts::TAU.ln()) - self.scale[i].ln()
        };
        (0..z.len()).map(each).sum()
    }
}

impl Proposal for Spread {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        assert_eq!(z.ncols(), log_q.len(), "a density per column");
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = self.log_prob(z.column(j));
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        let each = z.ncols() / lanes.len().max(1);
        assert_eq!(each * lanes.len(), z.ncols(), "lanes divide the columns");
        for j in 0..z.ncols() {
            let point = z.column_mut(j);
            lanes[j / each].normals_into(point);
            for (x, (mean, scale)) in point.iter_mut().zip(self.mean.iter().zip(&self.scale)) {
                *x = mean + scale * *x;
            }
            log_q[j] = self.log_prob(point);
        }
    }
}
