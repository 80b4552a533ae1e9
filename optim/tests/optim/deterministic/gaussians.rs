//! Gaussian starting points: Laplace approximations, and the paths of Pathfinder.

use faer::Mat;
use mcsa_core::{Counted, Error, LogDensity, Seed};
use mcsa_models::Mixture;
use mcsa_optim::deterministic::{Found, Gaussian, Laplace, Lbfgs, MultiPathfinder, Outcome, Pathfinder};

use super::{Density, gaussian, log_gamma};

/// Pathfinder from `start`, with one stream for all tests.
fn find(target: &impl mcsa_core::Gradient, start: &[f64]) -> Result<Found, Error> {
    Pathfinder::default().run(target, start, &mut Seed::new(1).stream(0, 0))
}

fn worst(a: &Mat<f64>, b: faer::MatRef<'_, f64>) -> f64 {
    (a.as_ref() - b).norm_max()
}

#[test]
fn laplace_is_exact_for_a_gaussian() {
    let target = gaussian(6, 0.5);
    for (laplace, close) in [
        (Laplace::at(&target, target.mean()).unwrap(), 1e-12),
        (Laplace::by_differences(&target, target.mean()).unwrap(), 1e-7),
    ] {
        assert!(worst(&laplace.gaussian.covariance, target.covariance().as_ref()) < close);
        assert!(laplace.log_evidence.abs() < close, "{}", laplace.log_evidence);
        assert_eq!(laplace.gaussian.mean, target.mean());
    }
}

/// The Laplace approximation of the evidence is Stirling's formula, smaller than `ln Gamma(a)` by `1 / (12 a)`.
#[test]
fn the_evidence_of_a_log_gamma_is_stirlings() {
    let a: f64 = 7.0;
    let laplace = Laplace::by_differences(&log_gamma(a), &[a.ln()]).unwrap();
    assert!((laplace.gaussian.covariance[(0, 0)] - 1.0 / a).abs() < 1e-9);
    let stirling = a * a.ln() - a + 0.5 * (std::f64::consts::TAU / a).ln();
    assert!((laplace.log_evidence - stirling).abs() < 1e-9);
    let exact = 720.0_f64.ln();
    assert!((exact - stirling - 1.0 / (12.0 * a)).abs() < 1e-5);
}

#[test]
fn a_saddle_is_no_mode() {
    let saddle = Density(2, |z: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[-z[0], z[1]]);
        0.5 * (z[1] * z[1] - z[0] * z[0])
    });
    let error = Laplace::by_differences(&saddle, &[0.0, 0.0]).unwrap_err();
    let expected = Error::NotPositiveDefinite { what: "minus the Hessian", pivot: 1 };
    assert_eq!(error, expected.within("Laplace"));
    let nowhere = Density(1, |_: &[f64], _: &mut [f64]| f64::NEG_INFINITY);
    assert!(Laplace::by_differences(&nowhere, &[0.0]).unwrap_err().to_string().contains("is -inf"));
    let rough = Density(1, |_: &[f64], gradient: &mut [f64]| {
        gradient[0] = f64::NAN;
        0.0
    });
    assert!(Laplace::by_differences(&rough, &[0.0]).unwrap_err().to_string().contains("Hessian column"));
    assert!(Laplace::at(&gaussian(3, 0.0), &[0.0]).is_err());
}

#[test]
fn scales_and_factors() {
    let bad = Gaussian { mean: vec![0.0; 2], covariance: faer::mat![[1.0, 2.0], [2.0, 1.0]] };
    assert_eq!(bad.factor(), Err(Error::NotPositiveDefinite { what: "covariance", pivot: 1 }));
    let nan = Gaussian { mean: vec![0.0], covariance: faer::mat![[f64::NAN]] };
    assert!(nan.factor().is_err());
    let empty = Gaussian { mean: vec![], covariance: Mat::zeros(0, 0) };
    assert!(empty.scales().is_empty() && empty.factor().is_ok());
}

