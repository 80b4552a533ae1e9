//! Score climbing for paths: the posterior, and joint learning of the model's parameters.

use mcsa_core::{Estimator, Family, Record, Seed};
use mcsa_estimators::Ascent;
use mcsa_models::Learnable;
use mcsa_optim::deterministic::Lbfgs;
use mcsa_optim::{Adam, Schedule};
use mcsa_particles::{
    Bootstrap, ConditionalSmc, FreshPaths, FxVolatility, JointPaths, LinearGaussian, LinearGaussianSeries,
    PathKernel, PathScore, Resampling, Smc, StateSpace, Twisted, msc_paths, smc_paths,
};

use crate::LINEAGES;

const TRUTH: [f64; 3] = [0.8, -0.3, -0.5];

fn series(times: usize, seed: u64) -> LinearGaussianSeries {
    let mut series = LinearGaussianSeries::new(vec![0.0; times]).expect("finite");
    series.simulate(TRUTH, &mut Seed::new(seed).stream(0, 0));
    series
}

fn falling(rate: f64, offset: f64) -> Adam {
    Adam::new(Schedule::power(rate * offset.powf(0.8), offset, 0.8).expect("positive")).expect("possible")
}

fn ascent<P, E>(target: &P, estimator: E, optimizer: Adam, seed: u64) -> Ascent<'_, P, Twisted, E, Adam> {
    Ascent { target, family: &Twisted, estimator, optimizer, seed: Seed::new(seed) }
}

/// The posterior of a linear-Gaussian path is in the family: its means and variances are found.
#[test]
fn the_posterior_of_a_linear_path_is_found() {
    let series = series(20, 1);
    let model = series.at(&TRUTH);
    let estimator = PathScore { lanes: 8, ..msc_paths(10) };
    let ascent = ascent(&model, estimator, falling(0.1, 200.0), 2);
    let mut fit = ascent.start(vec![0.0; 40]).expect("shapes");
    ascent.run(&mut fit, 6000).expect("finite");
    let (params, chain) = (fit.params(), Twisted.on(&model));
    // Moments of the fitted family, from draws: 20 000 give means within 0.007 deviations.
    let (mut lanes, n) = (Seed::new(4).streams(1, 0), 20_000);
    let mut z = faer::Mat::<f64>::zeros(20, n);
    chain.sample_into(params, &mut lanes, z.as_mut(), &mut vec![0.0; n], &mut [0.0; 20]);
    for (t, state) in model.smoothed().iter().enumerate() {
        let mean = (0..n).map(|j| z[(t, j)]).sum::<f64>() / n as f64;
        let variance = (0..n).map(|j| (z[(t, j)] - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - state.mean).abs() < 0.15 * state.variance.sqrt(), "{t}");
        assert!((variance / state.variance).ln().abs() < 0.25, "{t}");
    }
}

/// Slopes of a function of theta, by differences of fourth order.
pub(super) fn slopes<const K: usize>(theta: &[f64], f: impl Fn(&[f64]) -> f64) -> [f64; K] {
    std::array::from_fn(|k| {
        let at = |h: f64| {
            let mut theta = theta.to_vec();
            theta[k] += h;
            f(&theta)
        };
        let h = 1e-3;
        (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
    })
}

fn learned(series: &LinearGaussianSeries, climb: PathScore, steps: u64) -> [f64; 3] {
    let ascent = ascent(series, JointPaths { climb }, falling(0.05, 500.0), 3);
    let lambdas = 2 * series.anywhere().num_states();
    let mut start = vec![0.0; lambdas + 3];
    start[lambdas] = 0.5;
    let mut fit = ascent.start(start).expect("shapes");
    ascent.run(&mut fit, steps).expect("finite");
    [0, 1, 2].map(|k| fit.params()[lambdas + k])
}

/// Fisher's identity with conditional SMC reaches the maximum of the exact evidence: a parameter that is off by its standard error costs
/// a half.
#[test]
fn theta_is_learned_to_maximum_likelihood() {
    let (series, start) = (series(200, 5), [0.5, 0.0, 0.0]);
    let evidence = |theta: &[f64]| series.at(theta).log_evidence();
    let objective = |theta: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&slopes::<3>(theta, evidence));
        evidence(theta)
    };
    let peak = Lbfgs::default().maximise(objective, &start).expect("finite").converged().expect("a mode");
    let lost = |theta: [f64; 3]| peak.value - evidence(&theta);
    let found = learned(&series, msc_paths(10), 8000);
    assert!(lost(found) < 0.1, "{found:?} {}", lost(found));
    // The twin: the starting value.
    assert!(lost(start) > 1.0, "{}", lost(start));
}

