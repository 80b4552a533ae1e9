//! Scripts of discrete random decisions, replayed branch by branch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Script of discrete decisions, shared by the streams that replay it.
///
/// Run the code once per branch; between runs [`advance`](Script::advance) moves to the next branch. The probability of a branch is
/// the product of the probabilities of its decisions. Branches of probability zero are skipped. [`enumerate`](crate::enumerate) runs this loop.
#[derive(Clone)]
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

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl Script {
    /// A script at its first branch.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Tape::default())))
    }

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
            return Err(Error::Script { reason: "a replay asked for fewer decisions than the run before" });
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