#[test]
fn the_path_ends_at_a_gaussian_target() {
    for (dim, spread) in [(1, 0.0), (3, 0.3), (10, 0.3)] {
        let target = gaussian(dim, spread);
        let found = find(&target, &vec![3.0; dim]).unwrap();
        // The ELBO is at most the log of the mass, which is 0, up to the noise of 20 draws.
        assert!(found.elbo.abs() < 0.3 * dim as f64, "{dim}: {}", found.elbo);
        let error: f64 = found.gaussian.mean.iter().zip(target.mean()).map(|(a, b)| (a - b).abs()).sum();
        assert!(error < 0.1 * dim as f64, "{dim}: {error}");
        assert!(found.has_curvature && found.peak.converged().is_ok());
    }
}

/// Nor is a flat target, which looks the same.
#[test]
fn a_start_at_the_mode_is_no_special_case() {
    let flat = Density(2, |_: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        0.0
    });
    let standard = mcsa_models::Gaussian::standard(2);
    for (found, elbo) in [(find(&standard, &[0.0; 2]), 0.0), (find(&flat, &[0.0; 2]), f64::NAN)] {
        let found = found.unwrap();
        assert_eq!((found.iterate, found.gaussian.covariance), (0, Mat::identity(2, 2)));
        assert!(elbo.is_nan() || (found.elbo - elbo).abs() < 1e-12, "{}", found.elbo);
        assert!(!found.has_curvature && found.peak.outcome == Outcome::Converged);
    }
}

/// A standard Gaussian has the identity as curvature, so the Newton step from any point leads to its mode, and a path that stops
/// after one step, still far from the mode, gives the exact Gaussian.
#[test]
fn the_mean_is_a_step_ahead_of_the_iterate() {
    let target = mcsa_models::Gaussian::standard(2);
    let one_step = Pathfinder { lbfgs: Lbfgs::with(1e-6, 1, 5).unwrap(), ..Pathfinder::default() };
    let found = one_step.run(&target, &[30.0, -20.0], &mut Seed::new(1).stream(0, 0)).unwrap();
    assert!(found.peak.point[0] > 10.0);
    assert_eq!(found.peak.outcome, Outcome::IterationLimit);
    assert!(found.gaussian.mean.iter().all(|mean| mean.abs() < 1e-12), "{found:?}");
    assert!(found.elbo.abs() < 1e-12, "{}", found.elbo);
}

/// A funnel: its density grows without bound towards its neck, where there is no mass; log z_0 is normal with
/// deviation 3 and z_1 has scale `exp(z_0 / 2)`. The best Gaussian lies before the end of the path.
#[test]
fn the_best_gaussian_may_lie_before_the_end() {
    let funnel = Density(11, |z: &[f64], gradient: &mut [f64]| {
        let v = z[0];
        let squares: f64 = z[1..].iter().map(|x| x * x).sum();
        gradient[0] = -v / 9.0 - 5.0 + 0.5 * squares * (-v).exp();
        gradient[1..].iter_mut().zip(&z[1..]).for_each(|(g, x)| *g = -x * (-v).exp());
        -v * v / 18.0 - 5.0 * v - 0.5 * squares * (-v).exp()
    });
    let found = find(&funnel, &[1.0; 11]).unwrap();
    let last = usize::try_from(found.peak.iterations).unwrap();
    assert!(found.iterate < last, "{} of {last}", found.iterate);
    // The mode lies at -45, fifteen deviations from the mass.
    assert!(found.peak.point[0] < -40.0 && found.gaussian.mean[0] > -15.0, "{:?}", found.gaussian.mean);
}

