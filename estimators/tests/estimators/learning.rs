//! One chain per datum: the random scan, learning with it, and joint learning of model parameters.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Error, Estimator, Parametric, Seed};
use mcsa_estimators::{Joint, ScanScore, ScanState, jsa_scan};
use mcsa_families::{Amortised, Atoms, BlocksAt, MeanField, PerDatum};
use mcsa_models::{Blocks, FactorAnalysis, Learnable};
use mcsa_optim::{Adam, Schedule};

use super::{expectation, fitted, step};

/// Two data, each with its own distribution on two atoms.
struct Table;

const LAWS: [[f64; 2]; 2] = [[0.3, 0.7], [0.8, 0.2]];

impl Blocks for Table {
    fn num_blocks(&self) -> usize {
        2
    }
    fn block_dim(&self) -> usize {
        1
    }
    fn log_blocks(&self, rows: &[usize], z: MatRef<'_, f64>, out: &mut [f64], _: &mut [f64]) {
        for (k, &row) in rows.iter().enumerate() {
            out[k] = (5.0 * LAWS[row][z.column(k)[0] as usize]).ln();
        }
    }
}

/// Chains distributed as their posteriors: the mean over minibatches, starts and decisions equals the sum over all data exactly, in the
/// first step and in the second.
#[test]
fn minibatches_stand_for_all_data() {
    let family = PerDatum { family: Atoms::on_line(2).unwrap(), data: 2 };
    let params: [f64; 4] = [0.2, -0.1, 0.4, 0.3];
    let exact: Vec<f64> = (0..2)
        .flat_map(|row| {
            let part = &params[2 * row..2 * row + 2];
            let total: f64 = part.iter().map(|l| l.exp()).sum();
            (0..2).map(move |k| LAWS[row][k] - part[k].exp() / total)
        })
        .collect();
    let mean = |climb: &ScanScore, steps: usize| {
        let mut mean = vec![0.0; 4];
        for start in 0..4 {
            let atoms = [start / 2, start % 2];
            let probability = LAWS[0][atoms[0]] * LAWS[1][atoms[1]];
            let positions = Mat::from_fn(1, 2, |_, row| atoms[row] as f64);
            let from_there = expectation(climb.batch, |lanes| {
                let mut state = climb.chains_at(&Table, positions.clone()).unwrap();
                let mut step = || step(climb, (&Table, &family), &params, &mut state, lanes).0;
                (1..steps).for_each(|_| drop(step()));
                step()
            });
            mean.iter_mut().zip(from_there).for_each(|(mean, g)| *mean += probability * g);
        }
        mean
    };
    for (batch, steps) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        for (found, exact) in mean(&jsa_scan(batch), steps).iter().zip(&exact) {
            assert!((found - exact).abs() < 1e-13, "{found} for {exact}");
        }
    }
    // The twin: the score of one datum alone, not multiplied by the number of data, is half of it.
    assert!(
        mean(&jsa_scan(1), 1).iter().zip(&exact).any(|(found, exact)| (0.5 * found - exact).abs() > 1e-2)
    );
}

const DATA: usize = 60;

fn factor_model() -> (FactorAnalysis, Vec<f64>) {
    let mut stream = Seed::new(8).stream(0, 0);
    let loadings = [1.0, -0.6, 0.4];
    let mut data = Mat::<f64>::zeros(3, DATA);
    for j in 0..DATA {
        let z = stream.normal();
        for i in 0..3 {
            data[(i, j)] = 0.3 + loadings[i] * z + 0.5 * stream.normal();
        }
    }
    let theta = vec![1.0, -0.6, 0.4, 0.3, 0.3, 0.3, 0.5_f64.ln()];
    (FactorAnalysis::new(data, 1).unwrap(), theta)
}

fn falling(rate: f64) -> Adam {
    Adam::new(Schedule::power(rate * 300.0_f64.powf(0.7), 300.0, 0.7).unwrap()).unwrap()
}

