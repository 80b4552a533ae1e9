//! Tempered target `p^power`.

use faer::{MatMut, MatRef};
use mcsa_core::{ColumnsMut, Error, Gradient, LogDensity, Named};

/// Tempered target `p^power`, unnormalised: flatter than `p`, so that an optimisation from a distant start first covers all its
/// mass.
///
/// ```text
/// log p_power(z) = power log p(z),   0 < power <= 1
/// ```
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::{Gaussian, Tempered};
/// let (wide, narrow) = (Gaussian::diagonal(vec![0.0], vec![2.0])?, Gaussian::standard(1));
/// let flat = Tempered::new(&narrow, 0.25)?;
/// let fall = |p: &dyn LogDensity| p.log_density(&[3.0], &mut [0.0; 8]) - p.log_density(&[0.0], &mut [0.0; 8]);
/// assert!((fall(&flat) - fall(&wide)).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tempered<'p, P: ?Sized> {
    target: &'p P,
    power: f64,
}

impl<'p, P: LogDensity + ?Sized> Tempered<'p, P> {
    /// The target `target`, raised to `power`.
    ///
    /// # Errors
    /// If the power is not in `(0, 1]`.
    pub fn new(target: &'p P, power: f64) -> Result<Self, Error> {
        if power > 0.0 && power <= 1.0 {
            return Ok(Self { target, power });
        }
        Err(Error::parameter("power", power, "above 0 and at most 1").within("Tempered"))
    }
}

impl<P: LogDensity + ?Sized> LogDensity for Tempered<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.target.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.power * self.target.log_density(z, work)
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.target.log_densities(z, out, work);
        out.iter_mut().for_each(|log_p| *log_p *= self.power);
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.target.constrain(z, out);
    }
}

impl<P: Gradient + ?Sized> Gradient for Tempered<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let log_p = self.target.gradient_into(z, gradient, work);
        gradient.iter_mut().for_each(|slope| *slope *= self.power);
        self.power * log_p
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        self.target.gradients_into(z, out, gradients.as_mut(), work);
        out.iter_mut().for_each(|log_p| *log_p *= self.power);
        for j in 0..z.ncols() {
            gradients.column_mut(j).iter_mut().for_each(|slope| *slope *= self.power);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Banana;
    use mcsa_testing::model::{Case, gradient_is_gradient};

    #[test]
    fn the_gradient_is_of_the_power() {
        let banana = Banana::new(2.0, 0.5).unwrap();
        let flat = Tempered::new(&banana, 0.3).unwrap();
        assert_eq!(gradient_is_gradient(&Case::new(flat)), Ok(()));
    }

    /// A power outside `(0, 1]` is refused; a power inside keeps a density of zero at zero.
    #[test]
    fn powers_are_checked() {
        let banana = Banana::new(2.0, 0.5).unwrap();
        for power in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(Tempered::new(&banana, power).is_err(), "{power}");
        }
        let far = Tempered::new(&banana, 0.5).unwrap().log_density(&[f64::INFINITY, 0.0], &mut []);
        assert_eq!(far, f64::NEG_INFINITY);
    }
}
