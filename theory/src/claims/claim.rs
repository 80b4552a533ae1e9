//! Claims of the papers, with their place, assumptions and corrections.

use mcsa_core::Seed;
use serde::Serialize;

use super::finding::{Finding, Standing};
use super::search::Effort;
use super::statement::Statement;

/// The paper in which a claim was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Paper {
    /// Number with which the names of its claims begin.
    pub number: &'static str,
    /// Its key in the references of the README.
    pub key: &'static str,
    /// Its short title.
    pub title: &'static str,
}

/// The paper MCMC-SE: score estimators from Markov chains.
pub const MCMC_SE: Paper = Paper { number: "000", key: "MCMC-SE", title: "MCMC score estimators" };
/// The paper pMCSA: Markov chain score ascent.
pub const PMCSA: Paper = Paper { number: "001", key: "pMCSA", title: "Markov chain score ascent" };
/// The paper MSC: Markovian score climbing.
pub const MSC: Paper = Paper { number: "002", key: "MSC", title: "Markovian score climbing" };
/// The paper CW: strategies for sequential and parallel chains.
pub const CW: Paper = Paper { number: "003", key: "CW", title: "Chain wielding strategies" };
/// The paper SL-DAIS: surrogate likelihoods.
pub const SL_DAIS: Paper = Paper { number: "004", key: "SL-DAIS", title: "Surrogate likelihoods" };

/// Statements of this workspace on running moments, which no paper printed.
pub const MOMENTS: Paper = Paper { number: "005", key: "ours", title: "Running moments" };

/// A statement of a paper as a test that can fail, with corrected statements where it fails. As a [`Judgement`] it holds the
/// results of the tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim<S = Statement> {
    /// Name, such as `000-T1`.
    pub id: &'static str,
    /// The paper.
    pub paper: Paper,
    /// The place in the paper.
    pub place: &'static str,
    /// Assumptions, beyond a target, a guide and their normalised weight `w = p / q`.
    pub assumptions: &'static str,
    /// The flaw of the printed formula or another remark, in a sentence; may be empty.
    pub remark: &'static str,
    /// The statement as printed.
    pub printed: S,
    /// Corrected statements; several if one printed statement has several corrections.
    pub corrected: Vec<S>,
}

impl Claim {
    /// A claim without assumptions, remarks or corrections.
    pub fn new(id: &'static str, paper: Paper, place: &'static str, printed: impl Into<Statement>) -> Self {
        let printed = printed.into();
        Self { id, paper, place, assumptions: "", remark: "", printed, corrected: Vec::new() }
    }

    /// Sets the assumptions.
    #[must_use]
    pub fn assuming(self, assumptions: &'static str) -> Self {
        Self { assumptions, ..self }
    }

    /// Sets the remark.
    #[must_use]
    pub fn remark(self, remark: &'static str) -> Self {
        Self { remark, ..self }
    }

    /// Adds a corrected statement.
    #[must_use]
    pub fn corrected(mut self, corrected: impl Into<Statement>) -> Self {
        self.corrected.push(corrected.into());
        self
    }

    /// Tests all statements. The random seeds depend on the claim's name alone, not on other claims or their order.
    pub fn examine(&self, effort: Effort) -> Judgement {
        let seed = Seed::new(1).named(self.id);
        let examined = |statement: &Statement, role: u64| {
            let twin = statement.twin().map(|twin| Examined {
                formula: twin.formula.clone(),
                method: twin.method,
                finding: twin.examine(effort, seed.child(role + 1)),
                twin: None,
            });
            let finding = statement.examine(effort, seed.child(role));
            let (formula, method) = (statement.formula.clone(), statement.method);
            Examined { formula, method, finding, twin: twin.map(Box::new) }
        };
        Judgement {
            id: self.id,
            paper: self.paper,
            place: self.place,
            assumptions: self.assumptions,
            remark: self.remark,
            printed: examined(&self.printed, 0),
            corrected: (1..).zip(&self.corrected).map(|(k, corrected)| examined(corrected, 2 * k)).collect(),
        }
    }
}

/// A statement with the result of its test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Examined {
    /// The formula in plain text.
    pub formula: String,
    /// Method by which the sides were computed, or the reason why they could not be.
    pub method: &'static str,
    /// Result of the test.
    pub finding: Finding,
    /// A stronger statement that the search must refute, as a test of the search.
    pub twin: Option<Box<Examined>>,
}

impl Examined {
    /// True if the search refuted the stronger statement, or there is none.
    pub fn twin_is_refuted(&self) -> bool {
        self.twin.as_ref().is_none_or(|twin| twin.finding.search_refutes())
    }
}

/// A claim with the results of its tests.
pub type Judgement = Claim<Examined>;

impl Judgement {
    /// Standing of the printed statement.
    pub fn standing(&self) -> Standing {
        self.printed.finding.standing
    }

    /// True if all corrections hold and the searches refute all stronger statements.
    pub fn is_sound(&self) -> bool {
        let mut corrected = self.corrected.iter();
        corrected.all(|corrected| corrected.finding.holds() && corrected.twin_is_refuted())
            && self.printed.twin_is_refuted()
    }
}
