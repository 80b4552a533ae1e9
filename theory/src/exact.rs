//! Targets with exact draws, for testing kernels.
//!
//! All are normalised and have gradients. Each has a property that breaks some kernel: correlation, curvature,
//! varying scale, separate modes, heavy tails.
//!
//! ```
//! use mcsa_theory::exact::{ExactDraws, Gaussian};
//! let mut z = [0.0; 3];
//! Gaussian::standard(3).draw_into(&mut mcsa_core::Seed::new(1).stream(0, 0), &mut z);
//! assert!(z.iter().all(|x| x.abs() < 6.0));
//! ```

mod banana;
mod funnel;
mod gaussian;
mod mixture;
mod student;

pub use mcsa_core::ExactDraws;

pub use banana::Banana;
pub use funnel::Funnel;
pub use gaussian::Gaussian;
pub use mixture::Mixture;
pub use student::Student;

/// `log(2 pi) / 2`.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

/// Log density of a normal with this log scale, at a distance `x` from its mean.
fn log_normal(x: f64, log_scale: f64) -> f64 {
    let standard = x * (-log_scale).exp();
    -0.5 * standard * standard - log_scale - HALF_LOG_TAU
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::{Gradient, LogDensity, Seed, Stream};

    /// Central differences at exact draws: an error of order `h^2`, that is 1e-8 relative to the third derivative.
    fn gradient_error<P: ExactDraws + Gradient>(target: &P) -> f64 {
        let dim = target.dim();
        let mut work = vec![f64::NAN; target.work_len(1)];
        let (mut z, mut gradient) = (vec![0.0; dim], vec![f64::NAN; dim]);
        let mut worst: f64 = 0.0;
        for draw in 0..50 {
            target.draw_into(&mut Seed::new(3).stream(draw, 0), &mut z);
            let log_p = target.gradient_into(&z, &mut gradient, &mut work);
            assert_eq!(log_p.to_bits(), target.log_density(&z, &mut work).to_bits());
            for i in 0..dim {
                let h = 1e-5;
                let mut at = |x: f64| {
                    let mut moved = z.clone();
                    moved[i] = x;
                    target.log_density(&moved, &mut work)
                };
                let difference = (at(z[i] + h) - at(z[i] - h)) / (2.0 * h);
                worst = worst.max((difference - gradient[i]).abs() / (1.0 + gradient[i].abs()));
            }
        }
        worst
    }

    #[test]
    fn gradients_equal_differences() {
        assert!(gradient_error(&Gaussian::standard(2)) < 1e-6);
        assert!(gradient_error(&Gaussian::correlated(3, 0.7).unwrap()) < 1e-6);
        assert!(gradient_error(&Banana::default()) < 1e-6);
        assert!(gradient_error(&Funnel::default()) < 1e-6);
        assert!(gradient_error(&Mixture::default()) < 1e-6);
        assert!(gradient_error(&Student::default()) < 1e-6);
    }

    /// A gradient of another scale must be detected.
    #[test]
    fn a_wrong_gradient_is_caught() {
        struct Wrong(Gaussian);
        impl LogDensity for Wrong {
            fn dim(&self) -> usize {
                self.0.dim()
            }
            fn work_len(&self, columns: usize) -> usize {
                self.0.work_len(columns)
            }
            fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
                self.0.log_density(z, work)
            }
        }
        impl Gradient for Wrong {
            fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
                let log_p = self.0.gradient_into(z, gradient, work);
                gradient.iter_mut().for_each(|g| *g *= 1.0001);
                log_p
            }
        }
        impl ExactDraws for Wrong {
            fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
                self.0.draw_into(stream, z);
            }
        }
        assert!(gradient_error(&Wrong(Gaussian::standard(2))) > 1e-5);
    }

    /// `E_p[q / p] = 1` over exact draws, for a q inside the support with light tails: the densities are
    /// normalised and belong to the draws. 100,000 draws, within 5 standard errors: false alarm below 1e-5.
    #[test]
    fn densities_are_normalised_and_agree_with_the_draws() {
        fn ratio_error<P: ExactDraws>(target: &P, centre: f64) -> f64 {
            let q = |z: &[f64]| z.iter().map(|x| log_normal(x - centre, -1.0)).sum::<f64>();
            let mut work = vec![0.0; target.work_len(1)];
            let mut z = vec![0.0; target.dim()];
            let n = 100_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for draw in 0..n {
                target.draw_into(&mut Seed::new(4).stream(draw, 0), &mut z);
                let ratio = (q(&z) - target.log_density(&z, &mut work)).exp();
                sum += ratio;
                squares += ratio * ratio;
            }
            let mean = sum / n as f64;
            (mean - 1.0).abs() / ((squares / n as f64 - mean * mean) / n as f64).sqrt()
        }
        assert!(ratio_error(&Gaussian::correlated(2, 0.7).unwrap(), 0.0) < 5.0);
        assert!(ratio_error(&Banana::default(), 0.0) < 5.0);
        assert!(ratio_error(&Funnel::default(), 0.0) < 5.0);
        assert!(ratio_error(&Mixture::default(), 0.0) < 5.0);
        assert!(ratio_error(&Student::default(), 0.0) < 5.0);
    }
}
