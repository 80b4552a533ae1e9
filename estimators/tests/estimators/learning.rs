//! One chain per datum: the random scan, learning with it, and joint learning of model parameters.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Error, Estimator, Parametric, Record, Seed, Stream, enumerate};
use mcsa_estimators::{Joint, RandomScan, RandomScanState, Restart, ScanScore, jsa_scan};
use mcsa_families::{Amortised, Atoms, BlocksAt, MeanField, PerDatum};
use mcsa_models::{Blocks, FactorAnalysis, Learnable};
use mcsa_optim::{Adam, Schedule};

use super::{fitted, step};

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

/// Chains distributed as their posteriors: the mean over minibatches, starts and decisions equals the sum over all data exactly.
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
    let mean = |climb: &ScanScore| {
        let mut mean = vec![0.0; 4];
        for start in 0..4 {
            let atoms = [start / 2, start % 2];
            let probability = LAWS[0][atoms[0]] * LAWS[1][atoms[1]];
            let positions = Mat::from_fn(1, 2, |_, row| atoms[row] as f64);
            let branches = enumerate(climb.scan.batch, 100_000, |lanes: &mut [Stream]| {
                let mut state = climb.scan.init(&Table, positions.clone()).unwrap();
                step(climb, (&Table, &family), &params, &mut state, lanes).0
            });
            for branch in branches.unwrap() {
                for (mean, g) in mean.iter_mut().zip(&branch.outcome) {
                    *mean += probability * branch.probability * g;
                }
            }
        }
        mean
    };
    for batch in [1, 2] {
        for (found, exact) in mean(&jsa_scan(batch)).iter().zip(&exact) {
            assert!((found - exact).abs() < 1e-13, "{found} for {exact}");
        }
    }
    // The twin: the score of one datum alone, not multiplied by the number of data, is half of it.
    assert!(mean(&jsa_scan(1)).iter().zip(&exact).any(|(found, exact)| (0.5 * found - exact).abs() > 1e-2));
}

fn factor_model() -> (FactorAnalysis, Vec<f64>) {
    let mut stream = Seed::new(8).stream(0, 0);
    let loadings = [1.0, -0.6, 0.4];
    let mut data = Mat::<f64>::zeros(3, 60);
    for j in 0..60 {
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

/// The exact posterior mean of each datum is linear in the datum: an amortised family finds it, and so does a per-datum family.
#[test]
fn amortised_and_per_datum_families_find_the_posterior() {
    let (model, theta) = factor_model();
    let given = model.at(&theta);
    let climb = jsa_scan(20);
    let check = |mean_of: &dyn Fn(usize) -> (f64, f64), tolerance: f64| {
        for row in 0..60 {
            let (mean, covariance) = model.posterior(&theta, row).unwrap();
            let deviation = covariance[(0, 0)].sqrt();
            let (found, scale) = mean_of(row);
            assert!((found - mean[0]).abs() < tolerance * deviation, "datum {row}: {found} for {}", mean[0]);
            assert!((scale / deviation - 1.0).abs() < tolerance, "datum {row}: {scale} for {deviation}");
        }
    };
    let one = MeanField::new(1);

    let family = Amortised::new(one, model.data().to_owned()).unwrap();
    let start = family.same_for_all(&one.at(&[0.0], &[1.0]).unwrap()).unwrap();
    let (_, params) = fitted((&given, &family), (climb.clone(), falling(0.02), 1), start, 8_000);
    let read = |row: usize| {
        let mut own = [0.0; 2];
        family.params_of(&params, row, &mut own);
        (own[0], one.link.scale(own[1]))
    };
    check(&read, 0.1);

    let family = PerDatum { family: one, data: 60 };
    let start = one.at(&[0.0], &[1.0]).unwrap().repeat(60);
    let (_, params) = fitted((&given, &family), (climb, falling(0.05), 1), start, 15_000);
    check(&|row| (params[2 * row], one.link.scale(params[2 * row + 1])), 0.3);
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

/// Ten data `x_i = 2` of the model `z_i ~ N(theta, 1), x_i | z_i ~ N(z_i, 1)`: the evidence `prod_i N(2; theta, 2)` is largest at
/// theta = 2, and there each posterior is `N(2, 1/2)`.
struct Shift;

/// The model at a fixed theta.
struct Shifted<'a>(&'a [f64]);

impl Blocks for Shifted<'_> {
    fn num_blocks(&self) -> usize {
        10
    }
    fn block_dim(&self) -> usize {
        1
    }
    fn log_blocks(&self, _: &[usize], z: MatRef<'_, f64>, out: &mut [f64], _: &mut [f64]) {
        for (j, out) in out.iter_mut().enumerate() {
            let z = z.column(j)[0];
            *out = -0.5 * ((z - self.0[0]).powi(2) + (2.0 - z).powi(2));
        }
    }
}

impl Learnable for Shift {
    type At<'a> = Shifted<'a>;

    fn num_thetas(&self) -> usize {
        1
    }
    fn at<'a>(&'a self, theta: &'a [f64]) -> Shifted<'a> {
        Shifted(theta)
    }
    fn anywhere(&self) -> Shifted<'_> {
        Shifted(&[])
    }
    fn add_theta_gradients(
        &self,
        theta: &[f64],
        _: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, weight) in weights.iter().enumerate() {
            gradient[0] += weight * (z.column(j)[0] - theta[0]);
        }
    }
}

/// One Gaussian for all data: an amortised family without features.
fn shared() -> Amortised<MeanField> {
    Amortised::new(MeanField::new(1), Mat::zeros(0, 10)).unwrap()
}

#[test]
fn joint_learning_finds_the_most_likely_parameter() {
    let (family, one) = (shared(), MeanField::new(1));
    let mut start = one.at(&[0.0], &[1.0]).unwrap();
    start.push(-1.0);
    let parts = (Joint { climb: jsa_scan(10) }, falling(0.02), 3);
    let (_, params) = fitted((&Shift, &family), parts, start, 8_000);
    let [mean, rho, theta] = &params[..] else { panic!("three params") };
    assert!((theta - 2.0).abs() < 0.05, "{theta}");
    assert!((mean - 2.0).abs() < 0.05 && (one.link.scale(*rho).powi(2) - 0.5).abs() < 0.05);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let told = |result: Result<(), Error>| result.unwrap_err().to_string();
    let family = PerDatum { family: Atoms::on_line(2).unwrap(), data: 3 };
    let mut lanes = Seed::new(1).streams(1, 0);
    let refused = jsa_scan(1).init(&Table, &family, &[0.0; 6], &mut lanes).map(drop);
    assert!(told(refused).starts_with("ScanScore: data of target and family"));
    let refused = family.check(&[0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0]);
    assert!(told(refused).starts_with("PerDatum, datum 1: params[1] is NaN"));
    let joint = Joint { climb: jsa_scan(2) };
    let refused = Estimator::check_params(&joint, &Shift, &shared(), &[0.0, 0.5]);
    assert!(told(refused).starts_with("Joint: lambda and theta"));
}

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
