//! Densities that `generic.rs` does not compare with a formula, values at far points, predictions, and refusals.

use faer::{Mat, mat};
use mcsa_core::{Columns, Error, Gradient, LogDensity, Named, Seed};
use mcsa_models::support::log_normal;
use mcsa_models::{
    GaussianProcessClassification, HierarchicalLogistic, LinearRegression, LogisticRegression,
    NeuralRegression, PoissonRegression, ProbitRegression, RobustGaussianProcess, ScalePrior,
};
use mcsa_particles::{FxVolatility, Theta};
use mcsa_testing::model::{Case, density_equals, gradient_is_gradient, hessian_vector_is_derivative};

use crate::{counts, features, labels, responses, single};

/// Compares a density with its formula at points of this spread. One that is larger by 1e-8 must be refused.
fn agrees<P: LogDensity>(target: Result<P, Error>, spread: f64, formula: impl Fn(&[f64]) -> f64) {
    let case = Case::new(target.unwrap()).with_spread(spread);
    assert_eq!(density_equals(&case, &formula), Ok(()));
    let larger = |z: &[f64]| formula(z) + 1e-8 * (1.0 + formula(z).abs());
    assert!(density_equals(&case, &larger).is_err());
}

fn normals(z: &[f64], scale: f64) -> f64 {
    z.iter().map(|&z| log_normal(z, scale)).sum()
}

#[test]
fn exchange_rates_are_their_formula() {
    let returns: Vec<f64> = (0..25).map(|t| 0.7 * f64::from(5 * t).sin()).collect();
    let theta = Theta { mu: -0.4, atanh_phi: 1.1, log_sigma: -0.6, log_beta: -0.3 };
    let (phi, sigma) = (1.1_f64.tanh(), (-0.6_f64).exp());
    agrees(FxVolatility::new(returns.clone(), theta), 1.0, |z| {
        let steps = z.windows(2).zip(&returns).map(|(pair, &x)| {
            log_normal(pair[1] + 0.4 - (pair[0] + 0.4) * phi, sigma)
                + log_normal(x, (0.5 * (pair[1] - 0.3)).exp())
        });
        log_normal(z[0] + 0.4, sigma / (1.0 - phi * phi).sqrt()) + steps.sum::<f64>()
    });
}

/// Features in single precision; those in double precision are in `generic.rs`.
#[test]
fn a_regression_on_narrow_features_is_its_formula() {
    let (x, y) = (single(features(37, 3).as_ref()), labels(37));
    agrees(LogisticRegression::new(x.as_ref(), &y, 2.0), 1.0, |z| {
        let line = |i: usize| (0..3).map(|k| z[k] * f64::from(x[(i, k)])).sum::<f64>();
        let terms = (0..37).map(|i| -(-(2.0 * y[i] - 1.0) * line(i)).exp().ln_1p());
        normals(z, 2.0) + terms.sum::<f64>()
    });
}

/// At points of any size up to a thousand, the density is a number or `-inf`, where the gradient is 0, and the gradient has no NaN.
fn nowhere_nan<P: Gradient>(target: Result<P, Error>) {
    let target = target.unwrap();
    let (dim, mut work) = (target.dim(), vec![0.0; target.work_len(1)]);
    let (mut gradient, mut stream) = (vec![0.0; dim], Seed::new(17).stream(0, 0));
    for scale in [0.0, 1.0, 10.0, 100.0, 1000.0] {
        let mut points = Mat::from_fn(dim, 4 + 2 * dim.min(12), |_, _| scale * stream.normal());
        for k in 4..points.ncols() {
            points.col_as_slice_mut(k).fill(0.0);
            points[((k - 4) / 2, k)] = scale * [-1.0, 1.0][k % 2];
        }
        for z in (0..points.ncols()).map(|k| points.as_ref().column(k)) {
            let value = target.gradient_into(z, &mut gradient, &mut work);
            assert!(value < f64::INFINITY && gradient.iter().all(|g| !g.is_nan()), "{value} at {z:?}");
            assert!(value > f64::NEG_INFINITY || gradient.iter().all(|&g| g == 0.0), "{gradient:?} at {z:?}");
        }
    }
}