/// Allocations of five steps of a fit of paths and parameters, after its start.
fn allocations<K: PathKernel>(climb: PathScore<K>) -> u64 {
    let returns = (0..30).map(|t| (t as f64 * 1.7).sin()).collect();
    let target = FxVolatility::new(returns, Default::default()).expect("finite");
    let (joint, params) = (JointPaths { climb }, vec![0.1; 2 * 31 + 4]);
    let mut lanes = Seed::new(1).streams(joint.climb.lanes, 0);
    let mut state = joint.init(&target, &Twisted, &params, &mut lanes).expect("shapes");
    let mut work = vec![f64::NAN; joint.work_len(&target, &Twisted)];
    let mut direction = vec![0.0; params.len()];
    assert!(joint.check_params(&target, &Twisted, &params[1..]).is_err());
    let count = allocation_counter::measure(|| {
        for _ in 0..5 {
            joint.check_params(&target, &Twisted, &params).expect("good");
            let (state, lanes, work) = (&mut state, &mut lanes, &mut work);
            let info = joint.ascent_direction(&target, &Twisted, &params, state, lanes, &mut direction, work);
            info.expect("finite").record(&mut |_, value| assert!(value.is_finite()));
        }
    });
    assert!(direction.iter().all(|g| g.is_finite()));
    count.count_total
}

/// Both methods as printed (MSC, Alg. 4); the kernel alone has less noise.
#[test]
fn the_methods_of_the_paper_resample_by_independent_draws() {
    assert_eq!(msc_paths(5).smc.resampling, Resampling::Multinomial);
    let baseline = smc_paths(5).expect("some");
    assert!(format!("{baseline:?}").contains("Multinomial"), "{baseline:?}");
    assert_eq!(ConditionalSmc::with_particles(5).resampling, Resampling::Systematic);
}

/// A warm step allocates nothing, with every lineage rule; nor does a filter.
#[test]
fn paths_are_moved_without_allocating() {
    for lineage in LINEAGES {
        for resampling in Resampling::ALL {
            let smc = ConditionalSmc { particles: 5, resampling, threshold: 0.7, lineage };
            assert_eq!(allocations(PathScore { smc, lanes: 2 }), 0, "{lineage:?} {resampling:?}");
        }
    }
    assert_eq!(allocations(smc_paths(5).expect("some")), 0);
    assert!(smc_paths(0).is_err());
    let series = series(30, 1);
    let (model, smc) = (series.at(&TRUTH), Smc::new(50, Resampling::Systematic, 0.5).expect("possible"));
    let mut work = vec![f64::NAN; smc.path_work_len(&model)];
    let (mut lane, mut path) = (Seed::new(2).stream(0, 0), [0.0; 30]);
    let count = allocation_counter::measure(|| {
        smc.log_evidence(&model, &mut Bootstrap(&model), &mut lane, &mut work);
        smc.draw_path_into(&model, &mut Bootstrap(&model), &mut lane, &mut path, &mut work);
    });
    assert_eq!(count.count_total, 0);
}

