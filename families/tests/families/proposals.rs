//! Families as proposals: conformance of [`Atoms`] and exact invariance of a kernel that is enumerated on it; defensive mixtures.

use faer::{Mat, mat};
use mcsa_core::{Columns, FamilyProposal, Parametric, Proposal, Seed, Stream, enumerate};
use mcsa_families::{Atoms, Defence, MultivariateT, StudentT, Tail};
use mcsa_testing::family;
use mcsa_testing::family::Case;
use proptest::prelude::*;

fn atoms() -> Vec<Case<Atoms>> {
    let plane = mat![[0.0, 1.0, 0.0, -2.0], [0.0, 0.5, 3.0, 1.0]];
    vec![
        Case::new(Atoms::on_line(1).expect("distinct points"), vec![3.0]),
        Case::new(Atoms::on_line(4).expect("distinct points"), vec![0.0, 1.0, -1.0, 0.5]),
        Case::new(Atoms::new(plane).expect("distinct points"), vec![0.0, 1.0, -1.0, 0.5]),
        Case::new(Atoms::new(Mat::zeros(0, 1)).expect("one point"), vec![0.0]),
    ]
}

/// All laws that evaluate points of the support; those that need a density on the plane or slopes between atoms do not apply.
#[test]
fn atoms_keep_the_laws() {
    for case in atoms() {
        family::bad_params_are_refused(&case).unwrap();
        family::batch_equals_columns(&case).unwrap();
        family::draws_know_their_density(&case).unwrap();
        family::lanes_draw_their_columns(&case).unwrap();
        let meter = &mut |call: &mut dyn FnMut()| allocation_counter::measure(call).count_total;
        family::allocates_nothing(&case, meter).unwrap();
        if case.params.len() > 1 {
            family::draws_follow_the_density(&case).unwrap();
        }
    }
}

/// One step of independent Metropolis-Hastings: propose, weigh, accept.
fn imh(log_p: &[f64], guide: &mut dyn Proposal, z: f64, lanes: &mut [Stream], power: f64) -> f64 {
    let (mut proposal, mut log_q) = ([0.0], [0.0; 2]);
    guide.sample_into(lanes, mcsa_core::batch_mut(&mut proposal, 1, 1), &mut log_q[..1]);
    guide.log_probs(mcsa_core::one(&[z]), &mut log_q[1..]);
    let log_w = |z: f64, log_q: f64| log_p[z as usize] - power * log_q;
    if lanes[0].accept(log_w(proposal[0], log_q[0]) - log_w(z, log_q[1])) { proposal[0] } else { z }
}

/// Largest absolute entry of `p - p K`, with the transition matrix `K` computed by enumeration.
fn invariance_gap(log_p: &[f64], params: &[f64], power: f64) -> f64 {
    let atoms = Atoms::on_line(log_p.len()).expect("atoms");
    let mut work = vec![0.0; atoms.work_len(1)];
    let mut moved = vec![0.0; log_p.len()];
    for z in 0..log_p.len() {
        let point = atoms.points().column(z)[0];
        let branches = enumerate(1, 1000, |lanes| {
            let mut guide = FamilyProposal::new(&atoms, params, 1, &mut work).expect("params of the atoms");
            imh(log_p, &mut guide, point, lanes, power)
        });
        for branch in branches.expect("every draw is discrete") {
            moved[atoms.index_of(&[branch.outcome]).expect("a proposal or the state")] +=
                log_p[z].exp() * branch.probability;
        }
    }
    moved.iter().zip(log_p).map(|(moved, log_p)| (moved - log_p.exp()).abs()).fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn an_enumerated_kernel_keeps_its_target(
        logits in (2..6_usize).prop_flat_map(|n| prop::collection::vec((-2.0..2.0_f64, -2.0..2.0_f64), n))
    ) {
        let (target, params): (Vec<f64>, Vec<f64>) = logits.into_iter().unzip();
        let log_total = mcsa_core::numeric::log_sum_exp(&target);
        let log_p: Vec<f64> = target.iter().map(|logit| logit - log_total).collect();
        prop_assert!(invariance_gap(&log_p, &params, 1.0) < 1e-14);
    }
}

