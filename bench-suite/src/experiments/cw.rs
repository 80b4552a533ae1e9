//! Measured classification of kernels by proposals and acceptance rule (CW, Tab. 2).

use mcsa_core::{Address, ChainState, Counted, Error, FamilyProposal, Kernel, Parametric, Seed};
use mcsa_families::MeanField;
use mcsa_kernels::{Acceptance, Cis, Hmc, Imh, Leapfrog, Mala, Mass, Rwm, Selection};
use mcsa_models::Gaussian;
use mcsa_testing::{Finite, FiniteProposal, Transition, transition_matrix};

use crate::claims::{Check, Checked, Finding, greatest};
use crate::results::Results;
use crate::tables::Table;

/// Behaviour of a kernel when all candidates have equal weight.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    name: &'static str,
    /// True if two chains that are moved with one random stream from different states reach different states.
    is_dependent: bool,
    /// Number of states that compete with the present one, from evaluations of the target per transition.
    proposals: f64,
    /// Fraction of transitions in which the chain stays.
    stays: f64,
}

impl Seen {
    /// The rule whose probability of staying is nearest: 0 for Metropolis-Hastings, one in all candidates for Barker.
    fn rule(&self) -> &'static str {
        if self.stays < 0.5 / (self.proposals + 1.0) { "Metropolis–Hastings" } else { "Barker" }
    }
}

/// Step size so small that every density along the path equals that of the start.
const SMALL: f64 = 1e-6;
const TRANSITIONS: u64 = 4_000;

/// All kernels of the library that a score climb can use, on a standard normal with proposals equal to the target.
///
/// # Errors
/// If the settings of a kernel are invalid; tests exclude this.
fn measured() -> Result<Vec<Seen>, Error> {
    let leapfrog = || Leapfrog::new(SMALL, Mass::unit());
    Ok(vec![
        seen("random walk", &Rwm::new(SMALL)?)?,
        seen("MALA", &Mala::new(SMALL)?)?,
        seen("HMC, end of the path", &Hmc::with(leapfrog()?, 4, Selection::EndPoint)?)?,
        seen("HMC, a state of 4 by weight", &Hmc::new(SMALL, 4)?)?,
        seen("independent Metropolis–Hastings", &Imh::default())?,
        seen("the same with Barker's rule", &Imh { acceptance: Acceptance::Barker, sweeps: 1 })?,
        seen("CIS, 1 fresh candidate", &Cis::with_fresh(1))?,
        seen("CIS, 10 fresh candidates", &Cis::with_fresh(10))?,
    ])
}

fn seen<K: Kernel<Counted<Gaussian>>>(name: &'static str, kernel: &K) -> Result<Seen, Error> {
    let target = Counted::new(Gaussian::standard(1));
    let family = MeanField::new(1);
    let params = family.at(&[0.0], &[1.0])?;
    let columns = kernel.columns(1);
    let (mut proposal_work, mut work) =
        (vec![0.0; family.work_len(columns)], vec![0.0; kernel.work_len(&target, 1)]);
    let mut chains = [-1.0, 1.0].map(|start| kernel.init(&target, faer::Mat::full(1, 1, start)));
    let mut lanes = Seed::new(0).named(name).streams(1, 0);
    let before = target.counts();
    let (mut stayed, mut apart, mut both) = (0_u64, 0_u64, 0_u64);
    for transition in 1..=TRANSITIONS {
        let mut moved = [None; 2];
        for (chain, moved) in chains.iter_mut().zip(&mut moved) {
            let state = chain.as_mut().map_err(|error| error.clone())?;
            lanes[0].go_to(Address::of(0, transition));
            let start = state.chains().positions[(0, 0)];
            let mut proposal = FamilyProposal::new(&family, &params, columns, &mut proposal_work)?;
            kernel.step(&target, &mut proposal, state, &mut lanes, &mut work);
            let end = state.chains().positions[(0, 0)];
            stayed += u64::from(end == start);
            *moved = (end != start).then_some(end);
        }
        if let [Some(left), Some(right)] = moved {
            both += 1;
            apart += u64::from(left != right);
        }
    }
    let counts = target.counts();
    let evaluations = counts.log_density + counts.gradient - before.log_density - before.gradient;
    let transitions = (2 * TRANSITIONS) as f64;
    Ok(Seen {
        name,
        is_dependent: 2 * apart > both,
        proposals: (evaluations as f64 / transitions).floor().max(1.0),
        stays: stayed as f64 / transitions,
    })
}

