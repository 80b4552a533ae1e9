//! Claims: a formula, the two sides of it, the search that tries to refute it, and the result.

use std::fmt;
use std::sync::Arc;

use mcsa_core::Seed;
use mcsa_optim::deterministic::NelderMead;
use serde::Serialize;

use super::Searchable;

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

/// The papers; the last are statements of this workspace, which no paper printed.
const PAPERS: [Paper; 6] = [
    Paper { number: "000", key: "MCMC-SE", title: "MCMC score estimators" },
    Paper { number: "001", key: "pMCSA", title: "Markov chain score ascent" },
    Paper { number: "002", key: "MSC", title: "Markovian score climbing" },
    Paper { number: "003", key: "CW", title: "Chain wielding strategies" },
    Paper { number: "004", key: "SL-DAIS", title: "Surrogate likelihoods" },
    Paper { number: "005", key: "ours", title: "Running moments" },
];

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
        Judgement {
            id: self.id,
            paper: self.paper,
            place: self.place,
            assumptions: self.assumptions,
            remark: self.remark,
            printed: self.printed.examined(effort, seed, 0),
            corrected: (1..)
                .zip(&self.corrected)
                .map(|(k, each)| each.examined(effort, seed, 2 * k))
                .collect(),
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

/// Computes the two sides of a claim in a case; `None` where the claim does not apply, or rounding would decide.
type Measure<C> = Arc<dyn Fn(&C) -> Option<Sides> + Send + Sync>;

/// A formula, its test, and optionally a stronger formula that the same test must refute.
pub struct Statement {
    /// The formula in plain text.
    pub formula: String,
    /// Method by which its sides are computed, or the reason why they cannot be.
    pub method: &'static str,
    trial: Box<dyn Fn(Effort, Seed) -> Finding + Send + Sync>,
    twin: Option<Box<Statement>>,
}

impl Statement {
    /// A statement whose two sides cannot be computed, for the given `reason`.
    pub fn not_checkable(formula: &str, reason: &'static str) -> Self {
        let trial = Box::new(|_, _| Finding::of(None, Vec::new(), 0));
        Self { formula: formula.into(), method: reason, trial, twin: None }
    }

    /// The claim named `id`: this statement as printed at `place` of the paper with whose number `id` begins. Assumptions, remark
    /// and corrections are empty.
    ///
    /// # Panics
    /// If no paper has this number.
    pub fn claim(self, id: &'static str, place: &'static str) -> Claim {
        let paper = PAPERS.into_iter().find(|paper| id.starts_with(paper.number));
        let paper = paper.expect("a number of a paper");
        Claim { id, paper, place, assumptions: "", remark: "", printed: self, corrected: Vec::new() }
    }

    /// Tests the statement.
    pub fn examine(&self, effort: Effort, seed: Seed) -> Finding {
        (self.trial)(effort, seed)
    }

    /// A deliberately stronger statement that a working search refutes.
    pub fn twin(&self) -> Option<&Self> {
        self.twin.as_deref()
    }

    fn examined(&self, effort: Effort, seed: Seed, role: u64) -> Examined {
        Examined {
            formula: self.formula.clone(),
            method: self.method,
            finding: self.examine(effort, seed.child(role)),
            twin: self.twin().map(|twin| Box::new(twin.examined(effort, seed, role + 1))),
        }
    }
}

/// A statement about cases of one type, with examples and a twin; converts into a [`Statement`], which does not depend on that type.
///
/// ```
/// use mcsa_theory::claims::{Atoms, Effort, Searchable, Setting, Sides, Standing, Statement};
/// let smaller = |case: &Atoms| Sides::at_most(1.0, case.w_star());
/// let bound = Atoms::bound("1 <= w*", &Setting::atoms(&[2, 3]), smaller).twin_times(0.9);
/// let statement: Statement = bound.into();
/// let seed = mcsa_core::Seed::new(1);
/// assert_eq!(statement.examine(Effort::BRIEF, seed).standing, Standing::Tight);
/// assert!(statement.twin().unwrap().examine(Effort::BRIEF, seed).search_refutes());
/// ```
pub struct Bound<C: Searchable> {
    pub(super) formula: String,
    pub(super) method: &'static str,
    pub(super) settings: Vec<C::Setting>,
    pub(super) examples: Vec<C>,
    pub(super) measure: Measure<C>,
    pub(super) twin: Option<Box<Statement>>,
}

impl<C: Searchable> Bound<C> {
    /// Adds a case worked out by hand, always tested and printed first.
    #[must_use]
    pub fn example(mut self, case: C) -> Self {
        self.examples.push(case);
        self
    }

    /// Sets the method by which the sides are computed, if it is not enumeration.
    #[must_use]
    pub fn by(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    /// Sets the twin to the statement with its right side multiplied by `factor`.
    #[must_use]
    pub fn twin_times(self, factor: f64) -> Self {
        let measure = self.measure.clone();
        let tightened = move |case: &C| measure(case).map(|s| Sides { rhs: factor * s.rhs, ..s });
        self.twin(&format!("{factor} times the right side"), tightened)
    }

    /// Sets the twin to another, stronger statement about cases of the same type.
    #[must_use]
    pub fn twin<S: Into<Option<Sides>>>(
        mut self,
        formula: &str,
        measure: impl Fn(&C) -> S + Send + Sync + 'static,
    ) -> Self {
        let twin = Self { method: self.method, ..C::bound(formula, &self.settings, measure) };
        self.twin = Some(Box::new(twin.into()));
        self
    }

    /// The claim that this statement is printed in a paper, as by [`Statement::claim`].
    ///
    /// # Panics
    /// If no paper has the number with which the name begins.
    pub fn claim(self, id: &'static str, place: &'static str) -> Claim {
        Statement::from(self).claim(id, place)
    }
}

impl<C: Searchable> From<Bound<C>> for Statement {
    fn from(bound: Bound<C>) -> Self {
        let Bound { formula, method, settings, examples, measure, twin } = bound;
        let trial = move |effort, seed| search(&settings, &examples, &*measure, effort, seed);
        Self { formula, method, trial: Box::new(trial), twin }
    }
}

/// Relation that a claim states between its two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `lhs <= rhs`.
    AtMost,
    /// `lhs < rhs`.
    Below,
    /// `lhs = rhs`.
    Equal,
}

/// Values of both sides of a claim in one case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sides {
    /// The left-hand side.
    pub lhs: f64,
    /// The right-hand side.
    pub rhs: f64,
    /// The relation claimed.
    pub relation: Relation,
}