/// Negative control: an exponent of the proposal that is five per cent too small is detected without random draws.
#[test]
fn an_almost_right_proposal_ratio_is_seen() {
    let log_p = [0.2_f64.ln(), 0.5_f64.ln(), 0.3_f64.ln()];
    let params = [0.0, -1.0, 1.0];
    assert!(invariance_gap(&log_p, &params, 1.0) < 1e-14);
    assert!(invariance_gap(&log_p, &params, 0.95) > 1e-3);
}

#[test]
fn around_a_guide_nothing_is_allocated() {
    let (q, defence) = (MultivariateT::learned(3, 1.0).unwrap(), Defence::new(0.3, Tail::cauchy(3)).unwrap());
    let params = vec![0.1; q.num_params()];
    let (mut work, mut memory) = (vec![0.0; q.work_len(4)], vec![0.0; Defence::work_len(4)]);
    let (mut z, mut log_q, mut lanes) = ([0.0; 12], [0.0; 4], Seed::new(2).streams(4, 0));
    let mut step = || {
        let mut proposal = FamilyProposal::new(&q, &params, 4, &mut work).unwrap();
        let mut proposal = defence.around(&mut proposal, 4, &mut memory).unwrap();
        proposal.sample_into(&mut lanes, mcsa_core::batch_mut(&mut z, 3, 4), &mut log_q);
        proposal.log_probs(mcsa_core::batch(&z, 3, 4), &mut log_q);
    };
    step();
    assert_eq!(allocation_counter::measure(|| (0..50).for_each(|_| step())).count_total, 0);
}

#[test]
fn a_guide_seen_as_one_of_many_can_be_defended() {
    let q = StudentT::fixed(2, 3.0).unwrap();
    let (params, mut work, mut memory) = ([0.0; 4], vec![0.0; q.work_len(1)], [0.0]);
    let mut at = FamilyProposal::new(&q, &params, 1, &mut work).unwrap();
    let proposal: &mut dyn Proposal = &mut at;
    let defence = Defence::new(0.5, Tail::student(2, 2.0).unwrap().at(&[1.0, 0.0], &[2.0, 3.0]).unwrap());
    let mut log_q = [0.0];
    defence
        .unwrap()
        .around(proposal, 1, &mut memory)
        .unwrap()
        .log_probs(mcsa_core::one(&[0.0, 0.0]), &mut log_q);
    assert!(log_q[0].is_finite());
}

#[test]
fn no_dimension_and_five_thousand() {
    for dim in [0, 1, 5000] {
        let (q, defence) =
            (StudentT::learned(dim, 1.0).unwrap(), Defence::new(0.5, Tail::cauchy(dim)).unwrap());
        let (params, mut work, mut memory) = (vec![0.2; q.num_params()], vec![0.0; q.work_len(6)], [0.0; 6]);
        let mut proposal = FamilyProposal::new(&q, &params, 6, &mut work).unwrap();
        let mut proposal = defence.around(&mut proposal, 6, &mut memory).unwrap();
        let (mut z, mut log_q, mut told) = (vec![0.0; 6 * dim], [0.0; 6], [0.0; 6]);
        proposal.sample_into(
            &mut Seed::new(5).streams(3, 0),
            mcsa_core::batch_mut(&mut z, dim, 6),
            &mut log_q,
        );
        proposal.log_probs(mcsa_core::batch(&z, dim, 6), &mut told);
        for (log_q, told) in log_q.iter().zip(told) {
            assert!((log_q - told).abs() <= 1e-12 * (1.0 + told.abs()));
            assert!(dim > 0 || *log_q == 0.0, "{log_q}");
        }
    }
}
