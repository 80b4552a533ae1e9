//! Scripts of discrete random decisions, replayed branch by branch, and the enumeration of all branches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Error, Stream};

/// Script of discrete decisions, shared by the streams that replay it.
///
/// Run the code once per branch; between runs [`advance`](Script::advance) moves to the next branch. The probability of a branch is
/// the product of the probabilities of its decisions. Branches of probability zero are skipped. [`enumerate`] runs this loop.
#[derive(Clone, Default)]
pub struct Script(Arc<Mutex<Tape>>);

#[derive(Default)]
struct Tape {
    decisions: Vec<Decision>,
    cursor: usize,
    fault: Option<&'static str>,
}

struct Decision {
    probabilities: Vec<f64>,
    taken: usize,
}

impl Decision {
    fn next_possible(&self, from: usize) -> Option<usize> {
        (from..self.probabilities.len()).find(|&k| self.probabilities[k] > 0.0)
    }
}

impl Script {
    /// Probability of the branch that was run last.
    pub fn probability(&self) -> f64 {
        self.tape().decisions.iter().map(|d| d.probabilities[d.taken]).product()
    }

    /// Moves to the next branch; `false` if there is none left.
    ///
    /// # Errors
    /// If the run drew from a continuous distribution, or took fewer or other decisions than the run before.
    pub fn advance(&mut self) -> Result<bool, Error> {
        let mut tape = self.tape();
        if let Some(reason) = tape.fault {
            return Err(Error::Script { reason });
        }
        if tape.cursor < tape.decisions.len() {
            return Err(Error::Script { reason: "a replay made fewer decisions than the run before" });
        }
        tape.cursor = 0;
        while let Some(last) = tape.decisions.last_mut() {
            if let Some(next) = last.next_possible(last.taken + 1) {
                last.taken = next;
                return Ok(true);
            }
            tape.decisions.pop();
        }
        Ok(false)
    }

    pub(crate) fn fault(&self, reason: &'static str) {
        self.tape().fault.get_or_insert(reason);
    }

    pub(crate) fn decide(&self, probabilities: impl Iterator<Item = f64>) -> usize {
        let mut tape = self.tape();
        let cursor = tape.cursor;
        tape.cursor += 1;
        if let Some(decision) = tape.decisions.get(cursor) {
            let taken = decision.taken;
            if !probabilities.eq(decision.probabilities.iter().copied()) {
                tape.fault.get_or_insert("a replay met other probabilities than the run before");
            }
            return taken;
        }
        let mut decision = Decision { probabilities: probabilities.collect(), taken: 0 };
        decision.taken = decision.next_possible(0).unwrap_or(0);
        let taken = decision.taken;
        tape.decisions.push(decision);
        taken
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A branch of discrete decisions: its probability, and the value that the code returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch<T> {
    /// The product of the probabilities of its decisions.
    pub probability: f64,
    /// The value that the code returned.
    pub outcome: T,
}

/// Runs code along every branch of its discrete decisions and returns all branches.
///
/// `run` gets `lanes` streams that replay a [`Script`].
///
/// ```
/// let branches = mcsa_core::enumerate(1, 100, |lanes| lanes[0].accept(0.25_f64.ln())).unwrap();
/// assert_eq!(branches.len(), 2);
/// assert!((branches[1].probability - 0.25).abs() < 1e-15);
/// ```
///
/// # Errors
/// If a run draws from a continuous distribution, does not repeat the decisions of the run before, or there are more than `limit`
/// branches.
pub fn enumerate<T>(
    lanes: usize,
    limit: usize,
    run: impl FnMut(&mut [Stream]) -> T,
) -> Result<Vec<Branch<T>>, Error> {
    let mut branches = Vec::new();
    each_branch(lanes, limit, run, |probability, outcome| {
        branches.push(Branch { probability, outcome });
        Ok(())
    })?;
    Ok(branches)
}

/// As [`enumerate`], calls `take` with the probability and the outcome of every branch; returns the number of branches.
pub fn each_branch<T>(
    lanes: usize,
    limit: usize,
    mut run: impl FnMut(&mut [Stream]) -> T,
    mut take: impl FnMut(f64, T) -> Result<(), Error>,
) -> Result<usize, Error> {
    let mut script = Script::default();
    let mut streams = script.streams(lanes);
    for branch in 1.. {
        let outcome = run(&mut streams);
        let probability = script.probability();
        // A fault of the script is reported before the result of the faulty run.
        let more = script.advance()?;
        take(probability, outcome)?;
        if !more {
            return Ok(branch);
        }
        if branch == limit {
            break;
        }
    }
    Err(Error::Script { reason: "more branches than the limit" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_sum_to_one_and_zero_branches_are_skipped() {
        let branches = enumerate(2, 100, |lanes| {
            let k = lanes[0].choose(&[0.0, f64::NEG_INFINITY, 1.0]);
            (k, lanes[1].accept(-0.5))
        })
        .unwrap();
        assert_eq!(branches.len(), 4);
        assert!((branches.iter().map(|b| b.probability).sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(branches.iter().all(|b| b.outcome.0 != Some(1)));
    }

    #[test]
    fn a_continuous_draw_is_an_error() {
        assert!(enumerate(1, 10, |lanes| lanes[0].normal()).is_err());
        assert!(enumerate(1, 10, |lanes| lanes[0].uniform()).is_err());
    }

    #[test]
    fn code_that_does_not_replay_is_an_error() {
        let mut run = 0.0;
        let result = enumerate(1, 10, |lanes| {
            run -= 0.1;
            lanes[0].accept(run)
        });
        assert!(result.is_err());
    }

    #[test]
    fn the_limit_holds() {
        assert!(enumerate(1, 2, |lanes| lanes[0].choose(&[0.0; 3])).is_err());
        assert!(enumerate(1, 3, |lanes| lanes[0].choose(&[0.0; 3])).is_ok());
    }
}
