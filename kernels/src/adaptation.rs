//! Adaptation of step size and mass during a warm-up.
//!
//! A kernel has a fixed config and is exactly invariant; a kernel that adapts while it runs is not. Adaptation is therefore
//! separate: a state that learns from the steps of a warm-up and yields new kernels, and is discarded once the final kernel
//! is made.

use faer::MatRef;
use mcsa_core::{
    ChainState, Columns, Error, Kernel, LogDensity, Metric, Proposal, Record, Seed, Stream, bits, same_length,
};
use serde::{Deserialize, Serialize};

use crate::Mass;

/// Kernel with a step size and a mass that can be tuned.
pub trait Tunable: Sized {
    /// The step size, or the scale of a random walk.
    fn step_size(&self) -> f64;

    /// This kernel with another step size, and with another mass if one is given.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error>;
}

/// Constants of dual averaging: those of the paper and of Stan.
const GAMMA: f64 = 0.05;
const T0: f64 = 10.0;
const KAPPA: f64 = 0.75;

/// Dual averaging of a step size alone, as in [`WindowAdaptation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSize {
    count: u64,
    #[serde(with = "bits::scalar")]
    centre: f64,
    #[serde(with = "bits::scalar")]
    error: f64,
    #[serde(with = "bits::scalar")]
    log_current: f64,
    #[serde(with = "bits::scalar")]
    log_average: f64,
}

impl StepSize {
    /// The initial state, from the logarithm of a guess of the step size.
    pub fn new(log: f64) -> Self {
        Self { count: 0, centre: 10.0_f64.ln() + log, error: 0.0, log_current: log, log_average: log }
    }

    /// As [`new`](Self::new), where the guess is good: steps stay near it.
    pub fn near(log: f64) -> Self {
        Self { centre: log, ..Self::new(log) }
    }

    /// Updates the step size from the acceptance probability of a step with the current one. NaN counts as 0.
    pub fn learn(&mut self, target: f64, acceptance: f64) {
        let acceptance = acceptance.clamp(0.0, 1.0).max(0.0); // `max` drops a NaN
        self.count += 1;
        let t = self.count as f64;
        let weight = 1.0 / (t + T0);
        self.error += weight * (target - acceptance - self.error);
        // Step sizes beyond e^+-300 are meaningless, and their powers would overflow.
        self.log_current = (self.centre - t.sqrt() / GAMMA * self.error).clamp(-300.0, 300.0);
        let share = t.powf(-KAPPA);
        self.log_average = share * self.log_current + (1.0 - share) * self.log_average;
    }

    /// The step size of the next step.
    pub fn current(&self) -> f64 {
        self.log_current.exp()
    }

    /// Logarithm of the averaged step size, which later steps keep.
    pub fn log_average(&self) -> f64 {
        self.log_average
    }
}

/// Running means and variances of each coordinate (Welford 1962), and the diagonal mass they imply:
///
/// ```text
/// 1 / m_i = (n s_i^2 + 5 * 0.001) / (n + 5)
/// ```
///
/// The variance `s_i^2` of `n` points, 0 of fewer than two, is shrunk towards 0.001, as in Stan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Marginals {
    count: u64,
    #[serde(with = "bits::vector")]
    mean: Vec<f64>,
    /// The sum of squared deviations from the mean.
    #[serde(with = "bits::vector")]
    spread: Vec<f64>,
}

/// Stan's shrinkage: a prior worth five points of variance `PRIOR_VARIANCE`.
const PRIOR_POINTS: f64 = 5.0;
const PRIOR_VARIANCE: f64 = 1e-3;

impl Marginals {
    fn new(dim: usize) -> Self {
        Self { count: 0, mean: vec![0.0; dim], spread: vec![0.0; dim] }
    }

    /// Adds the columns of `points`, in order.
    fn add(&mut self, points: MatRef<'_, f64>) {
        assert_eq!(points.nrows(), self.mean.len(), "points of the same dimension");
        for j in 0..points.ncols() {
            self.count += 1;
            let share = 1.0 / self.count as f64;
            for ((mean, spread), z) in self.mean.iter_mut().zip(&mut self.spread).zip(points.column(j)) {
                let before = z - *mean;
                *mean += share * before;
                *spread += before * (z - *mean);
            }
        }
    }

    fn mass(&self) -> Result<Mass, Error> {
        let n = self.count as f64;
        let inverse = |spread: &f64| {
            let variance = if self.count < 2 { 0.0 } else { spread / (self.count - 1) as f64 };
            (n * variance + PRIOR_POINTS * PRIOR_VARIANCE) / (n + PRIOR_POINTS)
        };
        Mass::diagonal(self.spread.iter().map(|spread| 1.0 / inverse(spread)).collect())
    }
}

