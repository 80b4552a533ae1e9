//! Bounds in theta and lambda jointly: sparse Gaussian processes whose evidence is known.

use faer::Mat;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::{InducingCoordinates, JointBound, Minibatched, SparseGaussianProcess, SparseSurrogate};
use mcsa_core::{Error, Estimator, LogDensity, Parametric, Seed};
use mcsa_estimators::{Ascent, Draws, FlowElbo, Outcome, Run};
use mcsa_families::{Drawn, FullRank, Link, MeanField, WithTheta};
use mcsa_models::Gaussian;
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

/// Lambda at the end of a fit of the bound at the theta of the process, and the bound there with its standard error.
fn fitted<F: mcsa_core::Reparameterised + Copy>(base: F, start: &[f64]) -> (Vec<f64>, f64, f64) {
    let ((process, theta), rows) = (process(), (0..N).collect::<Vec<_>>());
    let mut memory = vec![0.0; process.memory_len(N)];
    process.prepare_into(&theta, &rows, &mut memory).unwrap();
    let (target, family) = (process.posterior(&theta, &rows, &memory), Drawn(base));
    let estimator = Minibatched::new(N, FlowElbo::new(4));
    let rate = Schedule::drops(0.02, 0.1, vec![2_000, 4_000]).unwrap();
    let optimizer = Adam::new(rate).unwrap();
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(4) };
    let mut fit = ascent.start(start.to_vec()).unwrap();
    assert_eq!(ascent.run(&mut fit, 5_000).unwrap(), Outcome::BudgetSpent { accuracy: None });
    let lane = Seed::new(9).stream(0, 0);
    let terms = Draws::pushed(&target, &family, fit.params(), lane, 4_000).unwrap().log_ratios();
    let (mean, error) = mean_and_error(&terms);
    (fit.params().to_vec(), mean, error)
}

fn mean_and_error(terms: &[f64]) -> (f64, f64) {
    let count = terms.len() as f64;
    let mean = terms.iter().sum::<f64>() / count;
    let variance = terms.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

fn full_rank() -> (FullRank, Vec<f64>) {
    let family = FullRank::new(M).with_link(Link::Exp);
    let factor = Mat::from_fn(M, M, |i, j| if i == j { 0.3 } else { 0.0 });
    let start = family.at(&[0.0; M], factor.as_ref()).unwrap();
    (family, start)
}

/// Directions in theta of the joint estimator at lambda, from 20 lots of 200 draws.
fn directions(lambda: &[f64]) -> Vec<Vec<f64>> {
    let (process, theta) = process();
    let family = WithTheta::after(Drawn(full_rank().0), theta.len());
    let estimator = JointBound { bound: Minibatched::new(N, FlowElbo::new(200)) };
    let params = [lambda, &theta].concat();
    let mut work = vec![0.0; estimator.work_len(&process, &family)];
    let mut direction = vec![0.0; params.len()];
    let lot = |number: u64| {
        let seed = Seed::new(20 + number);
        let mut lanes = [seed.stream(0, 0), seed.stream(1, 0)];
        let mut state = estimator.init(&process, &family, &params, &mut lanes).unwrap();
        let (direction, work) = (&mut direction, &mut work);
        let found = estimator
            .ascent_direction(&process, &family, &params, &mut state, &mut lanes, direction, work)
            .unwrap();
        assert_eq!(found.non_finite, 0);
        direction[family.theta()].to_vec()
    };
    (0..20).map(lot).collect()
}

/// With normal errors the posterior of the inducing values is normal: the bound of a full-rank Gaussian is the evidence, and its
/// derivative in theta that of the evidence. Coordinates that are independent leave a gap, and away from the maximum in lambda the
/// derivatives differ.
#[test]
fn full_rank_bound_of_a_normal_process_is_its_evidence() {
    let (process, theta) = process();
    let evidence = log_evidence(&process, &theta);
    let (full, start) = full_rank();
    let (lambda, bound, error) = fitted(full, &start);
    assert!((evidence - bound).abs() < 0.02 && error < 4e-3, "{bound} +- {error}, evidence {evidence}");
    let plain = MeanField::new(M).with_link(Link::Exp);
    let (_, bound, error) = fitted(plain, &plain.at(&[0.0; M], &[0.3; M]).unwrap());
    assert!(evidence - bound > 0.05 + 6.0 * error, "mean field: {bound} +- {error}, evidence {evidence}");
    // Within 6 standard errors of 20 means, and an error of lambda.
    let differs = |found: &[Vec<f64>]| {
        (0..theta.len()).find_map(|k| {
            let moved = |t: f64| {
                let mut theta = theta.clone();
                theta[k] += t;
                log_evidence(&process, &theta)
            };
            let known = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            let (mean, error) = mean_and_error(&found.iter().map(|found| found[k]).collect::<Vec<_>>());
            let is_far = (mean - known).abs() > 6.0 * error + 0.05;
            is_far.then(|| format!("entry {k}: {mean} +- {error}, known {known}"))
        })
    };
    assert_eq!(differs(&directions(&lambda)), None);
    assert!(differs(&directions(&start)).is_some());
}

fn annealed(
    process: &SparseGaussianProcess,
    theta: &[f64],
) -> (WithTheta<Annealed<SparseSurrogate>>, Vec<f64>) {
    let surrogate = SparseSurrogate::new(process.clone(), vec![0, 7, 12, 20]).unwrap();
    let psi = surrogate.initial(theta);
    let family = Annealed::new(surrogate, Shape::Lower, 3);
    let params = family.at(&full_rank().1, 0.05, &psi).unwrap();
    let first = params.len() - psi.len();
    (WithTheta::within(family, first, theta.len()).unwrap(), params)
}

#[test]
fn a_joint_fit_resumes_bit_for_bit_and_allocates_nothing() {
    let (process, theta) = process();
    let (family, params) = annealed(&process, &theta);
    let estimator = JointBound { bound: Minibatched::new(6, FlowElbo::new(1)) };
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
        let estimator = JointBound { bound: Minibatched::new(batch, FlowElbo::new(1)) };
        let optimizer = Adam::new(1e-3).unwrap();
        let ascent = Ascent { target: &process, family: &family, estimator, optimizer, seed: Seed::new(4) };
        ascent.start(params.clone()).unwrap_err()
    };
    assert!(refused(0).to_string().contains("at least one row"));
    assert!(refused(N + 1).to_string().contains("the target has 24"));
    assert_eq!(family.num_params(), params.len());
}
