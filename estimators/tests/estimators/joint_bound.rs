//! Bounds in theta and lambda jointly: sparse Gaussian processes whose evidence is known.

use faer::Mat;
use mcsa_core::{Error, LogDensity, Parametric, Seed};
use mcsa_estimators::{Ascent, Draws, FlowElbo, Joint, Minibatched, Outcome, Run};
use mcsa_families::dais::{Annealed, Shape};
use mcsa_families::{Drawn, FullRank, Link, MeanField, WithTheta};
use mcsa_models::{Gaussian, InducingCoordinates, SparseGaussianProcess, SparseSurrogate};
use mcsa_optim::{Adam, Schedule};

const N: usize = 24;
const M: usize = 5;

fn data() -> (Mat<f64>, Vec<f64>) {
    let mut stream = Seed::new(7).stream(0, 0);
    let x = Mat::from_fn(N, 1, |i, _| -3.0 + 6.0 * i as f64 / (N - 1) as f64);
    let y = (0..N).map(|i| (1.5 * x[(i, 0)]).sin() + 0.3 * stream.normal()).collect();
    (x, y)
}

/// A process with so many degrees of freedom that its errors are normal: the log density of a datum differs by less than 1e-5.
fn process() -> (SparseGaussianProcess, Vec<f64>) {
    let (x, y) = data();
    let process = SparseGaussianProcess::robust(x.as_ref(), &y, M).unwrap();
    let process = process.with_coordinates(InducingCoordinates::Whitened);
    let inducing = Mat::from_fn(M, 1, |i, _| -2.5 + 5.0 * i as f64 / (M - 1) as f64);
    let theta = process.theta(0.0, &[-0.2], &[-0.5, 16.0], inducing.as_ref()).unwrap();
    (process, theta)
}

/// `log N(y; 0, A K_ZZ A' + diag(v + s^2))`, the evidence of a sparse process with normal errors.
fn log_evidence(process: &SparseGaussianProcess, theta: &[f64]) -> f64 {
    let rows: Vec<usize> = (0..N).collect();
    let mut memory = vec![0.0; process.memory_len(N)];
    process.prepare_into(theta, &rows, &mut memory).unwrap();
    let posterior = process.posterior(theta, &rows, &memory);
    let a = Mat::from_fn(N, M, |n, i| posterior.weights(n)[i]);
    let mut covariance = &a * posterior.covariance() * a.transpose();
    (0..N).for_each(|n| covariance[(n, n)] += posterior.variance(n) + (2.0 * theta[2]).exp());
    let law = Gaussian::new(vec![0.0; N], covariance.as_ref()).unwrap();
    law.log_density(&data().1, &mut vec![0.0; 2 * N])
}

/// Bound on all data and its standard error, the evidence at the end of a joint fit, and that at its start.
fn fitted<F: mcsa_core::Reparameterised>(base: F, start: &[f64]) -> (f64, f64, f64, f64) {
    let (process, theta) = process();
    let family = WithTheta::after(Drawn(base), theta.len());
    let params = [start, &theta].concat();
    let estimator = Joint { climb: Minibatched::new(N, FlowElbo::new(4)) };
    let rate = Schedule::drops(0.02, 0.1, vec![3_000, 5_000]).unwrap();
    let optimizer = Adam::new(rate).unwrap();
    let ascent = Ascent { target: &process, family: &family, estimator, optimizer, seed: Seed::new(4) };
    let mut fit = ascent.start(params).unwrap();
    assert_eq!(ascent.run(&mut fit, 6_000).unwrap(), Outcome::BudgetSpent { accuracy: None });
    let learned = &fit.params()[family.theta()];
    let rows: Vec<usize> = (0..N).collect();
    let mut memory = vec![0.0; process.memory_len(N)];
    process.prepare_into(learned, &rows, &mut memory).unwrap();
    let posterior = process.posterior(learned, &rows, &memory);
    let lambda = family.lambda(fit.params());
    let draws = Draws::pushed(&posterior, family.family(), lambda, Seed::new(9).stream(0, 0), 4_000).unwrap();
    let terms = draws.log_ratios();
    let mean = terms.iter().sum::<f64>() / 4_000.0;
    let variance = terms.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 4_000.0;
    (mean, (variance / 4_000.0).sqrt(), log_evidence(&process, learned), log_evidence(&process, &theta))
}

