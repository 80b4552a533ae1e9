//! A sentence of a paper.

use mcsa::Seed;
use serde::Serialize;

use super::finding::{Finding, Standing};
use super::search::Effort;
use super::statement::Statement;

/// Where a claim was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Paper {
    /// The number that begins the names of its claims.
    pub number: &'static str,
    /// Its key in the references of the README.
    pub key: &'static str,
    /// Its short title.
    pub title: &'static str,
}

/// Score estimators from Markov chains.
pub const MCMC_SE: Paper = Paper { number: "000", key: "MCMC-SE", title: "MCMC score estimators" };
/// Markov chain score ascent.
pub const PMCSA: Paper = Paper { number: "001", key: "pMCSA", title: "Markov chain score ascent" };
/// Markovian score climbing.
pub const MSC: Paper = Paper { number: "002", key: "MSC", title: "Markovian score climbing" };
/// Chain wielding.
pub const CW: Paper = Paper { number: "003", key: "CW", title: "Chain wielding strategies" };
/// Surrogate likelihoods.
pub const SL_DAIS: Paper = Paper { number: "004", key: "SL-DAIS", title: "Surrogate likelihoods" };

/// A sentence of a paper as a check that can fail; where it fails, what is true instead.
pub struct Claim {
    /// Its name, such as `000-T1`.
    pub id: &'static str,
    /// Where it was printed.
    pub paper: Paper,
    /// The place in the paper.
    pub place: &'static str,
    /// What it assumes, beyond a target, a guide and their normalised weight `w = p / q`.
    pub assumptions: &'static str,
    /// What the authors' formula overlooks, in a sentence; empty if nothing.
    pub remark: &'static str,
    /// As printed.
    pub printed: Statement,
    /// What is true instead; several, if one sentence is true in several ways.
    pub corrected: Vec<Statement>,
}

impl Claim {
    /// A claim without assumptions, remarks or corrections.
    pub fn new(id: &'static str, paper: Paper, place: &'static str, printed: impl Into<Statement>) -> Self {
        let printed = printed.into();
        Self { id, paper, place, assumptions: "", remark: "", printed, corrected: Vec::new() }
    }

    /// What it assumes.
    #[must_use]
    pub fn assuming(self, assumptions: &'static str) -> Self {
        Self { assumptions, ..self }
    }

    /// What to know about it.
    #[must_use]
    pub fn remark(self, remark: &'static str) -> Self {
        Self { remark, ..self }
    }

    /// One more thing that is true instead.
    #[must_use]
    pub fn corrected(mut self, corrected: impl Into<Statement>) -> Self {
        self.corrected.push(corrected.into());
        self
    }

    /// Tries all its statements. The seeds hang on its name, not on what else is tried, nor in which order.
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

/// A statement with what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Examined {
    /// The formula in plain text.
    pub formula: String,
    /// How its sides were computed; or why they could not be.
    pub method: &'static str,
    /// What was found.
    pub finding: Finding,
    /// A stronger statement, on which the search shows that it can refute.
    pub twin: Option<Box<Examined>>,
}

impl Examined {
    /// Whether the search can be trusted here: it refuted the twin, if there is one.
    pub fn twin_is_refuted(&self) -> bool {
        self.twin.as_ref().is_none_or(|twin| twin.finding.search_refutes())
    }
}

/// A claim with what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The claim's name.
    pub id: &'static str,
    /// Where it was printed.
    pub paper: Paper,
    /// The place in the paper.
    pub place: &'static str,
    /// What it assumes.
    pub assumptions: &'static str,
    /// What to know about it.
    pub remark: &'static str,
    /// As printed.
    pub printed: Examined,
    /// What is true instead.
    pub corrected: Vec<Examined>,
}

impl Judgement {
    /// What the numbers say of the printed statement.
    pub fn standing(&self) -> Standing {
        self.printed.finding.standing
    }

    /// Whether all is as it should be: the corrections hold, and the searches refute the twins.
    pub fn is_sound(&self) -> bool {
        let mut corrected = self.corrected.iter();
        corrected.all(|corrected| corrected.finding.holds() && corrected.twin_is_refuted())
            && self.printed.twin_is_refuted()
    }
}
