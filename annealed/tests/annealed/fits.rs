//! Bounds from minibatches: all rows are the target itself, fits resume bit for bit, dead paths are reported, paths for local latents
//! close the gap of mean field, and joint bounds reach a known evidence.

use faer::Mat;
use mcsa_annealed::dais::{Annealed, SemiAnnealed, Shape};
use mcsa_annealed::surrogate::QuadraticSurrogate;
use mcsa_annealed::{
    InducingCoordinates, LocalMinibatch, Minibatched, SparseGaussianProcess, SparseSurrogate,
};
use mcsa_core::{Error, Estimator, LogDensity, Optimizer, Seed, from_fn};
use mcsa_estimators::{Ascent, Draws, Elbo, ElboInfo, FlowElbo, Outcome, Run};
use mcsa_families::{Drawn, FullRank, Link, MeanField, WithTheta};
use mcsa_models::{Gaussian, LocalRobustRegression, LogisticRegression};
use mcsa_optim::{Adam, Schedule};

const N: usize = 40;

/// An ascent with Adam at this rate.
fn ascent<'a, P: ?Sized, F: ?Sized, E>(
    target: &'a P,
    family: &'a F,
    estimator: E,
    rate: f64,
    seed: u64,
) -> Ascent<'a, P, F, E, Adam> {
    Ascent { target, family, estimator, optimizer: Adam::new(rate).unwrap(), seed: Seed::new(seed) }
}

fn mean_and_error(terms: &[f64]) -> (f64, f64) {
    let count = terms.len() as f64;
    let mean = terms.iter().sum::<f64>() / count;
    let variance = terms.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// 20 steps, a checkpoint and 30 more steps are 50 steps, to the bit; the number of allocations does not depend on that of the steps.
fn resumes_and_allocates_nothing<P: ?Sized, F: ?Sized, E, O>(
    ascent: &Ascent<'_, P, F, E, O>,
    start: &[f64],
) -> Vec<f64>
where
    E: Estimator<P, F>,
    O: Optimizer,
{
    let mut whole = ascent.start(start.to_vec()).unwrap();
    ascent.run(&mut whole, 50).unwrap();
    let mut parts = ascent.start(start.to_vec()).unwrap();
    ascent.run(&mut parts, 20).unwrap();
    let mut parts = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    ascent.run(&mut parts, Run::to(50)).unwrap();
    assert_eq!(whole.params(), parts.params());
    assert_eq!(serde_json::to_string(&whole).unwrap(), serde_json::to_string(&parts).unwrap());
    let mut count = |steps: u64| {
        allocation_counter::measure(|| {
            ascent.run(&mut parts, steps).unwrap();
        })
        .count_total
    };
    count(1);
    assert_eq!(count(5), count(50));
    whole.params().to_vec()
}

fn target() -> LogisticRegression {
    let x = Mat::from_fn(N, 2, |i, k| if k == 0 { 1.0 } else { (1.3 * i as f64).sin() });
    let labels: Vec<f64> = (0..N).map(|i| f64::from(u8::from((0.7 * i as f64).cos() > -0.2))).collect();
    LogisticRegression::new(x.as_ref(), &labels, 1.5).unwrap()
}

fn annealed() -> (Annealed<QuadraticSurrogate>, Vec<f64>) {
    let b = Mat::<f64>::identity(2, 2) * faer::Scale(7.0);
    let surrogate = QuadraticSurrogate::new(&[0.5, -0.2], b.as_ref(), vec![0.0; 2], 1.5).unwrap();
    let family = Annealed::new(surrogate, Shape::Diagonal, 3);
    let params = family.at(&[0.2, -0.1, -1.0, -1.2], 0.1, &family.surrogate.initial()).unwrap();
    (family, params)
}

fn direction<P: ?Sized, F, E>(estimator: &E, target: &P, family: &F, params: &[f64]) -> Vec<f64>
where
    E: Estimator<P, F, Info = ElboInfo>,
{
    let mut lanes = Seed::new(3).streams(estimator.lanes(), 0);
    let mut state = estimator.init(target, family, params, &mut lanes).unwrap();
    // The bound draws from the last lane, whatever it is wrapped in.
    let last = lanes.len() - 1;
    lanes[last] = Seed::new(9).stream(0, 1);
    let (mut out, mut work) =
        (vec![f64::NAN; params.len()], vec![f64::NAN; estimator.work_len(target, family)]);
    estimator.ascent_direction(target, family, params, &mut state, &mut lanes, &mut out, &mut work).unwrap();
    out
}

fn far(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max)
}

