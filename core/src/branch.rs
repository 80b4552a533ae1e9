//! Enumeration of all branches of discrete random decisions, for exact transition matrices.

use crate::{Error, Script, Stream};

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
    mut run: impl FnMut(&mut [Stream]) -> T,
) -> Result<Vec<Branch<T>>, Error> {
    let mut script = Script::new();
    let mut streams = script.streams(lanes);
    let mut branches = Vec::new();
    loop {
        let outcome = run(&mut streams);
        branches.push(Branch { probability: script.probability(), outcome });
        if !script.advance()? {
            return Ok(branches);
        }
        if branches.len() == limit {
            return Err(Error::Script { reason: "more branches than the limit" });
        }
    }
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