/// Values below this count as rounding. Scores of random cases are at most 1, and rates that decay below it are not tested.
const FLOOR: f64 = 1e-8;

/// A ratio may exceed 1 by this much because of rounding.
const RATIO_NOISE: f64 = 1e-7;

/// The sides of an identity may differ by this much because of rounding, relative to the larger of them and 1.
const IDENTITY_NOISE: f64 = 1e-9;

impl Sides {
    /// `lhs <= rhs`.
    pub fn at_most(lhs: f64, rhs: f64) -> Self {
        Self { lhs, rhs, relation: Relation::AtMost }
    }

    /// `lhs < rhs`.
    pub fn below(lhs: f64, rhs: f64) -> Self {
        Self { lhs, rhs, relation: Relation::Below }
    }

    /// `lhs = rhs`.
    pub fn equal(lhs: f64, rhs: f64) -> Self {
        Self { lhs, rhs, relation: Relation::Equal }
    }

    /// The sides that are farthest apart, by their [`badness`](Self::badness).
    pub(super) fn farthest(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().max_by(|a, b| a.badness().total_cmp(&b.badness()))
    }

    /// Measure of how close the case comes to refuting the claim. Up to rounding, a value above 1 refutes an inequality, and a
    /// value above 0 an identity.
    ///
    /// For an inequality it is `lhs / rhs`, or 0 if that is negative. With `rhs <= 0` it is 0 if `lhs <= rhs`, else infinite, up
    /// to rounding. For an identity it is the absolute difference, relative to the larger side or 1. If a side is NaN, it is
    /// infinite: a bound that cannot be computed is none.
    ///
    /// ```
    /// use mcsa_theory::claims::Sides;
    /// assert_eq!(Sides::at_most(3.0, 4.0).badness(), 0.75);
    /// assert_eq!(Sides::at_most(1.0, -1.0).badness(), f64::INFINITY);
    /// assert_eq!(Sides::equal(0.5, 0.25).badness(), 0.25);
    /// ```
    pub fn badness(&self) -> f64 {
        let Self { lhs, rhs, relation } = *self;
        if lhs.is_nan() || rhs.is_nan() {
            return f64::INFINITY;
        }
        if relation == Relation::Equal {
            let scale = lhs.abs().max(rhs.abs()).max(1.0);
            return if lhs == rhs { 0.0 } else { (lhs - rhs).abs() / scale };
        }
        if rhs > FLOOR {
            return (lhs / rhs).max(0.0);
        }
        // With a right side of zero or below, only the difference has a meaning.
        match lhs - rhs {
            excess if excess <= FLOOR => 0.0,
            _ if rhs > 0.0 => lhs / rhs,
            _ => f64::INFINITY,
        }
    }

