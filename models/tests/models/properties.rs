//! Property tests at random parameters.

use mcsa_core::{Gradient, LogDensity};
use mcsa_models::{Constrained, Gaussian, GroundTruth, Mixture, SkewNormal, Student, Transform};
use mcsa_testing::model::{Case, gradient_is_gradient, jacobians_are_slopes, transforms_invert};
use proptest::prelude::*;

/// A constant density of one transformed parameter.
struct Flat(Transform);

impl LogDensity for Flat {
    fn dim(&self) -> usize {
        1
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.0.log_slope(z[0])
    }
}

impl Gradient for Flat {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient[0] = self.0.log_slope_gradient(z[0]);
        self.log_density(z, work)
    }
}

impl Constrained for Flat {
    fn transform(&self, _: usize) -> Transform {
        self.0
    }
    fn log_density_at(&self, _: &[f64]) -> f64 {
        0.0
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn intervals_keep_the_laws_of_transforms(low in -5.0..5.0_f64, width in 0.1..10.0_f64, centre in -4.0..4.0_f64) {
        let transform = Transform::Interval { low, high: low + width };
        let case = crate::printed(Case::new(Flat(transform)).with_centre(vec![centre]));
        prop_assert_eq!(transforms_invert(&case), Ok(()));
        prop_assert_eq!(jacobians_are_slopes(&case), Ok(()));
        prop_assert_eq!(gradient_is_gradient(&case), Ok(()));
        let theta = transform.constrain(centre);
        prop_assert!(low < theta && theta < low + width);
    }

    #[test]
    fn gradients_hold_at_every_slant(location in -3.0..3.0_f64, log_scale in -2.0..2.0_f64, slant in -8.0..8.0_f64) {
        let target = SkewNormal::new(location, log_scale.exp(), slant).unwrap();
        prop_assert_eq!(gradient_is_gradient(&Case::new(target).with_centre(vec![location])), Ok(()));
    }

    /// A mixture of equal components has the density and the moments of one component.
    #[test]
    fn a_mixture_of_one_thing_is_that_thing(mean in -3.0..3.0_f64, scale in 0.1..3.0_f64, weight in 0.01..100.0_f64, z in -5.0..5.0_f64) {
        let one = Gaussian::diagonal(vec![mean], vec![scale]).unwrap();
        let both = Mixture::new(&[1.0, weight], vec![one.clone(), one.clone()]).unwrap();
        let work = &mut vec![0.0; both.work_len(1)];
        prop_assert!((both.log_density(&[z], work) - one.log_density(&[z], &mut [])).abs() < 1e-12 * (1.0 + one.log_density(&[z], &mut []).abs()));
        prop_assert!((both.covariance().unwrap()[(0, 0)] - scale * scale).abs() < 1e-12);
    }

    /// A Student t distribution with many degrees of freedom is close to the Gaussian.
    #[test]
    fn a_student_of_great_freedom_is_gaussian(z in -5.0..5.0_f64, scale in 0.1..3.0_f64) {
        let student = Student::new(vec![0.0], vec![scale], 1e7).unwrap();
        let gaussian = Gaussian::diagonal(vec![0.0], vec![scale]).unwrap();
        let u = z / scale;
        let difference = student.log_density(&[z], &mut []) - gaussian.log_density(&[z], &mut []);
        prop_assert!(difference.abs() < 1e-6 * (1.0 + u * u + u.powi(4)));
    }
}
