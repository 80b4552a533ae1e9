//! State-space models: draws, densities, moments and gradients agree with each other.

use mcsa_core::{LogDensity, Seed};
use mcsa_models::Learnable;
use mcsa_particles::{
    FirstState, FxVolatility, GaussianDynamics, HiddenMarkov, LinearGaussian, LinearGaussianSeries,
    LinearGaussianTheta, StateSpace, Theta,
};
use mcsa_testing::model::Case;
use std::sync::LazyLock;

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

static SERIES: LazyLock<[LinearGaussianSeries; 3]> = LazyLock::new(|| {
    [1, 2, 30].map(|length| {
        LinearGaussianSeries::new((0..length).map(|t| (f64::from(t) * 1.3).cos()).collect()).expect("finite")
    })
});

fn linear() -> Vec<Case<LinearGaussian<'static>>> {
    SERIES.iter().map(|series| Case::new(series.at(&[0.7, -0.3, 0.4]))).collect()
}

mcsa_testing::model_suite!(linear_gaussian, linear(), meter);

/// The moments, draws and densities of a step belong to one normal distribution, to rounding, and the density of a path is
/// the sum of its parts.
fn agrees<P: GaussianDynamics>(model: &P) {
    let previous = [0.3, -1.2, 2.0];
    for t in 0..model.num_states() {
        let (mut means, mut z, mut densities) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        let variance = model.means_into(t, &previous, &mut means);
        model.draw_states_into(t, &previous, &mut Seed::new(1).stream(0, t as u64), &mut z);
        model.log_transitions(t, &previous, &z, &mut densities);
        let mut stream = Seed::new(1).stream(0, t as u64);
        for k in 0..3 {
            let noise = stream.normal();
            assert!((z[k] - means[k] - variance.sqrt() * noise).abs() < 1e-13);
            let expected = -0.5 * (noise * noise + variance.ln() + (2.0 * std::f64::consts::PI).ln());
            assert!((densities[k] - expected).abs() < 1e-12, "{t}: {} {expected}", densities[k]);
        }
    }
    let path: Vec<f64> = (0..model.num_states()).map(|t| (t as f64).sin()).collect();
    let mut work = vec![0.0; model.work_len(1)];
    assert!((model.log_density(&path, &mut work) - model.log_path(&path)).abs() < 1e-11);
}

#[test]
fn the_parts_of_gaussian_dynamics_agree() {
    for theta in [[0.7, -0.3, 0.4], [-1.3, 0.5, -1.0]] {
        SERIES.iter().for_each(|series| agrees(&series.at(&theta)));
    }
    let returns: Vec<f64> = (0..6).map(|t| (f64::from(t) * 1.7).sin()).collect();
    for first in [FirstState::Level, FirstState::Zero] {
        let theta = Theta { mu: 0.8, atanh_phi: -0.9, log_sigma: 0.2, log_beta: -0.4 };
        let model = FxVolatility::new(returns.clone(), theta).expect("finite").with_first(first);
        agrees(&model.states());
        agrees(&model.at(&<[f64; 4]>::from(theta)));
        let path = [0.3, -0.2, 0.9, 1.4, -0.6, 0.0, 0.1];
        let whole = model.log_density(&path, &mut [0.0; 6]);
        assert!((whole - model.states().log_path(&path)).abs() < 1e-12);
    }
}

/// Mean of the score in theta is zero: `E[d/dtheta log p(z, x; theta)] = 0` over simulations; each mean within 5 standard errors,
/// false alarm 2e-6.
#[test]
fn simulations_are_those_of_the_density() {
    let theta = LinearGaussianTheta { phi: 0.7, log_sigma: -0.3, log_tau: 0.4 };
    let mut series = LinearGaussianSeries::new(vec![0.0; 5]).expect("finite");
    let (n, mut sums, mut squares) = (4000, [0.0; 3], [0.0; 3]);
    for lane in 0..n {
        series.simulate(theta, &mut Seed::new(7).stream(lane, 0));
        // Given the data, the mean over paths is the gradient of the log evidence.
        for (k, slope) in series.with(theta).evidence_gradient().into_iter().enumerate() {
            sums[k] += slope;
            squares[k] += slope * slope;
        }
    }
    for k in 0..3 {
        assert!(sums[k].abs() < 5.0 * f64::sqrt(squares[k]), "{k}: {} {}", sums[k], squares[k].sqrt());
    }
}

/// A number that is no state has density zero.
#[test]
fn numbers_that_are_no_states_are_impossible() {
    let chain = HiddenMarkov::new(&[0.5, 0.5], &[&[0.9, 0.1], &[0.1, 0.9]], &[&[0.8, 0.2], &[0.5, 0.5]])
        .expect("laws");
    for path in [[0.5, 1.0], [2.0, 0.0], [-1.0, 0.0], [0.0, f64::NAN]] {
        assert_eq!(chain.log_path(&path), f64::NEG_INFINITY, "{path:?}");
    }
    assert!(chain.log_path(&[0.0, 1.0]).is_finite());
}
