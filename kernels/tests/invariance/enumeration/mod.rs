//! Exact transition matrices of the workspace's kernels on finite problems. No false alarms.

mod extended;
mod subsampled;

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Error, Kernel, Stream};
use mcsa_kernels::{Acceptance, Cis, Cycle, DelayedAcceptance, Imh, Mixture, Repeat};
use mcsa_testing::{
    Check, Finite, FiniteProposal, Transition, closed, transition_matrix, transition_matrix_along,
};
use proptest::prelude::*;

const LIMIT: usize = 1_000_000;

/// A target, two proposals and a surrogate on common atoms, as small integer weights, zeros included.
#[derive(Debug, Clone)]
struct Problem {
    p: Vec<u8>,
    q: Vec<u8>,
    r: Vec<u8>,
    s: Vec<u8>,
}

fn float(weights: &[u8]) -> Vec<f64> {
    weights.iter().map(|&w| f64::from(w)).collect()
}

fn finite(weights: &[u8]) -> Finite {
    Finite::on_line(&float(weights)).expect("some weight is positive")
}

impl Problem {
    fn transition<K: Kernel<Finite>>(&self, kernel: &K, chains: usize) -> Transition {
        let (target, mut proposal) = (finite(&self.p), FiniteProposal::new(finite(&self.q)));
        transition_matrix(kernel, &target, &mut proposal, target.atoms(), chains, LIMIT)
            .expect("a finite kernel")
    }

    fn under_two_guides<K: Kernel<Finite>>(&self, kernel: &K) -> Transition {
        let target = finite(&self.p);
        let (mut q, mut r) = (FiniteProposal::new(finite(&self.q)), FiniteProposal::new(finite(&self.r)));
        transition_matrix_along(kernel, &target, &mut [&mut q, &mut r], target.atoms(), 1, LIMIT)
            .expect("a finite kernel")
    }
}

/// Weights of `2..=most` atoms, not all zero; shrinks towards two atoms and small weights.
fn problems(most: usize) -> impl Strategy<Value = Problem> {
    let possible = |w: &Vec<u8>| w.iter().any(|&w| w > 0);
    let weights =
        move |n: usize| prop::collection::vec(0..10_u8, n).prop_filter("some atom is possible", possible);
    (2..=most)
        .prop_flat_map(move |n| (weights(n), weights(n), weights(n), weights(n)))
        .prop_map(|(p, q, r, s)| Problem { p, q, r, s })
}

/// `sum_y K(z, y) min(1, p(y) s(z) / (p(z) s(y)))` over `y != z`, with K the inner kernel.
fn second_acceptance(inner: &Mat<f64>, p: &[f64], s: &[f64]) -> Vec<f64> {
    let accepted = |z: usize, y: usize| match p[y] * s[z] / (p[z] * s[y]) {
        ratio if inner[(z, y)] > 0.0 => inner[(z, y)] * ratio.min(1.0),
        _ => 0.0,
    };
    (0..p.len()).map(|z| (0..p.len()).filter(|&y| y != z).map(|y| accepted(z, y)).sum()).collect()
}

fn every_law(found: &Transition) -> Result<(), TestCaseError> {
    let report = found.report("kernel");
    prop_assert!(report.holds(), "{report}");
    Ok(())
}

fn holds(check: Check) -> Result<(), TestCaseError> {
    prop_assert!(check.holds(), "{check}");
    Ok(())
}

