//! All that a kernel may know of `q_lambda`.

use faer::{MatMut, MatRef};

use crate::{Error, Family, Stream, same_length};

/// A distribution to propose from: evaluate it, draw from it, and nothing more.
///
/// A kernel meets a family only as `dyn Guide`; virtual calls happen once per batch.
pub trait Guide {
    /// The dimension of its points.
    fn dim(&self) -> usize;

    /// Log density of each column of `z`.
    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]);

    /// Draws every column of `z` and says its log density. With `c` columns and `l` lanes, lane `j`
    /// draws columns `j c/l .. (j+1) c/l`, in that order.
    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]);
}

impl<G: Guide + ?Sized> Guide for &mut G {
    fn dim(&self) -> usize {
        (**self).dim()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        (**self).log_probs(z, log_q);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        (**self).sample_into(lanes, z, log_q);
    }
}

/// What an estimator may put around the guide of each step, such as a defensive mixture. `()` leaves it as it is.
///
/// The kernel then proposes from the guarded guide, while scores are still those of the family: what is fitted does
/// not change.
pub trait Guard: Send + Sync {
    /// The configuration in words, kept in checkpoints: a fit is resumed only where it is the same. Write `format!("{self:?}")`, or what
    /// says as much in fewer words; the default is the name of the type, which does not see its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// Numbers of lent memory for batches of so many columns.
    fn work_len(&self, columns: usize) -> usize;

    /// Hands `run` the guarded guide.
    ///
    /// # Errors
    /// If guard and guide do not fit each other; then `run` is not called.
    fn guarded(
        &self,
        guide: &mut dyn Guide,
        columns: usize,
        work: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Guide),
    ) -> Result<(), Error>;
}

impl Guard for () {
    fn config(&self) -> String {
        "()".into()
    }

    fn work_len(&self, _: usize) -> usize {
        0
    }

    fn guarded(
        &self,
        guide: &mut dyn Guide,
        _: usize,
        _: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Guide),
    ) -> Result<(), Error> {
        run(guide);
        Ok(())
    }
}

/// A guide per block: an amortised `q_lambda(z_i | x_i)`, asked about many data at once.
pub trait BlockGuide {
    /// The dimension of a block.
    fn block_dim(&self) -> usize;

    /// Log density of each column under the guide of the row beside it.
    fn log_blocks(&mut self, rows: &[usize], z: MatRef<'_, f64>, log_q: &mut [f64]);

    /// Draws each column from the guide of the row beside it, with the lane beside it, and says its log density.
    fn sample_blocks_into(
        &mut self,
        rows: &[usize],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
    );
}

/// A family held at one lambda.
///
/// Borrows the params, so that a guide older than the step that moved them cannot exist.
pub struct At<'a, F: ?Sized> {
    family: &'a F,
    params: &'a [f64],
    work: &'a mut [f64],
}

impl<'a, F: Family + ?Sized> At<'a, F> {
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

    /// `gradient += sum_j weights[j] * d/dlambda log q_lambda(z_j)`, as [`Family::add_scores`].
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add_scores(&mut self, z: MatRef<'_, f64>, weights: &[f64], gradient: &mut [f64]) {
        self.family.add_scores(self.params, z, weights, gradient, self.work);
    }

    /// Mirrors a point in the centre of `q_lambda`, as [`Family::reflect`].
    pub fn reflect(&self, z: &mut [f64]) -> bool {
        self.family.reflect(self.params, z)
    }

    /// Gives the lent memory back.
    pub fn into_work(self) -> &'a mut [f64] {
        self.work
    }
}

impl<F: Family + ?Sized> Guide for At<'_, F> {
    fn dim(&self) -> usize {
        self.family.dim()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.family.log_probs(self.params, z, log_q, self.work);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        self.family.sample_into(self.params, lanes, z, log_q, self.work);
    }
}
