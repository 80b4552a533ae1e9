use mcsa_core::LogDensity;
use mcsa_models::NeuralRegression;

use super::check;

#[test]
fn neural_regression_is_nowhere_nan() {
    for (rows, columns, hidden) in [(40, 3, 9), (17, 1, 8), (5, 6, 1)] {
        let x = check::features(rows, columns);
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)].sin() + 0.1 * i as f64).collect();
        let target = NeuralRegression::new(x.as_ref(), &y, hidden).unwrap();
        check::nowhere_nan(&target);
    }
}

#[test]
fn published_dimensions() {
    let dim = |columns| {
        let x = check::features(2, columns);
        NeuralRegression::new(x.as_ref(), &[0.0, 1.0], 50).unwrap().dim()
    };
    assert_eq!(
        [dim(6), dim(8), dim(5), dim(11), dim(13), dim(22), dim(128)],
        [403, 503, 353, 653, 753, 1203, 6503]
    );
}
