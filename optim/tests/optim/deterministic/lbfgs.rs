use mcsa_optim::deterministic::{Lbfgs, Maximum, Outcome};

use super::{Density, gaussian, log_gamma};

fn climb(objective: impl FnMut(&[f64], &mut [f64]) -> f64, start: &[f64]) -> Maximum {
    Lbfgs::default().maximise(objective, start).unwrap()
}

#[test]
fn the_mode_of_a_gaussian_is_its_mean() {
    for (dim, spread) in [(1, 0.0), (5, 0.0), (20, 2.0), (50, 1.0)] {
        let target = gaussian(dim, spread);
        let peak = Lbfgs::default().mode(&target, &vec![30.0; dim]).unwrap();
        assert_eq!(peak.outcome, Outcome::Converged, "{dim} {peak:?}");
        assert!(peak.gradient_norm <= 1e-6);
        // An error e of the mean makes a gradient of e over the variance.
        let worst = peak.point.iter().zip(target.mean()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5 * 10.0_f64.powf(2.0 * spread), "{dim}: {worst}");
        assert!(peak.value.is_finite() && peak.evaluations > peak.iterations);
    }
}

#[test]
fn dimension_zero_has_one_point() {
    let peak = climb(|_, _| 2.0, &[]);
    assert_eq!((peak.outcome, peak.value, peak.iterations), (Outcome::Converged, 2.0, 0));
}

#[test]
fn a_steep_side_and_a_flat_side() {
    for start in [-30.0, -1.0, 6.0, 50.0] {
        let peak = Lbfgs::default().mode(&log_gamma(3.0), &[start]).unwrap().converged().unwrap();
        assert!((peak.point[0] - 3.0_f64.ln()).abs() < 1e-6, "{start}: {peak:?}");
    }
}

/// A Gamma density on the half line, without transform: `-inf` and NaN on the other half.
#[test]
fn outside_the_support_it_does_not_go() {
    for outside in [f64::NEG_INFINITY, f64::NAN] {
        let objective = |z: &[f64], gradient: &mut [f64]| {
            gradient[0] = 3.0 / z[0] - 2.0;
            if z[0] > 0.0 { 3.0 * z[0].ln() - 2.0 * z[0] } else { outside }
        };
        for start in [1e-6, 1.0, 500.0] {
            let peak = climb(objective, &[start]).converged().unwrap();
            assert!((peak.point[0] - 1.5).abs() < 1e-5, "{start}: {peak:?}");
        }
        let error = Lbfgs::default().maximise(objective, &[-1.0]).unwrap_err().to_string();
        assert!(error.starts_with("Lbfgs: the value or its gradient is not finite at the start"), "{error}");
    }
}

#[test]
fn a_gradient_that_is_not_finite_is_no_place_to_start() {
    let objective = |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = f64::NAN;
        -z[0] * z[0]
    };
    assert!(Lbfgs::default().maximise(objective, &[1.0]).is_err());
}

#[test]
fn what_has_no_maximum_is_said_to_have_none() {
    let line = climb(
        |z, gradient| {
            gradient[0] = 1.0;
            z[0]
        },
        &[0.0],
    );
    assert_eq!(line.outcome, Outcome::Unbounded);
    let parabola = climb(
        |z, gradient| {
            gradient[0] = 2.0 * z[0];
            z[0] * z[0]
        },
        &[1.0],
    );
    assert_eq!(parabola.outcome, Outcome::Unbounded);
    let pole = climb(
        |z, gradient| {
            gradient[0] = -1.0 / z[0];
            -z[0].abs().ln()
        },
        &[1.0],
    );
    assert_eq!(pole.outcome, Outcome::Unbounded);
    assert!(pole.converged().unwrap_err().to_string().contains("there is no maximum"));
}

#[test]
fn a_wrong_gradient_stalls() {
    let peak = climb(
        |z, gradient| {
            gradient[0] = z[0];
            -0.5 * z[0] * z[0]
        },
        &[1.0],
    );
    assert_eq!(peak.outcome, Outcome::Stalled);
    assert_eq!(peak.point, [1.0]);
    assert!(peak.converged().unwrap_err().to_string().contains("no step goes up"));
}

#[test]
fn a_kink_is_found_and_not_called_converged() {
    let peak = climb(
        |z, gradient| {
            gradient[0] = -(z[0] - 2.0).signum();
            -(z[0] - 2.0).abs()
        },
        &[7.3],
    );
    assert_eq!(peak.outcome, Outcome::Stalled);
    assert!((peak.point[0] - 2.0).abs() < 1e-6, "{peak:?}");
}

#[test]
fn iterations_are_limited() {
    let lbfgs = Lbfgs::with(1e-6, 3, 5).unwrap();
    let peak = lbfgs.mode(&gaussian(20, 2.0), &[30.0; 20]).unwrap();
    assert_eq!((peak.outcome, peak.iterations), (Outcome::IterationLimit, 3));
    assert!(peak.converged().unwrap_err().to_string().contains("after 3 iterations"));
}

/// Values near 1e9 with the rounding error of a long sum, here a ripple of 4e-7, and gradients without it: the last steps depend on
/// slopes alone. A line search that requires every value to increase stalls from three starts in four.
#[test]
fn values_so_large_that_they_are_rounded() {
    let target = Density(6, |z: &[f64], gradient: &mut [f64]| {
        let mut value = 1e9;
        for (k, (x, g)) in z.iter().zip(gradient).enumerate() {
            let curvature = 6.0_f64.powi(i32::try_from(k).expect("small"));
            let root = (curvature + 0.25 * x * x * x * x + x * x * curvature).sqrt();
            *g = -(0.5 * x * x * x + x * curvature) / root;
            value -= root;
        }
        value + 4e-7 * (1e9 * z.iter().sum::<f64>()).sin()
    });
    for number in 0..40 {
        let start: Vec<f64> = (0..6).map(|k| 10.0 * f64::from(number * 7 + k).sin()).collect();
        let peak = Lbfgs::default().mode(&target, &start).unwrap();
        assert_eq!(peak.outcome, Outcome::Converged, "{number}: {peak:?}");
        assert!(peak.point.iter().all(|x| x.abs() < 1e-5), "{peak:?}");
    }
}

#[test]
fn configs_are_checked() {
    assert!(Lbfgs::with(0.0, 10, 5).is_err() && Lbfgs::with(f64::NAN, 10, 5).is_err());
    assert!(Lbfgs::with(1e-6, 0, 5).is_err() && Lbfgs::with(1e-6, 10, 0).is_err());
    assert_eq!(toml::from_str::<Lbfgs>("").unwrap(), Lbfgs::default());
    let lbfgs = Lbfgs::with(1e-3, 10, 5).unwrap();
    assert_eq!(toml::from_str::<Lbfgs>(&toml::to_string(&lbfgs).unwrap()).unwrap(), lbfgs);
    assert!(toml::from_str::<Lbfgs>("history = 3").is_err());
    let error = Lbfgs::default().mode(&gaussian(3, 0.0), &[0.0]).unwrap_err().to_string();
    assert_eq!(error, "Lbfgs: start has length 1, expected 3");
    assert!(Lbfgs::default().mode(&gaussian(1, 0.0), &[f64::NAN]).is_err());
}