    /// True if the case refutes the claim by more than rounding. A strict inequality is refuted by equality.
    pub fn refute(&self) -> bool {
        match self.relation {
            Relation::AtMost => self.badness() > 1.0 + RATIO_NOISE,
            Relation::Below => !(self.lhs < self.rhs),
            Relation::Equal => !(self.badness() <= IDENTITY_NOISE),
        }
    }
}

/// Effort of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Number of random cases per statement.
    pub cases: usize,
    /// Number of local searches from the worst random cases, per statement.
    pub climbs: usize,
    /// Number of iterations of a local search.
    pub iterations: u64,
}

impl Effort {
    /// A thousand cases: for every commit.
    pub const BRIEF: Self = Self { cases: 1_000, climbs: 6, iterations: 250 };
    /// Four thousand cases and longer local searches.
    pub const USUAL: Self = Self { cases: 4_000, climbs: 16, iterations: 600 };
    /// A hundred thousand cases.
    pub const LONG: Self = Self { cases: 100_000, climbs: 64, iterations: 2_000 };
}

/// The worst case found, by [`Sides::badness`].
struct Worst<C> {
    case: C,
    sides: Sides,
}

/// Evaluates the examples and random cases of each setting, then maximises the badness from the worst of them by Nelder-Mead.
/// The result is a pure function of the arguments.
pub(super) fn search<C: Searchable>(
    settings: &[C::Setting],
    examples: &[C],
    measure: &dyn Fn(&C) -> Option<Sides>,
    effort: Effort,
    seed: Seed,
) -> Finding {
    let judge = |case: &C| measure(case).map(|sides| Worst { case: case.clone(), sides });
    let mut tried = 0;
    let mut worst: Vec<Worst<C>> = Vec::new();
    let share = effort.cases.div_ceil(settings.len().max(1));
    let kept = effort.climbs.div_ceil(settings.len().max(1));
    for (index, setting) in settings.iter().enumerate() {
        let seed = seed.child(index as u64);
        let mut judged = 0;
        let mut best: Vec<Worst<C>> = Vec::new();
        // A claim may not apply to a case; a setting where it never applies ends after ten times its share.
        for draw in 0..10 * share as u64 {
            if judged == share {
                break;
            }
            let Some(found) = judge(&C::draw(setting, &mut seed.stream(0, draw))) else { continue };
            judged += 1;
            let rank = best.iter().take_while(|other| !is_worse(&found.sides, &other.sides)).count();
            if rank < kept {
                best.insert(rank, found);
                best.truncate(kept);
            }
        }
        tried += judged;
        worst.append(&mut best);
    }
    worst.sort_by(|a, b| b.sides.badness().total_cmp(&a.sides.badness()));
    worst.truncate(effort.climbs);
    let mut found: Option<Worst<C>> = None;
    for start in worst {
        let reached = climb(&start, measure, effort.iterations);
        for candidate in [Some(start), reached].into_iter().flatten() {
            if found.as_ref().is_none_or(|found| is_worse(&candidate.sides, &found.sides)) {
                found = Some(candidate);
            }
        }
    }
    let witness = |worst: Worst<C>| Witness::new(worst.sides, worst.case.to_string());
    let examples: Vec<Witness> = examples.iter().filter_map(judge).map(witness).collect();
    Finding::of(found.map(witness), examples, tried)
}

/// A refuting case is worse than any other; else the larger badness decides.
fn is_worse(a: &Sides, b: &Sides) -> bool {
    (a.refute(), a.badness()) > (b.refute(), b.badness())
}