/// Stan's warm-up schedule: the step size adapts in every step, the mass in windows of doubling length.
///
/// The log step size adapts by dual averaging (Hoffman & Gelman 2014, section 3.2), until the mean acceptance probability equals its
/// target. If acceptance is not a decreasing function of the step size, the averaged step size is not meaningful.
///
/// ```text
/// h_t = (1 - 1/(t + 10)) h_(t-1) + (target - acceptance_t) / (t + 10)
/// log eps_t = mu - sqrt(t) h_t / 0.05,    mu = log(10 eps_0)
/// log average_t = t^-0.75 log eps_t + (1 - t^-0.75) log average_(t-1)
/// ```
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
/// let adaptation = mcsa_kernels::WindowAdaptation::new(1000, 0.8)?;
/// let windows: Vec<_> = adaptation.windows().collect();
/// assert_eq!(windows, [75..100, 100..150, 150..250, 250..450, 450..950]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WindowAdaptation {
    /// Number of steps of the whole warm-up.
    pub steps: u64,
    target: f64,
    /// If true, the mass adapts as well; if false, there are no windows.
    pub learns_mass: bool,
}

/// State of a warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adaptation {
    step: u64,
    step_size: StepSize,
    marginals: Marginals,
    /// The learnt masses; empty before the end of the first window.
    #[serde(with = "bits::vector")]
    masses: Vec<f64>,
}

impl Adaptation {
    /// Number of steps so far.
    pub fn step(&self) -> u64 {
        self.step
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
        same_length("means", dim, self.marginals.mean.len())
            .and_then(|()| same_length("spreads", dim, self.marginals.spread.len()))
            .and_then(|()| self.mass()?.map_or(Ok(()), |mass| mass.check(dim)))
            .map_err(|error| error.within("Adaptation"))
    }
}

impl WindowAdaptation {
    /// A warm-up of `steps` steps that adapts the mass as well, and aims at the mean acceptance `target`: 0.8 for `Nuts` and `Hmc` (Stan),
    /// 0.574 for `Mala`, 0.234 for `Rwm`.
    ///
    /// # Errors
    /// If the target is not strictly between 0 and 1.
    pub fn new(steps: u64, target: f64) -> Result<Self, Error> {
        if !(target > 0.0 && target < 1.0) {
            let expected = "between 0 and 1, both excluded";
            return Err(Error::parameter("target", target, expected).within("WindowAdaptation"));
        }
        Ok(Self { steps, target, learns_mass: true })
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
        let step_size = StepSize::new(step_size.ln());
        Adaptation { step: 0, step_size, marginals: Marginals::new(dim), masses: Vec::new() }
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
        state.step_size.learn(self.target, acceptance);
        if let Some(window) = self.windows().find(|window| window.contains(&state.step)) {
            state.marginals.add(points);
            if state.step + 1 == window.end {
                state.masses = state.marginals.mass()?.masses().to_vec();
                state.marginals = Marginals::new(points.nrows());
                state.step_size = StepSize::new(state.step_size.log_current.exp().ln());
            }
        }
        state.step += 1;
        Ok(())
    }

    /// The step size for the next step: the current trial during the warm-up, the average after it.
    pub fn step_size(&self, state: &Adaptation) -> f64 {
        let StepSize { log_current, log_average, .. } = state.step_size;
        if state.step < self.steps { log_current } else { log_average }.exp()
    }
}