fn imh(acceptance: Acceptance, sweeps: usize) -> Imh {
    Imh { acceptance, sweeps }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn kernels_have_their_closed_forms(problem in problems(5), candidates in 2..5_usize) {
        let (p, q) = (float(&problem.p), float(&problem.q));
        let closed = |found: Transition, matrix: Mat<f64>, rejection: Vec<f64>| {
            every_law(&found)?;
            holds(found.is_reversible())?;
            holds(found.equals(&matrix))?;
            let acceptance: Vec<f64> = rejection.iter().map(|r| 1.0 - r).collect();
            holds(found.record_equals("acceptance", &acceptance))
        };
        let found = problem.transition(&Imh::default(), 1);
        closed(found, closed::imh(&p, &q), closed::imh_rejection(&p, &q))?;
        let found = problem.transition(&imh(Acceptance::Barker, 1), 1);
        closed(found, closed::barker(&p, &q), closed::barker_rejection(&p, &q))?;
        if p.len() < 5 {
            let found = problem.transition(&Cis { candidates }, 1);
            closed(found, closed::cis(&p, &q, candidates), closed::cis_rejection(&p, &q, candidates))?;
        }
    }

    #[test]
    fn sweeps_are_powers(problem in problems(3), sweeps in 2..4_usize) {
        let found = problem.transition(&imh(Acceptance::Metropolis, sweeps), 1);
        every_law(&found)?;
        holds(found.is_reversible())?;
        let once = closed::imh(&float(&problem.p), &float(&problem.q));
        holds(found.equals(&closed::power(&once, sweeps)))?;
        // JSA averages over the visited states: the mean of the powers, from every start with positive target probability.
        let statistic: Vec<f64> = (0..found.atoms).map(|a| (a * a) as f64).collect();
        for (z, mean) in found.cloud_means(&statistic).iter().enumerate().filter(|(z, _)| found.target[*z] > 0.0) {
            let after = |k: usize| -> f64 {
                let power = closed::power(&once, k);
                (0..found.atoms).map(|y| power[(z, y)] * statistic[y]).sum()
            };
            let expected = (1..=sweeps).map(after).sum::<f64>() / sweeps as f64;
            prop_assert!((mean - expected).abs() < 1e-12);
        }
        let repeated = problem.transition(&Repeat { kernel: Imh::default(), times: sweeps }, 1);
        every_law(&repeated)?;
        holds(repeated.equals(&closed::power(&once, sweeps)))?;
    }

    #[test]
    fn several_chains_are_independent(problem in problems(3), chains in 2..4_usize) {
        let found = problem.transition(&Imh::default(), chains);
        every_law(&found)?;
        let once = closed::imh(&float(&problem.p), &float(&problem.q));
        holds(found.equals(&closed::product(&once, chains)))?;
        let pair = problem.transition(&Cis { candidates: 3 }, 2);
        every_law(&pair)?;
        let once = closed::cis(&float(&problem.p), &float(&problem.q), 3);
        holds(pair.equals(&closed::product(&once, 2)))?;
    }

    #[test]
    fn delayed_acceptance_corrects_any_surrogate(problem in problems(4), times in 2..4_usize) {
        let surrogate = finite(&problem.s);
        if problem.p.len() < 4 {
            let inner = Repeat { kernel: Cis { candidates: 2 }, times };
            let found = problem.transition(&DelayedAcceptance { inner, surrogate: surrogate.clone() }, 1);
            every_law(&found)?;
            holds(found.is_reversible())?;
        }
        let inner = DelayedAcceptance { inner: Imh::default(), surrogate: surrogate.clone() };
        let found = problem.transition(&inner, 1);
        every_law(&found)?;
        holds(found.is_reversible())?;
        every_law(&problem.under_two_guides(&inner))?;
        let found = problem.transition(&DelayedAcceptance { inner: Cis { candidates: 3 }, surrogate }, 1);
        every_law(&found)?;
        holds(found.is_reversible())?;
    }

    /// The second stage accepts with its closed-form probability, which is 1 for a surrogate equal to the target.
    #[test]
    fn the_second_acceptance_is_its_closed_form(problem in problems(4)) {
        let (p, q, s) = (float(&problem.p), float(&problem.q), float(&problem.s));
        let delayed = |surrogate| DelayedAcceptance { inner: Imh::default(), surrogate };
        let found = problem.transition(&delayed(finite(&problem.s)), 1);
        let expected = second_acceptance(&closed::imh(&s, &q), &p, &s);
        holds(found.record_equals("acceptance", &expected))?;
        if found.mean_record("second_acceptance").is_some() {
            holds(found.record_equals("second_acceptance", &expected))?;
        }
        let exact = problem.transition(&delayed(finite(&problem.p)), 1);
        holds(exact.equals(&closed::imh(&p, &q)))?;
        if exact.mean_record("second_acceptance").is_some() {
            holds(exact.record_equals("second_acceptance", exact.mean_record("promoted").unwrap()))?;
        }
    }

    #[test]
    fn compositions_keep_the_target(problem in problems(3), weight in 0..5_u8) {
        let (a, b) = (Imh::default(), Cis { candidates: 3 });
        let cycle = problem.transition(&Cycle { first: a.clone(), second: b.clone() }, 1);
        every_law(&cycle)?;
        let (p, q) = (float(&problem.p), float(&problem.q));
        let (once, other) = (closed::imh(&p, &q), closed::cis(&p, &q, 3));
        holds(cycle.equals(&(&once * &other)))?;
        let share = f64::from(weight) / 4.0;
        let mixture = problem.transition(&Mixture::new(share, a, b).unwrap(), 1);
        every_law(&mixture)?;
        holds(mixture.is_reversible())?;
        let blend = Mat::from_fn(p.len(), p.len(), |z, y| share * once[(z, y)] + (1.0 - share) * other[(z, y)]);
        holds(mixture.equals(&blend))?;
    }

    #[test]
    fn a_moving_guide_leaves_no_trace(problem in problems(4)) {
        every_law(&problem.under_two_guides(&Imh::default()))?;
        every_law(&problem.under_two_guides(&imh(Acceptance::Barker, 2)))?;
        let found = problem.under_two_guides(&Cis { candidates: 3 });
        every_law(&found)?;
        let (p, q, r) = (float(&problem.p), float(&problem.q), float(&problem.r));
        holds(found.equals(&(closed::cis(&p, &q, 3) * closed::cis(&p, &r, 3))))?;
    }

    /// The Rao-Blackwellised cloud has exactly the mean of the selected point, and at most its variance.
    #[test]
    fn rao_blackwellisation_keeps_the_mean(problem in problems(4), candidates in 2..4_usize) {
        let found = problem.transition(&Cis { candidates }, 1);
        let statistic: Vec<f64> = (0..found.atoms).map(|a| (a * a) as f64).collect();
        let (means, variances) = (found.cloud_means(&statistic), found.cloud_variances(&statistic));
        for z in 0..found.states() {
            let chosen: f64 = (0..found.atoms).map(|y| found.matrix[(z, y)] * statistic[y]).sum();
            let square: f64 = (0..found.atoms).map(|y| found.matrix[(z, y)] * statistic[y].powi(2)).sum();
            prop_assert!((means[z] - chosen).abs() < 1e-10);
            prop_assert!(variances[z] <= square - chosen * chosen + 1e-9);
        }
    }
}

