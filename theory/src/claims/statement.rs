//! Statements that can be tested and refuted.

use mcsa_core::Seed;

use super::finding::{Finding, Standing};
use super::search::{Effort, search};
use super::{Searchable, Sides};

/// Computes the two sides of a claim in a case; `None` where the claim does not apply, or rounding would decide.
pub type Measure<C> = fn(&C) -> Option<Sides>;

type Trial = Box<dyn Fn(Effort, Seed) -> Finding + Send + Sync>;

/// A formula, its test, and optionally a stronger formula that the same test must refute.
pub struct Statement {
    /// The formula in plain text.
    pub formula: String,
    /// Method by which its sides are computed, or the reason why they cannot be.
    pub method: &'static str,
    trial: Trial,
    twin: Option<Box<Statement>>,
}

impl Statement {
    /// A statement whose two sides cannot be computed, for the given `reason`.
    pub fn not_checkable(formula: &str, reason: &'static str) -> Self {
        let none = Finding { standing: Standing::NotCheckable, worst: None, examples: Vec::new(), tried: 0 };
        Self {
            formula: formula.into(),
            method: reason,
            trial: Box::new(move |_, _| none.clone()),
            twin: None,
        }
    }

    /// Tests the statement.
    pub fn examine(&self, effort: Effort, seed: Seed) -> Finding {
        (self.trial)(effort, seed)
    }

    /// A deliberately stronger statement that a working search refutes.
    pub fn twin(&self) -> Option<&Self> {
        self.twin.as_deref()
    }
}

/// Builder of a statement about cases of one type; converts into a [`Statement`], which does not depend on that type.
///
/// ```
/// use mcsa_theory::claims::{Atoms, Bound, Effort, Setting, Sides, Standing, Statement};
/// let smaller = |case: &Atoms| Some(Sides::at_most(1.0, case.w_star()));
/// let bound = Bound::new("1 <= w*", Setting::atoms(&[2, 3]), smaller).twin_times(0.9);
/// let statement: Statement = bound.into();
/// let seed = mcsa_core::Seed::new(1);
/// assert_eq!(statement.examine(Effort::BRIEF, seed).standing, Standing::Tight);
/// assert!(statement.twin().unwrap().examine(Effort::BRIEF, seed).search_refutes());
/// ```
pub struct Bound<C: Searchable> {
    formula: String,
    method: &'static str,
    settings: Vec<C::Setting>,
    examples: Vec<C>,
    measure: Measure<C>,
    twin: Option<Box<Statement>>,
}

impl<C: Searchable> Bound<C> {
    /// A formula about cases of these settings; `measure` computes its sides.
    pub fn new(formula: &str, settings: Vec<C::Setting>, measure: Measure<C>) -> Self {
        let method = "enumeration";
        Self { formula: formula.into(), method, settings, examples: Vec::new(), measure, twin: None }
    }

    /// Adds a case worked out by hand, always tested and printed first.
    #[must_use]
    pub fn example(mut self, case: C) -> Self {
        self.examples.push(case);
        self
    }

    /// Sets the method by which the sides are computed, if it is not enumeration.
    #[must_use]
    pub fn by(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// Sets the twin to the statement with its right side multiplied by `factor`.
    #[must_use]
    pub fn twin_times(mut self, factor: f64) -> Self {
        let measure = self.measure;
        let tightened = move |case: &C| measure(case).map(|s| Sides { rhs: factor * s.rhs, ..s });
        let formula = format!("{factor} times the right side");
        self.twin = Some(Box::new(self.statement(formula, Vec::new(), tightened)));
        self
    }

    /// Sets the twin to another, stronger statement about cases of the same type.
    #[must_use]
    pub fn twin(mut self, formula: &str, measure: Measure<C>) -> Self {
        self.twin = Some(Box::new(self.statement(formula.into(), Vec::new(), measure)));
        self
    }

    fn statement(
        &self,
        formula: String,
        examples: Vec<C>,
        measure: impl Fn(&C) -> Option<Sides> + Send + Sync + 'static,
    ) -> Statement {
        let settings = self.settings.clone();
        let trial = move |effort, seed| search(&settings, &examples, &measure, effort, seed);
        Statement { formula, method: self.method, trial: Box::new(trial), twin: None }
    }
}

impl<C: Searchable> From<Bound<C>> for Statement {
    fn from(mut bound: Bound<C>) -> Self {
        let (twin, examples) = (bound.twin.take(), std::mem::take(&mut bound.examples));
        let statement = bound.statement(bound.formula.clone(), examples, bound.measure);
        Statement { twin, ..statement }
    }
}
