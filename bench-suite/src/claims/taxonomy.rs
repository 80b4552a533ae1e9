//! Claims on kernels, classified by proposals and acceptance rule.

use mcsa_core::{Error, Kernel};
use mcsa_kernels::{Acceptance, Cis, Imh};
use mcsa_theory::{Finite, FiniteGuide, Transition, transition_matrix};

use super::{Claim, Finding, greatest};
use crate::tables::taxonomy::{Seen, measured};

/// Claims of CW in its Tab. 2 and the text about it.
pub fn taxonomy() -> Vec<Claim> {
    vec![
        Claim {
            citation: "CW, Tab. 2",
            sentence: "Conditional importance sampling with one fresh candidate is independent Metropolis-Hastings with \
                       Barker's rule.",
            judge: |_| {
                let rule = Imh { acceptance: Acceptance::Barker, sweeps: 1 };
                is_the_same(&Cis::with_fresh(1), &rule)
            },
        },
        Claim {
            citation: "CW, Tab. 2",
            sentence: "Random walks and Hamiltonian chains propose from where they are; independent chains and those with \
                       fresh candidates do not.",
            judge: |_| measured().map_or_else(unmeasured, |all| dependence(&all)),
        },
        Claim {
            citation: "CW, Tab. 2",
            sentence: "Several candidates at once go with Barker's rule, a single one with that of Metropolis and Hastings.",
            judge: |_| measured().map_or_else(unmeasured, |all| rules(&all)),
        },
    ]
}

fn unmeasured(error: Error) -> Finding {
    Finding::too_little(format!("a kernel could not be run: {error}"))
}

const TARGET: [f64; 3] = [1.0, 2.0, 4.0];
const GUIDE: [f64; 3] = [3.0, 2.0, 1.0];

fn matrix<K: Kernel<Finite>>(kernel: &K) -> Result<Transition, Error> {
    let target = Finite::on_line(&TARGET)?;
    let mut guide = FiniteGuide::new(Finite::on_line(&GUIDE)?);
    transition_matrix(kernel, &target, &mut guide, target.atoms(), 1, 1_000)
}

/// Finding on the largest difference between the exact transition matrices of two kernels.
fn is_the_same(a: &impl Kernel<Finite>, b: &impl Kernel<Finite>) -> Finding {
    let difference = || {
        let (a, b) = (matrix(a)?.matrix, matrix(b)?.matrix);
        Ok(greatest((0..9).map(|k| (a[(k / 3, k % 3)] - b[(k / 3, k % 3)]).abs())))
    };
    let what = "largest difference of their exact transition probabilities on three points";
    difference().map_or_else(unmeasured, |number| Finding::at_most(number, 1e-15, what))
}

fn dependence(all: &[Seen]) -> Finding {
    let is_local =
        |seen: &Seen| ["random walk", "MALA", "HMC"].iter().any(|name| seen.name.starts_with(name));
    let wrong = all.iter().filter(|seen| seen.is_dependent != is_local(seen)).count();
    counted(all, wrong)
}

/// Acceptance rules against the published table: importance sampling with one candidate has a different rule than a
/// Metropolis chain with one proposal.
fn rules(all: &[Seen]) -> Finding {
    let is_wrong = |seen: &&Seen| {
        let competes =
            seen.name.contains("Barker") || seen.name.contains("CIS") || seen.name.contains("by weight");
        (seen.rule() == "Barker") != competes
    };
    counted(all, all.iter().filter(is_wrong).count())
}

fn counted(all: &[Seen], wrong: usize) -> Finding {
    if all.is_empty() {
        return Finding::too_little("no kernel was run");
    }
    Finding::at_most(wrong as f64, 0.0, format!("kernels of {} that behave otherwise", all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{Agree, Disagree, TooLittle};

    #[test]
    fn they_hold_fail_and_abstain() {
        let barker = Imh { acceptance: Acceptance::Barker, sweeps: 1 };
        assert_eq!(is_the_same(&Cis::with_fresh(1), &barker).verdict, Agree);
        assert_eq!(is_the_same(&Cis::with_fresh(1), &Imh::default()).verdict, Disagree);
        assert_eq!(is_the_same(&Cis::with_fresh(2), &barker).verdict, Disagree);
        let all = measured().unwrap();
        assert_eq!([dependence(&all), rules(&all)].map(|finding| finding.verdict), [Agree, Agree], "{all:?}");
        let other: Vec<Seen> = all
            .iter()
            .map(|seen| Seen { is_dependent: !seen.is_dependent, stays: 0.5 - seen.stays, ..seen.clone() })
            .collect();
        assert_eq!([dependence(&other), rules(&other)].map(|finding| finding.verdict), [Disagree, Disagree]);
        assert_eq!([dependence(&[]), rules(&[])].map(|finding| finding.verdict), [TooLittle, TooLittle]);
    }
}
