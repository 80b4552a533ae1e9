//! Defensive mixtures allocate nothing, and work in dimension zero and in many dimensions.

use mcsa_core::{FamilyProposal, Parametric, Proposal, Seed};
use mcsa_families::{Defence, MultivariateT, StudentT, Tail};

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
