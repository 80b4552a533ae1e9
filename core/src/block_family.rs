//! What fits latent points of single data.

use faer::{MatMut, MatRef};

use crate::{BlockGuide, Error, Stream, all_finite, same_length};

/// A map from lambda to a guide per datum, `q_lambda(z_i | x_i)`: what [`Family`](crate::Family) is to one target, for
/// [`Blocks`](crate::Blocks).
///
/// Whether data share lambda (an amortised family) or have a part of it each is the family's matter; its documentation says.
pub trait BlockFamily: Send + Sync {
    /// The number of data.
    fn num_blocks(&self) -> usize;

    /// The dimension of a latent point.
    fn block_dim(&self) -> usize;

    /// The length of lambda.
    fn num_params(&self) -> usize;

    /// Numbers of lent memory that any method needs for a batch of so many columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Refuses a lambda of the wrong length, one with a NaN or an infinity, or one the family cannot represent.
    ///
    /// # Errors
    /// Says which and where.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)
    }

    /// The configuration in words, kept in checkpoints: a fit is resumed only where it is the same. Write `format!("{self:?}")`, or what
    /// says as much in fewer words; the default is the name of the type, which does not see its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// `log q_lambda(z_k | x_i)` of each column, where `i` is the entry of `rows` beside it.
    ///
    /// # Panics
    /// If the shapes differ, or there is no such datum.
    fn log_blocks(
        &self,
        params: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    );

    /// Draws each column from the guide of the row beside it, with the lane beside it, and says its log density.
    ///
    /// # Panics
    /// If the shapes differ, or there is no such datum.
    fn sample_blocks_into(
        &self,
        params: &[f64],
        rows: &[usize],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    );

    /// `gradient += sum_k weights[k] * d/dlambda log q_lambda(z_k | x_{rows[k]})`, added in the order of `k`.
    ///
    /// # Panics
    /// If the shapes differ, or there is no such datum.
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

/// A block family held at one lambda.
pub struct BlocksAt<'a, F: ?Sized> {
    family: &'a F,
    params: &'a [f64],
    work: &'a mut [f64],
}

impl<'a, F: BlockFamily + ?Sized> BlocksAt<'a, F> {
    /// `family` at `params`, with memory for batches of `columns`.
    ///
    /// # Errors
    /// If the family refuses the params, or `work` is shorter than `family.work_len(columns)`.
    pub fn new(family: &'a F, params: &'a [f64], columns: usize, work: &'a mut [f64]) -> Result<Self, Error> {
        family.check(params)?;
        let needed = family.work_len(columns);
        if work.len() < needed {
            same_length("work", needed, work.len())?;
        }
        Ok(Self { family, params, work })
    }

    /// As [`BlockFamily::add_block_scores`], at the lambda held.
    ///
    /// # Panics
    /// If the shapes differ, or there is no such datum.
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
