//! The laws, for any model and any points.

use faer::{Mat, MatRef};
use mcsa::{Columns, Curvature, Gradient, Seed, Separable};

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

/// Central differences along each coordinate and along a direction.
pub(crate) fn gradient_is_gradient<P: Gradient>(target: &P, z: MatRef<'_, f64>, tolerance: f64) {
    let (dim, h) = (target.dim(), 1e-5);
    let mut work = vec![f64::NAN; target.work_len(1)];
    let mut gradient = vec![f64::NAN; dim];
    for j in 0..z.ncols() {
        let value = target.gradient_into(z.column(j), &mut gradient, &mut work);
        let plain = target.log_density(z.column(j), &mut work);
        assert_eq!(value.to_bits(), plain.to_bits(), "the value beside the gradient: {value} {plain}");
        let mut at = z.column(j).to_vec();
        for i in 0..dim {
            let mut difference = |step: f64| {
                at[i] = z[(i, j)] + step;
                let up = target.log_density(&at, &mut work);
                at[i] = z[(i, j)] - step;
                let down = target.log_density(&at, &mut work);
                at[i] = z[(i, j)];
                (up - down) / (2.0 * step)
            };
            let slope = (4.0 * difference(h) - difference(2.0 * h)) / 3.0;
            let scale = 1.0 + slope.abs().max(value.abs() * 1e-3);
            assert!((gradient[i] - slope).abs() < tolerance * scale, "{i}: {} is not {slope}", gradient[i]);
        }
    }
}

/// The Hessian along a direction is the difference of gradients.
pub(crate) fn curvature_is_curvature<P: Curvature>(target: &P, z: MatRef<'_, f64>, tolerance: f64) {
    let (dim, h) = (target.dim(), 1e-5);
    let mut work = vec![f64::NAN; target.work_len(1)];
    let direction = points(dim, 1, 1.0);
    let (mut curved, mut up, mut down) = (vec![f64::NAN; dim], vec![0.0; dim], vec![0.0; dim]);
    for j in 0..z.ncols() {
        let along = |t: f64| -> Vec<f64> { (0..dim).map(|i| z[(i, j)] + t * direction[(i, 0)]).collect() };
        target.hessian_vector_into(z.column(j), direction.as_ref().column(0), &mut curved, &mut work);
        target.gradient_into(&along(h), &mut up, &mut work);
        target.gradient_into(&along(-h), &mut down, &mut work);
        for i in 0..dim {
            let slope = (up[i] - down[i]) / (2.0 * h);
            assert!(
                (curved[i] - slope).abs() < tolerance * (1.0 + slope.abs()),
                "{i}: {} is not {slope}",
                curved[i]
            );
        }
    }
}

/// A column's density and gradient do not depend, to the bit, on the columns beside it.
pub(crate) fn batch_is_its_columns<P: Gradient>(target: &P, z: MatRef<'_, f64>) {
    let dim = target.dim();
    let mut single = vec![f64::NAN; target.work_len(1)];
    for columns in 1..=z.ncols() {
        let mut work = vec![f64::NAN; target.work_len(columns)];
        let (mut values, mut with_gradients) = (vec![0.0; columns], vec![0.0; columns]);
        let mut gradients = Mat::zeros(dim, columns);
        let batch = z.subcols(0, columns);
        target.log_densities(batch, &mut values, &mut work);
        work.fill(f64::NAN);
        target.gradients_into(batch, &mut with_gradients, gradients.as_mut(), &mut work);
        let mut gradient = vec![0.0; dim];
        for j in 0..columns {
            let value = target.log_density(z.column(j), &mut single);
            assert_eq!(value.to_bits(), values[j].to_bits(), "column {j} of {columns}");
            assert_eq!(value.to_bits(), with_gradients[j].to_bits(), "column {j} of {columns}");
            target.gradient_into(z.column(j), &mut gradient, &mut single);
            assert_eq!(gradient, gradients.as_ref().column(j), "column {j} of {columns}");
        }
    }
}

/// Prior and all data make the density.
pub(crate) fn parts_make_the_whole<P: Separable>(target: &P, z: MatRef<'_, f64>) {
    let mut work = vec![f64::NAN; target.work_len(1)];
    let rows: Vec<usize> = (0..target.num_data()).collect();
    for j in 0..z.ncols() {
        let whole = target.log_density(z.column(j), &mut work);
        let (left, right) = rows.split_at(rows.len() / 3);
        let parts = target.log_prior(z.column(j), &mut work)
            + target.log_likelihood_at(left, z.column(j), &mut work)
            + target.log_likelihood_at(right, z.column(j), &mut work);
        assert!((whole - parts).abs() < 1e-11 * (1.0 + whole.abs()), "{whole} {parts}");
    }
}

/// Values, gradients and batches of them allocate nothing once warm.
pub(crate) fn nothing_is_allocated<P: Gradient>(target: &P, z: MatRef<'_, f64>) {
    let mut work = vec![0.0; target.work_len(z.ncols())];
    let mut values = vec![0.0; z.ncols()];
    let mut gradients = Mat::zeros(target.dim(), z.ncols());
    let mut call = || {
        target.log_densities(z, &mut values, &mut work);
        target.gradients_into(z, &mut values, gradients.as_mut(), &mut work);
    };
    call();
    assert_eq!(allocation_counter::measure(call).count_total, 0);
}

/// At points of any size up to a thousand: a number or `-inf`, and a gradient without NaN.
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

/// All of them but those of curvature and of parts.
pub(crate) fn all<P: Gradient>(target: &P, tolerance: f64) {
    let z = points(target.dim(), 11, 0.7);
    gradient_is_gradient(target, z.as_ref().subcols(0, 2), tolerance);
    batch_is_its_columns(target, z.as_ref());
    nothing_is_allocated(target, z.as_ref());
    nowhere_nan(target);
}
