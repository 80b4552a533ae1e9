//! The gate of a fit: counts evaluations, and makes none beyond a limit.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use faer::{MatMut, MatRef};
use mcsa_core::{AllCores, ExactDraws, Gradient, LogDensity, Named, batch};
use web_time::Instant;

use super::Evaluations;
use super::rounding::Guard;
use crate::posterior::call::now;

/// Target that counts its evaluations and stops at a limit: beyond the limit it is not evaluated, and its log density is NaN.
///
/// So every piece of work of a fit ends soon after a limit, and its results are dropped. Before a limit no number changes, with
/// one exception: a log density far above all known ones becomes minus infinity where rounding errors decide it.
pub struct Gated<T> {
    inner: T,
    gate: Arc<Gate>,
}

/// Evaluations so far, those that a piece of work has left, and the end of the time.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    densities: AtomicU64,
    gradients: AtomicU64,
    left: AtomicU64,
    /// Evaluations among those left that the piece has to leave to later ones.
    reserved: AtomicU64,
    deadline: Mutex<Option<Instant>>,
    is_timed: AtomicBool,
    is_armed: AtomicBool,
    is_closed: AtomicBool,
    /// True while evaluations are made whatever the limits.
    is_unlimited: AtomicBool,
    /// Points that were evaluated while there was a limit of time, and the nanoseconds that they took.
    points: AtomicU64,
    took: AtomicU64,
    /// True if no two evaluations are made at the same time.
    is_serial: AtomicBool,
    /// Calls whose time was taken to choose between one core and all, and the nanoseconds of a point in the fastest.
    timed: AtomicU64,
    cost: AtomicU64,
    /// Look at points that are higher than all known ones.
    guard: Arc<Guard>,
}

/// Calls whose time is taken.
const TIMED: u64 = 64;
/// Nanoseconds of a batch from which on it is shared by all cores.
const WORTH: u64 = 100_000;

impl Gate {
    fn deadline(&self) -> MutexGuard<'_, Option<Instant>> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the end of the time of all pieces of work.
    pub(crate) fn until(&self, deadline: Option<Instant>) {
        *self.deadline() = deadline;
        self.is_timed.store(deadline.is_some(), Relaxed);
    }

    /// Begins a piece of work that may make `left` evaluations but for those `reserved`.
    pub(crate) fn open(&self, left: u64, reserved: u64) {
        self.left.store(left, Relaxed);
        self.reserved.store(reserved, Relaxed);
        self.is_closed.store(false, Relaxed);
        self.is_armed.store(true, Relaxed);
    }

    /// Ends a piece of work: what follows has no limits.
    pub(crate) fn end(&self) {
        self.is_closed.store(false, Relaxed);
        self.is_armed.store(false, Relaxed);
    }

    /// The evaluations so far.
    pub(crate) fn evaluations(&self) -> Evaluations {
        Evaluations { density: self.densities.load(Relaxed), gradient: self.gradients.load(Relaxed) }
    }

