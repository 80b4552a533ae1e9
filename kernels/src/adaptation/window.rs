//! Windowed warm-up schedule, as in Stan.

use faer::MatRef;
use mcsa_core::{Error, bits};
use serde::{Deserialize, Serialize};

use super::{DiagonalMass, DualAveraging, StepSize};
use crate::Mass;

/// Stan's warm-up schedule: the step size adapts in every step, the mass in windows of doubling length.
///
/// ```text
/// | first: eps | window | window x 2 | window x 4 | .. to the end of the windows | last: eps |
/// ```
///
/// At the end of a window the mass is set from the points of that window, the points are discarded and dual averaging of
/// the step size restarts. The defaults are 75, 25 and 50 steps for `first`, the first `window` and `last` (Stan reference
/// manual, section "HMC algorithm parameters"). A warm-up of fewer than 150 steps uses 15%, 75% and 10%; one of fewer than
/// 20 adapts the step size alone.
///
/// Unlike Stan, a restart begins at the current step size without a search for one of acceptance about 0.8, because not
/// every kernel supports such a search.
///
/// ```
/// use mcsa_kernels::{DualAveraging, WindowAdaptation};
/// let adaptation = WindowAdaptation::new(1000, DualAveraging::new(0.8)?);
/// let windows: Vec<_> = adaptation.windows().collect();
/// assert_eq!(windows, [75..100, 100..150, 150..250, 250..450, 450..950]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowAdaptation {
    /// Number of steps of the whole warm-up.
    pub steps: u64,
    /// Dual averaging of the step size.
    pub averaging: DualAveraging,
    /// If true, the mass adapts as well; if false, there are no windows.
    #[serde(default = "yes")]
    pub learns_mass: bool,
}

fn yes() -> bool {
    true
}

/// State of a warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adaptation {
    step: u64,
    step_size: StepSize,
    marginals: DiagonalMass,
    /// The learnt masses; empty before the end of the first window.
    #[serde(with = "bits::vector")]
    masses: Vec<f64>,
}

impl Adaptation {
    /// Number of steps so far.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// State of the dual averaging of the step size.
    pub fn step_size(&self) -> &StepSize {
        &self.step_size
    }

    /// The learnt mass, or `None` before the end of the first window.
    ///
    /// # Errors
    /// If a deserialised state holds a mass that is not positive and finite.
    pub fn mass(&self) -> Result<Option<Mass>, Error> {
        if self.masses.is_empty() { Ok(None) } else { Mass::diagonal(self.masses.clone()).map(Some) }
    }

    /// Checks that the state belongs to points of dimension `dim`.
    ///
    /// # Errors
    /// If the dimensions differ, or the learnt mass is not positive and finite.
    pub fn check(&self, dim: usize) -> Result<(), Error> {
        self.marginals
            .check(dim)
            .and_then(|()| self.mass()?.map_or(Ok(()), |mass| mass.check(dim)))
            .map_err(|error| error.within("Adaptation"))
    }
}

impl WindowAdaptation {
    /// A warm-up of `steps` steps that adapts the mass as well.
    pub fn new(steps: u64, averaging: DualAveraging) -> Self {
        Self { steps, averaging, learns_mass: true }
    }

    /// The windows in which the mass adapts, as ranges of steps.
    pub fn windows(&self) -> impl Iterator<Item = std::ops::Range<u64>> + use<> {
        let (first, mut length, last) = match self.steps {
            _ if !self.learns_mass => (self.steps, 0, 0),
            0..20 => (self.steps, 0, 0),
            steps @ 20..150 => {
                let (first, last) = (steps * 15 / 100, steps / 10);
                (first, steps - first - last, last)
            }
            _ => (75, 25, 50),
        };
        let (mut start, close) = (first, self.steps - last);
        std::iter::from_fn(move || {
            if start >= close {
                return None;
            }
            // A window extends to the end if the next one, of twice its length, would not fit in full; the first window
            // never does.
            let end = if start > first && start + 3 * length > close { close } else { start + length };
            let window = start..end;
            start = end;
            length *= 2;
            Some(window)
        })
    }

