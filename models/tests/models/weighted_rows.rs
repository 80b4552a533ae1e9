//! Posteriors of weighted rows: conformance, equality with repeated rows, and refusals.

use faer::Mat;
use mcsa_core::{Gradient, LogDensity, Separable};
use mcsa_models::{HierarchicalLogistic, LinearRegression, LogisticRegression, ScalePrior, WeightedRows};
use mcsa_testing::model::Case;

use crate::{features, labels, meter};

const ROWS: [usize; 5] = [7, 0, 3, 3, 11];

fn weights() -> Vec<f64> {
    vec![1.5, 0.2, 4.0, 1.0, 0.01]
}

/// A reference for the rest of the process, as test cases own what they test.
fn forever<T>(target: T) -> &'static T {
    Box::leak(Box::new(target))
}

fn hierarchical() -> [Case<WeightedRows<'static, HierarchicalLogistic>>; 1] {
    let target = HierarchicalLogistic::new(features(12, 3).as_ref(), &labels(12), ScalePrior::HalfNormal);
    [Case::new(WeightedRows::new(forever(target.unwrap()), ROWS.to_vec(), weights()).unwrap())
        .with_spread(0.5)]
}

mcsa_testing::model_suite!(hierarchical_rows, hierarchical(), meter, gradient curvature);

fn linear() -> LinearRegression {
    LinearRegression::new(features(12, 3).as_ref(), &labels(12), 0.7, 1.5).unwrap()
}

/// The posterior of the rows 1, 1, 1, 4 is that of row 1 with weight 3 and row 4 with weight 1; no row gives the prior.
#[test]
fn an_integer_weight_repeats_a_row() {
    let (x, y) = (features(6, 2), labels(6));
    let target = LogisticRegression::new(x.as_ref(), &y, 2.0).unwrap();
    let of = |rows: &[usize]| {
        let x = Mat::from_fn(rows.len(), 2, |i, k| x[(rows[i], k)]);
        let y: Vec<f64> = rows.iter().map(|&row| y[row]).collect();
        LogisticRegression::new(x.as_ref(), &y, 2.0).unwrap()
    };
    let (z, repeated) = ([0.4, -1.1], of(&[1, 1, 1, 4]));
    let weighted = WeightedRows::new(&target, vec![1, 4], vec![3.0, 1.0]).unwrap();
    let (mut found, mut expected) = ([0.0; 2], [0.0; 2]);
    let log_p = weighted.gradient_into(&z, &mut found, &mut vec![f64::NAN; weighted.work_len(1)]);
    let exact = repeated.gradient_into(&z, &mut expected, &mut vec![f64::NAN; repeated.work_len(1)]);
    assert!((log_p - exact).abs() < 1e-13);
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-13));
    let empty = WeightedRows::new(&target, vec![], vec![]).unwrap();
    assert_eq!(empty.log_density(&z, &mut []), target.log_prior(&z, &mut []));
}

#[test]
fn impossible_rows_are_refused() {
    let target = linear();
    let refused = |rows: &[usize], weights: &[f64]| {
        WeightedRows::new(&target, rows.to_vec(), weights.to_vec()).unwrap_err().to_string()
    };
    assert_eq!(refused(&[0, 12], &[1.0; 2]), "WeightedRows: row 12: the target has 12 data");
    assert!(refused(&[0], &[]).contains("weights of rows has length 0, expected 1"));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(&[0], &[weight]).contains("positive and finite"));
    }
}
