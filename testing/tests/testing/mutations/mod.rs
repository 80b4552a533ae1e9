//! Mutation tests of this crate: kernels with one deliberate mistake each, and the check that must detect it.
//!
//! The correct variants of all mutants pass every check; so do the production kernels, in the tests of `mcsa-kernels`. Exact checks raise no false alarm;
//! the statistical ones do with a probability of at most 1e-4 for the crate, a quarter of it in this suite.

#![expect(clippy::print_stdout, reason = "the matrix of mutants and checks is what this suite is for")]

mod kernels;
mod power;

use faer::{Mat, mat};
use mcsa_core::{Error, Kernel, Proposal, Seed};
use mcsa_kernels::{Cycle, Imh, Repeat};
use mcsa_models::{Banana, Gaussian};
use mcsa_testing::{
    Cell, Finite, FiniteProposal, Invariance, Matrix, Report, Shifted, Spread, Trial, closed, judge,
};
use mcsa_testing::{Check, transition_matrix, transition_matrix_along};

use crate::banana;
use kernels::{Candidates, Hmc, Independent, PseudoMarginal, Slip};

/// Number of statistical reports on correct kernels, at most two each, over which the level is split.
const REPORTS: usize = 12;
const LIMIT: usize = 1_000_000;

const CLOSED: &str = "closed form";
const INVARIANT: &str = "pi K = pi";
const TWO_CHAINS: &str = "pi K = pi, two chains";
const MOVING: &str = "pi K = pi, proposal moves";
const CLOUD: &str = "pi C = pi";
const STORED: &str = "stored log p";
const TWO_SAMPLES: &str = "two samples";
const MEANS: &str = "means";
const RANK: &str = "rank";
const CONSTANTS: &str = "constants do not matter";
const CHAINS: &str = "independent chains";
const LABELS: &str = "labels do not matter";
const REPLAY: &str = "replay";

/// Two coordinates of variance 1 and correlation 0.8.
fn correlated() -> Gaussian {
    Gaussian::new(vec![0.0; 2], mat![[1.0, 0.8], [0.8, 1.0]].as_ref()).expect("a correlation")
}

/// Four atoms on a grid, so that a kernel can move along coordinates.
fn grid(weights: [f64; 4]) -> Finite {
    let atoms = Mat::from_fn(2, 4, |i, k| ((k >> i) & 1) as f64);
    Finite::new(atoms, weights.iter().map(|w| w.ln()).collect()).expect("positive weights")
}

const P: [f64; 4] = [1.0, 4.0, 2.0, 3.0];
/// Products of independent coordinates: (1, 2) x (1, 3) and (2, 1) x (1, 1).
const Q: [f64; 4] = [1.0, 2.0, 3.0, 6.0];
const R: [f64; 4] = [2.0, 1.0, 2.0, 1.0];

fn named(law: &'static str, check: Result<Check, Error>) -> Check {
    match check {
        Ok(check) => Check { law, ..check },
        Err(error) => Check::refused(law, error),
    }
}

fn exactly<K: Kernel<Finite>>(kernel: &K, closed: Option<Mat<f64>>, reversible: bool) -> Report {
    let (target, mut q, mut r) = (grid(P), FiniteProposal::new(grid(Q)), FiniteProposal::new(grid(R)));
    let mut alone = |chains| transition_matrix(kernel, &target, &mut q, target.atoms(), chains, LIMIT);
    let (one, two) = (alone(1), alone(2));
    let moving = transition_matrix_along(kernel, &target, &mut [&mut q, &mut r], target.atoms(), 1, LIMIT);
    let mut checks = match &one {
        Ok(one) => one.report("").checks,
        Err(error) => vec![Check::refused(INVARIANT, error.clone())],
    };
    if let Ok(one) = &one {
        checks.extend(reversible.then(|| one.is_reversible()));
        checks.extend(closed.map(|closed| one.equals(&closed)));
    }
    checks.push(named(TWO_CHAINS, two.map(|two| two.keeps_target())));
    checks.push(named(MOVING, moving.map(|moving| moving.keeps_target())));
    Report::new("", checks)
}

