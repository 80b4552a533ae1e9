//! All claims of the papers, tested with brief effort and compared with the known standings.

mod cw;
mod facts;
mod mcmc_se;
mod moments;
mod msc;

mod pmcsa;
mod production;
mod sl_dais;

use mcsa_theory::claims::{self, Claim, Effort, Judgement, Standing};

/// The claim of this name, tested.
fn judged(id: &str) -> Judgement {
    claim(id).examine(Effort::BRIEF)
}

fn claim(id: &str) -> Claim {
    claims::all().into_iter().find(|claim| claim.id == id).unwrap_or_else(|| panic!("no claim {id}"))
}

/// Checks that standings are as expected, corrections hold and twins are refuted; the panic message lists the exceptions.
fn regression(paper: &str, expected: &[(&str, Standing)]) {
    let mut complaints = String::new();
    let found: Vec<Claim> = claims::all().into_iter().filter(|claim| claim.paper.number == paper).collect();
    let ids: Vec<&str> = found.iter().map(|claim| claim.id).collect();
    let known: Vec<&str> = expected.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, known);
    for (claim, (id, standing)) in found.iter().zip(expected) {
        let judgement = claim.examine(Effort::BRIEF);
        let finding = &judgement.printed.finding;
        if finding.standing != *standing {
            complaints += &format!("{id}: expected {standing}, found {finding:?}\n");
        }
        if *standing == Standing::Violated && !finding.search_refutes() {
            complaints += &format!("{id}: the search found no counterexample: {finding:?}\n");
        }
        if finding.examples.iter().any(|example| !example.refutes) {
            complaints += &format!("{id}: an example refutes nothing: {finding:?}\n");
        }
        if *standing == Standing::Violated && judgement.corrected.is_empty() {
            complaints += &format!("{id}: violated and not corrected\n");
        }
        let checkable = *standing != Standing::NotCheckable;
        if checkable && *standing != Standing::Violated && judgement.printed.twin.is_none() {
            complaints += &format!("{id}: holds and has no twin\n");
        }
        for statement in std::iter::once(&judgement.printed).chain(&judgement.corrected) {
            if checkable && statement.finding.tried < 900 {
                complaints += &format!("{id}: only {} cases\n", statement.finding.tried);
            }
            if !statement.twin_is_refuted() {
                complaints +=
                    &format!("{id}: the twin of {} stands: {:?}\n", statement.formula, statement.twin);
            }
        }
        for corrected in judgement.corrected.iter().filter(|corrected| !corrected.finding.holds()) {
            complaints += &format!("{id}: the correction falls: {corrected:?}\n");
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

/// The two sides of the example that refutes a claim.
fn example(id: &str) -> (f64, f64) {
    let judgement = judged(id);
    let witness = &judgement.printed.finding.examples[0];
    assert!(witness.refutes, "{id}: {witness:?}");
    (witness.lhs, witness.rhs)
}

/// True if the two sides of the example are these fractions, up to the last bits of a double.
fn example_is(id: &str, lhs: f64, rhs: f64) {
    let found = example(id);
    assert!((found.0 - lhs).abs() < 1e-15 && (found.1 - rhs).abs() < 1e-15, "{id}: {found:?}");
}

#[test]
fn names_are_unique_and_ordered() {
    let ids: Vec<&str> = claims::all().iter().map(|claim| claim.id).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len());
    let papers: Vec<&str> = claims::all().iter().map(|claim| claim.paper.number).collect();
    assert!(papers.is_sorted());
    assert!(claims::all().iter().all(|claim| claim.id.starts_with(claim.paper.number)));
}

/// The result depends on the claim alone: not on other claims, threads or earlier calls.
#[test]
fn judgements_are_repeatable() {
    let once = judged("000-T1");
    let again = std::thread::spawn(|| judged("000-T1")).join().unwrap();
    assert_eq!(once, again);
}
