use super::{Along, PathPoint, Sizes, Surrogate};
use crate::minibatched::random_subset;
use mcsa_core::{Error, Stream, Subsampled, borrow, checksum, numeric};

/// Weighted likelihood of a random subset of the data as the surrogate, for any likelihood that is a product (SL-DAIS, Sec. 4, RAND).
///
/// ```text
/// g(z; psi) = log prior(z) + sum_{n in S} exp(psi_n) l_n(z)
/// ```
/// The subset S is drawn once, and the weights are learned from N/|S| on. [`LogisticSurrogate::rand`](super::LogisticSurrogate::rand)
/// is the same surrogate of a logistic regression, by products of matrices.
///
/// ```
/// use mcsa_annealed::{Seed, Surrogate, surrogate::SubsetSurrogate};
/// use mcsa_models::{StudentNoise, StudentRegression};
/// let x = faer::Mat::from_fn(100, 2, |i, k| if k == 0 { 1.0 } else { i as f64 / 50.0 - 1.0 });
/// let y: Vec<f64> = (0..100).map(|i| f64::from(i % 10)).collect();
/// let target = StudentRegression::new(x.as_ref(), &y, StudentNoise::Latent, 1.0)?;
/// let surrogate = SubsetSurrogate::random(&target, 20, &mut Seed::new(1).stream(0, 0))?;
/// assert_eq!(surrogate.initial(), [5.0_f64.ln(); 20]);
/// # Ok::<(), mcsa_models::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubsetSurrogate<P> {
    target: P,
    rows: Vec<usize>,
}

impl<P: Subsampled> SubsetSurrogate<P> {
    /// A random subset of `count` data.
    ///
    /// # Errors
    /// If there is no datum in it, or the target has fewer.
    pub fn random(target: P, count: usize, stream: &mut Stream) -> Result<Self, Error> {
        let rows = random_subset(target.num_data(), count, stream);
        Ok(Self { rows: rows.map_err(|error| error.within("SubsetSurrogate"))?, target })
    }

    /// Indices of the subset.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Vector psi at the start: logarithms of equal weights.
    pub fn initial(&self) -> Vec<f64> {
        vec![(self.target.num_data() as f64 / self.rows.len() as f64).ln(); self.rows.len()]
    }
}

impl<P: Subsampled> Surrogate for SubsetSurrogate<P> {
    fn sizes(&self) -> Sizes {
        let (dim, rows) = (self.target.dim(), self.rows.len());
        Sizes {
            dim,
            params: rows,
            memory: rows,
            tape: rows * dim,
            work: dim + rows + self.target.rows_work_len(1),
            ..Sizes::default()
        }
    }

    fn config(&self) -> String {
        let rows = checksum(self.rows.iter().flat_map(|row| row.to_le_bytes()));
        format!("SubsetSurrogate({} of {}, rows {rows:016x})", self.rows.len(), self.target.num_data())
    }

    fn prepare(&self, psi: &[f64], _: &[f64], memory: &mut [f64]) {
        numeric::exp_into(psi, memory);
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], tape: &mut [f64], work: &mut [f64]) {
        let PathPoint { memory: weights, z, .. } = at;
        self.target.prior_gradient_into(z, gradient, work);
        self.target.gradients_at(&self.rows, z, tape, work);
        for (weight, slopes) in weights.iter().zip(tape.chunks_exact(z.len())) {
            numeric::axpy(*weight, slopes, gradient);
        }
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], mut work: &mut [f64]) {
        let Along { at: PathPoint { memory: weights, z, .. }, tape, u, scale } = along;
        let (of_prior, scaled) = (borrow(&mut work, u.len()), borrow(&mut work, self.rows.len()));
        self.target.prior_hessian_vector_into(z, u, of_prior, work);
        numeric::axpy(scale, of_prior, product);
        scaled.iter_mut().zip(weights).for_each(|(scaled, weight)| *scaled = scale * weight);
        self.target.add_weighted_hessian_vector_at(&self.rows, scaled, z, u, product, work);
        for ((bar, weight), slopes) in psi_bar.iter_mut().zip(scaled).zip(tape.chunks_exact(z.len())) {
            *bar += *weight * numeric::dot(u, slopes);
        }
    }
}