/// Paths start at the draws of the family, one per lane; the configuration names kernel and lanes.
#[test]
fn paths_start_at_draws_of_the_family() {
    let (series, lambda) = (series(4, 3), [0.2; 8]);
    let model = series.at(&TRUTH);
    let climb = PathScore { lanes: 3, ..msc_paths(5) };
    let lanes = || Seed::new(6).streams(3, 0);
    let paths = climb.init(&model, &Twisted, &lambda, &mut lanes()).expect("shapes");
    let chain = Twisted.on(&model);
    let mut z = faer::Mat::<f64>::zeros(4, 3);
    let mut work = vec![0.0; mcsa_core::Parametric::work_len(&chain, 3)];
    chain.sample_into(&lambda, &mut lanes(), z.as_mut(), &mut [0.0; 3], &mut work);
    assert!(z[(0, 0)] != z[(0, 1)]);
    for j in 0..3 {
        assert!((0..4).all(|i| paths.positions.col_as_slice(j)[i] == z[(i, j)]), "{j}");
    }
    let text = Estimator::<LinearGaussianSeries, Twisted>::config(&JointPaths { climb });
    assert!(text.starts_with("Joint { climb: PathScore { smc: ConditionalSmc { particles: 5,"), "{text}");
    assert!(text.ends_with("lanes: 3 } }"), "{text}");
}

/// A fit that was saved and read continues bit-identically.
#[test]
fn a_fit_of_paths_resumes() {
    let series = series(10, 7);
    let ascent = ascent(&series, JointPaths { climb: msc_paths(4) }, falling(0.05, 100.0), 3);
    let mut through = ascent.start(vec![0.1; 23]).expect("shapes");
    ascent.run(&mut through, 20).expect("finite");
    let mut first = ascent.start(vec![0.1; 23]).expect("shapes");
    ascent.run(&mut first, 9).expect("finite");
    // As text, in which every bit is kept and NaN equals itself.
    let text = |fit: &_| serde_json::to_string(fit).expect("plain data");
    let mut second = serde_json::from_str(&text(&first)).expect("as it was written");
    ascent.run(&mut second, 11).expect("finite");
    assert_eq!(text(&through), text(&second));
    assert_ne!(text(&through), text(&first));
}

/// Mean of the first state over many steps at a lambda far from the posterior, in posterior standard deviations from the
/// exact one.
fn off<K: PathKernel>(kernel: &K, model: &LinearGaussian<'_>) -> f64 {
    let params = [0.5, 0.2, -0.3, 0.0, 0.1, 0.3, -0.2, 0.0];
    let (mut memory, mut work) = (vec![0.0; Twisted.proposal_len(model)], vec![0.0; kernel.work_len(model)]);
    let mut paths = kernel.init(model, faer::Mat::zeros(4, 1)).expect("a path");
    let (mut lanes, steps, mut sum) = (Seed::new(8).streams(1, 0), 40_000, 0.0);
    for _ in 0..steps {
        let mut proposal = Twisted.proposal(model, &params, &mut memory);
        kernel.step(model, &mut proposal, &mut paths, &mut lanes, &mut work);
        sum += paths.positions[(0, 0)];
    }
    let law = model.smoothed()[0];
    (sum / f64::from(steps) - law.mean).abs() / law.variance.sqrt()
}

/// The baseline is biased with few particles, for any number of paths, and less with many. Independent paths have a
/// standard error of 0.005 here; conditional SMC is correlated over some ten steps, hence 0.016, of which 0.08 is five.
#[test]
fn fresh_paths_are_biased_and_retained_ones_are_not() {
    let series = LinearGaussianSeries::new(vec![1.5, -0.5, 2.0, 2.5]).expect("finite");
    let model = series.at(&TRUTH);
    let fresh =
        |particles| FreshPaths { smc: Smc::new(particles, Resampling::Systematic, 1.0).expect("some") };
    let (few, many) = (off(&fresh(2), &model), off(&fresh(400), &model));
    let retained = off(&ConditionalSmc::with_particles(2), &model);
    assert!(few > 0.15 && many < 0.05 && retained < 0.08, "{few} {many} {retained}");
}
