use crate::LearnableRows;
use mcsa_core::{Error, Gradient, LogDensity, Named, Subsampled, borrow};

use super::{SparseGaussianProcess, SparsePosterior};
use mcsa_models::support::decided;

/// Density of a minibatch of a [`SparseGaussianProcess`] as a function of its parameters and of the inducing values:
///
/// ```text
/// log N(u; 0, K_ZZ) + N/B sum_{n in rows} log p(y_n | u)   at the point (theta, u)
/// ```
/// There is no prior on theta: the bound of a family that has theta at a point is a lower bound of `log p(y; theta)`, and its maximum a
/// type II maximum likelihood estimate (SL-DAIS, Sec. 7.4). In whitened coordinates the point is `(theta, e)`.
///
/// `-inf`, with gradient 0, where a logarithm in theta is beyond +-300, `K_ZZ` has no Cholesky factor, or a square overflows.
#[derive(Debug, Clone, Copy)]
pub struct SparseMinibatch<'a> {
    process: &'a SparseGaussianProcess,
    rows: &'a [usize],
}

impl SparseMinibatch<'_> {
    fn scale(&self) -> f64 {
        self.process.num_data() as f64 / self.rows.len() as f64
    }

    /// Prepares the posterior in lent memory; `None` if theta is refused.
    fn at<'b>(&'b self, theta: &'b [f64], memory: &'b mut [f64]) -> Option<SparsePosterior<'b>> {
        self.process.prepare_into(theta, self.rows, memory).ok()?;
        Some(self.process.posterior(theta, self.rows, memory))
    }
}

impl LearnableRows for SparseGaussianProcess {
    type On<'a> = SparseMinibatch<'a>;

    fn num_data(&self) -> usize {
        Self::num_data(self)
    }

    fn on<'a>(&'a self, rows: &'a [usize]) -> Result<SparseMinibatch<'a>, Error> {
        let data = Self::num_data(self);
        match rows.iter().find(|&&row| row >= data) {
            Some(row) => {
                Err(Error::invalid(format!("row {row} of a minibatch: the process has {data} data")))
            }
            None if rows.is_empty() => Err(Error::invalid("a minibatch has at least one row")),
            None => Ok(SparseMinibatch { process: self, rows }),
        }
    }
}

impl LogDensity for SparseMinibatch<'_> {
    fn dim(&self) -> usize {
        self.process.num_thetas() + self.process.num_inducing()
    }

    fn work_len(&self, _: usize) -> usize {
        let rows = self.rows.len();
        self.process.memory_len(rows) + self.process.theta_work_len(rows).max(self.process.num_inducing())
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let memory = borrow(&mut work, self.process.memory_len(self.rows.len()));
        let (theta, u) = z.split_at(self.process.num_thetas());
        let Some(posterior) = self.at(theta, memory) else { return decided(f64::NAN, z) };
        let white = borrow(&mut work, u.len());
        posterior.whiten(u, white);
        let likelihood = posterior.each_block(self.rows.len(), |n| n, false, u, |_, _| ());
        decided(posterior.prior(white) + self.scale() * likelihood, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.process.name_theta(z, out);
        let inducing = &z[self.process.num_thetas()..];
        out.vector("u", inducing.iter().copied());
    }
}

impl Gradient for SparseMinibatch<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let memory = borrow(&mut work, self.process.memory_len(self.rows.len()));
        let (theta, u) = z.split_at(self.process.num_thetas());
        gradient.fill(0.0);
        let Some(posterior) = self.at(theta, memory) else { return decided(f64::NAN, z) };
        let (of_theta, of_u) = gradient.split_at_mut(theta.len());
        let (count, scale) = (self.rows.len(), self.scale());
        let prior = posterior.prior_gradient_into(u, of_u, work);
        let likelihood = posterior.add_gradient(count, |n| n, |_| scale, u, of_u);
        posterior.add_theta_gradient_of_all(scale, u, of_theta, work);
        let log_p = decided(prior + scale * likelihood, z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
        }
        log_p
    }
}
