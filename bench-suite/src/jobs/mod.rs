//! Execution of tasks: a file for each topic, and what they share: the steps of a fit, checkpoints, costs.

mod bound;
mod cases;
mod chains;
mod fit;
mod fixed;
mod path;
mod running;

pub(crate) use fit::SINGLE;
pub(crate) use fixed::Sums;
pub use running::{Due, Place, Running};

use std::collections::BTreeMap;
use std::time::Instant;

use mcsa_core::{Counted, Counts, Error, Separable};

use crate::store::{Ended, Row};
use crate::task::{Job, Task, of_each};

/// Result of a job: rows, and how it ended.
pub(crate) type JobEnd = (Vec<Row>, Ended);

/// Outcome of a run of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The result was stored.
    Stored,
    /// The run was interrupted; the next run continues from its checkpoint.
    Interrupted,
}

impl Job {
    /// Runs the job and stores its rows, unless it is interrupted.
    ///
    /// # Errors
    /// If its settings do not fit together, data are absent, or a file cannot be written. A fit that diverges is not an error
    /// but a result, and is stored.
    pub fn run(&self, running: &Running<'_>) -> Result<Ending, Error> {
        match self.rows(running).map_err(|error| error.within(self.title()))? {
            Some((rows, ended)) => running.store.save(self, &rows, &ended).map(|()| Ending::Stored),
            None => Ok(Ending::Interrupted),
        }
    }

    /// Runs the job. `None` if it was interrupted: the next run continues from its checkpoint.
    pub(crate) fn rows(&self, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        of_each!(&self.task, task => task.run(self, running))
    }
}

/// Current time. Seconds are reported beside the counts; no other number depends on them.
#[expect(clippy::disallowed_methods, reason = "seconds are results too, and no path depends on them")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Numbers of evaluations by name.
type Tally = BTreeMap<String, u64>;

/// Evaluation counts of a target and of families, by name.
fn totals(target: Counts, families: &[Counts]) -> Tally {
    let sum = |of: fn(&Counts) -> u64| families.iter().map(of).sum();
    let pairs = [
        ("p_evaluations", target.log_density),
        ("p_gradients", target.gradient),
        ("q_evaluations", sum(|family| family.log_prob)),
        ("q_draws", sum(|family| family.sample)),
        ("q_scores", sum(|family| family.score)),
        ("q_slopes", sum(|family| family.slope)),
    ];
    pairs.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// Likelihood terms of single data: those of evaluations on all data among them, and `others`.
fn terms(model: &Counted<impl Separable>, others: u64) -> Tally {
    let (counts, rows) = (model.counts(), model.num_data() as u64);
    let all = counts.terms + rows * (counts.log_density + counts.gradient + counts.hessian_vector);
    Tally::from([("terms".to_owned(), all + others)])
}
