//! Bounds on minibatches: all rows are the target itself, fits resume bit for bit, and dead paths are reported.

use faer::Mat;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::{Minibatched, Surrogate};
use mcsa_core::{Error, Estimator, Minibatch, Parametric, Pushforward, Seed, batch, batch_mut};
use mcsa_estimators::{Ascent, Elbo, ElboInfo, FlowElbo, Outcome, Run};
use mcsa_families::{Flow, FullRank, Gauss, MeanField};
use mcsa_models::LogisticRegression;
use mcsa_optim::Adam;

const N: usize = 40;

fn target() -> LogisticRegression {
    let x = Mat::from_fn(N, 2, |i, k| if k == 0 { 1.0 } else { (1.3 * i as f64).sin() });
    let labels: Vec<f64> = (0..N).map(|i| f64::from(u8::from((0.7 * i as f64).cos() > -0.2))).collect();
    LogisticRegression::new(x.as_ref(), &labels, 1.5).unwrap()
}

/// Surrogate posterior `a . z - |z|^2 e^b / 2` with psi `[a; b]`.
#[derive(Debug)]
struct Round;

impl Surrogate for Round {
    fn dim(&self) -> usize {
        2
    }
    fn num_params(&self) -> usize {
        3
    }
    fn gradient_into(
        &self,
        psi: &[f64],
        _: &[f64],
        z: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) {
        for i in 0..2 {
            gradient[i] = psi[i] - psi[2].exp() * z[i];
        }
    }
    fn add_second(
        &self,
        psi: &[f64],
        _: &[f64],
        _: &[f64],
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        psi_bar: &mut [f64],
        _: &mut [f64],
    ) {
        for i in 0..2 {
            product[i] -= scale * psi[2].exp() * u[i];
            psi_bar[i] += scale * u[i];
            psi_bar[2] -= scale * psi[2].exp() * z[i] * u[i];
        }
    }
}

fn annealed() -> (Annealed<Round>, Vec<f64>) {
    let family = Annealed::new(Round, Shape::Diagonal, 3);
    let params = family.at(&[0.2, -0.1, -1.0, -1.2], 0.1, &[0.5, -0.2, 2.0]).unwrap();
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
    // The flow among the baselines.
    let family = Flow::block_neural(2, Gauss, 1, &[4]).unwrap();
    let params: Vec<f64> = (0..family.num_params()).map(|k| 0.1 * (k as f64).sin()).collect();
    let whole = direction(&FlowElbo::new(2), &target, &family, &params);
    let rows = direction(&Minibatched::new(N, FlowElbo::new(2)), &target, &family, &params);
    assert!(far(&rows, &whole) < 1e-11);
}

/// The direction of SL-DAIS is the derivative of its bound, for every parameter and a fixed minibatch.
#[test]
fn direction_of_an_annealed_path_is_a_difference() {
    let (target, (family, params), rows) = (target(), annealed(), [3, 8, 21, 22]);
    let minibatch = Minibatch::new(&target, &rows).unwrap();
    let mut noise = vec![0.0; family.noise_dim()];
    family.sample_noise_into(&mut [Seed::new(9).stream(0, 1)], batch_mut(&mut noise, family.noise_dim(), 1));
    let bound = |params: &[f64]| {
        let (mut z, mut log_q, mut work) = ([0.0; 2], [0.0], vec![0.0; family.work_len(1)]);
        family.push(params, batch(&noise, noise.len(), 1), batch_mut(&mut z, 2, 1), &mut log_q, &mut work);
        mcsa_core::LogDensity::log_density(&minibatch, &z, &mut vec![0.0; 4096]) - log_q[0]
    };
    let found = direction(&FlowElbo::new(1), &minibatch, &family, &params);
    for (k, found) in found.iter().enumerate() {
        let at = |by: f64| {
            let mut moved = params.clone();
            moved[k] += by;
            bound(&moved)
        };
        let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "params[{k}]: {found} {expected}");
    }
}

#[test]
fn a_fit_resumes_bit_for_bit() {
    let (target, (family, params)) = (target(), annealed());
    let (estimator, optimizer) = (Minibatched::new(8, FlowElbo::new(1)), Adam::new(1e-3).unwrap());
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(5) };
    let mut whole = ascent.start(params.clone()).unwrap();
    ascent.run(&mut whole, 60).unwrap();
    let mut parts = ascent.start(params).unwrap();
    ascent.run(&mut parts, 25).unwrap();
    let text = serde_json::to_string(&parts).unwrap();
    let mut parts = serde_json::from_str(&text).unwrap();
    ascent.run(&mut parts, Run::to(60)).unwrap();
    assert_eq!(whole.params(), parts.params());
    assert_eq!(serde_json::to_string(&whole).unwrap(), serde_json::to_string(&parts).unwrap());
    let draws = ascent.pushed_draws(&whole, 500).unwrap();
    assert_eq!((draws.len(), draws.non_finite), (500, 0));
    assert!(draws.sample_size > 20.0, "{}", draws.sample_size);
}

