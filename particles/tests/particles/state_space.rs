//! State-space models: draws, densities, moments and gradients agree with each other; conformance of twisted chains, on a
//! linear-Gaussian path and on a stochastic volatility model.

use std::sync::LazyLock;

use mcsa_core::{Family, LogDensity, Parametric, Seed, Stream, one};
use mcsa_models::Learnable;
use mcsa_particles::{
    FirstState, FxStates, FxVolatility, GaussianDynamics, LinearGaussian, LinearGaussianSeries, PathProposal,
    StateSpace, Theta, Twisted, TwistedChain,
};
use mcsa_testing::family::Case as FamilyCase;
use mcsa_testing::model::Case;

use crate::paths::slopes;

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

fn series(length: usize, x: impl Fn(f64) -> f64) -> LinearGaussianSeries {
    LinearGaussianSeries::new((0..length).map(|t| x(t as f64)).collect()).expect("finite")
}

static SERIES: LazyLock<[LinearGaussianSeries; 3]> =
    LazyLock::new(|| [1, 2, 30].map(|length| series(length, |t| (1.3 * t).cos())));
static TWISTED: LazyLock<[LinearGaussianSeries; 3]> =
    LazyLock::new(|| [1, 2, 5].map(|length| series(length, |t| (2.1 * t).sin())));

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

/// The gradient in theta is the slope of the density of a path, by differences of fourth order.
fn has_its_gradient_in_theta<const K: usize, M: Learnable>(model: &M, theta: &[f64], z: &[f64])
where
    for<'a> M::At<'a>: StateSpace,
{
    let mut gradient = vec![1.0; theta.len()];
    model.add_theta_gradients(theta, &[], one(z), &[2.0], &mut gradient, &mut []);
    let known = slopes::<K>(theta, |theta| model.at(theta).log_path(z));
    for (k, slope) in known.into_iter().enumerate() {
        assert!((gradient[k] - 1.0 - 2.0 * slope).abs() < 1e-8, "{k}: {} {slope}", gradient[k]);
    }
}

#[test]
fn gradients_in_theta_are_slopes() {
    let z = [0.1, -0.4, 1.0, -2.0, 0.3];
    has_its_gradient_in_theta::<3, _>(&TWISTED[2], &[0.8, -0.4, 0.2], &z);
    for (phi, first) in [(0.9_f64, FirstState::Level), (-0.4, FirstState::Zero), (0.0, FirstState::Level)] {
        let model = FxVolatility::new(vec![0.3, -1.2, 0.0, 0.8], Theta::default()).expect("finite");
        has_its_gradient_in_theta::<4, _>(&model.with_first(first), &[-0.5, phi.atanh(), -1.0, 0.3], &z);
    }
}

/// Mean of the score in theta is zero over simulations, `E[d/dtheta log p(z, x; theta)] = 0`: each mean within 5 standard errors, false
/// alarm 4e-6.
fn has_mean_zero<const K: usize>(n: u64, score: impl Fn(&mut Stream) -> [f64; K]) {
    let (mut sums, mut squares) = ([0.0; K], [0.0; K]);
    for lane in 0..n {
        for (k, slope) in score(&mut Seed::new(7).stream(lane, 0)).into_iter().enumerate() {
            sums[k] += slope;
            squares[k] += slope * slope;
        }
    }
    for k in 0..K {
        assert!(sums[k].abs() < 5.0 * f64::sqrt(squares[k]), "{k}: {} {}", sums[k], squares[k].sqrt());
    }
}

#[test]
fn simulations_are_those_of_the_density() {
    has_mean_zero(4000, |stream| {
        let mut series = LinearGaussianSeries::new(vec![0.0; 5]).expect("finite");
        series.simulate([0.7, -0.3, 0.4], stream);
        // Given the data, the mean over paths is the gradient of the log evidence.
        slopes::<3>(&[0.7, -0.3, 0.4], |theta| series.at(theta).log_evidence())
    });
    has_mean_zero(20_000, |stream| {
        let theta = [-0.5, 0.6_f64.atanh(), -1.0, 0.3];
        let (mut z, mut returns, mut gradient) = ([0.0; 5], vec![0.0; 4], [0.0; 4]);
        let model = |returns| FxVolatility::new(returns, Theta::from(theta)).expect("finite");
        model(vec![]).simulate_into(stream, &mut z, &mut returns);
        model(returns).add_theta_gradients(&theta, &[], one(&z), &[1.0], &mut gradient, &mut []);
        gradient
    });
}

#[test]
fn a_return_that_is_not_finite_is_named() {
    let error = FxVolatility::new(vec![0.0, f64::NAN], Theta::default()).unwrap_err().to_string();
    assert_eq!(error, "FxVolatility: returns[1] is NaN, expected a finite number");
    let error = FxVolatility::new(vec![1e200], Theta::default()).unwrap_err().to_string();
    assert!(error.contains("squares of returns[0]"), "{error}");
}

