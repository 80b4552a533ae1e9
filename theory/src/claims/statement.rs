//! A formula that can fail.

use mcsa::Seed;

use super::finding::{Finding, Standing};
use super::search::{Effort, search};
use super::{Case, Sides};

/// A claim's two sides in a case; `None` where the claim says nothing, or rounding would speak.
pub type Measure<C> = fn(&C) -> Option<Sides>;

type Trial = Box<dyn Fn(Effort, Seed) -> Finding + Send + Sync>;

/// A formula, how to try it, and a stronger one that the same trial must refute.
pub struct Statement {
    /// The formula in plain text.
    pub formula: String,
    /// How its sides are computed; or why they cannot be.
    pub method: &'static str,
    trial: Trial,
    twin: Option<Box<Statement>>,
}

impl Statement {
    /// A statement that has no two sides to compare; `reason` says why.
    pub fn not_checkable(formula: &str, reason: &'static str) -> Self {
        let none = Finding { standing: Standing::NotCheckable, worst: None, examples: Vec::new(), tried: 0 };
        Self {
            formula: formula.into(),
            method: reason,
            trial: Box::new(move |_, _| none.clone()),
            twin: None,
        }
    }

    /// Tries it.
    pub fn examine(&self, effort: Effort, seed: Seed) -> Finding {
        (self.trial)(effort, seed)
    }

    /// A deliberately stronger statement, which a search worth its name refutes.
    pub fn twin(&self) -> Option<&Self> {
        self.twin.as_deref()
    }
}

/// A statement about cases, being put together; becomes a [`Statement`], which has forgotten the type of its cases.
///
/// ```
/// use mcsa_theory::claims::{Atoms, Bound, Effort, Setting, Sides, Standing, Statement};
/// let smaller = |case: &Atoms| Some(Sides::at_most(1.0, case.w_star()));
/// let bound = Bound::new("1 <= w*", Setting::atoms(&[2, 3]), smaller).twin_times(0.9);
/// let statement: Statement = bound.into();
/// let seed = mcsa::Seed::new(1);
/// assert_eq!(statement.examine(Effort::BRIEF, seed).standing, Standing::Tight);
/// assert!(statement.twin().unwrap().examine(Effort::BRIEF, seed).search_refutes());
/// ```
pub struct Bound<C: Case> {
    formula: String,
    method: &'static str,
    settings: Vec<C::Setting>,
    examples: Vec<C>,
    measure: Measure<C>,
    twin: Option<Box<Statement>>,
}

impl<C: Case> Bound<C> {
    /// A formula about cases of these settings, whose sides `measure` computes.
    pub fn new(formula: &str, settings: Vec<C::Setting>, measure: Measure<C>) -> Self {
        let method = "enumeration";
        Self { formula: formula.into(), method, settings, examples: Vec::new(), measure, twin: None }
    }

    /// With a case worked out by hand, always tried and shown first.
    #[must_use]
    pub fn example(mut self, case: C) -> Self {
        self.examples.push(case);
        self
    }

    /// How the sides are computed, if not by enumeration.
    #[must_use]
    pub fn by(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// Its twin has `factor` times the right side.
    #[must_use]
    pub fn twin_times(mut self, factor: f64) -> Self {
        let measure = self.measure;
        let tightened = move |case: &C| measure(case).map(|s| Sides { rhs: factor * s.rhs, ..s });
        let formula = format!("{factor} times the right side");
        self.twin = Some(Box::new(self.statement(formula, Vec::new(), tightened)));
        self
    }

    /// Its twin is another statement about the same cases.
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

impl<C: Case> From<Bound<C>> for Statement {
    fn from(mut bound: Bound<C>) -> Self {
        let (twin, examples) = (bound.twin.take(), std::mem::take(&mut bound.examples));
        let statement = bound.statement(bound.formula.clone(), examples, bound.measure);
        Statement { twin, ..statement }
    }
}