/// Runs `steps` steps of a warm-up, or fewer if the plan ends earlier, and returns the tuned kernel.
///
/// Every step uses `kernel` with the step size and mass learnt so far. Its random streams are addressed by `seed` and the
/// number of the step, so a warm-up in two parts equals one in a single call. The returned kernel is fixed and exactly
/// invariant; the chains visited during the warm-up are not draws of p.
///
/// ```
/// use mcsa_core::{Kernel, Seed};
/// use mcsa_kernels::{Hmc, Tunable, NoProposal, WindowAdaptation, warm_up};
/// let (target, hmc) = (mcsa_models::Gaussian::standard(2), Hmc::new(0.01, 8)?);
/// let proposal = &mut NoProposal { dim: 2 };
/// let mut state = hmc.init(&target, faer::Mat::zeros(2, 4))?;
/// let plan = WindowAdaptation::new(300, 0.8)?;
/// let mut progress = plan.init(hmc.step_size(), 2);
/// let hmc = warm_up(&hmc, &target, proposal, &mut state, &plan, &mut progress, Seed::new(1), 300)?;
/// assert!(hmc.step_size() > 0.3);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
///
/// # Errors
/// If the state or the progress does not match the target, or the learnt step size or mass is invalid.
#[expect(clippy::too_many_arguments, reason = "a loop over all that a step takes, and what it learns")]
pub fn warm_up<P, K>(
    kernel: &K,
    target: &P,
    proposal: &mut dyn Proposal,
    state: &mut K::State,
    plan: &WindowAdaptation,
    progress: &mut Adaptation,
    seed: Seed,
    steps: u64,
) -> Result<K, Error>
where
    P: LogDensity + ?Sized,
    K: Kernel<P> + Tunable,
{
    let refuse = |error: Error| error.within("warm_up");
    let chains = state.chains().len();
    kernel.check(target, chains, state).map_err(refuse)?;
    progress.check(target.dim()).map_err(refuse)?;
    let mut lanes = seed.streams(chains, 0);
    let mut work = vec![0.0; kernel.work_len(target, chains)];
    let learnt = |progress: &Adaptation| kernel.tuned(plan.step_size(progress), progress.mass()?);
    for _ in 0..steps.min(plan.steps.saturating_sub(progress.step())) {
        let trial = learnt(progress).map_err(refuse)?;
        Stream::go_to_step(&mut lanes, progress.step());
        // The memory that a kernel needs may depend on its step size and mass.
        work.resize(trial.work_len(target, chains).max(work.len()), 0.0);
        let info = trial.step(target, proposal, state, &mut lanes, &mut work);
        let mut acceptance = f64::NAN;
        info.record(&mut |metric, value| {
            acceptance = if metric.is(Metric::ACCEPTANCE) { value } else { acceptance };
        });
        plan.learn(progress, acceptance, state.chains().positions.as_ref()).map_err(refuse)?;
    }
    learnt(progress).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let mut state = StepSize::new(0.5_f64.ln());
        state.learn(0.8, 0.3);
        let h = 0.5 / 11.0;
        let first = 5.0_f64.ln() - h / 0.05;
        assert!((state.log_current - first).abs() < 1e-14);
        assert!((state.log_average - first).abs() < 1e-14);
        state.learn(0.8, 1.0);
        let h = (1.0 - 1.0 / 12.0) * h - 0.2 / 12.0;
        let second = 5.0_f64.ln() - 2.0_f64.sqrt() * h / 0.05;
        let share = 2.0_f64.powf(-0.75);
        assert!((state.log_current - second).abs() < 1e-14);
        assert!((state.log_average - share * second - (1.0 - share) * first).abs() < 1e-14);
    }

    #[test]
    fn impossible_targets_are_refused_and_nan_is_no_acceptance() {
        for target in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(WindowAdaptation::new(9, target).is_err(), "{target}");
        }
        let (mut a, mut b) = (StepSize::new(0.0), StepSize::new(0.0));
        a.learn(0.8, f64::NAN);
        b.learn(0.8, 0.0);
        assert_eq!(a, b);
        (0..10_000).for_each(|_| a.learn(0.8, 0.0));
        assert!(a.log_current.exp() > 0.0 && a.log_average.exp() > 0.0);
    }

    #[test]
    fn variances_far_from_zero_are_exact() {
        let mut marginals = Marginals::new(2);
        marginals.add(faer::mat![[1e9, 1e9 + 1.0, 1e9 + 2.0], [0.0, 0.0, 3.0]].as_ref());
        assert_eq!(marginals.spread[0], 2.0);
        let masses = marginals.mass().unwrap().masses().to_vec();
        assert!((1.0 / masses[0] - (3.0 + 0.005) / 8.0).abs() < 1e-15);
        assert!((1.0 / masses[1] - (3.0 * 3.0 + 0.005) / 8.0).abs() < 1e-15);
        assert!((Marginals::new(1).mass().unwrap().masses()[0] - 1000.0).abs() < 1e-9);
    }

    fn windows(steps: u64) -> Vec<(u64, u64)> {
        let plan = WindowAdaptation::new(steps, 0.8).unwrap();
        plan.windows().map(|window| (window.start, window.end)).collect()
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
        // Shorter warm-ups have one window, which ends where the last part begins.
        (20..150).for_each(|steps| assert_eq!(windows(steps), [(steps * 15 / 100, steps - steps / 10)]));
        assert!(windows(19).is_empty() && windows(0).is_empty());
    }

    #[test]
    fn the_end_of_a_window_sets_the_mass_and_starts_the_step_size_again() {
        let plan = WindowAdaptation::new(300, 0.8).unwrap();
        let (mut state, points) = (plan.init(0.5, 1), faer::mat![[-2.0, 2.0]]);
        for step in 0..100 {
            assert!(state.mass().unwrap().is_none() && state.step() == step);
            plan.learn(&mut state, 0.7, points.as_ref()).unwrap();
        }
        assert_eq!(state.step_size, StepSize::new(state.step_size.log_current));
        let variance = 50.0 * 4.0 / 49.0;
        let mass = state.mass().unwrap().unwrap();
        assert!((1.0 / mass.masses()[0] - (50.0 * variance + 0.005) / 55.0).abs() < 1e-12);
    }
}
