//! A kernel of one's own, judged: it proposes from the guide and forgets to divide by its density.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use mcsa_theory::{Finite, FiniteGuide, Step, exact::Banana, judge, transition_matrix};

fn main() -> Result<(), mcsa::Error> {
    for divides in [true, false] {
        let mine = Step::new(|chain, guide, stream| {
            let (z, log_q) = chain.propose(guide, stream);
            let log_p = chain.log_p_at(&z);
            let correction = if divides { chain.log_q(guide) - log_q } else { 0.0 };
            if stream.accept(log_p - chain.log_p() + correction) {
                chain.move_to(&z, log_p);
            }
        });
        let target = Finite::on_line(&[1.0, 2.0, 3.0])?;
        let mut guide = FiniteGuide::new(Finite::on_line(&[3.0, 1.0, 1.0])?);
        let found = transition_matrix(&mine, &target, &mut guide, target.atoms(), 1, 1_000)?;
        println!("{}", found.report("on three atoms"));
        println!("{}", judge(1e-4).of(&mine, &Banana::default()));
    }
    Ok(())
}
