//! Families with one distribution per datum, and the one with separate parameters for each datum.

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{Error, Family, Parametric, Stream, same_length};

/// A variational family with one distribution per datum, `q_lambda(z_i | x_i)`: the counterpart of [`Family`] for a
/// target of independent blocks.
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

/// Family with separate parameters for each datum, none shared: `q_lambda(z_i | x_i) = q_{lambda_i}(z_i)`.
///
/// Lambda is `[lambda_0; lambda_1; ..]`. It is as flexible as the single-datum family; the number of parameters grows with the
/// data.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::{MeanField, PerDatum};
/// let q = PerDatum { family: MeanField::new(2), data: 100 };
/// assert_eq!((q.dim(), q.num_params()), (2, 400));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PerDatum<F> {
    /// The family of a single datum.
    pub family: F,
    /// The number of data.
    pub data: usize,
}

impl<F: Family> PerDatum<F> {
    fn part(&self, row: usize) -> std::ops::Range<usize> {
        let k = self.family.num_params();
        row * k..(row + 1) * k
    }
}

impl<F: Family> Parametric for PerDatum<F> {
    fn config(&self) -> String {
        format!("PerDatum {{ family: {}, data: {} }}", self.family.config(), self.data)
    }

    fn dim(&self) -> usize {
        self.family.dim()
    }

    fn num_params(&self) -> usize {
        self.data * self.family.num_params()
    }

    fn work_len(&self, _: usize) -> usize {
        self.family.work_len(1)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        (0..self.data).try_for_each(|row| {
            self.family
                .check(&params[self.part(row)])
                .map_err(|error| error.within(format!("PerDatum, datum {row}")))
        })
    }
}

impl<F: Family> BlockFamily for PerDatum<F> {
    fn num_blocks(&self) -> usize {
        self.data
    }

    fn log_blocks(
        &self,
        params: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((z.ncols(), log_q.len()), (rows.len(), rows.len()), "a column and a density per row");
        for (k, &row) in rows.iter().enumerate() {
            self.family.log_probs(&params[self.part(row)], z.subcols(k, 1), &mut log_q[k..=k], work);
        }
    }

    fn sample_blocks_into(
        &self,
        params: &[f64],
        rows: &[usize],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((z.ncols(), lanes.len()), (rows.len(), rows.len()), "a column and a lane per row");
        for (k, &row) in rows.iter().enumerate() {
            let (lane, column) = (&mut lanes[k..=k], z.rb_mut().subcols_mut(k, 1));
            self.family.sample_into(&params[self.part(row)], lane, column, &mut log_q[k..=k], work);
        }
    }

    fn add_block_scores(
        &self,
        params: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((z.ncols(), weights.len()), (rows.len(), rows.len()), "a column and a weight per row");
        for (k, &row) in rows.iter().enumerate() {
            let part = self.part(row);
            let (params, gradient) = (&params[part.clone()], &mut gradient[part]);
            self.family.add_scores(params, z.subcols(k, 1), &weights[k..=k], gradient, work);
        }
    }
}