/// Theta and lambda jointly, with minibatches: the evidence comes near its maximum.
#[test]
fn joint_learning_over_data_reaches_the_largest_evidence() {
    let (model, theta) = factor_model();
    let best = model.largest_log_evidence().unwrap();
    let one = MeanField::new(1);
    let family = Amortised::new(one, model.data().to_owned()).unwrap();
    let mut start = family.same_for_all(&one.at(&[0.0], &[1.0]).unwrap()).unwrap();
    start.extend([0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]);
    let evidence = |params: &[f64]| model.log_evidence(&params[family.num_params()..]).unwrap();
    let begin = evidence(&start);
    let parts = (Joint { climb: jsa_scan(20) }, falling(0.02), 2);
    let end = evidence(&fitted((&model, &family), parts, start, 10_000).1);
    assert!(best - begin > 20.0, "{begin} of {best}");
    assert!(best - end < 0.3, "{end} of {best}");
    assert!(model.log_evidence(&theta).unwrap() < best);
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let told = |result: Result<(), Error>| result.unwrap_err().to_string();
    let family = PerDatum { family: Atoms::on_line(2).unwrap(), data: 3 };
    let mut lanes = Seed::new(1).streams(1, 0);
    let refused = jsa_scan(1).init(&Table, &family, &[0.0; 6], &mut lanes).map(drop);
    assert!(told(refused).starts_with("ScanScore: data of target and family"));
    let refused = family.check(&[0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0]);
    assert!(told(refused).starts_with("PerDatum, datum 1: params[1] is NaN"));
    let (model, _) = factor_model();
    let family = Amortised::new(MeanField::new(1), model.data().to_owned()).unwrap();
    let refused = Estimator::check_params(&Joint { climb: jsa_scan(2) }, &model, &family, &[0.0, 0.5]);
    assert!(told(refused).starts_with("Joint: lambda and theta"));
}

/// One step of a scan of the data of a factor model.
fn scan(scan: &ScanScore, state: &mut ScanState, step: u64) {
    let (model, theta) = factor_model();
    let family = PerDatum { family: MeanField::new(1), data: DATA };
    let params = MeanField::new(1).at(&[0.0], &[2.0]).unwrap().repeat(DATA);
    let (mut memory, target) = (vec![0.0; family.work_len(scan.batch)], model.at(&theta));
    let mut proposal = BlocksAt::new(&family, &params, scan.batch, &mut memory).unwrap();
    let mut lanes = Seed::new(1).streams(scan.batch, step);
    scan.scan(&target, &mut proposal, state, &mut lanes, &mut vec![0.0; scan.scan_len(&target)]);
}

#[test]
fn ages_count_from_the_last_visit() {
    let (model, theta) = factor_model();
    let given = model.at(&theta);
    let all = jsa_scan(DATA);
    let mut state = all.chains_at(&given, Mat::zeros(1, DATA)).unwrap();
    scan(&all, &mut state, 1);
    let mut rows = state.rows().to_vec();
    rows.sort_unstable();
    assert!(rows.into_iter().eq(0..DATA));
    let two = jsa_scan(2);
    let mut state = two.chains_at(&given, Mat::zeros(1, DATA)).unwrap();
    let mut last = [0_u64; DATA];
    for step in 1..40 {
        scan(&two, &mut state, step);
        let rows = state.rows();
        assert!(rows[0] != rows[1] && rows.iter().all(|&row| row < DATA));
        rows.iter().for_each(|&row| last[row] = step);
        assert!((0..DATA).all(|row| state.age(row) == step - last[row]));
    }
    // The state is that of a scan of two.
    let family = PerDatum { family: MeanField::new(1), data: DATA };
    assert!(
        two.check(&given, &family, &state).is_ok() && jsa_scan(3).check(&given, &family, &state).is_err()
    );
    for batch in [0, DATA + 1] {
        assert!(jsa_scan(batch).chains_at(&given, Mat::zeros(1, DATA)).is_err());
    }
    let error = two.chains_at(&given, Mat::zeros(1, 4)).unwrap_err().to_string();
    assert_eq!(error, "ScanScore: chains has length 4, expected 60");
}
