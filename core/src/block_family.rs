//! Variational families for models with one latent point per datum, `q_lambda(z_i | x_i)`.

use faer::{MatMut, MatRef};

use crate::{BlockGuide, Error, Stream, all_finite, same_length};

/// A variational family with one distribution per datum, `q_lambda(z_i | x_i)`: the counterpart of [`Family`](crate::Family) for a
/// target of independent blocks, [`Blocks`](crate::Blocks).
///
/// An implementation may share lambda among the data (an amortised family) or give each datum its own part of lambda; its
/// documentation says which.
pub trait BlockFamily: Send + Sync {
    /// The number of data.
    fn num_blocks(&self) -> usize;

    /// The dimension of a latent point.
    fn block_dim(&self) -> usize;

    /// The length of lambda.
    fn num_params(&self) -> usize;

    /// Length of the slice `work` that any method needs for a batch of `columns` columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Checks that `params` has the right length, is finite, and lies where the family is defined.
    ///
    /// # Errors
    /// If it does not; the error names the length, or the entry and its value.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)
    }

    /// Text of the configuration. A checkpoint stores this text, and a fit is resumed only if the texts agree.
    ///
    /// Implement it as `format!("{self:?}")` or as a shorter text with the same content. The default is the name of the type alone,
    /// without the values of its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

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

/// The guide of a block family at a fixed lambda.
pub struct BlocksAt<'a, F: ?Sized> {
    family: &'a F,
    params: &'a [f64],
    work: &'a mut [f64],
}

impl<'a, F: BlockFamily + ?Sized> BlocksAt<'a, F> {
    /// The guide of `family` at `params`, with the memory `work` for batches of `columns` columns.
    ///
    /// # Errors
    /// If the params fail [`BlockFamily::check`], or `work` is shorter than `family.work_len(columns)`.
    pub fn new(family: &'a F, params: &'a [f64], columns: usize, work: &'a mut [f64]) -> Result<Self, Error> {
        family.check(params)?;
        let needed = family.work_len(columns);
        if work.len() < needed {
            same_length("work", needed, work.len())?;
        }
        Ok(Self { family, params, work })
    }

    /// [`BlockFamily::add_block_scores`] at the lambda of this guide.
    ///
    /// # Panics
    /// If the shapes differ, or an entry of `rows` is not less than [`num_blocks`](BlockFamily::num_blocks).
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

impl<F: BlockFamily + ?Sized> BlockGuide for BlocksAt<'_, F> {
    fn block_dim(&self) -> usize {
        self.family.block_dim()
    }

    fn log_blocks(&mut self, rows: &[usize], z: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.family.log_blocks(self.params, rows, z, log_q, self.work);
    }

    fn sample_blocks_into(
        &mut self,
        rows: &[usize],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
    ) {
        self.family.sample_blocks_into(self.params, rows, lanes, z, log_q, self.work);
    }
}
