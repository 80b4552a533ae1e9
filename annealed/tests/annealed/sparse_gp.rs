//! Sparse Gaussian processes: the suites in `u` and in theta, and identities.

use faer::Mat;
use mcsa_annealed::{InducingCoordinates, SparseGaussianProcess, SparseMinibatch, SparsePosterior};
use mcsa_core::numeric::HALF_LOG_TAU;
use mcsa_core::numeric::quadrature::{Axis, Map, log_integral};
use mcsa_core::numeric::scalar::log_sigmoid;
use mcsa_core::{LogDensity, Minibatch, Seed, Separable};
use mcsa_models::Gaussian;
use mcsa_testing::model::Case;
use statrs::distribution::{Continuous, StudentsT};

use InducingCoordinates::{Plain, Whitened};

use crate::meter;

fn normals(rows: usize, columns: usize, lane: u64, scale: f64) -> Mat<f64> {
    let mut stream = Seed::new(5).stream(lane, 0);
    Mat::from_fn(rows, columns, |_, _| scale * stream.normal())
}

/// A process with its parameters, all its rows, and memory.
pub(super) struct Fixture {
    pub(super) process: SparseGaussianProcess,
    pub(super) theta: Vec<f64>,
    rows: Vec<usize>,
    memory: Vec<f64>,
}

impl Fixture {
    pub(super) fn new(
        robust: bool,
        coordinates: InducingCoordinates,
        (n, d, m): (usize, usize, usize),
    ) -> Self {
        let (x, y) = (normals(n, d, 0, 1.0), normals(n, 1, 1, 1.5));
        let process = match robust {
            true => SparseGaussianProcess::robust(x.as_ref(), y.col_as_slice(0), m),
            false => {
                let labels: Vec<f64> = (0..n).map(|i| f64::from(u8::from(y[(i, 0)] > 0.3))).collect();
                SparseGaussianProcess::classification(x.as_ref(), &labels, m)
            }
        };
        let process = process.expect("good data").with_coordinates(coordinates);
        let lengths: Vec<f64> = (0..d).map(|k| 0.2 - 0.3 * k as f64).collect();
        let noise = if robust { &[-0.4, 0.7][..] } else { &[] };
        let theta = process.theta(0.5, &lengths, noise, normals(m, d, 2, 1.5).as_ref()).expect("good theta");
        let rows: Vec<usize> = (0..n).collect();
        Self::at(process, theta, rows)
    }

    fn at(process: SparseGaussianProcess, theta: Vec<f64>, rows: Vec<usize>) -> Self {
        let mut memory = vec![0.0; process.memory_len(rows.len())];
        process.prepare_into(&theta, &rows, &mut memory).expect("a factor");
        Self { process, theta, rows, memory }
    }

    fn posterior(&self) -> SparsePosterior<'_> {
        self.process.posterior(&self.theta, &self.rows, &self.memory)
    }
}

/// Less than a block of data, more than one, and more than a minibatch of regressions holds at once.
const SIZES: [(usize, usize, usize); 3] = [(5, 1, 1), (20, 2, 4), (300, 3, 9)];

fn cases(robust: bool, coordinates: InducingCoordinates) -> Vec<Case<SparsePosterior<'static>>> {
    let posterior = |size| Box::leak(Box::new(Fixture::new(robust, coordinates, size))).posterior();
    SIZES.map(|size| Case { probes: 1024, ..Case::new(posterior(size)) }).into()
}

mcsa_testing::model_suite!(classification, cases(false, Plain), meter, gradient curvature separable subsampled);
mcsa_testing::model_suite!(classification_whitened, cases(false, Whitened), meter, gradient curvature separable subsampled);
mcsa_testing::model_suite!(robust, cases(true, Plain), meter, gradient curvature separable subsampled);
mcsa_testing::model_suite!(robust_whitened, cases(true, Whitened), meter, gradient curvature separable subsampled);

fn minibatches(robust: bool, coordinates: InducingCoordinates) -> Vec<Case<SparseMinibatch<'static>>> {
    let cases = [((5, 1, 1), vec![4, 1]), ((20, 2, 3), (0..20).rev().collect())];
    let case = |(size, rows): ((usize, usize, usize), Vec<usize>)| {
        let fixture = Box::leak(Box::new(Fixture::new(robust, coordinates, size)));
        fixture.rows = rows;
        let centre = [&fixture.theta[..], &vec![0.0; size.2]].concat();
        let target = fixture.process.on(&fixture.rows).expect("known rows");
        Case { probes: 1024, ..Case::new(target).with_centre(centre).with_spread(0.4) }
    };
    cases.map(case).into()
}

