//! Target of a fit, with or without a gradient, whose evaluations are counted.

#[cfg(not(target_family = "wasm"))]
pub(crate) mod batches;
pub(crate) mod differences;
pub(crate) mod gate;
pub(crate) mod gradient_check;
pub(crate) mod prior;
pub(crate) mod rounding;
pub(crate) mod side_by_side;

use std::sync::Arc;

use mcsa_core::{Error, Gradient, LogDensity, Named};
use serde::{Deserialize, Serialize};

use self::gate::{Gate, Gated};
use self::side_by_side::Shared;

/// Target of a fit: a log density, and its gradient if there is one. Evaluations are counted.
pub struct Target<'a> {
    density: Gated<&'a dyn LogDensity>,
    gradient: Option<Gated<&'a dyn Gradient>>,
    gate: Arc<Gate>,
    check: Option<&'a Check<'a>>,
    in_batches: bool,
}

/// Check of a target after a piece of work.
type Check<'a> = dyn Fn() -> Result<(), Error> + Sync + 'a;

/// Numbers of evaluations of a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluations {
    /// Evaluations of the log density alone.
    pub density: u64,
    /// Evaluations of the gradient, each with its log density.
    pub gradient: u64,
}

impl<'a> Target<'a> {
    /// A target whose gradient is used.
    pub fn with_gradient<P: Gradient>(target: &'a P) -> Self {
        let gate = Arc::default();
        let gradient: Gated<&'a dyn Gradient> = Gated::new(target, &gate);
        Self { gradient: Some(gradient), ..Self::of(target, gate) }
    }

    /// A target whose gradient, if it has one, is not used.
    pub fn density_only<P: LogDensity>(target: &'a P) -> Self {
        Self::of(target, Arc::default())
    }

    fn of<P: LogDensity>(target: &'a P, gate: Arc<Gate>) -> Self {
        // A sweep over many rows serves the points of all tasks. (A browser has no threads for them.)
        let in_batches = target.shares_rows() && !cfg!(target_family = "wasm");
        let target =
            Self { density: Gated::new(target, &gate), gradient: None, gate, check: None, in_batches };
        if in_batches { target.in_batches() } else { target }
    }

    /// Limits of the present piece of work.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The target with a check after each piece of work. An error of the check ends the fit, and the checkpoint file keeps the
    /// state before it.
    ///
    /// The check is for log densities that can fail, by a lost connection or an exception of another language: they return NaN
    /// and store the error.
    ///
    /// ```
    /// use mcsa::posterior::{FitState, Options, Target};
    /// use mcsa::prelude::*;
    /// let lost = || Err(Error::invalid("the connection was lost"));
    /// let broken = from_fn(1, |_| f64::NAN);
    /// let target = Target::density_only(&broken).checked(&lost);
    /// let error = FitState::new(&Options::seeded(1))?.advance(&target).unwrap_err();
    /// assert!(error.to_string().contains("connection was lost"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn checked(self, check: &'a (dyn Fn() -> Result<(), Error> + Sync + 'a)) -> Self {
        Self { check: Some(check), ..self }
    }

    /// The target with independent tasks in one thread: their gradients are evaluated in batches, and no two evaluations at the
    /// same time. It is for a log density whose calls cost much more than its points. Otherwise such tasks run in the threads of
    /// rayon.
    pub fn in_batches(self) -> Self {
        self.gate.serial();
        Self { in_batches: true, ..self }
    }

    /// A gradient of this target, for independent tasks.
    pub(crate) fn shared<'t>(&'t self, gradient: &'t dyn Gradient) -> Shared<'t> {
        Shared { gradient, gate: &self.gate, in_batches: self.in_batches }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.check.map_or(Ok(()), |check| check())
    }

    /// The log density, with counted evaluations.
    pub fn density(&self) -> &Gated<&'a dyn LogDensity> {
        &self.density
    }

    /// The log density, with evaluations that no fit counts.
    pub(crate) fn uncounted(&self) -> Gated<&'a dyn LogDensity> {
        Gated::new(*self.density.inner(), &Arc::new(self.gate.uncounted()))
    }

    /// The gradient, with counted evaluations.
    pub fn gradient(&self) -> Option<&Gated<&'a dyn Gradient>> {
        self.gradient.as_ref()
    }

    /// The evaluations so far.
    pub fn evaluations(&self) -> Evaluations {
        self.gate.evaluations()
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.density.dim()
    }

    /// The parameters at the origin.
    fn named(&self) -> Named {
        let mut named = Named::default();
        self.density.constrain(&vec![0.0; self.dim()], &mut named);
        named
    }

    /// Checks that the parameters have distinct names, as reports need them.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        self.named().check_distinct()
    }

    /// Name of the parameter that belongs to coordinate `i`.
    pub(crate) fn name(&self, i: usize) -> String {
        self.named().names().get(i).cloned().unwrap_or_else(|| format!("z[{i}]"))
    }
}

impl Evaluations {
    /// All evaluations, with or without gradient.
    pub const fn total(self) -> u64 {
        self.density + self.gradient
    }

    /// These, and those from `before` to `now`.
    pub(crate) const fn and(self, before: Self, now: Self) -> Self {
        let density = self.density + now.density - before.density;
        Self { density, gradient: self.gradient + now.gradient - before.gradient }
    }
}
