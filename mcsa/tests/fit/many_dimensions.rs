//! Targets of more than a hundred dimensions.

use faer::Mat;
use mcsa::core::{Gradient, LogDensity};
use mcsa::models::{Banana, Gaussian};
use mcsa::posterior::{FitResult, Options, Shape};
use mcsa::prelude::*;

fn options() -> Options {
    Options { draws: 4_000, starts: 5, evaluations: Some(200_000), ..Options::seeded(1) }
}

/// Largest error of means and of log standard deviations, in standard deviations and relative.
fn error(fitted: &FitResult, means: &[f64], variances: &[f64]) -> f64 {
    let each = fitted.parameters.iter().zip(means).zip(variances).map(|((found, mean), variance)| {
        let sd = variance.sqrt();
        ((found.mean - mean) / sd).abs().max((found.sd / sd).ln().abs())
    });
    each.fold(0.0, f64::max)
}

/// Gaussian whose covariance has `factors` factors of all coordinates.
fn factors(dim: usize, factors: usize) -> Gaussian {
    let mut loadings = vec![0.0; dim * factors];
    Seed::new(7).stream(0, 0).normals_into(&mut loadings);
    let covariance = Mat::from_fn(dim, dim, |i, j| {
        let common: f64 = (0..factors).map(|k| loadings[k * dim + i] * loadings[k * dim + j]).sum();
        common + if i == j { 0.5 + (i % 3) as f64 } else { 0.0 }
    });
    Gaussian::new((0..dim).map(|i| (i % 5) as f64).collect(), covariance.as_ref()).unwrap()
}

fn variances(target: &Gaussian) -> Vec<f64> {
    let covariance = target.covariance();
    (0..target.dim()).map(|i| covariance[(i, i)]).collect()
}

/// A few factors in 300 dimensions need a low-rank family and few evaluations; a dense covariance needs a dense one.
#[test]
fn the_family_follows_the_covariance() {
    let few = factors(300, 3);
    let fitted = mcsa::fit(&few, &options()).unwrap();
    assert!(matches!(fitted.shape, Shape::LowRank { .. }) && fitted.verdict.is_yes(), "{fitted}");
    assert!(error(&fitted, few.mean(), &variances(&few)) < 0.15, "{fitted}");
    assert!(fitted.evaluations.total() < 50_000, "{}", fitted.evaluations.total());
    let dense = Gaussian::random_wishart(150, 900.0, &mut Seed::new(3).stream(0, 0)).unwrap();
    let fitted = mcsa::fit(&dense, &options()).unwrap();
    assert!(fitted.shape == Shape::StudentT && fitted.verdict.is_yes(), "{fitted}");
    assert!(error(&fitted, dense.mean(), &variances(&dense)) < 0.15, "{fitted}");
}

/// The counterexample: what no family can follow, independent pairs of bananas, gets a no, within the budget. In 80 dimensions few of the
/// weighted draws differ.
#[test]
fn bananas_in_many_dimensions_are_refused() {
    let banana = &Banana::new(1.0, 0.5).unwrap();
    for dim in [80, 120] {
        let density =
            |z: &[f64]| z.chunks_exact(2).map(|pair| banana.log_density(pair, &mut [])).sum::<f64>();
        let target = from_fn(dim, density).with_gradient(|z, gradient| {
            for (pair, gradient) in z.chunks_exact(2).zip(gradient.chunks_exact_mut(2)) {
                banana.gradient_into(pair, gradient, &mut []);
            }
        });
        let options = Options { evaluations: Some(60_000), ..options() };
        let fitted = mcsa::fit(&target, &options).unwrap();
        assert!(!fitted.verdict.is_yes(), "{fitted}");
        assert!(fitted.evaluations.total() <= 60_105, "{}", fitted.evaluations.total());
    }
}
