//! Exact transition matrices of energy-conserving subsampling, on pairs of a point and some rows of the data.

use mcsa_core::{ChainState, Gradient, LogDensity, Proposal, Separable};
use mcsa_kernels::{GradientEnsemble, Hmcecs, NoProposal, PerturbedPosterior, TaylorExpansion};
use mcsa_models::LogisticRegression;

use super::*;

const POINTS: [f64; 3] = [-1.5, 0.4, 2.5];
const X: [f64; 3] = [1.0, -2.0, 3.0];
const LABELS: [f64; 3] = [1.0, 1.0, 0.0];
const REFERENCE: f64 = -0.3;

fn model() -> LogisticRegression {
    LogisticRegression::new(Mat::from_fn(3, 1, |i, _| X[i]).as_ref(), &LABELS, 1.5).unwrap()
}

/// Moves between the points of [`POINTS`]: a uniform proposal, and an acceptance.
struct Hop;

impl<P: Gradient> Kernel<P> for Hop {
    type State = GradientEnsemble;
    type Info = ();

    fn work_len(&self, target: &P, _: usize) -> usize {
        target.work_len(1)
    }
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<GradientEnsemble, Error> {
        GradientEnsemble::new(target, positions)
    }
    fn step(
        &self,
        target: &P,
        _: &mut dyn Proposal,
        state: &mut GradientEnsemble,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            let z = [POINTS[lane.index(3).unwrap()]];
            let log_p = target.log_density(&z, work);
            if lane.accept(log_p - state.chains().log_p[j]) {
                state.chains_mut().place(j, &z, log_p);
            }
        }
    }
}

/// Log density of the extended target, with control variates in plain formulas. The perturbation is the variance times -1/2.
fn log_extended(z: f64, rows: &[usize]) -> f64 {
    log_perturbed(z, rows, -0.5)
}

fn log_perturbed(z: f64, rows: &[usize], perturbation: f64) -> f64 {
    let sign = |i: usize| (2.0 * LABELS[i] - 1.0) * X[i];
    let sigma = |t: f64| 1.0 / (1.0 + (-t).exp());
    let term = |i: usize, z: f64| sigma(sign(i) * z).ln();
    let expanded = |i: usize| {
        let (s, d) = (sigma(sign(i) * REFERENCE), z - REFERENCE);
        term(i, REFERENCE) + sign(i) * (1.0 - s) * d - 0.5 * X[i] * X[i] * s * (1.0 - s) * d * d
    };
    let differences: Vec<f64> = rows.iter().map(|&i| term(i, z) - expanded(i)).collect();
    let count = rows.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / count;
    let log_prior = -0.5 * (z / 1.5_f64).powi(2);
    log_prior + (0..3).map(expanded).sum::<f64>() + 3.0 * mean + perturbation * 9.0 / count * variance
}

/// Point and rows of a state.
fn state(number: usize, rows: usize) -> (f64, Vec<usize>) {
    (POINTS[number % 3], (0..rows).map(|k| number / 3_usize.pow(k as u32 + 1) % 3).collect())
}

fn number(z: f64, rows: &[usize]) -> usize {
    let point = POINTS.iter().position(|&point| point == z).unwrap();
    rows.iter().rev().fold(0, |number, row| 3 * number + row) * 3 + point
}

fn extended(rows: usize) -> Vec<f64> {
    (0..3_usize.pow(rows as u32 + 1))
        .map(|k| state(k, rows))
        .map(|(z, rows)| log_extended(z, &rows).exp())
        .collect()
}