mcsa_testing::model_suite!(minibatch, minibatches(false, Plain), meter, gradient);
mcsa_testing::model_suite!(minibatch_whitened, minibatches(false, Whitened), meter, gradient);
mcsa_testing::model_suite!(minibatch_robust, minibatches(true, Plain), meter, gradient);
mcsa_testing::model_suite!(minibatch_robust_whitened, minibatches(true, Whitened), meter, gradient);

/// The minibatch at `(theta, u)` is that of the posterior at theta.
#[test]
fn minibatch_is_that_of_the_posterior() {
    for fixture in fixtures() {
        let (posterior, u) = (fixture.posterior(), point(5, 3));
        let expected = Minibatch::new(&posterior, &BATCH).expect("known rows");
        let found = fixture.process.on(&BATCH).expect("known rows");
        let z = [&fixture.theta[..], &u].concat();
        let mut work = vec![f64::NAN; found.work_len(1)];
        let expected = expected.log_density(&u, &mut work);
        let log_p = found.log_density(&z, &mut work);
        assert!((log_p - expected).abs() < 1e-12 * expected.abs(), "{log_p} {expected}");
        let other = fixture.process.on(&BATCH[1..]).expect("known rows").log_density(&z, &mut work);
        assert!((other - expected).abs() > 1e-3, "other rows are seen");
        assert!(fixture.process.on(&[18]).is_err() && fixture.process.on(&[]).is_err());
    }
}

fn fixtures() -> Vec<Fixture> {
    let kinds = [(false, Plain), (false, Whitened), (true, Plain), (true, Whitened)];
    kinds.map(|(robust, coordinates)| Fixture::new(robust, coordinates, (18, 2, 5))).into()
}

fn point(dim: usize, lane: u64) -> Vec<f64> {
    normals(dim, 1, lane, 0.8).col_as_slice(0).to_vec()
}

/// Rows of a minibatch, one of them twice.
const BATCH: [usize; 6] = [17, 0, 3, 11, 3, 8];

/// The same in terms of its definition, with dense solves and an integral over each field value.
#[test]
fn value_by_dense_algebra_and_integrals() {
    for robust in [false, true] {
        let fixture = Fixture::new(robust, Plain, (12, 2, 4));
        let (posterior, u) = (fixture.posterior(), point(4, 3));
        let (theta, z, x) = (&fixture.theta, fixture.process.first_inducing(), normals(12, 2, 0, 1.0));
        let y = normals(12, 1, 1, 1.5);
        let kernel = |a: &[f64], b: &[f64]| {
            let apart = |k: usize| ((a[k] - b[k]) / theta[1 + k].exp()).powi(2);
            (theta[0] - 0.5 * (apart(0) + apart(1))).exp()
        };
        let inducing = |i: usize| &theta[z + 2 * i..z + 2 * i + 2];
        let jitter = |i: usize, j: usize| if i == j { 1e-6 } else { 0.0 };
        let k_zz = Mat::from_fn(4, 4, |i, j| kernel(inducing(i), inducing(j)) + jitter(i, j));
        assert!((&k_zz - posterior.covariance()).norm_max() < 1e-14);
        let inverse = faer::linalg::solvers::DenseSolveCore::inverse(&k_zz.partial_piv_lu());
        let mut expected = Gaussian::new(vec![0.0; 4], k_zz.as_ref()).unwrap().log_density(&u, &mut [0.0; 8]);
        for n in 0..12 {
            let row = [x[(n, 0)], x[(n, 1)]];
            let across: Vec<f64> = (0..4).map(|i| kernel(&row, inducing(i))).collect();
            let weights: Vec<f64> =
                (0..4).map(|i| (0..4).map(|j| inverse[(i, j)] * across[j]).sum()).collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            for (found, weight) in posterior.weights(n).iter().zip(&weights) {
                assert!((found - weight).abs() < 1e-8, "A of datum {n}");
            }
            let variance = theta[0].exp() - dot(&across, &weights);
            assert!((posterior.variance(n) - variance).abs() < 1e-8, "v of datum {n}");
            let mean = dot(&weights, &u);
            let log_p = |f: f64| match robust {
                true => {
                    let errors = StudentsT::new(0.0, theta[3].exp(), 2.0 + theta[4].exp()).unwrap();
                    errors.ln_pdf(y[(n, 0)] - f)
                }
                false => log_sigmoid(if y[(n, 0)] > 0.3 { f } else { -f }),
            };
            expected += log_integral(&[Axis::line(Map::Sinh, 0.0, 1.0)], 1e-12, |e| {
                log_p(mean + variance.sqrt() * e[0]) - 0.5 * e[0] * e[0] - HALF_LOG_TAU
            })
            .value;
        }
        let found = posterior.log_density(&u, &mut [0.0; 4]);
        // The rule with 16 nodes is nearly exact for a logistic likelihood; for narrow errors with heavy tails it is not.
        let tolerance = if robust { 1e-2 } else { 1e-6 };
        assert!((found - expected).abs() < tolerance, "{robust}: {found} {expected}");
        let error = posterior.quadrature_error(&u);
        assert!((found - error - expected).abs() < 2e-8, "{robust}: {found} {error} {expected}");
        assert!(!robust || error.abs() > 1e-4, "narrow errors leave an error: {error}");
    }
}

