//! Targets made of other targets: powers, and posteriors of some weighted rows of the data.

use faer::{MatMut, MatRef};
use mcsa_core::{ColumnsMut, Curvature, Error, Gradient, LogDensity, Named, Part, Subsampled, same_length};

use crate::support::{decided, decided_with, positive};

/// Tempered target `p^power`, unnormalised. It is flatter than `p`, so that an optimisation from a distant start first covers
/// all mass of `p`.
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

/// Posterior of some rows of the data, each with a weight: a cheap approximation of the posterior of all data.
///
/// ```text
/// log p(z) = log prior(z) + sum_k w_k l_{i_k}(z),   w_k > 0
/// ```
///
/// An evaluation costs one likelihood term per listed row. With the rows and weights of a coreset, NUTS on this target is the
/// baseline NUTS-CS of SL-DAIS. This target is also a surrogate for delayed acceptance. Unit weights and all rows give the
/// posterior of all data.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::{WeightedRows, LogisticRegression};
/// let x = faer::mat![[1.0, 0.5], [1.0, -2.0], [1.0, 0.5]];
/// let target = LogisticRegression::new(x.as_ref(), &[1.0, 0.0, 1.0], 1.0)?;
/// let weighted = WeightedRows::new(&target, vec![0, 1], vec![2.0, 1.0])?;
/// let (z, mut work) = ([0.3, -0.1], vec![0.0; target.work_len(1)]);
/// let (small, all) = (weighted.log_density(&z, &mut work), target.log_density(&z, &mut work));
/// assert!((small - all).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WeightedRows<'p, P: ?Sized> {
    target: &'p P,
    rows: Vec<usize>,
    weights: Vec<f64>,
}

impl<'p, P: Subsampled + ?Sized> WeightedRows<'p, P> {
    /// The posterior of these rows of `target` with their weights; a row listed twice counts with the sum of its weights.
    ///
    /// # Errors
    /// If there is not one weight per row, a row is not less than the number of data, or a weight is not positive and finite.
    pub fn new(target: &'p P, rows: Vec<usize>, weights: Vec<f64>) -> Result<Self, Error> {
        let check = || {
            same_length("weights of rows", rows.len(), weights.len())?;
            let data = target.num_data();
            if let Some(row) = rows.iter().find(|&&row| row >= data) {
                return Err(Error::invalid(format!("row {row}: the target has {data} data")));
            }
            weights.iter().try_for_each(|&weight| positive("weight", weight))
        };
        check().map_err(|error: Error| error.within("WeightedRows"))?;
        Ok(Self { target, rows, weights })
    }

    /// The rows.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The weight of each row.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Each row with its weight.
    fn terms(&self) -> impl Iterator<Item = Part<'_>> {
        self.rows.chunks_exact(1).zip(&self.weights).map(|(rows, &scale)| Part { rows, scale })
    }
}

impl<P: Subsampled + ?Sized> LogDensity for WeightedRows<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.target.rows_work_len(1)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut log_p = self.target.log_prior(z, work);
        for Part { rows, scale } in self.terms() {
            log_p += scale * self.target.log_likelihood_at(rows, z, work);
        }
        decided(log_p, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.target.constrain(z, out);
    }
}

impl<P: Subsampled + ?Sized> Gradient for WeightedRows<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let mut log_p = self.target.prior_gradient_into(z, gradient, work);
        for part in self.terms() {
            log_p += part.scale * self.target.add_gradient_at(part, z, gradient, work);
        }
        decided_with(log_p, z, gradient)
    }
}

impl<P: Subsampled + ?Sized> Curvature for WeightedRows<'_, P> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.target.prior_hessian_vector_into(z, v, out, work);
        for part in self.terms() {
            self.target.add_hessian_vector_at(part, z, v, out, work);
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