fn climb<C: Searchable>(
    start: &Worst<C>,
    measure: &dyn Fn(&C) -> Option<Sides>,
    iterations: u64,
) -> Option<Worst<C>> {
    let coordinates = start.case.coordinates();
    let climber = NelderMead { width: 0.7, tolerance: 1e-14, iterations };
    let badness = |x: &[f64]| measure(&start.case.at(x)).map_or(f64::NEG_INFINITY, |sides| sides.badness());
    let top = climber.maximise(badness, &coordinates).ok()?;
    let case = start.case.at(&top.point);
    measure(&case).map(|sides| Worst { case, sides })
}

/// Standing of a statement after the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No case refuted it, which is evidence and not a proof.
    Holds,
    /// No case refuted it, and one came within a thousandth: no better constant is possible there.
    Tight,
    /// At least one case refutes it.
    Violated,
    /// Its two sides cannot be computed.
    NotCheckable,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Tight => "tight",
            Self::Violated => "VIOLATED",
            Self::NotCheckable => "not checkable",
        })
    }
}

/// A case and the values of the two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Witness {
    /// The left-hand side.
    pub lhs: f64,
    /// The right-hand side.
    pub rhs: f64,
    /// [`Sides::badness`]: the ratio of the sides, or the difference in an identity. Infinity is written as null in JSON.
    pub badness: f64,
    /// True if this case refutes the statement.
    pub refutes: bool,
    /// True if the statement is an identity.
    pub identity: bool,
    /// The case, in words and numbers.
    pub case: String,
}

impl Witness {
    pub(super) fn new(sides: Sides, case: String) -> Self {
        Self {
            lhs: sides.lhs,
            rhs: sides.rhs,
            badness: sides.badness(),
            refutes: sides.refute(),
            identity: sides.relation == Relation::Equal,
            case,
        }
    }
}

/// Result of testing a statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Standing that follows from the cases.
    pub standing: Standing,
    /// The worst case found by the search, without the examples.
    pub worst: Option<Witness>,
    /// The examples given with the claim.
    pub examples: Vec<Witness>,
    /// Number of random cases tested.
    pub tried: usize,
}

/// Ratio from which on a bound counts as attained.
const TIGHT: f64 = 0.999;

impl Finding {
    /// The result that follows from the witnesses.
    pub(super) fn of(worst: Option<Witness>, examples: Vec<Witness>, tried: usize) -> Self {
        let all = || worst.iter().chain(&examples);
        let standing = if all().any(|witness| witness.refutes) {
            Standing::Violated
        } else if all().any(|witness| !witness.identity && witness.badness >= TIGHT) {
            Standing::Tight
        } else if all().next().is_some() {
            Standing::Holds
        } else {
            Standing::NotCheckable
        };
        Self { standing, worst, examples, tried }
    }

    /// True if something was tested and nothing refuted the statement.
    pub fn holds(&self) -> bool {
        matches!(self.standing, Standing::Holds | Standing::Tight)
    }

    /// True if the search refuted the statement, the given examples aside.
    pub fn search_refutes(&self) -> bool {
        self.worst.as_ref().is_some_and(|witness| witness.refutes)
    }

    /// The case to print: a given example that refutes, else the worst case.
    pub fn shown(&self) -> Option<&Witness> {
        self.examples.iter().find(|witness| witness.refutes).or(self.worst.as_ref()).or(self.examples.first())
    }

    /// Largest badness over all witnesses.
    pub fn worst_badness(&self) -> Option<f64> {
        self.worst.iter().chain(&self.examples).map(|witness| witness.badness).reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_refutes_nothing_and_the_rest_does() {
        assert!(!Sides::at_most(1.0 + 1e-8, 1.0).refute());
        assert!(Sides::at_most(1.0 + 1e-6, 1.0).refute());
        assert!(!Sides::at_most(1e-9, 0.0).refute());
        assert!(Sides::at_most(1e-3, 0.0).refute());
        assert!(!Sides::at_most(-2.0, -1.0).refute());
        assert!(Sides::below(1.0, 1.0).refute() && !Sides::at_most(1.0, 1.0).refute());
        assert!(!Sides::equal(1.0, 1.0 + 1e-12).refute() && Sides::equal(1.0, 1.0 + 1e-6).refute());
    }

    #[test]
    fn nan_refutes() {
        for sides in
            [Sides::at_most(f64::NAN, 1.0), Sides::below(0.0, f64::NAN), Sides::equal(f64::NAN, f64::NAN)]
        {
            assert!(sides.refute(), "{sides:?}");
        }
        assert!(!Sides::equal(f64::INFINITY, f64::INFINITY).refute());
    }
}
