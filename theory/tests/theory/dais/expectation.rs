//! Exact expectations of quadratic functions of standard normal numbers.

use super::code::Code;

/// Mean of `f(x)`, quadratic in d standard normal numbers x: the average over the points `±sqrt(d) e_i`, which have the moments of
/// the normal distribution up to the third.
fn mean(dim: usize, mut f: impl FnMut(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let (mut point, mut total) = (vec![0.0; dim], Vec::new());
    for i in 0..dim {
        for sign in [1.0, -1.0] {
            point[i] = sign * (dim as f64).sqrt();
            let found = f(&point);
            total.resize(found.len(), 0.0);
            total.iter_mut().zip(&found).for_each(|(total, x)| *total += x / (2 * dim) as f64);
        }
        point[i] = 0.0;
    }
    total
}

/// Expected log weight of a chain.
pub(super) fn expected(code: &Code) -> f64 {
    mean(code.noise_len(), |noise| vec![code.log_weight(noise)])[0]
}

/// Expected gradient of the log weight.
pub(super) fn expected_gradient(code: &Code) -> Vec<f64> {
    mean(code.noise_len(), |noise| code.gradient(noise))
}

#[test]
fn quadratic_has_its_trace() {
    let f = |x: &[f64]| vec![3.0 + x[0] - 2.0 * x[1] + x[0] * x[1] + 0.5 * x[0] * x[0] + 2.0 * x[2] * x[2]];
    assert!((mean(3, f)[0] - 5.5).abs() < 1e-14);
    // The twin: a fourth power is not quadratic, and its mean of 3 is missed.
    assert!((mean(3, |x| vec![x[0].powi(4)])[0] - 3.0).abs() < 1e-14);
    assert!((mean(2, |x| vec![x[0].powi(4)])[0] - 3.0).abs() > 0.5);
}
