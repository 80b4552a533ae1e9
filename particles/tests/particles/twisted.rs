//! Conformance of twisted chains, on a linear-Gaussian path and on a stochastic volatility model.

use mcsa_core::{Family, Parametric, Seed};
use mcsa_models::Learnable;
use mcsa_particles::{PathFamily, PathGuide, StateSpace, Twisted, TwistedChain};
use mcsa_testing::family::Case;

use mcsa_particles::{FxStates, FxVolatility, LinearGaussian, LinearGaussianSeries};
use std::sync::LazyLock;

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

static SERIES: LazyLock<[LinearGaussianSeries; 3]> = LazyLock::new(|| {
    [1, 2, 5].map(|length| {
        LinearGaussianSeries::new((0..length).map(|t| (t as f64 * 2.1).sin()).collect()).expect("finite")
    })
});
static RETURNS: LazyLock<FxVolatility> =
    LazyLock::new(|| FxVolatility::new(vec![0.3, -0.8, 0.1], Default::default()).expect("finite"));

fn params(times: usize) -> Vec<f64> {
    (0..2 * times).map(|k| 0.8 * (k as f64 * 1.3 + 0.4).sin()).collect()
}

fn linear() -> Vec<Case<TwistedChain<LinearGaussian<'static>>>> {
    let case = |series: &'static LinearGaussianSeries| {
        let model = series.at(&[0.8, -0.3, 0.1]);
        Case::new(TwistedChain { model }, params(model.num_states()))
    };
    SERIES.iter().map(case).collect()
}

fn volatility() -> Vec<Case<TwistedChain<FxStates<'static>>>> {
    vec![Case::new(TwistedChain { model: RETURNS.at(&[-0.5, 1.2, -0.4, 0.3]) }, params(4))]
}

mcsa_testing::family_suite!(on_a_linear_path, linear(), meter);
mcsa_testing::family_suite!(on_a_volatility_path, volatility(), meter);

/// The product of the steps is the density of the chain: sums of `log p - log q` along the steps, and twists, against densities of
/// paths.
#[test]
fn the_steps_are_those_of_the_chain() {
    let model = RETURNS.at(&[-0.5, 1.2, -0.4, 0.3]);
    let (family, params) = (TwistedChain { model }, params(4));
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
    let model = SERIES[2].at(&theta);
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
    let family = TwistedChain { model };
    for z in [[0.0; 5], [1.0, -2.0, 0.5, 3.0, -1.0]] {
        let log_q = family.log_prob(&params, &z, &mut [f64::NAN; 5]);
        assert!((model.log_path(&z) - log_q - model.log_evidence()).abs() < 1e-12);
    }
}

#[test]
fn an_infinite_precision_is_refused() {
    let family = TwistedChain { model: SERIES[0].at(&[0.8, 0.0, 0.0]) };
    assert_eq!(family.check(&[0.0, 710.0]).unwrap_err().to_string(), "log Lambda is 710, expected below 709");
    assert!(family.check(&[0.0, -800.0]).is_ok());
}
