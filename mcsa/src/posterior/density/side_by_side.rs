//! Tasks on a gradient side by side: in threads, or in one thread with the points of all tasks in one batch.

use mcsa_core::Gradient;
use rayon::prelude::*;

use super::gate::Gate;

/// A gradient, and how independent tasks share it. The results have the same bits for any number of threads.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) gradient: &'a dyn Gradient,
    pub(crate) gate: &'a Gate,
    /// True if a call costs much more than a point, as those of a callable of another language do.
    pub(crate) in_batches: bool,
}

impl Shared<'_> {
    /// The results of the tasks `0..count`, in their order.
    pub(crate) fn each<T: Send>(
        self,
        count: usize,
        task: impl Fn(usize, &dyn Gradient) -> T + Sync,
    ) -> Vec<T> {
        match self.in_batches {
            // A browser has no second stack.
            #[cfg(not(target_family = "wasm"))]
            true => crate::posterior::density::batches::each(self.gradient, count, &task),
            _ => {
                let all = || (0..count).into_par_iter().map(|j| task(j, self.gradient)).collect();
                self.gate.in_threads(all)
            }
        }
    }
}
