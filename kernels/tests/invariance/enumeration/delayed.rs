//! Exact transition matrices of delayed acceptance.

use mcsa_testing::Step;

use super::*;

/// `sum_y K(z, y) min(1, p(y) s(z) / (p(z) s(y)))` over `y != z`, with K the inner kernel.
fn second_acceptance(inner: &Mat<f64>, p: &[f64], s: &[f64]) -> Vec<f64> {
    let accepted = |z: usize, y: usize| match p[y] * s[z] / (p[z] * s[y]) {
        ratio if inner[(z, y)] > 0.0 => inner[(z, y)] * ratio.min(1.0),
        _ => 0.0,
    };
    (0..p.len()).map(|z| (0..p.len()).filter(|&y| y != z).map(|y| accepted(z, y)).sum()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

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
    fn several_sweeps_may_precede_one_exact_evaluation(problem in problems(3), sweeps in 2..4_usize) {
        let inner = Repeat { kernel: Cis { candidates: 2 }, times: sweeps };
        let found = problem.transition(&DelayedAcceptance { inner, surrogate: finite(&problem.s) }, 1);
        every_law(&found)?;
        holds(found.is_reversible())?;
    }
}

/// Delayed acceptance with two inner moves that are reversible for the surrogate: a proposal from q, and a step to a neighbour.
/// The order proposal, neighbour, proposal is a palindrome; the order proposal, neighbour is not reversible.
fn two_moves(is_palindrome: bool) -> Transition {
    let (s, n) = ([1.0, 3.0, 2.0, 1.0_f64], 4);
    let log_s = move |z: f64| s[z as usize].ln();
    let kernel = Step::new(move |chain, proposal, stream| {
        let start = chain.position()[0];
        let mut here = start;
        let mut independent = |here: &mut f64, stream: &mut Stream| {
            let (z, log_q) = chain.propose(proposal, stream);
            let mut log_q_here = [0.0];
            proposal.log_probs(mcsa_core::one(&[*here]), &mut log_q_here);
            if stream.accept(log_s(z[0]) - log_q - log_s(*here) + log_q_here[0]) {
                *here = z[0];
            }
        };
        independent(&mut here, stream);
        let to = here + [-1.0, 1.0][stream.index(2).unwrap()];
        if (0.0..n as f64).contains(&to) && stream.accept(log_s(to) - log_s(here)) {
            here = to;
        }
        if is_palindrome {
            independent(&mut here, stream);
        }
        let log_p = chain.log_p_at(&[here]);
        if stream.accept(log_p - chain.log_p() + log_s(start) - log_s(here)) {
            chain.move_to(&[here], log_p);
        }
    });
    let problem = Problem { p: vec![4, 1, 3, 2], q: vec![1, 2, 1, 3], r: vec![1; 4], s: vec![1; 4] };
    problem.transition(&kernel, 1)
}

/// The twin: surrogate moves in an order that is no palindrome. It keeps the surrogate, not the target.
#[test]
fn the_order_of_inner_moves_matters() {
    let right = two_moves(true);
    assert!(right.report("palindrome").holds() && right.is_reversible().holds());
    assert!(two_moves(false).keeps_target().fails());
}
