//! Random data and points, and a law that is not in the conformance suite: no NaN in the gradient at far points.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Gradient, Seed};

/// Normal points, `columns` of them.
pub(crate) fn points(dim: usize, columns: usize, scale: f64) -> Mat<f64> {
    let mut stream = Seed::new(17).stream(0, 0);
    Mat::from_fn(dim, columns, |_, _| scale * stream.normal())
}

/// A matrix of normals.
pub(crate) fn features(rows: usize, columns: usize) -> Mat<f64> {
    let mut stream = Seed::new(18).stream(0, 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

/// Labels of a linear rule with noise.
pub(crate) fn labels(x: MatRef<'_, f64>) -> Vec<f64> {
    let mut stream = Seed::new(19).stream(0, 0);
    let rule = |row: Vec<f64>| row.iter().enumerate().map(|(k, x)| x / (k + 1) as f64).sum::<f64>();
    let sign = |f: f64| f64::from(u8::from(f > 0.0));
    (0..x.nrows()).map(|i| sign(rule(x.row(i).iter().copied().collect()) + stream.normal())).collect()
}

/// At points of any size up to a thousand, the density is a number or `-inf` and the gradient has no NaN.
pub(crate) fn nowhere_nan<P: Gradient>(target: &P) {
    let dim = target.dim();
    let mut work = vec![0.0; target.work_len(1)];
    let mut gradient = vec![0.0; dim];
    let zero = vec![0.0; dim];
    let mut check = |z: &[f64]| {
        let value = target.gradient_into(z, &mut gradient, &mut work);
        assert!(value < f64::INFINITY, "{value} at {z:?}");
        assert!(gradient.iter().all(|g| !g.is_nan()), "{gradient:?} at {z:?}");
        let outside = value == f64::NEG_INFINITY;
        assert!(!outside || gradient.iter().all(|&g| g == 0.0), "{gradient:?} at {z:?}");
    };
    for scale in [1.0, 10.0, 100.0, 1000.0] {
        let z = points(dim, 4, scale);
        for j in 0..4 {
            check(z.as_ref().column(j));
        }
        for i in 0..dim.min(12) {
            for sign in [-1.0, 1.0] {
                let mut z = zero.clone();
                z[i] = sign * scale;
                check(&z);
            }
        }
    }
    check(&zero);
}
