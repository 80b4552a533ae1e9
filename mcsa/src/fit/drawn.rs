//! Weighted draws of a fit, in memory or to be made again.

use mcsa_core::bits;
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use super::Objection;
use super::witness::Chains;

/// Weighted draws of the last proposal that was drawn from, and which it was: draws are not saved, but made again with the same bits.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Drawn {
    /// Number of the climb, and its steps.
    pub(super) of: Option<(u64, u64)>,
    /// Their number, if a limit may have reduced it.
    #[serde(default)]
    pub(super) count: Option<usize>,
    #[serde(skip)]
    pub(super) draws: Option<Draws>,
}

/// Equality of the proposals.
impl PartialEq for Drawn {
    fn eq(&self, other: &Self) -> bool {
        self.of == other.of
    }
}

/// Fit whose checks passed, while a mixture is tried because its weights are uneven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Number of climbs, of which it is the last.
    pub(super) climbs: usize,
    /// Its draws, and the witness chains.
    pub(super) drawn: Drawn,
    pub(super) chains: Chains,
    /// Log evidence and its standard error.
    pub(super) evidence: [f64; 2],
    /// Effective sample size.
    pub(super) sample_size: f64,
}

/// Fit before a flow learnt from long chains, to which a witness may have objected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Before {
    pub(super) climbs: usize,
    pub(super) drawn: Drawn,
    pub(super) chains: Chains,
    #[serde(with = "bits::scalar")]
    pub(super) log_evidence: f64,
    pub(super) objections: Vec<Objection>,
}
