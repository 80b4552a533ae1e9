//! Verification of a user-defined kernel: by draws on a continuous target, then exactly on a few atoms.
//!
//! The kernel is independent Metropolis-Hastings; its faulty variant does not divide by the density of its proposals.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use mcsa::models::Banana;
use mcsa::testing::{Finite, FiniteProposal, Step, judge, transition_matrix, transition_matrix_along};

fn main() -> Result<(), mcsa::core::Error> {
    for divides in [true, false] {
        println!("{}", if divides { "--- right ---" } else { "--- forgets to divide ---" });
        let mine = Step::new(|chain, proposal, stream| {
            let (z, log_q) = chain.propose(proposal, stream);
            let log_p = chain.log_p_at(&z);
            let correction = if divides { chain.log_q(proposal) - log_q } else { 0.0 };
            if stream.accept(log_p - chain.log_p() + correction) {
                chain.move_to(&z, log_p);
            }
        });

        // By draws: a correct kernel raises an alarm with probability 1e-4; each law states the error that it would detect.
        println!("{}", judge(1e-4).of(&mine, &Banana::new(1.5, 0.4)?));

        // Exactly, on three atoms: the same closure is run along every branch of its decisions. No false alarm is possible.
        let target = Finite::on_line(&[1.0, 2.0, 3.0])?;
        let mut proposal = FiniteProposal::new(Finite::on_line(&[3.0, 1.0, 1.0])?);
        let found = transition_matrix(&mine, &target, &mut proposal, target.atoms(), 1, 1_000)?;
        println!("{}", found.report("one step on three atoms"));

        // A proposal that changes between steps, as lambda does in an ascent: exposes a state with cached densities of an older proposal.
        let mut moved = FiniteProposal::new(Finite::on_line(&[1.0, 1.0, 4.0])?);
        let proposals: &mut [&mut dyn mcsa::core::Proposal] = &mut [&mut proposal, &mut moved];
        let found = transition_matrix_along(&mine, &target, proposals, target.atoms(), 2, 100_000)?;
        println!("{}\n", found.keeps_target());
    }
    Ok(())
}