pub(super) fn tables(_: &Results) -> Vec<Table> {
    let row = |seen: Seen| {
        let depends = if seen.is_dependent { "on the chain" } else { "on nothing" };
        vec![
            seen.name.to_owned(),
            depends.to_owned(),
            format!("{:.0}", seen.proposals),
            format!("{:.3}", seen.stays),
            seen.rule().to_owned(),
        ]
    };
    vec![Table::new(
        "kernels",
        "Kernels",
        "Kernel | Proposals depend | Evaluations | Stays among equals | Hence the rule",
        measured().unwrap_or_default().into_iter().map(row).collect(),
        "Evaluations of the target per transition; how often a chain stays where it is when all candidates weigh the same.",
    )]
}

pub(super) const CHECKS: [(&str, Check); 3] = [
    ("one_candidate_is_barker", |_| {
        is_the_same(&Cis::with_fresh(1), &Imh { acceptance: Acceptance::Barker, sweeps: 1 })
    }),
    ("proposals_depend", |_| dependence(&measured().map_err(unmeasured)?)),
    ("rules_by_candidates", |_| rules(&measured().map_err(unmeasured)?)),
];

fn unmeasured(error: Error) -> String {
    format!("a kernel could not be run: {error}")
}

const TARGET: [f64; 3] = [1.0, 2.0, 4.0];
const GUIDE: [f64; 3] = [3.0, 2.0, 1.0];

fn matrix<K: Kernel<Finite>>(kernel: &K) -> Result<Transition, Error> {
    let target = Finite::on_line(&TARGET)?;
    let mut proposal = FiniteProposal::new(Finite::on_line(&GUIDE)?);
    transition_matrix(kernel, &target, &mut proposal, target.atoms(), 1, 1_000)
}

/// Finding on the largest difference between the exact transition matrices of two kernels.
fn is_the_same(a: &impl Kernel<Finite>, b: &impl Kernel<Finite>) -> Checked {
    let [a, b] = [matrix(a), matrix(b)].map(|found| found.map_err(unmeasured));
    let (a, b) = (a?.matrix, b?.matrix);
    let difference = greatest((0..9).map(|k| (a[(k / 3, k % 3)] - b[(k / 3, k % 3)]).abs()));
    let what = "largest difference of their exact transition probabilities on three points";
    Ok(Finding::at_most(difference, 1e-15, what))
}

fn dependence(all: &[Seen]) -> Checked {
    let is_local =
        |seen: &Seen| ["random walk", "MALA", "HMC"].iter().any(|name| seen.name.starts_with(name));
    counted(all, |seen| seen.is_dependent != is_local(seen))
}

/// Acceptance rules against the published table: importance sampling with one candidate has a different rule than a
/// Metropolis chain with one proposal.
fn rules(all: &[Seen]) -> Checked {
    counted(all, |seen| {
        let competes = ["Barker", "CIS", "by weight"].iter().any(|word| seen.name.contains(word));
        (seen.rule() == "Barker") != competes
    })
}

fn counted(all: &[Seen], is_wrong: impl Fn(&Seen) -> bool) -> Checked {
    if all.is_empty() {
        return Err("no kernel was run".to_owned());
    }
    let wrong = all.iter().filter(|seen| is_wrong(seen)).count();
    Ok(Finding::at_most(wrong as f64, 0.0, format!("kernels of {} that behave otherwise", all.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{Agree, Disagree};

    #[test]
    fn they_hold_fail_and_abstain() {
        let barker = Imh { acceptance: Acceptance::Barker, sweeps: 1 };
        assert_eq!(is_the_same(&Cis::with_fresh(1), &barker).unwrap().verdict, Agree);
        assert_eq!(is_the_same(&Cis::with_fresh(1), &Imh::default()).unwrap().verdict, Disagree);
        assert_eq!(is_the_same(&Cis::with_fresh(2), &barker).unwrap().verdict, Disagree);
        let all = measured().unwrap();
        let verdicts =
            |all: &[Seen]| [dependence(all), rules(all)].map(|found| found.map(|found| found.verdict));
        assert_eq!(verdicts(&all), [Ok(Agree), Ok(Agree)], "{all:?}");
        let opposite =
            |seen: &Seen| Seen { is_dependent: !seen.is_dependent, stays: 0.5 - seen.stays, ..seen.clone() };
        assert_eq!(verdicts(&all.iter().map(opposite).collect::<Vec<_>>()), [Ok(Disagree), Ok(Disagree)]);
        assert!(verdicts(&[]).iter().all(Result::is_err));
    }
}
