//! Amortised family: a linear map from the features of a datum to the parameters of its proposal.

use crate::BlockFamily;
use faer::reborrow::ReborrowMut;
use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Columns, Error, Family, Parametric, Stream, all_finite, borrow, checksum, numeric};

/// Amortised family: the parameters of each datum are a linear function of its features, with coefficients shared by all data.
///
/// ```text
/// q_lambda(z_i | x_i) = q_{mu_i}(z_i),    mu_i = b + B x_i,    lambda = [b; B column by column]
/// d/db log q = s_i,   d/dB log q = s_i x_i^T,    s_i the score of the family at mu_i
/// ```
///
/// Exact for linear-Gaussian models, whose posterior means are linear in the data. Where `mu_i` of some datum is not valid for the
/// family (a scale that underflows), its density is NaN or not finite, and kernels reject and count such proposals.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::BlockFamily;
/// use mcsa_families::{Amortised, MeanField};
/// let features = faer::mat![[0.5, -1.0, 2.0]]; // one feature of three data
/// let q = Amortised::new(MeanField::new(1), features)?;
/// assert_eq!((q.num_blocks(), q.num_params()), (3, 4));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Amortised<F> {
    family: F,
    features: Mat<f64>,
}

impl<F: Family> Amortised<F> {
    /// Amortises `family` over the columns of `features`, one column per datum.
    ///
    /// # Errors
    /// If a feature is not finite.
    pub fn new(family: F, features: Mat<f64>) -> Result<Self, Error> {
        (0..features.ncols())
            .try_for_each(|row| all_finite("features", features.as_ref().column(row)))
            .map_err(|error| error.within("Amortised"))?;
        Ok(Self { family, features })
    }

    /// The family of a single datum.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// Lambda at which every datum has the same family parameters: `b = params`, `B = 0`.
    ///
    /// # Errors
    /// If `check` of the single-datum family refuses `params`.
    pub fn same_for_all(&self, params: &[f64]) -> Result<Vec<f64>, Error> {
        self.family.check(params)?;
        let mut lambda = params.to_vec();
        lambda.resize(self.num_params(), 0.0);
        Ok(lambda)
    }

    /// Family parameters of datum `row`, `mu_i = b + B x_i`, written to `out`.
    ///
    /// # Panics
    /// If the lengths differ, or datum `row` does not exist.
    pub fn params_of(&self, params: &[f64], row: usize, out: &mut [f64]) {
        let k = self.family.num_params();
        out.copy_from_slice(&params[..k]);
        for (column, &x) in params[k..].chunks_exact(k).zip(self.features.col_as_slice(row)) {
            numeric::axpy(x, column, out);
        }
    }
}

/// Approximate number of features that enter the checksum of the configuration.
const SAMPLED: usize = 4096;

impl<F: Family> Parametric for Amortised<F> {
    fn config(&self) -> String {
        // There may be many features: a checksum of some of them distinguishes other data in most cases, and costs little.
        let (rows, data) = (self.features.nrows(), self.features.ncols());
        let apart = (rows * data / SAMPLED).max(1);
        let some = (0..rows * data).step_by(apart).map(|k| self.features[(k % rows, k / rows)]);
        let sum = checksum(some.flat_map(|x| x.to_bits().to_le_bytes()));
        format!(
            "Amortised {{ family: {}, features: {rows} x {data}, checksum: {sum:016x} }}",
            self.family.config()
        )
    }

    fn dim(&self) -> usize {
        self.family.dim()
    }

    fn num_params(&self) -> usize {
        self.family.num_params() * (1 + self.features.nrows())
    }

    fn work_len(&self, _: usize) -> usize {
        2 * self.family.num_params() + self.family.work_len(1)
    }
}

impl<F: Family> BlockFamily for Amortised<F> {
    fn num_blocks(&self) -> usize {
        self.features.ncols()
    }

    fn log_blocks(
        &self,
        params: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.ncols(), log_q.len()), (rows.len(), rows.len()), "a column and a density per row");
        let own = borrow(&mut work, self.family.num_params());
        for (k, &row) in rows.iter().enumerate() {
            self.params_of(params, row, own);
            self.family.log_probs(own, z.subcols(k, 1), &mut log_q[k..=k], work);
        }
    }

    fn sample_blocks_into(
        &self,
        params: &[f64],
        rows: &[usize],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.ncols(), lanes.len()), (rows.len(), rows.len()), "a column and a lane per row");
        let own = borrow(&mut work, self.family.num_params());
        for (k, &row) in rows.iter().enumerate() {
            self.params_of(params, row, own);
            let (lane, column) = (&mut lanes[k..=k], z.rb_mut().subcols_mut(k, 1));
            self.family.sample_into(own, lane, column, &mut log_q[k..=k], work);
        }
    }

    fn add_block_scores(
        &self,
        params: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.ncols(), weights.len()), (rows.len(), rows.len()), "a column and a weight per row");
        let size = self.family.num_params();
        let (own, score) = (borrow(&mut work, size), borrow(&mut work, size));
        let (d_offset, d_slope) = gradient.split_at_mut(size);
        for (k, &row) in rows.iter().enumerate() {
            self.params_of(params, row, own);
            score.fill(0.0);
            self.family.add_scores(own, z.subcols(k, 1), &weights[k..=k], score, work);
            numeric::axpy(1.0, score, d_offset);
            for (column, &x) in d_slope.chunks_exact_mut(size).zip(self.features.col_as_slice(row)) {
                numeric::axpy(x, score, column);
            }
        }
    }
}
