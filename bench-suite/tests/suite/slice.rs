//! End-to-end tests of one combination: Gaussian, MeanField, Imh, pmcsa, Adam, Ascent.

use mcsa_bench_suite::catalog::correlated_gaussian as gaussian;
use mcsa_core::{Estimator, Seed};
use mcsa_estimators::{Ascent, Elbo, Outcome, jsa, msc_rb, pmcsa};
use mcsa_families::{Defence, MeanField, Tail};
use mcsa_models::Gaussian;
use mcsa_optim::Adam;

const DIM: usize = 10;

/// Error of the worst mean in standard deviations of the target, and relative error of the worst scale, when lambda is
/// averaged over the second half of a fit with decreasing rate: at a constant rate the noise of `rho` would bias its mean.
fn worst<E: Estimator<Gaussian, MeanField>>(estimator: E) -> (f64, f64) {
    let (target, family) = (gaussian(DIM, 0.2).unwrap(), MeanField::new(DIM));
    let rate = |rate| Adam::new(rate).unwrap();
    let mut ascent =
        Ascent { target: &target, family: &family, estimator, optimizer: rate(0.02), seed: Seed::new(1) };
    let mut fit = ascent.start(family.at(&[0.0; DIM], &[1.0; DIM]).unwrap()).unwrap();
    let mut average = [0.0; 2 * DIM];
    for (steps, pieces, size) in [(2_000, 1, 0.02), (2_000, 1, 0.004), (1, 4_000, 0.001)] {
        ascent.optimizer = rate(size);
        ascent.adopt(&mut fit).unwrap();
        for _ in 0..pieces {
            assert_eq!(ascent.run(&mut fit, steps), Ok(Outcome::BudgetSpent { accuracy: None }));
            average.iter_mut().zip(fit.params()).for_each(|(a, p)| *a += p / 4_000.0 * f64::from(steps == 1));
        }
    }
    let (mut mean_error, mut scale_error) = (0.0_f64, 0.0_f64);
    for i in 0..DIM {
        let scale = target.variance(i).sqrt();
        mean_error = mean_error.max(((average[i] - target.mean()[i]) / scale).abs());
        scale_error = scale_error.max((family.link.scale(average[DIM + i]) / scale - 1.0).abs());
    }
    (mean_error, scale_error)
}

/// The exact optimum is given by moment matching. A defensive proposal keeps it: it changes proposals, not the stationary point. The
/// optimum of the other divergence, which is narrower, is caught.
#[test]
fn the_exact_optimum_is_found() {
    let defence = Defence::new(0.05, Tail::student(DIM, 5.0).unwrap()).unwrap();
    for (name, (mean, scale), most) in [
        ("pMCSA", worst(pmcsa(10)), 0.05),
        ("pMCSA with a defensive proposal", worst(pmcsa(10).guarded(defence)), 0.05),
        ("JSA", worst(jsa(10)), 0.1),
        ("MSC with its weights", worst(msc_rb(10)), 0.1),
    ] {
        assert!(mean < most && scale < most, "{name}: {mean} {scale}");
    }
    let (_, scale) = worst(Elbo::closed(10));
    assert!(scale > 0.06, "{scale}");
}

#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    let (target, family, optimizer) =
        (gaussian(DIM, 0.5).unwrap(), MeanField::new(3), Adam::new(0.02).unwrap());
    let ascent =
        Ascent { target: &target, family: &family, estimator: pmcsa(4), optimizer, seed: Seed::new(3) };
    for (params, message) in [
        (vec![0.0; 6], "Ascent: ChainScore: the target has dimension 10, the family 3"),
        (vec![0.0; 5], "Ascent: params has length 5, expected 6"),
        (vec![f64::NAN; 6], "Ascent: params[0] is NaN, expected a finite number"),
    ] {
        assert_eq!(ascent.start(params).unwrap_err().to_string(), message);
    }
    let small = Gaussian::standard(3);
    let mut ascent = Ascent { target: &small, ..ascent };
    let mut fit = ascent.start(vec![0.0; 6]).unwrap();
    ascent.seed = Seed::new(4);
    let error = ascent.run(&mut fit, 1).unwrap_err().to_string();
    assert!(error.contains("the fit was started with seed"), "{error}");
    ascent.estimator = jsa(0);
    let error = ascent.start(vec![0.0; 6]).unwrap_err().to_string();
    assert_eq!(error, "Ascent: ChainScore: Imh: sweeps is 0, expected at least 1");
}