#[test]
fn steps_allocate_nothing() {
    let (target, (family, params)) = (target(), annealed());
    let estimator = Minibatched::new(8, FlowElbo::new(1));
    let optimizer = Adam::new(1e-3).unwrap();
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(5) };
    let mut fit = ascent.start(params).unwrap();
    let mut count = |steps: u64| {
        allocation_counter::measure(|| {
            ascent.run(&mut fit, steps).unwrap();
        })
        .count_total
    };
    count(1);
    assert_eq!(count(10), count(200));
}

/// A path whose step sizes are all clipped at zero cannot recover, and the run says so.
#[test]
fn dead_paths_are_reported() {
    let (target, (family, mut params)) = (target(), annealed());
    let kappa = 5;
    params[kappa] = -5.0;
    let (estimator, optimizer) = (Minibatched::new(8, FlowElbo::new(1)), Adam::new(1e-3).unwrap());
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(5) };
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
fn impossible_batches_are_refused() {
    let (target, family) = (target(), MeanField::new(2));
    let start = |batch| -> Result<(), Error> {
        let (estimator, optimizer) = (Minibatched::new(batch, Elbo::closed(1)), Adam::new(1e-3)?);
        let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(5) };
        ascent.start(vec![0.0; 4]).map(drop)
    };
    assert!(start(N).is_ok());
    assert!(start(0).unwrap_err().to_string().contains("at least one row"));
    assert!(start(N + 1).unwrap_err().to_string().contains("41 rows a batch, the target has 40"));
}

/// A state of another number of rows, or of more than the data have, is refused.
#[test]
fn rows_of_another_batch_are_refused() {
    let (target, family) = (target(), MeanField::new(2));
    let of = |batch| Minibatched::new(batch, Elbo::closed(1));
    let state = of(N).init(&target, &family, &[0.0; 4], &mut Seed::new(1).streams(2, 0)).unwrap();
    assert!(of(N).check(&target, &family, &state).is_ok());
    let error = of(N - 1).check(&target, &family, &state).unwrap_err().to_string();
    assert_eq!(error, "rows of the minibatch has length 40, expected 39");
    let fewer =
        LogisticRegression::new(Mat::from_fn(N - 1, 2, |_, _| 1.0).as_ref(), &[1.0; N - 1], 1.5).unwrap();
    let error = of(N).check(&fewer, &family, &state).unwrap_err().to_string();
    assert_eq!(error, "40 rows a batch, the target has 39");
}

/// A family that is no path has no step sizes to report.
#[test]
fn draws_of_a_family_have_no_step_sizes() {
    let (target, family) = (mcsa_models::Gaussian::standard(2), mcsa_families::Drawn(MeanField::new(2)));
    let (estimator, optimizer) = (FlowElbo::new(1), Adam::new(1e-3).unwrap());
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(5) };
    let mut fit = ascent.start(vec![0.0; 4]).unwrap();
    ascent.run(&mut fit, 5).unwrap();
    let health = ascent.pushed_health(&fit).unwrap();
    assert!(health.step_sizes.is_none() && !health.to_string().contains("are zero"), "{health}");
}

/// Health of an annealed fit, and the log evidence between its two bounds: Gaussian target, exact points.
#[test]
fn evidence_is_enclosed() {
    let target = mcsa_models::Gaussian::standard(2);
    let (family, params) = annealed();
    let (estimator, optimizer) = (FlowElbo::new(1), Adam::new(5e-3).unwrap());
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(5) };
    let mut fit = ascent.start(params).unwrap();
    ascent.run(&mut fit, 2_000).unwrap();
    let health = ascent.pushed_health(&fit).unwrap();
    assert_eq!(health.step_sizes.map(|sizes| sizes.steps), Some(3));
    assert!(health.to_string().contains("of 3 are zero"), "{health}");
    let mut lane = Seed::new(6).stream(0, 0);
    let points = Mat::from_fn(2, 4_000, |_, _| lane.normal());
    let evidence = ascent.pushed_evidence(&fit, 4_000, points.as_ref()).unwrap();
    // Both bounds are means of 4000 terms; the fit is good to a hundredth of a nat.
    assert!(evidence.lower < 0.005 && evidence.upper > -0.005, "{evidence:?}");
    assert!(evidence.upper - evidence.lower < 0.1, "{evidence:?}");
    // The failing twin: points that are not draws of the target do not give an upper bound that is near.
    let narrow = Mat::from_fn(2, 4_000, |_, _| 3.0 * lane.normal());
    let wrong = ascent.pushed_evidence(&fit, 4_000, narrow.as_ref()).unwrap();
    assert!((wrong.upper - evidence.upper).abs() > 0.1, "{wrong:?}");
}