/// With normal errors the posterior of the inducing values is normal: the bound of a full-rank Gaussian is the evidence, and its
/// maximum in theta increases the evidence. Coordinates that are independent leave a gap.
#[test]
fn full_rank_bound_of_a_normal_process_is_its_evidence() {
    let full = FullRank::new(M).with_link(Link::Exp);
    let factor = Mat::from_fn(M, M, |i, j| if i == j { 0.3 } else { 0.0 });
    let (bound, error, evidence, before) = fitted(full, &full.at(&[0.0; M], factor.as_ref()).unwrap());
    assert!((evidence - bound).abs() < 0.02 && error < 4e-3, "{bound} +- {error}, evidence {evidence}");
    assert!(evidence > before + 1.0, "theta is learned: {before}, {evidence}");
    let plain = MeanField::new(M).with_link(Link::Exp);
    let (bound, error, evidence, _) = fitted(plain, &plain.at(&[0.0; M], &[0.3; M]).unwrap());
    assert!(evidence - bound > 0.05 + 6.0 * error, "mean field: {bound} +- {error}, evidence {evidence}");
}

fn annealed(
    process: &SparseGaussianProcess,
    theta: &[f64],
) -> (WithTheta<Annealed<SparseSurrogate>>, Vec<f64>) {
    let surrogate = SparseSurrogate::new(process.clone(), vec![0, 7, 12, 20]).unwrap();
    let psi = surrogate.initial(theta);
    let family = Annealed::new(surrogate, Shape::Lower, 3);
    let full = FullRank::new(M).with_link(Link::Exp);
    let factor = Mat::from_fn(M, M, |i, j| if i == j { 0.3 } else { 0.0 });
    let params = family.at(&full.at(&[0.0; M], factor.as_ref()).unwrap(), 0.05, &psi).unwrap();
    let first = params.len() - psi.len();
    (WithTheta::within(family, first, theta.len()).unwrap(), params)
}

#[test]
fn a_joint_fit_resumes_bit_for_bit_and_allocates_nothing() {
    let (process, theta) = process();
    let (family, params) = annealed(&process, &theta);
    let estimator = Joint { climb: Minibatched::new(6, FlowElbo::new(1)) };
    let optimizer = Adam::new(1e-3).unwrap();
    let ascent = Ascent { target: &process, family: &family, estimator, optimizer, seed: Seed::new(4) };
    let mut whole = ascent.start(params.clone()).unwrap();
    ascent.run(&mut whole, 50).unwrap();
    assert!(whole.params()[family.theta()].iter().zip(&theta).all(|(a, b)| a != b), "all of theta moves");
    let mut parts = ascent.start(params).unwrap();
    ascent.run(&mut parts, 20).unwrap();
    let mut parts = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    ascent.run(&mut parts, Run::to(50)).unwrap();
    assert_eq!(whole.params(), parts.params());
    let mut count = |steps: u64| {
        allocation_counter::measure(|| {
            ascent.run(&mut parts, steps).unwrap();
        })
        .count_total
    };
    count(1);
    assert_eq!(count(5), count(50));
}

#[test]
fn batches_without_rows_or_beyond_the_data_are_refused() {
    let (process, theta) = process();
    let (family, params) = annealed(&process, &theta);
    let refused = |batch| -> Error {
        let estimator = Joint { climb: Minibatched::new(batch, FlowElbo::new(1)) };
        let optimizer = Adam::new(1e-3).unwrap();
        let ascent = Ascent { target: &process, family: &family, estimator, optimizer, seed: Seed::new(4) };
        ascent.start(params.clone()).unwrap_err()
    };
    assert!(refused(0).to_string().contains("at least one row"));
    assert!(refused(N + 1).to_string().contains("the target has 24"));
    assert_eq!(family.num_params(), params.len());
}