#[test]
fn paths_that_cannot_be_judged_are_errors() {
    let target = gaussian(2, 0.0);
    let none = Pathfinder { draws: 0, ..Pathfinder::default() };
    let error = none.run(&target, &[0.0; 2], &mut Seed::new(1).stream(0, 0)).unwrap_err();
    assert!(error.to_string().contains("draws") && find(&target, &[0.0; 3]).is_err());
    // A spike: finite at the start alone.
    let spike = Density(1, |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = 0.0;
        if z[0] == 0.0 { 0.0 } else { f64::NEG_INFINITY }
    });
    let error = find(&spike, &[0.0]).unwrap_err().to_string();
    assert!(error.contains("no Gaussian of the path"), "{error}");
    assert!(Lbfgs::default().mode(&spike, &[0.0]).is_ok());
}

/// A Gaussian of mean 3 and deviations 1, 2, .., whose gradient has its sign turned in the coordinates `wrong`.
fn turned(
    dim: usize,
    wrong: std::ops::Range<usize>,
) -> Density<impl Fn(&[f64], &mut [f64]) -> f64 + Send + Sync> {
    Density(dim, move |z: &[f64], gradient: &mut [f64]| {
        let pull = |k: usize| (3.0 - z[k]) / (k as f64 + 1.0).powi(2);
        (0..dim).for_each(|k| gradient[k] = if wrong.contains(&k) { -pull(k) } else { pull(k) });
        (0..dim).map(|k| -0.5 * (3.0 - z[k]) * pull(k)).sum()
    })
}

#[test]
fn a_gradient_of_the_wrong_sign_is_an_error() {
    let run = |wrong, start: f64| find(&turned(4, wrong), &[start; 4]);
    for start in [-20.0, 0.5, 2.9, 1e4] {
        for wrong in [0..4, 2..3, 0..2] {
            let error = run(wrong.clone(), start).unwrap_err().to_string();
            let first =
                format!("Pathfinder: the gradient has the wrong sign: its coordinate {} is", wrong.start);
            assert!(
                error.starts_with(&first) && error.contains("differences of the log density give"),
                "{start}: {error}"
            );
        }
        // Negative control: the right gradient.
        assert!(run(0..0, start).is_ok_and(|found| found.has_curvature), "{start}");
    }
}

#[test]
fn an_improper_target_is_an_error() {
    let slope = Density(2, |_: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[1.0, 0.0]);
        f64::NAN
    });
    assert!(find(&slope, &[0.0; 2]).is_err());
    let rising = Density(2, |z: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[0.5, -z[1]]);
        0.5 * z[0] - 0.5 * z[1] * z[1]
    });
    let error = find(&rising, &[0.0; 2]).unwrap_err();
    assert!(error.to_string().contains("the target is improper, or its mass lies at infinity"), "{error}");
    let bowl = Density(1, |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = z[0];
        0.5 * z[0] * z[0]
    });
    assert!(find(&bowl, &[0.1]).is_err());
}

#[test]
fn a_point_that_is_no_mode_has_no_laplace_approximation() {
    let target = gaussian(3, 0.3);
    let moved = |by: f64| target.mean().iter().map(|mean| mean + by).collect::<Vec<f64>>();
    for at in [Laplace::at(&target, &moved(1.0)), Laplace::by_differences(&target, &moved(-1.0))] {
        let error = at.unwrap_err().to_string();
        assert!(error.starts_with("Laplace: the point is no mode: Newton's step from it is "), "{error}");
    }
    assert!(Laplace::at(&target, &moved(0.01)).is_ok());
    // A gradient of the wrong sign has a Hessian of the wrong sign.
    assert!(Laplace::by_differences(&turned(2, 0..2), &[3.0; 2]).is_err());
}

fn few() -> MultiPathfinder {
    MultiPathfinder { paths: 6, draws: 50, ..MultiPathfinder::default() }
}