#[test]
fn regressions_are_nowhere_nan() {
    for (rows, columns) in [(45, 5), (300, 1), (3, 9), (1, 1)] {
        let (x, y) = (features(rows, columns), labels(rows));
        nowhere_nan(LogisticRegression::new(x.as_ref(), &y, 2.0));
        nowhere_nan(ProbitRegression::new(x.as_ref(), &y, 1.0));
        nowhere_nan(PoissonRegression::new(x.as_ref(), &counts(rows), 1.0));
        nowhere_nan(HierarchicalLogistic::new(x.as_ref(), &y, ScalePrior::HalfNormal));
        nowhere_nan(HierarchicalLogistic::new(x.as_ref(), &y, ScalePrior::InverseGamma));
        nowhere_nan(LinearRegression::new(x.as_ref(), &y, 0.7, 1.5));
    }
    for (rows, columns, hidden) in [(20, 3, 9), (33, 2, 8), (1, 1, 1), (5, 6, 1)] {
        let (x, y) = (features(rows, columns), responses(rows));
        nowhere_nan(NeuralRegression::new(x.as_ref(), &y, hidden));
        nowhere_nan(RobustGaussianProcess::new(x.as_ref(), &y));
        nowhere_nan(GaussianProcessClassification::new(x.as_ref(), &labels(rows)));
    }
}

#[test]
fn hierarchical_coordinates_have_names() {
    let target = HierarchicalLogistic::new(features(20, 2).as_ref(), &labels(20), ScalePrior::HalfNormal);
    let mut named = Named::default();
    target.unwrap().constrain(&[-0.3, 0.4, 0.8, -1.1, 0.6], &mut named);
    assert_eq!((named.names().len(), named.row()[0], &*named.names()[3]), (5, (-0.3_f64).exp(), "beta[1]"));
}

#[test]
fn bad_data_are_refused_with_their_place() {
    let x = Mat::from_fn(2, 1, |_, _| 1.0);
    let logistic =
        |labels: &[f64], scale| LogisticRegression::new(x.as_ref(), labels, scale).unwrap_err().to_string();
    assert_eq!(logistic(&[1.0], 1.0), "LogisticRegression: labels has length 1, expected 2");
    assert_eq!(logistic(&[1.0, -1.0], 1.0), "LogisticRegression: label is -1, expected 0 or 1");
    assert_eq!(
        logistic(&[1.0, 0.0], -1.0),
        "LogisticRegression: prior scale is -1, expected positive and finite"
    );
    let counted = |counts: &[f64]| PoissonRegression::new(x.as_ref(), counts, 1.0).unwrap_err().to_string();
    assert_eq!(counted(&[1.0]), "PoissonRegression: counts has length 1, expected 2");
    for (other, shown) in [(0.5, "0.5"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        assert_eq!(
            counted(&[3.0, other]),
            format!("PoissonRegression: count is {shown}, expected 0, 1, 2, ..")
        );
    }
    let network = |hidden| NeuralRegression::new(x.as_ref(), &[1.0, 0.0], hidden).unwrap_err().to_string();
    assert_eq!(network(0), "NeuralRegression: hidden units is 0, expected at least 1");
    assert!(network(usize::MAX).contains("expected at most"));
    let x = mat![[0.0], [f64::NAN]];
    let error = HierarchicalLogistic::new(x.as_ref(), &[0.0, 1.0], ScalePrior::HalfNormal).unwrap_err();
    assert_eq!(error.to_string(), "HierarchicalLogistic: features[1] is NaN, expected a finite number");
}

/// Sums over 70 blocks and over a part, which threads share: the bits are those of one thread, and those of a column alone.
#[test]
fn rows_that_threads_share_give_the_bits_of_one() {
    const ROWS: usize = 71_000;
    let x = features(ROWS, 16);
    let target = PoissonRegression::new(single(x.as_ref()).as_ref(), &counts(ROWS), 1.0).expect("good data");
    assert!(
        target.shares_rows()
            && !LogisticRegression::new(x.as_ref().subrows(0, 2), &[0.0, 1.0], 1.0).unwrap().shares_rows()
    );
    let z = Mat::from_fn(16, 73, |i, c| 0.01 * ((7 * i + 3 * c) % 11) as f64);
    let by_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let mut work = vec![f64::NAN; target.work_len(73)];
        let (mut values, mut of_gradients, mut gradients) = ([0.0; 73], [0.0; 73], Mat::zeros(16, 73));
        pool.install(|| {
            target.log_densities(z.as_ref(), &mut values, &mut work);
            target.gradients_into(z.as_ref(), &mut of_gradients, gradients.as_mut(), &mut work);
        });
        assert_eq!(values, of_gradients);
        (values, gradients)
    };
    let (values, gradients) = by_threads(1);
    assert_eq!(by_threads(2), (values, gradients.clone()));
    assert_eq!(by_threads(5), (values, gradients.clone()));
    let (mut gradient, mut work) = ([0.0; 16], vec![0.0; target.work_len(1)]);
    assert_eq!(target.gradient_into(z.as_ref().column(61), &mut gradient, &mut work), values[61]);
    assert_eq!(gradient, gradients.as_ref().column(61));
}

