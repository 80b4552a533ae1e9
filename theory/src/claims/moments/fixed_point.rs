//! Claims on the fixed point of running moments.

use super::line::{Line, Sizes, equal};
use crate::claims::{Atoms, Bound, Claim, MOMENTS, Setting, Sides};
use crate::dot;

const SETTINGS: [Sizes; 3] = [(2, None), (3, None), (5, None)];

pub(super) fn claims() -> Vec<Claim> {
    vec![standstill(), optimum(), same_step()]
}

/// Expected mean of `z` and `z^2` after a transition, from this law of the chain, against those of the Gaussian `(m, s)`.
fn rest(case: &Line, law: &[f64], (m, s): (f64, f64)) -> Option<Sides> {
    let chain = case.chain(m, s)?;
    let after = chain.push(law);
    let first = dot(&after, &case.positions);
    let second: f64 = after.iter().zip(&case.positions).map(|(p, z)| p * z * z).sum();
    equal([(first, m), (second, m * m + s * s)])
}

fn standstill() -> Claim {
    let formula =
        "E[T(z')] = E_q[T] at the mean and variance of p, T = (z, z^2), z' after a transition from p";
    let printed =
        Bound::<Line>::new(formula, SETTINGS.to_vec(), |case| rest(case, &case.target, case.moments()?));
    let twin = |case: &Line| {
        let even = vec![1.0 / case.target.len() as f64; case.target.len()];
        rest(case, &even, case.moments()?)
    };
    Claim::new("005-FIXED", MOMENTS, "fixed point", printed.twin("from a uniform law of the chain", twin))
        .assuming("q Gaussian, independent Metropolis-Hastings guided by q, a gain that does not depend on the step")
}

/// Excess of `E_p[log q]` at the location and scale of the case over that at `(m, s)`.
fn excess(case: &Line, (m, s): (f64, f64)) -> f64 {
    let best = Line { location: m, scale: s, ..case.clone() };
    case.mean(|z| case.log_density(z) - best.log_density(z))
}

fn optimum() -> Claim {
    let formula = "E_p[log q] is largest at the mean and variance of p";
    let printed = Bound::<Line>::new(formula, SETTINGS.to_vec(), |case| {
        Some(Sides::at_most(excess(case, case.moments()?), 0.0))
    });
    let twin = |case: &Line| {
        let (mean, _) = case.moments()?;
        Some(Sides::at_most(excess(case, (mean, case.mean(|z| (z - mean).abs()))), 0.0))
    };
    Claim::new("005-OPTIMUM", MOMENTS, "fixed point", printed.twin("at the mean absolute deviation", twin))
        .assuming("q Gaussian")
}

/// Expected step of the statistic, `E[a (T(z') - mean)]`, with `a` one for an accepted move and zero for a chain that stays by
/// rejection, relative to `E[a]`.
fn weighted_step(case: &Atoms, mean: impl Fn(&[f64]) -> f64) -> Option<Sides> {
    let p = &case.problem;
    let (pi, q, s, w) = (p.pi(), p.q(), p.s(), p.w());
    let alpha = |z: usize, y: usize| if w[z] > 0.0 { (w[y] / w[z]).min(1.0) } else { 1.0 };
    let accepts: Vec<f64> = (0..pi.len()).map(|z| (0..q.len()).map(|y| q[y] * alpha(z, y)).sum()).collect();
    let total = dot(pi, &accepts);
    let fixed = mean(&accepts);
    let step = |z: usize| (0..q.len()).map(|y| q[y] * alpha(z, y) * (s[y] - fixed)).sum::<f64>();
    let step: f64 = (0..pi.len()).map(|z| pi[z] * step(z)).sum();
    (total > 1e-6).then(|| Sides::equal(step / total, 0.0))
}

fn same_step() -> Claim {
    let settings = Setting::atoms(&[2, 3, 4]);
    let printed = "E[step] = 0 at E_p[T], gain in proportion to the acceptance of the same step";
    let printed =
        Bound::<Atoms>::new(printed, settings.clone(), |case| weighted_step(case, |_| case.problem.mean()));
    let corrected = "E[step] = 0 at E_p[a T] / E_p[a], a(z) the acceptance probability from z";
    let corrected = Bound::<Atoms>::new(corrected, settings, |case| {
        let (pi, s) = (case.problem.pi(), case.problem.s());
        weighted_step(case, |a| {
            let weighted: Vec<f64> = pi.iter().zip(a).map(|(p, a)| p * a).collect();
            dot(&weighted, s) / weighted.iter().sum::<f64>()
        })
    });
    let twin = |case: &Atoms| weighted_step(case, |_| dot(case.problem.q(), case.problem.s()));
    let example = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]);
    Claim::new("005-GAIN", MOMENTS, "gain", printed.example(example))
        .assuming("one chain of independent Metropolis-Hastings at p, fixed guide")
        .remark("atoms from which the chain moves often count more; hence the gain uses earlier steps alone")
        .corrected(corrected.twin("at E_q[T]", twin))
}
