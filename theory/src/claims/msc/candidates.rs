//! Claims on the invariance of conditional importance sampling (MSC, Sec. 3).

use crate::claims::{Atoms, Bound, Claim, MSC, Setting, Sides};
use crate::{Instance, Square};

pub(super) fn claims() -> Vec<Claim> {
    vec![invariant(), reversible()]
}

fn candidates() -> Vec<Setting> {
    Setting::grid(&[2, 3], &[2, 3, 5], &[1])
}

/// The pair of entries of two lists that differs most.
fn farthest(found: Vec<f64>, expected: &[f64]) -> Sides {
    let pairs = found.into_iter().zip(expected).map(|(a, b)| Sides::equal(a, *b));
    pairs.max_by(|a, b| a.badness().total_cmp(&b.badness())).unwrap_or(Sides::equal(0.0, 0.0))
}

/// Importance resampling among the fresh candidates alone, which leaves out the retained point: distribution of the result.
fn forgetful(problem: &Instance<f64>, fresh: usize) -> Vec<f64> {
    let chosen = |y: usize| {
        let indicator: Vec<f64> = (0..problem.len()).map(|z| f64::from(u8::from(z == y))).collect();
        problem.with_statistic(&indicator).snis(fresh).mean
    };
    (0..problem.len()).map(chosen).collect()
}

fn invariant() -> Claim {
    let printed = Bound::<Atoms>::new("p K = p", candidates(), |case| {
        let kernel = case.problem.cis(case.samples).transition;
        Some(farthest(kernel.push(case.problem.pi()), case.problem.pi()))
    });
    let twin = |case: &Atoms| Some(farthest(forgetful(&case.problem, case.samples - 1), case.problem.pi()));
    Claim::new("002-CIS", MSC, "Algorithm 2", printed.twin("chosen among the fresh points alone", twin))
        .assuming("CIS, S candidates with the retained one")
}

fn reversible() -> Claim {
    fn flows(case: &Atoms, kernel: &Square<f64>) -> Option<Sides> {
        let n = case.problem.len();
        let flow = |z: usize, y: usize| case.problem.pi()[z] * kernel.row(z)[y];
        let pairs = || (0..n).flat_map(|z| (0..z).map(move |y| (z, y)));
        let back: Vec<f64> = pairs().map(|(z, y)| flow(y, z)).collect();
        Some(farthest(pairs().map(|(z, y)| flow(z, y)).collect(), &back))
    }
    let formula = "p(z) K(z, y) = p(y) K(y, z)";
    let printed = Bound::<Atoms>::new(formula, candidates(), |case| {
        flows(case, &case.problem.cis(case.samples).transition)
    });
    let twin = |case: &Atoms| {
        let row = forgetful(&case.problem, case.samples - 1);
        flows(case, &Square::from_fn(case.problem.len(), |_, y| row[y]))
    };
    let printed = printed.twin("chosen among the fresh points alone", twin);
    Claim::new("002-CIS-REVERSIBLE", MSC, "Algorithm 2", printed)
        .assuming("CIS, S candidates with the retained one")
}