/// With all rows in the batch the direction is that of the whole target, up to the order of its sums.
#[test]
fn all_rows_are_the_target() {
    let target = target();
    let (family, params) = (FullRank::new(2), [0.1, -0.2, 0.3, 0.4, -0.1]);
    let whole = direction(&Elbo::closed(4), &target, &family, &params);
    let rows = |batch| direction(&Minibatched::new(batch, Elbo::closed(4)), &target, &family, &params);
    assert!(far(&rows(N), &whole) < 1e-12);
    assert!(far(&rows(N / 2), &whole) > 1e-3, "the failing twin: half of the rows are another direction");
    let (family, params) = annealed();
    let whole = direction(&FlowElbo::new(2), &target, &family, &params);
    let rows = direction(&Minibatched::new(N, FlowElbo::new(2)), &target, &family, &params);
    assert!(far(&rows, &whole) < 1e-12);
}

#[test]
fn a_fit_resumes_and_has_draws() {
    let (target, (family, params)) = (target(), annealed());
    let ascent = ascent(&target, &family, Minibatched::new(8, FlowElbo::new(1)), 1e-3, 5);
    resumes_and_allocates_nothing(&ascent, &params);
    let mut fit = ascent.start(params).unwrap();
    ascent.run(&mut fit, 60).unwrap();
    let draws = ascent.pushed_draws(&fit, 500).unwrap();
    assert_eq!((draws.len(), draws.non_finite), (500, 0));
    assert!(draws.sample_size > 20.0, "{}", draws.sample_size);
}

/// A path whose step sizes are all clipped at zero cannot recover, which is the outcome of the run.
#[test]
fn dead_paths_are_reported() {
    let (target, (family, mut params)) = (target(), annealed());
    let kappa = 5;
    params[kappa] = -5.0;
    let ascent = ascent(&target, &family, Minibatched::new(8, FlowElbo::new(1)), 1e-3, 5);
    let mut fit = ascent.start(params.clone()).unwrap();
    let outcome = ascent.run(&mut fit, 30).unwrap();
    assert_eq!(outcome, Outcome::PathStoodStill { steps: 30 });
    assert!(outcome.to_string().contains("the base alone"));
    assert_eq!(fit.params()[kappa], -5.0, "no derivative reaches kappa");
    params[kappa] = 0.0;
    let mut fit = ascent.start(params).unwrap();
    assert_eq!(ascent.run(&mut fit, 30).unwrap(), Outcome::BudgetSpent { accuracy: None });
}

#[test]
fn impossible_batches_are_errors() {
    let (target, family) = (target(), MeanField::new(2));
    let start = |batch| -> Result<(), Error> {
        let ascent = ascent(&target, &family, Minibatched::new(batch, Elbo::closed(1)), 1e-3, 5);
        ascent.start(vec![0.0; 4]).map(drop)
    };
    assert!(start(N).is_ok());
    assert!(start(0).unwrap_err().to_string().contains("at least one row"));
    assert!(start(N + 1).unwrap_err().to_string().contains("41 rows a batch, the target has 40"));
    assert!(start(usize::MAX).unwrap_err().to_string().contains("the target has 40"));
}

/// A state of another number of rows, or of more than the data have, is an error.
#[test]
fn rows_of_another_batch_are_errors() {
    let (target, family) = (target(), MeanField::new(2));
    let of = |batch| Minibatched::new(batch, Elbo::closed(1));
    let state = of(N).init(&target, &family, &[0.0; 4], &mut Seed::new(1).streams(2, 0)).unwrap();
    assert!(of(N).check(&target, &family, &state).is_ok());
    let error = of(N - 1).check(&target, &family, &state).unwrap_err().to_string();
    assert_eq!(error, "rows of the minibatch has length 40, expected 39");
    let fewer =
        LogisticRegression::new(Mat::from_fn(N - 1, 2, |_, _| 1.0).as_ref(), &[1.0; N - 1], 1.5).unwrap();
    let error = of(N).check(&fewer, &family, &state).unwrap_err().to_string();
    assert_eq!(error, "Minibatched: 40 rows a batch, the target has 39");
}

