//! Chains on some rows of the data: energy-conserving subsampling.

use faer::Mat;
use mcsa_core::{ChainState, Columns, Kernel, Seed};
use mcsa_kernels::{Hmcecs, NoProposal, Nuts, PerturbedPosterior, TaylorExpansion};
use mcsa_models::LogisticRegression;
use mcsa_testing::model::{Case, check_gradient, work_is_enough};

use crate::laws::{Run, allocates_nothing, chains_go_on};

const DATA: usize = 200;
/// The mode of the posterior, rounded.
const NEAR_MODE: [f64; 2] = [0.5, -1.1];

/// A logistic regression whose labels have been changed in the first rows.
fn logistic(changed: usize) -> LogisticRegression {
    let mut stream = Seed::new(5).stream(0, 0);
    let x = Mat::from_fn(DATA, 2, |_, k| if k == 0 { 1.0 } else { stream.normal() });
    let labels: Vec<f64> = (0..DATA)
        .map(|i| {
            let is_one = stream.uniform() < 1.0 / (1.0 + (1.0 * x[(i, 1)] - 0.5).exp());
            f64::from(u8::from(is_one != (i < changed)))
        })
        .collect();
    LogisticRegression::new(x.as_ref(), &labels, 2.0).unwrap()
}

fn expansion(target: &LogisticRegression) -> TaylorExpansion {
    TaylorExpansion::new(target, NEAR_MODE.to_vec()).unwrap()
}

fn hmcecs<K>(kernel: K, target: &LogisticRegression) -> Hmcecs<K> {
    Hmcecs::new(kernel, expansion(target), 40, 6).unwrap()
}

/// Conformance of the perturbed posterior: its gradient is that of its value.
#[test]
fn the_gradient_of_the_estimate_is_its_slope() {
    let target: &LogisticRegression = Box::leak(Box::new(logistic(0)));
    let expansion = Box::leak(Box::new(expansion(target)));
    for rows in [&[3][..], &[0, 7, 7, 199], &[5; 4]] {
        let perturbed = PerturbedPosterior::new(target, expansion, rows).unwrap();
        let case = Case::new(perturbed).with_centre(NEAR_MODE.to_vec());
        assert_eq!(work_is_enough(&case), Ok(()));
        assert_eq!(check_gradient(&case), Ok(()), "{rows:?}");
    }
}

fn start(chains: usize) -> Mat<f64> {
    Mat::from_fn(2, chains, |i, j| NEAR_MODE[i] + 0.1 * j as f64)
}

#[test]
fn subsampled_chains_keep_the_laws_of_all_kernels() {
    let target = logistic(0);
    let kernel = hmcecs(Nuts::new(0.2).unwrap(), &target);
    chains_go_on("Hmcecs", &kernel, &target);
    allocates_nothing("Hmcecs", &kernel, &target);
    let mut run = Run::new(&kernel, &target, start(3));
    run.steps(0..10);
    let known = ["acceptance", "block_acceptance", "estimate_variance", "depth", "divergences"];
    assert!(known.iter().all(|name| run.totals.get(name).is_some_and(|value| value.is_finite())));
    assert_ne!(run.state.rows()[..40], run.state.rows()[40..80], "chains do not meet");
}

#[test]
fn foreign_states_are_refused() {
    let (target, other) = (logistic(0), logistic(10));
    let kernel = hmcecs(Nuts::new(0.2).unwrap(), &target);
    let state = kernel.init(&target, start(2)).unwrap();
    assert!(kernel.check(&target, 3, &state).is_err());
    let few = Hmcecs::new(Nuts::new(0.2).unwrap(), expansion(&target), 39, 6).unwrap();
    assert!(few.check(&target, 2, &state).unwrap_err().to_string().contains("rows of all chains"));
    let error = hmcecs(Nuts::new(0.2).unwrap(), &other).verify(&other, &state).unwrap_err().to_string();
    assert!(error.contains("cached log density"), "{error}");
    let error = kernel.init_at(&target, start(1), vec![DATA; 40]).unwrap_err().to_string();
    assert_eq!(error, "Hmcecs: PerturbedPosterior: row 200: the target has 200 data");
    assert!(Hmcecs::new(Nuts::new(0.2).unwrap(), expansion(&target), 4, 5).is_err());
    assert!(Hmcecs::new(Nuts::new(0.2).unwrap(), expansion(&target), 4, 0).is_err());
    assert!(TaylorExpansion::new(&target, vec![0.0]).is_err());
    assert!(TaylorExpansion::new(&target, vec![0.0, f64::NAN]).is_err());
}

/// Chains placed from outside are estimated again; their rows stay.
#[test]
fn chains_from_outside_are_estimated_again() {
    let target = logistic(0);
    let kernel = hmcecs(Nuts::new(0.2).unwrap(), &target);
    let mut placed = Run::new(&kernel, &target, start(1));
    placed.steps(0..5);
    let (elsewhere, rows) = (faer::mat![[0.9], [-0.4]], placed.state.rows().to_vec());
    placed.state.chains_mut().place(0, elsewhere.as_ref().column(0), f64::NAN);
    let mut fresh = placed.from(kernel.init_at(&target, elsewhere, rows).unwrap());
    placed.steps(5..8);
    fresh.steps(5..8);
    assert_eq!(placed.state.chains(), fresh.state.chains());
}

/// First numbers at `Seed::new(7)`, to ten digits.
#[test]
fn first_numbers() {
    let target = logistic(0);
    let kernel = hmcecs(Nuts::new(0.2).unwrap(), &target);
    let mut state = kernel.init(&target, start(1)).unwrap();
    let mut work = vec![f64::NAN; kernel.work_len(&target, 1)];
    for step in 0..3 {
        let mut lanes = Seed::new(7).streams(1, step);
        kernel.step(&target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
    }
    let found = state.chains().positions.col_as_slice(0);
    let expected = [0.7237027929719784, -1.179036297320275];
    assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-10), "{found:?}");
}