    /// Evaluations that are left.
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Relaxed)
    }

    /// True if the time of this piece of work is over.
    pub(crate) fn is_late(&self) -> bool {
        let is_limited = self.is_timed.load(Relaxed) && self.is_armed.load(Relaxed);
        is_limited && self.deadline().is_some_and(|end| now() >= end)
    }

    /// True if a limit ended this piece of work, or its time is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed) || self.is_late()
    }

    /// Number of evaluations that take about a second; none without a limit of time.
    pub(crate) fn in_a_second(&self) -> Option<u64> {
        let took = self.took.load(Relaxed);
        (took > 0).then(|| (self.points.load(Relaxed) as f64 * 1e9 / took as f64) as u64)
    }

    /// The look at points that are higher than all known ones.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// A gate without limits, whose evaluations are those of no fit.
    pub(crate) fn uncounted(&self) -> Self {
        let is_serial = AtomicBool::new(self.is_serial.load(Relaxed));
        Self { is_serial, guard: Arc::clone(&self.guard), ..Self::default() }
    }

    /// Makes all evaluations one after the other.
    pub(crate) fn serial(&self) {
        self.is_serial.store(true, Relaxed);
    }

    /// True if a batch of so many points takes so long that all cores share it. No number depends on it.
    fn shares(&self, points: usize) -> bool {
        points > 1
            && !self.is_serial.load(Relaxed)
            && self.cost.load(Relaxed).saturating_mul(points as u64) >= WORTH
    }

    /// Makes evaluations, and takes the time of the first calls.
    fn evaluate(&self, points: u64, evaluate: impl FnOnce()) {
        let calls = self.timed.load(Relaxed);
        let is_timed = self.is_timed.load(Relaxed);
        if calls >= TIMED && !is_timed {
            return evaluate();
        }
        let begun = now();
        evaluate();
        let took = begun.elapsed().as_nanos() as u64;
        if calls < TIMED {
            self.timed.store(calls + 1, Relaxed);
            let each = took / points.max(1);
            self.cost.store(if calls == 0 { each } else { each.min(self.cost.load(Relaxed)) }, Relaxed);
        }
        if is_timed {
            self.points.fetch_add(points, Relaxed);
            self.took.fetch_add(took, Relaxed);
        }
    }

    /// Makes evaluations, to be added to those `made`, if they are within the limits.
    fn pass(&self, made: &AtomicU64, points: usize, evaluate: impl FnOnce()) -> bool {
        let points = points as u64;
        if self.is_armed.load(Relaxed) && !self.take(points) {
            self.is_closed.store(true, Relaxed);
            return false;
        }
        made.fetch_add(points, Relaxed);
        self.evaluate(points, evaluate);
        true
    }

    /// Takes evaluations from those left; false if a limit forbids them.
    fn take(&self, points: u64) -> bool {
        let is_unlimited = self.is_unlimited.load(Relaxed);
        let least = if is_unlimited { 0 } else { self.reserved.load(Relaxed).saturating_add(points) };
        let take = |left: u64| (left >= least).then(|| left.saturating_sub(points));
        (is_unlimited || !self.is_closed()) && self.left.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// Does work in several threads. If the number of evaluations ends it, all that were left count as made, as gradients if some were:
    /// which of them came before the end depends on the threads.
    pub(crate) fn in_threads<T>(&self, work: impl FnOnce() -> T) -> T {
        let (before, left, was_closed) = (self.evaluations(), self.left(), self.is_closed.load(Relaxed));
        let done = work();
        let is_ended = self.is_armed.load(Relaxed) && self.is_closed.load(Relaxed) && !was_closed;
        if is_ended && !self.is_late() {
            let reserved = self.reserved.load(Relaxed);
            let spent = left.saturating_sub(reserved);
            let of_gradient = if self.evaluations().gradient > before.gradient { spent } else { 0 };
            self.gradients.store(before.gradient + of_gradient, Relaxed);
            self.densities.store(before.density + spent - of_gradient, Relaxed);
            self.left.store(left.min(reserved), Relaxed);
        }
        done
    }

    /// Does work whose evaluations are made whatever the limits.
    pub(crate) fn unlimited<T>(&self, work: impl FnOnce() -> T) -> T {
        self.is_unlimited.store(true, Relaxed);
        let done = work();
        self.is_unlimited.store(false, Relaxed);
        done
    }
}

impl<T> Gated<T> {
    pub(crate) fn new(inner: T, gate: &Arc<Gate>) -> Self {
        Self { inner, gate: Arc::clone(gate) }
    }

    /// The target without counter and gate.
    pub fn inner(&self) -> &T {
        &self.inner
    }
}

impl<T: LogDensity> Gated<T> {
    /// Cuts off what rounding decides, among values above all known ones.
    fn check(&self, z: MatRef<'_, f64>, values: &mut [f64]) {
        let guard = &self.gate.guard;
        if guard.is_exceeded(values) {
            guard.check(z, values, &mut |around, out| {
                let mut work = vec![0.0; self.inner.work_len(around.ncols())];
                let evaluate = || self.inner.log_densities(around, out, &mut work);
                self.gate.pass(&self.gate.densities, around.ncols(), evaluate)
            });
        }
    }
}

impl<T: LogDensity> LogDensity for Gated<T> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        match self.gate.is_serial.load(Relaxed) {
            true => self.inner.work_len(columns),
            false => AllCores(&self.inner).work_len(columns),
        }
    }

    fn shares_rows(&self) -> bool {
        self.inner.shares_rows()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut value = f64::NAN;
        self.gate.pass(&self.gate.densities, 1, || value = self.inner.log_density(z, work));
        self.check(batch(z, z.len(), 1), std::slice::from_mut(&mut value));
        value
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        let evaluate = || match self.gate.shares(z.ncols()) {
            true => AllCores(&self.inner).log_densities(z, out, work),
            false => self.inner.log_densities(z, out, work),
        };
        if !self.gate.pass(&self.gate.densities, z.ncols(), evaluate) {
            out[..z.ncols()].fill(f64::NAN);
        }
        self.check(z, &mut out[..z.ncols()]);
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.inner.constrain(z, out);
    }

    fn prior(&self) -> Option<&dyn ExactDraws> {
        self.inner.prior()
    }
}

impl<T: Gradient> Gradient for Gated<T> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let mut value = f64::NAN;
        if !self.gate.pass(&self.gate.gradients, 1, || value = self.inner.gradient_into(z, gradient, work)) {
            gradient.fill(f64::NAN);
        }
        self.check(batch(z, z.len(), 1), std::slice::from_mut(&mut value));
        value
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        let mut made = gradients.as_mut();
        let evaluate = || match self.gate.shares(z.ncols()) {
            true => AllCores(&self.inner).gradients_into(z, out, made.as_mut(), work),
            false => self.inner.gradients_into(z, out, made.as_mut(), work),
        };
        if !self.gate.pass(&self.gate.gradients, z.ncols(), evaluate) {
            out[..z.ncols()].fill(f64::NAN);
            gradients.fill(f64::NAN);
        }
        self.check(z, &mut out[..z.ncols()]);
    }
}
