//! Exact transition matrices of two kernels on three atoms, their rates, and a printed bound that fails:
//! `cargo run --release -p mcsa-theory --example transition`.
#![expect(clippy::print_stdout, reason = "results for people")]

use mcsa_core::{Error, Kernel};
use mcsa_kernels::{Cis, Imh};
use mcsa_testing::{Finite, FiniteProposal, transition_matrix};
use mcsa_theory::claims::{self, Effort};
use mcsa_theory::{Spectrum, bounds};

/// Prints the matrix that the code of a kernel has, the laws that it obeys, and its rate of convergence.
fn show<K: Kernel<Finite>>(name: &str, kernel: &K, bound: f64) -> Result<(), Error> {
    let target = Finite::on_line(&[1.0, 2.0, 3.0])?;
    let mut guide = FiniteProposal::new(Finite::on_line(&[3.0, 1.0, 1.0])?);
    let found = transition_matrix(kernel, &target, &mut guide, target.atoms(), 1, 100_000)?;
    println!("{}", found.report(name));
    for z in 0..3 {
        println!(
            "    from atom {z}: {:.4} {:.4} {:.4}",
            found.matrix[(z, 0)],
            found.matrix[(z, 1)],
            found.matrix[(z, 2)]
        );
    }
    let second = Spectrum::new(&found.matrix, &found.target)?.second();
    println!("    rate {second:.4}, bound {bound:.4}\n");
    Ok(())
}

fn main() -> Result<(), Error> {
    let w_star: f64 = 0.5 / 0.2; // the last atom has p = 1/2 and q = 1/5
    show("independent Metropolis-Hastings", &Imh::default(), bounds::rate(w_star))?;
    show(
        "conditional importance sampling, 4 candidates",
        &Cis::with_candidates(4),
        bounds::mcmc_se::cis_rate(w_star, 4),
    )?;

    let claim = claims::all().into_iter().find(|claim| claim.id == "001-L2").expect("a claim of this name");
    let judged = claim.examine(Effort::BRIEF);
    println!("{} is {}: {}", judged.place, judged.standing(), judged.printed.formula);
    if let Some(case) = judged.printed.finding.shown() {
        println!("    {} > {} at {}", case.lhs, case.rhs, case.case);
    }
    for corrected in &judged.corrected {
        println!("    instead: {} ({})", corrected.formula, corrected.finding.standing);
    }
    Ok(())
}
