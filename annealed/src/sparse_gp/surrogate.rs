//! Surrogate posterior from a few data of a sparse process.

use mcsa_core::{Error, Subsampled, borrow, checksum, numeric};

use super::{SparseGaussianProcess, SparsePosterior};
use crate::minibatched::checked_rows;
use crate::{Along, PathPoint, Sizes, Surrogate};

/// Surrogate posterior of the inducing values of a [`SparseGaussianProcess`]: its prior, and a weighted log likelihood of a few of
/// its data. (SL-DAIS, Sec. 7.4 and 7.5)
///
/// ```text
/// g(u; psi) = log N(u; 0, K_ZZ) + sum_n w_n log p(y_n | u),   psi = (theta, log w)
/// ```
/// The parameters theta are those of the process, inducing points included; the weights start at `N / B` and are learned, or stay
/// fixed. In a bound, the same theta enters the target, a [minibatch](SparseGaussianProcess::on) of the process.
///
/// A path prepares the kernel matrix and its Cholesky factor once. If the matrix at theta has no factor, the gradients are NaN,
/// and an estimator counts them.
///
/// ```
/// use mcsa_annealed::{SparseGaussianProcess, SparseSurrogate, Surrogate};
/// let x = faer::mat![[0.0], [1.0], [2.5], [3.0]];
/// let process = SparseGaussianProcess::classification(x.as_ref(), &[1.0, 1.0, 0.0, 0.0], 2)?;
/// let theta = process.theta(0.0, &[0.3], &[], faer::mat![[0.5], [2.0]].as_ref())?;
/// let surrogate = SparseSurrogate::new(process, vec![0, 2])?;
/// let psi = surrogate.initial(&theta);
/// assert_eq!((surrogate.sizes().params, psi[4..].to_vec()), (6, vec![2.0_f64.ln(); 2]));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SparseSurrogate {
    process: SparseGaussianProcess,
    rows: Vec<usize>,
    learns_weights: bool,
    /// Theta, if it is fixed.
    fixed: Option<Vec<f64>>,
}

impl SparseSurrogate {
    /// The surrogate of these rows of the process's data, with learned weights.
    ///
    /// # Errors
    /// If there is no row, or a row is not less than the number of data.
    pub fn new(process: SparseGaussianProcess, rows: Vec<usize>) -> Result<Self, Error> {
        checked_rows("process", process.num_data(), &rows)
            .map_err(|error| error.within("SparseSurrogate"))?;
        Ok(Self { process, rows, learns_weights: true, fixed: None })
    }

    /// This surrogate with the weights fixed at `N / B`.
    #[must_use]
    pub fn with_fixed_weights(self) -> Self {
        Self { learns_weights: false, ..self }
    }

    /// This surrogate with theta fixed, for a target at a fixed theta: psi is the log weights alone.
    ///
    /// # Errors
    /// If theta has another length than that of the process, or is out of range.
    pub fn at(self, theta: &[f64]) -> Result<Self, Error> {
        self.process.check_theta(theta).map_err(|error| error.within("SparseSurrogate"))?;
        Ok(Self { fixed: Some(theta.to_vec()), ..self })
    }

    /// The process.
    pub fn process(&self) -> &SparseGaussianProcess {
        &self.process
    }

    /// The rows.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// psi at the start: this theta unless theta is fixed, and weights `N / B`.
    pub fn initial(&self, theta: &[f64]) -> Vec<f64> {
        assert_eq!(theta.len(), self.process.num_thetas(), "theta of the process");
        let mut psi = theta[..self.num_thetas()].to_vec();
        psi.resize(self.sizes().params, self.uniform().ln());
        psi
    }

    /// Theta: a part of psi, unless it is fixed.
    pub fn theta<'a>(&'a self, psi: &'a [f64]) -> &'a [f64] {
        self.fixed.as_deref().unwrap_or(&psi[..self.num_thetas()])
    }

    /// Number of entries of psi that are theta.
    fn num_thetas(&self) -> usize {
        if self.fixed.is_some() { 0 } else { self.process.num_thetas() }
    }

    /// `N / B`.
    fn uniform(&self) -> f64 {
        self.process.num_data() as f64 / self.rows.len() as f64
    }

    /// The posterior and the weights, from a prepared memory.
    fn parts<'a>(&'a self, psi: &'a [f64], memory: &'a [f64]) -> (SparsePosterior<'a>, &'a [f64]) {
        let (weights, memory) = memory.split_at(self.rows.len());
        (self.process.posterior(self.theta(psi), &self.rows, memory), weights)
    }
}

impl Surrogate for SparseSurrogate {
    fn sizes(&self) -> Sizes {
        let (dim, rows) = (self.process.num_inducing(), self.rows.len());
        Sizes {
            dim,
            params: self.num_thetas() + if self.learns_weights { rows } else { 0 },
            memory: rows + self.process.memory_len(rows),
            work: 2 * dim + self.process.theta_work_len(rows),
            ..Sizes::default()
        }
    }

    fn config(&self) -> String {
        format!(
            "SparseSurrogate {{ {}, rows: {}, sum {:016x}, learned weights: {}{} }}",
            self.process.config(),
            self.rows.len(),
            checksum(self.rows.iter().flat_map(|&row| (row as u64).to_le_bytes())),
            self.learns_weights,
            self.fixed.as_ref().map_or_else(String::new, |theta| format!(", fixed theta {theta:?}"))
        )
    }

    fn prepare(&self, psi: &[f64], _: &[f64], memory: &mut [f64]) {
        let (theta, log_weights) = (self.theta(psi), &psi[self.num_thetas()..]);
        let (weights, memory) = memory.split_at_mut(self.rows.len());
        if self.learns_weights {
            weights.copy_from_slice(log_weights);
            numeric::exp(weights);
        } else {
            weights.fill(self.uniform());
        }
        // Without a factor the memory is NaN, and so is what is computed from it.
        let _ = self.process.prepare_into(theta, &self.rows, memory);
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], work: &mut [f64]) {
        let PathPoint { psi, memory, z } = at;
        let (posterior, weights) = self.parts(psi, memory);
        // The gradient of a quadratic function around 0 is its Hessian times the point; no step needs the value.
        posterior.prior_hessian_vector_into(z, z, gradient, work);
        posterior.add_gradient(&posterior.all(|n| weights[n]), z, gradient);
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], mut work: &mut [f64]) {
        let Along { at: PathPoint { psi, memory, z }, u, scale, .. } = along;
        let (posterior, weights) = self.parts(psi, memory);
        let (theta_bar, weights_bar) = psi_bar.split_at_mut(self.num_thetas());
        let of_prior = borrow(&mut work, u.len());
        posterior.prior_hessian_vector_into(z, u, of_prior, work);
        numeric::axpy(scale, of_prior, product);
        let all = posterior.all(|n| scale * weights[n]);
        posterior.add_hessian_vector(&all, z, u, product, |n, slope| {
            weights_bar.get_mut(n).into_iter().for_each(|bar| *bar += slope);
        });
        if self.fixed.is_none() {
            posterior.add_theta(Some(u), &all, z, scale, theta_bar, work);
        }
    }
}