/// Health has the step sizes of an annealed path; a family that is no path has none to report.
#[test]
fn health_has_the_step_sizes_of_a_path() {
    let target = Gaussian::standard(2);
    let (family, params) = annealed();
    let ascent = ascent(&target, &family, FlowElbo::new(1), 5e-3, 5);
    let mut fit = ascent.start(params).unwrap();
    ascent.run(&mut fit, 2_000).unwrap();
    let health = ascent.pushed_health(&fit).unwrap();
    assert_eq!(health.step_sizes.map(|sizes| sizes.steps), Some(3));
    assert!(health.to_string().contains("of 3 are zero"), "{health}");
    // A mean of 4000 terms; the fit is good to a hundredth of a nat.
    assert!((-0.1..0.005).contains(&health.evidence_lower), "{health}");

    let family = Drawn(MeanField::new(2));
    let ascent = self::ascent(&target, &family, FlowElbo::new(1), 1e-3, 5);
    let mut fit = ascent.start(vec![0.0; 4]).unwrap();
    ascent.run(&mut fit, 5).unwrap();
    let health = ascent.pushed_health(&fit).unwrap();
    assert!(health.step_sizes.is_none() && !health.to_string().contains("are zero"), "{health}");
}

const LOCALS: usize = 20;
/// Two weights and `log s`.
const GLOBALS: usize = 3;

fn model() -> LocalRobustRegression {
    let x = faer::Mat::from_fn(LOCALS, 2, |i, k| if k == 0 { 1.0 } else { (1.7 * i as f64).sin() });
    let mut stream = Seed::new(2).stream(0, 0);
    let noise = |stream: &mut mcsa_core::Stream| stream.normal() / (0.2 + stream.uniform());
    let y: Vec<f64> = (0..LOCALS).map(|i| 0.5 - x[(i, 1)] + 0.3 * noise(&mut stream)).collect();
    LocalRobustRegression::new(x.as_ref(), &y, 3.0, 2.0).unwrap()
}

fn semi(model: &LocalRobustRegression, steps: usize, batch: usize) -> (f64, f64) {
    let family = SemiAnnealed { shared: true, ..SemiAnnealed::new(model.clone(), steps) };
    let start = family.at(&[0.0; GLOBALS], &[0.2; GLOBALS], 0.6, 0.1).unwrap();
    let ascent = ascent(model, &family, Minibatched::new(batch, FlowElbo::new(1)), 5e-3, 4);
    let mut fit = ascent.start(start).unwrap();
    assert_eq!(ascent.run(&mut fit, 6_000).unwrap(), Outcome::BudgetSpent { accuracy: None });
    let rows: Vec<usize> = (0..LOCALS).collect();
    let (target, part) = (LocalMinibatch::new(model, &rows).unwrap(), family.on(&rows));
    let draws = Draws::pushed(&target, &part, fit.params(), Seed::new(9).stream(0, 0), 20_000).unwrap();
    mean_and_error(&draws.log_ratios())
}

/// Mean-field bound of theta alone, with every local latent integrated out.
fn oracle(model: &LocalRobustRegression) -> (f64, f64) {
    let target = from_fn(GLOBALS, |theta| {
        let terms = (0..LOCALS).map(|n| model.term(n, theta).log_integral());
        model.add_prior_gradient(theta, &mut []) + terms.sum::<f64>()
    })
    .with_gradient(|theta, gradient| {
        gradient.fill(0.0);
        model.add_prior_gradient(theta, gradient);
        for n in 0..LOCALS {
            let term = model.term(n, theta);
            let of_square = -0.5 * (term.shape + 0.5) / (term.shape + 0.5 * term.square);
            model.add_theta_gradient(n, theta, of_square, 1.0, gradient);
        }
    });
    let family = MeanField::new(GLOBALS).with_link(Link::Exp);
    let ascent = ascent(&target, &family, Elbo::closed(1), 5e-3, 4);
    let mut fit = ascent.start(family.at(&[0.0; GLOBALS], &[0.2; GLOBALS]).unwrap()).unwrap();
    ascent.run(&mut fit, 6_000).unwrap();
    let draws = Draws::of(&target, &family, fit.params(), Seed::new(9).stream(0, 0), 20_000).unwrap();
    mean_and_error(&draws.log_ratios())
}

/// More steps of the local chains close part of the gap of mean field, and none of them passes the bound without local latents. The
/// differences exceed six standard errors.
#[test]
fn steps_close_the_gap_of_mean_field() {
    let model = model();
    let (oracle, plain, four) = (oracle(&model), semi(&model, 0, LOCALS), semi(&model, 4, LOCALS));
    let above = |a: (f64, f64), b: (f64, f64)| a.0 - b.0 > 6.0 * a.1.hypot(b.1);
    assert!(above(four, plain), "four steps {four:?}, mean field {plain:?}");
    assert!(above(oracle, four), "integrated {oracle:?}, four steps {four:?}");
    // Minibatches of half of the data lead to the same bound, up to the noise of the fit.
    let half = semi(&model, 4, LOCALS / 2);
    assert!((half.0 - four.0).abs() < 0.25 * (four.0 - plain.0), "half of the rows {half:?}, all {four:?}");
}

