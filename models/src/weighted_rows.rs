//! Posteriors of some weighted rows of the data.

use mcsa_core::{Curvature, Error, Gradient, LogDensity, Named, Subsampled, same_length};

use crate::support::{decided, positive};

/// Posterior of some rows of the data, each with a weight: a cheap approximation of the posterior of all data.
///
/// ```text
/// log p(z) = log prior(z) + sum_k w_k l_{i_k}(z),   w_k > 0
/// ```
///
/// Costs one likelihood term per listed row. With the rows and weights of a coreset, NUTS on it is the
/// baseline NUTS-CS of SL-DAIS, and it is a surrogate for delayed acceptance. Unit weights and all rows give the target itself.
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

    /// Each row, as a list of one, with its weight.
    fn terms(&self) -> impl Iterator<Item = (&[usize], f64)> {
        self.rows.chunks_exact(1).zip(self.weights.iter().copied())
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
        for (row, weight) in self.terms() {
            log_p += weight * self.target.log_likelihood_at(row, z, work);
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
        for (row, weight) in self.terms() {
            log_p += weight * self.target.add_gradient_at(row, weight, z, gradient, work);
        }
        let log_p = decided(log_p, z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
        }
        log_p
    }
}

impl<P: Subsampled + ?Sized> Curvature for WeightedRows<'_, P> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.target.prior_hessian_vector_into(z, v, out, work);
        for (row, weight) in self.terms() {
            self.target.add_hessian_vector_at(row, weight, z, v, out, work);
        }
    }
}
