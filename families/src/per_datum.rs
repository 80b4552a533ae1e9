//! Families of the local variables of many data: parameters for each datum, or a linear map from its features.

use faer::reborrow::ReborrowMut;
use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    Columns, Error, Family, Parametric, Stream, all_finite, borrow, checksum, numeric, same_length,
};

/// A variational family with one distribution per datum, `q_lambda(z_i | x_i) = q_{mu_i}(z_i)`: the counterpart of [`Family`] for a
/// target of independent blocks. Each `mu_i` is a function of lambda.
///
/// An implementation may share lambda among the data (an amortised family) or give each datum its own part of lambda; its
/// documentation says which. [`work_len`](Parametric::work_len) is the length that [`BlocksAt::new`] needs: at least that of the
/// family of a datum for one column, and twice its number of parameters.
pub trait BlockFamily: Parametric {
    /// The family of a single datum.
    type Datum: Family;

    /// The family of a single datum.
    fn datum(&self) -> &Self::Datum;

    /// The number of data.
    fn num_blocks(&self) -> usize;

    /// Parameters `mu_i` of datum `row`, written to `own`.
    fn params_of(&self, params: &[f64], row: usize, own: &mut [f64]);

    /// `gradient += (d mu_i / d lambda)^T score` at datum `row`.
    fn add_score_of(&self, row: usize, score: &[f64], gradient: &mut [f64]);
}

/// Proposal distributions of blocks, `q_lambda(z_i | x_i)` at a fixed lambda, evaluated for many data in one batch.
///
/// # Panics
/// Its methods panic if the shapes differ, or an entry of `rows` is not less than [`num_blocks`](BlockFamily::num_blocks).
pub struct BlocksAt<'a, F: ?Sized> {
    family: &'a F,
    params: &'a [f64],
    own: &'a mut [f64],
    score: &'a mut [f64],
    work: &'a mut [f64],
}

impl<'a, F: BlockFamily + ?Sized> BlocksAt<'a, F> {
    /// The proposal of `family` at `params`, with the memory `work` for batches of `columns` columns.
    ///
    /// # Errors
    /// If the params fail [`Parametric::check`], or `work` is shorter than `family.work_len(columns)`.
    pub fn new(
        family: &'a F,
        params: &'a [f64],
        columns: usize,
        mut work: &'a mut [f64],
    ) -> Result<Self, Error> {
        family.check(params)?;
        let needed = family.work_len(columns);
        if work.len() < needed {
            same_length("work", needed, work.len())?;
        }
        let [own, score] = [(); 2].map(|()| borrow(&mut work, family.datum().num_params()));
        Ok(Self { family, params, own, score, work })
    }

    /// `log q_lambda(z_k | x_i)` of each column `k`, with the datum `i = rows[k]`, written to `log_q`.
    pub fn log_blocks(&mut self, rows: &[usize], z: MatRef<'_, f64>, log_q: &mut [f64]) {
        assert_eq!((z.ncols(), log_q.len()), (rows.len(), rows.len()), "a column and a density per row");
        for (k, &row) in rows.iter().enumerate() {
            self.family.params_of(self.params, row, self.own);
            self.family.datum().log_probs(self.own, z.subcols(k, 1), &mut log_q[k..=k], self.work);
        }
    }

    /// Draws column `k` of `z` from `q_lambda(. | x_i)`, `i = rows[k]`, with lane `k`, and writes its log density to `log_q`.
    pub fn sample_blocks_into(
        &mut self,
        rows: &[usize],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
    ) {
        assert_eq!((z.ncols(), lanes.len()), (rows.len(), rows.len()), "a column and a lane per row");
        for (k, &row) in rows.iter().enumerate() {
            self.family.params_of(self.params, row, self.own);
            let (lane, column) = (&mut lanes[k..=k], z.rb_mut().subcols_mut(k, 1));
            self.family.datum().sample_into(self.own, lane, column, &mut log_q[k..=k], self.work);
        }
    }

    /// Weighted sum of scores, `gradient += sum_k weights[k] * d/dlambda log q_lambda(z_k | x_{rows[k]})`, added in the order of
    /// `k`.
    pub fn add_block_scores(
        &mut self,
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
    ) {
        assert_eq!((z.ncols(), weights.len()), (rows.len(), rows.len()), "a column and a weight per row");
        for (k, &row) in rows.iter().enumerate() {
            self.family.params_of(self.params, row, self.own);
            self.score.fill(0.0);
            let (z, weight) = (z.subcols(k, 1), &weights[k..=k]);
            self.family.datum().add_scores(self.own, z, weight, self.score, self.work);
            self.family.add_score_of(row, self.score, gradient);
        }
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
        2 * self.family.num_params() + self.family.work_len(1)
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
    type Datum = F;

    fn datum(&self) -> &F {
        &self.family
    }

    fn num_blocks(&self) -> usize {
        self.data
    }

    fn params_of(&self, params: &[f64], row: usize, own: &mut [f64]) {
        own.copy_from_slice(&params[self.part(row)]);
    }

    fn add_score_of(&self, row: usize, score: &[f64], gradient: &mut [f64]) {
        numeric::axpy(1.0, score, &mut gradient[self.part(row)]);
    }
}

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
/// use mcsa_families::{Amortised, BlockFamily, MeanField};
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

    /// Lambda at which every datum has the same family parameters: `b = params`, `B = 0`.
    ///
    /// # Errors
    /// If `check` of the single-datum family fails for `params`.
    pub fn same_for_all(&self, params: &[f64]) -> Result<Vec<f64>, Error> {
        self.family.check(params)?;
        let mut lambda = params.to_vec();
        lambda.resize(self.num_params(), 0.0);
        Ok(lambda)
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
    type Datum = F;

    fn datum(&self) -> &F {
        &self.family
    }

    fn num_blocks(&self) -> usize {
        self.features.ncols()
    }

    fn params_of(&self, params: &[f64], row: usize, own: &mut [f64]) {
        let size = own.len();
        own.copy_from_slice(&params[..size]);
        for (column, &x) in params[size..].chunks_exact(size).zip(self.features.col_as_slice(row)) {
            numeric::axpy(x, column, own);
        }
    }

    fn add_score_of(&self, row: usize, score: &[f64], gradient: &mut [f64]) {
        let (d_offset, d_slope) = gradient.split_at_mut(score.len());
        numeric::axpy(1.0, score, d_offset);
        for (column, &x) in d_slope.chunks_exact_mut(score.len()).zip(self.features.col_as_slice(row)) {
            numeric::axpy(x, score, column);
        }
    }
}
