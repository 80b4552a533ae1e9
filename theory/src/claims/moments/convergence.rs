//! Claims on the error of running moments after several steps, by recursion over the atoms.

use super::line::{Line, Sizes};
use crate::claims::{Atoms, Bound, Claim, MOMENTS, Setting, Sides};

pub(super) fn claims() -> Vec<Claim> {
    vec![frozen(), adapted()]
}

/// Share of the steps that the running mean remembers, the default of the estimator.
const MEMORY: f64 = 0.5;

/// Gain of step `t`, from 0, if one draw arrives per step and the start is worth `start` draws.
fn gain(start: f64, t: usize) -> f64 {
    1.0 / (start + MEMORY * t as f64 + 1.0)
}

/// Mean squared error of the running mean of `s` after `steps` steps of a chain that starts at p; the start value is `s` at the
/// atom `start`, worth `samples` draws.
fn squared_error(case: &Atoms) -> f64 {
    let problem = &case.problem;
    let (pi, s, chain) = (problem.pi(), problem.s(), problem.imh());
    let error = |z: usize| s[z] - problem.mean();
    // E[e 1{z}] and E[e^2 1{z}] of the error e of the running mean, with the chain at z.
    let first = error(case.start);
    let mut once: Vec<f64> = pi.iter().map(|p| p * first).collect();
    let mut twice: Vec<f64> = pi.iter().map(|p| p * first * first).collect();
    for t in 0..case.steps {
        let rho = gain(case.samples as f64, t);
        let (moved_once, moved_twice) = (chain.push(&once), chain.push(&twice));
        for z in 0..pi.len() {
            let new = rho * error(z);
            once[z] = (1.0 - rho) * moved_once[z] + new * pi[z];
            let cross = 2.0 * new * (1.0 - rho) * moved_once[z];
            twice[z] = (1.0 - rho).powi(2) * moved_twice[z] + cross + new * new * pi[z];
        }
    }
    twice.iter().sum()
}

/// Squared share of the start, and the sum of the squared weights of the steps.
fn shares(case: &Atoms) -> (f64, f64) {
    (0..case.steps).fold((1.0, 0.0), |(left, squares), t| {
        let rho = gain(case.samples as f64, t);
        let kept = (1.0 - rho).powi(2);
        (left * kept, squares * kept + rho * rho)
    })
}

fn bounded(case: &Atoms, inflation: f64) -> Option<Sides> {
    let (left, squares) = shares(case);
    let start = (case.problem.s()[case.start] - case.problem.mean()).powi(2);
    let bound = left * start + inflation * case.problem.variance() * squares;
    Some(Sides::at_most(squared_error(case), bound)).filter(|_| case.problem.variance() > 1e-6)
}

fn frozen() -> Claim {
    let formula =
        "MSE_t <= prod (1 - rho)^2 (M_0 - E_p T)^2 + (2 w* - 1) V_p[T] sum_s c_s^2, which goes to 0";
    let settings = Setting::grid(&[2, 3], &[1, 5], &[1, 3, 12, 60]);
    let printed = Bound::<Atoms>::new(formula, settings, |case| bounded(case, 2.0 * case.w_star() - 1.0));
    let printed = printed.twin("as of independent draws, without w*", |case| bounded(case, 1.0));
    Claim::new("005-RATE", MOMENTS, "convergence", printed)
        .assuming(
            "one chain of independent Metropolis-Hastings at p, fixed guide, rho_t = 1/(N + t/2 + 1), c_s the weight of step s",
        )
        .remark("the weights of the start fall like t^-4 and the sum of squares like 4/(3 t)")
}

/// Expected running mean of `z` after three steps; the guide follows the moments, or stays.
fn expected_mean(case: &Line, first: &[f64], follows: bool) -> Option<f64> {
    const STEPS: usize = 3;
    fn walk(case: &Line, z: usize, (m, v): (f64, f64), t: usize, follows: bool) -> Option<f64> {
        if t == STEPS {
            return Some(m);
        }
        let chain = if follows { case.chain(m, v.sqrt())? } else { case.chain(case.location, case.scale)? };
        let rho = gain(1.0, t);
        let mut mean = 0.0;
        for (y, probability) in chain.row(z).iter().enumerate() {
            let away = case.positions[y] - m;
            let moved = (m + rho * away, (1.0 - rho) * (v + rho * away * away));
            mean += probability * walk(case, y, moved, t + 1, follows)?;
        }
        Some(mean)
    }
    let start = (case.location, case.scale * case.scale);
    let each = |z: usize| Some(first[z] * walk(case, z, start, 0, follows)?);
    (0..first.len()).map(each).sum()
}

/// The expected running mean against that of independent draws of p.
fn unbiased(case: &Line, first: &[f64], follows: bool) -> Option<Sides> {
    let left: f64 = (0..3).map(|t| 1.0 - gain(1.0, t)).product();
    let exact = left * case.location + (1.0 - left) * case.mean(|z| z);
    case.moments()?;
    Some(Sides::equal(expected_mean(case, first, follows)?, exact))
}

fn adapted() -> Claim {
    const SETTINGS: [Sizes; 2] = [(2, None), (3, None)];
    let printed = "E[M_t] = prod (1 - rho) M_0 + (1 - prod (1 - rho)) E_p[z], guide at the running moments";
    let printed = Bound::<Line>::new(printed, SETTINGS.to_vec(), |case| unbiased(case, &case.target, true));
    let example =
        Line { positions: vec![0.0, 1.0], target: vec![0.5, 0.5], location: 0.25, scale: 0.5, dof: None };
    let corrected = "the same with a guide that stays";
    let corrected =
        Bound::<Line>::new(corrected, SETTINGS.to_vec(), |case| unbiased(case, &case.target, false));
    let twin = |case: &Line| {
        let even = vec![1.0 / case.target.len() as f64; case.target.len()];
        unbiased(case, &even, false)
    };
    Claim::new("005-ADAPTED", MOMENTS, "convergence", printed.example(example))
        .assuming("one chain of independent Metropolis-Hastings at p, three steps, rho_t = 1/(t/2 + 2)")
        .remark("the guide has seen the state it moves next; the bias goes with the gain, and final answers come from a frozen q")
        .corrected(corrected.twin("from a uniform law of the chain", twin))
}