/// Another closed form, another target, and a sum without one branch must be refuted.
#[test]
fn what_is_not_so_is_refuted() {
    let problem = Problem { p: vec![1, 2, 3], q: vec![3, 1, 1], r: vec![1, 1, 1], s: vec![1, 1, 1] };
    let (p, q) = (float(&problem.p), float(&problem.q));
    let found = problem.transition(&Cis { candidates: 3 }, 1);
    assert!(found.equals(&closed::cis(&p, &q, 2)).fails());
    assert!(found.record_equals("acceptance", &closed::cis_rejection(&p, &q, 3)).fails());
    assert!(!found.record_equals("no such number", &p).holds());
    let mut wrong = found.clone();
    wrong.matrix[(0, 1)] += 1e-9;
    assert!(wrong.rows_sum_to_one().fails() && wrong.keeps_target().fails() && wrong.is_reversible().fails());
    let mut wrong = found;
    wrong.cloud[(0, 1)] += 1e-9;
    assert!(wrong.cloud_keeps_target().fails());
    let pair = problem.transition(&Imh::default(), 2);
    let once = closed::imh(&p, &q);
    assert!(pair.equals(&closed::product(&closed::power(&once, 2), 2)).fails());
}

/// Refusals: too small a limit, an atom of another dimension, a continuous proposal, no chain.
#[test]
fn what_cannot_be_enumerated_is_refused() {
    let target = finite(&[1, 2, 3]);
    let mut proposal = FiniteProposal::new(target.clone());
    let mut at = |atoms: MatRef<'_, f64>, chains, limit| {
        transition_matrix(&Imh::default(), &target, &mut proposal, atoms, chains, limit).map(|_| ())
    };
    assert!(at(target.atoms(), 2, 8).is_err() && at(target.atoms(), 2, 9).is_ok());
    assert!(at(target.atoms(), 3, 26).is_err());
    assert!(at(target.atoms(), 0, LIMIT).is_err());
    assert!(at(Mat::zeros(2, 1).as_ref(), 1, LIMIT).is_err());
    assert!(at(target.atoms().subcols(0, 2), 1, LIMIT).is_err(), "the third atom is off the list");
    let mut normal = mcsa_testing::Spread { mean: vec![0.0], scale: vec![1.0] };
    let refused = transition_matrix(&Imh::default(), &target, &mut normal, target.atoms(), 1, LIMIT);
    assert!(refused.unwrap_err().to_string().contains("accept, choose, index or uniform_between"));
}
