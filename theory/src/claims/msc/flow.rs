//! Claims on the differential equation that approximates the ascent (MSC, App. A).

use crate::Instance;
use crate::claims::{Atoms, Bound, Claim, MSC, Setting, Sides, Statement};

pub(super) fn claims() -> Vec<Claim> {
    vec![convergence(), descent()]
}

fn convergence() -> Claim {
    let reason = "a limit theorem on stochastic approximation (Gu and Kong): no two sides that are numbers";
    let printed = Statement::not_checkable("lambda_k -> lambda* almost surely", reason);
    Claim::new("002-P1", MSC, "Proposition 1", printed)
        .assuming("C1-C6: a stable differential equation, uniform ergodicity, moments")
        .remark("for a skew normal target w* is infinite under a Gaussian that is too narrow")
}

/// `KL(p || q)` before and after an Euler step along `direction` times the mean score of a softmax, `p - q`, and the
/// squared norm of that mean score times the step size.
fn step(case: &Atoms, direction: f64) -> Option<(f64, f64, f64)> {
    const STEP: f64 = 0.1;
    let (p, q) = (case.problem.pi(), case.problem.q());
    let drift: Vec<f64> = p.iter().zip(q).map(|(p, q)| p - q).collect();
    let logits: Vec<f64> = q.iter().zip(&drift).map(|(q, g)| q.ln() + STEP * direction * g).collect();
    let moved = Instance::new(p, &crate::claims::atoms::normalised(&logits), case.problem.s()).ok()?;
    let square: f64 = drift.iter().map(|g| g * g).sum();
    Some((case.problem.kl(), moved.kl(), STEP * square)).filter(|_| square > 1e-6)
}

fn descent() -> Claim {
    let (settings, method) = (Setting::atoms(&[2, 3, 4]), "an Euler step of 0.1 on a softmax");
    let printed = "KL(p || q) falls along d lambda/dt = E_p[-s]";
    let printed = Bound::<Atoms>::new(printed, settings.clone(), |case| {
        let (before, after, _) = step(case, -1.0)?;
        Some(Sides::at_most(after, before))
    });
    let corrected = "KL(p || q) falls along d lambda/dt = E_p[s]";
    let corrected = Bound::<Atoms>::new(corrected, settings, |case| {
        let (before, after, _) = step(case, 1.0)?;
        Some(Sides::at_most(after, before))
    });
    let twin = |case: &Atoms| {
        let (before, after, gain) = step(case, 1.0)?;
        Some(Sides::at_most(after, before - 1.05 * gain))
    };
    let example = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[0.0, 0.0]);
    Claim::new("002-ODE", MSC, "eq. 16", printed.example(example).by(method))
        .assuming("q a softmax")
        .remark(
            "the sign: the optimum repels; for q = N(lambda, 1), p = N(0, 1) it reads d lambda/dt = lambda",
        )
        .corrected(corrected.by(method).twin("by more than |E_p s|^2 per time", twin))
}
