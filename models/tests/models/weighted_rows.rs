//! Posteriors of weighted rows: conformance, equality with repeated rows, refusals, and a twin.

use faer::Mat;
use mcsa_core::{Gradient, LogDensity, Seed, Separable};
use mcsa_models::{HierarchicalLogistic, LinearRegression, LogisticRegression, ScalePrior, WeightedRows};
use mcsa_testing::model::{Case, gradient_is_gradient};

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

const ROWS: [usize; 5] = [7, 0, 3, 3, 11];

fn weights() -> Vec<f64> {
    vec![1.5, 0.2, 4.0, 1.0, 0.01]
}

fn features(rows: usize, columns: usize) -> Mat<f64> {
    let mut stream = Seed::new(3).stream(0, 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

fn labels(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| f64::from(u8::from(i % 3 == 0))).collect()
}

/// A reference for the rest of the process, as test cases own what they test.
fn forever<T>(target: T) -> &'static T {
    Box::leak(Box::new(target))
}

fn logistic() -> [Case<WeightedRows<'static, LogisticRegression>>; 2] {
    [1, 9].map(|dim| {
        let target = LogisticRegression::new(features(12, dim).as_ref(), &labels(12), 2.0).unwrap();
        Case::new(WeightedRows::new(forever(target), ROWS.to_vec(), weights()).unwrap())
    })
}

mcsa_testing::model_suite!(logistic_rows, logistic(), meter, gradient curvature);

fn hierarchical() -> [Case<WeightedRows<'static, HierarchicalLogistic>>; 1] {
    let target = HierarchicalLogistic::new(features(12, 3).as_ref(), &labels(12), ScalePrior::HalfNormal);
    [Case::new(WeightedRows::new(forever(target.unwrap()), ROWS.to_vec(), weights()).unwrap())
        .with_spread(0.5)]
}

mcsa_testing::model_suite!(hierarchical_rows, hierarchical(), meter, gradient curvature);

fn linear() -> LinearRegression {
    LinearRegression::new(features(12, 3).as_ref(), &labels(12), 0.7, 1.5).unwrap()
}

mcsa_testing::model_suite!(
    linear_rows,
    [Case::new(WeightedRows::new(forever(linear()), ROWS.to_vec(), weights()).unwrap())],
    meter,
    gradient curvature
);

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
    let told = |rows: &[usize], weights: &[f64]| {
        WeightedRows::new(&target, rows.to_vec(), weights.to_vec()).unwrap_err().to_string()
    };
    assert_eq!(told(&[0, 12], &[1.0; 2]), "WeightedRows: row 12: the target has 12 data");
    assert!(told(&[0], &[]).contains("weights of rows has length 0, expected 1"));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(told(&[0], &[weight]).contains("positive and finite"));
    }
}

/// The twin: the gradient of another coreset, without the weights.
struct Unweighted(WeightedRows<'static, LogisticRegression>, WeightedRows<'static, LogisticRegression>);

impl LogDensity for Unweighted {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.0.work_len(columns)
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.0.log_density(z, work)
    }
}

impl Gradient for Unweighted {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.1.gradient_into(z, gradient, work);
        self.0.log_density(z, work)
    }
}

#[test]
fn a_gradient_without_weights_is_caught() {
    let target = forever(LogisticRegression::new(features(12, 2).as_ref(), &labels(12), 2.0).unwrap());
    let with = |weights: Vec<f64>| WeightedRows::new(target, ROWS.to_vec(), weights).unwrap();
    let case = |weights| Case::new(Unweighted(with(self::weights()), with(weights)));
    assert!(gradient_is_gradient(&case(weights())).is_ok());
    assert!(gradient_is_gradient(&case(vec![1.0; 5])).is_err());
}