fn through_json<S: serde::Serialize + serde::de::DeserializeOwned>(state: &S) -> Result<S, Error> {
    let text = serde_json::to_string(state).map_err(|error| Error::invalid(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| Error::invalid(error.to_string()))
}

/// Laws of constants, labels, replay and restoring on the banana; without false alarms.
fn by_trial<K>(kernel: &K, proposal: &mut dyn Proposal) -> Report
where
    K: Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
{
    let target = banana();
    let trial = Trial::new(kernel, &target);
    let checks = vec![
        trial.ignores_constants(proposal, 2048.0),
        trial.ignores_labels(proposal),
        trial.replays(proposal),
        trial.restores(proposal, through_json),
    ];
    Report::new("", checks)
}

/// Exact, statistical and metamorphic checks of a kernel that proposes from its proposal.
fn guided<K>(matrix: &mut Matrix, name: &str, kernel: &K, closed: Option<Mat<f64>>, reversible: bool)
where
    K: Kernel<Finite> + Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
{
    matrix.add(name, &exactly(kernel, closed, reversible));
    walking(matrix, name, kernel, reversible);
}

/// Statistical and metamorphic checks of a kernel without a proposal.
fn walking<K>(matrix: &mut Matrix, name: &str, kernel: &K, reversible: bool)
where
    K: Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
{
    let judge = Invariance { reversible, ..judge(0.25e-4).share(REPORTS).seed(Seed::new(3)).quick() };
    matrix.add(name, &judge.of(kernel, &banana()));
    matrix.add(name, &by_trial(kernel, &mut Spread::around(&banana(), Seed::new(2), 1.4)));
}

/// Checks also on a correlated normal, where the gradient of one coordinate depends on the other.
fn gradient<K>(matrix: &mut Matrix, name: &str, kernel: &K)
where
    K: Kernel<Banana> + Kernel<Gaussian> + for<'a> Kernel<Shifted<'a, Banana>>,
{
    walking(matrix, name, kernel, true);
    let target = correlated();
    matrix.add(name, &judge(0.25e-4).share(REPORTS).seed(Seed::new(4)).quick().of(kernel, &target));
}

/// Adds every mutant to the matrix; returns their names, each with a check that must detect it.
fn mutants(matrix: &mut Matrix) -> Vec<(&'static str, &'static str)> {
    let independent = [
        (Slip::StaleLogQ, "stale log q", MOVING),
        (Slip::MissingRatio, "missing q ratio", INVARIANT),
        (Slip::StaleLogP, "stale log p", STORED),
        (Slip::SharedProposal, "chains share a proposal", TWO_CHAINS),
        (Slip::FirstLane, "chains share a stream", LABELS),
        (Slip::OutOfTheLog, "weights out of the log", CONSTANTS),
        (Slip::CloudOfProposals, "averages proposals", CLOUD),
        (Slip::HiddenCounter, "hidden counter", REPLAY),
    ];
    let candidates = [
        (Slip::RetainedFivePercentOff, "retained 5% off", INVARIANT),
        (Slip::OneCandidateFewer, "one candidate fewer", CLOSED),
        (Slip::CloudWithoutRetained, "cloud without retained", CLOUD),
    ];
    let hmc = [
        (Slip::MissingHalfStep, "missing half step", MEANS),
        (Slip::WrongKineticSign, "wrong kinetic sign", TWO_SAMPLES),
        (Slip::NoAcceptTest, "no accept test", RANK),
    ];
    for (slip, name, _) in independent {
        guided(matrix, name, &Independent::with(slip), Some(closed::imh(&P, &Q)), true);
    }
    for (slip, name, _) in candidates {
        guided(matrix, name, &Candidates { slip }, Some(closed::cis(&P, &Q, 3)), true);
    }
    for (slip, name, _) in hmc {
        gradient(matrix, name, &Hmc { slip, eps: 0.5 });
    }
    guided(matrix, "estimate, starts fresh", &PseudoMarginal { starts_fresh: true }, None, true);
    let all = independent.into_iter().chain(candidates).chain(hmc).map(|(_, name, check)| (name, check));
    all.chain([("estimate, starts fresh", INVARIANT)]).collect()
}

#[test]
fn every_mutant_is_caught() {
    let mut matrix = Matrix::default();
    let expected = mutants(&mut matrix);
    println!("{matrix}");
    assert_eq!(matrix.mutants().count(), expected.len());
    for (mutant, check) in expected {
        assert!(matrix.catches(mutant, check), "{mutant} passed {check}");
    }
}

#[test]
fn every_right_kernel_passes() {
    let mut matrix = Matrix::default();
    let m = &mut matrix;
    let (imh, cis) = (closed::imh(&P, &Q), closed::cis(&P, &Q, 3));
    guided(m, "twin of imh", &Independent::with(Slip::None), Some(imh.clone()), true);
    guided(m, "twin of cis", &Candidates { slip: Slip::None }, Some(cis.clone()), true);
    guided(m, "twin of estimate", &PseudoMarginal { starts_fresh: false }, None, true);
    gradient(m, "twin of hmc", &Hmc { slip: Slip::None, eps: 0.5 });

    let estimate = || PseudoMarginal { starts_fresh: false };
    guided(m, "repeat of estimate", &Repeat { kernel: estimate(), times: 2 }, None, true);
    guided(m, "cycle of estimate", &Cycle { first: Imh::default(), second: estimate() }, None, false);

    println!("{matrix}");
    let right: Vec<_> = matrix.mutants().map(String::from).collect();
    assert!(2 * right.len() <= REPORTS);
    for kernel in right {
        assert_eq!(matrix.count(&kernel, Cell::Caught), 0, "{kernel}");
        assert_eq!(matrix.cell(&kernel, TWO_SAMPLES), Cell::Passed, "{kernel}");
    }
}
