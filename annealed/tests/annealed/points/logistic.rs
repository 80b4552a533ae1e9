//! Logistic surrogates against differences, dual numbers and the regression itself.

use mcsa_annealed::Surrogate;

use mcsa_annealed::surrogate::LogisticSurrogate;
use mcsa_core::{Curvature, Gradient, LogDensity, Seed};
use mcsa_models::LogisticRegression;
use num_dual::HyperDual64;

use super::differences::{Lent, check, close, labels, matrix, normals, unit};
use super::plain::{Fault, Plain};

/// Each form of the logistic surrogate, and its plain twin.
pub(super) fn logistic_forms(points: usize, d: usize) -> Vec<(LogisticSurrogate, Plain)> {
    let (x, labels, prior_scale) = (matrix(points, d, 1), labels(points), 1.3);
    let plus: Vec<f64> = normals(points, 2).iter().map(|x| (x + 0.5).exp()).collect();
    let minus: Vec<f64> = normals(points, 3).iter().map(|x| (0.7 * x).exp()).collect();
    let rows = || LogisticSurrogate::from_rows(x.as_ref(), &labels, &plus, prior_scale).unwrap();
    let both = || LogisticSurrogate::from_points(x.as_ref(), &plus, &minus, prior_scale).unwrap();
    let plain =
        Plain { x: x.clone(), labels: None, fixed: None, learned: false, prior_scale, fault: Fault::None };
    let labelled = Plain { labels: Some(labels.clone()), ..plain.clone() };
    let of = |label: f64| plus.iter().zip(&labels).map(move |(w, &y)| if y == label { *w } else { 0.0 });
    let fixed = Plain { fixed: Some((of(1.0).collect(), of(0.0).collect())), ..labelled.clone() };
    vec![
        (rows(), labelled.clone()),
        (rows().with_fixed_weights(), fixed),
        (rows().with_learned_points(), Plain { learned: true, ..labelled }),
        (both(), plain.clone()),
        (both().with_fixed_weights(), Plain { fixed: Some((plus.clone(), minus.clone())), ..plain.clone() }),
        (both().with_learned_points(), Plain { learned: true, ..plain }),
    ]
}

#[test]
fn logistic_surrogates_have_their_derivatives() {
    for (points, d) in [(1, 1), (16, 3), (21, 4)] {
        for (surrogate, plain) in logistic_forms(points, d) {
            let psi = surrogate.initial();
            let formula = |psi: &[f64], z: &[f64]| plain.log_density(psi, z);
            assert_eq!(check(&surrogate, &psi, &formula), Ok(()), "{}", surrogate.config());
            assert_eq!(check(&plain, &psi, &formula), Ok(()), "{}", surrogate.config());
        }
    }
}

/// Second derivatives of the formula in hyper-dual numbers, exact to rounding.
#[test]
fn logistic_surrogates_agree_with_dual_numbers() {
    let pair = |x: &[f64], first: &[f64], second: &[f64]| -> Vec<HyperDual64> {
        (0..x.len()).map(|i| HyperDual64::new(x[i], first[i], second[i], 0.0)).collect()
    };
    for (surrogate, plain) in logistic_forms(21, 4) {
        let (psi, z, u) = (surrogate.initial(), normals(4, 7), normals(4, 8));
        let (still, rest) = (vec![0.0; psi.len()], [0.0; 4]);
        let mut lent = Lent::new(&surrogate);
        let gradient = lent.gradient(&psi, &[], &z);
        let (product, bar) = lent.second(&psi, &z, &u, 0.7);
        for k in 0..4 {
            let value = plain.log_density(&pair(&psi, &still, &still), &pair(&z, &u, &unit(4, k)));
            close("gradient", gradient[k], value.eps2, 1e-12).unwrap();
            close("product", product[k], 1.0 + 0.7 * value.eps1eps2, 1e-12).unwrap();
        }
        for (j, &bar) in bar.iter().enumerate() {
            let along = unit(psi.len(), j);
            let value = plain.log_density(&pair(&psi, &still, &along), &pair(&z, &u, &rest));
            close("parameters", bar, 1.0 + 0.7 * value.eps1eps2, 1e-12).unwrap();
        }
    }
}