    /// Initial state: a guess of the step size, and no mass.
    pub fn init(&self, step_size: f64, dim: usize) -> Adaptation {
        let step_size = self.averaging.init(step_size);
        Adaptation { step: 0, step_size, marginals: DiagonalMass::new(dim), masses: Vec::new() }
    }

    /// Updates the state from a step's acceptance probability and the chains after it. Nothing changes after the last step.
    ///
    /// # Errors
    /// If a variance of the points is not finite, because the chains are too far apart.
    pub fn learn(
        &self,
        state: &mut Adaptation,
        acceptance: f64,
        points: MatRef<'_, f64>,
    ) -> Result<(), Error> {
        if state.step >= self.steps {
            return Ok(());
        }
        self.averaging.learn(&mut state.step_size, acceptance);
        if let Some(window) = self.windows().find(|window| window.contains(&state.step)) {
            state.marginals.add(points);
            if state.step + 1 == window.end {
                state.masses = state.marginals.mass()?.masses().to_vec();
                state.marginals.clear();
                state.step_size = self.averaging.init(state.step_size.current());
            }
        }
        state.step += 1;
        Ok(())
    }

    /// The step size for the next step: the current trial during the warm-up, the average after it.
    pub fn step_size(&self, state: &Adaptation) -> f64 {
        if state.step < self.steps { state.step_size.current() } else { state.step_size.average() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(steps: u64) -> Vec<(u64, u64)> {
        let averaging = DualAveraging::new(0.8).unwrap();
        WindowAdaptation::new(steps, averaging).windows().map(|window| (window.start, window.end)).collect()
    }

    /// Stan's own window counter, with inclusive ends; for warm-ups of at least 150 steps.
    fn stans(steps: u64) -> Vec<(u64, u64)> {
        let (mut size, mut next, mut start, mut windows) = (25, 75 + 25 - 1, 75, Vec::new());
        for counter in 0..steps {
            if counter == next && counter != steps {
                windows.push((start, counter + 1));
                start = counter + 1;
                if next != steps - 50 - 1 {
                    size *= 2;
                    next = counter + size;
                    if next != steps - 50 - 1 && next + 2 * size >= steps - 50 {
                        next = steps - 50 - 1;
                    }
                }
            }
        }
        windows
    }

    #[test]
    fn the_schedule_is_stans() {
        (150..3000).for_each(|steps| assert_eq!(windows(steps), stans(steps), "{steps}"));
        assert_eq!(windows(100), [(15, 90)]);
        assert_eq!(windows(20), [(3, 18)]);
        assert!(windows(19).is_empty() && windows(0).is_empty());
    }

    #[test]
    fn the_end_of_a_window_sets_the_mass_and_starts_the_step_size_again() {
        let plan = WindowAdaptation::new(300, DualAveraging::new(0.8).unwrap());
        let (mut state, points) = (plan.init(0.5, 1), faer::mat![[-2.0, 2.0]]);
        for step in 0..100 {
            assert!(state.mass().unwrap().is_none() && state.step() == step);
            plan.learn(&mut state, 0.7, points.as_ref()).unwrap();
        }
        assert_eq!(*state.step_size(), plan.averaging.init(state.step_size().current()));
        let variance = 50.0 * 4.0 / 49.0;
        let mass = state.mass().unwrap().unwrap();
        assert!((1.0 / mass.masses()[0] - (50.0 * variance + 0.005) / 55.0).abs() < 1e-12);
    }

    #[test]
    fn windows_follow_each_other_to_the_end() {
        for steps in 20..2000 {
            let windows = windows(steps);
            assert!(windows.windows(2).all(|pair| pair[0].1 == pair[1].0), "{steps}");
            let last = if steps < 150 { steps / 10 } else { 50 };
            assert_eq!(windows.last().unwrap().1, steps - last, "{steps}");
        }
    }
}