fn transition(rows: usize, blocks: usize, steps: usize) -> Transition {
    let target = model();
    let expansion = TaylorExpansion::new(&target, vec![REFERENCE]).unwrap();
    let kernel = Hmcecs::new(Hop, expansion, rows, blocks).unwrap();
    let mut work = vec![0.0; kernel.work_len(&target, 1)];
    Transition::of_states(&extended(rows), 1, LIMIT, |from, lanes| {
        let (z, rows) = state(from, rows);
        let mut state = kernel.init_at(&target, Mat::from_fn(1, 1, |_, _| z), rows).unwrap();
        for _ in 0..steps {
            work.fill(f64::NAN);
            kernel.step(&target, &mut NoProposal { dim: 1 }, &mut state, lanes, &mut work);
        }
        kernel.verify(&target, &state).unwrap();
        number(state.chains().positions[(0, 0)], state.rows())
    })
    .unwrap()
}

/// One and two blocks; blocks of two and one rows; two steps, in which the log density of the first is used again.
#[test]
fn the_extended_target_is_kept() {
    for (rows, blocks, steps) in [(1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 1)] {
        let found = transition(rows, blocks, steps);
        assert!(found.rows_sum_to_one().holds() && found.keeps_target().holds(), "{rows} {blocks} {steps}");
        assert!((0..found.states()).all(|z| found.matrix[(z, z)] < 0.9));
    }
}

/// The library's target is that of plain formulas.
#[test]
fn the_extended_target_is_its_formula() {
    let target = model();
    let expansion = TaylorExpansion::new(&target, vec![REFERENCE]).unwrap();
    let log_p = |k: usize| {
        let (z, rows) = state(k, 3);
        let perturbed = PerturbedPosterior::new(&target, &expansion, &rows).unwrap();
        perturbed.log_density(&[z], &mut vec![f64::NAN; perturbed.work_len(1)])
    };
    let constant = log_p(0) - extended(3)[0].ln();
    assert!(extended(3).iter().enumerate().all(|(k, p)| (log_p(k) - p.ln() - constant).abs() < 1e-12));
}

/// Energy-conserving subsampling of two rows in one block, in plain code, with this perturbation in the test of the rows; -1/2 is right.
fn twin(perturbation: f64) -> Transition {
    Transition::of_states(&extended(2), 1, LIMIT, |from, lanes| {
        let (mut z, mut rows) = state(from, 2);
        let lane = &mut lanes[0];
        let fresh: Vec<usize> = (0..2).map(|_| lane.index(3).unwrap()).collect();
        let ratio = log_perturbed(z, &fresh, perturbation) - log_perturbed(z, &rows, perturbation);
        if lane.accept(ratio) {
            rows = fresh;
        }
        let to = POINTS[lane.index(3).unwrap()];
        if lane.accept(log_extended(to, &rows) - log_extended(z, &rows)) {
            z = to;
        }
        number(z, &rows)
    })
    .unwrap()
}

#[test]
fn a_twin_is_caught() {
    assert!(transition(2, 1, 1).equals(&twin(-0.5).matrix).holds());
    assert!(twin(0.0).keeps_target().fails());
}

/// Over all vectors of rows, the estimate has the log likelihood as its mean; the perturbed one, the twin, has not.
#[test]
fn the_difference_estimate_is_unbiased() {
    let target = model();
    let expansion = TaylorExpansion::new(&target, vec![REFERENCE]).unwrap();
    for count in 1..=3 {
        let vectors = 3_usize.pow(count as u32);
        for z in POINTS {
            let mut means = [0.0; 2];
            for k in 0..vectors {
                let rows = state(3 * k, count).1;
                let perturbed = PerturbedPosterior::new(&target, &expansion, &rows).unwrap();
                let work = &mut vec![f64::NAN; perturbed.work_len(1)];
                let estimate = perturbed.estimate(&[z], None, work);
                means[0] += estimate.log_likelihood / vectors as f64;
                means[1] += estimate.perturbed() / vectors as f64;
            }
            let exact = target.log_likelihood_at(&[0, 1, 2], &[z], &mut []);
            assert!((means[0] - exact).abs() < 1e-13, "{count} rows at {z}: {means:?}, {exact}");
            assert!(count == 1 || means[1] < exact - 1e-4, "{count} rows at {z}: {means:?}, {exact}");
        }
    }
}
