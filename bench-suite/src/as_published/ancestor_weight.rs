//! Conditional SMC with the ancestor weight as printed in MSC, Alg. 4.

use mcsa_core::{Learnable, PathFamily, PathGuide, StateSpace, Stream};
use mcsa_families::Twisted;
use mcsa_kernels::{ConditionalSmc, Lineage, PathKernel, Paths, Resampling};
use mcsa_models::{LinearGaussian, LinearGaussianSeries};

/// Ancestor rule for the retained path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ancestry {
    /// No ancestor is sampled: the path keeps its past.
    Kept,
    /// Sampled with the correct weight, which keeps the posterior invariant, by the library.
    Correct,
    /// Sampled with the printed weight.
    Printed,
}

/// A linear-Gaussian path of two states with twists, and the exact moments of its first state.
///
/// ```text
/// printed:  w_j q(z' | z_j)            correct:  w_j p(x | z_j) p(z' | z_j) / psi(z_j)
/// ```
/// The library has only the correct one; [`ConditionalSmc`].
#[derive(Debug, Clone)]
pub struct TwoStates {
    series: LinearGaussianSeries,
    theta: [f64; 3],
    lambda: [f64; 4],
}

impl Default for TwoStates {
    /// Twists that differ from the observations: for equal ones both weights agree.
    fn default() -> Self {
        let series = LinearGaussianSeries::new(vec![1.4, 0.6]).expect("two finite numbers");
        Self { series, theta: [0.9, -0.5, -0.7], lambda: [0.5, 0.2, 0.3, 0.1] }
    }
}

impl TwoStates {
    /// Exact mean and variance of the first state.
    pub fn exact(&self) -> (f64, f64) {
        let law = self.model().smoothed()[0].law;
        (law.mean, law.variance)
    }

    fn model(&self) -> LinearGaussian<'_> {
        self.series.at(&self.theta)
    }

    /// First state along a chain of `sweeps` sweeps with `particles` particles.
    pub fn first_states(
        &self,
        ancestry: Ancestry,
        particles: usize,
        sweeps: usize,
        stream: &mut Stream,
    ) -> Vec<f64> {
        let model = self.model();
        let mut memory = vec![0.0; Twisted.guide_len(&model)];
        let mut guide = Twisted.guide(&model, &self.lambda, &mut memory);
        let lineage = if ancestry == Ancestry::Kept { Lineage::Traced } else { Lineage::Ancestors };
        let kernel =
            ConditionalSmc { particles, resampling: Resampling::Multinomial, threshold: 1.0, lineage };
        let mut work = vec![0.0; kernel.work_len(&model)];
        let mut paths = Paths { positions: faer::Mat::from_fn(2, 1, |i, _| [1.0, 0.5][i]) };
        let step = |_| {
            if ancestry == Ancestry::Printed {
                sweep(&model, &mut guide, paths.positions.col_as_slice_mut(0), particles, stream);
            } else {
                kernel.step(&model, &mut guide, &mut paths, std::slice::from_mut(stream), &mut work);
            }
            paths.positions[(0, 0)]
        };
        (0..sweeps).map(step).collect()
    }
}

/// One sweep as printed (MSC, Alg. 4), for a path of two numbers.
fn sweep<P: StateSpace, G: PathGuide>(
    model: &P,
    guide: &mut G,
    path: &mut [f64],
    particles: usize,
    stream: &mut Stream,
) {
    let (mut z, mut log_w) = (vec![path[0]; particles], vec![0.0; particles]);
    guide.log_weights(0, &[], &z[..1], &mut log_w[..1]);
    guide.propose_into(0, &[], stream, &mut z[1..], &mut log_w[1..]);
    // q(z' | z_j) = p(z' | z_j) psi(z') / normaliser(z_j), and psi(z') does not depend on j.
    let (retained, mut log_p, mut normaliser) =
        (vec![path[1]; particles], vec![0.0; particles], vec![0.0; particles]);
    model.log_transitions(1, &z, &retained, &mut log_p);
    guide.log_weights(1, &z, &retained, &mut normaliser);
    let printed: Vec<f64> = (0..particles).map(|j| log_w[j] + log_p[j] - normaliser[j]).collect();
    let ancestor =
        |first: bool, stream: &mut Stream| stream.choose(if first { &printed } else { &log_w }).unwrap_or(0);
    let ancestors: Vec<usize> = (0..particles).map(|i| ancestor(i == 0, stream)).collect();
    let before: Vec<f64> = ancestors.iter().map(|&a| z[a]).collect();
    let (mut after, mut weights) = (vec![path[1]; particles], vec![0.0; particles]);
    guide.log_weights(1, &before[..1], &after[..1], &mut weights[..1]);
    guide.propose_into(1, &before[1..], stream, &mut after[1..], &mut weights[1..]);
    let due = |t: usize, z: &[f64], guide: &mut G| {
        let (mut likelihood, mut twist) = (vec![0.0; particles], vec![0.0; particles]);
        model.log_observations(t, z, &mut likelihood);
        guide.log_twists(t, z, &mut twist);
        likelihood.iter().zip(twist).map(|(likelihood, twist)| likelihood - twist).collect::<Vec<f64>>()
    };
    let dues = [due(0, &before, guide), due(1, &after, guide)];
    weights.iter_mut().enumerate().for_each(|(i, weight)| *weight += dues[0][i] + dues[1][i]);
    let chosen = stream.choose(&weights).unwrap_or(0);
    (path[0], path[1]) = (before[chosen], after[chosen]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    fn moments(scene: &TwoStates, ancestry: Ancestry, particles: usize) -> (f64, f64) {
        let states = scene.first_states(ancestry, particles, 200_000, &mut Seed::new(4).stream(0, 0));
        let mean = states.iter().sum::<f64>() / states.len() as f64;
        (mean, states.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / states.len() as f64)
    }

    /// Standard errors of mean and variance are below 0.003 here: 0.02 is more than six of them, a false alarm below 1e-8;
    /// the error of the printed weight is more than seven times 0.02.
    #[test]
    fn the_printed_weight_moves_the_posterior() {
        let scene = TwoStates::default();
        let (mean, variance) = scene.exact();
        for ancestry in [Ancestry::Kept, Ancestry::Correct] {
            let found = moments(&scene, ancestry, 2);
            assert!(
                (found.0 - mean).abs() < 0.02 && (found.1 - variance).abs() < 0.02,
                "{ancestry:?} {found:?}"
            );
        }
        let found = moments(&scene, Ancestry::Printed, 2);
        assert!((found.1 - variance).abs() > 0.1, "{found:?}");
    }

    /// A setting computed independently: mean 0.871 and variance 0.369 for the printed weight, and 1.037 and 0.187 exactly.
    #[test]
    fn another_reading_gives_the_same_numbers() {
        let series = LinearGaussianSeries::new(vec![2.0, -1.0]).unwrap();
        let theta = [0.9, 0.5 * 0.5_f64.ln(), 0.5 * 0.3_f64.ln()];
        let scene = TwoStates { series, theta, lambda: [1.5, -1.0, 0.5_f64.ln(), 2.0_f64.ln()] };
        let (mean, variance) = scene.exact();
        assert!((mean - 1.0366).abs() < 1e-3 && (variance - 0.1871).abs() < 1e-3, "{mean} {variance}");
        let found = moments(&scene, Ancestry::Printed, 2);
        assert!((found.0 - 0.871).abs() < 0.02 && (found.1 - 0.369).abs() < 0.02, "{found:?}");
    }
}
