//! Faults in small regions: NaN in a hole of the density, a wrong gradient in the tails; and too small a `work_len`.

use mcsa_core::{Curvature, Gradient, LogDensity};
use mcsa_testing::model::{self as laws, Case};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// NaN within this distance of `[1.3, 0, ..]`, in units of the scale.
    Hole(f64),
    /// NaN beyond this distance.
    Rim(f64),
    /// The gradient is too large by this factor where a coordinate is beyond 6 scales.
    Tail(f64),
    /// The gradient is cut off at 6 scales, coordinate by coordinate.
    Clipped,
    /// `work_len` is one too small.
    Short,
}
use Fault::*;

/// A scaled standard Gaussian with a fault.
#[derive(Debug, Clone, Copy)]
struct Twin {
    dim: usize,
    scale: f64,
    fault: Fault,
}

impl LogDensity for Twin {
    fn dim(&self) -> usize {
        self.dim
    }
    fn work_len(&self, _: usize) -> usize {
        if self.fault == Short { self.dim - 1 } else { self.dim }
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        for (work, z) in work[..self.dim].iter_mut().zip(z) {
            *work = z / self.scale;
        }
        let x = &work[..self.dim];
        let square: f64 = x.iter().map(|x| x * x).sum();
        let apart = (square - x[0] * x[0] + (x[0] - 1.3).powi(2)).sqrt();
        match self.fault {
            Hole(size) if apart < size => f64::NAN,
            Rim(size) if square.sqrt() > size && square.is_finite() => f64::NAN,
            _ => -0.5 * square,
        }
    }
}

impl Gradient for Twin {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let log_p = self.log_density(z, work);
        let far = work[..self.dim].iter().any(|x| x.abs() > 6.0);
        for (gradient, x) in gradient.iter_mut().zip(&work[..self.dim]) {
            *gradient = -x / self.scale;
            match self.fault {
                Tail(factor) if far => *gradient *= factor,
                Clipped => *gradient = -x.clamp(-6.0, 6.0) / self.scale,
                _ => {}
            }
        }
        log_p
    }
}

fn case(dim: usize, fault: Fault) -> Case<Twin> {
    Case::new(Twin { dim, scale: 0.3, fault }).with_spread(0.3)
}

#[test]
fn without_a_fault_every_law_holds() {
    for dim in [1, 2, 3, 5, 10, 50] {
        let right = case(dim, None);
        assert_eq!(laws::check(&right), Ok(()));
        assert_eq!(laws::check_gradient(&right), Ok(()));
    }
}

#[test]
fn holes_are_found() {
    for (dim, size) in [(1, 0.01), (2, 0.1), (3, 0.3), (4, 0.5), (5, 1.0)] {
        let failure = laws::density_is_never_nan(&case(dim, Hole(size))).expect_err("a hole");
        assert!(laws::check(&case(dim, Hole(size))).is_err());
        assert_eq!((failure.law, failure.found.as_str()), ("density_is_never_nan", "NaN"), "{failure}");
    }
    for dim in [1, 2, 10] {
        let failure = laws::density_is_never_nan(&case(dim, Rim(40.0))).expect_err("a rim");
        assert_eq!(failure.law, "density_is_never_nan");
    }
}

/// A hole that the probes miss is smaller than the reported power.
#[test]
fn the_power_is_that_of_the_scattered_probes() {
    let power =
        laws::density_is_never_nan(&case(5, Hole(1e-3))).expect("too small to be seen").expect("probes");
    assert!((power.size - std::f64::consts::LN_10 / 16_384.0).abs() < 1e-8, "{power}");
    let few =
        laws::density_is_never_nan(&case(2, Hole(0.05)).with_probes(64)).expect("missed").expect("probes");
    assert!(
        few.size > 0.03 && few.effort.contains("64 scattered probes, a grid with cells of 2.000"),
        "{few}"
    );
}

#[test]
fn a_gradient_that_is_wrong_in_the_tails_is_found() {
    for dim in [1, 2, 5, 20, 50] {
        for fault in [Tail(1.001), Tail(0.0), Tail(-1.0), Clipped] {
            assert_eq!(
                laws::gradient_is_gradient(&case(dim, fault)),
                Ok(()),
                "{fault:?} is not seen in the middle"
            );
            let failure = laws::check_gradient(&case(dim, fault)).expect_err("wrong beyond six scales");
            assert_eq!(failure.law, "gradient_holds_in_the_tails", "{failure}");
        }
    }
}

#[test]
fn memory_claimed_short_is_a_failure() {
    let failure = laws::check(&case(3, Short)).expect_err("short");
    assert_eq!(failure.law, "work_is_enough");
    assert_eq!(failure.found, "more: 6 are enough");
    assert_eq!(laws::check_gradient(&case(3, Short)).expect_err("short").law, "gradient_work_is_enough");
    let others = case(3, Short).without("work_is_enough", "to see another law fail").expect("a law");
    let failure = laws::check(&others).expect_err("short").to_string();
    assert!(failure.starts_with("batch_equals_columns: the code under examination: found "), "{failure}");
}

#[test]
fn laws_left_out_are_reported_with_their_reasons() {
    let unknown = case(1, None).without("density_is_nan", "misspelt").expect_err("no such law").to_string();
    assert!(
        unknown.starts_with("no law is called \"density_is_nan\"; the laws are work_is_enough, "),
        "{unknown}"
    );
    let without = case(1, Hole(0.001)).without("density_is_never_nan", "the twin has a hole").expect("a law");
    assert_eq!(laws::check(&case(1, Hole(0.001))).expect_err("a hole").law, "density_is_never_nan");
    let report = laws::report(&without);
    assert!(report.holds(), "{report}");
    assert!(
        report.to_string().contains("  left out density_is_never_nan     the twin has a hole\n"),
        "{report}"
    );
}

/// A regression without data is its prior.
#[test]
fn no_rows_are_the_prior() {
    let target = mcsa_models::LogisticRegression::new(faer::Mat::zeros(0, 2).as_ref(), &[], 1.5).unwrap();
    let mut work = vec![0.0; target.work_len(1)];
    let (mut gradient, mut product) = ([f64::NAN; 2], [f64::NAN; 2]);
    let expected = -0.5 / 2.25 - 2.0 * (1.5_f64.ln() + 0.5 * std::f64::consts::TAU.ln());
    assert!((target.gradient_into(&[1.0, 0.0], &mut gradient, &mut work) - expected).abs() < 1e-14);
    target.hessian_vector_into(&[1.0, 0.0], &[0.0, 1.0], &mut product, &mut work);
    assert!((gradient[0] + 1.0 / 2.25).abs() < 1e-15 && (product[1] + 1.0 / 2.25).abs() < 1e-15);
}
