//! Per-datum (non-amortised) family: separate parameters for each datum.

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{BlockFamily, Error, Family, Parametric, Stream, same_length};

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