#[test]
fn faulty_surrogates_are_found() {
    let forms = logistic_forms(16, 3);
    let found = |form: usize, fault: Fault| {
        let (surrogate, plain) = &forms[form];
        let formula = |psi: &[f64], z: &[f64]| plain.log_density(psi, z);
        check(&Plain { fault, ..plain.clone() }, &surrogate.initial(), &formula).unwrap_err()
    };
    for form in [0, 2, 3, 5] {
        for fault in [Fault::NoWeights, Fault::LinearWeights] {
            assert!(found(form, fault).starts_with("parameters"));
        }
        for fault in [Fault::CurvatureOfMinus, Fault::NoPrior] {
            assert!(found(form, fault).starts_with("product"));
        }
    }
    for form in [2, 5] {
        for fault in [Fault::NoPoints, Fault::NoPointsAlongU, Fault::NoPointsAlongZ] {
            assert!(found(form, fault).starts_with("parameters"));
        }
    }
}

/// All rows with weights 1 are the regression itself; other weights are not.
#[test]
fn all_rows_are_the_regression() {
    let (x, labels, z, u) = (matrix(45, 5, 1), labels(45), normals(5, 2), normals(5, 3));
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.3).unwrap();
    let mut stream = Seed::new(1).stream(0, 0);
    let surrogate = LogisticSurrogate::rand(x.as_ref(), &labels, 45, 1.3, &mut stream).unwrap();
    let mut work = vec![0.0; target.work_len(1)];
    let (mut gradient, mut product) = (vec![0.0; 5], vec![0.0; 5]);
    target.gradient_into(&z, &mut gradient, &mut work);
    target.hessian_vector_into(&z, &u, &mut product, &mut work);
    let agrees = |psi: &[f64]| {
        let mut lent = Lent::new(&surrogate);
        let found = lent.gradient(psi, &[], &z);
        let (second, _) = lent.second(psi, &z, &u, 1.0);
        (0..5).try_for_each(|k| {
            close("gradient", found[k], gradient[k], 1e-12)?;
            close("product", second[k], 1.0 + product[k], 1e-12)
        })
    };
    assert_eq!(agrees(&surrogate.initial()), Ok(()));
    assert!(agrees(&vec![1e-6; 45]).is_err());
}

/// The surrogate log likelihood and the log prior add up to a potential of the surrogate's gradient, for every form; the likelihood
/// alone has another gradient.
#[test]
fn log_likelihoods_have_the_gradient_of_the_surrogate() {
    for (surrogate, _) in logistic_forms(7, 3) {
        let psi: Vec<f64> = surrogate.initial().iter().map(|psi| psi + 0.1).collect();
        let z = normals(3, 5);
        let gradient = Lent::new(&surrogate).gradient(&psi, &[], &z);
        let value = |k: usize, by: f64, prior: f64| {
            let moved = faer::Mat::from_fn(3, 1, |i, _| z[i] + if i == k { by } else { 0.0 });
            let mut out = [0.0];
            surrogate.log_likelihoods(&psi, moved.as_ref(), &mut out);
            out[0] - prior * moved.col(0).iter().map(|z| z * z).sum::<f64>() / (2.0 * 1.3 * 1.3)
        };
        let slope = |k, prior| (value(k, 1e-5, prior) - value(k, -1e-5, prior)) / 2e-5;
        for k in 0..3 {
            assert!((slope(k, 1.0) - gradient[k]).abs() < 1e-7, "{} {}", slope(k, 1.0), gradient[k]);
            assert!((slope(k, 0.0) - gradient[k]).abs() > 1e-3 * z[k].abs());
        }
    }
}