/// The log densities are those of the mixture of the Gaussians of the paths, one draw of each path in turn.
#[test]
fn densities_are_those_of_the_paths() {
    let target = Counted::new(gaussian(4, 0.3));
    let paths = few().run(&target, Seed::new(3)).unwrap();
    let counts = target.counts();
    assert_eq!((paths.points.ncols(), paths.evaluations), (300, counts.gradient + counts.log_density));
    let of_path = |q: &Found| {
        mcsa_models::Gaussian::new(q.gaussian.mean.clone(), q.gaussian.covariance.as_ref()).unwrap()
    };
    let gaussians: Vec<mcsa_models::Gaussian> = paths.found.iter().map(of_path).collect();
    for j in 0..300 {
        let z: Vec<f64> = paths.points.col(j).iter().copied().collect();
        let at = |q: &mcsa_models::Gaussian| q.log_density(&z, &mut [0.0; 64]);
        let expected = (gaussians.iter().map(|q| at(q).exp()).sum::<f64>() / 6.0).ln();
        assert!((paths.log_q[j] - expected).abs() < 1e-9, "{j}: {} {expected}", paths.log_q[j]);
        assert!((paths.log_q[j] - at(&gaussians[j % 6])).abs() > 1e-9, "{j}: of its own path alone");
        assert_eq!(paths.log_p[j], at(target.inner()));
    }
}

#[test]
fn a_path_that_fails_is_left_out_and_listed() {
    // Half a plane has no density.
    let target = Density(2, |z: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[2.0 - z[0], -z[1]]);
        if z[0] < -1.0 { f64::NAN } else { -0.5 * ((z[0] - 2.0).powi(2) + z[1] * z[1]) }
    });
    let starts =
        |columns: &[f64]| Mat::from_fn(2, columns.len(), |i, k| if i == 0 { columns[k] } else { 0.3 });
    let paths = few().run_from(&target, starts(&[1.0, -3.0, 0.0]).as_ref(), Seed::new(1)).unwrap();
    assert_eq!((paths.found.len(), paths.points.ncols()), (2, 100));
    let [(1, error)] = &paths.failures[..] else { panic!("{:?}", paths.failures) };
    assert!(error.to_string().contains("not finite at the start"), "{error}");
    let error =
        few().run_from(&target, starts(&[-2.0, -3.0]).as_ref(), Seed::new(1)).unwrap_err().to_string();
    assert!(error.contains("all 2 paths failed") && error.contains("not finite at the start"), "{error}");
}

#[test]
fn paths_are_functions_of_seed_and_number() {
    let target = Mixture::modes(2, 4.0, 0.3).unwrap();
    let run = |paths, seed| MultiPathfinder { paths, ..few() }.run(&target, Seed::new(seed)).unwrap();
    assert_eq!(run(3, 1), run(3, 1));
    assert_ne!(run(3, 1).points, run(3, 2).points);
    assert_eq!(run(3, 1).found[..], run(5, 1).found[..3]);
}

#[test]
fn bad_configs_are_refused() {
    let target = gaussian(2, 0.0);
    let refused = |finder: MultiPathfinder, word: &str| {
        let error = finder.run(&target, Seed::new(1)).unwrap_err().to_string();
        assert!(error.starts_with("MultiPathfinder: ") && error.contains(word), "{error}");
    };
    refused(MultiPathfinder { paths: 0, ..few() }, "paths");
    refused(MultiPathfinder { draws: 0, ..few() }, "draws");
    refused(MultiPathfinder { draws: usize::MAX, ..few() }, "over 1 GiB");
    refused(MultiPathfinder { reach: f64::NAN, ..few() }, "reach");
    assert_eq!(toml::from_str::<MultiPathfinder>("paths = 6\ndraws = 50").unwrap(), few());
    assert!(toml::from_str::<MultiPathfinder>("proposal = 1").is_err());
    let read = |text: &str| toml::from_str::<Pathfinder>(text);
    assert_eq!(read("draws = 5").unwrap(), Pathfinder { draws: 5, ..Pathfinder::default() });
    assert!(read("lbfgs = { tolerance = 0 }").is_err() && read("history = 1").is_err());
}
