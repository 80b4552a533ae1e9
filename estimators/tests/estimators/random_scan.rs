//! Random scan over data: ages, restarts, memory, checkpoints. The invariance table computes exactly that the target stays.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Parametric, Record, Seed};
use mcsa_estimators::{RandomScan, RandomScanState, Restart};
use mcsa_families::{BlocksAt, MeanField, PerDatum};
use mcsa_models::Blocks;

const DATA: usize = 5;

/// A unit normal around a location of each datum.
struct Around;

impl Blocks for Around {
    fn num_blocks(&self) -> usize {
        DATA
    }
    fn block_dim(&self) -> usize {
        1
    }
    fn log_blocks(&self, rows: &[usize], z: MatRef<'_, f64>, out: &mut [f64], _: &mut [f64]) {
        for (k, &row) in rows.iter().enumerate() {
            out[k] = -0.5 * (z.column(k)[0] - row as f64).powi(2);
        }
    }
}

/// Normals of standard deviation two around the same locations, shifted by `off`.
fn wide(off: f64) -> Vec<f64> {
    let normal = |row| MeanField::new(1).at(&[row as f64 + off], &[2.0]).unwrap();
    (0..DATA).flat_map(normal).collect()
}

fn run(kernel: &RandomScan, state: &mut RandomScanState, off: f64, steps: std::ops::Range<u64>) -> Vec<f64> {
    let family = PerDatum { family: MeanField::new(1), data: DATA };
    let (params, mut memory) = (wide(off), vec![0.0; family.work_len(kernel.batch)]);
    let mut proposal = BlocksAt::new(&family, &params, kernel.batch, &mut memory).unwrap();
    let mut work = vec![0.0; kernel.work_len(&Around)];
    let mut told = Vec::new();
    for step in steps {
        let mut lanes = Seed::new(1).streams(kernel.batch, step);
        let info = kernel.step(&Around, &mut proposal, state, &mut lanes, &mut work);
        info.record(&mut |_, value| told.push(value));
    }
    told
}

fn scan(batch: usize, restart: Restart) -> RandomScan {
    RandomScan { batch, acceptance: Default::default(), restart }
}

#[test]
fn every_visit_is_remembered() {
    let all = scan(DATA, Restart::Never);
    let mut state = all.init(&Around, Mat::zeros(1, DATA)).unwrap();
    run(&all, &mut state, 0.0, 1..2);
    let mut rows = state.rows().to_vec();
    rows.sort_unstable();
    assert_eq!(rows, [0, 1, 2, 3, 4]);
    let kernel = scan(2, Restart::Never);
    let mut state = kernel.init(&Around, Mat::zeros(1, DATA)).unwrap();
    let mut last = [0_u64; DATA];
    for step in 1..40 {
        run(&kernel, &mut state, 0.0, step..step + 1);
        let rows = state.rows();
        assert!(rows[0] != rows[1] && rows.iter().all(|&row| row < DATA));
        rows.iter().for_each(|&row| last[row] = step);
        assert!((0..DATA).all(|row| state.age(row) == step - last[row]));
    }
}

/// Proposals forty standard deviations away are all rejected, until a chain is older than the limit.
#[test]
fn old_chains_take_what_they_are_offered() {
    let away = 80.0;
    let patient = scan(1, Restart::Never);
    let mut state = patient.init(&Around, Mat::zeros(1, DATA)).unwrap();
    run(&patient, &mut state, away, 1..100);
    assert!((0..DATA).all(|row| state.positions()[(0, row)] == 0.0));

    let hasty = scan(1, Restart::OlderThan(3));
    let mut state = hasty.init(&Around, Mat::zeros(1, DATA)).unwrap();
    let mut restarts = 0;
    for step in 1..100 {
        let ages: Vec<u64> = (0..DATA).map(|row| state.age(row) + 1).collect();
        let before: Vec<f64> = (0..DATA).map(|row| state.positions()[(0, row)]).collect();
        run(&hasty, &mut state, away, step..step + 1);
        let row = state.rows()[0];
        let moved = state.positions()[(0, row)] != before[row];
        // A restarted chain is at the proposal, and moves on by the ordinary rule.
        if before[row] == 0.0 {
            assert_eq!(moved, ages[row] > 3, "step {step}");
            restarts += usize::from(moved);
        }
    }
    assert!(restarts > 2);
}

#[test]
fn a_restored_state_goes_on_bit_for_bit_and_a_foreign_one_is_refused() {
    let kernel = scan(2, Restart::OlderThan(4));
    let mut whole = kernel.init(&Around, Mat::zeros(1, DATA)).unwrap();
    let mut parts = whole.clone();
    let all = run(&kernel, &mut whole, 0.5, 1..60);
    let mut told = run(&kernel, &mut parts, 0.5, 1..23);
    parts = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    kernel.check(&Around, &parts).unwrap();
    told.extend(run(&kernel, &mut parts, 0.5, 23..60));
    assert_eq!((all, whole), (told, parts.clone()));

    assert!(scan(3, Restart::Never).check(&Around, &parts).is_err());
    assert!(scan(0, Restart::Never).init(&Around, Mat::zeros(1, DATA)).is_err());
    assert!(scan(6, Restart::Never).init(&Around, Mat::zeros(1, DATA)).is_err());
    let error = scan(2, Restart::Never).init(&Around, Mat::zeros(1, 4)).unwrap_err().to_string();
    assert_eq!(error, "RandomScan: chains has length 4, expected 5");
}

#[test]
fn a_step_allocates_nothing() {
    let kernel = scan(3, Restart::OlderThan(2));
    let mut state = kernel.init(&Around, Mat::zeros(1, DATA)).unwrap();
    let mut work = vec![0.0; kernel.work_len(&Around)];
    let mut lanes = Seed::new(1).streams(3, 1);
    let family = PerDatum { family: MeanField::new(1), data: DATA };
    let (params, mut memory) = (wide(0.0), vec![0.0; family.work_len(3)]);
    let mut proposal = BlocksAt::new(&family, &params, 3, &mut memory).unwrap();
    let steps = || {
        for _ in 0..20 {
            kernel.step(&Around, &mut proposal, &mut state, &mut lanes, &mut work);
        }
    };
    assert_eq!(allocation_counter::measure(steps).count_total, 0);
}
