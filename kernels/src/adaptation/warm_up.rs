//! Warm-up loop of a kernel.

use mcsa_core::{Address, ChainState, Error, Kernel, LogDensity, Proposal, Seed};

use super::{Accepts, Adaptation, Tunable, WindowAdaptation};

/// Runs `steps` steps of a warm-up, or fewer if the plan ends earlier, and returns the tuned kernel.
///
/// Every step uses `kernel` with the step size and mass learnt so far. Its random streams are addressed by `seed` and the
/// number of the step, so a warm-up in two parts equals one in a single call. The returned kernel is fixed and exactly
/// invariant; the chains visited during the warm-up are not draws of p.
///
/// ```
/// use mcsa_core::{Kernel, Seed};
/// use mcsa_kernels::{DualAveraging, Hmc, Tunable, NoProposal, WindowAdaptation, warm_up};
/// let (target, hmc) = (mcsa_models::Gaussian::standard(2), Hmc::new(0.01, 8)?);
/// let proposal = &mut NoProposal { dim: 2 };
/// let mut state = hmc.init(&target, faer::Mat::zeros(2, 4))?;
/// let plan = WindowAdaptation::new(300, DualAveraging::new(0.8)?);
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
    K::Info: Accepts,
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
        for (lane, stream) in (0..).zip(&mut lanes) {
            stream.go_to(Address::of(lane, progress.step()));
        }
        // The memory that a kernel needs may depend on its step size and mass.
        work.resize(trial.work_len(target, chains).max(work.len()), 0.0);
        let info = trial.step(target, proposal, state, &mut lanes, &mut work);
        plan.learn(progress, info.acceptance(), state.chains().positions.as_ref()).map_err(refuse)?;
    }
    learnt(progress).map_err(refuse)
}