/// `log p(e) = log p(L e) + log det L`.
#[test]
fn whitening_is_a_change_of_variables() {
    for robust in [false, true] {
        let (plain, white) =
            (Fixture::new(robust, Plain, (18, 2, 5)), Fixture::new(robust, Whitened, (18, 2, 5)));
        let (e, mut work) = (point(5, 3), vec![0.0; 5]);
        let (plain, white) = (plain.posterior(), white.posterior());
        let factor = plain.covariance().llt(faer::Side::Lower).expect("positive definite");
        let u: Vec<f64> = (0..5).map(|i| (0..=i).map(|j| factor.L()[(i, j)] * e[j]).sum()).collect();
        let log_det: f64 = 0.5 * plain.covariance().determinant().ln();
        let (found, expected) =
            (white.log_density(&e, &mut work), plain.log_density(&u, &mut work) + log_det);
        assert!((found - expected).abs() < 1e-9 * expected.abs(), "{found} {expected}");
    }
}

#[test]
fn predictions_average_over_draws() {
    for fixture in fixtures() {
        let posterior = fixture.posterior();
        let draws = normals(5, 7, 9, 0.5);
        let mut log_p = vec![f64::NAN; 18];
        posterior.log_predictive_into(draws.as_ref(), &mut log_p);
        for (n, log_p) in log_p.iter().enumerate() {
            let term = |s: usize| posterior.log_likelihood_at(&[n], draws.col_as_slice(s), &mut []).exp();
            let mean = (0..7).map(term).sum::<f64>() / 7.0;
            assert!((log_p - mean.ln()).abs() < 1e-13 * (1.0 + log_p.abs()), "datum {n}");
        }
    }
}

#[test]
fn bad_parameters_are_errors() {
    let fixture = Fixture::new(true, Plain, (5, 1, 2));
    let (process, theta) = (&fixture.process, &fixture.theta);
    let error = |k: usize, value: f64| {
        let mut theta = theta.clone();
        theta[k] = value;
        let mut memory = fixture.memory.clone();
        let error = process.prepare_into(&theta, &fixture.rows, &mut memory).expect_err("error");
        assert!(memory.iter().all(|x| x.is_nan()));
        error.to_string()
    };
    assert!(error(0, f64::NAN).contains("theta"));
    assert!(error(1, 301.0).contains("between -300 and 300"));
    // An amplitude so large that the jitter is lost, with both inducing points at one place: rounding decides about the last pivot.
    let mut memory = fixture.memory.clone();
    let error = (50..80).filter_map(|log_amplitude| {
        let mut same = theta.clone();
        (same[0], same[5]) = (f64::from(log_amplitude), same[4]);
        process.prepare_into(&same, &fixture.rows, &mut memory).err()
    });
    let error: Vec<String> = error.map(|error| error.to_string()).collect();
    let named = |error: &String| error.contains("covariance of the inducing values");
    assert!(error.len() > 5 && error.iter().all(named), "{error:?}");
    assert!(process.theta(0.0, &[0.0], &[], normals(2, 1, 0, 1.0).as_ref()).is_err());
    let x = normals(2, 1, 0, 1.0);
    assert!(SparseGaussianProcess::classification(x.as_ref(), &[0.0, 2.0], 1).is_err());
    assert!(SparseGaussianProcess::robust(x.as_ref(), &[0.0, 2.0], 0).is_err());
    assert_eq!(process.num_thetas(), theta.len());
}
