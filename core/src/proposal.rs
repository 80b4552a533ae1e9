//! Proposal distributions: a family at a fixed lambda, as the kernels see it.

use faer::{MatMut, MatRef};

use crate::{Error, Family, Stream, same_length};

/// Proposal distribution: draws, and log densities at any point.
///
/// Kernels see a family only as `dyn Proposal`, usually a [`FamilyProposal`]. Virtual calls happen once per batch.
pub trait Proposal {
    /// The dimension of a point.
    fn dim(&self) -> usize;

    /// Log density of each column of `z`, written to `log_q`.
    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]);

    /// Draws every column of `z` and writes the log densities of the draws to `log_q`.
    ///
    /// With `c` columns and `l` lanes, lane `j` draws columns `j c/l .. (j+1) c/l`, in that order.
    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]);
}

impl<G: Proposal + ?Sized> Proposal for &mut G {
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

/// Wrapper of the proposal distribution of each step, such as a defensive mixture. The guard `()` changes nothing.
///
/// The kernel proposes from the guarded proposal, while the scores remain those of the family: the family that is fitted to the target
/// does not change.
pub trait Guard: Send + Sync {
    /// Text of the configuration, which a checkpoint stores; implement it as [`Parametric::config`](crate::Parametric::config).
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// Length of the slice `work` that a guard needs for batches of `columns` columns.
    fn work_len(&self, columns: usize) -> usize;

    /// Calls `run` with the guarded proposal.
    ///
    /// # Errors
    /// If guard and proposal are incompatible, for example of different dimensions; then `run` is not called.
    fn guarded(
        &self,
        proposal: &mut dyn Proposal,
        columns: usize,
        work: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Proposal),
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
        proposal: &mut dyn Proposal,
        _: usize,
        _: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Proposal),
    ) -> Result<(), Error> {
        run(proposal);
        Ok(())
    }
}

/// The proposal of a family at a fixed lambda.
///
/// It borrows the params, so they cannot move while the proposal exists.
pub struct FamilyProposal<'a, F: ?Sized> {
    family: &'a F,
    params: &'a [f64],
    work: &'a mut [f64],
}

impl<'a, F: Family + ?Sized> FamilyProposal<'a, F> {
    /// The proposal of `family` at `params`, with the memory `work` for batches of `columns` columns.
    ///
    /// # Errors
    /// If the params fail [`Parametric::check`](crate::Parametric::check), or `work` is shorter than `family.work_len(columns)`.
    pub fn new(family: &'a F, params: &'a [f64], columns: usize, work: &'a mut [f64]) -> Result<Self, Error> {
        family.check(params)?;
        let needed = family.work_len(columns);
        if work.len() < needed {
            same_length("work", needed, work.len())?;
        }
        Ok(Self { family, params, work })
    }

    /// Weighted sum of scores, `gradient += sum_j weights[j] * d/dlambda log q_lambda(z_j)`, as [`Family::add_scores`].
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add_scores(&mut self, z: MatRef<'_, f64>, weights: &[f64], gradient: &mut [f64]) {
        self.family.add_scores(self.params, z, weights, gradient, self.work);
    }

    /// Replaces `z` by its mirror image in the centre of `q_lambda`, as [`Family::reflect`].
    pub fn reflect(&self, z: &mut [f64]) -> bool {
        self.family.reflect(self.params, z)
    }

    /// Returns the lent memory.
    pub fn into_work(self) -> &'a mut [f64] {
        self.work
    }
}

impl<F: Family + ?Sized> Proposal for FamilyProposal<'_, F> {
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
