use faer::Mat;
use mcsa_core::{Counted, LogDensity, Seed};
use mcsa_models::Mixture;
use mcsa_optim::deterministic::{ImportanceDensity, MultiPathfinder, Paths};

use super::{Density, gaussian};

fn few() -> MultiPathfinder {
    MultiPathfinder { paths: 6, draws: 50, ..MultiPathfinder::default() }
}

/// The log densities are those of the Gaussians of the paths, one draw of each path in turn.
#[test]
fn densities_are_those_of_the_paths() {
    let target = Counted::new(gaussian(4, 0.3));
    for proposal in [ImportanceDensity::Mixture, ImportanceDensity::OwnPath] {
        let before = target.counts();
        let paths = MultiPathfinder { proposal, ..few() }.run(&target, Seed::new(3)).unwrap();
        let counts = target.counts();
        let used = counts.gradient + counts.log_density - before.gradient - before.log_density;
        assert_eq!((paths.points.ncols(), paths.evaluations), (300, used));
        let gaussians: Vec<mcsa_models::Gaussian> = paths
            .found
            .iter()
            .map(|path| path.gaussian.clone())
            .map(|q| mcsa_models::Gaussian::new(q.mean, q.covariance.as_ref()).unwrap())
            .collect();
        for j in 0..300 {
            let z: Vec<f64> = paths.points.col(j).iter().copied().collect();
            let at = |q: &mcsa_models::Gaussian| q.log_density(&z, &mut [0.0; 64]);
            let mixture = (gaussians.iter().map(|q| at(q).exp()).sum::<f64>() / 6.0).ln();
            let (expected, other) = match proposal {
                ImportanceDensity::Mixture => (mixture, at(&gaussians[j % 6])),
                ImportanceDensity::OwnPath => (at(&gaussians[j % 6]), at(&gaussians[(j + 1) % 6])),
            };
            assert!((paths.log_q[j] - expected).abs() < 1e-9, "{j}: {} {expected}", paths.log_q[j]);
            assert!((paths.log_q[j] - other).abs() > 1e-9, "{j}: the wrong density");
            assert_eq!(paths.log_p[j], at(target.inner()));
        }
    }
}

fn share(paths: &Paths, weight: impl Fn(usize) -> f64) -> f64 {
    let all: f64 = (0..paths.points.ncols()).map(&weight).sum();
    let right = (0..paths.points.ncols()).filter(|&j| paths.points[(0, j)] > 0.0);
    right.map(&weight).sum::<f64>() / all
}

/// Two modes with masses 0.7 and 0.3, one path in three ending at the second: weighted by the mixture, draws have the masses of the
/// modes; weighted by their own paths, those of the paths; without weights, those of the paths too.
#[test]
fn the_mixture_weighs_modes_by_their_mass() {
    let target = Mixture::modes(2, 12.0, 0.3).unwrap();
    let starts = Mat::from_fn(2, 3, |i, k| if i == 0 { [-5.0, -7.0, 5.5][k] } else { 0.5 });
    let run = |proposal| {
        let finder = MultiPathfinder { draws: 2_000, proposal, ..MultiPathfinder::default() };
        let paths = finder.run_from(&target, starts.as_ref(), Seed::new(1)).unwrap();
        share(&paths, |j| (paths.log_p[j] - paths.log_q[j]).exp())
    };
    let (mixture, own) = (run(ImportanceDensity::Mixture), run(ImportanceDensity::OwnPath));
    assert!((mixture - 0.3).abs() < 1e-3, "{mixture}");
    // Own paths: 0.7 twice and 0.3 once.
    assert!((own - 0.3 / 1.7).abs() < 1e-3, "{own}");
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
    assert!(toml::from_str::<MultiPathfinder>("proposal = \"none\"").is_err());
}