static RETURNS: LazyLock<FxVolatility> =
    LazyLock::new(|| FxVolatility::new(vec![0.3, -0.8, 0.1], Default::default()).expect("finite"));

fn params(times: usize) -> Vec<f64> {
    (0..2 * times).map(|k| 0.8 * (k as f64 * 1.3 + 0.4).sin()).collect()
}

fn twisted<P: GaussianDynamics>(model: P) -> FamilyCase<TwistedChain<'static, P>> {
    let model: &P = Box::leak(Box::new(model));
    FamilyCase::new(TwistedChain { model }, params(model.num_states()))
}

fn twisted_linear() -> Vec<FamilyCase<TwistedChain<'static, LinearGaussian<'static>>>> {
    TWISTED.iter().map(|series| twisted(series.at(&[0.8, -0.3, 0.1]))).collect()
}

fn twisted_volatility() -> Vec<FamilyCase<TwistedChain<'static, FxStates<'static>>>> {
    vec![twisted(RETURNS.at(&[-0.5, 1.2, -0.4, 0.3]))]
}

mcsa_testing::family_suite!(on_a_linear_path, twisted_linear(), meter);
mcsa_testing::family_suite!(on_a_volatility_path, twisted_volatility(), meter);

/// The product of the steps is the density of the chain: sums of `log p - log q` along the steps, and twists, against densities of
/// paths.
#[test]
fn the_steps_are_those_of_the_chain() {
    let model = RETURNS.at(&[-0.5, 1.2, -0.4, 0.3]);
    let (family, params) = (TwistedChain { model: &model }, params(4));
    let mut memory = vec![f64::NAN; Twisted.proposal_len(&model)];
    let mut proposal = Twisted.proposal(&model, &params, &mut memory);
    let mut stream = Seed::new(3).stream(0, 0);
    let (mut z, mut sum, mut prior) = (vec![], 0.0, 0.0);
    for t in 0..4 {
        let previous: Vec<f64> = z.last().copied().into_iter().collect();
        let (mut next, mut weight, mut again, mut twist, mut step) = ([0.0], [0.0], [0.0], [0.0], [0.0]);
        proposal.propose_into(t, &previous, &mut stream, &mut next, &mut weight);
        proposal.log_weights(t, &previous, &next, &mut again);
        proposal.log_twists(t, &next, &mut twist);
        model.log_transitions(t, &previous, &next, &mut step);
        assert_eq!(weight, again);
        sum += twist[0] - weight[0];
        prior += step[0];
        z.push(next[0]);
    }
    let log_q = family.log_prob(&params, &z, &mut vec![f64::NAN; family.work_len(1)]);
    assert!((log_q - (prior + sum)).abs() < 1e-13, "{log_q} {}", prior + sum);
}

/// With the likelihood of the future as the twist the chain is the posterior: `log p(z, x) - log q(z)` is the log evidence at every
/// path.
#[test]
fn the_right_twist_is_the_posterior() {
    let theta = [0.8, -0.3, 0.1];
    let model = TWISTED[2].at(&theta);
    let x: Vec<f64> = (0..5).map(|t| (t as f64 * 2.1).sin()).collect();
    let (noise, variance) = ((2.0_f64 * theta[2]).exp(), (2.0_f64 * theta[1]).exp());
    // psi_t(z) = p(x_t | z) int p(z' | z) psi_{t+1}(z') dz', as precision and shift.
    let (mut lambda, mut nu) = (vec![0.0; 5], vec![0.0; 5]);
    for t in (0..5).rev() {
        let (mut precision, mut shift) = (1.0 / noise, x[t] / noise);
        if t < 4 {
            let shrink = 1.0 + variance * lambda[t + 1];
            precision += theta[0] * theta[0] * lambda[t + 1] / shrink;
            shift += theta[0] * nu[t + 1] / shrink;
        }
        (lambda[t], nu[t]) = (precision, shift);
    }
    let params: Vec<f64> = nu.into_iter().chain(lambda.into_iter().map(f64::ln)).collect();
    let family = TwistedChain { model: &model };
    for z in [[0.0; 5], [1.0, -2.0, 0.5, 3.0, -1.0]] {
        let log_q = family.log_prob(&params, &z, &mut [f64::NAN; 5]);
        assert!((model.log_path(&z) - log_q - model.log_evidence()).abs() < 1e-12);
    }
}

#[test]
fn an_infinite_precision_is_an_error() {
    let model = TWISTED[0].at(&[0.8, 0.0, 0.0]);
    let family = TwistedChain { model: &model };
    assert_eq!(family.check(&[0.0, 710.0]).unwrap_err().to_string(), "log Lambda is 710, expected below 709");
    assert!(family.check(&[0.0, -800.0]).is_ok());
}
