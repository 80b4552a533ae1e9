//! Sums whose order depends on their length alone, so that a column has the same bits in any company.

/// `sum_i x_i y_i`.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `sum_i ((z_i - mean_i) inverse_i)^2`.
pub(crate) fn sum_squares_scaled(z: &[f64], mean: &[f64], inverse: &[f64]) -> f64 {
    let square = |((z, mean), inverse): ((&f64, &f64), &f64)| {
        let eps = (z - mean) * inverse;
        eps * eps
    };
    z.iter().zip(mean).zip(inverse).map(square).sum()
}

/// `sum_i ln x_i`; `logs` is memory of the same length.
pub(crate) fn sum_of_logs(x: &[f64], logs: &mut [f64]) -> f64 {
    logs.copy_from_slice(x);
    logs.iter_mut().for_each(|x| *x = x.ln());
    logs.iter().sum()
}
