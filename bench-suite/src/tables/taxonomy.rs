//! Measured classification of kernels by proposals and acceptance rule (CW, Tab. 2).

use mcsa_core::{Address, At, Cloud, Counted, Error, Kernel, Parametric, Seed};
use mcsa_families::MeanField;
use mcsa_kernels::{Acceptance, Cis, Hmc, Imh, Leapfrog, Mala, Mass, Rwm, Selection};
use mcsa_models::Gaussian;

use super::Sheet;
use crate::evidence::Evidence;

/// Behaviour of a kernel when all candidates have equal weight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// Name of the kernel.
    pub(crate) name: &'static str,
    /// True if two chains that are moved with one random stream from different states reach different states.
    pub(crate) is_dependent: bool,
    /// Number of states that compete with the present one, from evaluations of the target per transition.
    pub(crate) proposals: f64,
    /// Fraction of transitions in which the chain stays.
    pub(crate) stays: f64,
}

impl Seen {
    /// The rule whose probability of staying is nearest: 0 for Metropolis-Hastings, one in all candidates for Barker.
    pub(crate) fn rule(&self) -> &'static str {
        if self.stays < 0.5 / (self.proposals + 1.0) { "Metropolis–Hastings" } else { "Barker" }
    }
}

/// Step size so small that every density along the path equals that of the start.
const SMALL: f64 = 1e-6;
const TRANSITIONS: u64 = 4_000;

/// All kernels of the library that a score climb can use, on a standard normal with guides equal to the target.
///
/// # Errors
/// If a kernel refuses its settings; tests exclude this.
pub(crate) fn measured() -> Result<Vec<Seen>, Error> {
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
    let (mut guide_work, mut work) =
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
            let mut guide = At::new(&family, &params, columns, &mut guide_work)?;
            kernel.step(&target, &mut guide, state, &mut lanes, &mut work);
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

/// A row for each kernel.
pub fn taxonomy(_: &Evidence) -> Vec<Sheet> {
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
    let head = ["Kernel", "Proposals depend", "Evaluations", "Stays among equals", "Hence the rule"];
    vec![Sheet {
        name: "kernels",
        title: "Kernels".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: measured().unwrap_or_default().into_iter().map(row).collect(),
        note: "Evaluations of the target per transition; how often a chain stays where it is when all candidates weigh the same."
            .to_owned(),
    }]
}
