use faer::Mat;
use mcsa_core::{ExactDraws, LogDensity, Seed, Separable};
use mcsa_models::LinearRegression;

use super::check;

fn regression(rows: usize, columns: usize) -> LinearRegression {
    let x = check::features(rows, columns);
    let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)] * 2.0 - 1.0 + 0.3 * (i as f64).sin()).collect();
    LinearRegression::new(x.as_ref(), &y, 0.7, 1.5).expect("good data")
}

#[test]
fn linear_regression_is_nowhere_nan() {
    for (rows, columns) in [(30, 4), (2, 7), (1, 1)] {
        let target = regression(rows, columns);
        check::nowhere_nan(&target);
    }
}

/// Marginal distribution `y ~ N(0, r^2 I + s^2 X X')`, computed without the posterior.
#[test]
fn evidence_is_the_density_of_the_responses() {
    let x = check::features(9, 3);
    let y: Vec<f64> = (0..9).map(|i| (i as f64).cos()).collect();
    let target = LinearRegression::new(x.as_ref(), &y, 0.7, 1.5).unwrap();
    let covariance =
        x.as_ref() * x.transpose() * faer::Scale(2.25) + Mat::<f64>::identity(9, 9) * faer::Scale(0.49);
    let marginal = mcsa_models::Gaussian::new(vec![0.0; 9], covariance.as_ref()).unwrap();
    let expected = marginal.log_density(&y, &mut [0.0; 9]);
    assert!((target.log_evidence() - expected).abs() < 1e-12, "{} {expected}", target.log_evidence());
}

#[test]
fn the_posterior_is_the_density_but_for_the_evidence() {
    let target = regression(30, 4);
    let posterior = target.posterior().unwrap();
    let z = [0.3, -1.0, 2.0, 0.5];
    let mut work = [0.0; 4];
    let difference = target.log_density(&z, &mut work) - posterior.log_density(&z, &mut work);
    assert!((difference - target.log_evidence()).abs() < 1e-11);
    assert_eq!((target.num_data(), posterior.mean()), (30, target.posterior_mean()));
}

/// 40,000 draws; each whitened square has mean `d` and variance `2 d`: 5 standard errors, false alarm below 1e-6. Draws with
/// half the spread must be refused.
#[test]
fn draws_follow_the_posterior() {
    let target = regression(30, 4);
    let posterior = target.posterior().unwrap();
    let (mut stream, mut z, mut work) = (Seed::new(2).stream(0, 0), [0.0; 4], [0.0; 4]);
    let top = posterior.log_density(target.posterior_mean(), &mut work);
    let (mut total, mut twin) = (0.0, 0.0);
    for _ in 0..40_000 {
        target.draw_into(&mut stream, &mut z);
        total += 2.0 * (top - posterior.log_density(&z, &mut work)) / 4e4;
        for (z, m) in z.iter_mut().zip(target.posterior_mean()) {
            *z = m + 0.5 * (*z - m);
        }
        twin += 2.0 * (top - posterior.log_density(&z, &mut work)) / 4e4;
    }
    let bound = 5.0 * (8.0_f64 / 4e4).sqrt();
    assert!((total - 4.0).abs() < bound && (twin - 4.0).abs() > bound, "{total} {twin}");
}
