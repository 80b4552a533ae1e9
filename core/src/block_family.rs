//! Variational families for models with one latent point per datum, `q_lambda(z_i | x_i)`.

use faer::{MatMut, MatRef};

use crate::{Error, Parametric, Stream, same_length};

/// A variational family with one distribution per datum, `q_lambda(z_i | x_i)`: the counterpart of [`Family`](crate::Family) for a
/// target of independent blocks, [`Blocks`](crate::Blocks).
///
/// An implementation may share lambda among the data (an amortised family) or give each datum its own part of lambda; its
/// documentation says which.
pub trait BlockFamily: Parametric {
    /// The number of data.
    fn num_blocks(&self) -> usize;

    /// `log q_lambda(z_k | x_i)` of each column `k`, with the datum `i = rows[k]`, written to `log_q`.
    ///
    /// # Panics
    /// If the shapes differ, or an entry of `rows` is not less than [`num_blocks`](Self::num_blocks).
    fn log_blocks(
        &self,
        params: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    );

    /// Draws column `k` of `z` from `q_lambda(. | x_i)`, `i = rows[k]`, with lane `k`, and writes its log density to `log_q`.
    ///
    /// # Panics
    /// If the shapes differ, or an entry of `rows` is not less than [`num_blocks`](Self::num_blocks).
    fn sample_blocks_into(
        &self,
        params: &[f64],
        rows: &[usize],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    );

    /// Weighted sum of scores, `gradient += sum_k weights[k] * d/dlambda log q_lambda(z_k | x_{rows[k]})`, added in the order of
    /// `k`.
    ///
    /// # Panics
    /// If the shapes differ, or an entry of `rows` is not less than [`num_blocks`](Self::num_blocks).
    fn add_block_scores(
        &self,
        params: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );
}

/// Proposal distributions of blocks, `q_lambda(z_i | x_i)` at a fixed lambda, evaluated for many data in one batch.
pub struct BlocksAt<'a, F: ?Sized> {
    family: &'a F,
    params: &'a [f64],
    work: &'a mut [f64],
}

impl<'a, F: BlockFamily + ?Sized> BlocksAt<'a, F> {
    /// The proposal of `family` at `params`, with the memory `work` for batches of `columns` columns.
    ///
    /// # Errors
    /// If the params fail [`Parametric::check`], or `work` is shorter than `family.work_len(columns)`.
    pub fn new(family: &'a F, params: &'a [f64], columns: usize, work: &'a mut [f64]) -> Result<Self, Error> {
        family.check(params)?;
        let needed = family.work_len(columns);
        if work.len() < needed {
            same_length("work", needed, work.len())?;
        }
        Ok(Self { family, params, work })
    }

    /// [`BlockFamily::log_blocks`] at the lambda of this proposal.
    pub fn log_blocks(&mut self, rows: &[usize], z: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.family.log_blocks(self.params, rows, z, log_q, self.work);
    }

    /// [`BlockFamily::sample_blocks_into`] at the lambda of this proposal.
    pub fn sample_blocks_into(
        &mut self,
        rows: &[usize],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
    ) {
        self.family.sample_blocks_into(self.params, rows, lanes, z, log_q, self.work);
    }

    /// [`BlockFamily::add_block_scores`] at the lambda of this proposal.
    pub fn add_block_scores(
        &mut self,
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
    ) {
        self.family.add_block_scores(self.params, rows, z, weights, gradient, self.work);
    }
}
