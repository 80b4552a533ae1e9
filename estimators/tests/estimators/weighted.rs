//! Draws weighted by densities of the caller's.

use mcsa_core::Seed;
use mcsa_estimators::{Draws, TailWeight};
use mcsa_models::Gaussian;
use mcsa_optim::deterministic::MultiPathfinder;

/// Draws of several paths, weighted by the mixture, are draws of a Gaussian target with light weights; their densities must fit.
#[test]
fn paths_become_weighted_draws() {
    let covariance = faer::mat![[4.0, 1.5], [1.5, 1.0]];
    let target = Gaussian::new(vec![5.0, -1.0], covariance.as_ref()).unwrap();
    let finder = MultiPathfinder { paths: 5, draws: 400, ..MultiPathfinder::default() };
    let paths = finder.run(&target, Seed::new(2)).unwrap();
    let draws = Draws::weighted(paths.points.clone(), paths.log_p.clone(), paths.log_q.clone()).unwrap();
    assert_eq!((draws.len(), draws.non_finite, draws.tail_weight()), (2_000, 0, TailWeight::Light));
    let (mean, _) = draws.moments();
    assert!(mean.iter().zip(target.mean()).all(|(a, b)| (a - b).abs() < 0.3), "{mean:?}");
    let resampled = draws.resampled(100, &mut Seed::new(1).stream(0, 0)).unwrap();
    assert_eq!(resampled.ncols(), 100);
    let error =
        Draws::weighted(paths.points, paths.log_p[1..].to_vec(), paths.log_q).unwrap_err().to_string();
    assert_eq!(error, "weighted: log_p has length 1999, expected 2000");
}