#[test]
fn a_fit_of_local_latents_resumes() {
    let model = model();
    let family = SemiAnnealed::new(model.clone(), 2);
    let start = family.at(&[0.0; GLOBALS], &[0.2; GLOBALS], 0.6, 0.1).unwrap();
    resumes_and_allocates_nothing(
        &ascent(&model, &family, Minibatched::new(5, FlowElbo::new(1)), 1e-3, 4),
        &start,
    );
}

const DATA: usize = 24;
const INDUCING: usize = 5;

fn sparse_data() -> (Mat<f64>, Vec<f64>) {
    let mut stream = Seed::new(7).stream(0, 0);
    let x = Mat::from_fn(DATA, 1, |i, _| -3.0 + 6.0 * i as f64 / (DATA - 1) as f64);
    let y = (0..DATA).map(|i| (1.5 * x[(i, 0)]).sin() + 0.3 * stream.normal()).collect();
    (x, y)
}

/// A process with so many degrees of freedom that its errors are normal: the log density of a datum differs by less than 1e-5.
fn process() -> (SparseGaussianProcess, Vec<f64>) {
    let (x, y) = sparse_data();
    let process = SparseGaussianProcess::robust(x.as_ref(), &y, INDUCING).unwrap();
    let process = process.with_coordinates(InducingCoordinates::Whitened);
    let inducing = Mat::from_fn(INDUCING, 1, |i, _| -2.5 + 5.0 * i as f64 / (INDUCING - 1) as f64);
    let theta = process.theta(0.0, &[-0.2], &[-0.5, 16.0], inducing.as_ref()).unwrap();
    (process, theta)
}

/// `log DATA(y; 0, A K_ZZ A' + diag(v + s^2))`, the evidence of a sparse process with normal errors.
fn log_evidence(process: &SparseGaussianProcess, theta: &[f64]) -> f64 {
    let rows: Vec<usize> = (0..DATA).collect();
    let mut memory = vec![0.0; process.memory_len(DATA)];
    process.prepare_into(theta, &rows, &mut memory).unwrap();
    let posterior = process.posterior(theta, &rows, &memory);
    let a = Mat::from_fn(DATA, INDUCING, |n, i| posterior.weights(n)[i]);
    let mut covariance = &a * posterior.covariance() * a.transpose();
    (0..DATA).for_each(|n| covariance[(n, n)] += posterior.variance(n) + (2.0 * theta[2]).exp());
    let law = Gaussian::new(vec![0.0; DATA], covariance.as_ref()).unwrap();
    law.log_density(&sparse_data().1, &mut vec![0.0; 2 * DATA])
}

/// Lambda at the end of a fit of the bound at the theta of the process, and the bound there with its standard error.
fn fitted<F: mcsa_core::Reparameterised + Copy>(base: F, start: &[f64]) -> (Vec<f64>, f64, f64) {
    let ((process, theta), rows) = (process(), (0..DATA).collect::<Vec<_>>());
    let mut memory = vec![0.0; process.memory_len(DATA)];
    process.prepare_into(&theta, &rows, &mut memory).unwrap();
    let (target, family) = (process.posterior(&theta, &rows, &memory), Drawn(base));
    let estimator = Minibatched::new(DATA, FlowElbo::new(4));
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

fn full_rank() -> (FullRank, Vec<f64>) {
    let family = FullRank::new(INDUCING).with_link(Link::Exp);
    let factor = Mat::from_fn(INDUCING, INDUCING, |i, j| if i == j { 0.3 } else { 0.0 });
    let start = family.at(&[0.0; INDUCING], factor.as_ref()).unwrap();
    (family, start)
}

/// Directions in theta of the joint estimator at lambda, from 20 lots of 200 draws.
fn directions(lambda: &[f64]) -> Vec<Vec<f64>> {
    let (process, theta) = process();
    let family = WithTheta::after(Drawn(full_rank().0), theta.len());
    let estimator = Minibatched::new(DATA, FlowElbo::new(200));
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
    let plain = MeanField::new(INDUCING).with_link(Link::Exp);
    let (_, bound, error) = fitted(plain, &plain.at(&[0.0; INDUCING], &[0.3; INDUCING]).unwrap());
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

fn sparse_paths(
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
    let (family, params) = sparse_paths(&process, &theta);
    let estimator = Minibatched::new(6, FlowElbo::new(1));
    let end = resumes_and_allocates_nothing(&ascent(&process, &family, estimator, 1e-3, 4), &params);
    assert!(end[family.theta()].iter().zip(&theta).all(|(a, b)| a != b), "all of theta moves");
}