/// A regression without data is its prior.
#[test]
fn no_rows_are_the_prior() {
    let target = || LogisticRegression::new(Mat::<f64>::zeros(0, 2).as_ref(), &[], 1.5);
    agrees(target(), 1.0, |z| normals(z, 1.5));
    let case = Case::new(target().unwrap());
    assert_eq!(gradient_is_gradient(&case).and_then(|()| hessian_vector_is_derivative(&case)), Ok(()));
}

/// At an input with a known value, the prediction is that value up to the nugget; with a broad `q` it has a larger variance.
#[test]
fn predictions_interpolate_and_widen() {
    let x = features(12, 2);
    let y: Vec<f64> = (0..12).map(|i| x[(i, 0)]).collect();
    let target = RobustGaussianProcess::new(x.as_ref(), &y).unwrap();
    let mut mean = vec![-2.0, -12.0, 0.0, 1.0, 0.5, 0.5];
    mean.extend(&y);
    let [at, wide] = [0.0, 0.3]
        .map(|v| target.predict_from_moments(x.as_ref(), &mean, &vec![v; mean.len()]).expect("a covariance"));
    for ((at, wide), y) in at.iter().zip(&wide).zip(&y) {
        assert!((at.0 - y).abs() < 1e-3 && at.1 < 1e-5, "{at:?} {y}");
        assert!((wide.1 - 0.3).abs() < 1e-2, "{wide:?}");
    }
    let far = target.predict_from_moments(mat![[1e3, 0.0]].as_ref(), &mean, &vec![0.3; mean.len()]).unwrap();
    assert!(far[0].0.abs() < 1e-12 && (far[0].1 - 1.0).abs() < 1e-5, "{far:?}");
    assert!(target.log_predictive_density(&mean, &at, &y) > target.log_predictive_density(&mean, &wide, &y));
}

/// With the scales fixed and `f` drawn from an independent normal, predictions given each draw have the moments of those from moments:
/// 4,000 draws, 5 standard errors.
#[test]
fn moments_and_draws_agree() {
    let (x, new) = (features(4, 2), mat![[0.4, -0.8], [-1.3, 0.2], [0.7, 1.1]]);
    let target = RobustGaussianProcess::new(x.as_ref(), &[0.0; 4]).unwrap();
    let mean = [-1.0, -1.0, 0.0, 1.0, 0.3, 0.1, 0.5, -1.0, 2.0, 0.0];
    let variance: [f64; 10] = std::array::from_fn(|i| if i < 6 { 0.0 } else { 0.4 });
    let mut stream = Seed::new(8).stream(0, 0);
    let draws = Mat::from_fn(10, 4000, |i, _| mean[i] + variance[i].sqrt() * stream.normal());
    let exact = target.predict_from_moments(new.as_ref(), &mean, &variance).unwrap();
    let mut drawn = [[0.0; 2]; 3];
    for s in 0..4000 {
        let known = target.predict_from_moments(new.as_ref(), draws.col_as_slice(s), &[0.0; 10]).unwrap();
        for (sums, ((m, v), exact)) in drawn.iter_mut().zip(known.iter().zip(&exact)) {
            sums[0] += (m - exact.0) / 4e3;
            sums[1] += ((m - exact.0).powi(2) + v) / 4e3;
        }
    }
    for (exact, [mean, square]) in exact.iter().zip(drawn) {
        assert!(mean.abs() < 5.0 * (exact.1 / 4e3).sqrt(), "{exact:?} {mean}");
        assert!(
            (exact.1 - square + mean * mean).abs() < 5.0 * exact.1 * (2.0_f64 / 4e3).sqrt(),
            "{exact:?} {square}"
        );
    }
}
